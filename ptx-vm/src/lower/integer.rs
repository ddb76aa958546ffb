//! Integer arithmetic, logic and shifts (PTX ISA, "Integer Arithmetic Instructions",
//! "Extended-Precision Integer Arithmetic", "Logic and Shift Instructions").

use super::Lowerer;
use super::mods::Mods;
use crate::ir::{Bin, BoolOp, Inst, Pred, Reg, Tri, Ty, Un};
use crate::parse::ParseError;
use crate::parse::ast::Instruction;

/// Which part of a product is kept.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    Lo,
    Hi,
    Wide,
}

fn part(m: &mut Mods<'_>) -> Option<Part> {
    m.pick(|name| match name {
        "lo" => Some(Part::Lo),
        "hi" => Some(Part::Hi),
        "wide" => Some(Part::Wide),
        _ => None,
    })
}

impl<'a> Lowerer<'a> {
    /// Opcodes that exist for integers and floating point: the type decides.
    pub(super) fn arithmetic(
        &mut self,
        i: &'a Instruction,
        m: &mut Mods<'_>,
    ) -> Result<(), ParseError> {
        let ty = m.ty()?;
        if ty.is_float() {
            return self.float_arithmetic(i, m, ty);
        }
        if ty.bytes() == 1 {
            return m.fail("8-bit arithmetic does not exist");
        }
        let signed = ty.signed();
        let pick = |s: Bin, u: Bin| if signed { s } else { u };
        match i.opcode.as_str() {
            "add" | "sub" if m.take("cc") => self.carry(i, ty, i.opcode == "sub", false, true),
            "add" | "sub" if m.take("sat") => {
                if ty != Ty::S32 {
                    return m.fail(".sat is for .s32 only");
                }
                self.binary(
                    i,
                    ty,
                    if i.opcode == "add" {
                        Bin::AddSat
                    } else {
                        Bin::SubSat
                    },
                )
            }
            "add" => self.binary(i, ty, Bin::Add),
            "sub" => self.binary(i, ty, Bin::Sub),
            "div" => self.binary(i, ty, pick(Bin::DivS, Bin::DivU)),
            "rem" => self.binary(i, ty, pick(Bin::RemS, Bin::RemU)),
            "min" => self.binary(i, ty, pick(Bin::MinS, Bin::MinU)),
            "max" => self.binary(i, ty, pick(Bin::MaxS, Bin::MaxU)),
            "neg" => self.unary(i, ty, Un::Neg),
            "abs" => self.unary(i, ty, Un::Abs),
            "mul" => match part(m) {
                Some(Part::Lo) => self.binary(i, ty, Bin::Mul),
                Some(Part::Hi) => self.binary(i, ty, pick(Bin::MulHiS, Bin::MulHiU)),
                Some(Part::Wide) => self.wide(i, m, ty),
                None => m.fail("one of .lo, .hi, .wide is expected"),
            },
            "mad" => self.mad(i, m, ty),
            _ => m.fail("not an integer instruction"),
        }
    }

    fn binary(&mut self, i: &'a Instruction, ty: Ty, op: Bin) -> Result<(), ParseError> {
        let [d, a, b] = self.operands(i)?;
        match ty.bytes() {
            8 => {
                let (d, a, b) = (self.dst_d(d)?, self.d(a, ty)?, self.d(b, ty)?);
                self.emit(Inst::Bin64 { op, d, a, b })
            }
            bytes => {
                let (d, a, b) = (self.dst_r(d, ty)?, self.r(a, ty)?, self.r(b, ty)?);
                self.emit(if bytes == 2 {
                    Inst::Bin16 { op, d, a, b }
                } else {
                    Inst::Bin32 { op, d, a, b }
                })
            }
        }
    }

    fn unary(&mut self, i: &'a Instruction, ty: Ty, op: Un) -> Result<(), ParseError> {
        let [d, a] = self.operands(i)?;
        if ty.bytes() == 8 {
            let (d, a) = (Reg::D(self.dst_d(d)?), self.d(a, ty)?);
            return self.emit(Inst::Un64 { op, d, a });
        }
        let (d, a) = (self.dst_r(d, ty)?, self.r(a, ty)?);
        self.emit(Inst::Un32 {
            op,
            half: ty.bytes() == 2,
            d,
            a,
        })
    }

