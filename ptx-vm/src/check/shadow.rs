//! Shadow of a block's shared memory: who wrote and who read each cell last, and when.
//!
//! Time is a vector clock per warp: `clocks[v][w]` is the last epoch of warp `w` that warp `v`
//! is ordered behind. A barrier joins the clocks of the warps it holds and starts a new epoch
//! in each; `bar.warp.sync` starts a new epoch in its own (shuffles and votes order no memory). Two accesses of
//! different threads are ordered if the later warp's clock covers the earlier epoch; lanes of one warp are, up
//! to the last epoch in which they met: at a barrier, or at an mbarrier that one of them has waited for. That a lane
//! arrives at an mbarrier tells the others nothing.
//!
//! What units of the hardware do on behalf of threads has clocks of its own: one for bulk copies in
//! either direction, one for the tensor instructions of each warpgroup. A thread is ordered behind such an access
//! when it has waited for it (`mbarrier`, `wgmma.wait_group`, `cp.async.bulk.wait_group`). An
//! mbarrier carries the clocks of those that arrive to those that wait.
//!
//! A cell remembers its last write and two reads by different threads. With barriers of the
//! whole block that finds every race that the executed order exhibits; with named barriers of
//! some warps a third unordered reader can hide behind two ordered ones.

use super::{Checked, FaultKind, Raw};

/// One remembered access: valid, pending, atomic, thread (14 bits), instruction (20), epoch (27).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Touch(pub(super) u64);

pub(super) const VALID: u64 = 1 << 63;
pub(super) const PENDING: u64 = 1 << 62;
const ATOMIC: u64 = 1 << 61;

impl Touch {
    pub(super) fn new(thread: u32, pc: u32, epoch: u32, flags: u64) -> Self {
        Self(
            VALID
                | flags
                | u64::from(thread & 0x3fff) << 47
                | u64::from(pc & 0xf_ffff) << 27
                | u64::from(epoch & 0x7ff_ffff),
        )
    }

    pub(super) fn has(self, flag: u64) -> bool {
        self.0 & flag != 0
    }

    pub(super) fn thread(self) -> u32 {
        (self.0 >> 47) as u32 & 0x3fff
    }

    fn pc(self) -> u32 {
        (self.0 >> 27) as u32 & 0xf_ffff
    }

    fn epoch(self) -> u32 {
        self.0 as u32 & 0x7ff_ffff
    }
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cell {
    pub(super) write: Touch,
    pub(super) reads: [Touch; 2],
}

/// How a cell is accessed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    Read,
    /// The stored bits equal those in memory.
    SameWrite,
    Write,
    Atomic,
    /// A load that is ordered, such as `ld.relaxed`: it races with nothing.
    StrongRead,
    /// A store that is ordered: it races with plain accesses only.
    StrongWrite,
    /// Issue of a `cp.async`.
    AsyncIssue,
}

/// The access being checked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Actor {
    /// Linear thread index within the cluster, every block padded to whole warps.
    pub thread: u32,
    pub pc: u32,
}

/// Shadow cells and clocks of one block, or of a cluster of blocks.
#[derive(Debug, Default)]
pub(crate) struct Shadow {
    pub(super) cells: Vec<Cell>,
    /// log2 of the bytes per cell: 0, or 2 where no access is narrower than a word.
    pub(super) shift: u32,
    pub(super) warps: usize,
    pub(super) warps_per_block: usize,
    /// Warps, each block's two units of bulk copies, the tensor unit of each warpgroup.
    pub(super) agents: usize,
    pub(super) clocks: Vec<u32>,
    /// For each warp, the last epoch whose accesses all its lanes are ordered behind.
    pub(super) met: Vec<u32>,
    /// The first use of a value read from unwritten memory. It waits for the next barrier or the end of the block:
    /// if another thread writes there before, the kernel lacks a barrier, and the race says more.
    deferred: Option<(Actor, Box<Raw>)>,
    pub races: bool,
    pub uninitialized: bool,
}

