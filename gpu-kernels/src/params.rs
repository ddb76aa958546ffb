//! Tile shapes, entry names and launch bounds: what host and device must agree on.

use crate::operands::{Format, PEAK_BLOCK, PeakTile};

/// Bytes of one 16-byte access, in f32 elements.
pub const VECTOR_ELEMENTS: u32 = 4;

/// The lecture's launch: 256 threads a block.
pub const SCALAR_BLOCK: u32 = 256;
/// The lecture's launch: 4096 blocks, each striding over the array.
pub const SCALAR_GRID: u32 = 4096;

/// Threads of a block of the vector streaming kernels.
pub const STREAM_BLOCK: u32 = 128;
/// 16-byte vectors per thread and array that `copy_vector` has in flight.
pub const COPY_VECTORS: u32 = 2;
/// 16-byte vectors per thread and array that `saxpy_vector` has in flight.
pub const SAXPY_VECTORS: u32 = 2;
/// 16-byte vectors per thread and array that `triad_vector` has in flight.
pub const TRIAD_VECTORS: u32 = 1;

/// Threads of a block of `fma_chains`.
pub const FMA_BLOCK: u32 = 256;
/// Blocks of `fma_chains` that fit on a multiprocessor: 2048 resident threads.
pub const FMA_BLOCKS_PER_SM: u32 = 8;
/// Independent chains of each thread of `fma_chains`.
pub const FMA_CHAINS: u32 = 16;
/// Steps of every chain in one turn of the loop: its four other instructions are one in 512,
/// and the 32 KiB of code still stream from the instruction cache.
pub const FMA_UNROLL: u32 = 128;
/// Threads of the largest block of the `fma_ilp_…` entries: eight warps a scheduler, so that one
/// block, or two for sixteen, is all that a multiprocessor has.
pub const FMA_ILP_BLOCK: u32 = 1024;
/// FMAs of a thread in one turn of the loop of the `fma_ilp_…` entries: where a warp stands alone,
/// nothing hides the end of a turn, and 8 KiB of code stay near the scheduler.
pub const FMA_ILP_TURN: u32 = 512;
/// Warp schedulers of a multiprocessor, each with its own quarter of the fp32 units, since
/// compute capability 7.0 (CUDA C++ Programming Guide, "Compute Capabilities").
pub const SCHEDULERS_PER_SM: u32 = 4;
/// Fixed multiplier of every FMA: the chain contracts slowly, so values keep changing.
pub const FMA_MULTIPLIER: f32 = 1.0 - 1.0 / 2048.0;
/// Fixed addend of every FMA: the chains tend to 1/2.
pub const FMA_ADDEND: f32 = 1.0 / 4096.0;

/// Independent chains of each thread of `fma_chains_f64`.
pub const FMA_F64_CHAINS: u32 = 8;
/// Steps of every chain of `fma_chains_f64` in one turn of the loop.
pub const FMA_F64_UNROLL: u32 = 64;
/// Blocks of `fma_chains_f64` that fit on a multiprocessor: 1024 resident threads.
pub const FMA_F64_BLOCKS_PER_SM: u32 = 4;

/// 16-byte vectors of each thread of `mix_vector`: eight independent chains.
pub const MIX_VECTORS: u32 = 2;
/// Elements of each block of `mix_vector`.
pub const MIX_BLOCK_ELEMENTS: u32 = STREAM_BLOCK * VECTOR_ELEMENTS * MIX_VECTORS;
/// FMAs of every chain in one turn of the loops of `mix_vector` and `mix_ring`, a power of two: the
/// few other instructions are one in a hundred or less, and loop and rest together are 8 KiB of
/// code, 16 KiB with twice the chains.
pub const MIX_UNROLL: u32 = 32;
/// 16-byte vectors of each thread of `mix_ring` in a set: sixteen independent chains, and half the
/// instructions around each of them that two vectors would have.
pub const MIX_RING_VECTORS: u32 = 4;
/// Sets that each thread of `mix_ring` has under way.
pub const MIX_RING_STAGES: u32 = 2;
/// Blocks of `mix_ring` on a multiprocessor: six warps a scheduler, of which four fill it, and 96
/// KiB under way, twice what the memory of an H200 asks for.
pub const MIX_RING_BLOCKS_PER_SM: u32 = 6;
/// Elements of a set of `mix_ring`.
pub const MIX_RING_ELEMENTS: u32 = STREAM_BLOCK * VECTOR_ELEMENTS * MIX_RING_VECTORS;
/// Dynamic shared memory of a block of `mix_ring`: a place for each set that is under way.
pub const MIX_RING_SHARED_BYTES: u32 = MIX_RING_STAGES * MIX_RING_ELEMENTS * 4;

/// Side of the square tile of C that a block of `sgemm_naive` computes.
pub const NAIVE_TILE: u32 = 16;
/// Side of the square tile of C, and depth of the k tile, of `sgemm_tiled`.
pub const TILED_TILE: u32 = 32;
/// Shared memory of `sgemm_tiled`: one tile of A and one of B.
pub const TILED_SHARED_BYTES: u32 = 2 * TILED_TILE * TILED_TILE * 4;

