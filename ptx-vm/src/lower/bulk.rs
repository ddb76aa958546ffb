//! Bulk copies and mbarrier objects (PTX ISA, "cp.async.bulk", "cp.async.bulk.tensor",
//! "mbarrier").

use super::Lowerer;
use super::mods::Mods;
use super::movement::space;
use crate::ir::{Bulk, BulkGlobal, D, Inst, Mbarrier, Reg, Space, Ty};
use crate::parse::ParseError;
use crate::parse::ast::{Instruction, Operand};

impl<'a> Lowerer<'a> {
    pub(super) fn bulk(&mut self, i: &'a Instruction, m: &mut Mods<'_>) -> Result<(), ParseError> {
        if m.take("commit_group") {
            let [] = self.operands(i)?;
            return self.emit(Inst::BulkCommit);
        }
        if m.take("wait_group") {
            // `.read` waits for the reads of shared memory only, which here end with the copy.
            m.take("read");
            let [Operand::Int(pending @ 0..=0xffff)] = self.operands(i)? else {
                return m.fail("the number of groups is an immediate");
            };
            return self.emit(Inst::BulkWait {
                pending: *pending as u32,
            });
        }
        let multicast = m.take("multicast::cluster");
        let tensor = m.take("tensor");
        let prefetch = m.take("prefetch");
        let dimensions = if tensor {
            let dimensions = m.pick(|name| match name {
                "1d" => Some(1),
                "2d" => Some(2),
                "3d" => Some(3),
                "4d" => Some(4),
                "5d" => Some(5),
                _ => None,
            });
            let Some(dimensions) = dimensions else {
                return m.fail("the number of dimensions is missing");
            };
            m.take("tile");
            dimensions
        } else {
            0
        };
        if prefetch {
            if !m.take("L2") || !m.take("global") {
                return m.fail("prefetches go from .global to .L2");
            }
            let source = self.visible(i).first();
            match (source, tensor) {
                (Some(source), true) => self.tensor_address(source, dimensions).map(|_| ())?,
                (Some(source), false) => self.address(source).map(|_| ())?,
                (None, _) => return m.fail("no operands"),
            }
            return self.emit(Inst::Nop);
        }
        // The destination's space comes first.
        let to_shared = match i
            .modifiers
            .iter()
            .find(|name| name.starts_with("shared") || *name == "global")
        {
            Some(name) => name != "global",
            None => return m.fail("the state spaces are missing"),
        };
        if !m.take("global") || !(m.take("shared::cta") || m.take("shared::cluster")) {
            return m.fail("copies between global and shared memory are supported");
        }
        let completion = m.take("mbarrier::complete_tx::bytes");
        if (multicast && !to_shared)
            || completion != to_shared
            || (!to_shared && !m.take("bulk_group"))
        {
            return m.fail(".mbarrier::complete_tx::bytes to shared memory or .bulk_group to global memory is expected");
        }
        let (operands, mask) = match self.visible(i) {
            [operands @ .., mask] if multicast => (operands, Some(self.r(mask, Ty::U16)?)),
            operands => (operands, None),
        };
        let (shared, global, size, barrier) = match (tensor, to_shared, operands) {
            (true, true, [dst, src, barrier]) => (dst, src, None, Some(barrier)),
            (true, false, [dst, src]) => (src, dst, None, None),
            (false, true, [dst, src, size, barrier]) => (dst, src, Some(size), Some(barrier)),
            (false, false, [dst, src, size]) => (src, dst, Some(size), None),
            _ => return m.fail("wrong number of operands"),
        };
        let global = match size {
            Some(size) => BulkGlobal::Linear {
                addr: self.address(global)?,
                bytes: self.r(size, Ty::U32)?,
            },
            None => self.tensor_address(global, dimensions)?,
        };
        let shared = self.address(shared)?;
        let barrier = barrier.map(|barrier| self.address(barrier)).transpose()?;
        self.emit(Inst::Bulk(Box::new(Bulk {
            shared,
            global,
            barrier,
            multicast: mask,
        })))
    }

