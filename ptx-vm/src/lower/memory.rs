//! Memory instructions (PTX ISA, "ld", "st", "atom", "red", "cp.async", "prefetch").

use super::Lowerer;
use super::mods::Mods;
use super::movement::space;
use super::names::{Constant, Name};
use crate::ir::{Access, Addr, Atom, AtomOp, Inst, Mbarrier, Reg, Space, Ty};
use crate::parse::ParseError;
use crate::parse::ast::{Instruction, Operand};

/// Takes hints that change speed but not results.
fn hints(m: &mut Mods<'_>) {
    for hint in ["ca", "cg", "cs", "lu", "cv", "wb", "wt", "nc"] {
        m.take(hint);
    }
    m.take_prefixed("L1::");
    m.take_prefixed("L2::");
}

/// Takes ordering and scope; true if the access is ordered.
fn ordering(m: &mut Mods<'_>) -> bool {
    m.take("weak");
    let strong = [
        "relaxed", "acquire", "release", "acq_rel", "volatile", "mmio",
    ];
    let found = strong
        .iter()
        .fold(false, |found, name| m.take(name) | found);
    for scope in ["cta", "cluster", "gpu", "sys"] {
        m.take(scope);
    }
    found
}

fn atom_op(name: &str) -> Option<AtomOp> {
    Some(match name {
        "add" => AtomOp::Add,
        "min" => AtomOp::Min,
        "max" => AtomOp::Max,
        "and" => AtomOp::And,
        "or" => AtomOp::Or,
        "xor" => AtomOp::Xor,
        "exch" => AtomOp::Exch,
        "cas" => AtomOp::Cas,
        "inc" => AtomOp::Inc,
        "dec" => AtomOp::Dec,
        _ => return None,
    })
}

impl<'a> Lowerer<'a> {
    pub(super) fn memory(
        &mut self,
        i: &'a Instruction,
        m: &mut Mods<'_>,
    ) -> Result<(), ParseError> {
        match i.opcode.as_str() {
            "ld" | "ldu" => {
                let [data, address] = self.operands(i)?;
                let access = self.access(m, data, address)?;
                self.emit(Inst::Load(access))
            }
            "st" => {
                let [address, data] = self.operands(i)?;
                let access = self.access(m, data, address)?;
                if matches!(access.space, Space::Const | Space::Param) {
                    return m.fail("the state space is read-only");
                }
                self.emit(Inst::Store(access))
            }
            "atom" | "red" => self.atom(i, m),
            "cp" => self.async_copy(i, m),
            "createpolicy" => self.policy(i, m),
            _ => {
                m.pick(space);
                m.take("tensormap");
                m.take("L1");
                m.take("L2");
                hints(m);
                let [address] = self.operands(i)?;
                self.address(address)?;
                self.emit(Inst::Nop)
            }
        }
    }

    /// `createpolicy`: a value that only cache hints use.
    fn policy(&mut self, i: &'a Instruction, m: &mut Mods<'_>) -> Result<(), ParseError> {
        m.take_prefixed("L2::");
        if !m.take("fractional") {
            return m.fail("only createpolicy.fractional is supported");
        }
        m.ty()?;
        let d = match i.operands.first() {
            Some(d) => self.dst_d(d)?,
            None => return m.fail("no destination"),
        };
        let a = self.files.constant_d(Constant::Bits(0));
        self.emit(Inst::Mov64 { d, a })
    }

    fn access(
        &mut self,
        m: &mut Mods<'_>,
        data: &Operand,
        address: &Operand,
    ) -> Result<Box<Access>, ParseError> {
        hints(m);
        let strong = ordering(m);
        let mut space = m.pick(space).unwrap_or(Space::Generic);
        let vector = m.pick(|name| match name {
            "v2" => Some(2),
            "v4" => Some(4),
            _ => None,
        });
        let ty = m.ty()?;
        if ty == Ty::Pred || matches!(ty, Ty::Tf32) {
            return m.fail("the type is not supported");
        }
        let bytes = ty.bytes();
        if vector.unwrap_or(1) * bytes > 16 {
            return m.fail("accesses wider than 16 bytes are not supported");
        }
        if space == Space::Param && self.in_local(address)? {
            space = Space::Local;
        }
        let addr = self.address(address)?;
        let single = std::slice::from_ref(data);
        let elements = match (data, vector) {
            // Braces around a single register are a vector of one: Triton writes them.
            (Operand::Vector(elements), n) if elements.len() == n.unwrap_or(1) as usize => elements,
            (Operand::Vector(_), _) => return m.fail("the vector has another length"),
            (_, Some(_)) => return m.fail("a vector operand is expected"),
            (_, None) => single,
        };
        let regs = elements
            .iter()
            .map(|e| self.data(e, ty))
            .collect::<Result<Vec<_>, _>>()?;
        let narrow = elements
            .iter()
            .any(|e| matches!(self.register(e), Ok((Reg::R(_), d)) if d.bytes() == 2));
        Ok(Box::new(Access {
            space,
            addr,
            bytes,
            signed: ty.signed(),
            regs,
            narrow,
            dead: false,
            strong,
        }))
    }

    /// Whether a `.param` address is that of a call's parameter, which lives in local memory.
    fn in_local(&mut self, address: &Operand) -> Result<bool, ParseError> {
        if let Operand::Address { base, .. } = address
            && let Operand::Word(name) = &**base
        {
            return Ok(match self.lookup(name)? {
                Name::Local(_) => true,
                Name::Register(..) => self.frames.len() > 1,
                _ => false,
            });
        }
        Ok(false)
    }

