//! `gemm-mixed` without copies in memory: A and B come to shared memory as they are stored, f32; all
//! threads round them there to bfloat16, in the layout that `wgmma` reads, and start the products,
//! which run while the next k tile is rounded.
//!
//! | module | what it holds |
//! |---|---|
//! | [`feed`] | the copies of f32 into the stages |
//! | [`round`] | from a stage to bfloat16 |
//!
//! A stage is [`FUSED_DEPTH`] deep and becomes one half of the k tile of bfloat16 that shared memory
//! holds: one half is multiplied while the other is written.

mod feed;
mod round;

use super::ring::{Ring, Stage};
use super::walk::{Place, Walk};
use super::{Products, Tile, output};
use crate::gpu::thread;
use crate::params::{
    FUSED_DEPTH, FUSED_FLAT, FUSED_LARGE, FUSED_SMALL, FUSED_SQUARE, FUSED_WIDE, PANEL_BYTES,
    READS_C, TensorTile, WARP,
};
use crate::ptx::bulk_tensor::TensorMap;
use crate::ptx::special::opaque;
use crate::ptx::wgmma::{self, Descriptor, Sums, Sums64, Sums128, Sums256};
use crate::ptx::{cluster, fence, global, mbarrier};
use feed::Feed;
use round::Share;

/// The products of a launch, and A and B where no bulk copy takes them.
#[derive(Clone, Copy)]
struct Operands {
    /// The tensor maps have boxes of 32 columns and [`TensorTile::m`] (A) and 32 over
    /// [`TensorTile::cluster`] (B) rows.
    products: Products,
    a: *const f32,
    b: *const f32,
}

/// A tile, and which operands its kernel takes.
trait Fused: Tile {
    /// Whether any, and not only those that bulk copies take.
    const ANY: bool;
}

impl Operands {
    /// Whether the elements of an operand are loaded by the threads that round them, because no bulk
    /// copy takes its rows; `flag` is the operand's.
    #[inline(always)]
    fn loads<T: Fused>(&self, flag: u32) -> bool {
        T::ANY && self.has(flag)
    }

    /// Whether a flag of the launch is set.
    #[inline(always)]
    fn has(&self, flag: u32) -> bool {
        self.products.flags & flag != 0
    }

    /// k tiles of a tile of C.
    #[inline(always)]
    fn depth(&self) -> u32 {
        self.products.k.div_ceil(FUSED_DEPTH)
    }
}

/// Tiles of C until there are none left.
///
/// # Safety
/// The pointers of `operands` are as it says; the launch has the tile's threads and shared memory,
/// and a grid that is a multiple of its cluster.
#[inline(always)]
unsafe fn run<T: Fused>(operands: Operands) {
    const { assert!(T::TILE.rounds) };
    let TensorTile { cluster, .. } = T::TILE;
    let index = thread::thread_idx_x();
    let rank = if cluster == 1 { 0 } else { cluster::rank() };
    let ring = Ring::new();
    let tile = [T::TILE.m() * cluster, T::TILE.n];
    let (first, step) = (
        thread::block_idx_x() / cluster,
        thread::grid_dim_x() / cluster,
    );
    let walk = Walk::new(operands.products.extent(), tile, first, step);
    let mut feed = Feed::new(walk, rank);
    // In a cluster the thread that feeds the stages waits for the barriers of the others first; two
    // threads, so that no compiler draws the cluster's barrier, which whole warps reach, into a branch.
    let maker = if cluster == 1 { 0 } else { WARP };
    // SAFETY: one thread makes the barriers and one feeds the stages, in a cluster once every block
    // has made its own.
    unsafe {
        if index == maker {
            ring.make_barriers::<T>(cluster);
        }
        if cluster > 1 {
            cluster::sync();
        }
        if index == 0 {
            for _ in 0..opaque(T::TILE.stages) {
                feed.next::<T>(&operands, ring);
            }
        }
        if cluster == 1 {
            thread::sync_threads();
        }
        multiply::<T>(&operands, ring, feed, walk, rank, index);
    }
    if cluster > 1 {
        // Nobody leaves while others still write to its shared memory.
        cluster::sync();
    }
}

