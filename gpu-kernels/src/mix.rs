//! `mix`: any arithmetic intensity from one kernel, the roofline traced by experiment.
//!
//! Each element is read, runs through a chain of fused multiply-adds, and is written. Near the ridge
//! point memory and arithmetic are both busy, and neither must wait for the other: the first form
//! leaves that to the many short blocks of a multiprocessor, of which some wait while others
//! compute; in the second every thread has copies under way while it computes.

use crate::gpu::{fma, thread};
use crate::params::{
    FMA_ADDEND, FMA_MULTIPLIER, MIX_BLOCK_ELEMENTS, MIX_RING_ELEMENTS, MIX_RING_STAGES,
    MIX_RING_VECTORS, MIX_UNROLL, MIX_VECTORS, STREAM_BLOCK, VECTOR_ELEMENTS, WARP,
};
use crate::ptx::global::{Vec4, load_nc_v4, store_v4};
use crate::ptx::{copy_async, shared};
use crate::stream::grid_stride;

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

kernel! {
    /// What [`mix_vector`] computes, with reads that never wait for arithmetic.
    ///
    /// The arrays are cut into sets of [`MIX_RING_ELEMENTS`] elements, [`MIX_RING_VECTORS`] vectors
    /// a thread. Block b works on the `span` sets from b * `span` on, as far as there are any. What is
    /// left behind the last whole set, and arrays that are not aligned to 16 bytes, the threads of
    /// the grid share element by element.
    ///
    /// # Safety
    /// `x` and `y` hold `n` elements each and do not overlap. The launch has blocks of
    /// [`STREAM_BLOCK`] threads with [`MIX_RING_SHARED_BYTES`](crate::params::MIX_RING_SHARED_BYTES)
    /// of dynamic shared memory, so many blocks that each whole set falls to one, and
    /// `n / MIX_RING_ELEMENTS` and `(b + 1) * span` fit in 32 bits.
    pub unsafe fn mix_ring(
        x: *const f32,
        y: *mut f32,
        n: usize,
        fmas: u32,
        span: u32,
    ) {
        const ELEMENTS: usize = MIX_RING_ELEMENTS as usize;
        let aligned = (x as usize | y as usize).is_multiple_of(size_of::<Vec4>());
        let sets = if aligned { (n / ELEMENTS) as u32 } else { 0 };
        let first = thread::block_idx_x() * span;
        let end = sets.min(first + span);
        if first < end {
            // SAFETY: whole sets of aligned arrays, of this block alone.
            unsafe { ring(x, y, fmas, first, end) }
        }
        let whole = sets as usize * ELEMENTS;
        grid_stride(n - whole, |i| {
            // SAFETY: whole + i < n, behind all sets, and each i falls to one thread.
            unsafe { *y.add(whole + i) = chain(*x.add(whole + i), fmas) }
        });
    }
}

/// The sets from `first` to below `end`.
///
/// A thread has a ring of [`MIX_RING_STAGES`] sets of vectors in shared memory, which it fills by
/// copies of its own and empties itself: no barrier, and no thread waits for another. Once it has
/// read a set into registers it asks for the one that follows in the same place, and only then
/// computes. Around the FMAs stand a load, a copy and a store a vector and a dozen instructions a
/// set.
///
/// # Safety
/// `first` < `end`; below `end` whole sets lie in both arrays, which are aligned to 16 bytes and
/// do not overlap; no other block has these sets. The block is one of [`mix_ring`].
#[inline(always)]
unsafe fn ring(x: *const f32, y: *mut f32, fmas: u32, first: u32, end: u32) {
    const ELEMENTS: usize = MIX_RING_ELEMENTS as usize;
    const STAGES: u32 = MIX_RING_STAGES;
    let (warp, lane) = (thread::thread_idx_x() / WARP, thread::thread_idx_x() % WARP);
    let mine = warp * MIX_RING_VECTORS * RING_WIDTH + lane * VECTOR_ELEMENTS;
    let base = shared::dynamic_base() + mine * F32_BYTES;
    let mine = first as usize * ELEMENTS + mine as usize;
    let (mut from, mut to) = (x.wrapping_add(mine), y.wrapping_add(mine));
    let mut stage = 0;
    while stage < STAGES {
        if stage < end - first {
            // SAFETY: the set lies below `end`; the stage is empty.
            unsafe { fetch(base + stage * STAGE_BYTES, from) }
        }
        copy_async::commit();
        from = from.wrapping_add(ELEMENTS);
        stage += 1;
    }
    // From here on no set is left to be asked for.
    let asked = end.saturating_sub(STAGES);
    let (mut set, mut slot) = (first, base);
    loop {
        // Every turn closes a group, if an empty one: the oldest of them is this set's.
        copy_async::wait::<{ STAGES - 1 }>();
        let mut vectors: [Vec4; RING_VECTORS] =
            // SAFETY: this thread's own part of the stage, filled by its own finished copies.
            core::array::from_fn(|v| unsafe { shared::load_v4(slot + v as u32 * RING_WIDTH_BYTES) });
        if set < asked {
            // SAFETY: the set `STAGES` turns on lies below `end`; the stage was read by this thread
            // alone, before this in the order of its program.
            unsafe { fetch(slot, from) }
        }
        copy_async::commit();
        from = from.wrapping_add(ELEMENTS);
        chains(&mut vectors, fmas);
        let mut v = 0;
        while v < RING_VECTORS {
            // SAFETY: inside this set, 16-byte aligned, of this thread alone.
            unsafe { store_v4(to.add(v * RING_WIDTH as usize), vectors[v]) }
            v += 1;
        }
        to = to.wrapping_add(ELEMENTS);
        set += 1;
        if set >= end {
            break;
        }
        slot += STAGE_BYTES;
        if slot == base + STAGES * STAGE_BYTES {
            slot = base;
        }
    }
}

/// Vectors of a thread in a set of [`ring`].
const RING_VECTORS: usize = MIX_RING_VECTORS as usize;
/// Elements from one of them to the next: those of a warp's threads. Vectors this near to each
/// other are reached from one address by the offsets that fit in the instructions.
const RING_WIDTH: u32 = WARP * VECTOR_ELEMENTS;
const RING_WIDTH_BYTES: u32 = RING_WIDTH * F32_BYTES;
/// Bytes from one stage of the ring to the next.
const STAGE_BYTES: u32 = MIX_RING_ELEMENTS * F32_BYTES;
const F32_BYTES: u32 = size_of::<f32>() as u32;

/// Starts this thread's copies of a set.
///
/// # Safety
/// At `from`, 16-byte aligned, lie this thread's vectors of a whole set; `slot` is its part of a
/// stage that nothing accesses until the copies are complete.
#[inline(always)]
unsafe fn fetch(slot: u32, from: *const f32) {
    let mut v = 0;
    while v < MIX_RING_VECTORS {
        let (to, from) = (slot + v * RING_WIDTH_BYTES, from.wrapping_add((v * RING_WIDTH) as usize));
        // SAFETY: the caller vouches for both.
        unsafe { copy_async::copy_whole_16(to, from) }
        v += 1;
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