    /// `[map, {c0, c1}]`.
    fn tensor_address(
        &mut self,
        operand: &Operand,
        dimensions: usize,
    ) -> Result<BulkGlobal, ParseError> {
        let Operand::Address {
            base,
            offset,
            coordinates,
        } = operand
        else {
            return self.fail("an address in brackets is expected");
        };
        let [Operand::Vector(parts)] = coordinates.as_slice() else {
            return self.fail("a vector of coordinates is expected");
        };
        if parts.len() != dimensions {
            return self.fail(format!("{dimensions} coordinates are expected"));
        }
        let map = self.address(&Operand::Address {
            base: base.clone(),
            offset: *offset,
            coordinates: Vec::new(),
        })?;
        let coordinates = parts
            .iter()
            .map(|part| self.r(part, Ty::S32))
            .collect::<Result<_, _>>()?;
        Ok(BulkGlobal::Tensor { map, coordinates })
    }

    pub(super) fn mbarrier(
        &mut self,
        i: &'a Instruction,
        m: &mut Mods<'_>,
    ) -> Result<(), ParseError> {
        let what = m.pick(|name| {
            [
                "init",
                "inval",
                "arrive",
                "arrive_drop",
                "expect_tx",
                "try_wait",
                "test_wait",
            ]
            .into_iter()
            .find(|known| *known == name)
        });
        let Some(what) = what else {
            return m.fail("not a supported operation");
        };
        // `arrive.expect_tx`
        let expecting = what != "expect_tx" && m.take("expect_tx");
        let parity = m.take("parity");
        for order in ["release", "acquire", "relaxed", "cta", "cluster"] {
            m.take(order);
        }
        let space = m.pick(space).unwrap_or(Space::Generic);
        if !matches!(space, Space::Shared | Space::Generic) || m.ty()? != Ty::B64 {
            return m.fail("only .shared::cta.b64 is supported");
        }
        let operands = i.operands.as_slice();
        let (op, address) = match (what, operands) {
            ("init", [address, count]) => (
                Mbarrier::Init {
                    count: self.r(count, Ty::U32)?,
                },
                address,
            ),
            ("inval", [address]) => (Mbarrier::Invalidate, address),
            ("expect_tx", [address, bytes]) => (
                Mbarrier::Expect {
                    bytes: self.r(bytes, Ty::U32)?,
                },
                address,
            ),
            ("arrive" | "arrive_drop", [state, address, rest @ ..]) if rest.len() <= 1 => {
                let value = rest
                    .first()
                    .map(|value| self.r(value, Ty::U32))
                    .transpose()?;
                if expecting && value.is_none() {
                    return m.fail("the number of bytes is missing");
                }
                let (count, expect) = if expecting {
                    (None, value)
                } else {
                    (value, None)
                };
                let state = match self.register(state)? {
                    (Reg::R(_), _) => return m.fail("the state has 64 bits"),
                    (reg, _) => reg,
                };
                (
                    Mbarrier::Arrive {
                        count,
                        expect,
                        drop: what == "arrive_drop",
                        state,
                    },
                    address,
                )
            }
            // The time hint of a wait does not change its meaning.
            ("try_wait" | "test_wait", [p, address, phase] | [p, address, phase, _]) => {
                let p = self.dst_p(p)?;
                let addr = self.address(address)?;
                let (parity, state): (Option<u32>, D) = if parity {
                    (Some(self.r(phase, Ty::U32)?), 0)
                } else {
                    (None, self.d(phase, Ty::B64)?)
                };
                return self.emit(Inst::MbarrierWait {
                    space,
                    addr,
                    parity,
                    state,
                    p,
                });
            }
            _ => return m.fail("wrong number of operands"),
        };
        let addr = self.address(address)?;
        self.emit(Inst::Mbarrier { op, space, addr })
    }
}
