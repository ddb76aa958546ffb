//! Clocks of the hardware's units, and how mbarriers carry clocks.

use super::shadow::{Actor, Cell, PENDING, Shadow, Touch, Use, VALID};
use super::{Checked, FaultKind};

impl Shadow {
    /// Warps of a block.
    pub fn warps_per_block(&self) -> usize {
        self.warps_per_block
    }

    /// The unit that does the bulk copies of warp `w`'s block: one for those into shared memory,
    /// another for those out of it. They are waited for apart.
    pub fn copier(&self, w: usize, to_shared: bool) -> usize {
        self.warps + 2 * (w / self.warps_per_block) + usize::from(!to_shared)
    }

    /// The tensor unit of warp `w`'s warpgroup.
    pub fn tensor_unit(&self, w: usize) -> usize {
        let (block, warp) = (w / self.warps_per_block, w % self.warps_per_block);
        let blocks = self.warps / self.warps_per_block;
        self.warps + 2 * blocks + block * self.warps_per_block.div_ceil(4) + warp / 4
    }

    /// Starts an epoch of a unit, for one copy; returns it.
    pub fn tick(&mut self, unit: usize) -> u32 {
        let clock = &mut self.clocks[unit * self.agents + unit];
        *clock += 1;
        *clock
    }

    /// Warp `w` has waited for what `unit` did up to `epoch`.
    pub fn observe(&mut self, w: usize, unit: usize, epoch: u32) {
        let clock = &mut self.clocks[w * self.agents + unit];
        *clock = (*clock).max(epoch);
    }

    /// Joins the clocks of warp `w` into `into`, and starts a new epoch in `w`.
    pub fn release(&mut self, w: usize, into: &mut Vec<u32>) {
        into.resize(self.agents, 0);
        let row = &mut self.clocks[w * self.agents..(w + 1) * self.agents];
        into.iter_mut()
            .zip(row.iter())
            .for_each(|(i, c)| *i = (*i).max(*c));
        row[w] += 1;
    }

    /// Joins `from` into the clocks of warp `w`.
    pub fn acquire(&mut self, w: usize, from: &[u32]) {
        if let Some(&own) = from.get(w) {
            self.met[w] = self.met[w].max(own);
        }
        let row = &mut self.clocks[w * self.agents..(w + 1) * self.agents];
        // The warp's own entry is its present epoch, which `from` cannot exceed.
        row.iter_mut()
            .zip(from)
            .for_each(|(c, f)| *c = (*c).max(*f));
    }

    /// An access by `unit` in its `epoch`, issued by `actor`, who must be ordered behind what the
    /// access conflicts with.
    pub fn unit_access(
        &mut self,
        offset: u64,
        bytes: u32,
        write: bool,
        actor: Actor,
        (unit, epoch): (usize, u32),
    ) -> Checked<()> {
        let touch = Touch::new(unit as u32 * 32, actor.pc, epoch, 0);
        let first = offset as usize >> self.shift;
        let last = (offset as usize + bytes as usize - 1) >> self.shift;
        for index in first..=last {
            let cell = self.cells[index];
            if write {
                if self.races {
                    self.write_conflicts(index, cell, Use::AsyncIssue, actor)?;
                }
                self.cells[index] = Cell {
                    write: touch,
                    reads: [Touch(0); 2],
                };
                continue;
            }
            if !cell.write.has(VALID)
                || cell.write.has(PENDING)
                || cell.write.thread() != actor.thread
            {
                let read = self.bad_read_unless_ordered(index, cell.write, actor);
                if let Err(mut raw) = read {
                    if raw.kind != FaultKind::Uninitialized {
                        return Err(raw);
                    }
                    raw.lane = actor.thread % 32;
                    self.defer(raw, ((index as u64) << self.shift, 1), actor)?;
                }
            }
            let reads = &mut self.cells[index].reads;
            if !reads[0].has(VALID) || reads[0].thread() == touch.thread() {
                reads[0] = touch;
            } else {
                reads[1] = touch;
            }
        }
        Ok(())
    }

    fn bad_read_unless_ordered(&self, index: usize, write: Touch, actor: Actor) -> Checked<()> {
        if write.has(VALID) && !write.has(PENDING) && self.ordered(write, actor) {
            return Ok(());
        }
        self.bad_read(index, write, actor)
    }

    /// Whether a unit did this access, rather than a thread.
    pub(super) fn by_unit(&self, touch: Touch) -> bool {
        touch.thread() as usize / 32 >= self.warps
    }
}
