//! Conversions (PTX ISA, "cvt").

use super::Lowerer;
use super::mods::{Mods, round};
use crate::ir::{Cvt, Inst, Reg, Round, Ty};
use crate::parse::ParseError;
use crate::parse::ast::Instruction;

/// Rounding to an integral value: `.rni`, `.rzi`, `.rmi`, `.rpi`.
fn integral(name: &str) -> Option<Round> {
    match name {
        "rni" | "rzi" | "rmi" | "rpi" => round(&name[..2]),
        _ => None,
    }
}

impl<'a> Lowerer<'a> {
    pub(super) fn convert(
        &mut self,
        i: &'a Instruction,
        m: &mut Mods<'_>,
    ) -> Result<(), ParseError> {
        let to_integral = m.pick(integral);
        let rounding = m.pick(round);
        let (ftz, sat, relu, satfinite) = (
            m.take("ftz"),
            m.take("sat"),
            m.take("relu"),
            m.take("satfinite"),
        );
        let (to, from) = (m.ty()?, m.ty()?);
        if to == Ty::Pred || from == Ty::Pred {
            return m.fail("predicates are not converted");
        }
        let cvt = Cvt {
            to,
            from,
            round: to_integral.or(rounding).unwrap_or(Round::Nearest),
            integral: to_integral.is_some(),
            ftz,
            sat,
            relu,
            satfinite,
            narrow: false,
        };
        if to_integral.is_some() && rounding.is_some() {
            return m.fail("two roundings");
        }
        if let Ty::F16x2 | Ty::Bf16x2 = to {
            if from != Ty::F32 || !matches!(cvt.round, Round::Nearest | Round::Zero) || sat || ftz {
                return m.fail("this conversion to a packed pair is not supported");
            }
            let [d, a, b] = self.operands(i)?;
            let (a, b, d) = (self.r(a, from)?, self.r(b, from)?, self.dst_r(d, to)?);
            return self.emit(Inst::ConvertPair { cvt, d, a, b });
        }
        supported(m, &cvt)?;
        let [d, a] = self.operands(i)?;
        let a = self.convert_source(a, from)?;
        let (d, declared) = self.register(d)?;
        if declared.bytes() < to.bytes() && d != Reg::Sink {
            return m.fail("the destination register is too narrow");
        }
        if declared.bytes() > to.bytes() && to.is_float() && to.bytes() > 2 {
            return m.fail("the destination register is too wide");
        }
        // A narrow signed result is sign-extended to the register, in which 16 bits may be all.
        self.emit(Inst::Convert {
            cvt: Cvt {
                narrow: declared.bytes() == 2,
                ..cvt
            },
            d,
            a,
        })
    }

    /// The source may be wider than its type: its low part is read.
    fn convert_source(
        &mut self,
        operand: &crate::parse::ast::Operand,
        from: Ty,
    ) -> Result<Reg, ParseError> {
        if let crate::parse::ast::Operand::Word(name) = operand
            && let super::names::Name::Register(reg, declared) = self.lookup_register(name)?
        {
            if declared.bytes() < from.bytes() {
                return self.fail(format!("`{name}` is narrower than its type here"));
            }
            return Ok(reg);
        }
        self.source(operand, from)
    }

    /// Looks a name up, letting special registers pass.
    fn lookup_register(&mut self, name: &str) -> Result<super::names::Name, ParseError> {
        if super::names::Special::parse(name).is_some() || name == "WARP_SZ" {
            return Ok(super::names::Name::Predicate(super::FALSE));
        }
        self.lookup(name)
    }
}

/// Refuses the combinations that have no meaning here.
fn supported(m: &Mods<'_>, cvt: &Cvt) -> Result<(), ParseError> {
    let (to, from) = (cvt.to, cvt.from);
    if from == Ty::Tf32 || matches!(from, Ty::F16x2 | Ty::Bf16x2) {
        return m.fail("this source type is not supported");
    }
    if cvt.relu && !matches!(to, Ty::F16 | Ty::Bf16 | Ty::Tf32) {
        return m.fail(".relu is for 16-bit floating point and .tf32");
    }
    if cvt.satfinite && to != Ty::Tf32 {
        return m.fail(".satfinite is supported for .tf32 only");
    }
    if cvt.round == Round::NearestAway && !(to == Ty::Tf32 && from == Ty::F32) {
        return m.fail(".rna is for .tf32.f32");
    }
    match (to.is_float(), from.is_float()) {
        (true, false) => {
            if cvt.sat || cvt.integral || (cvt.round != Round::Nearest && to != Ty::F32) {
                return m.fail("this conversion from an integer is not supported");
            }
        }
        (true, true) => {
            if to == Ty::Tf32 && from != Ty::F32 {
                return m.fail("only .f32 is converted to .tf32");
            }
            if cvt.sat && to != Ty::F32 {
                return m.fail(".sat is supported for .f32 results only");
            }
            if cvt.integral && to != from {
                return m.fail("rounding to integral values is supported within one type only");
            }
        }
        (false, true) => {
            if !cvt.integral {
                return m.fail("an integer rounding such as .rzi is expected");
            }
        }
        (false, false) => {
            if cvt.integral || cvt.ftz {
                return m.fail("integers are not rounded");
            }
        }
    }
    Ok(())
}
