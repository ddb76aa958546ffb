//! One thread for one element of C, operands straight from global memory.

use super::tile_origin;
use crate::gpu::{fma, thread};
use crate::params::NAIVE_TILE;

kernel! {
    /// C = A @ B + C; a block of 16 x 16 threads computes a 16 x 16 tile of C.
    ///
    /// # Safety
    /// Row-major `a` (m x k), `b` (k x n) and `c` (m x n); `c` overlaps neither of the others.
    pub unsafe fn sgemm_naive(
        a: *const f32, b: *const f32, c: *mut f32, m: u32, n: u32, k: u32,
    ) {
        let (row0, col0) = tile_origin(thread::block_idx_x(), n, NAIVE_TILE);
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
