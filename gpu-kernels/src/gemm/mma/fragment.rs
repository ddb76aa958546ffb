//! From a stage to registers, and the products.

use super::Shape;
use super::copy::{in_a, in_b};
use crate::gpu::thread;
use crate::params::{MmaTile, WARP};
use crate::ptx::{ldmatrix, mma};

/// Depth of a product.
pub const DEPTH: u32 = 16;
/// Products of a warp one below the other, 16 rows each.
pub const DOWN: usize = (MmaTile::WARP / 16) as usize;
/// Products of a warp side by side, 8 columns each.
pub const ACROSS: usize = (MmaTile::WARP / 8) as usize;
/// Row and column of a warp's part of the tile of C.
#[inline(always)]
pub fn corner<T: Shape>() -> (u32, u32) {
    let warp = thread::thread_idx_x() / WARP;
    let across = T::TILE.n / MmaTile::WARP;
    (warp / across * MmaTile::WARP, warp % across * MmaTile::WARP)
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
    /// Of the first slice of A's first 16 rows.
    a: u32,
    /// Of the first slice of B, for each 16 columns.
    b: [u32; ACROSS / 2],
}

impl Reader {
    /// Reads from the stages at `base`.
    #[inline(always)]
    pub fn new<T: Shape>(base: u32) -> Self {
        let (row, column) = corner::<T>();
        let lane = thread::thread_idx_x() % WARP;
        // `ldmatrix` takes matrices upper left, lower left, upper right, lower right from the lanes.
        let (down, right) = (lane % 16, lane / 16);
        Reader {
            a: base + in_a::<T>(row + down, right),
            b: core::array::from_fn(|j| base + in_b::<T>(down, column / 8 + 2 * j as u32 + right)),
        }
    }

    /// Loads a slice of the k tile in a stage.
    ///
    /// # Safety
    /// The whole warp calls it; nobody writes the stage between the barriers around it.
    #[inline(always)]
    pub unsafe fn load<T: Shape>(&self, stage: u32, slice: u32) -> Fragments {
        let stage = stage * T::TILE.stage_bytes();
        // Stages start where the order of the chunks does; sixteen rows on, it is the same.
        let a = (self.a + stage) ^ (slice * DEPTH * 2);
        let (down, next) = (DEPTH * T::TILE.a_row(), DEPTH * T::TILE.b_row());
        // SAFETY: inside the stage.
        unsafe {
            Fragments {
                a: core::array::from_fn(|i| ldmatrix::load(a + i as u32 * down)),
                b: core::array::from_fn(|j| {
                    ldmatrix::load_transposed(self.b[j] + stage + slice * next)
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
