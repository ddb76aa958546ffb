//! 8 x 8 matrices of 16-bit elements between registers and shared memory (PTX ISA, "stmatrix").
#![cfg_attr(not(target_arch = "nvptx64"), allow(unused_variables, unused_mut, unused_assignments))]

/// Stores four matrices (`stmatrix.x4`): lane l gives the address of row l % 8 of matrix l / 8;
/// of each matrix it holds elements 2 (l % 4) and the next of row l / 4.
///
/// # Safety
/// The whole warp calls it; `row` is 16-byte aligned, with 16 bytes of the block's shared memory
/// that no other thread accesses between the barriers around this store.
#[inline(always)]
pub unsafe fn store_4(row: u32, [a, b, c, d]: [u32; 4]) {
    // SAFETY: the caller vouches for the address and the barriers.
    unsafe {
        ptx!("stmatrix.sync.aligned.m8n8.x4.shared.b16 [{0}], {{{1}, {2}, {3}, {4}}};",
            in(reg32) row, in(reg32) a, in(reg32) b, in(reg32) c, in(reg32) d, options(nostack));
    }
}