    fn wide(&mut self, i: &'a Instruction, m: &Mods<'_>, ty: Ty) -> Result<(), ParseError> {
        let (signed, with_c) = (ty.signed(), i.opcode == "mad");
        let operands = i.operands.as_slice();
        let ([d, a, b], c) = match (operands, with_c) {
            ([d, a, b], false) => ([d, a, b], None),
            ([d, a, b, c], true) => ([d, a, b], Some(c)),
            _ => return m.fail("wrong number of operands"),
        };
        let (a, b) = (self.r(a, ty)?, self.r(b, ty)?);
        match ty.bytes() {
            2 => {
                let c = c.map(|c| self.r(c, Ty::B32)).transpose()?;
                let d = self.dst_r(d, Ty::B32)?;
                self.emit(Inst::Wide16 { signed, d, a, b, c })
            }
            4 => {
                let c = c.map(|c| self.d(c, Ty::B64)).transpose()?;
                let d = self.dst_d(d)?;
                self.emit(Inst::Wide32 { signed, d, a, b, c })
            }
            _ => m.fail(".wide is for 16- and 32-bit types"),
        }
    }

    fn mad(&mut self, i: &'a Instruction, m: &mut Mods<'_>, ty: Ty) -> Result<(), ParseError> {
        let signed = ty.signed();
        let high = match part(m) {
            Some(Part::Wide) => return self.wide(i, m, ty),
            Some(Part::Lo) => None,
            Some(Part::Hi) => Some(signed),
            None => return m.fail("one of .lo, .hi, .wide is expected"),
        };
        let [d, a, b, c] = self.operands(i)?;
        match (ty.bytes(), high) {
            (8, _) => {
                let (a, b, c) = (self.d(a, ty)?, self.d(b, ty)?, self.d(c, ty)?);
                let d = self.dst_d(d)?;
                self.emit(Inst::Mad64 { d, a, b, c, high })
            }
            (4, _) => {
                let op = match high {
                    None => Tri::Mad,
                    Some(true) => Tri::MadHiS,
                    Some(false) => Tri::MadHiU,
                };
                self.ternary([d, a, b, c], ty, op)
            }
            (_, None) => {
                let (a, b, c) = (self.r(a, ty)?, self.r(b, ty)?, self.r(c, ty)?);
                let d = self.dst_r(d, ty)?;
                self.emit(Inst::Mad16 { d, a, b, c })
            }
            _ => m.fail("mad.hi of 16-bit types is not supported"),
        }
    }

    pub(super) fn ternary(
        &mut self,
        [d, a, b, c]: [&crate::parse::ast::Operand; 4],
        ty: Ty,
        op: Tri,
    ) -> Result<(), ParseError> {
        let (a, b, c) = (self.r(a, ty)?, self.r(b, ty)?, self.r(c, ty)?);
        let d = self.dst_r(d, ty)?;
        self.emit(Inst::Tri32 { op, d, a, b, c })
    }

    fn carry(
        &mut self,
        i: &'a Instruction,
        ty: Ty,
        subtract: bool,
        carry_in: bool,
        carry_out: bool,
    ) -> Result<(), ParseError> {
        let [d, a, b] = self.operands(i)?;
        if ty.bytes() == 8 {
            let (a, b, d) = (self.d(a, ty)?, self.d(b, ty)?, self.dst_d(d)?);
            self.emit(Inst::Carry64 {
                subtract,
                carry_in,
                carry_out,
                d,
                a,
                b,
            })
        } else {
            let (a, b, d) = (self.r(a, ty)?, self.r(b, ty)?, self.dst_r(d, Ty::B32)?);
            self.emit(Inst::Carry32 {
                subtract,
                carry_in,
                carry_out,
                d,
                a,
                b,
            })
        }
    }

