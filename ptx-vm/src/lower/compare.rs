//! Comparison and selection (PTX ISA, "Comparison and Selection Instructions").

use super::Lowerer;
use super::mods::Mods;
use crate::ir::{BoolOp, Cmp, CmpTy, Inst, P, Pred, Reg, Ty};
use crate::parse::ParseError;
use crate::parse::ast::{Instruction, Operand};

fn comparison(name: &str) -> Option<Cmp> {
    Some(match name {
        "eq" => Cmp::Eq,
        "ne" => Cmp::Ne,
        "lt" | "lo" => Cmp::Lt,
        "le" | "ls" => Cmp::Le,
        "gt" | "hi" => Cmp::Gt,
        "ge" | "hs" => Cmp::Ge,
        "equ" => Cmp::Equ,
        "neu" => Cmp::Neu,
        "ltu" => Cmp::Ltu,
        "leu" => Cmp::Leu,
        "gtu" => Cmp::Gtu,
        "geu" => Cmp::Geu,
        "num" => Cmp::Num,
        "nan" => Cmp::Nan,
        _ => return None,
    })
}

fn boolean(name: &str) -> Option<BoolOp> {
    Some(match name {
        "and" => BoolOp::And,
        "or" => BoolOp::Or,
        "xor" => BoolOp::Xor,
        _ => return None,
    })
}

impl<'a> Lowerer<'a> {
    pub(super) fn compare(
        &mut self,
        i: &'a Instruction,
        m: &mut Mods<'_>,
    ) -> Result<(), ParseError> {
        match i.opcode.as_str() {
            "setp" => {
                let (cmp, combine, ftz) = self.comparison(m)?;
                let ty = m.ty()?;
                let (p, q) = match i.operands.first() {
                    Some(operand) => self.dst_p_pair(operand)?,
                    None => return m.fail("no operands"),
                };
                self.setp(i, m, (cmp, combine, ftz), ty, (p, q))
            }
            "set" => {
                let what = self.comparison(m)?;
                let (to, ty) = (m.ty()?, m.ty()?);
                let ones = match to {
                    Ty::U32 | Ty::S32 => u32::MAX,
                    Ty::F32 => 1f32.to_bits(),
                    _ => return m.fail("the destination type is not supported"),
                };
                let p = self.files.new_p();
                self.setp(i, m, what, ty, (p, None))?;
                let d = self.dst_r(&i.operands[0], to)?;
                self.emit(Inst::SetFrom { d, ones, p })
            }
            "selp" => {
                let ty = m.ty()?;
                let [d, a, b, p] = self.operands(i)?;
                let p = self.pred(p)?;
                // A negated selector swaps the sources.
                let (a, b) = if p.negated { (b, a) } else { (a, b) };
                match ty.bytes() {
                    8 => {
                        let (d, a, b) = (self.dst_d(d)?, self.d(a, ty)?, self.d(b, ty)?);
                        self.emit(Inst::Selp64 { d, a, b, p: p.slot })
                    }
                    1 => m.fail("the type is not supported"),
                    _ => {
                        let (d, a, b) = (self.dst_r(d, ty)?, self.r(a, ty)?, self.r(b, ty)?);
                        self.emit(Inst::Selp32 { d, a, b, p: p.slot })
                    }
                }
            }
            _ => {
                if m.take("ftz") {
                    return m.fail(".ftz is not supported");
                }
                let (ty, selector) = (m.ty()?, m.ty()?);
                if ty.bytes() == 1 || !matches!(selector, Ty::S32 | Ty::F32) {
                    return m.fail("the types are not supported");
                }
                let [d, a, b, c] = self.operands(i)?;
                let (d, a, b) = (self.dst(d, ty)?, self.source(a, ty)?, self.source(b, ty)?);
                let c = self.r(c, selector)?;
                self.emit(Inst::Slct {
                    float: selector == Ty::F32,
                    d,
                    a,
                    b,
                    c,
                })
            }
        }
    }

    fn comparison(&mut self, m: &mut Mods<'_>) -> Result<(Cmp, Option<BoolOp>, bool), ParseError> {
        let Some(cmp) = m.pick(comparison) else {
            return m.fail("no comparison");
        };
        Ok((cmp, m.pick(boolean), m.take("ftz")))
    }

    fn setp(
        &mut self,
        i: &'a Instruction,
        m: &Mods<'_>,
        (cmp, combine, ftz): (Cmp, Option<BoolOp>, bool),
        ty: Ty,
        (p, q): (P, Option<P>),
    ) -> Result<(), ParseError> {
        let (a, b, with): (&Operand, &Operand, Option<(BoolOp, Pred)>) =
            match (i.operands.as_slice(), combine) {
                ([_, a, b], None) => (a, b, None),
                ([_, a, b, c], Some(op)) => (a, b, Some((op, self.pred(c)?))),
                _ => return m.fail("wrong number of operands"),
            };
        let ordered = !matches!(
            cmp,
            Cmp::Eq | Cmp::Ne | Cmp::Lt | Cmp::Le | Cmp::Gt | Cmp::Ge
        );
        if ordered && !ty.is_float() {
            return m.fail("the comparison is for floating point only");
        }
        let kind = match ty {
            Ty::F32 => CmpTy::F32 { ftz },
            Ty::F64 => CmpTy::F64,
            Ty::F16 => CmpTy::F16,
            Ty::Bf16 => CmpTy::Bf16,
            Ty::S16 => CmpTy::Signed16,
            Ty::S32 | Ty::S64 => CmpTy::Signed,
            Ty::B16 | Ty::B32 | Ty::B64 | Ty::U16 | Ty::U32 | Ty::U64 => CmpTy::Unsigned,
            _ => return m.fail("the type is not supported"),
        };
        if ftz && ty != Ty::F32 {
            return m.fail(".ftz is for .f32 only");
        }
        match (self.source(a, ty)?, self.source(b, ty)?) {
            (Reg::R(a), Reg::R(b)) => self.emit(Inst::Setp32 {
                cmp,
                ty: kind,
                p,
                q,
                a,
                b,
                with,
            }),
            (Reg::D(a), Reg::D(b)) => self.emit(Inst::Setp64 {
                cmp,
                ty: kind,
                p,
                q,
                a,
                b,
                with,
            }),
            _ => m.fail("operands of different widths"),
        }
    }
}
