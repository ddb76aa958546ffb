//! What the compilers are told: rustc, which makes PTX, and ptxas, which makes machine code of it.
#![cfg_attr(not(target_arch = "nvptx64"), allow(unused_mut))]

/// A line that ptxas moves no instruction across: `pmevent` with a mask that triggers no event
/// (PTX ISA, "Miscellaneous Instructions: pmevent").
///
/// ptxas orders the instructions of a basic block as it sees fit, and where the order is what
/// makes them fast, a branch was the only thing that held it: six to ten issue slots and the time
/// until it is resolved. This takes one slot and nothing else. It waits for what the instructions
/// before it have loaded from shared memory.
#[inline(always)]
pub fn hold_order() {
    // SAFETY: the mask is empty: nothing happens.
    unsafe {
        ptx!("pmevent.mask 0;", options(nostack));
    }
}

/// The same value, of which rustc knows nothing: a loop that counts to it is not unrolled.
#[inline(always)]
pub fn opaque(value: u32) -> u32 {
    let mut hidden = value;
    // SAFETY: copies a register.
    unsafe {
        ptx!("mov.b32 {0}, {1};", out(reg32) hidden, in(reg32) value, options(nostack));
    }
    hidden
}
