//! Which general registers an instruction reads and writes.

use super::{BarrierKind, BulkGlobal, Inst, Mbarrier, Reg, WgmmaA};

/// How an instruction uses a register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Read,
    Write,
}

impl Inst {
    /// Calls `f` for every general register, those read first. Predicates are left out.
    pub(crate) fn registers(&self, mut f: impl FnMut(Reg, Role)) {
        use Reg::{D, R};
        use Role::{Read, Write};
        let mut reads = |regs: &[Reg]| regs.iter().for_each(|reg| f(*reg, Read));
        match self {
            Inst::Nop
            | Inst::MovP { .. }
            | Inst::LogicP { .. }
            | Inst::AsyncCommit
            | Inst::AsyncWait { .. }
            | Inst::Fence
            | Inst::GridWait
            | Inst::WgmmaCommit
            | Inst::ClusterArrive { .. }
            | Inst::ClusterWait
            | Inst::WgmmaWait { .. }
            | Inst::BulkCommit
            | Inst::BulkWait { .. }
            | Inst::Branch { .. }
            | Inst::Exit
            | Inst::Trap
            | Inst::SetFrom { .. }
            | Inst::Dynamic { .. } => {}
            Inst::Mov32 { a, .. } | Inst::Un32 { a, .. } | Inst::Unpack32 { a, .. } => {
                reads(&[R(*a)])
            }
            Inst::Mov64 { a, .. }
            | Inst::Un64 { a, .. }
            | Inst::Unpack64 { a, .. }
            | Inst::Unpack64x4 { a, .. }
            | Inst::Cvta { a, .. }
            | Inst::IsSpace { a, .. } => reads(&[D(*a)]),
            Inst::Pack64 { lo, hi, .. } | Inst::Pack32 { lo, hi, .. } => reads(&[R(*lo), R(*hi)]),
            Inst::Pack64x4 { parts, .. } => reads(&parts.map(R)),
            Inst::Bin32 { a, b, .. }
            | Inst::Bin16 { a, b, .. }
            | Inst::Carry32 { a, b, .. }
            | Inst::Setp32 { a, b, .. }
            | Inst::Selp32 { a, b, .. }
            | Inst::ConvertPair { a, b, .. } => reads(&[R(*a), R(*b)]),
            Inst::Bin64 { a, b, .. }
            | Inst::Carry64 { a, b, .. }
            | Inst::Setp64 { a, b, .. }
            | Inst::Selp64 { a, b, .. } => reads(&[D(*a), D(*b)]),
            Inst::Shift64 { a, b, .. } => reads(&[D(*a), R(*b)]),
            Inst::Tri32 { a, b, c, .. }
            | Inst::Mad16 { a, b, c, .. }
            | Inst::F32 { a, b, c, .. }
            | Inst::Half { a, b, c, .. } => reads(&[R(*a), R(*b), R(*c)]),
            Inst::Mad64 { a, b, c, .. } | Inst::F64 { a, b, c, .. } => {
                reads(&[D(*a), D(*b), D(*c)])
            }
            Inst::Wide16 { a, b, c, .. } => reads(&[R(*a), R(*b), c.map_or(Reg::Sink, R)]),
            Inst::Wide32 { a, b, c, .. } => reads(&[R(*a), R(*b), c.map_or(Reg::Sink, D)]),
            Inst::Bfe64 { a, b, c, .. } => reads(&[D(*a), R(*b), R(*c)]),
            Inst::Bfi32 { a, b, c, len, .. } => reads(&[R(*a), R(*b), R(*c), R(*len)]),
            Inst::Bfi64 { a, b, c, len, .. } => reads(&[D(*a), D(*b), R(*c), R(*len)]),
            Inst::TestP { a, .. } | Inst::Convert { a, .. } => reads(&[*a]),
            Inst::MapAddress { a, rank, .. } => reads(&[*a, R(*rank)]),
            Inst::AddressRank { a, .. } => reads(&[*a]),
            Inst::Slct { a, b, c, .. } => reads(&[*a, *b, R(*c)]),
            Inst::Load(access) => reads(&[access.addr.base]),
            Inst::Store(access) => {
                reads(&access.regs);
                reads(&[access.addr.base]);
            }
            Inst::Atomic(atom) => reads(&[atom.addr.base, atom.b, atom.c]),
            Inst::AsyncCopy {
                dst,
                src,
                src_bytes,
                ..
            } => {
                reads(&[dst.base, src.base, src_bytes.map_or(Reg::Sink, R)]);
            }
            Inst::Barrier { id, threads, .. } => reads(&[R(*id), threads.map_or(Reg::Sink, R)]),
            Inst::WarpBarrier { mask } | Inst::Vote { mask, .. } | Inst::Elect { mask, .. } => {
                reads(&[R(*mask)])
            }
            Inst::Shuffle { a, b, c, mask, .. } => reads(&[R(*a), R(*b), R(*c), R(*mask)]),
            Inst::Match { a, mask, .. } => reads(&[*a, R(*mask)]),
            Inst::Redux { a, mask, .. } => reads(&[R(*a), R(*mask)]),
            Inst::Matrix {
                store, regs, addr, ..
            } => {
                reads(&[addr.base]);
                if *store {
                    regs.iter().for_each(|reg| reads(&[R(*reg)]));
                }
            }
            Inst::Mma(mma) => mma
                .a
                .iter()
                .chain(&mma.b)
                .chain(&mma.c)
                .for_each(|reg| reads(&[R(*reg)])),
            Inst::MmaDouble(mma) => mma
                .a
                .iter()
                .chain(&mma.b)
                .chain(&mma.c)
                .for_each(|reg| reads(&[D(*reg)])),
            Inst::Wgmma(wgmma) => {
                match &wgmma.a {
                    WgmmaA::Descriptor(slot) => reads(&[D(*slot)]),
                    WgmmaA::Registers(regs) => reads(&regs.map(R)),
                }
                reads(&[D(wgmma.b)]);
                wgmma.d.iter().for_each(|reg| reads(&[R(*reg)]));
            }
            Inst::Mbarrier { op, addr, .. } => {
                reads(&[addr.base]);
                match op {
                    Mbarrier::Init { count } => reads(&[R(*count)]),
                    Mbarrier::Expect { bytes } => reads(&[R(*bytes)]),
                    Mbarrier::Arrive { count, expect, .. } => {
                        reads(&[count.map_or(Reg::Sink, R), expect.map_or(Reg::Sink, R)]);
                    }
                    Mbarrier::Invalidate | Mbarrier::ArriveAfterCopies { .. } => {}
                }
            }
            Inst::MbarrierWait {
                addr,
                parity,
                state,
                ..
            } => {
                reads(&[addr.base, parity.map_or(D(*state), R)]);
            }
            Inst::Bulk(bulk) => {
                reads(&[bulk.shared.base, bulk.multicast.map_or(Reg::Sink, R)]);
                bulk.barrier.iter().for_each(|addr| reads(&[addr.base]));
                match &bulk.global {
                    BulkGlobal::Linear { addr, bytes } => reads(&[addr.base, R(*bytes)]),
                    BulkGlobal::Tensor { map, coordinates } => {
                        reads(&[map.base]);
                        coordinates.iter().for_each(|reg| reads(&[R(*reg)]));
                    }
                }
            }
            Inst::Indexed { index, .. } => reads(&[R(*index)]),
        }
        self.written(|reg| f(reg, Write));
    }

