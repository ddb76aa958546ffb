//! mbarrier objects (PTX ISA, "mbarrier").
//!
//! An object is known by its address; the 64 bits in shared memory, opaque to kernels, are not
//! used. A phase ends when all arrivals and all announced bytes are in. An arrival releases:
//! the barrier takes the clocks of the warp; a successful wait acquires those of the phase.
//!
//! The bytes of a copy are counted when all warps have had their turn: a kernel that asks once
//! and goes on, instead of asking until it is told so, is found.

use std::collections::HashMap;

use super::access::{Group, shared_bounds};
use super::warp::{Env, Warp};
use super::{WARP, lanes};
use crate::check::{Checked, FaultKind, Raw};
use crate::ir::{Addr, Mbarrier, R, Space};

#[derive(Debug, Clone, Default)]
pub(crate) struct Object {
    expected: u32,
    pending: u32,
    /// Announced minus arrived bytes of the present phase.
    bytes: i64,
    phase: u64,
    /// Clocks of what has arrived, and those that the last completed phase ended with.
    arriving: Vec<u32>,
    completed: Vec<u32>,
}

impl Object {
    /// Ends the phase if nothing is missing.
    fn settle(&mut self) {
        if self.pending == 0 && self.bytes == 0 {
            self.phase += 1;
            self.pending = self.expected;
            self.completed.clone_from(&self.arriving);
        }
    }
}

/// The mbarrier objects of a block by offset in shared memory.
#[derive(Debug, Default)]
pub(crate) struct Mbarriers {
    objects: HashMap<u64, Object>,
    /// Copies that have not arrived: object, bytes, unit and epoch.
    in_flight: Vec<(u64, u32, (usize, u32))>,
    /// Arrivals that wait for the copies of a thread.
    after_copies: Vec<AfterCopies>,
    /// Counts changes of any object: waiting without one in between is fruitless.
    pub changes: u64,
}

/// An arrival that follows a thread's copies before number `end`.
#[derive(Debug, Clone, Copy)]
struct AfterCopies {
    at: u64,
    warp: usize,
    lane: u32,
    end: u64,
}

/// What a waiting warp waits for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wait {
    pub space: Space,
    pub addr: Addr,
    pub parity: Option<R>,
    pub state: u32,
    pub p: u32,
}

impl Mbarriers {
    pub fn reset(&mut self) {
        self.objects.clear();
        self.in_flight.clear();
        self.after_copies.clear();
        self.changes = 0;
    }

    fn get(&mut self, lane: usize, at: u64) -> Checked<&mut Object> {
        self.changes += 1;
        match self.objects.get_mut(&at) {
            Some(object) => Ok(object),
            None => Err(Raw::at(
                FaultKind::InvalidOperand,
                lane as u32,
                at,
                "no mbarrier was initialised here",
            )),
        }
    }

    /// A copy of `bytes` by `unit` in `epoch` has been issued.
    pub fn copy(&mut self, lane: usize, at: u64, bytes: u32, unit: (usize, u32)) -> Checked<()> {
        self.get(lane, at)?;
        self.in_flight.push((at, bytes, unit));
        Ok(())
    }

    /// The copies issued so far arrive.
    fn land(&mut self) {
        for (at, bytes, (unit, epoch)) in std::mem::take(&mut self.in_flight) {
            // An object invalidated in the meantime has nobody waiting.
            let Some(object) = self.objects.get_mut(&at) else {
                continue;
            };
            if object.arriving.len() <= unit {
                object.arriving.resize(unit + 1, 0);
            }
            object.arriving[unit] = object.arriving[unit].max(epoch);
            object.bytes -= i64::from(bytes);
            object.settle();
            self.changes += 1;
        }
    }

    /// One arrival with the clocks of warp `w`.
    fn arrive_later(&mut self, at: u64, w: usize, shadow: &mut crate::check::shadow::Shadow) {
        if let Some(object) = self.objects.get_mut(&at) {
            shadow.release(w, &mut object.arriving);
            object.pending = object.pending.saturating_sub(1);
            object.settle();
            self.changes += 1;
        }
    }

    /// What is missing at an object, for a message.
    pub fn describe(&self, at: u64) -> String {
        match self.objects.get(&at) {
            Some(o) => format!(
                "mbarrier at {at:#x} in phase {}: {} of {} arrivals and {} bytes are missing",
                o.phase, o.pending, o.expected, o.bytes
            ),
            None => format!("no mbarrier was initialised at {at:#x}"),
        }
    }
}

/// What was under way between the turns of the warps arrives: bulk copies, and the copies that
/// arrivals wait for.
pub(super) fn land(warps: &mut [Warp], env: &mut Env<'_, '_>) {
    env.mbarriers.land();
    for after in std::mem::take(&mut env.mbarriers.after_copies) {
        warps[after.warp].land_copies(env, after.lane, after.end);
        env.mbarriers.arrive_later(after.at, after.warp, env.shadow);
    }
}