impl Shadow {
    /// Forgets everything: a new cluster starts, of `blocks` blocks of `warps` warps, with `bytes`
    /// of shared memory in all.
    pub fn reset(&mut self, bytes: usize, narrow: bool, blocks: usize, warps: usize) {
        self.shift = if narrow { 0 } else { 2 };
        self.cells.clear();
        self.cells
            .resize(bytes.div_ceil(1 << self.shift), Cell::default());
        self.warps = blocks * warps;
        self.warps_per_block = warps;
        self.deferred = None;
        self.met.clear();
        self.met.resize(self.warps, 0);
        self.clocks.clear();
        self.agents = blocks * (warps + 2 + warps.div_ceil(4));
        let n = self.agents;
        self.clocks.resize(n * n, 0);
        (0..n).for_each(|w| self.clocks[w * n + w] = 1);
    }

    /// A barrier that `members` have reached.
    pub fn join(&mut self, members: &[usize]) {
        let n = self.agents;
        let mut joined = vec![0; n];
        for &m in members {
            for (j, c) in joined.iter_mut().zip(&self.clocks[m * n..]) {
                *j = (*j).max(*c);
            }
        }
        for &m in members {
            self.clocks[m * n..(m + 1) * n].copy_from_slice(&joined);
            self.met[m] = joined[m];
            self.clocks[m * n + m] += 1;
        }
    }

    /// A warp-wide synchronisation of warp `w`.
    pub fn warp_sync(&mut self, w: usize) {
        let epoch = &mut self.clocks[w * self.agents + w];
        self.met[w] = *epoch;
        *epoch += 1;
    }

    /// A value read from unwritten memory has been used. If another thread has written there since,
    /// it is a race; otherwise the fault waits, and the read is remembered.
    pub fn defer(
        &mut self,
        mut raw: Box<Raw>,
        (offset, bytes): (u64, u32),
        actor: Actor,
    ) -> Checked<()> {
        let w = actor.thread as usize / 32;
        let epoch = self.clocks[w * self.agents + w];
        let first = offset as usize >> self.shift;
        let last = (offset as usize + bytes as usize - 1) >> self.shift;
        for index in first..=last {
            let write = self.cells[index].write;
            if write.has(VALID) && write.thread() != actor.thread {
                self.bad_read(index, write, actor)?;
                // Ordered by now, but it came after the read.
                raw.other = Some(("later write", write.pc(), write.thread()));
            }
            self.cells[index].reads[0] = Touch::new(actor.thread, actor.pc, epoch, 0);
        }
        self.deferred.get_or_insert((actor, raw));
        Ok(())
    }

    /// Whether a use of unwritten memory waits to be reported.
    pub fn has_deferred(&self) -> bool {
        self.deferred.is_some()
    }

    /// That use and who did the read.
    pub fn take_deferred(&mut self) -> Option<(Actor, Box<Raw>)> {
        self.deferred.take()
    }

    pub(super) fn ordered(&self, earlier: Touch, actor: Actor) -> bool {
        let (w, v) = (earlier.thread() as usize / 32, actor.thread as usize / 32);
        let known = match w == v {
            true => self.met[w],
            false => self.clocks[v * self.agents + w],
        };
        earlier.epoch() <= known
    }

    /// Checks and records an access of `bytes` at `offset`, which are within bounds.
    #[inline]
    pub fn access(&mut self, offset: u64, bytes: u32, how: Use, actor: Actor) -> Checked<()> {
        let first = offset as usize >> self.shift;
        let last = (offset as usize + bytes as usize - 1) >> self.shift;
        for index in first..=last {
            self.cell(index, how, actor)?;
        }
        Ok(())
    }

