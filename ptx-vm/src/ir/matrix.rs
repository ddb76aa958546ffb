//! Matrix instructions, mbarriers, bulk copies.

use super::{Addr, D, Pred, R, Reg};

/// Element types of matrix operands; results are 32 bits wide: integers for [`MatrixTy::S8`],
/// single precision for the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum MatrixTy {
    F16,
    Bf16,
    /// Single precision of which the low 13 bits are ignored.
    Tf32,
    /// 8 bits: 4 of exponent, 3 of mantissa, no infinities.
    E4m3,
    /// Signed 8-bit integers.
    S8,
}

impl MatrixTy {
    /// Bits of an element.
    pub fn bits(self) -> u32 {
        match self {
            MatrixTy::F16 | MatrixTy::Bf16 => 16,
            MatrixTy::Tf32 => 32,
            MatrixTy::E4m3 | MatrixTy::S8 => 8,
        }
    }
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

/// `mma.sync` on doubles, of shape m8n8k4 or m16n8kK.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MmaDouble {
    /// Rows: 8 or 16.
    pub m: u32,
    pub k: u32,
    pub d: Vec<D>,
    pub a: Vec<D>,
    pub b: Vec<D>,
    pub c: Vec<D>,
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
    /// `cp.async.mbarrier.arrive`: arrives when the thread's earlier `cp.async` are done. Unless
    /// `.noinc`, it is expected in addition to the other arrivals.
    ArriveAfterCopies {
        extra: bool,
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
    /// Ranks of the blocks that get a copy; `None` is the block that the address names.
    pub multicast: Option<R>,
}
