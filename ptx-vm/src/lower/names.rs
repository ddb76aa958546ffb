//! Names to slots: register files, scopes, constants, special registers.

use std::collections::HashMap;

use crate::ir::{D, P, R, Reg, Ty};
use crate::parse::ast::{Statement, Variable};
use crate::parse::{ParseError, Position};

/// Registers of one kind a kernel may declare: far above real kernels, low enough for hostile text.
const MAX_SLOTS: u32 = 1 << 18;

/// Special registers that keep their value while a block runs (PTX ISA, "Special Registers").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Special {
    /// `%tid`, by axis.
    Tid(u8),
    /// `%ntid`, by axis.
    NTid(u8),
    /// `%ctaid`, by axis.
    CtaId(u8),
    /// `%nctaid`, by axis.
    NCtaId(u8),
    /// `%laneid`
    LaneId,
    /// `%warpid`
    WarpId,
    /// `%nwarpid`: upper bound of warps a multiprocessor holds.
    NWarpId,
    /// `%smid`
    SmId,
    /// `%nsmid`
    NSmId,
    /// `%cluster_ctaid`, by axis.
    ClusterCtaId(u8),
    /// `%cluster_nctaid`, by axis.
    ClusterNCtaId(u8),
    /// `%clusterid`, by axis.
    ClusterId(u8),
    /// `%nclusterid`, by axis.
    NClusterId(u8),
    /// `%cluster_ctarank`
    ClusterRank,
    /// `%cluster_nctarank`
    ClusterSize,
    /// `%lanemask_eq`, `_le`, `_lt`, `_ge`, `_gt`.
    LaneMask(LaneMask),
    /// `%dynamic_smem_size`
    DynamicShared,
    /// `%total_smem_size`
    TotalShared,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum LaneMask {
    Eq,
    Le,
    Lt,
    Ge,
    Gt,
}

impl Special {
    pub(crate) fn parse(name: &str) -> Option<Self> {
        let axis = |axis: &str| match axis {
            "x" => Some(0),
            "y" => Some(1),
            "z" => Some(2),
            _ => None,
        };
        if let Some((register, component)) = name.split_once('.') {
            let axis = axis(component)?;
            return match register {
                "%tid" => Some(Self::Tid(axis)),
                "%ntid" => Some(Self::NTid(axis)),
                "%ctaid" => Some(Self::CtaId(axis)),
                "%nctaid" => Some(Self::NCtaId(axis)),
                "%cluster_ctaid" => Some(Self::ClusterCtaId(axis)),
                "%cluster_nctaid" => Some(Self::ClusterNCtaId(axis)),
                "%clusterid" => Some(Self::ClusterId(axis)),
                "%nclusterid" => Some(Self::NClusterId(axis)),
                _ => None,
            };
        }
        Some(match name {
            "%laneid" => Self::LaneId,
            "%warpid" => Self::WarpId,
            "%nwarpid" => Self::NWarpId,
            "%smid" => Self::SmId,
            "%nsmid" => Self::NSmId,
            "%cluster_ctarank" => Self::ClusterRank,
            "%cluster_nctarank" => Self::ClusterSize,
            "%lanemask_eq" => Self::LaneMask(LaneMask::Eq),
            "%lanemask_le" => Self::LaneMask(LaneMask::Le),
            "%lanemask_lt" => Self::LaneMask(LaneMask::Lt),
            "%lanemask_ge" => Self::LaneMask(LaneMask::Ge),
            "%lanemask_gt" => Self::LaneMask(LaneMask::Gt),
            "%dynamic_smem_size" => Self::DynamicShared,
            "%total_smem_size" => Self::TotalShared,
            _ => return None,
        })
    }
}

/// A value known before the kernel starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Constant {
    /// The bits.
    Bits(u64),
    /// Address of dynamic shared memory plus an offset, as a shared-window address.
    DynamicShared(i64),
}

/// Sizes of the register files, and what slots hold before the first instruction.
#[derive(Debug, Clone, Default)]
pub(crate) struct Files {
    pub r: u32,
    pub d: u32,
    pub p: u32,
    pub constants_r: HashMap<Constant, R>,
    pub constants_d: HashMap<Constant, D>,
    pub specials: HashMap<Special, R>,
}

impl Files {
    fn grow(counter: &mut u32) -> u32 {
        *counter += 1;
        *counter - 1
    }

    pub fn new_r(&mut self) -> R {
        Self::grow(&mut self.r)
    }

    pub fn new_d(&mut self) -> D {
        Self::grow(&mut self.d)
    }

