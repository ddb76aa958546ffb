//! fp64: chains of multiply-adds on the CUDA cores, and `mma.sync` on the tensor cores.
//!
//! A thread stores its sum as two f32: the nearest one and the nearest to what is left.

use super::global_thread;
use crate::gpu::{fma_f64, thread};
use crate::operands::{PeakTile, double};
use crate::params::{FMA_ADDEND, FMA_F64_CHAINS, FMA_F64_UNROLL, FMA_MULTIPLIER, WARP};
use crate::ptx::mma;
use crate::random::{stream, uniform_f64};

/// Stores `sum` as two f32.
///
/// # Safety
/// `out` holds two elements for each thread of the grid.
#[inline(always)]
unsafe fn store(out: *mut f32, sum: f64) {
    let upper = sum as f32;
    let lower = (sum - upper as f64) as f32;
    // SAFETY: two elements for each thread.
    unsafe {
        *out.add(2 * global_thread()) = upper;
        *out.add(2 * global_thread() + 1) = lower;
    }
}

kernel! {
    /// [`FMA_F64_CHAINS`] independent chains `r = r * FMA_MULTIPLIER + FMA_ADDEND` a thread in fp64,
    /// `steps` long, as `fma_chains` has them in fp32.
    ///
    /// # Safety
    /// `out` holds two elements for each thread of the grid, whose blocks have
    /// [`PEAK_BLOCK`](crate::operands::PEAK_BLOCK) threads.
    pub unsafe fn fma_chains_f64(out: *mut f32, steps: u32, seed: u64) {
        const CHAINS: usize = FMA_F64_CHAINS as usize;
        let first = global_thread() * CHAINS;
        let mut r: [f64; CHAINS] = core::array::from_fn(|c| uniform_f64(seed, (first + c) as u64));
        let mut left = steps;
        while left >= FMA_F64_UNROLL {
            let mut u = 0;
            while u < FMA_F64_UNROLL {
                step(&mut r);
                u += 1;
            }
            left -= FMA_F64_UNROLL;
        }
        while left > 0 {
            step(&mut r);
            left -= 1;
        }
        let mut sum = 0f64;
        let mut c = 0;
        while c < CHAINS {
            sum += r[c];
            c += 1;
        }
        // SAFETY: two elements for each thread.
        unsafe { store(out, sum) }
    }
}

/// One FMA on every chain.
#[inline(always)]
fn step(r: &mut [f64; FMA_F64_CHAINS as usize]) {
    let mut c = 0;
    while c < FMA_F64_CHAINS as usize {
        r[c] = fma_f64(r[c], FMA_MULTIPLIER as f64, FMA_ADDEND as f64);
        c += 1;
    }
}

/// Defines a kernel of the tensor cores: rows of A and columns of B of an instruction in words of
/// lane, row and column, and how many of them stand side by side.
macro_rules! peak {
    ($(#[$attr:meta])* $name:ident: $tile:expr, $product:ident, sums $sums:tt,
        left $left:tt, right $right:tt) => {
        kernel! {
            /// Multiplies its tile of doubles `steps` times.
            ///
            /// # Safety
            /// `out` holds two elements for each thread of the grid, whose blocks have
            /// [`PEAK_BLOCK`](crate::operands::PEAK_BLOCK) threads.
            $(#[$attr])*
            pub unsafe fn $name(out: *mut f32, steps: u32, seed: u64, data: u32) {
                const TILE: PeakTile = $tile;
                const ACROSS: usize = TILE.n as usize / 8;
                let lane = thread::thread_idx_x() % WARP;
                let first = thread::thread_idx_x() / WARP * TILE.warp_m;
                let element = |which: u64, line: u32, k: u32| {
                    double(data, stream(seed, which), (line * TILE.depth() + k) as u64)
                };
                // Register i of A: a row of each eight, then the next four along k.
                const ROWS: u32 = TILE.warp_m / 8;
                let a: [f64; $left] = core::array::from_fn(|i| {
                    let i = i as u32;
                    #[allow(clippy::modulo_one, reason = "one of the kernels has one row")]
                    let row = first + lane / 4 + 8 * (i % ROWS);
                    element(0, row, lane % 4 + 4 * (i / ROWS))
                });
                let b: [[f64; $right]; ACROSS] = core::array::from_fn(|j| {
                    core::array::from_fn(|i| {
                        element(1, 8 * j as u32 + lane / 4, lane % 4 + 4 * i as u32)
                    })
                });
                let mut d = [[0f64; $sums]; ACROSS];
                let mut step = 0;
                while step < steps {
                    let mut j = 0;
                    while j < ACROSS {
                        mma::$product(&mut d[j], peak!(@operand a, $left), peak!(@operand b[j], $right));
                        j += 1;
                    }
                    step += 1;
                }
                let mut sum = 0f64;
                let mut i = 0;
                while i < ACROSS * $sums {
                    sum += d[i / $sums][i % $sums];
                    i += 1;
                }
                // SAFETY: two elements for each thread.
                unsafe { store(out, sum) }
            }
        }
    };
    // One element is passed as such.
    (@operand $from:expr, 1) => { $from[0] };
    (@operand $from:expr, $count:literal) => { $from };
}

#[cfg(not(sm_90a))]
peak!(fma_mma_f64: PeakTile::double(), m8n8k4_f64, sums 2, left 1, right 1);
#[cfg(sm_90a)]
peak!(fma_mma_f64_wide: PeakTile::wide_double(), m16n8k16_f64, sums 4, left 8, right 4);