    #[inline]
    fn cell(&mut self, index: usize, how: Use, actor: Actor) -> Checked<()> {
        let cell = self.cells[index];
        let w = actor.thread as usize / 32;
        let epoch = self.clocks[w * self.agents + w];
        if how == Use::StrongRead {
            let write = cell.write;
            return if write.has(VALID) && !write.has(PENDING) {
                Ok(())
            } else {
                self.bad_read(index, write, actor)
            };
        }
        if how == Use::Read {
            // The common case first: written before the last barrier, or by this thread.
            let known = cell.write.has(VALID) && !cell.write.has(PENDING);
            let mine = cell.write.thread() == actor.thread;
            if !(known && (mine || self.ordered(cell.write, actor))) {
                self.bad_read(index, cell.write, actor)?;
            }
            let touch = Touch::new(actor.thread, actor.pc, epoch, 0);
            let reads = &mut self.cells[index].reads;
            if reads[0].thread() == actor.thread || !reads[0].has(VALID) || reads[0].epoch() < epoch
            {
                reads[0] = touch;
            } else {
                reads[1] = touch;
            }
            return Ok(());
        }
        if self.races {
            self.write_conflicts(index, cell, how, actor)?;
        }
        let flags = match how {
            Use::AsyncIssue => PENDING,
            Use::Atomic | Use::StrongWrite => ATOMIC,
            _ => 0,
        };
        if how == Use::Atomic && self.uninitialized && !cell.write.has(VALID) {
            return Err(self.raw(
                FaultKind::Uninitialized,
                index,
                "atomic on unwritten memory",
                None,
            ));
        }
        self.cells[index] = Cell {
            write: Touch::new(actor.thread, actor.pc, epoch, flags),
            reads: [Touch(0); 2],
        };
        Ok(())
    }

    pub(super) fn bad_read(&self, index: usize, write: Touch, actor: Actor) -> Checked<()> {
        if !write.has(VALID) {
            if self.uninitialized {
                return Err(self.raw(FaultKind::Uninitialized, index, "shared memory", None));
            }
        } else if self.races && write.has(PENDING) {
            let detail = "read before cp.async.wait_group or wait_all";
            return Err(self.raw(
                FaultKind::AsyncNotWaited,
                index,
                detail,
                Some(("cp.async", write)),
            ));
        } else if self.races && self.by_unit(write) && !self.ordered(write, actor) {
            let detail = "read before the wait for a bulk copy";
            return Err(self.raw(
                FaultKind::AsyncNotWaited,
                index,
                detail,
                Some(("copy", write)),
            ));
        } else if self.races && write.thread() != actor.thread && !self.ordered(write, actor) {
            return Err(self.raw(FaultKind::SharedRace, index, "read", Some(("write", write))));
        }
        Ok(())
    }

    pub(super) fn write_conflicts(
        &self,
        index: usize,
        cell: Cell,
        how: Use,
        actor: Actor,
    ) -> Checked<()> {
        let name = match how {
            Use::AsyncIssue => "copy",
            Use::Atomic => "atomic",
            _ => "write",
        };
        let write = cell.write;
        if write.has(PENDING) {
            let detail = format!("{name} while a copy into the same place is in flight");
            return Err(self.raw(
                FaultKind::AsyncNotWaited,
                index,
                detail,
                Some(("cp.async", write)),
            ));
        }
        let unordered =
            |t: Touch| t.has(VALID) && t.thread() != actor.thread && !self.ordered(t, actor);
        let both_atomic = matches!(how, Use::Atomic | Use::StrongWrite) && write.has(ATOMIC);
        // One instruction may store the same bits from many lanes.
        let same = how == Use::SameWrite
            && write.pc() == actor.pc
            && write.thread() / 32 == actor.thread / 32;
        if unordered(write) && self.by_unit(write) {
            let detail = format!("{name} before the wait for a bulk copy");
            return Err(self.raw(
                FaultKind::AsyncNotWaited,
                index,
                detail,
                Some(("copy", write)),
            ));
        }
        if unordered(write) && !both_atomic && !same {
            return Err(self.raw(FaultKind::SharedRace, index, name, Some(("write", write))));
        }
        for read in cell.reads {
            if unordered(read) && self.by_unit(read) {
                let detail = format!("{name} while a unit may still read");
                return Err(self.raw(
                    FaultKind::AsyncNotWaited,
                    index,
                    detail,
                    Some(("asynchronous read", read)),
                ));
            }
            if unordered(read) {
                return Err(self.raw(FaultKind::SharedRace, index, name, Some(("read", read))));
            }
        }
        Ok(())
    }

