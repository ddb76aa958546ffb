//! Barriers and warp-wide instructions (PTX ISA, "Parallel Synchronization and Communication
//! Instructions").

use super::Lowerer;
use super::mods::Mods;
use crate::ir::{BarrierKind, Inst, R, Redux, Shfl, Ty, Vote};
use crate::parse::ParseError;
use crate::parse::ast::{Instruction, Operand};

impl<'a> Lowerer<'a> {
    pub(super) fn sync(&mut self, i: &'a Instruction, m: &mut Mods<'_>) -> Result<(), ParseError> {
        match i.opcode.as_str() {
            "bar" if m.take("warp") => {
                if !m.take("sync") {
                    return m.fail("only bar.warp.sync exists");
                }
                let [mask] = self.operands(i)?;
                let mask = self.r(mask, Ty::B32)?;
                self.emit(Inst::WarpBarrier { mask })
            }
            "bar" | "barrier" => self.barrier(i, m),
            "membar" => {
                if !["gl", "cta", "sys"].iter().any(|level| m.take(level)) {
                    return m.fail("one of .cta, .gl, .sys is expected");
                }
                let [] = self.operands(i)?;
                self.emit(Inst::Fence)
            }
            "fence" if m.take("proxy") => {
                if !m.take("async") {
                    return m.fail("only fence.proxy.async is supported");
                }
                ["global", "shared::cta", "shared::cluster"]
                    .iter()
                    .for_each(|space| {
                        m.take(space);
                    });
                let [] = self.operands(i)?;
                self.emit(Inst::Fence)
            }
            "fence" => {
                if m.take("mbarrier_init") && !(m.take("release") && m.take("cluster")) {
                    return m.fail("fence.mbarrier_init.release.cluster is expected");
                }
                ["sc", "acq_rel", "acquire", "release"]
                    .iter()
                    .for_each(|order| {
                        m.take(order);
                    });
                ["cta", "cluster", "gpu", "sys"].iter().for_each(|scope| {
                    m.take(scope);
                });
                let [] = self.operands(i)?;
                self.emit(Inst::Fence)
            }
            "griddepcontrol" => {
                let waits = m.take("wait");
                if !waits && !m.take("launch_dependents") {
                    return m.fail("one of .wait, .launch_dependents is expected");
                }
                let [] = self.operands(i)?;
                self.emit(if waits { Inst::GridWait } else { Inst::Nop })
            }
            "shfl" => self.shuffle(i, m),
            "vote" => {
                self.need_sync(m)?;
                let op = m.pick(|name| match name {
                    "all" => Some(Vote::All),
                    "any" => Some(Vote::Any),
                    "uni" => Some(Vote::Uni),
                    "ballot" => Some(Vote::Ballot),
                    _ => None,
                });
                let Some(op) = op else {
                    return m.fail("no supported mode");
                };
                m.ty()?;
                let [d, a, mask] = self.operands(i)?;
                let (d, p) = if op == Vote::Ballot {
                    (self.dst_r(d, Ty::B32)?, None)
                } else {
                    (0, Some(self.dst_p(d)?))
                };
                let (a, mask) = (self.pred(a)?, self.r(mask, Ty::B32)?);
                self.emit(Inst::Vote { op, d, p, a, mask })
            }
            "match" => {
                let all = m.take("all");
                if !all && !m.take("any") {
                    return m.fail("one of .any, .all is expected");
                }
                self.need_sync(m)?;
                let ty = m.ty()?;
                let [d, a, mask] = self.operands(i)?;
                let (d, p) = self.dst_r_and_p(d)?;
                let (a, mask) = (self.source(a, ty)?, self.r(mask, Ty::B32)?);
                self.emit(Inst::Match { all, d, p, a, mask })
            }
            "redux" => {
                self.need_sync(m)?;
                let ty = m.ty()?;
                let signed = ty.signed();
                if ty.bytes() != 4 || ty.is_float() {
                    return m.fail("the type is not supported");
                }
                let op = m.pick(|name| match name {
                    "add" => Some(Redux::Add),
                    "min" => Some(if signed { Redux::MinS } else { Redux::MinU }),
                    "max" => Some(if signed { Redux::MaxS } else { Redux::MaxU }),
                    "and" => Some(Redux::And),
                    "or" => Some(Redux::Or),
                    "xor" => Some(Redux::Xor),
                    _ => None,
                });
                let Some(op) = op else {
                    return m.fail("no supported operation");
                };
                let [d, a, mask] = self.operands(i)?;
                let (d, a, mask) = (self.dst_r(d, ty)?, self.r(a, ty)?, self.r(mask, Ty::B32)?);
                self.emit(Inst::Redux { op, d, a, mask })
            }
            _ => {
                self.need_sync(m)?;
                let [d, mask] = self.operands(i)?;
                let Operand::Pair(d, p) = d else {
                    return m.fail("a destination d|p is expected");
                };
                let d = if d == "_" {
                    None
                } else {
                    Some(self.dst_r(&Operand::Word(d.clone()), Ty::B32)?)
                };
                let (p, mask) = (self.dst_p_named(p)?, self.r(mask, Ty::B32)?);
                self.emit(Inst::Elect { d, p, mask })
            }
        }
    }

