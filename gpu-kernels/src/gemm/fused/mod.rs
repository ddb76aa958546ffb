//! `gemm-mixed` without copies in memory: A and B come to shared memory as they are stored, f32; all
//! threads round them there to bfloat16, in the layout that `wgmma` reads, and start the products,
//! which run while the next k tile is rounded.
//!
//! | module | what it holds |
//! |---|---|
//! | [`feed`] | the copies of f32 into the stages |
//! | [`round`] | from a stage to bfloat16 |
//! | [`write`] | C: from memory through the stages, and back |
//! | [`alone`] | blocks that round all that they multiply |
//! | [`exchange`] | blocks of a cluster that round a part each, for all |
//!
//! A k tile is [`FUSED_DEPTH`] deep. In bfloat16 A's rows of it are 64 bytes; B lies in two slices of 16
//! rows, each in panels of 64 columns: what an instruction reads.

mod alone;
mod exchange;
mod feed;
mod round;
mod write;

use super::ring::{Ring, Stage};
use super::walk::{Place, Walk};
use super::{Products, Tile};
use crate::gpu::thread;
use crate::params::{
    FUSED_CROSS, FUSED_DEEP, FUSED_DEPTH, FUSED_FLAT, FUSED_FLAT_CROSS, FUSED_LARGE, FUSED_PAIR, FUSED_SMALL,
    FUSED_SQUARE, FUSED_WIDE, STAGES_C, TensorTile, WARP,
};
use crate::ptx::bulk_tensor::TensorMap;
use crate::ptx::wgmma::{Descriptor, Sums, Sums64, Sums128, Sums256};
use crate::ptx::cluster;
use feed::Feed;

/// k of one instruction.
const SLICE: u32 = 16;
/// Bytes of a panel of a slice of B: 16 rows of 64 columns.
const SLICE_PANEL: u32 = SLICE * 128;

/// The products of a launch, and A and B where no bulk copy takes them.
#[derive(Clone, Copy)]
struct Operands {
    /// The tensor maps have boxes of 32 columns. Those of A and C have the rows of the tile, those of B
    /// 32 over the rows of the cluster; where blocks exchange, A's are divided by its columns.
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

/// Where a block stands in its cluster.
#[derive(Clone, Copy)]
struct Seat {
    row: u32,
    column: u32,
}

impl Seat {
    /// That of this block.
    #[inline(always)]
    fn own<T: Fused>() -> Self {
        if T::TILE.cluster == 1 {
            return Seat { row: 0, column: 0 };
        }
        let rank = cluster::rank();
        Seat {
            row: rank / T::TILE.cluster_columns,
            column: rank % T::TILE.cluster_columns,
        }
    }

    /// The block's tile, where that of the cluster is at `place`.
    #[inline(always)]
    fn tile<T: Fused>(self, place: Place) -> Place {
        Place {
            row: place.row + self.row * T::TILE.m(),
            column: place.column + self.column * T::TILE.n,
            ..place
        }
    }
}

/// Tiles of C until there are none left.
///
/// # Safety
/// The pointers of `operands` are as it says; the launch has the tile's threads and shared memory,
/// and a grid that is a multiple of its cluster.
#[inline(always)]
unsafe fn run<T: Fused>(operands: Operands) {
    const { assert!(T::TILE.halves >= 2) };
    let cluster = T::TILE.cluster;
    let index = thread::thread_idx_x();
    let seat = Seat::own::<T>();
    let ring = Ring::new();
    let (first, step) = (
        thread::block_idx_x() / cluster,
        thread::grid_dim_x() / cluster,
    );
    let walk = Walk::new(
        operands.products.extent(),
        T::TILE.cluster_tile(),
        first,
        step,
    );
    let mut feed = Feed::new(walk, seat);
    // Two warps, so that no compiler draws the barrier between, which whole warps reach, into a branch.
    const MAKER: u32 = WARP;
    // SAFETY: one thread makes the barriers and one warp feeds the stages, once every block of the
    // cluster has made its own.
    unsafe {
        if index == MAKER {
            if T::TILE.exchanges() {
                exchange::make_barriers::<T>(ring);
            }
            ring.make_barriers::<T>(cluster);
        }
        if cluster == 1 {
            thread::sync_threads();
        } else {
            cluster::sync();
        }
        if index < WARP {
            feed.first::<T>(&operands, ring, index);
        }
        if T::TILE.exchanges() {
            exchange::multiply::<T>(&operands, ring, feed, walk, seat, index);
        } else {
            alone::multiply::<T>(&operands, ring, feed, walk, seat, index);
        }
    }
    if cluster > 1 {
        // Nobody leaves while others still write to its shared memory.
        cluster::sync();
    }
}

/// Starts the products of a half for the 64 rows of a warpgroup.
///
/// # Safety
/// The whole warpgroup calls it, behind `wgmma`'s fence; the half is complete and stays.
#[inline(always)]
unsafe fn multiply_half<T: Fused>(sums: &mut T::Sums, ring: Ring, half: Stage, warpgroup: u32) {
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
    /// Large products: two blocks exchange what they round of B.
    gemm_fused_pair: Pair = FUSED_PAIR, Sums256, any false;
    /// Large products: four blocks exchange what they round.
    gemm_fused_cross: Cross = FUSED_CROSS, Sums256, any false;
    /// Middling products: four blocks exchange what they round.
    gemm_fused_flat_cross: FlatCross = FUSED_FLAT_CROSS, Sums128, any false;
    /// Larger ones, two blocks a multiprocessor.
    gemm_fused_square: Square = FUSED_SQUARE, Sums128, any false;
    /// Small products, of which there are few.
    gemm_fused_deep: Deep = FUSED_DEEP, Sums64, any false;
    /// Middling products.
    gemm_fused_flat: Flat = FUSED_FLAT, Sums128, any false;
    /// Large tiles.
    gemm_fused_large: Large = FUSED_LARGE, Sums256, any false;
    /// Large products: two blocks share B.
    gemm_fused_wide: Wide = FUSED_WIDE, Sums256, any false;
}
