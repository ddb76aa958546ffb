//! `gemm-tf32`: f32 in memory, TF32 in the multipliers.
//!
//! `wgmma` takes TF32 operands from shared memory along k only, which a row-major B is not. So the
//! transposed product is computed, C^T = B^T @ A^T: A, as it lies, is the operand along k, and B^T
//! the one that may come from registers, into which its elements are loaded one by one from the rows
//! as they lie. The sums then are those of C^T.

use super::output::element;
use super::ring::{Ring, Stage};
use super::specialised::move_registers;
use super::walk::{Place, Walk};
use super::{Products, Tile};
use crate::gpu::thread;
use crate::params::{READS_C, TENSOR_TF32, TENSOR_TF32_DEPTH, TensorTile};
use crate::ptx::bulk_tensor::TensorMap;
use crate::ptx::wgmma::{self, Descriptor, Sums, Sums256};
use crate::ptx::{bulk_tensor, mbarrier, shared};

/// Columns of a panel of B: 128 bytes.
const PANEL_COLUMNS: u32 = 32;
/// Bytes of a panel of B: a k tile of rows.
const PANEL_BYTES: u32 = TENSOR_TF32_DEPTH * 128;
/// Warps of a warpgroup.
const WARPS: u32 = 4;
/// k of one instruction.
const SLICE: u32 = 8;
/// Instructions of a k tile.
const SLICES: usize = (TENSOR_TF32_DEPTH / SLICE) as usize;

/// The transposed tile: rows are columns of C.
struct Transposed;

impl Tile for Transposed {
    const TILE: TensorTile = TENSOR_TF32;
    type Sums = Sums256;
}

/// What a warp multiplies of a k tile from registers: of every slice the four words of
/// [`Sums::multiply_tf32`].
type Fragments = [[u32; 4]; SLICES];

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
/// # Safety
/// All threads of the block's multiplying warpgroups call it.
#[inline(always)]
unsafe fn multiply(products: &Products, ring: Ring, mut walk: Walk, index: u32) {
    let (warpgroup, thread) = (index / 128, index % 128);
    let depth = depth(products);
    let mut stage = Stage::FIRST;
    while let Some(place) = walk.next() {
        let mut sums = Sums256::zero();
        let mut left = depth;
        loop {
            // SAFETY: the stage is complete, and is given back when the products that read it, and
            // the registers, are.
            unsafe {
                mbarrier::wait(ring.full::<Transposed>(stage), stage.parity);
                let fragments = fragments(ring.rows::<Transposed>(stage), index);
                let a = Descriptor::along_k(ring.columns::<Transposed>(stage));
                wgmma::fence();
                for slice in 0..SLICES {
                    let bytes = slice as u32 * SLICE * 4;
                    sums.multiply_tf32(fragments[slice], a.advance(bytes));
                }
                wgmma::commit();
                wgmma::wait::<0>();
                // Each warp for itself: only it knows that its loads are done.
                if thread % 32 == 0 {
                    mbarrier::arrive(ring.empty::<Transposed>(stage));
                }
            }
            stage = stage.next(Transposed::TILE.stages);
            left -= 1;
            if left == 0 {
                break;
            }
        }
        let place = Place {
            column: place.column + warpgroup * 64,
            ..place
        };
        // SAFETY: all products are complete.
        unsafe { write(products, &sums, place, thread) };
    }
}

/// Loads a thread's fragments of B^T from the panels at `rows`.
///
/// # Safety
/// The panels are complete.
#[inline(always)]
unsafe fn fragments(rows: u32, index: u32) -> Fragments {
    let (warp, lane) = (index / 32, index % 32);
    let mut fragments = [[0; 4]; SLICES];
    for slice in 0..SLICES as u32 {
        for part in 0..4 {
            let column = warp * 16 + lane / 4 + 8 * (part % 2);
            let k = slice * SLICE + lane % 4 + 4 * (part / 2);
            let (panel, column) = (column / PANEL_COLUMNS, column % PANEL_COLUMNS);
            let chunk = (column / 4) ^ (k % 8);
            let at = rows + panel * PANEL_BYTES + k * 128 + chunk * 16 + column % 4 * 4;
            // SAFETY: an element of a panel.
            fragments[slice as usize][part as usize] = unsafe { shared::load_u32(at) };
        }
    }
    fragments
}

/// Writes the sums of a warpgroup's 64 columns of C, which start at `place`.
///
/// # Safety
/// The whole warpgroup calls it; the products are complete.
#[inline(always)]
unsafe fn write(products: &Products, sums: &Sums256, place: Place, thread: u32) {
    /// Steps whose part of C is asked for together.
    const AHEAD: u32 = 4;
    let (warp, lane) = (thread / 32, thread % 32);
    let reads = products.flags & READS_C != 0;
    let row = |step: u32, part: u32| place.row + 8 * step + 2 * (lane % 4) + part % 2;
    let column = |part: u32| place.column + warp * 16 + lane / 4 + 8 * (part / 2);
    let inside = |step, part| row(step, part) < products.m && column(part) < products.n;
    let address = |step, part| {
        let at = element(products, place.matrix, row(step, part), column(part));
        products.c.cast::<f32>().wrapping_add(at)
    };
    for group in 0..Sums256::COLUMNS / 8 / AHEAD {
        let mut old = [0.0; 4 * AHEAD as usize];
        for i in 0..4 * AHEAD {
            let (step, part) = (group * AHEAD + i / 4, i % 4);
            if reads && inside(step, part) {
                // SAFETY: the element lies inside C.
                old[i as usize] = unsafe { *address(step, part) };
            }
        }
        for i in 0..4 * AHEAD {
            let (step, part) = (group * AHEAD + i / 4, i % 4);
            if inside(step, part) {
                let sum = sums.columns(step as usize)[part as usize];
                // SAFETY: as above; nobody else writes it.
                unsafe { *address(step, part) = sum + old[i as usize] };
            }
        }
    }
}