/// Rounds what arrives, multiplies it, and writes.
///
/// # Safety
/// All threads of the block call it; the first stages are on their way.
#[inline(always)]
unsafe fn multiply<T: Fused>(
    operands: &Operands,
    ring: Ring,
    mut feed: Feed,
    mut walk: Walk,
    rank: u32,
    index: u32,
) {
    let (warpgroup, thread) = (index / 128, index % 128);
    let depth = operands.depth();
    let share = Share::new::<T>(index);
    let mut stage = Stage::FIRST;
    let mut half = 0;
    while let Some(place) = walk.next() {
        let place = Place {
            row: place.row + rank * T::TILE.m(),
            ..place
        };
        if operands.has(READS_C) {
            // SAFETY: the tile is the block's own.
            unsafe { ask_for_c::<T>(&operands.products, place, index) };
        }
        let mut sums = T::Sums::zero();
        let mut k_tile = 0;
        // There is at least one k tile, and the loop is written so that ptxas sees it.
        loop {
            // SAFETY: the stage is complete and is filled again only after the barrier, behind which
            // all have read it; the half has been read by the products before the last, for which
            // all have waited before the barrier of the last.
            unsafe {
                mbarrier::wait(ring.full::<T>(stage), stage.parity);
                share.round::<T>(operands, ring, (place, k_tile), stage, half);
                fence::shared_written();
                wgmma::wait::<0>();
                thread::sync_threads();
                wgmma::fence();
                multiply_half::<T>(&mut sums, ring, half, warpgroup);
                wgmma::commit();
                if T::TILE.cluster > 1 && index < T::TILE.cluster {
                    mbarrier::arrive_at(ring.empty::<T>(stage), index);
                }
                if index == 0 {
                    feed.next::<T>(operands, ring);
                }
            }
            stage = stage.next(T::TILE.stages);
            half ^= 1;
            k_tile += 1;
            if k_tile == depth {
                break;
            }
        }
        wgmma::wait::<0>();
        let place = Place {
            row: place.row + warpgroup * 64,
            ..place
        };
        // SAFETY: all products of this warpgroup are complete.
        unsafe { output::directly::<T>(&operands.products, &sums, place, thread) };
    }
}

/// Starts the products of a half for the 64 rows of a warpgroup.
///
/// # Safety
/// The whole warpgroup calls it, behind `wgmma`'s fence; the half is complete and stays.
#[inline(always)]
unsafe fn multiply_half<T: Fused>(sums: &mut T::Sums, ring: Ring, half: u32, warpgroup: u32) {
    /// k of one instruction.
    const SLICE: u32 = 16;
    /// Bytes of a row of a tile.
    const ROW: u32 = 128;
    let [along, across] = ring.rounded::<T>();
    let a = along + warpgroup * (64 * ROW) + half * (FUSED_DEPTH * 2);
    let b = across + half * (FUSED_DEPTH * ROW);
    let (a, b) = (
        Descriptor::along_k(a),
        Descriptor::across_k(b, PANEL_BYTES),
    );
    for slice in 0..FUSED_DEPTH / SLICE {
        // SAFETY: as the caller vouches.
        unsafe { sums.multiply_bf16(a.advance(slice * 2 * SLICE), b.advance(slice * SLICE * ROW)) };
    }
}

/// Asks for a block's tile of C to be brought into the L2, where it is when the products are done.
///
/// # Safety
/// C is as `products` says.
#[inline(always)]
unsafe fn ask_for_c<T: Fused>(products: &Products, place: Place, index: u32) {
    /// Elements of a line.
    const LINE: u32 = 32;
    let lines = T::TILE.n / LINE;
    for turn in 0..T::TILE.m() * lines / T::TILE.threads() {
        let line = turn * T::TILE.threads() + index;
        let (row, column) = (
            place.row + line / lines,
            place.column + line % lines * LINE,
        );
        if row < products.m && column < products.n {
            let at = output::element(products, place.matrix, row, column);
            // SAFETY: an element of C.
            unsafe { global::prefetch_l2(products.c.cast::<f32>().add(at)) };
        }
    }
}

/// Defines the entry of a tile.
macro_rules! fused_kernels {
    ($($(#[$doc:meta])* $entry:ident: $shape:ident = $tile:ident, $sums:ident, any $any:literal;)*) => {
        $(
            $(#[$doc])*
            struct $shape;

            impl Tile for $shape {
                const TILE: TensorTile = $tile;
                type Sums = $sums;
            }

            impl Fused for $shape {
                const ANY: bool = $any;
            }

            kernel! {
                $(#[$doc])*
                ///
                /// # Safety
                /// As for [`run`].
                pub unsafe fn $entry(
                    _a: TensorMap, _b: TensorMap, a: *const f32, b: *const f32, c: *mut u8,
                    m: u32, n: u32, k: u32, batch: u32, flags: u32,
                ) {
                    let a_map = tensor_map_parameter!($entry, 0);
                    let b_map = tensor_map_parameter!($entry, 1);
                    let c_map = core::ptr::null();
                    let products =
                        Products { a: a_map, b: b_map, c_map, c, m, n, k, batch, flags };
                    // SAFETY: as the caller vouches.
                    unsafe { run::<$shape>(Operands { products, a, b }) }
                }
            }
        )*
    };
}

fused_kernels! {
    /// Operands whose rows no bulk copy takes.
    gemm_fused_any: Any = FUSED_SMALL, Sums64, any true;
    /// Small products, of which there are many.
    gemm_fused_small: Small = FUSED_SMALL, Sums64, any false;
    /// Larger ones, two blocks a multiprocessor.
    gemm_fused_square: Square = FUSED_SQUARE, Sums128, any false;
    /// Middling products: two blocks share B.
    gemm_fused_flat: Flat = FUSED_FLAT, Sums128, any false;
    /// Large tiles.
    gemm_fused_large: Large = FUSED_LARGE, Sums256, any false;
    /// Large products: two blocks share B.
    gemm_fused_wide: Wide = FUSED_WIDE, Sums256, any false;
}
