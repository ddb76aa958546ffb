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

/// An accumulator of a tensor core, and how a thread adds its accumulators up.
trait Accumulator: Copy {
    /// Their sum.
    type Total: Copy;
    /// The sum of none.
    const NOTHING: Self::Total;

    /// Adds one.
    fn add_to(self, total: Self::Total) -> Self::Total;

    /// The sum as it is stored.
    fn stored(total: Self::Total) -> f32;
}

impl Accumulator for f32 {
    // Wide enough for the sum to be exact.
    type Total = f64;
    const NOTHING: f64 = 0.0;

    #[inline(always)]
    fn add_to(self, total: f64) -> f64 {
        total + self as f64
    }

    #[inline(always)]
    fn stored(total: f64) -> f32 {
        total as f32
    }
}

impl Accumulator for i32 {
    type Total = i32;
    const NOTHING: i32 = 0;

    #[inline(always)]
    fn add_to(self, total: i32) -> i32 {
        total.wrapping_add(self)
    }

    /// The lower 24 bits, which an f32 holds exactly.
    #[inline(always)]
    fn stored(total: i32) -> f32 {
        (total & 0xff_ffff) as f32
    }
}