    /// The copy of `actor` into these bytes has been waited for.
    pub fn complete(&mut self, offset: u64, bytes: u32, actor: Actor) {
        let w = actor.thread as usize / 32;
        let epoch = self.clocks[w * self.agents + w];
        let first = offset as usize >> self.shift;
        let last = (offset as usize + bytes as usize - 1) >> self.shift;
        for index in first..=last {
            self.cells[index].write = Touch::new(actor.thread, actor.pc, epoch, 0);
        }
    }

    fn raw(
        &self,
        kind: FaultKind,
        index: usize,
        detail: impl Into<String>,
        other: Option<(&'static str, Touch)>,
    ) -> Box<Raw> {
        let mut raw = Raw::at(kind, 0, (index as u64) << self.shift, detail);
        raw.other = other.map(|(action, touch)| (action, touch.pc(), touch.thread()));
        raw
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shadow() -> Shadow {
        let mut shadow = Shadow {
            races: true,
            uninitialized: true,
            ..Shadow::default()
        };
        shadow.reset(64, false, 1, 2);
        shadow
    }

    fn by(thread: u32) -> Actor {
        Actor { thread, pc: 7 }
    }

    #[test]
    fn a_barrier_orders_and_its_absence_does_not() {
        let mut s = shadow();
        s.access(0, 4, Use::Write, by(0)).unwrap();
        s.access(0, 4, Use::Read, by(0)).unwrap();
        assert_eq!(
            s.access(0, 4, Use::Read, by(33)).unwrap_err().kind,
            FaultKind::SharedRace
        );
        assert_eq!(
            s.access(0, 4, Use::Read, by(1)).unwrap_err().kind,
            FaultKind::SharedRace
        );
        s.join(&[0, 1]);
        s.access(0, 4, Use::Read, by(33)).unwrap();
        s.access(0, 4, Use::Read, by(1)).unwrap();
        assert_eq!(
            s.access(0, 4, Use::Write, by(1)).unwrap_err().kind,
            FaultKind::SharedRace
        );
        s.join(&[0, 1]);
        s.access(0, 4, Use::Write, by(1)).unwrap();
    }

    #[test]
    fn a_warp_barrier_orders_its_warp_only() {
        let mut s = shadow();
        s.access(0, 4, Use::Write, by(0)).unwrap();
        s.warp_sync(0);
        s.access(0, 4, Use::Read, by(1)).unwrap();
        assert_eq!(
            s.access(0, 4, Use::Read, by(32)).unwrap_err().kind,
            FaultKind::SharedRace
        );
    }

    #[test]
    fn an_arrival_orders_its_warp_only_when_it_is_waited_for() {
        let mut s = shadow();
        s.access(0, 4, Use::Read, by(1)).unwrap_err();
        s.access(0, 4, Use::Write, by(1)).unwrap();
        let mut arrived = Vec::new();
        s.release(0, &mut arrived);
        assert_eq!(
            s.access(0, 4, Use::Write, by(0)).unwrap_err().kind,
            FaultKind::SharedRace
        );
        s.acquire(0, &arrived);
        s.access(0, 4, Use::Write, by(0)).unwrap();
    }

    #[test]
    fn pending_copies_are_not_readable() {
        let mut s = shadow();
        s.access(16, 16, Use::AsyncIssue, by(0)).unwrap();
        assert_eq!(
            s.access(20, 4, Use::Read, by(0)).unwrap_err().kind,
            FaultKind::AsyncNotWaited
        );
        s.complete(16, 16, by(0));
        s.access(20, 4, Use::Read, by(0)).unwrap();
        assert_eq!(
            s.access(20, 4, Use::Read, by(40)).unwrap_err().kind,
            FaultKind::SharedRace
        );
        let raw = s.access(32, 4, Use::Read, by(0)).unwrap_err();
        s.defer(raw, (32, 4), by(0)).unwrap();
        assert_eq!(s.take_deferred().unwrap().1.kind, FaultKind::Uninitialized);
        let late = s.access(32, 4, Use::Write, by(33)).unwrap_err();
        assert_eq!(late.kind, FaultKind::SharedRace);
    }
}