    fn need_sync(&self, m: &mut Mods<'_>) -> Result<(), ParseError> {
        if m.take("sync") {
            Ok(())
        } else {
            m.fail("the forms without .sync do not exist since sm_70")
        }
    }

    fn shuffle(&mut self, i: &'a Instruction, m: &mut Mods<'_>) -> Result<(), ParseError> {
        self.need_sync(m)?;
        let mode = m.pick(|name| match name {
            "up" => Some(Shfl::Up),
            "down" => Some(Shfl::Down),
            "bfly" => Some(Shfl::Bfly),
            "idx" => Some(Shfl::Idx),
            _ => None,
        });
        let Some(mode) = mode else {
            return m.fail("no supported mode");
        };
        let ty = m.ty()?;
        if ty.bytes() != 4 {
            return m.fail("only .b32 is supported");
        }
        let [d, a, b, c, mask] = self.operands(i)?;
        let (d, p) = self.dst_r_and_p(d)?;
        let a = self.r(a, ty)?;
        let [b, c, mask] = self.three(b, c, mask)?;
        self.emit(Inst::Shuffle {
            mode,
            d,
            p,
            a,
            b,
            c,
            mask,
        })
    }

    fn three(&mut self, a: &Operand, b: &Operand, c: &Operand) -> Result<[R; 3], ParseError> {
        Ok([
            self.r(a, Ty::B32)?,
            self.r(b, Ty::B32)?,
            self.r(c, Ty::B32)?,
        ])
    }

    fn barrier(&mut self, i: &'a Instruction, m: &mut Mods<'_>) -> Result<(), ParseError> {
        m.take("cta");
        let aligned = m.take("aligned") || i.opcode == "bar";
        if m.take("cluster") {
            let [] = self.operands(i)?;
            if m.take("wait") {
                m.take("acquire");
                return self.emit(Inst::ClusterWait);
            }
            if !m.take("arrive") {
                return m.fail("one of .arrive, .wait is expected");
            }
            m.take("release");
            let release = !m.take("relaxed");
            return self.emit(Inst::ClusterArrive { release });
        }
        if m.take("sync") {
            let (id, threads) = self.barrier_operands(m, &i.operands)?;
            return self.emit(Inst::Barrier {
                kind: BarrierKind::Sync,
                aligned,
                id,
                threads,
            });
        }
        if m.take("arrive") {
            let (id, threads) = self.barrier_operands(m, &i.operands)?;
            if threads.is_none() {
                return m.fail("the number of threads is missing");
            }
            return self.emit(Inst::Barrier {
                kind: BarrierKind::Arrive,
                aligned,
                id,
                threads,
            });
        }
        if !m.take("red") {
            return m.fail("one of .sync, .arrive, .red is expected");
        }
        let [d, middle @ .., pred] = i.operands.as_slice() else {
            return m.fail("destination, barrier and predicate are expected");
        };
        let pred = self.pred(pred)?;
        let kind = if m.take("popc") {
            m.ty()?;
            BarrierKind::RedPopc {
                dst: self.dst_r(d, Ty::B32)?,
                pred,
            }
        } else if m.take("and") {
            m.ty()?;
            BarrierKind::RedAnd {
                dst: self.dst_p(d)?,
                pred,
            }
        } else if m.take("or") {
            m.ty()?;
            BarrierKind::RedOr {
                dst: self.dst_p(d)?,
                pred,
            }
        } else {
            return m.fail("one of .popc, .and, .or is expected");
        };
        let (id, threads) = self.barrier_operands(m, middle)?;
        self.emit(Inst::Barrier {
            kind,
            aligned,
            id,
            threads,
        })
    }

    fn barrier_operands(
        &mut self,
        m: &Mods<'_>,
        operands: &[Operand],
    ) -> Result<(R, Option<R>), ParseError> {
        match operands {
            [id] => Ok((self.r(id, Ty::U32)?, None)),
            [id, threads] => Ok((self.r(id, Ty::U32)?, Some(self.r(threads, Ty::U32)?))),
            _ => m.fail("a barrier and optionally a number of threads are expected"),
        }
    }
}
