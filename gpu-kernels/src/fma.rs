//! `fma`: nothing but fused multiply-adds in registers, the roof of the fp32 CUDA cores.

use crate::gpu::{fma, thread};
use crate::params::{FMA_ADDEND, FMA_CHAINS, FMA_ILP_TURN, FMA_MULTIPLIER, FMA_UNROLL};
use crate::random::uniform;

kernel! {
    /// [`FMA_CHAINS`] independent chains `r = r * FMA_MULTIPLIER + FMA_ADDEND` a thread,
    /// `steps` long.
    ///
    /// The chains start from random values ([`uniform`] of `seed` and the chain's global
    /// index), and their sum, added in the order of the chains, is stored once a thread:
    /// without it the compiler could drop the work. Multiplier and addend stay in two
    /// registers, so every FMA reads one changing operand and no register port is contended.
    ///
    /// # Safety
    /// `out` holds one element for each thread of the grid.
    pub unsafe fn fma_chains(out: *mut f32, steps: u32, seed: u64) {
        // SAFETY: the caller vouches for `out`.
        unsafe { chains::<{ FMA_CHAINS as usize }, FMA_UNROLL>(out, steps, seed) }
    }
}

/// Defines kernels that differ from `fma_chains` in the number of chains, and unroll fewer FMAs.
macro_rules! of_chains {
    ($($name:ident: $chains:literal;)*) => {
        $(
            kernel! {
                #[doc = concat!("Independent chains of each thread: ", $chains, ".")]
                ///
                /// With few chains and few warps the latency of an FMA shows, with many the rate
                /// at which a scheduler issues them.
                ///
                /// # Safety
                /// `out` holds one element for each thread of the grid.
                pub unsafe fn $name(out: *mut f32, steps: u32, seed: u64) {
                    // SAFETY: the caller vouches for `out`.
                    unsafe { chains::<$chains, { FMA_ILP_TURN / $chains }>(out, steps, seed) }
                }
            }
        )*
    };
}

of_chains! {
    fma_ilp_1: 1;
    fma_ilp_2: 2;
    fma_ilp_4: 4;
    fma_ilp_8: 8;
    fma_ilp_16: 16;
}

/// `C` chains of `steps` FMAs each, `U` in a turn of the loop, whose sum is stored.
///
/// # Safety
/// `out` holds one element for each thread of the grid.
#[inline(always)]
unsafe fn chains<const C: usize, const U: u32>(out: *mut f32, steps: u32, seed: u64) {
    let t = thread::block_idx_x() as usize * thread::block_dim_x() as usize
        + thread::thread_idx_x() as usize;
    let mut r: [f32; C] = core::array::from_fn(|c| uniform(seed, (t * C + c) as u64));
    let mut left = steps;
    while left >= U {
        let mut u = 0;
        while u < U {
            step(&mut r);
            u += 1;
        }
        left -= U;
    }
    while left > 0 {
        step(&mut r);
        left -= 1;
    }
    let mut sum = 0f32;
    let mut c = 0;
    while c < C {
        sum += r[c];
        c += 1;
    }
    // SAFETY: one element for each thread.
    unsafe { *out.add(t) = sum }
}

/// One FMA on every chain.
#[inline(always)]
fn step<const C: usize>(r: &mut [f32; C]) {
    let mut c = 0;
    while c < C {
        r[c] = fma(r[c], FMA_MULTIPLIER, FMA_ADDEND);
        c += 1;
    }
}
