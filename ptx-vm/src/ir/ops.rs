//! Operations and their modifiers.

use super::{P, Pred, R, Reg, Round, Space, Ty};

/// One-operand operations; on 16-bit types the result is truncated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Un {
    Not,
    Neg,
    Abs,
    Popc,
    Clz,
    Brev,
    /// `bfind`, `bfind.shiftamt`
    Find {
        signed: bool,
        shift: bool,
    },
    Cnot,
}

/// Two-operand integer operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bin {
    Add,
    Sub,
    Mul,
    MulHiU,
    MulHiS,
    /// `mul24.lo`
    Mul24U,
    Mul24S,
    DivU,
    DivS,
    RemU,
    RemS,
    MinU,
    MinS,
    MaxU,
    MaxS,
    And,
    Or,
    Xor,
    Shl,
    ShrU,
    ShrS,
    /// Saturating signed add and subtract (`.sat.s32`).
    AddSat,
    SubSat,
}

/// Three-operand integer operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tri {
    Mad,
    MadHiU,
    MadHiS,
    Mad24U,
    Mad24S,
    Sad {
        signed: bool,
    },
    Lop3(u8),
    Prmt(PrmtMode),
    BfeU,
    BfeS,
    /// Funnel shifts: `d`, low word, high word, amount.
    ShfL {
        clamp: bool,
    },
    ShfR {
        clamp: bool,
    },
    Dp4a {
        a_signed: bool,
        b_signed: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PrmtMode {
    Index,
    F4e,
    B4e,
    Rc8,
    Ecl,
    Ecr,
    Rc16,
}

/// Floating-point operations; unused operands repeat the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Fp {
    Add,
    Sub,
    Mul,
    Fma,
    Div,
    Sqrt,
    Rcp,
    Rsqrt,
    Min { nan: bool },
    Max { nan: bool },
    Neg,
    Abs,
    CopySign,
    Ex2,
    Lg2,
    Sin,
    Cos,
    Tanh,
}

/// Modifiers of an f32 operation other than plain round-to-nearest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FpMode {
    pub round: Round,
    pub ftz: bool,
    pub sat: bool,
    /// The ISA gives an error bound instead of a result.
    pub approx: bool,
}

impl FpMode {
    pub(crate) const PLAIN: Self = Self {
        round: Round::Nearest,
        ftz: false,
        sat: false,
        approx: false,
    };
}

/// 16-bit floating-point formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum HalfFormat {
    F16,
    Bf16,
}

/// A conversion (`cvt`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cvt {
    pub to: Ty,
    pub from: Ty,
    pub round: Round,
    /// `.rni`, `.rzi`, `.rmi`, `.rpi`: round to an integral value.
    pub integral: bool,
    pub ftz: bool,
    pub sat: bool,
    pub relu: bool,
    pub satfinite: bool,
    /// The destination register has 16 bits.
    pub narrow: bool,
}

/// Address operand: a register plus a byte offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Addr {
    pub base: Reg,
    pub offset: i64,
}

/// A load or store of 1, 2 or 4 elements.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Access {
    pub space: Space,
    pub addr: Addr,
    /// Element size in bytes.
    pub bytes: u32,
    /// Sign-extends narrow loads.
    pub signed: bool,
    pub regs: Vec<Reg>,
    /// The registers have 16 bits.
    pub narrow: bool,
    /// Nobody reads what this loads.
    pub dead: bool,
    /// `.relaxed`, `.acquire`, `.release`, `.volatile`: ordered, hence never a data race.
    pub strong: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AtomOp {
    Add,
    Min,
    Max,
    And,
    Or,
    Xor,
    Exch,
    Cas,
    Inc,
    Dec,
}

/// `atom` (with a destination) and `red`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Atom {
    pub space: Space,
    pub op: AtomOp,
    pub ty: Ty,
    pub addr: Addr,
    pub dst: Reg,
    pub b: Reg,
    pub c: Reg,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shfl {
    Up,
    Down,
    Bfly,
    Idx,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Vote {
    All,
    Any,
    Uni,
    Ballot,
}

/// `redux.sync` operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Redux {
    Add,
    MinU,
    MinS,
    MaxU,
    MaxS,
    And,
    Or,
    Xor,
}

/// What threads do at a barrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BarrierKind {
    Sync,
    Arrive,
    RedPopc { dst: R, pred: Pred },
    RedAnd { dst: P, pred: Pred },
    RedOr { dst: P, pred: Pred },
}

/// Values that change while a block runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dynamic {
    /// `%clock`, `%clock64`, `%globaltimer`: warp instructions issued so far.
    Clock,
    /// `%activemask` via `activemask.b32`.
    ActiveMask,
}

/// Properties that `testp` tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TestP {
    Finite,
    Infinite,
    Number,
    NotANumber,
    Normal,
    Subnormal,
}
