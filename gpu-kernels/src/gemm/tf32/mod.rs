//! `gemm-tf32`: f32 in memory, TF32 in the multipliers.
//!
//! `wgmma` takes TF32 operands from shared memory along k only, which a row-major B is not. So the
//! transposed product is computed, C^T = B^T @ A^T: A, as it lies, is the operand along k, and B^T
//! the one that may come from registers, into which its elements are loaded from the rows as they
//! lie, those of half a k tile while the half before is multiplied. The sums then are those of C^T.
//!
//! | module | what it holds |
//! |---|---|
//! | [`fragment`] | B^T: from shared memory to registers, and the products |
//! | [`output`] | C: from registers to memory |

mod fragment;
mod output;

use super::ring::Ring;
use super::specialised::move_registers;
use super::walk::Walk;
use super::{Products, Tile};
use crate::gpu::thread;
use crate::params::{TENSOR_TF32, TENSOR_TF32_DEPTH, TENSOR_TF32_FLAT, TensorTile, WARP};
use crate::ptx::bulk_tensor::TensorMap;
use crate::ptx::wgmma::{self, Descriptor, Sums, Sums128, Sums256};
use crate::ptx::{bulk_tensor, grid, mbarrier, warp};
use crate::stage::Stage;
use fragment::{Half, Reader};
use output::Own;

/// Columns of a panel of B: 128 bytes.
const PANEL_COLUMNS: u32 = 32;
/// Bytes of a panel of B: a k tile of rows.
const PANEL_BYTES: u32 = TENSOR_TF32_DEPTH * 128;
/// Warps of a warpgroup.
const WARPS: u32 = 4;

/// Tiles of C until there are none left. The tile is transposed: its rows are columns of C.
///
/// # Safety
/// The pointers of `products` are as it says, the boxes of the tensor maps have 32 columns and as many
/// rows as the tile columns (A) and as a k tile is deep (B); the launch has the tile's threads and
/// shared memory.
#[inline(always)]
unsafe fn run<T: Tile>(products: Products) {
    let index = thread::thread_idx_x();
    let consumers = T::TILE.consumers;
    let ring = Ring::new();
    let tile = [T::TILE.n, T::TILE.m()];
    let walk = Walk::new(
        products.extent(),
        tile,
        thread::block_idx_x(),
        thread::grid_dim_x(),
    );
    // SAFETY: one thread makes the barriers before any other uses them; whole warpgroups branch
    // together.
    unsafe {
        if index == 0 {
            ring.make_barriers::<T>(consumers * WARPS);
            grid::wait_for_last();
        }
        thread::sync_threads();
        if index < 128 * consumers {
            move_registers::<T>(true);
            multiply::<T>(&products, ring, walk, index);
        } else {
            move_registers::<T>(false);
            if index == 128 * consumers {
                copy::<T>(&products, ring, walk);
            }
        }
    }
}

/// k tiles of a tile of C.
#[inline(always)]
fn depth(products: &Products) -> u32 {
    products.k.div_ceil(TENSOR_TF32_DEPTH)
}

/// Keeps the stages filled.
///
/// # Safety
/// One thread of the block calls it.
#[inline(always)]
unsafe fn copy<T: Tile>(products: &Products, ring: Ring, mut walk: Walk) {
    let mut stage = Stage::FIRST;
    while let Some(place) = walk.next() {
        for k_tile in 0..depth(products) {
            // SAFETY: the barriers are made; a stage is filled once it has been read.
            unsafe {
                mbarrier::wait(ring.empty::<T>(stage), stage.parity ^ 1);
                let full = ring.full::<T>(stage);
                let k = k_tile * TENSOR_TF32_DEPTH;
                mbarrier::arrive_expecting(full, T::TILE.stage_bytes());
                let a = ring.columns::<T>(stage);
                bulk_tensor::load(a, products.a, [k, place.row, place.matrix], full);
                for panel in 0..T::TILE.m() / PANEL_COLUMNS {
                    let to = ring.rows::<T>(stage) + panel * PANEL_BYTES;
                    let column = place.column + panel * PANEL_COLUMNS;
                    bulk_tensor::load(to, products.b, [column, k, place.matrix], full);
                }
            }
            stage = stage.next(T::TILE.stages);
        }
    }
}

/// Multiplies what arrives, and writes.
///
/// While the products of one half of a k tile run, the fragments of the next half are loaded.
///
/// # Safety
/// All threads of the block's multiplying warpgroups call it.
#[inline(always)]
unsafe fn multiply<T: Tile>(products: &Products, ring: Ring, mut walk: Walk, index: u32) {
    let depth = depth(products);
    let reader = Reader::new(index, products.k);
    let (mut first, mut second) = (Half::zero(), Half::zero());
    let mut stage = Stage::FIRST;
    while let Some(place) = walk.next() {
        output::prefetch::<T>(products, place, index);
        let mut sums = T::Sums::zero();
        let mut left = depth;
        let mut last = stage;
        // SAFETY: stages are complete when they are read, and given back when the products that read
        // them, and the registers, are.
        unsafe {
            mbarrier::wait(ring.full::<T>(stage), stage.parity);
            reader.load(&mut first, ring.rows::<T>(stage), 0);
            loop {
                let a = Descriptor::along_k(ring.columns::<T>(Stage::FIRST))
                    .advance_by(T::TILE.b_bytes(), warp::first(stage.index));
                first.multiply(&mut sums, a, 0);
                wgmma::wait::<1>();
                // The products of the second half before are complete.
                if left < depth {
                    give_back::<T>(ring, last, index);
                }
                reader.load(&mut second, ring.rows::<T>(stage), 1);
                second.multiply(&mut sums, a, 1);
                wgmma::wait::<1>();
                // Those of this first half are.
                last = stage;
                stage = stage.next(T::TILE.stages);
                left -= 1;
                if left == 0 {
                    break;
                }
                mbarrier::wait(ring.full::<T>(stage), stage.parity);
                reader.load(&mut first, ring.rows::<T>(stage), 0);
            }
            wgmma::wait::<0>();
            give_back::<T>(ring, last, index);
            let own = Own::new(products, place, index);
            if products.n.is_multiple_of(2) {
                own.write_all::<T, true>(&sums);
            } else {
                own.write_all::<T, false>(&sums);
            }
        }
    }
}

/// Tells the thread that copies that this warp has read a stage: each warp for itself, for only it
/// knows that its loads are done.
///
/// # Safety
/// The warp's loads from the stage, and the products that read it, are complete.
#[inline(always)]
unsafe fn give_back<T: Tile>(ring: Ring, stage: Stage, index: u32) {
    if index % WARP == 0 {
        // SAFETY: the barrier is made.
        unsafe { mbarrier::arrive(ring.empty::<T>(stage)) };
    }
}

tensor_kernels! {
    /// Large products.
    gemm_tf32_transposed: Transposed = TENSOR_TF32, Sums256;
    /// Products that have too few large tiles for all multiprocessors.
    gemm_tf32_flat: Flat = TENSOR_TF32_FLAT, Sums128;
}