    pub fn new_p(&mut self) -> P {
        Self::grow(&mut self.p)
    }

    pub fn constant_r(&mut self, value: Constant) -> R {
        let next = self.r;
        let slot = *self.constants_r.entry(value).or_insert(next);
        self.r += u32::from(slot == next);
        slot
    }

    pub fn constant_d(&mut self, value: Constant) -> D {
        let next = self.d;
        let slot = *self.constants_d.entry(value).or_insert(next);
        self.d += u32::from(slot == next);
        slot
    }

    pub fn special(&mut self, special: Special) -> R {
        let next = self.r;
        let slot = *self.specials.entry(special).or_insert(next);
        self.r += u32::from(slot == next);
        slot
    }

    pub fn is_full(&self) -> bool {
        self.r.max(self.d).max(self.p) > MAX_SLOTS
    }
}

/// What a name stands for inside a function.
#[derive(Debug, Clone)]
pub(crate) enum Name {
    Register(Reg, Ty),
    Predicate(P),
    /// Offset in shared memory.
    Shared(u32),
    /// Start of dynamic shared memory.
    DynamicShared,
    /// Offset in the thread's local memory.
    Local(u32),
    /// Offset in the kernel's parameters.
    Param(u32),
    /// Address of a module variable in global or constant memory.
    Global(u64),
    Label(usize),
    Targets(Vec<String>),
}

#[derive(Debug, Default)]
struct Scope {
    names: HashMap<String, Name>,
    /// `%r<810>`: prefix, count, type; registers come into being when used.
    ranges: Vec<(String, u32, Ty)>,
}

/// Nested scopes of one function; a function that is inlined starts a new stack.
#[derive(Debug, Default)]
pub(crate) struct Scopes {
    stack: Vec<Scope>,
}

impl Scopes {
    pub fn push(&mut self) {
        self.stack.push(Scope::default());
    }

    pub fn pop(&mut self) {
        self.stack.pop();
    }

    /// Adds a name to the innermost scope.
    pub fn define(&mut self, name: &str, what: Name, position: Position) -> Result<(), ParseError> {
        let Some(scope) = self.stack.last_mut() else {
            return Ok(());
        };
        if scope.names.insert(name.to_string(), what).is_some() {
            return Err(ParseError::new(
                position,
                format!("`{name}` is declared twice"),
            ));
        }
        Ok(())
    }

    /// Declares a register or a range of registers.
    pub fn define_register(
        &mut self,
        variable: &Variable,
        files: &mut Files,
    ) -> Result<(), ParseError> {
        let fail = |message: String| Err(ParseError::new(variable.position, message));
        let Some(ty) = Ty::parse(&variable.ty) else {
            return fail(format!(
                "registers of type .{} are not supported",
                variable.ty
            ));
        };
        if variable.elements != 1 {
            return fail("vector registers are not supported".into());
        }
        match (variable.range, self.stack.last_mut()) {
            (Some(count), Some(scope)) => {
                scope.ranges.push((variable.name.clone(), count, ty));
                Ok(())
            }
            _ => self.define(&variable.name, new_register(ty, files), variable.position),
        }
    }

    /// Finds a name from the innermost scope outwards.
    pub fn find(&mut self, name: &str, files: &mut Files) -> Option<&Name> {
        let digits = name.len() - name.bytes().rev().take_while(u8::is_ascii_digit).count();
        let (prefix, index) = name.split_at(digits);
        for scope in self.stack.iter_mut().rev() {
            if scope.names.contains_key(name) {
                return scope.names.get(name);
            }
            let range = scope.ranges.iter().find(|(p, count, _)| {
                p == prefix && index.parse::<u32>().is_ok_and(|i| i < *count)
            });
            if let Some(&(_, _, ty)) = range {
                let register = new_register(ty, files);
                return Some(scope.names.entry(name.to_string()).or_insert(register));
            }
        }
        None
    }
}

fn new_register(ty: Ty, files: &mut Files) -> Name {
    match (ty, ty.bytes()) {
        (Ty::Pred, _) => Name::Predicate(files.new_p()),
        (_, 8) => Name::Register(Reg::D(files.new_d()), ty),
        _ => Name::Register(Reg::R(files.new_r()), ty),
    }
}

/// Labels declared directly in a scope: they can be used before they appear.
pub(crate) fn labels(body: &[Statement]) -> impl Iterator<Item = (&String, Position)> {
    body.iter().filter_map(|statement| match statement {
        Statement::Label(name, position) => Some((name, *position)),
        _ => None,
    })
}