/// Side of the square tile of C that a block of `sgemm_register` computes.
pub const REGISTER_TILE: u32 = 128;
/// Depth of its k tile.
pub const REGISTER_DEPTH: u32 = 8;
/// Rows and columns of C of each of its threads.
pub const REGISTER_THREAD: u32 = 8;
/// Threads of its block.
pub const REGISTER_BLOCK: u32 =
    (REGISTER_TILE / REGISTER_THREAD) * (REGISTER_TILE / REGISTER_THREAD);
/// Shared memory of `sgemm_register`: one k tile of A, transposed, and one of B.
pub const REGISTER_SHARED_BYTES: u32 = 2 * REGISTER_DEPTH * REGISTER_TILE * 4;

/// Threads of a warp.
pub const WARP: u32 = 32;

/// Rows of C that are walked together, column by column, before the next ones: about as many as the
/// columns that all multiprocessors have under way then, for the least that they fetch.
pub const BAND: u32 = 2048;
/// Counters at the start of the scratch memory: at least as many as blocks that share tiles.
pub const SCRATCH_COUNTERS: u32 = 8192;

/// How k tiles come into shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Copies {
    /// Each thread copies its elements, A's transposed on the way.
    Threads,
    /// Bulk tensor copies, a thread for each stage, from an A that has been transposed.
    Bulk,
}

/// How a block and its threads share a tile of C, and how deep a k tile is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TileShape {
    /// Rows of C.
    pub m: u32,
    /// Columns of C.
    pub n: u32,
    /// Depth of a k tile, a multiple of 8.
    pub k: u32,
    /// Rows of a thread, a multiple of 4.
    pub thread_m: u32,
    /// Columns of a thread, a multiple of 4.
    pub thread_n: u32,
    /// Threads of a warp one below the other; [`TileShape::lanes_n`] stand side by side.
    pub lanes_m: u32,
    /// k tiles in shared memory, 2 to 4: one is multiplied, the others are on their way.
    pub stages: u32,
    /// How they come there.
    pub copies: Copies,
    /// Blocks on a multiprocessor.
    pub blocks_per_sm: u32,
}

impl TileShape {
    /// Threads of a warp side by side.
    pub const fn lanes_n(&self) -> u32 {
        WARP / self.lanes_m
    }

    /// Rows of a warp.
    pub const fn warp_m(&self) -> u32 {
        self.lanes_m * self.thread_m
    }

    /// Columns of a warp.
    pub const fn warp_n(&self) -> u32 {
        self.lanes_n() * self.thread_n
    }

    /// Threads of a block.
    pub const fn threads(&self) -> u32 {
        self.m / self.thread_m * (self.n / self.thread_n)
    }

    /// Elements from one row to the next of A's part of a stage, which is transposed. Where threads store
    /// it, padding spreads the columns of a warp over the banks.
    pub const fn a_stride(&self) -> u32 {
        match self.copies {
            Copies::Threads => self.m + 4,
            Copies::Bulk => self.m,
        }
    }

    /// Bytes of A's part of a stage.
    pub const fn a_bytes(&self) -> u32 {
        self.k * self.a_stride() * 4
    }

    /// Bytes of a stage.
    pub const fn stage_bytes(&self) -> u32 {
        self.a_bytes() + self.k * self.n * 4
    }

    /// Offset of the barriers in shared memory, one of 8 bytes for each stage that bulk copies fill.
    pub const fn barriers_offset(&self) -> u32 {
        self.stages * self.stage_bytes()
    }

    /// Offset of the two flags of blocks that add up the parts of a tile, 4 bytes each: where the stages
    /// were, but behind the barriers where bulk copies fill the stages again.
    pub const fn flags_offset(&self) -> u32 {
        match self.copies {
            Copies::Threads => 0,
            Copies::Bulk => self.barriers_offset() + 8 * self.stages,
        }
    }

    /// Dynamic shared memory of a block.
    pub const fn shared_bytes(&self) -> u32 {
        match self.copies {
            Copies::Threads => self.barriers_offset(),
            Copies::Bulk => self.flags_offset() + 8,
        }
    }
}

/// The tile of large products: the most arithmetic for each byte read.
pub const WIDE: TileShape = TileShape {
    m: 128,
    n: 256,
    k: 32,
    thread_m: 8,
    thread_n: 16,
    lanes_m: 4,
    stages: 3,
    copies: Copies::Threads,
    blocks_per_sm: 1,
};

/// [`WIDE`] from an A that has been transposed: deep k tiles, so that its main loop is seldom left.
pub const TRANSPOSED: TileShape = TileShape {
    k: 64,
    stages: 2,
    copies: Copies::Bulk,
    ..WIDE
};

