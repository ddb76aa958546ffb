//! Which ranges of k tiles fall to a block.
//!
//! The blocks of one wave stay resident. First each takes `waves` whole tiles; what is left,
//! less than two tiles a block, is one long row of k tiles that is cut into equal shares
//! (stream-K: M. Osama et al., PPoPP 2023), so that no multiprocessor idles in a last wave.
//!
//! Or each tile is computed by the blocks of a cluster together, each a share of its k tiles
//! ([`run_together`]). How parts are added up says [`super::parts`].

use super::{Corner, Segments, Shape, Target, Tile, output, parts};
#[cfg(sm_90a)]
use super::{Copied, Operands};
use crate::gpu::thread;
use crate::params::{BAND, SCRATCH_COUNTERS};
#[cfg(sm_90a)]
use crate::ptx::cluster;

/// The shares of the blocks of a launch.
#[derive(Clone, Copy)]
pub struct Schedule {
    /// Whole tiles of each block.
    pub waves: u32,
    /// k tiles of each block's share of the rest, or of the tile that its cluster computes.
    pub share: u32,
    /// Blocks, of the grid or of a cluster, that take one k tile more.
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

    /// The counter of the node that joins the parts from `block` on with those before. A block begins
    /// all tiles of its share but one, so it is no other node's.
    #[inline(always)]
    pub fn counter(&self, block: u32) -> *mut u32 {
        self.scratch.wrapping_add(block as usize)
    }

    /// Where the sums of a tile's parts from that of `block` on are left; a block `begins` all
    /// tiles of its share but one.
    #[inline(always)]
    pub fn slot<S: Shape>(&self, block: u32, begins: bool) -> *mut f32 {
        let partials = self.scratch.wrapping_add(SCRATCH_COUNTERS as usize).cast::<f32>();
        partials.wrapping_add((2 * block + begins as u32) as usize * (S::TILE.m * S::TILE.n) as usize)
    }
}

/// Tile `index` of the batch, whose tiles are numbered product by product: down the rows of a [`BAND`], then
/// one column on, so that the blocks that run together share rows of A and columns of B in the L2.
#[inline(always)]
fn locate<S: Shape>(target: Target, index: u32) -> Tile {
    let (rows, columns) = (target.m.div_ceil(S::TILE.m), target.n.div_ceil(S::TILE.n));
    let band_rows = const { BAND / S::TILE.m };
    let (tiles, band) = (rows * columns, band_rows * columns);
    // SAFETY: m, n >= 1: a launch without tiles has no blocks. Keeps panics out of the PTX.
    unsafe { core::hint::assert_unchecked(tiles != 0 && band != 0) };
    let (product, index) = (index / tiles, index % tiles);
    let top = index / band * band_rows;
    let height = if rows - top < band_rows { rows - top } else { band_rows };
    // SAFETY: the tile exists, so its band has at least one row.
    unsafe { core::hint::assert_unchecked(height != 0) };
    let inside = index % band;
    let corner = Corner {
        row: (top + inside % height) * S::TILE.m,
        column: inside / height * S::TILE.n,
    };
    Tile { product, corner }
}

/// What this block computes of C += A @ B, from the k tiles that `segments` brings.
///
/// # Safety
/// The operands are row-major matrices of their sizes, those of a batch one behind the other,
/// k >= 1; C overlaps neither of the others. With `VEC` = 4, C, and a B whose elements threads copy, are
/// 16-byte aligned and n is a multiple of 4. The block has the threads and the dynamic shared memory of the shape,
/// and [`Schedule`] is that of the whole grid.
#[inline(always)]
pub unsafe fn run<S: Shape, const TM: usize, const TN: usize, const VEC: u32>(
    target: Target,
    schedule: Schedule,
    mut segments: impl Segments<TM, TN>,
) {
    let (block, blocks) = (thread::block_idx_x(), thread::grid_dim_x());
    let depth = target.k.div_ceil(S::TILE.k);
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
        let place = locate::<S>(target, tile);
        // SAFETY: as the caller vouches; the barrier stands between the last use of the shared
        // memory and the next. Tiles that are whole are this block's alone.
        unsafe {
            thread::sync_threads();
            let mut sums = segments.sum(place, first, last);
            let output =
                output::Output::<S, VEC>::new(target.of_product(place.product), place.corner);
            if first == 0 && last == depth {
                output.add(&sums);
            } else {
                let rest = tile - schedule.waves * blocks;
                let from = schedule.block_of(rest * depth);
                let parts = schedule.block_of(rest * depth + depth - 1) - from + 1;
                if parts::gather::<S, TM, TN>(&schedule, from, parts, &mut sums) {
                    output.add(&sums);
                }
            }
        }
    }
}

/// What this block computes of C += A @ B in a launch whose clusters compute a tile each.
///
/// A kernel of its own: code for clusters costs every block of a launch without them a microsecond.
///
/// # Safety
/// As for [`run`], but the waves of the schedule are not looked at, its shares are those of a cluster's
/// blocks, none of them empty.
#[cfg(sm_90a)]
#[inline(always)]
pub unsafe fn run_together<S: Shape, const TM: usize, const TN: usize, const VEC: u32>(
    operands: Operands,
    schedule: Schedule,
) {
    let rank = cluster::rank();
    let (first, last) = (schedule.start(rank), schedule.start(rank + 1));
    let tile = locate::<S>(operands.target(), cluster::index());
    // SAFETY: as the caller vouches; the shared memory has not been used.
    unsafe {
        let mut sums = Copied::<S, VEC>::new(operands).sum(tile, first, last);
        let target = operands.target().of_product(tile.product);
        let output = output::Output::<S, VEC>::new(target, tile.corner);
        parts::combine::<S, TM, TN, VEC>(&mut sums, &output);
    }
}
