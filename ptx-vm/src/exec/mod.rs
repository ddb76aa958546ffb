//! Runs a kernel: launches, blocks in parallel, warps of 32 lanes in lockstep.
//!
//! Blocks are independent and run on all cores. The warps of a block take turns on one core,
//! each until it waits at a barrier or has used up its turn, so that a run is the same every
//! time, apart from what atomics of different blocks do to each other.

mod access;
mod alu;
mod alu64;
mod async_copy;
mod atomic;
mod barrier;
mod block;
mod bulk;
mod cluster;
mod collective;
mod convert;
mod data;
mod dispatch;
mod divergence;
mod float;
mod half;
mod launch;
mod matrix;
mod mbarrier;
mod poison;
mod predicate;
mod private;
mod registers;
mod round;
mod special;
mod vector;
mod warp;
mod wgmma;

pub use launch::{Arg, Launch, Machine, Options};

use crate::ir::WARP;

/// One value per lane.
pub(crate) type Lanes32 = [u32; WARP];
/// One value per lane.
pub(crate) type Lanes64 = [u64; WARP];

/// Shared memory of a block is at most this: above every device so far (228 KiB on sm_90).
pub(crate) const MAX_SHARED: u32 = 256 << 10;

/// Windows of the generic address space, each 512 MiB; global memory is everything else.
pub(crate) const SHARED_WINDOW: u64 = 0x7f00_0000_0000;
pub(crate) const LOCAL_WINDOW: u64 = 0x7e00_0000_0000;
pub(crate) const PARAM_WINDOW: u64 = 0x7d00_0000_0000;
const WINDOW_BYTES: u64 = 1 << 29;

/// In a cluster, shared memory of the block of rank `r` is also at `r + 1` times this.
pub(crate) const BLOCK_WINDOW: u64 = 1 << 24;

/// The window that holds a generic address, and the offset in it.
#[inline]
pub(crate) fn window(address: u64) -> (crate::ir::Space, u64) {
    use crate::ir::Space;
    for (space, base) in [
        (Space::Shared, SHARED_WINDOW),
        (Space::Local, LOCAL_WINDOW),
        (Space::Param, PARAM_WINDOW),
    ] {
        if address.wrapping_sub(base) < WINDOW_BYTES {
            return (space, address - base);
        }
    }
    (Space::Global, address)
}

/// Active lanes in ascending order.
#[inline]
pub(crate) fn lanes(mut mask: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        (mask != 0).then(|| {
            let lane = mask.trailing_zeros() as usize;
            mask &= mask - 1;
            lane
        })
    })
}

/// All lanes' results of a function of one operand.
#[inline(always)]
pub(crate) fn map1<A: Copy, T: Copy + Default>(a: &[A; WARP], f: impl Fn(A) -> T) -> [T; WARP] {
    let mut out = [T::default(); WARP];
    for i in 0..WARP {
        out[i] = f(a[i]);
    }
    out
}

/// All lanes' results of a function of two operands.
#[inline(always)]
pub(crate) fn map2<A: Copy, B: Copy, T: Copy + Default>(
    a: &[A; WARP],
    b: &[B; WARP],
    f: impl Fn(A, B) -> T,
) -> [T; WARP] {
    let mut out = [T::default(); WARP];
    for i in 0..WARP {
        out[i] = f(a[i], b[i]);
    }
    out
}

/// All lanes' results of a function of three operands.
#[inline(always)]
pub(crate) fn map3<A: Copy, B: Copy, C: Copy, T: Copy + Default>(
    a: &[A; WARP],
    b: &[B; WARP],
    c: &[C; WARP],
    f: impl Fn(A, B, C) -> T,
) -> [T; WARP] {
    let mut out = [T::default(); WARP];
    for i in 0..WARP {
        out[i] = f(a[i], b[i], c[i]);
    }
    out
}
