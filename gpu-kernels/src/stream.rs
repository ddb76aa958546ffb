//! The two loops that every streaming kernel walks its arrays with.

use crate::gpu::thread;
use crate::params::VECTOR_ELEMENTS;

/// The lecture's grid-stride loop: calls `body` for each element that falls to this thread.
#[inline(always)]
pub fn grid_stride(n: usize, mut body: impl FnMut(usize)) {
    let stride = thread::grid_dim_x() as usize * thread::block_dim_x() as usize;
    let mut i =
        thread::block_idx_x() as usize * thread::block_dim_x() as usize + thread::thread_idx_x() as usize;
    while i < n {
        body(i);
        i += stride;
    }
}

/// One pass without a loop: each thread owns `V` vectors of four elements, a block apart.
///
/// All `V` calls of `load` are issued before the first `store`, so `V` vectors an array are in
/// flight. Vectors that reach past `n` fall to `scalar`, element by element. Callers launch
/// `ceil(n / (4 * V * block))` blocks.
#[inline(always)]
pub fn one_shot<const V: usize, T: Copy>(
    n: usize,
    mut load: impl FnMut(usize) -> T,
    mut store: impl FnMut(usize, T),
    mut scalar: impl FnMut(usize),
) {
    let vector = VECTOR_ELEMENTS as usize;
    let width = thread::block_dim_x() as usize * vector;
    let block_start = thread::block_idx_x() as usize * width * V;
    let first = block_start + thread::thread_idx_x() as usize * vector;
    if block_start + width * V <= n {
        let values: [T; V] = core::array::from_fn(|i| load(first + i * width));
        let mut i = 0;
        while i < V {
            store(first + i * width, values[i]);
            i += 1;
        }
    } else {
        let mut i = 0;
        while i < V {
            let p = first + i * width;
            if p + vector <= n {
                store(p, load(p));
            } else {
                let mut e = p;
                while e < n {
                    scalar(e);
                    e += 1;
                }
            }
            i += 1;
        }
    }
}
