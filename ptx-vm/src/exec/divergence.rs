//! Lanes that part at branches and meet again.

use super::lanes;
use super::warp::{Entry, Warp};
use crate::check::{Checked, FaultKind, Raw};
use crate::ir::NOWHERE;

impl Warp {
    /// Splits the running lanes into paths that meet again at `meet`.
    pub(super) fn diverge(&mut self, meet: u32, paths: impl IntoIterator<Item = (u32, u32)>) {
        let Some(top) = self.stack.pop() else { return };
        // Lanes that part for good, or meet where the whole group already meets others, need no
        // entry to meet in.
        if meet != NOWHERE && meet != top.meet {
            self.stack.push(Entry { pc: meet, ..top });
        }
        for (pc, mask) in paths {
            if pc != meet && mask != 0 {
                self.stack.push(Entry { pc, meet, mask });
            }
        }
    }

    /// `brx.idx`; false if no lane jumps.
    pub(super) fn jump(
        &mut self,
        index: u32,
        targets: &[u32],
        reconverge: u32,
        pc: u32,
        mask: u32,
        active: u32,
    ) -> Checked<bool> {
        if active == 0 {
            return Ok(false);
        }
        let mut paths: Vec<(u32, u32)> = Vec::new();
        let mut add = |pc: u32, lanes: u32| match paths.iter_mut().find(|(p, _)| *p == pc) {
            Some((_, mask)) => *mask |= lanes,
            None => paths.push((pc, lanes)),
        };
        for lane in lanes(active) {
            let index = self.r[index as usize][lane];
            match targets.get(index as usize) {
                Some(target) => add(*target, 1 << lane),
                None => {
                    let detail = format!("branch index {index} of {} targets", targets.len());
                    return Err(Raw::new(FaultKind::InvalidOperand, lane as u32, detail));
                }
            }
        }
        add(pc + 1, mask & !active);
        self.diverge(reconverge, paths);
        Ok(true)
    }

    /// Lanes end.
    pub(super) fn retire(&mut self, lanes: u32) {
        self.live &= !lanes;
        for entry in &mut self.stack {
            entry.mask &= !lanes;
        }
        self.stack.retain(|entry| entry.mask != 0);
    }
}
