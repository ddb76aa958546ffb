//! From a stage to registers, and the outer product.

use super::Shape;
use crate::gpu::{fma, thread};
use crate::params::{VECTOR_ELEMENTS, WARP};
use crate::ptx::shared;

/// What a thread holds of one k step: TM elements of a column of A, TN of a row of B.
#[derive(Clone, Copy)]
pub struct Fragment<const TM: usize, const TN: usize> {
    a: [f32; TM],
    b: [f32; TN],
}

/// First row and column, inside the tile, of this thread's elements.
///
/// They are `thread_m / 4` by `thread_n / 4` squares of 4 x 4, `lanes_m * 4` rows and
/// `lanes_n * 4` columns apart: the 16-byte loads of a warp then lie side by side.
#[inline(always)]
pub fn first_element<S: Shape>() -> (u32, u32) {
    let (warp, lane) = (thread::thread_idx_x() / WARP, thread::thread_idx_x() % WARP);
    let warps_n = S::TILE.n / S::TILE.warp_n();
    (
        warp / warps_n * S::TILE.warp_m() + lane / S::TILE.lanes_n() * VECTOR_ELEMENTS,
        warp % warps_n * S::TILE.warp_n() + lane % S::TILE.lanes_n() * VECTOR_ELEMENTS,
    )
}

/// Row of element `i` of a thread, from its first.
#[inline(always)]
pub const fn row<S: Shape>(i: usize) -> u32 {
    let i = i as u32;
    i / VECTOR_ELEMENTS * S::TILE.lanes_m * VECTOR_ELEMENTS + i % VECTOR_ELEMENTS
}

/// Column of the `j`-th vector of four of a thread, from its first.
#[inline(always)]
pub const fn column<S: Shape>(j: usize) -> u32 {
    j as u32 * S::TILE.lanes_n() * VECTOR_ELEMENTS
}

impl<const TM: usize, const TN: usize> Fragment<TM, TN> {
    /// Zeros.
    pub const ZERO: Self = Fragment { a: [0.0; TM], b: [0.0; TN] };

    /// Loads the fragment from a row of A's part and a row of B's part of a stage.
    ///
    /// # Safety
    /// The addresses are those of this thread's first elements; no copy to them is under way.
    #[inline(always)]
    pub unsafe fn load<S: Shape>(&mut self, a: u32, b: u32) {
        // SAFETY: as the caller vouches.
        unsafe {
            let mut j = 0;
            while j < TN {
                let v = shared::load_v4(b + column::<S>(j / 4) * 4);
                let mut e = 0;
                while e < 4 {
                    self.b[j + e] = v[e];
                    e += 1;
                }
                j += 4;
            }
            let mut i = 0;
            while i < TM {
                let v = shared::load_v4(a + row::<S>(i) * 4);
                let mut e = 0;
                while e < 4 {
                    self.a[i + e] = v[e];
                    e += 1;
                }
                i += 4;
            }
        }
    }

    /// `sums += a (outer) b`, row by row, forth and back.
    #[inline(always)]
    pub fn accumulate(&self, sums: &mut [[f32; TN]; TM]) {
        self.accumulate_rows([0, TM], sums);
    }

    /// The same for the rows `from` to `to` (exclusive).
    #[inline(always)]
    pub fn accumulate_rows(&self, [from, to]: [usize; 2], sums: &mut [[f32; TN]; TM]) {
        let mut i = from;
        while i < to {
            let mut step = 0;
            while step < TN {
                let j = if i % 2 == 1 { step } else { TN - 1 - step };
                sums[i][j] = fma(self.a[i], self.b[j], sums[i][j]);
                step += 1;
            }
            i += 1;
        }
    }
}
