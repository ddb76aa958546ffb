//! The compact form that is executed: one [`Inst`] per PTX instruction, on whole warps.
//!
//! Registers live in three files, each an array of 32 lanes: 32-bit (which also holds 8- and
//! 16-bit values, zero-extended), 64-bit, and predicates as one bit per lane. Immediates,
//! special registers that do not change while a block runs, and addresses of symbols occupy
//! slots like registers, so that no operand needs a case of its own at run time.

use crate::parse::Position;

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

/// Element types of matrix operands; results are single precision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum MatrixTy {
    F16,
    Bf16,
    /// Single precision of which the low 13 bits are ignored.
    Tf32,
}

/// `mma.sync` of shape m16n8kK.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Mma {
    pub ty: MatrixTy,
    pub k: u32,
    pub d: [R; 4],
    pub a: Vec<R>,
    pub b: Vec<R>,
    pub c: [R; 4],
}

/// Where the left operand of `wgmma` is.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum WgmmaA {
    Descriptor(D),
    Registers([R; 4]),
}

/// `wgmma.mma_async` of shape m64nNkK.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Wgmma {
    pub ty: MatrixTy,
    pub n: u32,
    pub k: u32,
    pub d: Vec<R>,
    pub a: WgmmaA,
    pub b: D,
    /// Whether the product is added to the accumulators.
    pub accumulate: Pred,
    pub negate_a: bool,
    pub negate_b: bool,
    /// The operand is stored with its rows (or columns) contiguous instead of k.
    pub transpose_a: bool,
    pub transpose_b: bool,
}

/// An operation on an mbarrier object other than waiting.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Mbarrier {
    Init {
        count: R,
    },
    Invalidate,
    Arrive {
        count: Option<R>,
        expect: Option<R>,
        drop: bool,
        state: Reg,
    },
    Expect {
        bytes: R,
    },
}

/// The global side of a bulk copy.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum BulkGlobal {
    /// So many bytes at an address.
    Linear { addr: Addr, bytes: R },
    /// The box of a tensor map at these coordinates, innermost first.
    Tensor { map: Addr, coordinates: Vec<R> },
}

/// `cp.async.bulk` and `cp.async.bulk.tensor`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Bulk {
    pub shared: Addr,
    pub global: BulkGlobal,
    /// The mbarrier that counts the bytes of a copy to shared memory; `None` copies to global.
    pub barrier: Option<Addr>,
}

