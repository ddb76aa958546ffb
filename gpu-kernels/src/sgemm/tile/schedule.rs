//! Which ranges of k tiles fall to a block.
//!
//! The blocks of one wave stay resident. First each takes `waves` whole tiles; what is left,
//! less than two tiles a block, is one long row of k tiles that is cut into equal shares
//! (stream-K: M. Osama et al., PPoPP 2023), so that no multiprocessor idles in a last wave.
//!
//! A tile that is cut leaves its partial sums in the scratch memory. The block that finishes
//! last adds them up, always in the order of k: the result does not depend on who was last,
//! and no block ever waits for another.

use super::{Corner, Operands, Shape, output, segment};
use crate::gpu::thread;
use crate::params::{RASTER_ROWS, SCRATCH_COUNTERS};
use crate::ptx::{device_wide, shared};

/// Largest k at which C is asked for before the product: its way through the L2 is then not much
/// longer than the product takes, and the tile ends without a trip to the memory.
const PREFETCH_MOST_K: u32 = 512;

/// The shares of the blocks of a launch.
#[derive(Clone, Copy)]
pub struct Schedule {
    /// Whole tiles of each block.
    pub waves: u32,
    /// k tiles of each block's share of the rest.
    pub share: u32,
    /// Blocks that take one k tile more.
    pub extra: u32,
    /// [`SCRATCH_COUNTERS`] counters, all 0, and behind them two partial sums a block.
    pub scratch: *mut u32,
}

impl Schedule {
    /// The first k tile of a block's share.
    #[inline(always)]
    fn start(&self, block: u32) -> u32 {
        block * self.share + if block < self.extra { block } else { self.extra }
    }

    /// The block in whose share a k tile lies.
    #[inline(always)]
    fn block_of(&self, k_tile: u32) -> u32 {
        let long = self.extra * (self.share + 1);
        // SAFETY: k tiles are left, so the shares are not empty, and a share is a part of the
        // k tiles, whose number fits in 32 bits; neither division can panic.
        unsafe { core::hint::assert_unchecked(self.share != 0 && self.share != u32::MAX) };
        if k_tile < long { k_tile / (self.share + 1) } else { self.extra + (k_tile - long) / self.share }
    }

    /// The partial sum that a block leaves of a tile that it begins, or that it ends.
    #[inline(always)]
    fn slot<S: Shape>(&self, block: u32, begins: bool) -> *mut f32 {
        let partials = self.scratch.wrapping_add(SCRATCH_COUNTERS as usize).cast::<f32>();
        partials.wrapping_add((2 * block + begins as u32) as usize * (S::TILE.m * S::TILE.n) as usize)
    }
}

/// The product to which tile `index` of the batch belongs, and its corner there: down
/// [`RASTER_ROWS`] rows of tiles, then one column on, so that the blocks that run together share
/// rows of A and columns of B in the L2.
#[inline(always)]
fn locate<S: Shape>(operands: Operands, index: u32) -> (Operands, Corner) {
    let (rows, columns) = (operands.m.div_ceil(S::TILE.m), operands.n.div_ceil(S::TILE.n));
    let (tiles, band) = (rows * columns, RASTER_ROWS * columns);
    // SAFETY: m, n >= 1: a launch without tiles has no blocks. Keeps panics out of the PTX.
    unsafe { core::hint::assert_unchecked(tiles != 0 && band != 0) };
    let (product, index) = (index / tiles, index % tiles);
    let top = index / band * RASTER_ROWS;
    let height = if rows - top < RASTER_ROWS { rows - top } else { RASTER_ROWS };
    // SAFETY: the tile exists, so its band has at least one row.
    unsafe { core::hint::assert_unchecked(height != 0) };
    let inside = index % band;
    let corner = Corner {
        row: (top + inside % height) * S::TILE.m,
        column: inside / height * S::TILE.n,
    };
    (operands.of_product(product), corner)
}

