//! Floating-point instructions (PTX ISA, "Floating Point Instructions", "Half Precision
//! Floating Point Instructions").

use super::Lowerer;
use super::mods::Mods;
use crate::ir::{Fp, FpMode, HalfFormat, Inst, Round, TestP, Ty};
use crate::parse::ParseError;
use crate::parse::ast::Instruction;

impl<'a> Lowerer<'a> {
    pub(super) fn float_arithmetic(
        &mut self,
        i: &'a Instruction,
        m: &mut Mods<'_>,
        ty: Ty,
    ) -> Result<(), ParseError> {
        let nan = matches!(i.opcode.as_str(), "min" | "max") && m.take("NaN");
        let op = match i.opcode.as_str() {
            "add" => Fp::Add,
            "sub" => Fp::Sub,
            "mul" => Fp::Mul,
            "fma" | "mad" => Fp::Fma,
            "div" => Fp::Div,
            "min" => Fp::Min { nan },
            "max" => Fp::Max { nan },
            "neg" => Fp::Neg,
            "abs" => Fp::Abs,
            _ => return m.fail("the type is not one of this instruction's"),
        };
        self.float_op(i, m, ty, op)
    }

    pub(super) fn float(&mut self, i: &'a Instruction, m: &mut Mods<'_>) -> Result<(), ParseError> {
        let op = match i.opcode.as_str() {
            "sqrt" => Fp::Sqrt,
            "rcp" => Fp::Rcp,
            "rsqrt" => Fp::Rsqrt,
            "ex2" => Fp::Ex2,
            "lg2" => Fp::Lg2,
            "sin" => Fp::Sin,
            "cos" => Fp::Cos,
            "tanh" => Fp::Tanh,
            "copysign" => Fp::CopySign,
            _ => return self.testp(i, m),
        };
        let ty = m.ty()?;
        self.float_op(i, m, ty, op)
    }

    fn float_op(
        &mut self,
        i: &'a Instruction,
        m: &mut Mods<'_>,
        ty: Ty,
        op: Fp,
    ) -> Result<(), ParseError> {
        let mode = FpMode {
            round: m.round(),
            ftz: m.take("ftz"),
            sat: m.take("sat"),
            approx: m.take("approx") || m.take("full"),
        };
        let simple = matches!(op, Fp::Add | Fp::Sub | Fp::Mul | Fp::Fma);
        if mode.round == Round::NearestAway || (mode.round != Round::Nearest && !simple) {
            return m.fail("this rounding is not supported");
        }
        let exact = matches!(op, Fp::Div | Fp::Sqrt | Fp::Rcp);
        let approximate_only = matches!(
            op,
            Fp::Rsqrt | Fp::Ex2 | Fp::Lg2 | Fp::Sin | Fp::Cos | Fp::Tanh
        );
        if mode.approx != approximate_only && !(mode.approx && exact) {
            return m.fail("one of .approx, .full, .rn is wrong or missing");
        }
        let sources = i.operands.len().saturating_sub(1);
        let wanted = match op {
            Fp::Fma => 3,
            Fp::Add
            | Fp::Sub
            | Fp::Mul
            | Fp::Div
            | Fp::Min { .. }
            | Fp::Max { .. }
            | Fp::CopySign => 2,
            _ => 1,
        };
        if sources != wanted {
            return m.fail(&format!("{} operands are expected", wanted + 1));
        }
        // Operands that an operation lacks repeat its first.
        let [a, b, c] = [1, 2.min(sources), 3.min(sources)].map(|at| &i.operands[at]);
        let d = &i.operands[0];
        match ty {
            Ty::F32 => {
                let (a, b, c, d) = (
                    self.r(a, ty)?,
                    self.r(b, ty)?,
                    self.r(c, ty)?,
                    self.dst_r(d, ty)?,
                );
                self.emit(Inst::F32 {
                    op,
                    mode,
                    d,
                    a,
                    b,
                    c,
                })
            }
            Ty::F64 => {
                if mode.ftz
                    || mode.sat
                    || mode.round != Round::Nearest
                    || (mode.approx && op != Fp::Rcp)
                {
                    return m.fail("only .rn is supported for .f64");
                }
                if mode.approx {
                    return m.fail("rcp.approx.ftz.f64 is not supported");
                }
                let (a, b, c, d) = (
                    self.d(a, ty)?,
                    self.d(b, ty)?,
                    self.d(c, ty)?,
                    self.dst_d(d)?,
                );
                self.emit(Inst::F64 {
                    op,
                    round: mode.round,
                    d,
                    a,
                    b,
                    c,
                })
            }
            Ty::F16 | Ty::Bf16 | Ty::F16x2 | Ty::Bf16x2 => {
                let relu = m.take("relu");
                let known =
                    simple || matches!(op, Fp::Min { .. } | Fp::Max { .. } | Fp::Neg | Fp::Abs);
                if !known || mode.round != Round::Nearest {
                    return m.fail("not supported for 16-bit floating point");
                }
                let format = if matches!(ty, Ty::F16 | Ty::F16x2) {
                    HalfFormat::F16
                } else {
                    HalfFormat::Bf16
                };
                let packed = ty.bytes() == 4;
                let (a, b, c, d) = (
                    self.r(a, ty)?,
                    self.r(b, ty)?,
                    self.r(c, ty)?,
                    self.dst_r(d, ty)?,
                );
                let (ftz, sat) = (mode.ftz, mode.sat);
                self.emit(Inst::Half {
                    op,
                    format,
                    packed,
                    ftz,
                    sat,
                    relu,
                    d,
                    a,
                    b,
                    c,
                })
            }
            _ => m.fail("the type is not supported"),
        }
    }

    fn testp(&mut self, i: &'a Instruction, m: &mut Mods<'_>) -> Result<(), ParseError> {
        let op = m.pick(|name| {
            Some(match name {
                "finite" => TestP::Finite,
                "infinite" => TestP::Infinite,
                "number" => TestP::Number,
                "notanumber" => TestP::NotANumber,
                "normal" => TestP::Normal,
                "subnormal" => TestP::Subnormal,
                _ => return None,
            })
        });
        let (Some(op), ty) = (op, m.ty()?) else {
            return m.fail("no property to test");
        };
        if ty != Ty::F32 && ty != Ty::F64 {
            return m.fail("the type is not supported");
        }
        let [d, a] = self.operands(i)?;
        let (d, a) = (self.dst_p(d)?, self.source(a, ty)?);
        self.emit(Inst::TestP {
            op,
            f64: ty == Ty::F64,
            d,
            a,
        })
    }
}
