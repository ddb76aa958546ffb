//! One thread for one element of C, tiles of A and B shared through shared memory.

use super::{Operands, square_tile};
use crate::gpu::{fma, thread};
use crate::params::TILED_TILE;
use crate::ptx::shared;

/// Address of element (row, column) of a tile that starts at `base`.
#[inline(always)]
fn at(base: u32, row: u32, column: u32) -> u32 {
    base + (row * TILED_TILE + column) * 4
}

kernel! {
    /// C = A @ B + C; a block of 32 x 32 threads walks k in steps of 32, each element of the
    /// two tiles loaded once and used 32 times.
    ///
    /// Elements outside A or B are loaded as zeros, so the inner loop needs no edges.
    ///
    /// # Safety
    /// Row-major `a` (m x k), `b` (k x n) and `c` (m x n), those of a batch one behind the other;
    /// `c` overlaps neither of the others;
    /// launched with `TILED_SHARED_BYTES` of dynamic shared memory.
    pub unsafe fn sgemm_tiled(
        a: *const f32, b: *const f32, c: *mut f32, m: u32, n: u32, k: u32,
    ) {
        let operands = Operands { a, b, c, m, n, k };
        let (Operands { a, b, c, .. }, row0, col0) = square_tile(operands, TILED_TILE);
        let (ty, tx) = (thread::thread_idx_y(), thread::thread_idx_x());
        let (row, col) = (row0 + ty as usize, col0 + tx as usize);
        let (m, n, k) = (m as usize, n as usize, k as usize);
        let tile_a = shared::dynamic_base();
        let tile_b = tile_a + TILED_TILE * TILED_TILE * 4;
        let inside = row < m && col < n;

        // SAFETY: global accesses stand behind their bounds; shared addresses lie inside the
        // two tiles; a barrier separates every store from every load of the other threads.
        unsafe {
            let mut sum = if inside { *c.add(row * n + col) } else { 0.0 };
            let mut k0 = 0;
            while k0 < k {
                let (a_col, b_row) = (k0 + tx as usize, k0 + ty as usize);
                let a_value = if row < m && a_col < k { *a.add(row * k + a_col) } else { 0.0 };
                let b_value = if b_row < k && col < n { *b.add(b_row * n + col) } else { 0.0 };
                shared::store(at(tile_a, ty, tx), a_value);
                shared::store(at(tile_b, ty, tx), b_value);
                thread::sync_threads();
                let mut p = 0;
                while p < TILED_TILE {
                    sum = fma(shared::load(at(tile_a, ty, p)), shared::load(at(tile_b, p, tx)), sum);
                    p += 1;
                }
                thread::sync_threads();
                k0 += TILED_TILE as usize;
            }
            if inside {
                *c.add(row * n + col) = sum;
            }
        }
    }
}
