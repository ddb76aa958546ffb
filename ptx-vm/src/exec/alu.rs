//! 16- and 32-bit integer arithmetic. The inner loops are plain so that the compiler turns them
//! into vector code for the instruction set chosen at run time.
//!
//! Division by zero, which the ISA leaves unspecified, gives all ones, its remainder the dividend.

use super::{Lanes32, map1, map2, map3};
use crate::ir::{Bin, PrmtMode, Tri, Un};

fn sext16(x: u32) -> u32 {
    x as u16 as i16 as u32
}

fn sext24(x: u32) -> u32 {
    ((x << 8) as i32 >> 8) as u32
}

/// One-operand operations. `half` marks 16-bit operands, zero-extended; results above 16 bits
/// are cut by the caller.
pub(super) fn unary(op: Un, half: bool, a: &Lanes32) -> Lanes32 {
    match op {
        Un::Not => map1(a, |x| !x),
        Un::Neg => map1(a, u32::wrapping_neg),
        Un::Abs if half => map1(a, |x| (x as i16).unsigned_abs().into()),
        Un::Abs => map1(a, |x| (x as i32).unsigned_abs()),
        Un::Popc => map1(a, u32::count_ones),
        Un::Clz => map1(a, u32::leading_zeros),
        Un::Brev => map1(a, u32::reverse_bits),
        Un::Cnot => map1(a, |x| u32::from(x == 0)),
        Un::Find { signed, shift } => map1(a, |x| {
            let x = if signed && (x as i32) < 0 { !x } else { x };
            match (x, shift) {
                (0, _) => u32::MAX,
                (x, false) => 31 - x.leading_zeros(),
                (x, true) => x.leading_zeros(),
            }
        }),
    }
}

#[inline(always)]
pub(super) fn binary(op: Bin, a: &Lanes32, b: &Lanes32) -> Lanes32 {
    match op {
        Bin::Add => map2(a, b, u32::wrapping_add),
        Bin::Sub => map2(a, b, u32::wrapping_sub),
        Bin::Mul => map2(a, b, u32::wrapping_mul),
        Bin::MulHiU => map2(a, b, |x, y| ((u64::from(x) * u64::from(y)) >> 32) as u32),
        Bin::MulHiS => map2(a, b, |x, y| {
            ((i64::from(x as i32) * i64::from(y as i32)) >> 32) as u32
        }),
        Bin::Mul24U => map2(a, b, |x, y| (x & 0xff_ffff).wrapping_mul(y & 0xff_ffff)),
        Bin::Mul24S => map2(a, b, |x, y| sext24(x).wrapping_mul(sext24(y))),
        Bin::DivU => map2(a, b, |x, y| x.checked_div(y).unwrap_or(u32::MAX)),
        Bin::DivS => map2(a, b, |x, y| {
            if y == 0 {
                u32::MAX
            } else {
                (x as i32).wrapping_div(y as i32) as u32
            }
        }),
        Bin::RemU => map2(a, b, |x, y| x.checked_rem(y).unwrap_or(x)),
        Bin::RemS => map2(a, b, |x, y| {
            if y == 0 {
                x
            } else {
                (x as i32).wrapping_rem(y as i32) as u32
            }
        }),
        Bin::MinU => map2(a, b, u32::min),
        Bin::MinS => map2(a, b, |x, y| (x as i32).min(y as i32) as u32),
        Bin::MaxU => map2(a, b, u32::max),
        Bin::MaxS => map2(a, b, |x, y| (x as i32).max(y as i32) as u32),
        Bin::And => map2(a, b, |x, y| x & y),
        Bin::Or => map2(a, b, |x, y| x | y),
        Bin::Xor => map2(a, b, |x, y| x ^ y),
        // Amounts of 32 and above shift everything out.
        Bin::Shl => map2(a, b, |x, n| if n > 31 { 0 } else { x << n }),
        Bin::ShrU => map2(a, b, |x, n| if n > 31 { 0 } else { x >> n }),
        Bin::ShrS => map2(a, b, |x, n| ((x as i32) >> n.min(31)) as u32),
        Bin::AddSat => map2(a, b, |x, y| (x as i32).saturating_add(y as i32) as u32),
        Bin::SubSat => map2(a, b, |x, y| (x as i32).saturating_sub(y as i32) as u32),
    }
}

/// 16-bit operations: on extended operands, then cut to 16 bits.
pub(super) fn binary16(op: Bin, a: &Lanes32, b: &Lanes32) -> Lanes32 {
    let signed = matches!(
        op,
        Bin::DivS | Bin::RemS | Bin::MinS | Bin::MaxS | Bin::MulHiS | Bin::ShrS
    );
    let (mut a, mut b) = (*a, *b);
    if signed {
        a = map1(&a, sext16);
        // A shift amount is 32 bits wide.
        if op != Bin::ShrS {
            b = map1(&b, sext16);
        }
    }
    let out = match op {
        Bin::MulHiU => map2(&a, &b, |x, y| x.wrapping_mul(y) >> 16),
        Bin::MulHiS => map2(&a, &b, |x, y| x.wrapping_mul(y) >> 16),
        _ => binary(op, &a, &b),
    };
    map1(&out, |x| x & 0xffff)
}

