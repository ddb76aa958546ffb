//! One thread for one element of C, operands straight from global memory.

use super::{Operands, square_tile};
use crate::gpu::{fma, thread};
use crate::params::NAIVE_TILE;

kernel! {
    /// C = A @ B + C; a block of 16 x 16 threads computes a 16 x 16 tile of C.
    ///
    /// # Safety
    /// Row-major `a` (m x k), `b` (k x n) and `c` (m x n), those of a batch one behind the other;
    /// `c` overlaps neither of the others.
    pub unsafe fn sgemm_naive(
        a: *const f32, b: *const f32, c: *mut f32, m: u32, n: u32, k: u32,
    ) {
        let operands = Operands { a, b, c, m, n, k };
        let (Operands { a, b, c, .. }, row0, col0) = square_tile(operands, NAIVE_TILE);
        let row = row0 + thread::thread_idx_y() as usize;
        let col = col0 + thread::thread_idx_x() as usize;
        let (m, n, k) = (m as usize, n as usize, k as usize);
        if row < m && col < n {
            // SAFETY: row < m, col < n, p < k; each element of C falls to one thread.
            unsafe {
                let mut sum = *c.add(row * n + col);
                let mut p = 0;
                while p < k {
                    sum = fma(*a.add(row * k + p), *b.add(p * n + col), sum);
                    p += 1;
                }
                *c.add(row * n + col) = sum;
            }
        }
    }
}