/// Rows and columns of what a block transposes.
pub const TRANSPOSE_TILE: u32 = 64;
/// Threads of a block that transposes.
pub const TRANSPOSE_BLOCK: u32 = 256;
/// Elements from one row to the next of what a block transposes in shared memory: columns lie in different
/// banks as well.
pub const TRANSPOSE_STRIDE: u32 = TRANSPOSE_TILE + 1;
/// Dynamic shared memory of a block that transposes.
pub const TRANSPOSE_SHARED_BYTES: u32 = TRANSPOSE_TILE * TRANSPOSE_STRIDE * 4;

/// [`WIDE`] for rows that are not aligned: B takes four times the copies, so fewer at a time.
pub const WIDE_ANY: TileShape = TileShape {
    k: 16,
    thread_m: 16,
    thread_n: 8,
    stages: 4,
    ..WIDE
};

/// Blocks small enough that several on a multiprocessor hide each other's beginnings and ends:
/// middling products, and those with a small k.
pub const FLAT: TileShape = TileShape {
    m: 64,
    n: 128,
    k: 16,
    thread_m: 8,
    thread_n: 8,
    lanes_m: 4,
    stages: 4,
    copies: Copies::Threads,
    blocks_per_sm: 3,
};

/// For products that are narrow on one side.
pub const SQUARE: TileShape = TileShape {
    m: 64,
    n: 64,
    k: 32,
    thread_m: 4,
    thread_n: 8,
    lanes_m: 8,
    stages: 3,
    copies: Copies::Threads,
    blocks_per_sm: 4,
};

/// For small products, where every multiprocessor has to find something to do.
pub const SMALL: TileShape = TileShape {
    m: 32,
    n: 64,
    k: 32,
    thread_m: 4,
    thread_n: 4,
    lanes_m: 4,
    stages: 4,
    copies: Copies::Threads,
    blocks_per_sm: 4,
};

/// [`SQUARE`] with more arithmetic for each load of a fragment, and more blocks to hide what a warp
/// waits for: for deep products that are narrow on one side.
pub const NARROW: TileShape = TileShape {
    m: 64,
    n: 64,
    k: 16,
    thread_m: 8,
    thread_n: 8,
    lanes_m: 4,
    stages: 4,
    copies: Copies::Threads,
    blocks_per_sm: 6,
};

/// How the warps of a block share the k of one tile of C: each sums the whole tile over its own slices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlicedShape {
    /// Rows of C.
    pub m: u32,
    /// Columns of C.
    pub n: u32,
    /// Depth of a slice.
    pub k: u32,
    /// Rows of a thread.
    pub thread_m: u32,
    /// Columns of a thread, a multiple of 4.
    pub thread_n: u32,
    /// Warps of a block.
    pub warps: u32,
    /// Slices of a warp in shared memory, at least 2: one is multiplied, the others are on their way.
    pub stages: u32,
    /// Blocks on a multiprocessor.
    pub blocks_per_sm: u32,
}

impl SlicedShape {
    /// Threads of a warp one below the other.
    pub const fn lanes_m(&self) -> u32 {
        self.m / self.thread_m
    }

    /// Threads of a warp side by side.
    pub const fn lanes_n(&self) -> u32 {
        self.n / self.thread_n
    }

    /// Threads of a block.
    pub const fn threads(&self) -> u32 {
        self.warps * WARP
    }

    /// Bytes of A's part of a stage.
    pub const fn a_bytes(&self) -> u32 {
        self.m * self.k * 4
    }

    /// Bytes of a stage.
    pub const fn stage_bytes(&self) -> u32 {
        self.a_bytes() + self.k * self.n * 4
    }

    /// Bytes of a warp's stages.
    pub const fn warp_bytes(&self) -> u32 {
        self.stages * self.stage_bytes()
    }

    /// Dynamic shared memory of a block.
    pub const fn shared_bytes(&self) -> u32 {
        self.warps * self.warp_bytes()
    }
}

/// Products that are narrow on one side, or small: as much arithmetic for each load of a fragment as in
/// [`WIDE`], in tiles half as large as [`FLAT`].
pub const SLICED: SlicedShape = SlicedShape {
    m: 64,
    n: 64,
    k: 16,
    thread_m: 8,
    thread_n: 16,
    warps: 4,
    stages: 2,
    blocks_per_sm: 2,
};

/// How a block of one warp computes a tile of C from stages that bulk tensor copies fill; its rows and
/// columns, and the depth of a slice, are those of a warp of [`SLICED`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BulkShape {
    /// Columns of C that are copied together.
    pub c_box: u32,
    /// Slices in shared memory.
    pub stages: u32,
    /// Blocks on a multiprocessor.
    pub blocks_per_sm: u32,
}

impl BulkShape {
    /// Rows of C.
    pub const fn m(&self) -> u32 {
        SLICED.m
    }

    /// Columns of C.
    pub const fn n(&self) -> u32 {
        SLICED.n
    }

    /// Depth of a slice.
    pub const fn k(&self) -> u32 {
        SLICED.k
    }

