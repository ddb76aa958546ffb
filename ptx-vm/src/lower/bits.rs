//! `lop3`, `prmt`, `shf`, `dp4a` (PTX ISA, "Logic and Shift Instructions", "prmt", "dp4a").

use super::Lowerer;
use super::mods::Mods;
use crate::ir::{PrmtMode, Tri, Ty};
use crate::parse::ParseError;
use crate::parse::ast::Instruction;

impl<'a> Lowerer<'a> {
    /// `lop3`, `prmt`, `shf`, `dp4a`.
    pub(super) fn bits(&mut self, i: &'a Instruction, m: &mut Mods<'_>) -> Result<(), ParseError> {
        match i.opcode.as_str() {
            "lop3" => {
                m.ty()?;
                let [d, a, b, c, table] = self.operands(i)?;
                let &crate::parse::ast::Operand::Int(table @ 0..=255) = table else {
                    return m.fail("the look-up table is an immediate of 8 bits");
                };
                self.ternary([d, a, b, c], Ty::B32, Tri::Lop3(table as u8))
            }
            "prmt" => {
                m.ty()?;
                let mode = m.pick(|name| {
                    Some(match name {
                        "f4e" => PrmtMode::F4e,
                        "b4e" => PrmtMode::B4e,
                        "rc8" => PrmtMode::Rc8,
                        "ecl" => PrmtMode::Ecl,
                        "ecr" => PrmtMode::Ecr,
                        "rc16" => PrmtMode::Rc16,
                        _ => return None,
                    })
                });
                let operands = self.operands::<4>(i)?.each_ref();
                self.ternary(
                    operands,
                    Ty::B32,
                    Tri::Prmt(mode.unwrap_or(PrmtMode::Index)),
                )
            }
            "shf" => {
                m.ty()?;
                let left = if m.take("l") {
                    true
                } else if m.take("r") {
                    false
                } else {
                    return m.fail("one of .l, .r is expected");
                };
                let clamp = m.take("clamp");
                if !clamp && !m.take("wrap") {
                    return m.fail("one of .clamp, .wrap is expected");
                }
                let operands = self.operands::<4>(i)?.each_ref();
                self.ternary(
                    operands,
                    Ty::B32,
                    if left {
                        Tri::ShfL { clamp }
                    } else {
                        Tri::ShfR { clamp }
                    },
                )
            }
            _ => {
                let (a, b) = (m.ty()?, m.ty()?);
                let op = Tri::Dp4a {
                    a_signed: a.signed(),
                    b_signed: b.signed(),
                };
                let operands = self.operands::<4>(i)?.each_ref();
                self.ternary(operands, Ty::B32, op)
            }
        }
    }
}
