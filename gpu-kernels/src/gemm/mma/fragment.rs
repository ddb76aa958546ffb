//! From a stage to registers, and the products.

use super::copy::{in_a, in_b};
use crate::gpu::thread;
use crate::params::{MMA, WARP};
use crate::ptx::{ldmatrix, mma};

/// Depth of a product.
const DEPTH: u32 = 16;
/// Products of a warp one below the other, 16 rows each.
pub const DOWN: usize = (MMA.warp_m / 16) as usize;
/// Products of a warp side by side, 8 columns each.
pub const ACROSS: usize = (MMA.warp_n / 8) as usize;
/// Slices of a k tile.
const SLICES: usize = (MMA.k / DEPTH) as usize;

const _: () = assert!(SLICES == 2, "the main loop takes a k tile in two steps");

/// Row and column of a warp's part of the tile of C.
#[inline(always)]
pub fn corner() -> (u32, u32) {
    let warp = thread::thread_idx_x() / WARP;
    let across = MMA.n / MMA.warp_n;
    (warp / across * MMA.warp_m, warp % across * MMA.warp_n)
}

/// A slice of A and of B, as `mma.sync` takes them.
#[derive(Clone, Copy)]
pub struct Fragments {
    a: [[u32; 4]; DOWN],
    /// Two neighbouring products each.
    b: [[u32; 4]; ACROSS / 2],
}

/// Where a lane reads its rows.
pub struct Reader {
    /// Of A's first 16 rows, for each slice.
    a: [u32; SLICES],
    /// Of the first slice of B, for each 16 columns.
    b: [u32; ACROSS / 2],
}

impl Reader {
    /// Reads from the stages at `base`.
    #[inline(always)]
    pub fn new(base: u32) -> Self {
        let (row, column) = corner();
        let lane = thread::thread_idx_x() % WARP;
        // `ldmatrix` takes matrices upper left, lower left, upper right, lower right from the lanes.
        let (down, right) = (lane % 16, lane / 16);
        Reader {
            a: core::array::from_fn(|slice| base + in_a(row + down, 2 * slice as u32 + right)),
            b: core::array::from_fn(|j| base + in_b(down, column / 8 + 2 * j as u32 + right)),
        }
    }

    /// Loads a slice of the k tile in a stage.
    ///
    /// # Safety
    /// The whole warp calls it; nobody writes the stage between the barriers around it.
    #[inline(always)]
    pub unsafe fn load(&self, stage: u32, slice: usize) -> Fragments {
        let stage = stage * MMA.stage_bytes();
        // Sixteen rows on, the order of the chunks is the same.
        let (a, b) = (in_a(DEPTH, 0), in_b(DEPTH, 0) - in_b(0, 0));
        // SAFETY: inside the stage.
        unsafe {
            Fragments {
                a: core::array::from_fn(|i| {
                    ldmatrix::load(self.a[slice] + stage + i as u32 * a)
                }),
                b: core::array::from_fn(|j| {
                    ldmatrix::load_transposed(self.b[j] + stage + slice as u32 * b)
                }),
            }
        }
    }
}

/// The sums of a thread: of every product, elements 2 (lane % 4) and the next of rows lane / 4 and
/// lane / 4 + 8.
pub struct Sums([[[f32; 4]; ACROSS]; DOWN]);

impl Sums {
    /// All zero.
    #[inline(always)]
    pub fn zero() -> Self {
        Sums([[[0.0; 4]; ACROSS]; DOWN])
    }

    /// Adds the product of a slice.
    #[inline(always)]
    pub fn multiply(&mut self, fragments: &Fragments) {
        let mut i = 0;
        while i < DOWN {
            let mut step = 0;
            while step < ACROSS {
                // There and back: of two products one after the other, one operand is the same.
                let j = if i % 2 == 0 { step } else { ACROSS - 1 - step };
                let [a, b, c, d] = fragments.b[j / 2];
                let right = if j % 2 == 0 { [a, b] } else { [c, d] };
                mma::m16n8k16_bf16(&mut self.0[i][j], fragments.a[i], right);
                step += 1;
            }
            i += 1;
        }
    }

    /// The pair of row lane / 4, or eight below it, of product (i, j).
    #[inline(always)]
    pub fn pair(&self, i: usize, j: usize, lower: usize) -> [f32; 2] {
        [self.0[i][j][2 * lower], self.0[i][j][2 * lower + 1]]
    }
}