/// What this block computes of C += A @ B. The tiles of a batch are numbered product by product.
///
/// # Safety
/// The operands are row-major matrices of their sizes, those of a batch one behind the other,
/// k >= 1; `c` overlaps neither of the others. With `VEC` = 4, `b` and `c` are 16-byte aligned and n is a multiple of 4. The block
/// has the threads and the dynamic shared memory of the shape, and [`Schedule`] is that of
/// the whole grid.
#[inline(always)]
pub unsafe fn run<S: Shape, const TM: usize, const TN: usize, const VEC: u32>(
    operands: Operands,
    schedule: Schedule,
) {
    let (block, blocks) = (thread::block_idx_x(), thread::grid_dim_x());
    let depth = operands.k.div_ceil(S::TILE.k);
    // SAFETY: k >= 1. Keeps the division below from carrying a panic.
    unsafe { core::hint::assert_unchecked(depth != 0) };
    let mut wave = 0;
    let mut position = schedule.start(block);
    let end = schedule.start(block + 1);
    loop {
        let (tile, first, last);
        if wave < schedule.waves {
            (tile, first, last) = (wave * blocks + block, 0, depth);
            wave += 1;
        } else if position < end {
            let rest = position / depth;
            first = position % depth;
            let left = end - position;
            last = if depth - first < left { depth } else { first + left };
            tile = schedule.waves * blocks + rest;
            position += last - first;
        } else {
            return;
        }
        let (operands, corner) = locate::<S>(operands, tile);
        // SAFETY: as the caller vouches; the barrier stands between the last use of the shared
        // memory and the next. Tiles that are whole are this block's alone.
        unsafe {
            thread::sync_threads();
            let prefetches = operands.k <= PREFETCH_MOST_K && last - first == depth;
            let sums = segment::sum::<S, TM, TN, VEC>(operands, corner, first, last, prefetches);
            let output = output::Output::<S, VEC>::new(operands, corner);
            if first == 0 && last == depth {
                output.add(&sums);
            } else {
                let rest = tile - schedule.waves * blocks;
                gather::<S, TM, TN, VEC>(&schedule, rest, first == 0, depth, &sums, output);
            }
        }
    }
}

/// Leaves this block's part of tile `rest` (counted behind the whole ones) in the scratch
/// memory; the last of the blocks that share the tile adds up all parts and adds them to C.
#[inline(always)]
unsafe fn gather<S: Shape, const TM: usize, const TN: usize, const VEC: u32>(
    schedule: &Schedule,
    rest: u32,
    begins: bool,
    depth: u32,
    sums: &[[f32; TN]; TM],
    output: output::Output<S, VEC>,
) {
    let from = schedule.block_of(rest * depth);
    let to = schedule.block_of(rest * depth + depth - 1);
    let counter = schedule.scratch.wrapping_add(rest as usize);
    let flag = shared::dynamic_base();
    // SAFETY: a block begins at most one cut tile and ends at most one, so its two slots are
    // written once a launch; the fences order parts and counter; the barriers order the flag,
    // which lies in a stage that is no longer used.
    unsafe {
        output::store_partial::<S, TM, TN>(schedule.slot::<S>(thread::block_idx_x(), begins), sums);
        thread::sync_threads();
        if thread::thread_idx_x() == 0 {
            device_wide::fence();
            let before = device_wide::fetch_add(counter, 1);
            device_wide::fence();
            shared::store_u32(flag, before);
        }
        thread::sync_threads();
        if shared::load_u32(flag) != to - from {
            return;
        }
        if thread::thread_idx_x() == 0 {
            // All have come: ready for the next launch.
            *counter = 0;
        }
        let mut total = [[0.0; TN]; TM];
        let mut block = from;
        while block <= to {
            output::add_partial::<S, TM, TN>(schedule.slot::<S>(block, block == from), &mut total);
            block += 1;
        }
        output.add(&total);
    }
}
