//! The modifiers of one instruction: each must be understood by someone, or it is an error.

use crate::ir::{Round, Ty};
use crate::parse::ParseError;
use crate::parse::ast::Instruction;

/// Hands out modifiers and remembers which were used.
pub(crate) struct Mods<'a> {
    instruction: &'a Instruction,
    used: u64,
}

impl<'a> Mods<'a> {
    pub fn new(instruction: &'a Instruction) -> Self {
        Self {
            instruction,
            used: 0,
        }
    }

    /// The unused modifiers with their indices.
    fn unused(&self) -> impl Iterator<Item = (usize, &'a str)> {
        let used = self.used;
        self.instruction
            .modifiers
            .iter()
            .enumerate()
            .take(64)
            .filter(move |(i, _)| used & (1 << i) == 0)
            .map(|(i, m)| (i, m.as_str()))
    }

    /// Takes a modifier if it is there.
    pub fn take(&mut self, name: &str) -> bool {
        let found = self.unused().find(|(_, m)| *m == name);
        self.used |= found.map_or(0, |(i, _)| 1 << i);
        found.is_some()
    }

    /// Takes the first modifier that `map` knows.
    pub fn pick<T>(&mut self, map: impl Fn(&str) -> Option<T>) -> Option<T> {
        let (i, value) = self.unused().find_map(|(i, m)| Some((i, map(m)?)))?;
        self.used |= 1 << i;
        Some(value)
    }

    /// Takes every modifier that starts with `prefix` (cache hints).
    pub fn take_prefixed(&mut self, prefix: &str) {
        while self.pick(|m| m.starts_with(prefix).then_some(())).is_some() {}
    }

    /// Takes the next type.
    pub fn ty(&mut self) -> Result<Ty, ParseError> {
        match self.pick(Ty::parse) {
            Some(ty) => Ok(ty),
            None => self.fail("no supported type"),
        }
    }

    /// Takes a rounding modifier, default to nearest.
    pub fn round(&mut self) -> Round {
        self.pick(round).unwrap_or(Round::Nearest)
    }

    /// Fails unless every modifier was used.
    pub fn finish(&self) -> Result<(), ParseError> {
        match self.unused().next() {
            Some((_, m)) => self.fail(&format!("modifier .{m} is not supported")),
            None if self.instruction.modifiers.len() > 64 => self.fail("too many modifiers"),
            None => Ok(()),
        }
    }

    /// An error about this instruction.
    pub fn fail<T>(&self, message: &str) -> Result<T, ParseError> {
        let name = std::iter::once(&self.instruction.opcode)
            .chain(&self.instruction.modifiers)
            .map(String::as_str)
            .collect::<Vec<_>>()
            .join(".");
        Err(ParseError::new(
            self.instruction.position,
            format!("`{name}`: {message}"),
        ))
    }
}

pub(crate) fn round(name: &str) -> Option<Round> {
    Some(match name {
        "rn" => Round::Nearest,
        "rna" => Round::NearestAway,
        "rz" => Round::Zero,
        "rm" => Round::Down,
        "rp" => Round::Up,
        _ => return None,
    })
}
