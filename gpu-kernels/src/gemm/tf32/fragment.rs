//! B^T: from the panels in shared memory to registers, and the products.

use super::{PANEL_BYTES, PANEL_COLUMNS};
use crate::params::{TENSOR_TF32_DEPTH, WARP};
use crate::ptx::shared;
use crate::ptx::wgmma::{self, Descriptor, Sums};

/// k of one instruction.
const SLICE: u32 = 8;
/// Instructions of half a k tile.
const SLICES: u32 = TENSOR_TF32_DEPTH / SLICE / 2;

/// What a thread multiplies of half a k tile from registers: of every slice the two pairs of
/// columns that [`Sums::multiply_tf32`] takes.
pub struct Half([[[u32; 2]; 2]; SLICES as usize]);

impl Half {
    /// All zero.
    #[inline(always)]
    pub fn zero() -> Self {
        Half([[[0; 2]; 2]; SLICES as usize])
    }

    /// Starts the products of half `half` of a k tile with A's part of it at `a`.
    ///
    /// # Safety
    /// The whole warpgroup calls it; the operands are complete and stay until the products are.
    #[inline(always)]
    pub unsafe fn multiply(&self, sums: &mut impl Sums, a: Descriptor, half: u32) {
        wgmma::fence();
        for i in 0..SLICES {
            let [[w, x], [y, z]] = self.0[i as usize];
            let a = a.advance((half * SLICES + i) * SLICE * 4);
            // SAFETY: as the caller vouches.
            unsafe { sums.multiply_tf32([w, x, y, z], a) };
        }
        wgmma::commit();
    }
}

/// Where a thread reads its fragments.
pub struct Reader {
    /// The pairs of the first slice, from the start of the panels on.
    at: [u32; 2],
    /// Not 0, which only we know: see [`shared::load_pair_over`].
    always: u32,
}

impl Reader {
    /// Of thread `index` of the block; `always` is not 0.
    #[inline(always)]
    pub fn new(index: u32, always: u32) -> Self {
        let lane = index % WARP;
        let column = own_column(index);
        let (panel, column) = (column / PANEL_COLUMNS, column % PANEL_COLUMNS);
        let at = |upper: u32| {
            let k = lane % 4 + 4 * upper;
            panel * PANEL_BYTES + k * 128 + ((column / 4) ^ k) * 16 + column % 4 * 4
        };
        Reader {
            at: [at(0), at(1)],
            always,
        }
    }

    /// Loads half `half` of the k tile whose panels are at `rows`.
    ///
    /// # Safety
    /// The panels are complete; the products that read `to` are, too.
    #[inline(always)]
    pub unsafe fn load(&self, to: &mut Half, rows: u32, half: u32) {
        for i in 0..SLICES {
            for upper in 0..2 {
                let at = rows + self.at[upper] + (half * SLICES + i) * SLICE * 128;
                let pair = &mut to.0[i as usize][upper];
                // SAFETY: a pair of a panel.
                unsafe { shared::load_pair_over(pair, at, self.always) };
            }
        }
    }
}

/// The first of the two neighbouring columns of the tile that thread `index` of the block has: rows
/// lane / 4 and lane / 4 + 8 of its warp's sixteen of the transposed tile.
///
/// Which columns of C these rows are is free. Neighbours are read and written together; and of the
/// columns of the 16 lanes that share an access, for four k, no two lie in the same bank.
#[inline(always)]
pub fn own_column(index: u32) -> u32 {
    let (warp, lane) = (index / WARP, index % WARP);
    let row = lane / 4;
    // Two units of 16 bytes side by side, and two that are half a panel further on.
    let unit = warp % 2 * 2 + row / 4 + row / 2 % 2 * 4;
    warp / 2 * PANEL_COLUMNS + unit * 4 + row % 2 * 2
}