    /// Threads of a block.
    pub const fn threads(&self) -> u32 {
        WARP
    }

    /// Bytes of a row of B in a stage.
    pub const fn b_row(&self) -> u32 {
        4 * self.n()
    }

    /// Bytes of A's part of a stage.
    pub const fn a_bytes(&self) -> u32 {
        self.m() * self.k() * 4
    }

    /// Bytes of a stage.
    pub const fn stage_bytes(&self) -> u32 {
        self.a_bytes() + self.k() * self.b_row()
    }

    /// Bytes of the columns of C that are copied together.
    pub const fn c_box_bytes(&self) -> u32 {
        self.m() * self.c_box * 4
    }

    /// Offset of the stages' barriers in shared memory.
    pub const fn barriers_offset(&self) -> u32 {
        self.stages * self.stage_bytes()
    }

    /// Dynamic shared memory of a block: the stages, and a barrier of 8 bytes for each.
    pub const fn shared_bytes(&self) -> u32 {
        self.barriers_offset() + 8 * self.stages
    }
}

/// Batches: as many warps as the registers are for, two for each scheduler, none of which waits for another.
pub const BULK: BulkShape = BulkShape {
    c_box: 16,
    stages: 3,
    blocks_per_sm: 8,
};

/// How a team of threads shares a whole product of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProductShape {
    /// Most rows of C.
    pub m: u32,
    /// Most columns of C.
    pub n: u32,
    /// Columns of A and rows of B in shared memory at a time, a multiple of 4.
    pub k: u32,
    /// Rows of a thread.
    pub thread_m: u32,
    /// Columns of a thread, a multiple of 4.
    pub thread_n: u32,
    /// Threads of a warp one below the other; [`ProductShape::lanes_n`] stand side by side.
    pub lanes_m: u32,
    /// Products of a block: 1, or any number if a team is a warp.
    pub products: u32,
    /// Blocks on a multiprocessor.
    pub blocks_per_sm: u32,
}

impl ProductShape {
    /// Threads of a warp side by side.
    pub const fn lanes_n(&self) -> u32 {
        WARP / self.lanes_m
    }

    /// Rows of a warp.
    pub const fn warp_m(&self) -> u32 {
        self.lanes_m * self.thread_m
    }

    /// Columns of a warp.
    pub const fn warp_n(&self) -> u32 {
        self.lanes_n() * self.thread_n
    }

    /// Threads of a team, a multiple of a warp's.
    pub const fn team_threads(&self) -> u32 {
        self.m / self.thread_m * (self.n / self.thread_n)
    }

    /// Threads of a block.
    pub const fn threads(&self) -> u32 {
        self.team_threads() * self.products
    }

    /// Elements from one row to the next of A in shared memory. The padding puts the rows that a
    /// warp reads together into different banks.
    pub const fn a_stride(&self) -> u32 {
        self.k + 4
    }

    /// Bytes of a team's part of A.
    pub const fn a_bytes(&self) -> u32 {
        self.m * self.a_stride() * 4
    }

    /// Bytes of a team's parts of A and B.
    pub const fn team_bytes(&self) -> u32 {
        self.a_bytes() + self.k * self.n * 4
    }

    /// Dynamic shared memory of a block.
    pub const fn shared_bytes(&self) -> u32 {
        self.team_bytes() * self.products
    }
}

/// Batches of products with sides up to 16.
pub const PRODUCT_16: ProductShape = ProductShape {
    m: 16,
    n: 16,
    k: 16,
    thread_m: 2,
    thread_n: 4,
    lanes_m: 8,
    products: 4,
    blocks_per_sm: 8,
};

/// Batches of products with sides up to 32.
pub const PRODUCT_32: ProductShape = ProductShape {
    m: 32,
    n: 32,
    k: 32,
    thread_m: 4,
    thread_n: 8,
    lanes_m: 8,
    products: 2,
    blocks_per_sm: 8,
};

/// Batches of products with sides up to 64.
pub const PRODUCT_64: ProductShape = ProductShape {
    m: 64,
    n: 64,
    k: 64,
    thread_m: 8,
    thread_n: 8,
    lanes_m: 4,
    products: 1,
    blocks_per_sm: 6,
};

/// Depth of a k tile of the tensor-core kernels: 128 bytes of bfloat16.
pub const TENSOR_DEPTH: u32 = 64;
/// Columns of a panel: 128 bytes of bfloat16, the width of the swizzle.
pub const PANEL_COLUMNS: u32 = 64;
/// Bytes of 64 rows of a panel.
pub const PANEL_BYTES: u32 = 64 * 128;

/// Elements of bfloat16 in 16 bytes, of which rows are made that bulk copies take.
pub const ROW_ELEMENTS: u64 = 8;

