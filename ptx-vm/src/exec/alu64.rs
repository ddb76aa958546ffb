//! 64-bit integer arithmetic, bit fields of both widths, carries.

use super::warp::Warp;
use super::{Lanes32, Lanes64, WARP, map1, map2, map3};
use crate::ir::{Bin, Inst, Un};

pub(super) fn unary(op: Un, a: &Lanes64) -> Lanes64 {
    match op {
        Un::Not => map1(a, |x| !x),
        Un::Neg => map1(a, u64::wrapping_neg),
        Un::Abs => map1(a, |x| (x as i64).unsigned_abs()),
        Un::Popc => map1(a, |x| x.count_ones().into()),
        Un::Clz => map1(a, |x| x.leading_zeros().into()),
        Un::Brev => map1(a, u64::reverse_bits),
        Un::Cnot => map1(a, |x| u64::from(x == 0)),
        Un::Find { signed, shift } => map1(a, |x| {
            let x = if signed && (x as i64) < 0 { !x } else { x };
            match (x, shift) {
                (0, _) => u64::MAX,
                (x, false) => u64::from(63 - x.leading_zeros()),
                (x, true) => x.leading_zeros().into(),
            }
        }),
    }
}

#[inline(always)]
pub(super) fn binary(op: Bin, a: &Lanes64, b: &Lanes64) -> Lanes64 {
    match op {
        Bin::Add => map2(a, b, u64::wrapping_add),
        Bin::Sub => map2(a, b, u64::wrapping_sub),
        Bin::Mul => map2(a, b, u64::wrapping_mul),
        Bin::MulHiU => map2(a, b, high_unsigned),
        Bin::MulHiS => map2(a, b, high_signed),
        Bin::DivU => map2(a, b, |x, y| x.checked_div(y).unwrap_or(u64::MAX)),
        Bin::DivS => map2(a, b, |x, y| {
            if y == 0 {
                u64::MAX
            } else {
                (x as i64).wrapping_div(y as i64) as u64
            }
        }),
        Bin::RemU => map2(a, b, |x, y| x.checked_rem(y).unwrap_or(x)),
        Bin::RemS => map2(a, b, |x, y| {
            if y == 0 {
                x
            } else {
                (x as i64).wrapping_rem(y as i64) as u64
            }
        }),
        Bin::MinU => map2(a, b, u64::min),
        Bin::MinS => map2(a, b, |x, y| (x as i64).min(y as i64) as u64),
        Bin::MaxU => map2(a, b, u64::max),
        Bin::MaxS => map2(a, b, |x, y| (x as i64).max(y as i64) as u64),
        Bin::And => map2(a, b, |x, y| x & y),
        Bin::Or => map2(a, b, |x, y| x | y),
        Bin::Xor => map2(a, b, |x, y| x ^ y),
        // Not lowered for 64 bits: shifts have a 32-bit amount, the others are 32-bit only.
        Bin::Shl
        | Bin::ShrU
        | Bin::ShrS
        | Bin::Mul24U
        | Bin::Mul24S
        | Bin::AddSat
        | Bin::SubSat => *a,
    }
}

pub(super) fn shift(op: Bin, a: &Lanes64, n: &Lanes32) -> Lanes64 {
    match op {
        Bin::Shl => map2(a, n, |x, n| if n > 63 { 0 } else { x << n }),
        Bin::ShrS => map2(a, n, |x, n| ((x as i64) >> n.min(63)) as u64),
        _ => map2(a, n, |x, n| if n > 63 { 0 } else { x >> n }),
    }
}

fn high_unsigned(x: u64, y: u64) -> u64 {
    ((u128::from(x) * u128::from(y)) >> 64) as u64
}

fn high_signed(x: u64, y: u64) -> u64 {
    ((i128::from(x as i64) * i128::from(y as i64)) >> 64) as u64
}

pub(super) fn mad(high: Option<bool>, a: &Lanes64, b: &Lanes64, c: &Lanes64) -> Lanes64 {
    map3(a, b, c, |a, b, c| {
        let product = match high {
            None => a.wrapping_mul(b),
            Some(true) => high_signed(a, b),
            Some(false) => high_unsigned(a, b),
        };
        product.wrapping_add(c)
    })
}

#[inline(always)]
pub(super) fn wide(signed: bool, a: &Lanes32, b: &Lanes32) -> Lanes64 {
    if signed {
        map2(a, b, |x, y| {
            (i64::from(x as i32) * i64::from(y as i32)) as u64
        })
    } else {
        map2(a, b, |x, y| u64::from(x) * u64::from(y))
    }
}

/// Bit-field extract (PTX ISA, "bfe"): position and length are 8 bits; what lies beyond the top
/// is the sign (or zero).
pub(super) fn bfe(signed: bool, width: u32, a: u64, pos: u32, len: u32) -> u64 {
    let (pos, len, top) = (pos & 0xff, len & 0xff, width - 1);
    let sign = if !signed || len == 0 {
        0
    } else {
        a >> (pos + len - 1).min(top) & 1
    };
    let field = (0..width).fold(0, |out, i| {
        let bit = if i < len && pos + i <= top {
            a >> (pos + i) & 1
        } else {
            sign
        };
        out | bit << i
    });
    if len == 0 { 0 } else { field }
}

/// Bit-field insert (PTX ISA, "bfi"): the low bits of `a` into `b`.
pub(super) fn bfi(width: u32, a: u64, b: u64, pos: u32, len: u32) -> u64 {
    let (pos, len) = (pos & 0xff, len & 0xff);
    let end = (pos + len).min(width);
    (pos..end).fold(b, |out, i| out & !(1 << i) | (a >> (i - pos) & 1) << i)
}

impl Warp {
    /// Addition and subtraction with the carry flag (PTX ISA, "Extended-Precision Integer
    /// Arithmetic"); for subtraction the flag is the borrow.
    pub(super) fn carry(&mut self, inst: &Inst, active: u32) {
        let step = |subtract: bool, a: u64, b: u64, carry: u64, width: u32| {
            let wide = if subtract {
                i128::from(a) - i128::from(b) - i128::from(carry)
            } else {
                i128::from(a) + i128::from(b) + i128::from(carry)
            };
            (wide as u64, u32::from(wide < 0 || wide >> width != 0))
        };
        let before = self.carry;
        let flag = |on: bool, lane: usize| if on { u64::from(before >> lane & 1) } else { 0 };
        let mut flags = 0;
        let carry_out = match inst {
            Inst::Carry32 {
                subtract,
                carry_in,
                carry_out,
                d,
                a,
                b,
            } => {
                let mut out = [0; WARP];
                for (i, o) in out.iter_mut().enumerate() {
                    let (a, b) = (self.r[*a as usize][i].into(), self.r[*b as usize][i].into());
                    let (value, carried) = step(*subtract, a, b, flag(*carry_in, i), 32);
                    *o = value as u32;
                    flags |= carried << i;
                }
                self.set_r(*d, active, &out);
                *carry_out
            }
            Inst::Carry64 {
                subtract,
                carry_in,
                carry_out,
                d,
                a,
                b,
            } => {
                let mut out = [0; WARP];
                for (i, o) in out.iter_mut().enumerate() {
                    let (a, b) = (self.d[*a as usize][i], self.d[*b as usize][i]);
                    let (value, carried) = step(*subtract, a, b, flag(*carry_in, i), 64);
                    *o = value;
                    flags |= carried << i;
                }
                self.set_d(*d, active, &out);
                *carry_out
            }
            _ => false,
        };
        if carry_out {
            self.carry = self.carry & !active | flags & active;
        }
    }
}
