//! 8 x 8 matrices of 16-bit elements from shared memory to registers (PTX ISA, "ldmatrix").
#![cfg_attr(not(target_arch = "nvptx64"), allow(unused_variables, unused_mut, unused_assignments))]

/// Defines a load of four matrices.
macro_rules! load_4 {
    ($($(#[$doc:meta])* $name:ident, $instruction:literal;)*) => {
        $(
            $(#[$doc])*
            ///
            /// # Safety
            /// The whole warp calls it; `row` is 16-byte aligned, with 16 bytes of the block's
            /// shared memory that no thread writes between the barriers around this load.
            #[inline(always)]
            pub unsafe fn $name(row: u32) -> [u32; 4] {
                let (mut a, mut b, mut c, mut d) = (0u32, 0u32, 0u32, 0u32);
                // SAFETY: the caller vouches for the address and the barriers.
                unsafe {
                    ptx!(concat!($instruction, " {{{0}, {1}, {2}, {3}}}, [{4}];"),
                        out(reg32) a, out(reg32) b, out(reg32) c, out(reg32) d, in(reg32) row,
                        options(readonly, nostack));
                }
                [a, b, c, d]
            }
        )*
    };
}

load_4! {
    /// Lane l gives the address of row l % 8 of matrix l / 8, and gets of each matrix elements
    /// 2 (l % 4) and the next of row l / 4 (`ldmatrix.x4`).
    load, "ldmatrix.sync.aligned.m8n8.x4.shared.b16";
    /// The same of the transposed matrices: rows 2 (l % 4) and the next of column l / 4
    /// (`ldmatrix.x4.trans`).
    load_transposed, "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16";
}
