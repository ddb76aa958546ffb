//! Matrix products of a warpgroup on every type, 64 by 256, both operands along k (PTX ISA,
//! "Asynchronous Warpgroup Level Matrix Multiply-Accumulate Instructions").
//!
//! The 128 sums of a thread are an array of which every index is a constant, so that each is a
//! register.
#![cfg_attr(not(target_arch = "nvptx64"), allow(unused_variables))]

use super::wgmma::Descriptor;

/// Defines products of 32 bytes along k.
macro_rules! products {
    ($($(#[$doc:meta])* $name:ident: $ty:ty, $instruction:literal, $signs:literal;)*) => {
        $(products! { @with $(#[$doc])* $name, $ty, $instruction, $signs,
            0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15
            16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
            32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47
            48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63
            64 65 66 67 68 69 70 71 72 73 74 75 76 77 78 79
            80 81 82 83 84 85 86 87 88 89 90 91 92 93 94 95
            96 97 98 99 100 101 102 103 104 105 106 107 108 109 110 111
            112 113 114 115 116 117 118 119 120 121 122 123 124 125 126 127
        })*
    };
    (@with $(#[$doc:meta])* $name:ident, $ty:ty, $instruction:literal, $signs:literal,
        $first:literal $($i:literal)*) => {
        $(#[$doc])*
        ///
        /// Starts `sums += A @ B`, or `sums = A @ B` where `adds` is 0.
        ///
        /// # Safety
        /// The whole warpgroup calls it with the same arguments, behind
        /// [`fence`](super::wgmma::fence); the operands are complete and stay until
        /// [`wait`](super::wgmma::wait), before which nothing else touches `sums`.
        #[inline(always)]
        pub unsafe fn $name(sums: &mut [$ty; 128], a: Descriptor, b: Descriptor, adds: u32) {
            // SAFETY: the caller vouches for the operands and the order.
            unsafe {
                ptx!(
                    concat!(
                        "{{ .reg .pred adds; setp.ne.u32 adds, {adds}, 0; ",
                        "wgmma.mma_async.sync.aligned.", $instruction, " {{",
                        "{", $first, "}", $(", {", $i, "}",)*
                        "}}, {a}, {b}, adds", $signs, "; }}"
                    ),
                    inout(reg32) sums[$first],
                    $(inout(reg32) sums[$i],)*
                    a = in(reg64) a.0, b = in(reg64) b.0, adds = in(reg32) adds,
                    options(nostack)
                );
            }
        }
    };
}

products! {
    /// On bfloat16, k = 16.
    bf16: f32, "m64n256k16.f32.bf16.bf16", ", 1, 1, 0, 0";
    /// On binary16, k = 16.
    f16: f32, "m64n256k16.f32.f16.f16", ", 1, 1, 0, 0";
    /// On TF32, k = 8.
    tf32: f32, "m64n256k8.f32.tf32.tf32", ", 1, 1";
    /// On 8-bit floating point, E4M3, k = 32.
    e4m3: f32, "m64n256k32.f32.e4m3.e4m3", ", 1, 1";
    /// On signed 8-bit integers, k = 32; sums wrap around.
    s8: i32, "m64n256k32.s32.s8.s8", "";
}
