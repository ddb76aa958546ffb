//! The peak kernels of `fma` beside the fp32 chains: nothing but multiply-adds, one pipe each.
//!
//! | module | what it holds |
//! |---|---|
//! | `warpgroup` | tensor cores by `wgmma`, operands in shared memory: the fast way on sm_90a |
//! | `warp` | tensor cores by `mma.sync`, operands in registers: before sm_90a |
//! | `double` | fp64: chains on the CUDA cores, and `mma.sync` |
//!
//! What is multiplied is described in [`crate::operands`]. Each thread stores the sum of its
//! accumulators: without it the compiler could drop the work.

mod double;
#[cfg(not(sm_90a))]
mod warp;
#[cfg(sm_90a)]
mod warpgroup;

use crate::gpu::thread;
use crate::operands::PEAK_BLOCK;

/// Index of this thread among all of the grid, in blocks of [`PEAK_BLOCK`].
#[inline(always)]
fn global_thread() -> usize {
    (thread::block_idx_x() * PEAK_BLOCK + thread::thread_idx_x()) as usize
}

/// What a thread stores for a sum that wrapped around in 32 bits: its lower 24, exact in an f32.
#[inline(always)]
fn lower_24(sum: i32) -> f32 {
    (sum & 0xff_ffff) as f32
}
