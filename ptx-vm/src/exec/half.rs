//! Half precision and bfloat16, scalar and packed (PTX ISA, "Half Precision Floating Point
//! Instructions").

use super::round::{BF16, F16, Format, narrow, sum_odd, widen};
use crate::ir::{Fp, HalfFormat, Round};

/// Modifiers of a 16-bit operation.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mode {
    pub format: HalfFormat,
    pub ftz: bool,
    pub sat: bool,
    pub relu: bool,
}

pub(super) fn format(which: HalfFormat) -> Format {
    match which {
        HalfFormat::F16 => F16,
        HalfFormat::Bf16 => BF16,
    }
}

/// One lane: one value, or two packed in 32 bits.
pub(super) fn lane(op: Fp, mode: Mode, packed: bool, a: u32, b: u32, c: u32) -> u32 {
    let low = one(op, mode, a & 0xffff, b & 0xffff, c & 0xffff);
    if packed {
        low | one(op, mode, a >> 16, b >> 16, c >> 16) << 16
    } else {
        low
    }
}

fn one(op: Fp, mode: Mode, a: u32, b: u32, c: u32) -> u32 {
    let format = format(mode.format);
    let exponent = ((1 << format.exponent) - 1) << format.mantissa;
    let flush = |bits: u32| {
        if mode.ftz && bits & exponent == 0 {
            bits & 0x8000
        } else {
            bits
        }
    };
    let [x, y, z] = [a, b, c].map(|bits| widen(flush(bits), format));
    let rounded = |value: f64| narrow(value, format, Round::Nearest);
    let bits = match op {
        Fp::Add => rounded(sum_odd(x, y)),
        Fp::Sub => rounded(sum_odd(x, -y)),
        Fp::Mul => rounded(x * y),
        Fp::Fma => rounded(sum_odd(x * y, z)),
        Fp::Neg => flush(a) ^ 0x8000,
        Fp::Abs => flush(a) & 0x7fff,
        Fp::Min { nan } => extremum(
            [a, b].map(flush),
            x,
            y,
            nan,
            x < y || (x == y && x.is_sign_negative()),
            format,
        ),
        Fp::Max { nan } => extremum(
            [a, b].map(flush),
            x,
            y,
            nan,
            x > y || (x == y && x.is_sign_positive()),
            format,
        ),
        // Refused when lowering.
        _ => format.nan(),
    };
    let bits = flush(bits);
    let value = widen(bits, format);
    if mode.relu && !value.is_nan() && value <= 0.0 {
        return 0;
    }
    if mode.sat {
        return if value > 0.0 {
            rounded(value.min(1.0))
        } else {
            0
        };
    }
    bits
}

fn extremum([a, b]: [u32; 2], x: f64, y: f64, nan: bool, first: bool, format: Format) -> u32 {
    match (x.is_nan(), y.is_nan()) {
        (true, true) => format.nan(),
        (true, false) | (false, true) if nan => format.nan(),
        (true, false) => b,
        (false, true) => a,
        _ if first => a,
        _ => b,
    }
}
