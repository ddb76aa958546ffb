//! `gemm-mixed` without copies in memory: A and B come to shared memory as they are stored, f32; all
//! threads round them there to bfloat16, in the layout that `wgmma` reads, and start the products,
//! which run while the next k tile is rounded.
//!
//! | module | what it holds |
//! |---|---|
//! | [`feed`] | the copies of f32 into the stages |
//! | [`round`] | from a stage to bfloat16 |
//! | [`write`] | C: from memory through the stages, and back |
//!
//! A k tile is [`FUSED_DEPTH`] deep. In bfloat16 A's rows of it are 64 bytes; B lies in two slices of 16
//! rows, each in panels of 64 columns: what an instruction reads.

mod feed;
mod round;
mod write;

use super::ring::Ring;
use super::walk::Walk;
use super::{Products, Tile};
use crate::gpu::thread;
use crate::params::{
    FUSED_DEEP, FUSED_DEPTH, FUSED_LARGE, FUSED_SMALL, FUSED_SQUARE, STAGES_C, TensorTile, WARP,
};
use crate::ptx::bulk_tensor::TensorMap;
use crate::ptx::wgmma::{self, Descriptor, Sums, Sums64, Sums128, Sums256};
use crate::ptx::{fence, mbarrier};
use crate::stage::Stage;
use feed::Feed;
use round::Share;
use write::write;

/// k of one instruction.
const SLICE: u32 = 16;
/// Bytes of a panel of a slice of B: 16 rows of 64 columns.
const SLICE_PANEL: u32 = SLICE * 128;

/// The products of a launch, and A and B where no bulk copy takes them.
#[derive(Clone, Copy)]
struct Operands {
    /// The tensor maps have boxes of 32 columns, those of A and C of the tile's rows, those of B of 32.
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

    /// Stages of a tile of C: its k tiles, and those that C comes through.
    #[inline(always)]
    fn stages<T: Fused>(&self) -> u32 {
        let more = if self.has(STAGES_C) { T::TILE.c_stages() } else { 0 };
        self.depth() + more
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
/// The pointers of `operands` are as it says; the launch has the tile's threads and shared memory.
#[inline(always)]
unsafe fn run<T: Fused>(operands: Operands) {
    const { assert!(T::TILE.halves == 2 && T::TILE.cluster == 1) };
    /// Of another warp than the one that feeds, so that no compiler draws the barrier between into a
    /// branch.
    const MAKER: u32 = WARP;
    let index = thread::thread_idx_x();
    let ring = Ring::new();
    let walk = Walk::new(
        operands.products.extent(),
        [T::TILE.m(), T::TILE.n],
        thread::block_idx_x(),
        thread::grid_dim_x(),
    );
    let mut feed = Feed::new(walk);
    // SAFETY: one thread makes the barriers before any other uses them; one warp feeds the stages.
    unsafe {
        if index == MAKER {
            ring.make_barriers::<T>(1);
        }
        thread::sync_threads();
        if index < WARP {
            feed.first::<T>(&operands, ring, index);
        }
        multiply::<T>(&operands, ring, feed, walk, index);
    }
}

/// Rounds what arrives, multiplies it, and writes: one half is multiplied while the other is written.
///
/// # Safety
/// All threads of the block call it; the first stages are on their way.
#[inline(always)]
unsafe fn multiply<T: Fused>(
    operands: &Operands,
    ring: Ring,
    mut feed: Feed,
    mut walk: Walk,
    index: u32,
) {
    let depth = operands.depth();
    let share = Share::new::<T>(index);
    let mut stage = Stage::FIRST;
    let mut half = 0;
    while let Some(place) = walk.next() {
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
                multiply_half::<T>(&mut sums, ring, half, index / 128);
                wgmma::commit();
                feed.again::<T>(operands, ring, stage, index);
            }
            stage = stage.next(T::TILE.stages);
            half ^= 1;
            k_tile += 1;
            if k_tile == depth {
                break;
            }
        }
        wgmma::wait::<0>();
        // SAFETY: all products are complete, those of this warpgroup, whose sums it writes.
        stage = unsafe { write::<T>(operands, (ring, &mut feed), &sums, place, stage, index) };
    }
}

/// Starts the products of a half for the 64 rows of a warpgroup.
///
/// # Safety
/// The whole warpgroup calls it, behind `wgmma`'s fence; the half is complete and stays.
#[inline(always)]
unsafe fn multiply_half<T: Fused>(sums: &mut T::Sums, ring: Ring, half: u32, warpgroup: u32) {
    let [along, across] = ring.half::<T>(half);
    let a = Descriptor::along_k_narrow(along + warpgroup * (64 * FUSED_DEPTH * 2));
    let b = Descriptor::across_k(across, SLICE_PANEL);
    for slice in 0..FUSED_DEPTH / SLICE {
        let (a, b) = (
            a.advance(slice * SLICE * 2),
            b.advance(slice * SLICE * T::TILE.n * 2),
        );
        // SAFETY: as the caller vouches.
        unsafe { sums.multiply_bf16(a, b) };
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
                    _a: TensorMap, _b: TensorMap, _c: TensorMap, a: *const f32, b: *const f32,
                    c: *mut u8, m: u32, n: u32, k: u32, batch: u32, flags: u32,
                ) {
                    let a_map = tensor_map_parameter!($entry, 0);
                    let b_map = tensor_map_parameter!($entry, 1);
                    let c_map = tensor_map_parameter!($entry, 2);
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
    /// Middling products, of which there are many.
    gemm_fused_square: Square = FUSED_SQUARE, Sums128, any false;
    /// Few small products.
    gemm_fused_deep: Deep = FUSED_DEEP, Sums64, any false;
    /// Large products.
    gemm_fused_large: Large = FUSED_LARGE, Sums256, any false;
}
