//! The compact form that is executed: one [`Inst`] per PTX instruction, on whole warps.
//!
//! Registers live in three files, each an array of 32 lanes: 32-bit (which also holds 8- and
//! 16-bit values, zero-extended), 64-bit, and predicates as one bit per lane. Immediates,
//! special registers that do not change while a block runs, and addresses of symbols occupy
//! slots like registers, so that no operand needs a case of its own at run time.

mod inst;
mod matrix;
pub(crate) mod operands;
mod ops;

pub(crate) use inst::{Inst, Op};
pub(crate) use matrix::{Bulk, BulkGlobal, MatrixTy, Mbarrier, Mma, MmaDouble, Wgmma, WgmmaA};
pub(crate) use ops::{
    Access, Addr, Atom, AtomOp, BarrierKind, Bin, Cvt, Dynamic, Fp, FpMode, HalfFormat, PrmtMode,
    Redux, Shfl, TestP, Tri, Un, Vote,
};

/// Lanes of a warp (`WARP_SZ`).
pub const WARP: usize = 32;
/// Slot in the 32-bit register file.
pub(crate) type R = u32;
/// Slot in the 64-bit register file.
pub(crate) type D = u32;
/// Slot in the predicate file.
pub(crate) type P = u32;

/// "No instruction": the reconvergence point of branches that only meet at the exit.
pub(crate) const NOWHERE: u32 = u32::MAX;

/// A general register of either width.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reg {
    R(R),
    D(D),
    /// `_`: the value is dropped.
    Sink,
}

/// A predicate operand, possibly negated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pred {
    pub slot: P,
    pub negated: bool,
}

/// Scalar types (PTX ISA, "Fundamental Types").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Ty {
    B8,
    B16,
    B32,
    B64,
    U8,
    U16,
    U32,
    U64,
    S8,
    S16,
    S32,
    S64,
    F16,
    Bf16,
    Tf32,
    F16x2,
    Bf16x2,
    F32,
    F64,
    Pred,
}

impl Ty {
    pub(crate) fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "b8" => Self::B8,
            "b16" => Self::B16,
            "b32" => Self::B32,
            "b64" => Self::B64,
            "u8" => Self::U8,
            "u16" => Self::U16,
            "u32" => Self::U32,
            "u64" => Self::U64,
            "s8" => Self::S8,
            "s16" => Self::S16,
            "s32" => Self::S32,
            "s64" => Self::S64,
            "f16" => Self::F16,
            "bf16" => Self::Bf16,
            "tf32" => Self::Tf32,
            "f16x2" => Self::F16x2,
            "bf16x2" => Self::Bf16x2,
            "f32" => Self::F32,
            "f64" => Self::F64,
            "pred" => Self::Pred,
            _ => return None,
        })
    }

    pub(crate) fn bytes(self) -> u32 {
        match self {
            Self::B8 | Self::U8 | Self::S8 | Self::Pred => 1,
            Self::B16 | Self::U16 | Self::S16 | Self::F16 | Self::Bf16 => 2,
            Self::B64 | Self::U64 | Self::S64 | Self::F64 => 8,
            _ => 4,
        }
    }

    pub(crate) fn signed(self) -> bool {
        matches!(self, Self::S8 | Self::S16 | Self::S32 | Self::S64)
    }

    pub(crate) fn is_float(self) -> bool {
        matches!(
            self,
            Self::F16
                | Self::Bf16
                | Self::Tf32
                | Self::F16x2
                | Self::Bf16x2
                | Self::F32
                | Self::F64
        )
    }
}

/// State spaces of memory instructions (PTX ISA, "State Spaces").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Space {
    Generic,
    Global,
    Shared,
    Local,
    Const,
    Param,
}

/// Rounding of floating-point results (PTX ISA, "Rounding Modifiers").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Round {
    /// `.rn`: to nearest, ties to even.
    Nearest,
    /// `.rna`: to nearest, ties away from zero.
    NearestAway,
    /// `.rz`
    Zero,
    /// `.rm`
    Down,
    /// `.rp`
    Up,
}

/// Comparisons of `setp` and `set`; the unordered forms are true when an operand is NaN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cmp {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Equ,
    Neu,
    Ltu,
    Leu,
    Gtu,
    Geu,
    Num,
    Nan,
}

/// How operands of a comparison are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CmpTy {
    Unsigned,
    Signed,
    /// Signed 16-bit in a zero-extended register.
    Signed16,
    F32 {
        ftz: bool,
    },
    F64,
    F16,
    Bf16,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BoolOp {
    And,
    Or,
    Xor,
}
