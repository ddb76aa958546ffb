//! Single and double precision (PTX ISA, "Floating Point Instructions").
//!
//! Round-to-nearest results are those of IEEE 754. Single-precision NaN results are the
//! canonical 0x7fffffff. `.approx` and `.full` forms, for which the ISA gives an error bound
//! and no result, are computed in double precision and rounded: within the bound, but not
//! necessarily the bits of a particular GPU.

use super::round::{F32, NAN32, narrow, sum_odd, zero_sign};
use super::{Lanes32, Lanes64, map3};
use crate::ir::{Fp, FpMode};

#[inline(always)]
fn canonical(x: f32) -> u32 {
    if x.is_nan() { NAN32 } else { x.to_bits() }
}

/// Applies `f` in all lanes, operands and results as f32.
#[inline(always)]
fn apply(a: &Lanes32, b: &Lanes32, c: &Lanes32, f: impl Fn(f32, f32, f32) -> f32) -> Lanes32 {
    map3(a, b, c, |a, b, c| {
        canonical(f(f32::from_bits(a), f32::from_bits(b), f32::from_bits(c)))
    })
}

#[inline(always)]
pub(super) fn f32_op(op: Fp, mode: FpMode, a: &Lanes32, b: &Lanes32, c: &Lanes32) -> Lanes32 {
    if mode != FpMode::PLAIN {
        return map3(a, b, c, |a, b, c| special(op, mode, a, b, c));
    }
    match op {
        Fp::Fma => apply(a, b, c, f32::mul_add),
        Fp::Add => apply(a, b, c, |a, b, _| a + b),
        Fp::Sub => apply(a, b, c, |a, b, _| a - b),
        Fp::Mul => apply(a, b, c, |a, b, _| a * b),
        Fp::Div => apply(a, b, c, |a, b, _| a / b),
        Fp::Neg => map3(a, b, c, |a, _, _| a ^ 0x8000_0000),
        Fp::Abs => map3(a, b, c, |a, _, _| a & 0x7fff_ffff),
        _ => map3(a, b, c, |a, b, c| special(op, mode, a, b, c)),
    }
}

/// One lane of an operation with modifiers, or of a rare one.
#[inline(never)]
fn special(op: Fp, mode: FpMode, a: u32, b: u32, c: u32) -> u32 {
    let flush = |bits: u32| {
        if mode.ftz && bits & 0x7f80_0000 == 0 {
            bits & 0x8000_0000
        } else {
            bits
        }
    };
    let [x, y, z] = [a, b, c].map(|bits| f32::from_bits(flush(bits)));
    let (dx, dy, dz) = (f64::from(x), f64::from(y), f64::from(z));
    let add = |y: f64| {
        narrow(
            zero_sign(sum_odd(dx, y), dx, y, mode.round),
            F32,
            mode.round,
        )
    };
    let bits = match op {
        Fp::Add => add(dy),
        Fp::Sub => add(-dy),
        Fp::Mul => narrow(dx * dy, F32, mode.round),
        Fp::Fma => narrow(
            zero_sign(sum_odd(dx * dy, dz), dx * dy, dz, mode.round),
            F32,
            mode.round,
        ),
        Fp::Neg => flush(a) ^ 0x8000_0000,
        Fp::Abs => flush(a) & 0x7fff_ffff,
        Fp::CopySign => b & 0x7fff_ffff | a & 0x8000_0000,
        Fp::Min { nan } => extremum(x, y, nan, x < y || (x == y && x.is_sign_negative())),
        Fp::Max { nan } => extremum(x, y, nan, x > y || (x == y && x.is_sign_positive())),
        Fp::Div => canonical(x / y),
        Fp::Sqrt => canonical(x.sqrt()),
        Fp::Rcp => canonical(1.0 / x),
        Fp::Rsqrt => canonical((1.0 / dx.sqrt()) as f32),
        Fp::Ex2 => canonical(dx.exp2() as f32),
        Fp::Lg2 => canonical(dx.log2() as f32),
        Fp::Sin => canonical(dx.sin() as f32),
        Fp::Cos => canonical(dx.cos() as f32),
        Fp::Tanh => canonical(dx.tanh() as f32),
    };
    let bits = flush(bits);
    if !mode.sat {
        return bits;
    }
    // Saturation maps NaN to plus zero.
    let value = f32::from_bits(bits);
    if value > 0.0 {
        value.min(1.0).to_bits()
    } else {
        0
    }
}

/// Minimum or maximum: a NaN operand yields the other one, or NaN under `.NaN`.
fn extremum(x: f32, y: f32, nan: bool, first: bool) -> u32 {
    match (x.is_nan(), y.is_nan()) {
        (true, true) => NAN32,
        (true, false) | (false, true) if nan => NAN32,
        (true, false) => y.to_bits(),
        (false, true) => x.to_bits(),
        _ if first => x.to_bits(),
        _ => y.to_bits(),
    }
}

#[inline(always)]
pub(super) fn f64_op(op: Fp, a: &Lanes64, b: &Lanes64, c: &Lanes64) -> Lanes64 {
    let apply = |f: fn(f64, f64, f64) -> f64| {
        map3(a, b, c, |a, b, c| {
            f(f64::from_bits(a), f64::from_bits(b), f64::from_bits(c)).to_bits()
        })
    };
    match op {
        Fp::Fma => map3(a, b, c, |a, b, c| {
            f64::from_bits(a)
                .mul_add(f64::from_bits(b), f64::from_bits(c))
                .to_bits()
        }),
        Fp::Add => apply(|a, b, _| a + b),
        Fp::Sub => apply(|a, b, _| a - b),
        Fp::Mul => apply(|a, b, _| a * b),
        Fp::Div => apply(|a, b, _| a / b),
        Fp::Sqrt => apply(|a, _, _| a.sqrt()),
        Fp::Rcp => apply(|a, _, _| 1.0 / a),
        Fp::Neg => map3(a, b, c, |a, _, _| a ^ 1 << 63),
        Fp::Abs => map3(a, b, c, |a, _, _| a & !(1 << 63)),
        Fp::CopySign => map3(a, b, c, |a, b, _| b & !(1 << 63) | a & 1 << 63),
        Fp::Min { .. } => apply(|a, b, _| {
            if a.is_nan() || b < a || (a == b && b.is_sign_negative()) {
                b
            } else {
                a
            }
        }),
        Fp::Max { .. } => apply(|a, b, _| {
            if a.is_nan() || b > a || (a == b && b.is_sign_positive()) {
                b
            } else {
                a
            }
        }),
        // Refused when lowering: they exist as .approx of .f32 only.
        Fp::Rsqrt | Fp::Ex2 | Fp::Lg2 | Fp::Sin | Fp::Cos | Fp::Tanh => *a,
    }
}
