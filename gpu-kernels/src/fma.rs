//! `fma`: nothing but fused multiply-adds in registers, the roof of the fp32 CUDA cores.

use crate::gpu::{fma, thread};
use crate::params::{FMA_ADDEND, FMA_CHAINS, FMA_MULTIPLIER, FMA_UNROLL};
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
        const CHAINS: usize = FMA_CHAINS as usize;
        let t = thread::block_idx_x() as usize * thread::block_dim_x() as usize
            + thread::thread_idx_x() as usize;
        let mut r: [f32; CHAINS] =
            core::array::from_fn(|c| uniform(seed, (t * CHAINS + c) as u64));
        let mut left = steps;
        while left >= FMA_UNROLL {
            let mut u = 0;
            while u < FMA_UNROLL {
                step(&mut r);
                u += 1;
            }
            left -= FMA_UNROLL;
        }
        while left > 0 {
            step(&mut r);
            left -= 1;
        }
        let mut sum = 0f32;
        let mut c = 0;
        while c < CHAINS {
            sum += r[c];
            c += 1;
        }
        // SAFETY: one element for each thread.
        unsafe { *out.add(t) = sum }
    }
}

/// One FMA on every chain.
#[inline(always)]
fn step(r: &mut [f32; FMA_CHAINS as usize]) {
    let mut c = 0;
    while c < FMA_CHAINS as usize {
        r[c] = fma(r[c], FMA_MULTIPLIER, FMA_ADDEND);
        c += 1;
    }
}
