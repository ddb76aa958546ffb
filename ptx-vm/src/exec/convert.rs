//! Conversions between types (PTX ISA, "cvt").
//!
//! Floating point to integer saturates, and NaN becomes 0. Integer to integer takes the low bits,
//! or saturates under `.sat`. A result narrower than its register is extended to it.

use super::round::{BF16, F16, F32, NAN32, TF32, narrow, odd, widen};
use super::warp::Warp;
use super::{lanes, map1};
use crate::ir::{Cvt, Reg, Round, Ty};

impl Warp {
    pub(super) fn convert(&mut self, cvt: &Cvt, d: Reg, a: Reg, active: u32) {
        // The conversions that addressing is made of, without a loop over special cases.
        let plain = !cvt.sat && !cvt.narrow;
        match (d, a, cvt.to, cvt.from) {
            (Reg::D(d), Reg::R(a), Ty::U64 | Ty::S64, Ty::U32) if plain => {
                let out = map1(&self.r[a as usize], u64::from);
                self.set_d(d, active, &out);
            }
            (Reg::D(d), Reg::R(a), Ty::U64 | Ty::S64, Ty::S32) if plain => {
                let out = map1(&self.r[a as usize], |x| i64::from(x as i32) as u64);
                self.set_d(d, active, &out);
            }
            (Reg::R(d), Reg::D(a), Ty::U32 | Ty::S32, Ty::U64 | Ty::S64) if plain => {
                let out = map1(&self.d[a as usize], |x| x as u32);
                self.set_r(d, active, &out);
            }
            _ => {
                for lane in lanes(active) {
                    let value = one(cvt, self.get(a, lane));
                    self.set(d, lane, if cvt.narrow { value & 0xffff } else { value });
                }
            }
        }
    }
}

/// `cvt.bf16x2.f32 d, a, b`: `a` goes to the upper half.
pub(super) fn pair(cvt: &Cvt, a: u32, b: u32) -> u32 {
    let to = if cvt.to == Ty::F16x2 {
        Ty::F16
    } else {
        Ty::Bf16
    };
    let half = Cvt { to, ..*cvt };
    (one(&half, a.into()) as u32) << 16 | one(&half, b.into()) as u32
}

/// Converts one value; narrow signed results come sign-extended to 64 bits.
fn one(cvt: &Cvt, bits: u64) -> u64 {
    match (cvt.from.is_float(), cvt.to.is_float()) {
        (false, false) => int_to_int(cvt, bits),
        (false, true) => int_to_float(cvt, integer(cvt.from, bits)),
        (true, false) => float_to_int(cvt, float(cvt, bits)),
        (true, true) => float_to_float(cvt, bits),
    }
}

/// Value of an integer of type `ty` in the low bits.
fn integer(ty: Ty, bits: u64) -> i128 {
    let unused = 64 - 8 * ty.bytes();
    if ty.signed() {
        i128::from((bits << unused) as i64 >> unused)
    } else {
        i128::from(bits << unused >> unused)
    }
}

fn range(ty: Ty) -> (i128, i128) {
    let bits = 8 * ty.bytes();
    if ty.signed() {
        (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    } else {
        (0, (1 << bits) - 1)
    }
}

fn int_to_int(cvt: &Cvt, bits: u64) -> u64 {
    let value = integer(cvt.from, bits);
    if cvt.sat {
        let (low, high) = range(cvt.to);
        return value.clamp(low, high) as u64;
    }
    integer(cvt.to, value as u64) as u64
}

fn int_to_float(cvt: &Cvt, value: i128) -> u64 {
    // The exact value is a f64 and the rest that did not fit; both are exact.
    let nearest = value as f64;
    let rest = (value - nearest as i128) as f64;
    match cvt.to {
        Ty::F64 => nearest.to_bits(),
        Ty::F32 => narrow(odd(nearest, rest), F32, cvt.round).into(),
        Ty::F16 => narrow(odd(nearest, rest), F16, cvt.round).into(),
        _ => narrow(odd(nearest, rest), BF16, cvt.round).into(),
    }
}

/// Value of a floating-point source.
fn float(cvt: &Cvt, bits: u64) -> f64 {
    let bits32 = bits as u32;
    match cvt.from {
        Ty::F64 => f64::from_bits(bits),
        Ty::F32 if cvt.ftz && bits32 & 0x7f80_0000 == 0 => {
            f64::from(f32::from_bits(bits32 & 0x8000_0000))
        }
        Ty::F32 => f64::from(f32::from_bits(bits32)),
        Ty::F16 => widen(bits32 & 0xffff, F16),
        _ => widen(bits32 & 0xffff, BF16),
    }
}

fn to_integral(x: f64, round: Round) -> f64 {
    match round {
        Round::Nearest | Round::NearestAway => x.round_ties_even(),
        Round::Zero => x.trunc(),
        Round::Down => x.floor(),
        Round::Up => x.ceil(),
    }
}

fn float_to_int(cvt: &Cvt, x: f64) -> u64 {
    let (low, high) = range(cvt.to);
    // The cast saturates and maps NaN to 0.
    (to_integral(x, cvt.round) as i128).clamp(low, high) as u64
}

fn float_to_float(cvt: &Cvt, bits: u64) -> u64 {
    let mut x = float(cvt, bits);
    if cvt.integral {
        x = to_integral(x, cvt.round);
    }
    if cvt.relu && x <= 0.0 {
        x = 0.0;
    }
    let round = if cvt.integral {
        Round::Nearest
    } else {
        cvt.round
    };
    let out = match cvt.to {
        Ty::F64 => return x.to_bits(),
        Ty::F32 => f32_result(cvt, narrow(x, F32, round)),
        Ty::F16 => narrow(x, F16, round),
        Ty::Bf16 => narrow(x, BF16, round),
        _ => tf32(cvt, x),
    };
    out.into()
}

fn f32_result(cvt: &Cvt, bits: u32) -> u32 {
    let bits = if cvt.ftz && bits & 0x7f80_0000 == 0 {
        bits & 0x8000_0000
    } else {
        bits
    };
    if !cvt.sat {
        return bits;
    }
    let value = f32::from_bits(bits);
    if value > 0.0 {
        value.min(1.0).to_bits()
    } else {
        0
    }
}

/// TF32 is kept in the upper 19 bits of a 32-bit register.
fn tf32(cvt: &Cvt, x: f64) -> u32 {
    if x.is_nan() {
        return NAN32;
    }
    let bits = narrow(x, TF32, cvt.round) << 13;
    if cvt.satfinite && bits & 0x7fff_ffff == 0x7f80_0000 {
        bits - (1 << 13)
    } else {
        bits
    }
}
