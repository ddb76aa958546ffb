//! Comparisons and selections (PTX ISA, "Comparison and Selection Instructions").

use super::round::{BF16, F16, widen};
use super::warp::Warp;
use super::{WARP, map1, map2};
use crate::ir::{BoolOp, Cmp, CmpTy, Inst, P, Pred, TestP};

/// One bit per lane.
pub(super) fn bits(lanes: [bool; WARP]) -> u32 {
    lanes
        .iter()
        .enumerate()
        .fold(0, |bits, (lane, on)| bits | u32::from(*on) << lane)
}

/// Result of a comparison; the unordered forms hold when an operand is NaN.
#[inline(always)]
#[allow(
    clippy::neg_cmp_op_on_partial_ord,
    clippy::double_comparisons,
    reason = "whether NaN makes a comparison true is what distinguishes them"
)]
fn holds<T: PartialOrd>(cmp: Cmp, a: T, b: T) -> bool {
    match cmp {
        Cmp::Eq => a == b,
        // Ordered: false when an operand is NaN.
        Cmp::Ne => a < b || a > b,
        Cmp::Lt => a < b,
        Cmp::Le => a <= b,
        Cmp::Gt => a > b,
        Cmp::Ge => a >= b,
        Cmp::Equ => !(a < b || a > b),
        Cmp::Neu => a != b,
        Cmp::Ltu => !(a >= b),
        Cmp::Leu => !(a > b),
        Cmp::Gtu => !(a <= b),
        Cmp::Geu => !(a < b),
        Cmp::Num => a.partial_cmp(&b).is_some(),
        Cmp::Nan => a.partial_cmp(&b).is_none(),
    }
}

/// One bit per lane of which the comparison holds.
#[inline(always)]
fn all<T: Copy, U: PartialOrd>(cmp: Cmp, a: &[T; WARP], b: &[T; WARP], f: impl Fn(T) -> U) -> u32 {
    bits(map2(a, b, |a, b| holds(cmp, f(a), f(b))))
}

fn logic(op: BoolOp, a: u32, b: u32) -> u32 {
    match op {
        BoolOp::And => a & b,
        BoolOp::Or => a | b,
        BoolOp::Xor => a ^ b,
    }
}

impl Warp {
    pub(super) fn compare(&mut self, inst: &Inst, active: u32) {
        match *inst {
            Inst::Setp32 {
                cmp,
                ty,
                p,
                q,
                a,
                b,
                with,
            } => {
                let (a, b) = (&self.r[a as usize], &self.r[b as usize]);
                let value = match ty {
                    CmpTy::Signed => all(cmp, a, b, |x| x as i32),
                    CmpTy::Signed16 => all(cmp, a, b, |x| x as i16),
                    CmpTy::F32 { ftz: false } => all(cmp, a, b, f32::from_bits),
                    CmpTy::F32 { ftz: true } => all(cmp, a, b, |x| {
                        f32::from_bits(if x & 0x7f80_0000 == 0 {
                            x & 0x8000_0000
                        } else {
                            x
                        })
                    }),
                    CmpTy::F16 => all(cmp, a, b, |x| widen(x & 0xffff, F16)),
                    CmpTy::Bf16 => all(cmp, a, b, |x| widen(x & 0xffff, BF16)),
                    CmpTy::Unsigned | CmpTy::F64 => all(cmp, a, b, |x| x),
                };
                self.combine(value, p, q, with, active);
            }
            Inst::Setp64 {
                cmp,
                ty,
                p,
                q,
                a,
                b,
                with,
            } => {
                let (a, b) = (&self.d[a as usize], &self.d[b as usize]);
                let value = match ty {
                    CmpTy::Signed => all(cmp, a, b, |x| x as i64),
                    CmpTy::F64 => all(cmp, a, b, f64::from_bits),
                    _ => all(cmp, a, b, |x| x),
                };
                self.combine(value, p, q, with, active);
            }
            _ => {}
        }
    }

    /// `p = value op c`, `q = !value op c`.
    fn combine(
        &mut self,
        value: u32,
        p: P,
        q: Option<P>,
        with: Option<(BoolOp, Pred)>,
        active: u32,
    ) {
        let (first, second) = match with {
            None => (value, !value),
            Some((op, c)) => {
                let c = self.pred(c);
                (logic(op, value, c), logic(op, !value, c))
            }
        };
        self.set_p(p, active, first);
        if let Some(q) = q {
            self.set_p(q, active, second);
        }
    }

    pub(super) fn select(&mut self, inst: &Inst, active: u32) {
        match *inst {
            Inst::MovP { d, a } => self.set_p(d, active, self.pred(a)),
            Inst::LogicP { op, d, a, b } => {
                self.set_p(d, active, logic(op, self.pred(a), self.pred(b)))
            }
            Inst::TestP { op, f64, d, a } => {
                let mut value = 0;
                for lane in super::lanes(active) {
                    let x = self.get(a, lane);
                    let class = if f64 {
                        f64::from_bits(x).classify()
                    } else {
                        f32::from_bits(x as u32).classify()
                    };
                    value |= u32::from(test(op, class)) << lane;
                }
                self.set_p(d, active, value);
            }
            Inst::SetFrom { d, ones, p } => {
                let p = self.p[p as usize];
                let out = std::array::from_fn(|lane| if p >> lane & 1 == 1 { ones } else { 0 });
                self.set_r(d, active, &out);
            }
            Inst::Selp32 { d, a, b, p } => {
                let (p, b) = (self.p[p as usize], self.r[b as usize]);
                let mut out = self.r[a as usize];
                (0..WARP)
                    .filter(|lane| p >> lane & 1 == 0)
                    .for_each(|lane| out[lane] = b[lane]);
                self.set_r(d, active, &out);
            }
            Inst::Selp64 { d, a, b, p } => {
                let (p, b) = (self.p[p as usize], self.d[b as usize]);
                let mut out = self.d[a as usize];
                (0..WARP)
                    .filter(|lane| p >> lane & 1 == 0)
                    .for_each(|lane| out[lane] = b[lane]);
                self.set_d(d, active, &out);
            }
            Inst::Slct { float, d, a, b, c } => {
                let c = map1(&self.r[c as usize], |c| {
                    if float {
                        f32::from_bits(c) >= 0.0
                    } else {
                        c as i32 >= 0
                    }
                });
                for lane in super::lanes(active) {
                    let value = self.get(if c[lane] { a } else { b }, lane);
                    self.set(d, lane, value);
                }
            }
            _ => {}
        }
    }
}

fn test(op: TestP, class: std::num::FpCategory) -> bool {
    use std::num::FpCategory::{Infinite, Nan, Normal, Subnormal, Zero};
    match op {
        TestP::Finite => matches!(class, Normal | Subnormal | Zero),
        TestP::Infinite => class == Infinite,
        TestP::Number => class != Nan,
        TestP::NotANumber => class == Nan,
        TestP::Normal => class == Normal,
        TestP::Subnormal => class == Subnormal,
    }
}