pub(super) fn wide16(signed: bool, a: &Lanes32, b: &Lanes32) -> Lanes32 {
    if signed {
        map2(a, b, |x, y| sext16(x).wrapping_mul(sext16(y)))
    } else {
        map2(a, b, |x, y| (x & 0xffff) * (y & 0xffff))
    }
}

#[inline(always)]
pub(super) fn ternary(op: Tri, a: &Lanes32, b: &Lanes32, c: &Lanes32) -> Lanes32 {
    let two = |op| map2(&binary(op, a, b), c, u32::wrapping_add);
    match op {
        Tri::Mad => map3(a, b, c, |a, b, c| a.wrapping_mul(b).wrapping_add(c)),
        Tri::MadHiU => two(Bin::MulHiU),
        Tri::MadHiS => two(Bin::MulHiS),
        Tri::Mad24U => two(Bin::Mul24U),
        Tri::Mad24S => two(Bin::Mul24S),
        Tri::Sad { signed: false } => map3(a, b, c, |a, b, c| a.abs_diff(b).wrapping_add(c)),
        Tri::Sad { signed: true } => map3(a, b, c, |a, b, c| {
            (a as i32).abs_diff(b as i32).wrapping_add(c)
        }),
        Tri::Lop3(table) => map3(a, b, c, |a, b, c| lop3(table, a, b, c)),
        Tri::Prmt(mode) => map3(a, b, c, |a, b, c| prmt(mode, a, b, c)),
        Tri::BfeU => map3(a, b, c, |a, b, c| {
            super::alu64::bfe(false, 32, a.into(), b, c) as u32
        }),
        Tri::BfeS => map3(a, b, c, |a, b, c| {
            super::alu64::bfe(true, 32, a.into(), b, c) as u32
        }),
        Tri::ShfL { clamp } => map3(a, b, c, |lo, hi, n| {
            let n = if clamp { n.min(32) } else { n & 31 };
            (((u64::from(hi) << 32 | u64::from(lo)) << n) >> 32) as u32
        }),
        Tri::ShfR { clamp } => map3(a, b, c, |lo, hi, n| {
            let n = if clamp { n.min(32) } else { n & 31 };
            ((u64::from(hi) << 32 | u64::from(lo)) >> n) as u32
        }),
        Tri::Dp4a { a_signed, b_signed } => {
            map3(a, b, c, |a, b, c| dp4a(a_signed, b_signed, a, b, c))
        }
    }
}

/// Bit `a*4 + b*2 + c` of the table, for every bit position.
fn lop3(table: u8, a: u32, b: u32, c: u32) -> u32 {
    let mut out = 0;
    for row in 0..8 {
        if table >> row & 1 == 1 {
            let pick = |x: u32, bit: u32| if row >> bit & 1 == 1 { x } else { !x };
            out |= pick(a, 2) & pick(b, 1) & pick(c, 0);
        }
    }
    out
}

/// Byte permutation (PTX ISA, "prmt").
fn prmt(mode: PrmtMode, a: u32, b: u32, c: u32) -> u32 {
    let bytes = u64::from(b) << 32 | u64::from(a);
    let byte = |i: u32| (bytes >> (8 * (i & 7))) as u32 & 0xff;
    let from = |selectors: [u32; 4]| (0..4).fold(0, |out, i| out | byte(selectors[i]) << (8 * i));
    let n = c & 3;
    match mode {
        PrmtMode::Index => (0..4).fold(0, |out, i| {
            let selector = c >> (4 * i) & 0xf;
            let value = byte(selector & 7);
            // The selector's top bit replicates the byte's sign.
            let value = if selector & 8 == 0 {
                value
            } else if value & 0x80 != 0 {
                0xff
            } else {
                0
            };
            out | value << (8 * i)
        }),
        PrmtMode::F4e => from([n, n + 1, n + 2, n + 3]),
        PrmtMode::B4e => from([n, n + 7, n + 6, n + 5]),
        PrmtMode::Rc8 => from([n; 4]),
        PrmtMode::Ecl => from([n, n.max(1), n.max(2), 3]),
        PrmtMode::Ecr => from([0, n.min(1), n.min(2), n]),
        PrmtMode::Rc16 => {
            from([n & 1, n & 1, n & 1, n & 1].map(|h| h * 2)) & 0x00ff_00ff | {
                let high = (n & 1) * 2 + 1;
                byte(high) << 8 | byte(high) << 24
            }
        }
    }
}

fn dp4a(a_signed: bool, b_signed: bool, a: u32, b: u32, c: u32) -> u32 {
    let byte = |x: u32, i: u32, signed: bool| {
        let byte = (x >> (8 * i)) as u8;
        if signed {
            i32::from(byte as i8)
        } else {
            i32::from(byte)
        }
    };
    (0..4).fold(c, |sum, i| {
        sum.wrapping_add((byte(a, i, a_signed) * byte(b, i, b_signed)) as u32)
    })
}
