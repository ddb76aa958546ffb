//! Calls (PTX ISA, "call"): the callee is inlined, with its parameters in the caller's local
//! memory. Recursion, indirect calls and functions of other modules are errors.

use super::mods::Mods;
use super::names::{Name, Scopes};
use super::{Frame, Lowerer, layout};
use crate::ir::{Inst, Pred};
use crate::parse::ParseError;
use crate::parse::ast::{Instruction, Operand, Variable};

/// Depth of inlined calls.
const MAX_CALLS: usize = 32;

impl<'a> Lowerer<'a> {
    pub(super) fn call(&mut self, i: &'a Instruction, m: &mut Mods<'_>) -> Result<(), ParseError> {
        m.take("uni");
        let (results, rest) = match i.operands.as_slice() {
            [Operand::List(results), rest @ ..] => (results.as_slice(), rest),
            rest => (&[][..], rest),
        };
        let (callee, arguments) = match rest {
            [Operand::Word(callee)] => (callee, &[][..]),
            [Operand::Word(callee), Operand::List(arguments)] => (callee, arguments.as_slice()),
            _ => return self.fail("indirect calls are not supported"),
        };
        let Some(function) = self.functions.get(callee.as_str()).copied() else {
            return self.fail(format!("function `{callee}` is not defined in this module"));
        };
        if self.frames.iter().any(|f| f.function == *callee) || self.frames.len() > MAX_CALLS {
            return self.fail(format!("recursive call of `{callee}` is not supported"));
        }
        if function.returns.len() != results.len() || function.parameters.len() != arguments.len() {
            return self.fail(format!("`{callee}` has other parameters"));
        }
        let mut scopes = Scopes::default();
        scopes.push();
        let formals = function.returns.iter().zip(results);
        for (formal, actual) in formals.chain(function.parameters.iter().zip(arguments)) {
            let at = self.actual(formal, actual)?;
            scopes.define(&formal.name, Name::Local(at), formal.position)?;
        }
        let behind = self.new_label();
        if let Some(guard) = self.guard {
            self.guard = Some(Pred {
                negated: !guard.negated,
                ..guard
            });
            self.jump(behind, false)?;
            self.guard = None;
        }
        self.frames.push(Frame {
            function: callee.clone(),
            scopes,
            ret: Some(behind),
        });
        self.block(function.body.as_deref().unwrap_or(&[]))?;
        self.frames.pop();
        self.place(behind);
        // A label needs an instruction to stand at, and so does the branch's meeting point.
        self.guard = None;
        self.position = i.position;
        self.emit(Inst::Nop)
    }

    /// The place in local memory of the variable passed for `formal`.
    fn actual(&mut self, formal: &Variable, actual: &Operand) -> Result<u32, ParseError> {
        if formal.space != "param" {
            return self.fail("register parameters of functions are not supported");
        }
        layout(formal)?;
        match actual {
            Operand::Word(name) => match self.lookup(name)? {
                Name::Local(at) => Ok(at),
                _ => self.fail(format!(
                    "argument `{name}` is not a .param variable of the caller"
                )),
            },
            _ => self.fail("arguments that are not .param variables are not supported"),
        }
    }
}
