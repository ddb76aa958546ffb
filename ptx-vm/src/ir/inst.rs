//! The instructions.

use super::*;
use crate::parse::Position;

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
    /// Waits for the launch in front of this one.
    GridWait,
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
    MmaDouble(Box<MmaDouble>),
    Wgmma(Box<Wgmma>),
    WgmmaCommit,
    /// `barrier.cluster.arrive`, which orders memory unless `.relaxed`.
    ClusterArrive {
        release: bool,
    },
    ClusterWait,
    /// `mapa` on 32- or 64-bit addresses; generic ones unless `window`.
    MapAddress {
        window: bool,
        d: Reg,
        a: Reg,
        rank: R,
    },
    /// `getctarank`
    AddressRank {
        window: bool,
        d: R,
        a: Reg,
    },
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

/// An instruction with its guard, its place and what counting needs to know.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Op {
    pub inst: Inst,
    pub guard: Option<Pred>,
    pub position: Position,
    pub class: crate::count::Class,
    pub flops: crate::count::FlopRate,
}