/// Flag of the tensor-core kernels: C is added to the product.
pub const READS_C: u32 = 1;
/// Flag: C is f32, not bfloat16.
pub const OUT_F32: u32 = 2;
/// Flag: C, in rows of whole 16-byte units, goes through shared memory: bfloat16 when it is written, f32
/// when the kernels that round on the way read it.
pub const STAGES_C: u32 = 4;
/// Flag of the kernels that round on the way: rows of A are no whole 16-byte units, so that no bulk
/// copy takes them.
pub const LOADS_A: u32 = 8;
/// Flag: the same of B.
pub const LOADS_B: u32 = 16;

/// How a block of a tensor-core kernel is made up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TensorTile {
    /// Warpgroups that multiply, 64 rows each.
    pub consumers: u32,
    /// Threads beside them, of which one copies: a warp, or a warpgroup where registers move to
    /// those that multiply, or none where all do both.
    pub producers: u32,
    /// Columns of C, a multiple of [`PANEL_COLUMNS`].
    pub n: u32,
    /// k tiles in shared memory.
    pub stages: u32,
    /// Blocks one below the other that share what they fetch of B.
    pub cluster: u32,
    /// Panels of C that a warpgroup has in shared memory at a time.
    pub staged: u32,
    /// Places of bfloat16 to which stages of f32 are rounded, each half as large as a stage; none where
    /// stages are bfloat16 already.
    pub halves: u32,
    /// Blocks on a multiprocessor.
    pub blocks_per_sm: u32,
}

// Inline, so that their divisions, constant in every kernel, are no functions of the PTX.
impl TensorTile {
    /// Rows of C.
    pub const fn m(&self) -> u32 {
        64 * self.consumers
    }

    /// Threads of a block.
    pub const fn threads(&self) -> u32 {
        128 * self.consumers + self.producers
    }

    /// Whether the warpgroup that copies gives registers to those that multiply.
    pub const fn moves_registers(&self) -> bool {
        self.producers == 128
    }

    /// Bytes of A's part of a stage: as many in bfloat16 as in f32, whose k tiles are half as deep.
    #[inline]
    pub const fn a_bytes(&self) -> u32 {
        self.m() * TENSOR_DEPTH * 2
    }

    /// Bytes of B's part of a stage.
    #[inline]
    pub const fn b_bytes(&self) -> u32 {
        self.n * TENSOR_DEPTH * 2
    }

    /// Bytes of a stage.
    #[inline]
    pub const fn stage_bytes(&self) -> u32 {
        self.a_bytes() + self.b_bytes()
    }

    /// Panels of C, for each of the warpgroups that multiply, that fit where a stage has B.
    pub const fn panels_in_stage(&self) -> u32 {
        self.b_bytes() / (self.consumers * PANEL_BYTES)
    }

    /// Panels of C, of all rows and 32 columns of f32, that a stage has room for: one in A's part, the
    /// others in B's.
    #[inline]
    pub const fn c_panels(&self) -> u32 {
        self.stage_bytes() / self.a_bytes()
    }

    /// Stages that C takes.
    #[inline]
    pub const fn c_stages(&self) -> u32 {
        (self.n / 32).div_ceil(self.c_panels())
    }

    /// Bytes of A's part of a place of bfloat16 that stages are rounded to.
    #[inline]
    pub const fn half_a_bytes(&self) -> u32 {
        self.m() * FUSED_DEPTH * 2
    }

    /// Bytes of such a place.
    #[inline]
    pub const fn half_bytes(&self) -> u32 {
        self.half_a_bytes() + self.n * FUSED_DEPTH * 2
    }

    /// Where these places start, from the start of shared memory.
    #[inline]
    pub const fn halves_offset(&self) -> u32 {
        self.stages * self.stage_bytes()
    }

    /// Where the panels of C start, from the start of shared memory.
    #[inline]
    pub const fn staged_offset(&self) -> u32 {
        self.halves_offset() + self.halves * self.half_bytes()
    }

    /// Where the barriers start, from the start of shared memory.
    #[inline]
    pub const fn barriers_offset(&self) -> u32 {
        self.staged_offset() + self.consumers * self.staged * PANEL_BYTES
    }

    /// Dynamic shared memory of a block: the stages, the places that they are rounded to, C, two barriers
    /// a stage.
    #[inline]
    pub const fn shared_bytes(&self) -> u32 {
        self.barriers_offset() + 16 * self.stages
    }
}

/// The first step: copies and products take turns.
pub const ONE_STAGE: TensorTile = TensorTile {
    consumers: 2,
    producers: 0,
    n: 128,
    stages: 1,
    cluster: 1,
    staged: 1,
    halves: 0,
    blocks_per_sm: 2,
};

/// The second: copies run ahead.
pub const PIPELINED: TensorTile = TensorTile {
    stages: 3,
    ..ONE_STAGE
};

/// The third: a warp of their own for the copies, large tiles, blocks that stay.
pub const SPECIALISED: TensorTile = TensorTile {
    consumers: 2,
    producers: 128,
    n: 256,
    stages: 4,
    cluster: 1,
    staged: 2,
    halves: 0,
    blocks_per_sm: 1,
};

