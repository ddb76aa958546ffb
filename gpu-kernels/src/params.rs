//! Tile shapes, entry names and launch bounds: what host and device must agree on.

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
/// Fixed multiplier of every FMA: the chain contracts slowly, so values keep changing.
pub const FMA_MULTIPLIER: f32 = 1.0 - 1.0 / 2048.0;
/// Fixed addend of every FMA: the chains tend to 1/2.
pub const FMA_ADDEND: f32 = 1.0 / 4096.0;

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

/// Rows of tiles of C that are walked together before the next columns.
pub const RASTER_ROWS: u32 = 8;
/// Counters at the start of the scratch memory: at least as many as tiles that are cut, of
/// which there are less than two a block.
pub const SCRATCH_COUNTERS: u32 = 8192;

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

    /// Elements from one row to the next of A's part of a stage, which is transposed. The
    /// padding spreads the columns that a warp stores over the banks.
    pub const fn a_stride(&self) -> u32 {
        self.m + 4
    }

    /// Bytes of A's part of a stage.
    pub const fn a_bytes(&self) -> u32 {
        self.k * self.a_stride() * 4
    }

    /// Bytes of a stage.
    pub const fn stage_bytes(&self) -> u32 {
        self.a_bytes() + self.k * self.n * 4
    }

    /// Dynamic shared memory of a block.
    pub const fn shared_bytes(&self) -> u32 {
        self.stages * self.stage_bytes()
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
    blocks_per_sm: 1,
};

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
    blocks_per_sm: 6,
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
    blocks_per_sm: 4,
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

/// Threads of a block of the operand fills and the L2 sweep.
pub const SUPPORT_BLOCK: u32 = 256;

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

/// Describes an entry that computes tiles of a shape.
const fn tile_entry(name: &'static str, shape: TileShape) -> Entry {
    entry(name, shape.threads(), shape.blocks_per_sm, true)
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
    entry("l2_sweep_read", SUPPORT_BLOCK, 8, false),
    entry("l2_sweep_write", SUPPORT_BLOCK, 8, false),
    entry("saxpy_scalar", SCALAR_BLOCK, 8, true),
    entry("saxpy_vector", STREAM_BLOCK, 16, true),
    tile_entry("sgemm_flat", FLAT),
    tile_entry("sgemm_flat_any", FLAT),
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
    product_entry("sgemm_product_16", PRODUCT_16),
    product_entry("sgemm_product_16_any", PRODUCT_16),
    product_entry("sgemm_product_32", PRODUCT_32),
    product_entry("sgemm_product_32_any", PRODUCT_32),
    product_entry("sgemm_product_64", PRODUCT_64),
    product_entry("sgemm_product_64_any", PRODUCT_64),
    entry("sgemm_register", REGISTER_BLOCK, 2, true),
    tile_entry("sgemm_small", SMALL),
    tile_entry("sgemm_small_any", SMALL),
    tile_entry("sgemm_square", SQUARE),
    tile_entry("sgemm_square_any", SQUARE),
    Entry {
        name: "sgemm_tiled",
        max_threads: [TILED_TILE, TILED_TILE, 1],
        min_blocks_per_sm: 2,
        cluster: 1,
        fused: true,
        only: None,
    },
    tile_entry("sgemm_wide", WIDE),
    tile_entry("sgemm_wide_any", WIDE_ANY),
    entry("triad_scalar", SCALAR_BLOCK, 8, true),
    entry("triad_vector", STREAM_BLOCK, 16, true),
];
