//! The hot operations, compiled for the vector instructions of the processor they run on.
//!
//! A closure handed to the dispatcher may stay a function of its own, without the instruction
//! set that the dispatcher has chosen; a method that is always inlined cannot.

use super::{Lanes32, Lanes64, alu, alu64, float};
use crate::ir::{Bin, Fp, FpMode, Tri};

macro_rules! vector {
    ($($(#[$doc:meta])* $name:ident($($field:ident: $ty:ty),*) -> $out:ty = $body:expr;)*) => {
        $(
            $(#[$doc])*
            pub(super) struct $name<'a>($(pub $ty),*);

            impl pulp::NullaryFnOnce for $name<'_> {
                type Output = $out;

                #[inline(always)]
                fn call(self) -> $out {
                    let Self($($field),*) = self;
                    $body
                }
            }
        )*
    };
}

vector! {
    /// 32-bit integers, two operands.
    Binary32(op: Bin, a: &'a Lanes32, b: &'a Lanes32) -> Lanes32 = alu::binary(op, a, b);
    /// 32-bit integers, three operands.
    Ternary32(op: Tri, a: &'a Lanes32, b: &'a Lanes32, c: &'a Lanes32) -> Lanes32 = alu::ternary(op, a, b, c);
    /// 64-bit integers, two operands.
    Binary64(op: Bin, a: &'a Lanes64, b: &'a Lanes64) -> Lanes64 = alu64::binary(op, a, b);
    /// Products of 32 by 32 bits.
    Wide(signed: bool, a: &'a Lanes32, b: &'a Lanes32) -> Lanes64 = alu64::wide(signed, a, b);
    /// Single precision.
    Float32(op: Fp, mode: FpMode, a: &'a Lanes32, b: &'a Lanes32, c: &'a Lanes32) -> Lanes32 = float::f32_op(op, mode, a, b, c);
    /// Double precision.
    Float64(op: Fp, a: &'a Lanes64, b: &'a Lanes64, c: &'a Lanes64) -> Lanes64 = float::f64_op(op, a, b, c);
}