/// The tile of large products: two blocks share B.
pub const TENSOR_WIDE: TensorTile = TensorTile {
    cluster: 2,
    ..SPECIALISED
};

/// A narrower one, for products whose columns do not come out even.
pub const TENSOR_MIDDLE: TensorTile = TensorTile {
    n: 192,
    staged: 3,
    ..TENSOR_WIDE
};

/// The same for blocks that share nothing.
pub const TENSOR_MIDDLE_ALONE: TensorTile = TensorTile {
    cluster: 1,
    ..TENSOR_MIDDLE
};

/// Depth of a k tile in TF32: 128 bytes of f32.
pub const TENSOR_TF32_DEPTH: u32 = 32;

/// The tile of TF32, transposed: [`TensorTile::m`] are columns of C, `n` rows.
pub const TENSOR_TF32: TensorTile = TensorTile {
    staged: 0,
    ..SPECIALISED
};

/// For middling products in TF32.
pub const TENSOR_TF32_FLAT: TensorTile = TensorTile {
    cluster: 1,
    staged: 0,
    ..TENSOR_FLAT
};

/// For middling products.
pub const TENSOR_FLAT: TensorTile = TensorTile {
    consumers: 1,
    producers: 32,
    n: 128,
    stages: 8,
    cluster: 2,
    staged: 2,
    halves: 0,
    blocks_per_sm: 1,
};

/// For small products.
pub const TENSOR_SMALL: TensorTile = TensorTile {
    consumers: 1,
    producers: 32,
    n: 64,
    stages: 2,
    cluster: 1,
    staged: 1,
    halves: 0,
    blocks_per_sm: 4,
};

/// Depth of a k tile of f32 that is rounded on the way: 128 bytes; half of what it is rounded to.
pub const FUSED_DEPTH: u32 = 32;

/// Rounding on the way, small products, of which there are many.
pub const FUSED_SMALL: TensorTile = TensorTile {
    consumers: 1,
    producers: 0,
    n: 64,
    stages: 2,
    cluster: 1,
    staged: 0,
    halves: 2,
    blocks_per_sm: 4,
};

/// Rounding on the way, few small products: more k tiles ahead.
pub const FUSED_DEEP: TensorTile = TensorTile {
    stages: 5,
    blocks_per_sm: 2,
    ..FUSED_SMALL
};

/// Rounding on the way, middling products, of which there are many.
pub const FUSED_SQUARE: TensorTile = TensorTile {
    consumers: 2,
    n: 128,
    blocks_per_sm: 2,
    ..FUSED_SMALL
};

/// Rounding on the way, large products.
pub const FUSED_LARGE: TensorTile = TensorTile {
    consumers: 2,
    n: 256,
    stages: 3,
    blocks_per_sm: 1,
    ..FUSED_SMALL
};

/// How a block of the `mma.sync` kernels and its warps share a tile of C.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MmaTile {
    /// Rows of C.
    pub m: u32,
    /// Columns of C.
    pub n: u32,
    /// Depth of a k tile.
    pub k: u32,
    /// Rows of a warp.
    pub warp_m: u32,
    /// Columns of a warp.
    pub warp_n: u32,
    /// k tiles in shared memory.
    pub stages: u32,
}

impl MmaTile {
    /// Threads of a block.
    pub const fn threads(&self) -> u32 {
        self.m / self.warp_m * (self.n / self.warp_n) * WARP
    }

    /// Bytes of A's part of a stage.
    pub const fn a_bytes(&self) -> u32 {
        self.m * self.k * 2
    }

    /// Bytes of a stage.
    pub const fn stage_bytes(&self) -> u32 {
        self.a_bytes() + self.n * self.k * 2
    }

    /// Dynamic shared memory of a block.
    pub const fn shared_bytes(&self) -> u32 {
        self.stages * self.stage_bytes()
    }
}

/// The tile of the `mma.sync` kernels. Its stages fit into the 99 KiB of the smallest devices.
pub const MMA: MmaTile = MmaTile {
    m: 128,
    n: 256,
    k: 32,
    warp_m: 64,
    warp_n: 64,
    stages: 4,
};

/// Threads of a block of the operand fills and the L2 sweep.
pub const SUPPORT_BLOCK: u32 = 256;

/// Blocks on a multiprocessor of the copies of rows for bulk copies.
pub const ROW_COPY_BLOCKS: u32 = 4;

/// An entry point of the PTX.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// Name of the entry.
    pub name: &'static str,
    /// `.maxntid`: the largest block (x, y, z) it may be launched with.
    pub max_threads: [u32; 3],
    /// `.minnctapersm`: blocks per multiprocessor that its registers must leave room for.
    pub min_blocks_per_sm: u32,
    /// `.reqnctapercluster`: neighbouring blocks that run at the same time and reach each other's
    /// shared memory; 1 for none. The grid is a multiple of it.
    pub cluster: u32,
    /// Whether its arithmetic must be fused: at least one `fma.rn.f32` in the PTX.
    pub fused: bool,
    /// The only target that has it, if it uses instructions of that target alone.
    pub only: Option<&'static str>,
}

