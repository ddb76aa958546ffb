//! Operands to slots.

use super::Lowerer;
use super::names::{Constant, Name, Special};
use crate::ir::{Addr, D, P, Pred, R, Reg, Ty};
use crate::parse::ParseError;
use crate::parse::ast::Operand;

/// Bits of a literal read as `ty`; `None` if it cannot be one.
fn literal(operand: &Operand, ty: Ty) -> Option<u64> {
    let fits = |value: i128, bits: u32| {
        let range = -(1i128 << (bits - 1))..(1i128 << bits);
        range
            .contains(&value)
            .then_some(value as u64 & (u64::MAX >> (64 - bits)))
    };
    match (operand, ty) {
        (Operand::Int(_), Ty::F32 | Ty::F64) => None,
        // Immediates of packed and 16-bit float types are written as bit patterns.
        (Operand::Int(value), _) => fits(*value, ty.bytes() * 8),
        (Operand::F32(bits), _) if ty.bytes() == 4 => Some(u64::from(*bits)),
        (Operand::F64(bits), Ty::F32) => Some(u64::from((f64::from_bits(*bits) as f32).to_bits())),
        (Operand::F64(bits), _) if ty.bytes() == 8 => Some(*bits),
        _ => None,
    }
}

impl Lowerer<'_> {
    /// The constant that an operand is, if it is one: a literal or a symbol's address.
    fn constant(&mut self, operand: &Operand, ty: Ty) -> Result<Option<Constant>, ParseError> {
        if let Some(bits) = literal(operand, ty) {
            return Ok(Some(Constant::Bits(bits)));
        }
        let (name, offset) = match operand {
            Operand::Word(name) if name == "WARP_SZ" => return Ok(Some(Constant::Bits(32))),
            Operand::Word(name) => (name, 0),
            Operand::Offset(name, offset) => (name, *offset),
            _ => return Ok(None),
        };
        Ok(match self.lookup(name)? {
            Name::Shared(at) | Name::Local(at) => {
                Some(Constant::Bits(u64::from(at).wrapping_add_signed(offset)))
            }
            Name::Param(at) => Some(Constant::Bits(u64::from(at).wrapping_add_signed(offset))),
            Name::Global(at) => Some(Constant::Bits(at.wrapping_add_signed(offset))),
            Name::DynamicShared => Some(Constant::DynamicShared(offset)),
            _ => None,
        })
    }

    fn bad<T>(&self, operand: &Operand, wanted: &str) -> Result<T, ParseError> {
        self.fail(format!("{} is not {wanted}", show(operand)))
    }

    /// A source of at most 32 bits.
    pub(super) fn r(&mut self, operand: &Operand, ty: Ty) -> Result<R, ParseError> {
        if let Operand::Word(name) = operand
            && name != "WARP_SZ"
        {
            if let Some(special) = Special::parse(name) {
                if ty.bytes() != 4 {
                    return self.fail(format!("`{name}` has 32 bits"));
                }
                return Ok(self.files.special(special));
            }
            match self.lookup(name)? {
                Name::Register(Reg::R(slot), declared) => {
                    if declared.bytes() != ty.bytes() && ty.bytes() != 1 {
                        return self.bad(operand, &format!("a register of {} bytes", ty.bytes()));
                    }
                    return Ok(slot);
                }
                Name::Register(..) | Name::Predicate(_) => {
                    return self.bad(operand, "a register of at most 32 bits");
                }
                _ => {}
            }
        }
        match self.constant(operand, ty)? {
            Some(constant) => Ok(self.files.constant_r(constant)),
            None => self.bad(operand, &format!("a source of {} bytes", ty.bytes())),
        }
    }

    /// A 64-bit source.
    pub(super) fn d(&mut self, operand: &Operand, ty: Ty) -> Result<D, ParseError> {
        if let Operand::Word(name) = operand
            && name != "WARP_SZ"
            && Special::parse(name).is_none()
        {
            match self.lookup(name)? {
                Name::Register(Reg::D(slot), _) => return Ok(slot),
                Name::Register(..) | Name::Predicate(_) => {
                    return self.bad(operand, "a 64-bit register");
                }
                _ => {}
            }
        }
        match self.constant(operand, ty)? {
            Some(constant) => Ok(self.files.constant_d(constant)),
            None => self.bad(operand, "a source of 8 bytes"),
        }
    }

    /// A source as wide as `ty`.
    pub(super) fn source(&mut self, operand: &Operand, ty: Ty) -> Result<Reg, ParseError> {
        Ok(if ty.bytes() == 8 {
            Reg::D(self.d(operand, ty)?)
        } else {
            Reg::R(self.r(operand, ty)?)
        })
    }

    /// A general register of any width with its declared type; `_` is a sink.
    pub(super) fn register(&mut self, operand: &Operand) -> Result<(Reg, Ty), ParseError> {
        if let Operand::Word(name) = operand {
            if name == "_" {
                return Ok((Reg::Sink, Ty::B64));
            }
            if let Name::Register(reg, ty) = self.lookup(name)? {
                return Ok((reg, ty));
            }
        }
        self.bad(operand, "a general register")
    }

    /// A destination of at most 32 bits whose width is that of `ty`.
    pub(super) fn dst_r(&mut self, operand: &Operand, ty: Ty) -> Result<R, ParseError> {
        match self.register(operand)? {
            (Reg::R(slot), declared) if declared.bytes() == ty.bytes() => Ok(slot),
            (Reg::Sink, _) => Ok(self.files.new_r()),
            _ => self.bad(operand, &format!("a register of {} bytes", ty.bytes())),
        }
    }

    /// A 64-bit destination.
    pub(super) fn dst_d(&mut self, operand: &Operand) -> Result<D, ParseError> {
        match self.register(operand)? {
            (Reg::D(slot), _) => Ok(slot),
            (Reg::Sink, _) => Ok(self.files.new_d()),
            _ => self.bad(operand, "a 64-bit register"),
        }
    }

    /// A destination as wide as `ty`.
    pub(super) fn dst(&mut self, operand: &Operand, ty: Ty) -> Result<Reg, ParseError> {
        Ok(if ty.bytes() == 8 {
            Reg::D(self.dst_d(operand)?)
        } else {
            Reg::R(self.dst_r(operand, ty)?)
        })
    }

    /// A predicate source, possibly negated; 0 and 1 are literals.
    pub(super) fn pred(&mut self, operand: &Operand) -> Result<Pred, ParseError> {
        let (name, negated) = match operand {
            Operand::Word(name) => (name, false),
            Operand::Not(name) => (name, true),
            Operand::Int(value @ (-1..=1)) => {
                return Ok(Pred {
                    slot: super::FALSE,
                    negated: *value != 0,
                });
            }
            _ => return self.bad(operand, "a predicate"),
        };
        match self.lookup(name)? {
            Name::Predicate(slot) => Ok(Pred { slot, negated }),
            _ => self.bad(operand, "a predicate"),
        }
    }

    /// A predicate destination; `_` is a fresh one that nobody reads.
    pub(super) fn dst_p(&mut self, operand: &Operand) -> Result<P, ParseError> {
        match operand {
            Operand::Word(name) => self.dst_p_named(name),
            _ => self.bad(operand, "a predicate"),
        }
    }

    pub(super) fn dst_p_named(&mut self, name: &str) -> Result<P, ParseError> {
        if name == "_" {
            return Ok(self.files.new_p());
        }
        match self.lookup(name)? {
            Name::Predicate(slot) => Ok(slot),
            _ => self.fail(format!("`{name}` is not a predicate")),
        }
    }

    /// `p` or `p|q` as destinations.
    pub(super) fn dst_p_pair(&mut self, operand: &Operand) -> Result<(P, Option<P>), ParseError> {
        match operand {
            Operand::Pair(p, q) => Ok((self.dst_p_named(p)?, Some(self.dst_p_named(q)?))),
            _ => Ok((self.dst_p(operand)?, None)),
        }
    }

    /// `d` or `d|p` as destinations: a 32-bit register and a predicate.
    pub(super) fn dst_r_and_p(&mut self, operand: &Operand) -> Result<(R, Option<P>), ParseError> {
        match operand {
            Operand::Pair(d, p) => {
                let d = self.dst_r(&Operand::Word(d.clone()), Ty::B32)?;
                Ok((d, Some(self.dst_p_named(p)?)))
            }
            _ => Ok((self.dst_r(operand, Ty::B32)?, None)),
        }
    }

    /// `[base+offset]`.
    pub(super) fn address(&mut self, operand: &Operand) -> Result<Addr, ParseError> {
        let Operand::Address {
            base,
            offset,
            coordinates,
        } = operand
        else {
            return self.bad(operand, "an address in brackets");
        };
        if !coordinates.is_empty() {
            return self.fail("tensor addresses are not supported");
        }
        if let Operand::Word(name) = &**base
            && let Name::Register(reg, _) = self.lookup(name)?
        {
            return Ok(Addr {
                base: reg,
                offset: *offset,
            });
        }
        match self.constant(base, Ty::B64)? {
            Some(constant) => Ok(Addr {
                base: Reg::D(self.files.constant_d(constant)),
                offset: *offset,
            }),
            None => self.bad(base, "an address"),
        }
    }
}

/// An operand for a message.
pub(crate) fn show(operand: &Operand) -> String {
    match operand {
        Operand::Word(name) => format!("`{name}`"),
        Operand::Not(name) => format!("`!{name}`"),
        Operand::Pair(a, b) => format!("`{a}|{b}`"),
        Operand::Int(value) => format!("`{value}`"),
        Operand::F32(bits) => format!("`0f{bits:08X}`"),
        Operand::F64(bits) => format!("`0d{bits:016X}`"),
        Operand::Offset(name, offset) => format!("`{name}{offset:+}`"),
        Operand::Vector(_) => "the vector `{…}`".into(),
        Operand::List(_) => "the list `(…)`".into(),
        Operand::Address { base, .. } => format!("the address [{}…]", show(base)),
    }
}