    pub(super) fn integer(
        &mut self,
        i: &'a Instruction,
        m: &mut Mods<'_>,
    ) -> Result<(), ParseError> {
        let opcode = i.opcode.as_str();
        if let "lop3" | "prmt" | "shf" | "dp4a" = opcode {
            return self.bits(i, m);
        }
        let ty = m.ty()?;
        if ty == Ty::Pred {
            return self.predicate_logic(i, m);
        }
        if ty.is_float() || ty.bytes() == 1 {
            return m.fail("the type is not one of this instruction's");
        }
        let logic = matches!(
            opcode,
            "and" | "or" | "xor" | "not" | "cnot" | "shl" | "shr"
        );
        if ty.bytes() == 2 && !logic {
            return m.fail("16-bit types are not among this instruction's");
        }
        let signed = ty.signed();
        match opcode {
            "and" => self.binary(i, ty, Bin::And),
            "or" => self.binary(i, ty, Bin::Or),
            "xor" => self.binary(i, ty, Bin::Xor),
            "not" => self.unary(i, ty, Un::Not),
            "cnot" => self.unary(i, ty, Un::Cnot),
            "brev" => self.unary(i, ty, Un::Brev),
            "popc" => self.count_bits(i, ty, Un::Popc),
            "clz" => self.count_bits(i, ty, Un::Clz),
            "bfind" => {
                let shift = m.take("shiftamt");
                self.count_bits(i, ty, Un::Find { signed, shift })
            }
            "shl" => self.shift(i, ty, Bin::Shl),
            "shr" => self.shift(i, ty, if signed { Bin::ShrS } else { Bin::ShrU }),
            "mul24" | "mad24" => {
                if !m.take("lo") || ty.bytes() != 4 {
                    return m.fail("only .lo of 32-bit types is supported");
                }
                if opcode == "mul24" {
                    return self.binary(i, ty, if signed { Bin::Mul24S } else { Bin::Mul24U });
                }
                let operands = self.operands::<4>(i)?.each_ref();
                self.ternary(operands, ty, if signed { Tri::Mad24S } else { Tri::Mad24U })
            }
            "sad" if ty.bytes() == 4 => {
                let operands = self.operands::<4>(i)?.each_ref();
                self.ternary(operands, ty, Tri::Sad { signed })
            }
            "bfe" => {
                let [d, a, b, c] = self.operands(i)?;
                let (b, c) = (self.r(b, Ty::B32)?, self.r(c, Ty::B32)?);
                if ty.bytes() == 8 {
                    let (d, a) = (self.dst_d(d)?, self.d(a, ty)?);
                    return self.emit(Inst::Bfe64 { signed, d, a, b, c });
                }
                let (d, a) = (self.dst_r(d, ty)?, self.r(a, ty)?);
                let op = if signed { Tri::BfeS } else { Tri::BfeU };
                self.emit(Inst::Tri32 { op, d, a, b, c })
            }
            "bfi" => {
                let [d, a, b, c, len] = self.operands(i)?;
                let (c, len) = (self.r(c, Ty::B32)?, self.r(len, Ty::B32)?);
                if ty.bytes() == 8 {
                    let (d, a, b) = (self.dst_d(d)?, self.d(a, ty)?, self.d(b, ty)?);
                    return self.emit(Inst::Bfi64 { d, a, b, c, len });
                }
                let (d, a, b) = (self.dst_r(d, ty)?, self.r(a, ty)?, self.r(b, ty)?);
                self.emit(Inst::Bfi32 { d, a, b, c, len })
            }
            "addc" | "subc" => {
                let carry_out = m.take("cc");
                self.carry(i, ty, opcode == "subc", true, carry_out)
            }
            _ => m.fail("this form is not supported"),
        }
    }

    /// `popc`, `clz`, `bfind`: the result is 32 bits wide whatever the source.
    fn count_bits(&mut self, i: &'a Instruction, ty: Ty, op: Un) -> Result<(), ParseError> {
        let [d, a] = self.operands(i)?;
        let d = self.dst_r(d, Ty::B32)?;
        if ty.bytes() == 8 {
            let a = self.d(a, ty)?;
            return self.emit(Inst::Un64 {
                op,
                d: Reg::R(d),
                a,
            });
        }
        let a = self.r(a, ty)?;
        self.emit(Inst::Un32 {
            op,
            half: false,
            d,
            a,
        })
    }

    /// Shifts take a 32-bit amount whatever the type.
    fn shift(&mut self, i: &'a Instruction, ty: Ty, op: Bin) -> Result<(), ParseError> {
        let [d, a, b] = self.operands(i)?;
        let b = self.r(b, Ty::B32)?;
        match ty.bytes() {
            8 => {
                let (d, a) = (self.dst_d(d)?, self.d(a, ty)?);
                self.emit(Inst::Shift64 { op, d, a, b })
            }
            bytes => {
                let (d, a) = (self.dst_r(d, ty)?, self.r(a, ty)?);
                self.emit(if bytes == 2 {
                    Inst::Bin16 { op, d, a, b }
                } else {
                    Inst::Bin32 { op, d, a, b }
                })
            }
        }
    }

    fn predicate_logic(&mut self, i: &'a Instruction, m: &Mods<'_>) -> Result<(), ParseError> {
        let op = match i.opcode.as_str() {
            "and" => BoolOp::And,
            "or" => BoolOp::Or,
            "xor" => BoolOp::Xor,
            "not" => {
                let [d, a] = self.operands(i)?;
                let (d, a) = (self.dst_p(d)?, self.pred(a)?);
                return self.emit(Inst::MovP {
                    d,
                    a: Pred {
                        negated: !a.negated,
                        ..a
                    },
                });
            }
            _ => return m.fail(".pred is not a type of this instruction"),
        };
        let [d, a, b] = self.operands(i)?;
        let (d, a, b) = (self.dst_p(d)?, self.pred(a)?, self.pred(b)?);
        self.emit(Inst::LogicP { op, d, a, b })
    }
}