    /// A register to load into or store from: it may be wider than the type.
    fn data(&mut self, operand: &Operand, ty: Ty) -> Result<Reg, ParseError> {
        let Operand::Word(name) = operand else {
            return self.source(operand, ty);
        };
        if name == "_" {
            return Ok(Reg::Sink);
        }
        match self.lookup(name)? {
            Name::Register(reg, declared) if declared.bytes() >= ty.bytes() => Ok(reg),
            Name::Register(..) => self.fail(format!("`{name}` is narrower than the access")),
            _ => self.source(operand, ty),
        }
    }

    fn atom(&mut self, i: &'a Instruction, m: &mut Mods<'_>) -> Result<(), ParseError> {
        ordering(m);
        m.take("noftz");
        let space = m.pick(space).unwrap_or(Space::Generic);
        if !matches!(space, Space::Generic | Space::Global | Space::Shared) {
            return m.fail("the state space has no atomics");
        }
        let Some(op) = m.pick(atom_op) else {
            return m.fail("no supported operation");
        };
        let ty = m.ty()?;
        let known = match op {
            AtomOp::Add => matches!(
                ty,
                Ty::U32 | Ty::S32 | Ty::U64 | Ty::S64 | Ty::F32 | Ty::F64
            ),
            AtomOp::Min | AtomOp::Max => matches!(ty, Ty::U32 | Ty::S32 | Ty::U64 | Ty::S64),
            AtomOp::Inc | AtomOp::Dec => ty == Ty::U32,
            _ => matches!(
                ty,
                Ty::B32 | Ty::B64 | Ty::U32 | Ty::U64 | Ty::S32 | Ty::S64
            ),
        };
        if !known {
            return m.fail("the type is not supported for this operation");
        }
        let (dst, rest) = match (i.opcode.as_str(), self.visible(i)) {
            ("atom", [d, rest @ ..]) => {
                let (reg, declared) = self.register(d)?;
                if reg != Reg::Sink && declared.bytes() != ty.bytes() {
                    return m.fail("the destination has another width");
                }
                (reg, rest)
            }
            (_, rest) => (Reg::Sink, rest),
        };
        let (address, b, c) = match (rest, op) {
            ([address, b, c], AtomOp::Cas) => (address, b, c),
            ([address, b], op) if op != AtomOp::Cas => (address, b, b),
            _ => return m.fail("wrong number of operands"),
        };
        let (addr, b, c) = (
            self.address(address)?,
            self.source(b, ty)?,
            self.source(c, ty)?,
        );
        self.emit(Inst::Atomic(Box::new(Atom {
            space,
            op,
            ty,
            addr,
            dst,
            b,
            c,
        })))
    }

    fn async_copy(&mut self, i: &'a Instruction, m: &mut Mods<'_>) -> Result<(), ParseError> {
        if !m.take("async") {
            return m.fail("only cp.async is supported");
        }
        if m.take("bulk") {
            return self.bulk(i, m);
        }
        if m.take("commit_group") {
            let [] = self.operands(i)?;
            return self.emit(Inst::AsyncCommit);
        }
        if m.take("mbarrier") {
            let extra = !m.take("noinc");
            if !m.take("arrive") || m.ty()? != Ty::B64 {
                return m.fail("cp.async.mbarrier.arrive.b64 is expected");
            }
            let space = m.pick(space).unwrap_or(Space::Generic);
            let [addr] = self.operands(i)?;
            let addr = self.address(addr)?;
            let op = Mbarrier::ArriveAfterCopies { extra };
            return self.emit(Inst::Mbarrier { op, space, addr });
        }
        if m.take("wait_all") {
            let [] = self.operands(i)?;
            return self.emit(Inst::AsyncWait { pending: None });
        }
        if m.take("wait_group") {
            let [Operand::Int(pending @ 0..=0xffff)] = self.operands(i)? else {
                return m.fail("the number of groups is an immediate");
            };
            return self.emit(Inst::AsyncWait {
                pending: Some(*pending as u32),
            });
        }
        let only_16 = m.take("cg");
        if !only_16 && !m.take("ca") {
            return m.fail("one of .ca, .cg is expected");
        }
        if !m.take("shared") && !m.take("shared::cta") {
            return m.fail("the destination is .shared");
        }
        if !m.take("global") {
            return m.fail("the source is .global");
        }
        m.take_prefixed("L2::1");
        m.take_prefixed("L2::2");
        m.take_prefixed("L2::6");
        let [dst, src, size, rest @ ..] = self.visible(i) else {
            return m.fail("destination, source and size are expected");
        };
        let bytes = match size {
            Operand::Int(16) => 16,
            Operand::Int(bytes @ (4 | 8)) if !only_16 => *bytes as u32,
            _ => return m.fail("the size is 4, 8 or 16, with .cg 16 only"),
        };
        let (mut src_bytes, mut ignore) = (None, None);
        match rest {
            [] => {}
            [Operand::Not(_)] => ignore = Some(self.pred(&rest[0])?),
            [Operand::Word(name)] if matches!(self.lookup(name), Ok(Name::Predicate(_))) => {
                ignore = Some(self.pred(&rest[0])?);
            }
            [size] => src_bytes = Some(self.r(size, Ty::U32)?),
            _ => return m.fail("too many operands"),
        }
        let (dst, src): (Addr, Addr) = (self.address(dst)?, self.address(src)?);
        self.emit(Inst::AsyncCopy {
            dst,
            src,
            bytes,
            src_bytes,
            ignore,
        })
    }
}
