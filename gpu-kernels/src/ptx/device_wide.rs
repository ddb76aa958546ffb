//! Order and counters across the blocks of a grid (PTX ISA, "membar / fence", "atom", "ld").
#![cfg_attr(not(target_arch = "nvptx64"), allow(unused_variables, unused_mut, unused_assignments))]

/// Makes what this thread has seen and done so far visible to every thread that later sees
/// what it does next, on the whole device (`fence.acq_rel.gpu`).
#[inline(always)]
pub fn fence() {
    // SAFETY: orders accesses; makes none of its own.
    unsafe {
        ptx!("fence.acq_rel.gpu;", options(nostack));
    }
}

/// Adds to a counter in global memory and returns what it held before (`atom.add`).
///
/// # Safety
/// `counter` is the 4-byte aligned address of a counter that every thread of the device only
/// accesses atomically while this kernel runs.
#[inline(always)]
pub unsafe fn fetch_add(counter: *mut u32, value: u32) -> u32 {
    let mut before = 0u32;
    // SAFETY: the caller vouches for the counter.
    unsafe {
        ptx!("atom.relaxed.gpu.global.add.u32 {0}, [{1}], {2};",
            out(reg32) before, in(reg64) counter, in(reg32) value, options(nostack));
    }
    before
}

/// Reads a counter in global memory (`ld.relaxed`).
///
/// # Safety
/// As for [`fetch_add`].
#[inline(always)]
pub unsafe fn load(counter: *const u32) -> u32 {
    let mut value = 0u32;
    // SAFETY: the caller vouches for the counter.
    unsafe {
        ptx!("ld.relaxed.gpu.global.u32 {0}, [{1}];",
            out(reg32) value, in(reg64) counter, options(nostack));
    }
    value
}
