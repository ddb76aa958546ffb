//! Copies from global to shared memory that run beside the arithmetic (PTX ISA, "cp.async").
#![cfg_attr(not(target_arch = "nvptx64"), allow(unused_variables))]

/// Starts a copy of 16 bytes that bypasses the L1 (`cp.async.cg`); `bytes` of them, 0 or 16,
/// come from `from`, the rest become zeros.
///
/// # Safety
/// `to` is a 16-byte aligned address inside the block's shared memory that nothing accesses
/// until the copy is complete; `from` is 16-byte aligned and `bytes` bytes are readable there.
#[inline(always)]
pub unsafe fn copy_16(to: u32, from: *const f32, bytes: u32) {
    // SAFETY: the caller vouches for both addresses.
    unsafe {
        ptx!("cp.async.cg.shared.global [{0}], [{1}], 16, {2};",
            in(reg32) to, in(reg64) from, in(reg32) bytes, options(nostack));
    }
}

/// Starts a copy of 16 whole bytes (`cp.async.cg`).
///
/// # Safety
/// As for [`copy_16`] with 16 bytes.
#[inline(always)]
pub unsafe fn copy_whole_16(to: u32, from: *const f32) {
    // SAFETY: the caller vouches for both addresses.
    unsafe {
        ptx!("cp.async.cg.shared.global [{0}], [{1}], 16;",
            in(reg32) to, in(reg64) from, options(nostack));
    }
}

/// Starts a copy of 4 bytes (`cp.async.ca`); `bytes` of them, 0 or 4, come from `from`.
///
/// # Safety
/// As for [`copy_16`], with 4 in the place of 16.
#[inline(always)]
pub unsafe fn copy_4(to: u32, from: *const f32, bytes: u32) {
    // SAFETY: the caller vouches for both addresses.
    unsafe {
        ptx!("cp.async.ca.shared.global [{0}], [{1}], 4, {2};",
            in(reg32) to, in(reg64) from, in(reg32) bytes, options(nostack));
    }
}

/// Starts a copy of 4 whole bytes (`cp.async.ca`).
///
/// # Safety
/// As for [`copy_4`] with 4 bytes.
#[inline(always)]
pub unsafe fn copy_whole_4(to: u32, from: *const f32) {
    // SAFETY: the caller vouches for both addresses.
    unsafe {
        ptx!("cp.async.ca.shared.global [{0}], [{1}], 4;",
            in(reg32) to, in(reg64) from, options(nostack));
    }
}

/// Closes the group of the copies that this thread has started (`cp.async.commit_group`).
#[inline(always)]
pub fn commit() {
    // SAFETY: orders copies; accesses no memory of its own.
    unsafe {
        ptx!("cp.async.commit_group;", options(nostack));
    }
}

/// Waits until at most `PENDING` of this thread's groups are under way
/// (`cp.async.wait_group`).
#[inline(always)]
pub fn wait<const PENDING: u32>() {
    // SAFETY: orders copies; accesses no memory of its own.
    unsafe {
        ptx!("cp.async.wait_group {0};", const PENDING, options(nostack));
    }
}
