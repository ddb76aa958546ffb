//! Clocks (PTX ISA, "Special registers"), and a move that hides a value.
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

/// `value`, of which the compiler knows nothing: a loop up to it stays a loop.
#[inline(always)]
pub fn opaque(value: u32) -> u32 {
    let mut same = value;
    // SAFETY: copies a register.
    unsafe {
        ptx!("mov.u32 {0}, {1};", out(reg32) same, in(reg32) value, options(pure, nomem, nostack));
    }
    same
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
