//! Moves between registers and address conversions (PTX ISA, "mov", "cvta", "isspacep").

use super::Lowerer;
use super::mods::Mods;
use crate::ir::{Dynamic, Inst, Reg, Space, Ty};
use crate::parse::ParseError;
use crate::parse::ast::{Instruction, Operand};

/// State-space modifiers; `shared::cta` lies within
/// `shared::cluster`.
pub(super) fn space(name: &str) -> Option<Space> {
    Some(match name {
        "global" => Space::Global,
        "shared" | "shared::cta" | "shared::cluster" => Space::Shared,
        "local" => Space::Local,
        "const" => Space::Const,
        "param" | "param::entry" | "param::func" => Space::Param,
        _ => return None,
    })
}

impl<'a> Lowerer<'a> {
    pub(super) fn movement(
        &mut self,
        i: &'a Instruction,
        m: &mut Mods<'_>,
    ) -> Result<(), ParseError> {
        match i.opcode.as_str() {
            "mov" => self.mov(i, m),
            "mapa" => {
                let window = m.take("shared::cluster");
                let ty = m.ty()?;
                if !matches!(ty, Ty::U32 | Ty::U64) || (ty == Ty::U32 && !window) {
                    return m.fail("the type is not supported");
                }
                let [d, a, rank] = self.operands(i)?;
                let (d, a) = (self.dst(d, ty)?, self.source(a, ty)?);
                let rank = self.r(rank, Ty::U32)?;
                self.emit(Inst::MapAddress { window, d, a, rank })
            }
            "getctarank" => {
                let window = m.take("shared::cluster");
                let ty = m.ty()?;
                if !matches!(ty, Ty::U32 | Ty::U64) || (ty == Ty::U32 && !window) {
                    return m.fail("the type is not supported");
                }
                let [d, a] = self.operands(i)?;
                let (d, a) = (self.dst_r(d, Ty::U32)?, self.source(a, ty)?);
                self.emit(Inst::AddressRank { window, d, a })
            }
            "cvta" => {
                let to = m.take("to");
                let Some(space) = m.pick(space) else {
                    return m.fail("no supported state space");
                };
                if m.ty()? != Ty::U64 {
                    return m.fail("only 64-bit addresses are supported");
                }
                let [d, a] = self.operands(i)?;
                let (d, a) = (self.dst_d(d)?, self.d(a, Ty::U64)?);
                self.emit(Inst::Cvta { to, space, d, a })
            }
            "isspacep" => {
                let Some(space) = m.pick(space) else {
                    return m.fail("no supported state space");
                };
                let [d, a] = self.operands(i)?;
                let (d, a) = (self.dst_p(d)?, self.d(a, Ty::U64)?);
                self.emit(Inst::IsSpace { space, d, a })
            }
            _ => {
                m.ty()?;
                let [d] = self.operands(i)?;
                let d = Reg::R(self.dst_r(d, Ty::B32)?);
                self.emit(Inst::Dynamic {
                    what: Dynamic::ActiveMask,
                    d,
                })
            }
        }
    }

    fn mov(&mut self, i: &'a Instruction, m: &mut Mods<'_>) -> Result<(), ParseError> {
        let ty = m.ty()?;
        let [d, a] = self.operands(i)?;
        if ty == Ty::Pred {
            let (d, a) = (self.dst_p(d)?, self.pred(a)?);
            return self.emit(Inst::MovP { d, a });
        }
        if let Operand::Vector(parts) = a {
            return self.pack(ty, d, parts);
        }
        if let Operand::Vector(parts) = d {
            return self.unpack(ty, parts, a);
        }
        if let Operand::Word(name) = a
            && let "%clock" | "%clock_hi" | "%clock64" | "%globaltimer" | "%globaltimer_lo" =
                name.as_str()
        {
            if name == "%clock_hi" {
                return self.fail("`%clock_hi` is not supported: read %clock64");
            }
            let d = self.dst(d, ty)?;
            return self.emit(Inst::Dynamic {
                what: Dynamic::Clock,
                d,
            });
        }
        match ty.bytes() {
            8 => {
                let (d, a) = (self.dst_d(d)?, self.d(a, ty)?);
                self.emit(Inst::Mov64 { d, a })
            }
            1 => m.fail("8-bit moves do not exist"),
            _ => {
                let (d, a) = (self.dst_r(d, ty)?, self.r(a, ty)?);
                self.emit(Inst::Mov32 { d, a })
            }
        }
    }

    /// `mov.b64 d, {a, b}`: the first element is the least significant.
    fn pack(&mut self, ty: Ty, d: &Operand, parts: &[Operand]) -> Result<(), ParseError> {
        match (ty.bytes(), parts) {
            (8, [lo, hi]) => {
                let (d, lo, hi) = (self.dst_d(d)?, self.r(lo, Ty::B32)?, self.r(hi, Ty::B32)?);
                self.emit(Inst::Pack64 { d, lo, hi })
            }
            (4, [lo, hi]) => {
                let (d, lo, hi) = (
                    self.dst_r(d, ty)?,
                    self.r(lo, Ty::B16)?,
                    self.r(hi, Ty::B16)?,
                );
                self.emit(Inst::Pack32 { d, lo, hi })
            }
            (8, [a, b, c, e]) => {
                let parts = [
                    self.r(a, Ty::B16)?,
                    self.r(b, Ty::B16)?,
                    self.r(c, Ty::B16)?,
                    self.r(e, Ty::B16)?,
                ];
                let d = self.dst_d(d)?;
                self.emit(Inst::Pack64x4 { d, parts })
            }
            _ => self.fail("packing these widths is not supported"),
        }
    }

    fn unpack(&mut self, ty: Ty, parts: &[Operand], a: &Operand) -> Result<(), ParseError> {
        let parts = parts
            .iter()
            .map(|p| Ok(self.register(p)?.0))
            .collect::<Result<Vec<_>, _>>()?;
        if parts.iter().any(|p| matches!(p, Reg::D(_))) {
            return self.fail("unpacking into 64-bit registers is not supported");
        }
        match (ty.bytes(), parts.as_slice()) {
            (8, &[lo, hi]) => {
                let a = self.d(a, ty)?;
                self.emit(Inst::Unpack64 { lo, hi, a })
            }
            (4, &[lo, hi]) => {
                let a = self.r(a, ty)?;
                self.emit(Inst::Unpack32 { lo, hi, a })
            }
            (8, &[a0, a1, a2, a3]) => {
                let a = self.d(a, ty)?;
                self.emit(Inst::Unpack64x4 {
                    parts: [a0, a1, a2, a3],
                    a,
                })
            }
            _ => self.fail("unpacking these widths is not supported"),
        }
    }
}
