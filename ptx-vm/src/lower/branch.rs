//! Control flow (PTX ISA, "Control Flow Instructions").

use super::Lowerer;
use super::mods::Mods;
use super::names::Name;
use crate::ir::{Inst, NOWHERE, Ty};
use crate::parse::ParseError;
use crate::parse::ast::{Instruction, Operand};

impl<'a> Lowerer<'a> {
    fn label(&mut self, name: &str) -> Result<u32, ParseError> {
        match self.lookup(name)? {
            Name::Label(label) => Ok(label as u32),
            _ => self.fail(format!("`{name}` is not a label")),
        }
    }

    pub(super) fn jump(&mut self, label: usize, uniform: bool) -> Result<(), ParseError> {
        self.emit(Inst::Branch {
            target: label as u32,
            reconverge: NOWHERE,
            uniform,
        })
    }

    pub(super) fn branch(
        &mut self,
        i: &'a Instruction,
        m: &mut Mods<'_>,
    ) -> Result<(), ParseError> {
        match i.opcode.as_str() {
            "bra" => {
                let uniform = m.take("uni");
                let [target] = self.operands(i)?;
                let Operand::Word(name) = target else {
                    return self.fail("a label is expected after `bra`");
                };
                let target = self.label(name)?;
                self.jump(target as usize, uniform)
            }
            "brx" => {
                if !m.take("idx") {
                    return m.fail("only brx.idx exists");
                }
                m.take("uni");
                let [index, table] = self.operands(i)?;
                let index = self.r(index, Ty::U32)?;
                let Operand::Word(table) = table else {
                    return self.fail("a list of branch targets is expected");
                };
                let Name::Targets(names) = self.lookup(table)? else {
                    return self.fail(format!("`{table}` is not a list of branch targets"));
                };
                let targets = names
                    .iter()
                    .map(|n| self.label(n))
                    .collect::<Result<_, _>>()?;
                self.emit(Inst::Indexed {
                    index,
                    targets,
                    reconverge: NOWHERE,
                })
            }
            "ret" => {
                m.take("uni");
                let [] = self.operands(i)?;
                match self.frames.last().and_then(|f| f.ret) {
                    Some(label) => self.jump(label, false),
                    None => self.emit(Inst::Exit),
                }
            }
            "exit" => {
                let [] = self.operands(i)?;
                self.emit(Inst::Exit)
            }
            "trap" | "brkpt" => {
                let [] = self.operands(i)?;
                self.emit(Inst::Trap)
            }
            "nanosleep" => {
                m.take("u32");
                let [time] = self.operands(i)?;
                self.r(time, Ty::U32)?;
                self.emit(Inst::Nop)
            }
            _ => {
                // pmevent triggers profiler events, of which there are none.
                m.take("mask");
                let [_] = self.operands(i)?;
                self.emit(Inst::Nop)
            }
        }
    }
}
