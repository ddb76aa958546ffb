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
/// Steps of every chain in one turn of the loop.
pub const FMA_UNROLL: u32 = 16;
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
    /// Whether its arithmetic must be fused: at least one `fma.rn.f32` in the PTX.
    pub fused: bool,
}

/// Describes an entry with a one-dimensional block.
const fn entry(name: &'static str, threads: u32, min_blocks_per_sm: u32, fused: bool) -> Entry {
    Entry {
        name,
        max_threads: [threads, 1, 1],
        min_blocks_per_sm,
        fused,
    }
}

/// Every entry of the PTX, in alphabetical order. The build fails if the PTX has another set.
pub const ENTRIES: &[Entry] = &[
    entry("clock_probe", 1, 1, false),
    entry("copy_scalar", SCALAR_BLOCK, 8, false),
    entry("copy_vector", STREAM_BLOCK, 16, false),
    entry("fill_bits", SUPPORT_BLOCK, 8, false),
    entry("fill_integers", SUPPORT_BLOCK, 8, false),
    entry("fill_uniform", SUPPORT_BLOCK, 8, false),
    entry("fma_chains", FMA_BLOCK, FMA_BLOCKS_PER_SM, true),
    entry("l2_sweep_read", SUPPORT_BLOCK, 8, false),
    entry("l2_sweep_write", SUPPORT_BLOCK, 8, false),
    entry("saxpy_scalar", SCALAR_BLOCK, 8, true),
    entry("saxpy_vector", STREAM_BLOCK, 16, true),
    Entry {
        name: "sgemm_naive",
        max_threads: [NAIVE_TILE, NAIVE_TILE, 1],
        min_blocks_per_sm: 8,
        fused: true,
    },
    Entry {
        name: "sgemm_tiled",
        max_threads: [TILED_TILE, TILED_TILE, 1],
        min_blocks_per_sm: 2,
        fused: true,
    },
    entry("triad_scalar", SCALAR_BLOCK, 8, true),
    entry("triad_vector", STREAM_BLOCK, 16, true),
];