/// An executable instruction.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Inst {
    Nop,
    Mov32 {
        d: R,
        a: R,
    },
    Mov64 {
        d: D,
        a: D,
    },
    MovP {
        d: P,
        a: Pred,
    },
    /// Low words first (`mov.b64 d, {a, b}`).
    Pack64 {
        d: D,
        lo: R,
        hi: R,
    },
    Unpack64 {
        lo: Reg,
        hi: Reg,
        a: D,
    },
    /// `mov.b32 d, {a, b}` of 16-bit halves.
    Pack32 {
        d: R,
        lo: R,
        hi: R,
    },
    Unpack32 {
        lo: Reg,
        hi: Reg,
        a: R,
    },
    /// `mov.b64 d, {a, b, c, e}` of 16-bit quarters.
    Pack64x4 {
        d: D,
        parts: [R; 4],
    },
    Unpack64x4 {
        parts: [Reg; 4],
        a: D,
    },
    Un32 {
        op: Un,
        half: bool,
        d: R,
        a: R,
    },
    /// 64-bit; `popc`, `clz` and `bfind` write a 32-bit register.
    Un64 {
        op: Un,
        d: Reg,
        a: D,
    },
    Bin32 {
        op: Bin,
        d: R,
        a: R,
        b: R,
    },
    /// Operands are 16-bit values; the result is truncated to 16 bits.
    Bin16 {
        op: Bin,
        d: R,
        a: R,
        b: R,
    },
    Bin64 {
        op: Bin,
        d: D,
        a: D,
        b: D,
    },
    /// 64-bit shifts by a 32-bit amount.
    Shift64 {
        op: Bin,
        d: D,
        a: D,
        b: R,
    },
    Tri32 {
        op: Tri,
        d: R,
        a: R,
        b: R,
        c: R,
    },
    Mad16 {
        d: R,
        a: R,
        b: R,
        c: R,
    },
    Mad64 {
        d: D,
        a: D,
        b: D,
        c: D,
        high: Option<bool>,
    },
    /// `mul.wide` of 16-bit operands into 32 bits.
    Wide16 {
        signed: bool,
        d: R,
        a: R,
        b: R,
        c: Option<R>,
    },
    /// `mul.wide` and `mad.wide` of 32-bit operands into 64 bits.
    Wide32 {
        signed: bool,
        d: D,
        a: R,
        b: R,
        c: Option<D>,
    },
    Bfe64 {
        signed: bool,
        d: D,
        a: D,
        b: R,
        c: R,
    },
    Bfi32 {
        d: R,
        a: R,
        b: R,
        c: R,
        len: R,
    },
    Bfi64 {
        d: D,
        a: D,
        b: D,
        c: R,
        len: R,
    },
    /// `add.cc`, `addc`, `sub.cc`, `subc` with the carry flag.
    Carry32 {
        subtract: bool,
        carry_in: bool,
        carry_out: bool,
        d: R,
        a: R,
        b: R,
    },
    Carry64 {
        subtract: bool,
        carry_in: bool,
        carry_out: bool,
        d: D,
        a: D,
        b: D,
    },
    F32 {
        op: Fp,
        mode: FpMode,
        d: R,
        a: R,
        b: R,
        c: R,
    },
    F64 {
        op: Fp,
        round: Round,
        d: D,
        a: D,
        b: D,
        c: D,
    },
    Half {
        op: Fp,
        format: HalfFormat,
        packed: bool,
        ftz: bool,
        sat: bool,
        relu: bool,
        d: R,
        a: R,
        b: R,
        c: R,
    },
    /// `testp`
    TestP {
        op: TestP,
        f64: bool,
        d: P,
        a: Reg,
    },
    Setp32 {
        cmp: Cmp,
        ty: CmpTy,
        p: P,
        q: Option<P>,
        a: R,
        b: R,
        with: Option<(BoolOp, Pred)>,
    },
    Setp64 {
        cmp: Cmp,
        ty: CmpTy,
        p: P,
        q: Option<P>,
        a: D,
        b: D,
        with: Option<(BoolOp, Pred)>,
    },
    /// Turns a predicate into the result of `set`: 0 or `ones`.
    SetFrom {
        d: R,
        ones: u32,
        p: P,
    },
    LogicP {
        op: BoolOp,
        d: P,
        a: Pred,
        b: Pred,
    },
    Selp32 {
        d: R,
        a: R,
        b: R,
        p: P,
    },
    Selp64 {
        d: D,
        a: D,
        b: D,
        p: P,
    },
    Slct {
        float: bool,
        d: Reg,
        a: Reg,
        b: Reg,
        c: R,
    },
    Convert {
        cvt: Cvt,
        d: Reg,
        a: Reg,
    },
    /// `cvt` of two f32 into a packed pair: `a` to the upper half.
    ConvertPair {
        cvt: Cvt,
        d: R,
        a: R,
        b: R,
    },
    Dynamic {
        what: Dynamic,
        d: Reg,
    },
    Load(Box<Access>),
    Store(Box<Access>),
    Atomic(Box<Atom>),
    /// `cvta`: to generic, or from generic when `to`.
    Cvta {
        to: bool,
        space: Space,
        d: D,
        a: D,
    },
    IsSpace {
        space: Space,
        d: P,
        a: D,
    },
    AsyncCopy {
        dst: Addr,
        src: Addr,
        bytes: u32,
        src_bytes: Option<R>,
        ignore: Option<Pred>,
    },
    AsyncCommit,
    /// Waits until at most `pending` groups are incomplete; `None` waits for everything.
    AsyncWait {
        pending: Option<u32>,
    },
    Barrier {
        kind: BarrierKind,
        aligned: bool,
        id: R,
        threads: Option<R>,
    },
    WarpBarrier {
        mask: R,
    },
    Fence,
    Shuffle {
        mode: Shfl,
        d: R,
        p: Option<P>,
        a: R,
        b: R,
        c: R,
        mask: R,
    },
    Vote {
        op: Vote,
        d: R,
        p: Option<P>,
        a: Pred,
        mask: R,
    },
    Match {
        all: bool,
        d: R,
        p: Option<P>,
        a: Reg,
        mask: R,
    },
    Redux {
        op: Redux,
        d: R,
        a: R,
        mask: R,
    },
    Elect {
        d: Option<R>,
        p: P,
        mask: R,
    },
    /// `ldmatrix` and, with `store`, `stmatrix`: one 8x8 matrix of 16-bit elements per register.
    Matrix {
        store: bool,
        transpose: bool,
        regs: Vec<R>,
        addr: Addr,
    },
    Mma(Box<Mma>),
    Wgmma(Box<Wgmma>),
    WgmmaCommit,
    WgmmaWait {
        pending: u32,
    },
    Mbarrier {
        op: Mbarrier,
        space: Space,
        addr: Addr,
    },
    /// `mbarrier.try_wait` and `test_wait`, by parity or by the state of an arrival.
    MbarrierWait {
        space: Space,
        addr: Addr,
        parity: Option<R>,
        state: D,
        p: P,
    },
    Bulk(Box<Bulk>),
    BulkCommit,
    BulkWait {
        pending: u32,
    },
    Branch {
        target: u32,
        reconverge: u32,
        uniform: bool,
    },
    Indexed {
        index: R,
        targets: Box<[u32]>,
        reconverge: u32,
    },
    Exit,
    Trap,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TestP {
    Finite,
    Infinite,
    Number,
    NotANumber,
    Normal,
    Subnormal,
}

/// An instruction with its guard, its place and what counting needs to know.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Op {
    pub inst: Inst,
    pub guard: Option<Pred>,
    pub position: Position,
    pub class: crate::count::Class,
    pub flops: crate::count::FlopRate,
}
