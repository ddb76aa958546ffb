//! `mix`: any arithmetic intensity from one kernel, the roofline traced by experiment.
//!
//! Each element is read, runs through a chain of fused multiply-adds, and is written. Many short
//! blocks stand on a multiprocessor at a time: while some wait for memory, others compute.

use crate::gpu::{fma, thread};
use crate::params::{
    FMA_ADDEND, FMA_MULTIPLIER, MIX_BLOCK_ELEMENTS, MIX_UNROLL, MIX_VECTORS, STREAM_BLOCK,
    VECTOR_ELEMENTS,
};
use crate::ptx::global::{Vec4, load_nc_v4, store_v4};

kernel! {
    /// `fmas` times r = r * [`FMA_MULTIPLIER`] + [`FMA_ADDEND`] on every element: y = f(f(…f(x))).
    ///
    /// 16-byte accesses, [`MIX_VECTORS`] in flight a thread, each of their elements a chain of its
    /// own. A ragged last block, and arrays that are not aligned to 16 bytes, go element by
    /// element. One pass without a loop over the arrays, and distances that are constants: with
    /// few FMAs an element every other instruction counts.
    ///
    /// # Safety
    /// `x` and `y` hold `n` elements each and do not overlap. The launch has `ceil(n / B)` blocks
    /// of [`STREAM_BLOCK`] threads, where B is [`MIX_BLOCK_ELEMENTS`].
    pub unsafe fn mix_vector(x: *const f32, y: *mut f32, n: usize, fmas: u32) {
        const VECTORS: usize = MIX_VECTORS as usize;
        const WIDTH: usize = (STREAM_BLOCK * VECTOR_ELEMENTS) as usize;
        const ELEMENTS: usize = MIX_BLOCK_ELEMENTS as usize;
        let (block, t) = (thread::block_idx_x(), thread::thread_idx_x() as usize);
        let start = block as usize * ELEMENTS;
        let aligned = (x as usize | y as usize).is_multiple_of(size_of::<Vec4>());
        if aligned && block < (n / ELEMENTS) as u32 {
            let first = start + t * VECTOR_ELEMENTS as usize;
            // SAFETY: multiples of 4 in aligned arrays, below the end of a whole block, each of
            // one thread.
            let mut vectors: [Vec4; VECTORS] =
                core::array::from_fn(|v| unsafe { load_nc_v4(x.add(first + v * WIDTH)) });
            chains(&mut vectors, fmas);
            let mut v = 0;
            while v < VECTORS {
                // SAFETY: as above.
                unsafe { store_v4(y.add(first + v * WIDTH), vectors[v]) }
                v += 1;
            }
        } else {
            let end = n.min(start + ELEMENTS);
            let mut i = start + t;
            while i < end {
                // SAFETY: i < n, and each i falls to one thread.
                unsafe { *y.add(i) = chain(*x.add(i), fmas) }
                i += thread::block_dim_x() as usize;
            }
        }
    }
}

/// One element.
#[inline(always)]
fn chain(mut r: f32, fmas: u32) -> f32 {
    let mut left = fmas;
    while left > 0 {
        r = fma(r, FMA_MULTIPLIER, FMA_ADDEND);
        left -= 1;
    }
    r
}

/// Every element of some vectors: whole turns of the unrolled loop, then the rest by its binary
/// digits, so that no number of FMAs costs more than a handful of branches.
#[inline(always)]
fn chains<const V: usize>(vectors: &mut [Vec4; V], fmas: u32) {
    let mut left = fmas;
    while left >= MIX_UNROLL {
        unrolled::<MIX_UNROLL, V>(vectors);
        left -= MIX_UNROLL;
    }
    const { assert!(MIX_UNROLL == 32, "the digits below are those of the rest") };
    if left == 0 {
        return;
    }
    digit::<16, V>(vectors, left);
    digit::<8, V>(vectors, left);
    digit::<4, V>(vectors, left);
    digit::<2, V>(vectors, left);
    digit::<1, V>(vectors, left);
}

/// `D` FMAs on every element if the binary digit of that value is set in `left`.
#[inline(always)]
fn digit<const D: u32, const V: usize>(vectors: &mut [Vec4; V], left: u32) {
    if left & D != 0 {
        unrolled::<D, V>(vectors);
    }
}

/// `U` FMAs on every element.
#[inline(always)]
fn unrolled<const U: u32, const V: usize>(vectors: &mut [Vec4; V]) {
    let mut u = 0;
    while u < U {
        for vector in vectors.iter_mut() {
            for r in vector {
                *r = fma(*r, FMA_MULTIPLIER, FMA_ADDEND);
            }
        }
        u += 1;
    }
}
