//! 8 x 8 elements of C for each thread, in registers: 64 FMAs for 16 loads from shared memory.

use super::{Operands, square_tile};
use crate::gpu::{fma, thread};
use crate::params::{REGISTER_BLOCK, REGISTER_DEPTH, REGISTER_THREAD, REGISTER_TILE};
use crate::ptx::shared;

/// Elements of each k tile that a thread loads, of A and of B.
const LOADS: u32 = REGISTER_TILE * REGISTER_DEPTH / REGISTER_BLOCK;
/// Rows and columns of a thread.
const SIDE: usize = REGISTER_THREAD as usize;

/// Address of element (`k`, `i`) of a k tile that starts at `base`: A lies transposed, so that
/// both operands are read along a row.
#[inline(always)]
fn at(base: u32, k: u32, i: u32) -> u32 {
    base + (k * REGISTER_TILE + i) * 4
}

kernel! {
    /// C = A @ B + C; a block of 256 threads computes a 128 x 128 tile of C.
    ///
    /// Elements outside A or B are loaded as zeros, so the inner loop needs no edges.
    ///
    /// # Safety
    /// Row-major `a` (m x k), `b` (k x n) and `c` (m x n), those of a batch one behind the other;
    /// `c` overlaps neither of the others;
    /// launched with `REGISTER_SHARED_BYTES` of dynamic shared memory.
    pub unsafe fn sgemm_register(
        a: *const f32, b: *const f32, c: *mut f32, m: u32, n: u32, k: u32,
    ) {
        let operands = Operands { a, b, c, m, n, k };
        let (Operands { a, b, c, .. }, row0, col0) = square_tile(operands, REGISTER_TILE);
        let t = thread::thread_idx_x();
        let across = REGISTER_TILE / REGISTER_THREAD;
        let (ty, tx) = (t / across * REGISTER_THREAD, t % across * REGISTER_THREAD);
        let (m, n, k) = (m as usize, n as usize, k as usize);
        let tile_a = shared::dynamic_base();
        let tile_b = at(tile_a, REGISTER_DEPTH, 0);
        let mut sums = [[0f32; SIDE]; SIDE];

        // SAFETY: global accesses stand behind their bounds; shared addresses lie inside the
        // two tiles; a barrier separates every store from every load of the other threads.
        unsafe {
            let mut k0 = 0;
            while k0 < k {
                let mut l = 0;
                while l < LOADS {
                    let e = l * REGISTER_BLOCK + t;
                    let (i, p) = (e / REGISTER_DEPTH, e % REGISTER_DEPTH);
                    let (row, col) = (row0 + i as usize, k0 + p as usize);
                    let value = if row < m && col < k { *a.add(row * k + col) } else { 0.0 };
                    shared::store(at(tile_a, p, i), value);
                    let (p, j) = (e / REGISTER_TILE, e % REGISTER_TILE);
                    let (row, col) = (k0 + p as usize, col0 + j as usize);
                    let value = if row < k && col < n { *b.add(row * n + col) } else { 0.0 };
                    shared::store(at(tile_b, p, j), value);
                    l += 1;
                }
                thread::sync_threads();
                let mut p = 0;
                while p < REGISTER_DEPTH {
                    let column: [f32; SIDE] =
                        core::array::from_fn(|i| shared::load(at(tile_a, p, ty + i as u32)));
                    let row: [f32; SIDE] =
                        core::array::from_fn(|j| shared::load(at(tile_b, p, tx + j as u32)));
                    let mut i = 0;
                    while i < SIDE {
                        let mut j = 0;
                        while j < SIDE {
                            sums[i][j] = fma(column[i], row[j], sums[i][j]);
                            j += 1;
                        }
                        i += 1;
                    }
                    p += 1;
                }
                thread::sync_threads();
                k0 += REGISTER_DEPTH as usize;
            }
            let mut i = 0;
            while i < SIDE {
                let row = row0 + ty as usize + i;
                let mut j = 0;
                while j < SIDE {
                    let col = col0 + tx as usize + j;
                    if row < m && col < n {
                        *c.add(row * n + col) += sums[i][j];
                    }
                    j += 1;
                }
                i += 1;
            }
        }
    }
}