impl Entry {
    /// The entries of a target's PTX.
    pub fn of(target: &str) -> impl Iterator<Item = &'static Entry> + '_ {
        ENTRIES
            .iter()
            .filter(move |entry| entry.only.is_none_or(|only| only == target))
    }
}

/// Describes an entry with a one-dimensional block.
const fn entry(name: &'static str, threads: u32, min_blocks_per_sm: u32, fused: bool) -> Entry {
    Entry {
        name,
        max_threads: [threads, 1, 1],
        min_blocks_per_sm,
        cluster: 1,
        fused,
        only: None,
    }
}

/// Describes an entry that computes tiles of a shape on the target with clusters and bulk copies.
const fn hopper_tile_entry(name: &'static str, shape: TileShape) -> Entry {
    Entry {
        only: Some("sm_90a"),
        ..tile_entry(name, shape)
    }
}

/// Describes an entry that computes tiles of a shape.
const fn tile_entry(name: &'static str, shape: TileShape) -> Entry {
    entry(name, shape.threads(), shape.blocks_per_sm, true)
}

/// Describes a peak kernel of the tensor cores, on one target.
const fn peak_entry(name: &'static str, tile: PeakTile, only: &'static str) -> Entry {
    Entry {
        only: Some(only),
        ..entry(name, PEAK_BLOCK, tile.blocks_per_sm, false)
    }
}

/// Describes an entry that computes tiles of a shape on tensor cores.
const fn tensor_entry(name: &'static str, tile: TensorTile) -> Entry {
    Entry {
        cluster: tile.cluster,
        only: Some("sm_90a"),
        ..entry(name, tile.threads(), tile.blocks_per_sm, false)
    }
}

/// Describes an entry that copies rows for the bulk copies of the tensor-core kernels.
const fn row_copy_entry(name: &'static str) -> Entry {
    Entry {
        only: Some("sm_90a"),
        ..entry(name, SUPPORT_BLOCK, ROW_COPY_BLOCKS, false)
    }
}

/// Describes an entry whose teams compute whole products.
const fn product_entry(name: &'static str, shape: ProductShape) -> Entry {
    entry(name, shape.threads(), shape.blocks_per_sm, true)
}

