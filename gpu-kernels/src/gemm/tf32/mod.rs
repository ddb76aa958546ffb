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

use super::ring::{Ring, Stage};
use super::specialised::move_registers;
use super::walk::Walk;
use super::{Products, Tile};
use crate::gpu::thread;
use crate::params::{TENSOR_TF32, TENSOR_TF32_DEPTH, TensorTile, WARP};
use crate::ptx::bulk_tensor::TensorMap;
use crate::ptx::wgmma::{self, Descriptor, Sums, Sums256};
use crate::ptx::{bulk_tensor, mbarrier};
use fragment::{Half, Reader};
use output::Own;

/// Columns of a panel of B: 128 bytes.
const PANEL_COLUMNS: u32 = 32;
/// Bytes of a panel of B: a k tile of rows.
const PANEL_BYTES: u32 = TENSOR_TF32_DEPTH * 128;
/// Warps of a warpgroup.
const WARPS: u32 = 4;

/// The transposed tile: rows are columns of C.
struct Transposed;

impl Tile for Transposed {
    const TILE: TensorTile = TENSOR_TF32;
    type Sums = Sums256;
}

kernel! {
    /// C = A @ B + beta C. The tensor maps have boxes of 32 columns, and 256 (A) and 32 (B) rows.
    ///
    /// # Safety
    /// The pointers are those of matrices as `m`, `n`, `k` and `batch` say; the launch has the
    /// tile's threads and shared memory.
    pub unsafe fn gemm_tf32_transposed(
        _a: TensorMap, _b: TensorMap, _c: TensorMap, c: *mut u8,
        m: u32, n: u32, k: u32, batch: u32, flags: u32,
    ) {
        let a = tensor_map_parameter!(gemm_tf32_transposed, 0);
        let b = tensor_map_parameter!(gemm_tf32_transposed, 1);
        let c_map = tensor_map_parameter!(gemm_tf32_transposed, 2);
        let products = Products { a, b, c_map, c, m, n, k, batch, flags };
        let index = thread::thread_idx_x();
        let consumers = Transposed::TILE.consumers;
        let ring = Ring::new();
        let tile = [Transposed::TILE.n, Transposed::TILE.m()];
        let walk = Walk::new(products.extent(), tile, thread::block_idx_x(), thread::grid_dim_x());
        // SAFETY: one thread makes the barriers before any other uses them; whole warpgroups branch
        // together.
        unsafe {
            if index == 0 {
                ring.make_barriers::<Transposed>(consumers * WARPS);
            }
            thread::sync_threads();
            if index < 128 * consumers {
                move_registers::<Transposed>(true);
                multiply(&products, ring, walk, index);
            } else {
                move_registers::<Transposed>(false);
                if index == 128 * consumers {
                    copy(&products, ring, walk);
                }
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
unsafe fn copy(products: &Products, ring: Ring, mut walk: Walk) {
    let mut stage = Stage::FIRST;
    while let Some(place) = walk.next() {
        for k_tile in 0..depth(products) {
            // SAFETY: the barriers are made; a stage is filled once it has been read.
            unsafe {
                mbarrier::wait(ring.empty::<Transposed>(stage), stage.parity ^ 1);
                let full = ring.full::<Transposed>(stage);
                let k = k_tile * TENSOR_TF32_DEPTH;
                mbarrier::arrive_expecting(full, Transposed::TILE.stage_bytes());
                let a = ring.columns::<Transposed>(stage);
                bulk_tensor::load(a, products.a, [k, place.row, place.matrix], full);
                for panel in 0..Transposed::TILE.m() / PANEL_COLUMNS {
                    let to = ring.rows::<Transposed>(stage) + panel * PANEL_BYTES;
                    let column = place.column + panel * PANEL_COLUMNS;
                    bulk_tensor::load(to, products.b, [column, k, place.matrix], full);
                }
            }
            stage = stage.next(Transposed::TILE.stages);
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
unsafe fn multiply(products: &Products, ring: Ring, mut walk: Walk, index: u32) {
    let depth = depth(products);
    let reader = Reader::new(index, products.k);
    let (mut first, mut second) = (Half::zero(), Half::zero());
    let mut stage = Stage::FIRST;
    while let Some(place) = walk.next() {
        output::prefetch(products, place, index);
        let mut sums = Sums256::zero();
        let mut left = depth;
        let mut last = stage;
        // SAFETY: stages are complete when they are read, and given back when the products that read
        // them, and the registers, are.
        unsafe {
            mbarrier::wait(ring.full::<Transposed>(stage), stage.parity);
            reader.load(&mut first, ring.rows::<Transposed>(stage), 0);
            loop {
                let a = Descriptor::along_k(ring.columns::<Transposed>(stage));
                first.multiply(&mut sums, a, 0);
                wgmma::wait::<1>();
                // The products of the second half before are complete.
                if left < depth {
                    give_back(ring, last, index);
                }
                reader.load(&mut second, ring.rows::<Transposed>(stage), 1);
                second.multiply(&mut sums, a, 1);
                wgmma::wait::<1>();
                // Those of this first half are.
                last = stage;
                stage = stage.next(Transposed::TILE.stages);
                left -= 1;
                if left == 0 {
                    break;
                }
                mbarrier::wait(ring.full::<Transposed>(stage), stage.parity);
                reader.load(&mut first, ring.rows::<Transposed>(stage), 0);
            }
            wgmma::wait::<0>();
            give_back(ring, last, index);
            let own = Own::new(products, place, index);
            if products.n.is_multiple_of(2) {
                own.write_all::<true>(&sums);
            } else {
                own.write_all::<false>(&sums);
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
unsafe fn give_back(ring: Ring, stage: Stage, index: u32) {
    if index % WARP == 0 {
        // SAFETY: the barrier is made.
        unsafe { mbarrier::arrive(ring.empty::<Transposed>(stage)) };
    }
}
