//! Clocks (PTX ISA, "Special registers").
#![cfg_attr(not(target_arch = "nvptx64"), allow(unused_mut, unused_assignments))]

/// Cycles of this multiprocessor's clock (`%clock64`).
#[inline(always)]
pub fn clock64() -> u64 {
    let mut cycles = 0u64;
    // SAFETY: reads a special register.
    unsafe {
        ptx!("mov.u64 {0}, %clock64;", out(reg64) cycles, options(nomem, nostack));
    }
    cycles
}

/// Nanoseconds of the device-wide timer (`%globaltimer`).
#[inline(always)]
pub fn globaltimer() -> u64 {
    let mut nanoseconds = 0u64;
    // SAFETY: reads a special register.
    unsafe {
        ptx!("mov.u64 {0}, %globaltimer;", out(reg64) nanoseconds, options(nomem, nostack));
    }
    nanoseconds
}