/// Every entry of the PTX, in alphabetical order. The build fails if the PTX has another set.
pub const ENTRIES: &[Entry] = &[
    entry("clock_probe", 1, 1, false),
    entry("copy_scalar", SCALAR_BLOCK, 8, false),
    entry("copy_vector", STREAM_BLOCK, 16, false),
    entry("fill_bits", SUPPORT_BLOCK, 8, false),
    entry("fill_bits_16", SUPPORT_BLOCK, 8, false),
    entry("fill_integers", SUPPORT_BLOCK, 8, false),
    entry("fill_integers_bf16", SUPPORT_BLOCK, 8, false),
    entry("fill_signs", SUPPORT_BLOCK, 8, false),
    entry("fill_signs_bf16", SUPPORT_BLOCK, 8, false),
    entry("fill_uniform", SUPPORT_BLOCK, 8, false),
    entry("fill_uniform_bf16", SUPPORT_BLOCK, 8, false),
    entry("fma_chains", FMA_BLOCK, FMA_BLOCKS_PER_SM, true),
    entry("fma_chains_f64", PEAK_BLOCK, FMA_F64_BLOCKS_PER_SM, false),
    entry("fma_ilp_1", FMA_ILP_BLOCK, 2, true),
    entry("fma_ilp_16", FMA_ILP_BLOCK, 2, true),
    entry("fma_ilp_2", FMA_ILP_BLOCK, 2, true),
    entry("fma_ilp_4", FMA_ILP_BLOCK, 2, true),
    entry("fma_ilp_8", FMA_ILP_BLOCK, 2, true),
    peak_entry("fma_mma_bf16", PeakTile::mma(Format::Bf16), "sm_80"),
    peak_entry("fma_mma_f16", PeakTile::mma(Format::F16), "sm_80"),
    peak_entry("fma_mma_f64", PeakTile::double(), "sm_80"),
    peak_entry("fma_mma_f64_wide", PeakTile::wide_double(), "sm_90a"),
    peak_entry("fma_mma_s8", PeakTile::mma(Format::S8), "sm_80"),
    peak_entry("fma_mma_tf32", PeakTile::mma(Format::Tf32), "sm_80"),
    peak_entry("fma_wgmma_bf16", PeakTile::wgmma(Format::Bf16), "sm_90a"),
    peak_entry("fma_wgmma_e4m3", PeakTile::wgmma(Format::E4m3), "sm_90a"),
    peak_entry("fma_wgmma_f16", PeakTile::wgmma(Format::F16), "sm_90a"),
    peak_entry("fma_wgmma_s8", PeakTile::wgmma(Format::S8), "sm_90a"),
    peak_entry("fma_wgmma_tf32", PeakTile::wgmma(Format::Tf32), "sm_90a"),
    tensor_entry("gemm_bf16_flat", TENSOR_FLAT),
    tensor_entry("gemm_bf16_middle", TENSOR_MIDDLE),
    tensor_entry("gemm_bf16_middle_alone", TENSOR_MIDDLE_ALONE),
    entry("gemm_bf16_mma", MMA.threads(), 1, false),
    entry("gemm_bf16_mma_any", MMA.threads(), 1, false),
    entry("gemm_bf16_mma_even", MMA.threads(), 1, false),
    tensor_entry("gemm_bf16_one_stage", ONE_STAGE),
    tensor_entry("gemm_bf16_pipelined", PIPELINED),
    tensor_entry("gemm_bf16_small", TENSOR_SMALL),
    tensor_entry("gemm_bf16_specialised", SPECIALISED),
    tensor_entry("gemm_bf16_wide", TENSOR_WIDE),
    tensor_entry("gemm_fused_any", FUSED_SMALL),
    tensor_entry("gemm_fused_deep", FUSED_DEEP),
    tensor_entry("gemm_fused_large", FUSED_LARGE),
    tensor_entry("gemm_fused_small", FUSED_SMALL),
    tensor_entry("gemm_fused_square", FUSED_SQUARE),
    tensor_entry("gemm_tf32_flat", TENSOR_TF32_FLAT),
    tensor_entry("gemm_tf32_transposed", TENSOR_TF32),
    entry("l2_sweep_read", SUPPORT_BLOCK, 8, false),
    entry("l2_sweep_write", SUPPORT_BLOCK, 8, false),
    entry("mix_ring", STREAM_BLOCK, MIX_RING_BLOCKS_PER_SM, true),
    entry("mix_vector", STREAM_BLOCK, 16, true),
    row_copy_entry("narrow_rows_bf16"),
    row_copy_entry("pad_rows_16"),
    row_copy_entry("pad_rows_32"),
    entry("saxpy_scalar", SCALAR_BLOCK, 8, true),
    entry("saxpy_vector", STREAM_BLOCK, 16, true),
    Entry {
        only: Some("sm_90a"),
        ..entry("sgemm_bulk", BULK.threads(), BULK.blocks_per_sm, true)
    },
    tile_entry("sgemm_flat", FLAT),
    tile_entry("sgemm_flat_any", FLAT),
    hopper_tile_entry("sgemm_flat_together", FLAT),
    hopper_tile_entry("sgemm_flat_together_any", FLAT),
    Entry {
        name: "sgemm_naive",
        max_threads: [NAIVE_TILE, NAIVE_TILE, 1],
        min_blocks_per_sm: 8,
        cluster: 1,
        fused: true,
        only: None,
    },
    tile_entry("sgemm_narrow", NARROW),
    tile_entry("sgemm_narrow_any", NARROW),
    hopper_tile_entry("sgemm_narrow_together", NARROW),
    hopper_tile_entry("sgemm_narrow_together_any", NARROW),
    product_entry("sgemm_product_16", PRODUCT_16),
    product_entry("sgemm_product_16_any", PRODUCT_16),
    product_entry("sgemm_product_32", PRODUCT_32),
    product_entry("sgemm_product_32_any", PRODUCT_32),
    product_entry("sgemm_product_64", PRODUCT_64),
    product_entry("sgemm_product_64_any", PRODUCT_64),
    entry("sgemm_register", REGISTER_BLOCK, 2, true),
    Entry {
        only: Some("sm_90a"),
        ..entry("sgemm_sliced", SLICED.threads(), SLICED.blocks_per_sm, true)
    },
    tile_entry("sgemm_small", SMALL),
    tile_entry("sgemm_small_any", SMALL),
    hopper_tile_entry("sgemm_small_together", SMALL),
    hopper_tile_entry("sgemm_small_together_any", SMALL),
    tile_entry("sgemm_square", SQUARE),
    tile_entry("sgemm_square_any", SQUARE),
    hopper_tile_entry("sgemm_square_together", SQUARE),
    hopper_tile_entry("sgemm_square_together_any", SQUARE),
    Entry {
        name: "sgemm_tiled",
        max_threads: [TILED_TILE, TILED_TILE, 1],
        min_blocks_per_sm: 2,
        cluster: 1,
        fused: true,
        only: None,
    },
    hopper_tile_entry("sgemm_transposed", TRANSPOSED),
    hopper_tile_entry("sgemm_transposed_any", TRANSPOSED),
    tile_entry("sgemm_wide", WIDE),
    tile_entry("sgemm_wide_any", WIDE_ANY),
    Entry {
        only: Some("sm_90a"),
        ..entry("transpose_32", TRANSPOSE_BLOCK, 8, false)
    },
    entry("triad_scalar", SCALAR_BLOCK, 8, true),
    entry("triad_vector", STREAM_BLOCK, 16, true),
];
