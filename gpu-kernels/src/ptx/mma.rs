//! Matrix products of a warp, operands in its registers (PTX ISA, "mma.sync").
//!
//! Lane l holds, of each 8 by 8 part of D, elements (l / 4, 2 (l % 4)) and the next of the row. Of A
//! it holds 32-bit words (l / 4, l % 4) of the four quarters, left before right and upper before
//! lower; of B, column by column, word l % 4 of column l / 4 of the upper and the lower half.
#![cfg_attr(not(target_arch = "nvptx64"), allow(unused_variables))]

/// Defines the product of a 16-row A of 32 bytes a row and an 8-column B, added to D.
macro_rules! m16n8 {
    ($($(#[$doc:meta])* $name:ident: $ty:ty, $instruction:literal;)*) => {
        $(
            $(#[$doc])*
            ///
            /// To be called where all lanes of the warp are together.
            #[inline(always)]
            pub fn $name(d: &mut [$ty; 4], a: [u32; 4], b: [u32; 2]) {
                // SAFETY: computes on registers; every lane takes part.
                unsafe {
                    ptx!(
                        concat!($instruction, " {{{0}, {1}, {2}, {3}}}, {{{4}, {5}, {6}, {7}}}, \
                            {{{8}, {9}}}, {{{0}, {1}, {2}, {3}}};"),
                        inout(reg32) d[0], inout(reg32) d[1], inout(reg32) d[2], inout(reg32) d[3],
                        in(reg32) a[0], in(reg32) a[1], in(reg32) a[2], in(reg32) a[3],
                        in(reg32) b[0], in(reg32) b[1], options(pure, nomem, nostack)
                    );
                }
            }
        )*
    };
}

m16n8! {
    /// D += A B on bfloat16, k = 16 (`mma.sync.m16n8k16`).
    m16n8k16_bf16: f32, "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32";
    /// D += A B on binary16, k = 16 (`mma.sync.m16n8k16`).
    m16n8k16_f16: f32, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32";
    /// D += A B on TF32, k = 8 (`mma.sync.m16n8k8`).
    m16n8k8_tf32: f32, "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32";
    /// D += A B on signed 8-bit integers, k = 32, wrapping around (`mma.sync.m16n8k32`).
    m16n8k32_s8: i32, "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32";
}

/// D += A B on doubles, 8 by 8, k = 4 (`mma.sync.m8n8k4`). Lane l holds elements
/// (l / 4, 2 (l % 4)) and the next of D, (l / 4, l % 4) of A and (l % 4, l / 4) of B.
///
/// To be called where all lanes of the warp are together.
#[inline(always)]
pub fn m8n8k4_f64(d: &mut [f64; 2], a: f64, b: f64) {
    // SAFETY: computes on registers; every lane takes part.
    unsafe {
        ptx!("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {{{0}, {1}}}, {{{2}}}, {{{3}}}, {{{0}, {1}}};",
            inout(reg64) d[0], inout(reg64) d[1], in(reg64) a, in(reg64) b,
            options(pure, nomem, nostack));
    }
}

/// D += A B on doubles, 16 by 8, k = 16 (`mma.sync.m16n8k16`, sm_90 and later). Lane l holds, for
/// i from 0 to 3, A's elements (l / 4, l % 4 + 4i) and (l / 4 + 8, l % 4 + 4i) and B's
/// (l % 4 + 4i, l / 4).
///
/// To be called where all lanes of the warp are together.
#[cfg(sm_90a)]
#[inline(always)]
pub fn m16n8k16_f64(d: &mut [f64; 4], a: [f64; 8], b: [f64; 4]) {
    // SAFETY: computes on registers; every lane takes part.
    unsafe {
        ptx!("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {{{0}, {1}, {2}, {3}}}, \
            {{{4}, {5}, {6}, {7}, {8}, {9}, {10}, {11}}}, {{{12}, {13}, {14}, {15}}}, \
            {{{0}, {1}, {2}, {3}}};",
            inout(reg64) d[0], inout(reg64) d[1], inout(reg64) d[2], inout(reg64) d[3],
            in(reg64) a[0], in(reg64) a[1], in(reg64) a[2], in(reg64) a[3],
            in(reg64) a[4], in(reg64) a[5], in(reg64) a[6], in(reg64) a[7],
            in(reg64) b[0], in(reg64) b[1], in(reg64) b[2], in(reg64) b[3],
            options(pure, nomem, nostack));
    }
}