    fn written(&self, mut f: impl FnMut(Reg)) {
        use Reg::{D, R};
        match self {
            Inst::Mov32 { d, .. }
            | Inst::Pack32 { d, .. }
            | Inst::Un32 { d, .. }
            | Inst::Bin32 { d, .. }
            | Inst::Bin16 { d, .. }
            | Inst::Tri32 { d, .. }
            | Inst::Mad16 { d, .. }
            | Inst::Wide16 { d, .. }
            | Inst::Bfi32 { d, .. }
            | Inst::Carry32 { d, .. }
            | Inst::F32 { d, .. }
            | Inst::Half { d, .. }
            | Inst::SetFrom { d, .. }
            | Inst::Selp32 { d, .. }
            | Inst::ConvertPair { d, .. }
            | Inst::Shuffle { d, .. }
            | Inst::Match { d, .. }
            | Inst::AddressRank { d, .. }
            | Inst::Redux { d, .. } => f(R(*d)),
            Inst::Vote { d, p: None, .. } => f(R(*d)),
            Inst::Elect { d: Some(d), .. } => f(R(*d)),
            Inst::Mov64 { d, .. }
            | Inst::Pack64 { d, .. }
            | Inst::Pack64x4 { d, .. }
            | Inst::Bin64 { d, .. }
            | Inst::Shift64 { d, .. }
            | Inst::Mad64 { d, .. }
            | Inst::Wide32 { d, .. }
            | Inst::Bfe64 { d, .. }
            | Inst::Bfi64 { d, .. }
            | Inst::Carry64 { d, .. }
            | Inst::F64 { d, .. }
            | Inst::Selp64 { d, .. }
            | Inst::Cvta { d, .. } => f(D(*d)),
            Inst::MapAddress { d, .. } => f(*d),
            Inst::Un64 { d, .. }
            | Inst::Slct { d, .. }
            | Inst::Convert { d, .. }
            | Inst::Dynamic { d, .. } => f(*d),
            Inst::Unpack64 { lo, hi, .. } | Inst::Unpack32 { lo, hi, .. } => {
                [*lo, *hi].into_iter().for_each(f)
            }
            Inst::Unpack64x4 { parts, .. } => parts.iter().for_each(|reg| f(*reg)),
            Inst::Load(access) => access.regs.iter().for_each(|reg| f(*reg)),
            Inst::Atomic(atom) => f(atom.dst),
            Inst::Barrier {
                kind: BarrierKind::RedPopc { dst, .. },
                ..
            } => f(R(*dst)),
            Inst::Matrix {
                store: false, regs, ..
            } => regs.iter().for_each(|reg| f(R(*reg))),
            Inst::Mma(mma) => mma.d.iter().for_each(|reg| f(R(*reg))),
            Inst::MmaDouble(mma) => mma.d.iter().for_each(|reg| f(D(*reg))),
            Inst::Wgmma(wgmma) => wgmma.d.iter().for_each(|reg| f(R(*reg))),
            Inst::Mbarrier {
                op: Mbarrier::Arrive { state, .. },
                ..
            } => f(*state),
            _ => {}
        }
    }
}