impl Warp {
    /// Offset in shared memory of a lane's address, which must be aligned to `align`.
    pub(super) fn shared_place(
        &self,
        env: &Env<'_, '_>,
        (space, addr): (Space, Addr),
        lane: usize,
        (bytes, align): (u32, u32),
    ) -> Checked<u64> {
        let groups = self.groups(space, self.addresses(addr), 1 << lane);
        let Some(Group {
            space: Space::Shared,
            offsets,
            ..
        }) = groups.first()
        else {
            return Err(Raw::new(
                FaultKind::InvalidOperand,
                lane as u32,
                "the address is not in shared memory",
            ));
        };
        let at = shared_bounds(env, self.rank, lane, offsets[lane], bytes)?;
        if !at.is_multiple_of(align.into()) {
            return Err(Raw::at(
                FaultKind::Misaligned,
                lane as u32,
                at,
                format!("not a multiple of {align}"),
            ));
        }
        Ok(at)
    }

    pub(super) fn mbarrier(
        &mut self,
        env: &mut Env<'_, '_>,
        op: &Mbarrier,
        place: (Space, Addr),
        active: u32,
    ) -> Checked<()> {
        let w = self.number as usize;
        for lane in lanes(active) {
            let at = self.shared_place(env, place, lane, (8, 8))?;
            let value = |slot: R| self.r[slot as usize][lane];
            match op {
                Mbarrier::Init { count } => {
                    let expected = value(*count);
                    if !(1..1 << 20).contains(&expected) {
                        let detail = format!("{expected} arrivals; 1 to 2^20 - 1 are possible");
                        return Err(Raw::at(FaultKind::InvalidOperand, lane as u32, at, detail));
                    }
                    env.mbarriers.changes += 1;
                    let object = Object {
                        expected,
                        pending: expected,
                        ..Object::default()
                    };
                    env.mbarriers.objects.insert(at, object);
                }
                Mbarrier::Invalidate => {
                    env.mbarriers.get(lane, at)?;
                    env.mbarriers.objects.remove(&at);
                }
                Mbarrier::Expect { bytes } => {
                    env.mbarriers.get(lane, at)?.bytes += i64::from(value(*bytes));
                }
                Mbarrier::ArriveAfterCopies { extra } => {
                    let object = env.mbarriers.get(lane, at)?;
                    object.pending += u32::from(*extra);
                    let end = self.copies.issued();
                    let after = AfterCopies {
                        at,
                        warp: w,
                        lane: lane as u32,
                        end,
                    };
                    env.mbarriers.after_copies.push(after);
                }
                Mbarrier::Arrive {
                    count,
                    expect,
                    drop,
                    state,
                } => {
                    let (count, expect) = (count.map_or(1, value), expect.map_or(0, value));
                    let object = env.mbarriers.get(lane, at)?;
                    object.bytes += i64::from(expect);
                    if count == 0 || count > object.pending {
                        let detail = format!(
                            "{count} arrivals at an mbarrier that awaits {}",
                            object.pending
                        );
                        return Err(Raw::at(FaultKind::InvalidOperand, lane as u32, at, detail));
                    }
                    let phase = object.phase;
                    env.shadow.release(w, &mut object.arriving);
                    object.pending -= count;
                    object.expected -= if *drop { count } else { 0 };
                    object.settle();
                    self.set(*state, lane, phase);
                }
            }
        }
        Ok(())
    }

    /// Whether all lanes' phases are complete; their predicates say so lane by lane.
    pub(super) fn mbarrier_wait(
        &mut self,
        env: &mut Env<'_, '_>,
        wait: Wait,
        active: u32,
    ) -> Checked<bool> {
        let mut done = 0;
        let changes = env.mbarriers.changes;
        for lane in lanes(active) {
            let at = self.shared_place(env, (wait.space, wait.addr), lane, (8, 8))?;
            let object = env.mbarriers.get(lane, at)?;
            let complete = match wait.parity {
                // The phase of this parity is complete when the present one has the other.
                Some(parity) => object.phase & 1 != u64::from(self.r[parity as usize][lane] & 1),
                None => object.phase > self.d[wait.state as usize][lane],
            };
            if complete {
                env.shadow.acquire(self.number as usize, &object.completed);
                done |= 1 << lane;
            }
        }
        env.mbarriers.changes = changes;
        self.set_p(wait.p, active, done);
        Ok(done == active)
    }

    /// Why waiting is fruitless.
    pub(super) fn fruitless(&self, env: &Env<'_, '_>) -> Box<Raw> {
        let detail = "waits for warps that do not come: of its warpgroup to the same wgmma, or of its cluster to the barrier";
        let mut raw = Raw::new(FaultKind::Deadlock, 0, detail);
        if let Some(crate::ir::Op {
            inst: crate::ir::Inst::MbarrierWait { space, addr, .. },
            ..
        }) = env.frozen.program.code.get(self.pc as usize)
        {
            let lane = self.waiting.trailing_zeros() as usize % WARP;
            raw.lane = lane as u32;
            if let Ok(at) = self.shared_place(env, (*space, *addr), lane, (8, 8)) {
                raw.address = Some(at);
                raw.detail = env.mbarriers.describe(at);
            }
        }
        raw
    }
}
