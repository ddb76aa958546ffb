//! From instruction to its implementation.

use super::vector::{Binary32, Binary64, Float32, Float64, Ternary32, Wide};
use super::warp::{Env, Warp};
use super::{LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW, alu, alu64, convert, half, map1, window};
use crate::check::{Checked, FaultKind, Raw};
use crate::ir::{Dynamic, Inst, Space};

impl Warp {
    /// Executes an instruction that is no control flow for the lanes of `active`, of which there
    /// is at least one.
    pub(super) fn execute(
        &mut self,
        env: &mut Env<'_, '_>,
        inst: &Inst,
        active: u32,
    ) -> Checked<()> {
        let simd = env.frozen.simd;
        // Shorthands for register-file slots.
        macro_rules! r {
            ($slot:expr) => {
                &self.r[*$slot as usize]
            };
        }
        macro_rules! d {
            ($slot:expr) => {
                &self.d[*$slot as usize]
            };
        }
        match inst {
            Inst::F32 {
                op,
                mode,
                d,
                a,
                b,
                c,
            } => {
                let (a, b, c) = (r!(a), r!(b), r!(c));
                let out = simd.dispatch(Float32(*op, *mode, a, b, c));
                self.set_r(*d, active, &out);
            }
            Inst::Bin32 { op, d, a, b } => {
                let (a, b) = (r!(a), r!(b));
                let out = simd.dispatch(Binary32(*op, a, b));
                self.set_r(*d, active, &out);
            }
            Inst::Bin64 { op, d, a, b } => {
                let (a, b) = (d!(a), d!(b));
                let out = simd.dispatch(Binary64(*op, a, b));
                self.set_d(*d, active, &out);
            }
            Inst::Tri32 { op, d, a, b, c } => {
                let (a, b, c) = (r!(a), r!(b), r!(c));
                let out = simd.dispatch(Ternary32(*op, a, b, c));
                self.set_r(*d, active, &out);
            }
            Inst::F64 {
                op,
                d,
                a,
                b,
                c,
                round: _,
            } => {
                let (a, b, c) = (d!(a), d!(b), d!(c));
                let out = simd.dispatch(Float64(*op, a, b, c));
                self.set_d(*d, active, &out);
            }
            Inst::Mov32 { d, a } => {
                let out = *r!(a);
                self.set_r(*d, active, &out);
            }
            Inst::Mov64 { d, a } => {
                let out = *d!(a);
                self.set_d(*d, active, &out);
            }
            Inst::Load(access) => self.load(env, access, active)?,
            Inst::Store(access) => self.store(env, access, active)?,
            Inst::Atomic(atom) => self.atomic(env, atom, active)?,
            Inst::Setp32 { .. } | Inst::Setp64 { .. } => self.compare(inst, active),
            Inst::Un32 { op, half, d, a } => {
                let mut out = alu::unary(*op, *half, r!(a));
                if *half {
                    out = map1(&out, |x| x & 0xffff);
                }
                self.set_r(*d, active, &out);
            }
            Inst::Un64 { op, d, a } => {
                let out = alu64::unary(*op, d!(a));
                match d {
                    crate::ir::Reg::D(slot) => self.set_d(*slot, active, &out),
                    crate::ir::Reg::R(slot) => self.set_r(*slot, active, &map1(&out, |x| x as u32)),
                    crate::ir::Reg::Sink => {}
                }
            }
            Inst::Bin16 { op, d, a, b } => {
                let out = alu::binary16(*op, r!(a), r!(b));
                self.set_r(*d, active, &out);
            }
            Inst::Shift64 { op, d, a, b } => {
                let out = alu64::shift(*op, d!(a), r!(b));
                self.set_d(*d, active, &out);
            }
            Inst::Mad16 { d, a, b, c } => {
                let out = super::map3(r!(a), r!(b), r!(c), |a, b, c| {
                    a.wrapping_mul(b).wrapping_add(c) & 0xffff
                });
                self.set_r(*d, active, &out);
            }
            Inst::Mad64 { d, a, b, c, high } => {
                let out = alu64::mad(*high, d!(a), d!(b), d!(c));
                self.set_d(*d, active, &out);
            }
            Inst::Wide16 { signed, d, a, b, c } => {
                let mut out = alu::wide16(*signed, r!(a), r!(b));
                if let Some(c) = c {
                    out = super::map2(&out, r!(c), u32::wrapping_add);
                }
                self.set_r(*d, active, &out);
            }
            Inst::Wide32 { signed, d, a, b, c } => {
                let (a, b) = (r!(a), r!(b));
                let mut out = simd.dispatch(Wide(*signed, a, b));
                if let Some(c) = c {
                    out = super::map2(&out, d!(c), u64::wrapping_add);
                }
                self.set_d(*d, active, &out);
            }
            Inst::Bfe64 { signed, d, a, b, c } => {
                let out = super::map3(d!(a), r!(b), r!(c), |a, b, c| {
                    alu64::bfe(*signed, 64, a, b, c)
                });
                self.set_d(*d, active, &out);
            }
            Inst::Bfi32 { d, a, b, c, len } => {
                let mut out = [0; super::WARP];
                for (i, o) in out.iter_mut().enumerate() {
                    let (a, b) = (u64::from(r!(a)[i]), u64::from(r!(b)[i]));
                    *o = alu64::bfi(32, a, b, r!(c)[i], r!(len)[i]) as u32;
                }
                self.set_r(*d, active, &out);
            }
            Inst::Bfi64 { d, a, b, c, len } => {
                let mut out = [0; super::WARP];
                for (i, o) in out.iter_mut().enumerate() {
                    *o = alu64::bfi(64, d!(a)[i], d!(b)[i], r!(c)[i], r!(len)[i]);
                }
                self.set_d(*d, active, &out);
            }
            Inst::Carry32 { .. } | Inst::Carry64 { .. } => self.carry(inst, active),
            Inst::Half {
                op,
                format,
                packed,
                ftz,
                sat,
                relu,
                d,
                a,
                b,
                c,
            } => {
                let mode = half::Mode {
                    format: *format,
                    ftz: *ftz,
                    sat: *sat,
                    relu: *relu,
                };
                let out = super::map3(r!(a), r!(b), r!(c), |a, b, c| {
                    half::lane(*op, mode, *packed, a, b, c)
                });
                self.set_r(*d, active, &out);
            }
            Inst::Convert { cvt, d, a } => self.convert(cvt, *d, *a, active),
            Inst::ConvertPair { cvt, d, a, b } => {
                let out = super::map2(r!(a), r!(b), |a, b| convert::pair(cvt, a, b));
                self.set_r(*d, active, &out);
            }
            Inst::Dynamic { what, d } => {
                let value = match what {
                    Dynamic::Clock => self.issued,
                    Dynamic::ActiveMask => u64::from(active),
                };
                super::lanes(active).for_each(|lane| self.set(*d, lane, value));
            }
            Inst::Cvta { to, space, d, a } => {
                let base = match space {
                    Space::Shared => SHARED_WINDOW,
                    Space::Local => LOCAL_WINDOW,
                    Space::Param => PARAM_WINDOW,
                    _ => 0,
                };
                let out = map1(d!(a), |x| {
                    if *to {
                        x.wrapping_sub(base)
                    } else {
                        x.wrapping_add(base)
                    }
                });
                self.set_d(*d, active, &out);
            }
            Inst::IsSpace { space, d, a } => {
                // Constant memory shares the global window here.
                let same = |address| match window(address).0 {
                    Space::Global => matches!(space, Space::Global | Space::Const),
                    found => found == *space,
                };
                let value = super::predicate::bits(map1(d!(a), same));
                self.set_p(*d, active, value);
            }
            Inst::AsyncCopy { .. } => self.async_copy(env, inst, active)?,
            Inst::AsyncCommit => self.copies.commit(active),
            Inst::AsyncWait { pending } => self.async_wait(env, *pending, active),
            Inst::WarpBarrier { mask } => {
                self.check_mask(env, *mask, active)?;
                env.shadow.warp_sync(self.number as usize);
            }
            Inst::Shuffle { .. }
            | Inst::Vote { .. }
            | Inst::Match { .. }
            | Inst::Redux { .. }
            | Inst::Elect { .. } => {
                self.collective(env, inst, active)?;
            }
            Inst::MovP { .. }
            | Inst::LogicP { .. }
            | Inst::TestP { .. }
            | Inst::SetFrom { .. }
            | Inst::Selp32 { .. }
            | Inst::Selp64 { .. }
            | Inst::Slct { .. } => self.select(inst, active),
            Inst::Pack64 { .. }
            | Inst::Unpack64 { .. }
            | Inst::Pack32 { .. }
            | Inst::Unpack32 { .. }
            | Inst::Pack64x4 { .. }
            | Inst::Unpack64x4 { .. } => self.repack(inst, active),
            Inst::Matrix {
                store,
                transpose,
                regs,
                addr,
            } => {
                self.matrix(env, (*store, *transpose), regs, *addr, active)?;
            }
            Inst::Mma(mma) => self.mma(mma, active)?,
            Inst::MmaDouble(mma) => self.mma_double(mma, active)?,
            Inst::Wgmma(wgmma) => self.wgmma(env, wgmma, active)?,
            Inst::WgmmaCommit => self.products.commit(),
            Inst::Mbarrier { op, space, addr } => {
                self.mbarrier(env, op, (*space, *addr), active)?
            }
            Inst::Bulk(bulk) => self.bulk(env, bulk, active)?,
            Inst::BulkCommit => self.bulk_commit(active),
            Inst::BulkWait { pending } => self.bulk_wait(env, *pending, active),
            Inst::MapAddress { window, d, a, rank } => {
                self.map_address(env, (*window, *d, *a, *rank), active)?;
            }
            Inst::AddressRank { window, d, a } => self.address_rank((*window, *d, *a), active),
            Inst::Trap => return Err(Raw::new(FaultKind::Trap, active.trailing_zeros(), "")),
            // Fences order nothing further: memory here is sequentially consistent within a block.
            Inst::Fence | Inst::Nop => {}
            Inst::GridWait => env.waited[self.rank as usize] = true,
            Inst::Branch { .. }
            | Inst::Indexed { .. }
            | Inst::Exit
            | Inst::Barrier { .. }
            | Inst::MbarrierWait { .. }
            | Inst::ClusterArrive { .. }
            | Inst::ClusterWait
            | Inst::WgmmaWait { .. } => {}
        }
        Ok(())
    }
}
