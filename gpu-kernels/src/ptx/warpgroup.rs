//! What the four warps of a warpgroup do together besides `wgmma`: a barrier of their own, and
//! their share of the registers (PTX ISA, "bar", "setmaxnreg").
#![cfg_attr(not(target_arch = "nvptx64"), allow(unused_variables))]

/// Waits for the 128 threads that call it with the same `barrier`, 1 to 15; orders their accesses
/// to shared memory.
#[inline(always)]
pub fn sync(barrier: u32) {
    // SAFETY: orders accesses; whole warpgroups call it, each with a number of its own.
    unsafe {
        ptx!("bar.sync {0}, 128;", in(reg32) barrier, options(nostack));
    }
}

/// Gives registers back until `N` a thread are left (`setmaxnreg.dec`).
///
/// # Safety
/// The whole warpgroup calls it, and uses no more from here on.
#[inline(always)]
pub unsafe fn give_registers<const N: u32>() {
    // SAFETY: the caller vouches for the warpgroup.
    unsafe {
        ptx!("setmaxnreg.dec.sync.aligned.u32 {0};", const N, options(nostack));
    }
}

/// Takes registers, once others have given theirs back, until there are `N` a thread
/// (`setmaxnreg.inc`).
///
/// # Safety
/// The whole warpgroup calls it, and so many are free once the others have given theirs back.
#[inline(always)]
pub unsafe fn take_registers<const N: u32>() {
    // SAFETY: the caller vouches for the warpgroup.
    unsafe {
        ptx!("setmaxnreg.inc.sync.aligned.u32 {0};", const N, options(nostack));
    }
}
