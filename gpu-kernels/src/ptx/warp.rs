//! Exchange and order between the threads of a warp (PTX ISA, "shfl.sync", "bar.warp.sync").
#![cfg_attr(not(target_arch = "nvptx64"), allow(unused_mut, unused_assignments))]

/// The value of the warp's first lane (`shfl.sync.idx`).
///
/// To be called where all lanes of the warp are together.
#[inline(always)]
pub fn first(value: u32) -> u32 {
    let mut of_first = value;
    // SAFETY: exchanges registers; every lane takes part.
    unsafe {
        ptx!("shfl.sync.idx.b32 {0}, {1}, 0, 31, 0xffffffff;",
            out(reg32) of_first, in(reg32) value, options(nostack));
    }
    of_first
}

/// Waits for every lane of the warp; orders their accesses to memory (`bar.warp.sync`).
///
/// To be called where all lanes of the warp are together.
#[inline(always)]
pub fn sync() {
    // SAFETY: orders accesses; makes none of its own.
    unsafe {
        ptx!("bar.warp.sync 0xffffffff;", options(nostack));
    }
}
