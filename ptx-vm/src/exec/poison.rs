//! Values that should not be used: what a load read from unwritten memory, from a place that
//! another thread writes, or from a copy that has not been waited for.
//!
//! Loading such a value is no fault, because pipelines load ahead and drop what they do not
//! need. Using it is: the fault then names the load. Moves hand the value on; every other
//! instruction that reads the register uses it. Accumulators of a `wgmma` in flight are treated
//! alike. Registers that it reads are not to be written: its accumulators are poisoned as long, so that
//! [`Warp::check_poison`] sees every such write.

use std::collections::HashMap;

use super::warp::{Env, Warp};
use crate::check::shadow::Actor;
use crate::check::{Checked, FaultKind, Raw};
use crate::ir::operands::Role;
use crate::ir::{Inst, Reg};

/// Why a register's lanes are poisoned.
#[derive(Debug, Clone)]
pub(crate) struct Poison {
    mask: u32,
    raw: Box<Raw>,
    /// The load, and the place in shared memory that it read.
    actor: Actor,
    shared: Option<(u64, u32)>,
}

/// Poisoned registers of a warp.
pub(crate) type Poisons = HashMap<(bool, u32), Poison>;

fn key(reg: Reg) -> Option<(bool, u32)> {
    match reg {
        Reg::R(slot) => Some((false, slot)),
        Reg::D(slot) => Some((true, slot)),
        Reg::Sink => None,
    }
}

/// Whether a fault of a load waits for the value's use.
fn can_wait(raw: &Raw) -> bool {
    matches!(
        raw.kind,
        FaultKind::Uninitialized | FaultKind::SharedRace | FaultKind::AsyncNotWaited
    )
}

impl Warp {
    /// Poisons `regs` in `lane` instead of failing, if the fault is one of a value.
    pub(super) fn poison(
        &mut self,
        raw: Box<Raw>,
        regs: &[Reg],
        lane: usize,
        shared: Option<(u64, u32)>,
    ) -> Checked<()> {
        if !can_wait(&raw) {
            return Err(raw);
        }
        let actor = self.actor(lane);
        for key in regs.iter().filter_map(|reg| key(*reg)) {
            let fresh = || Poison {
                mask: 0,
                raw: raw.clone(),
                actor,
                shared,
            };
            self.poisons.entry(key).or_insert_with(fresh).mask |= 1 << lane;
        }
        Ok(())
    }

    /// Before an instruction runs: is one of its sources poisoned? What it writes no longer is.
    pub(super) fn check_poison(
        &mut self,
        env: &mut Env<'_, '_>,
        inst: &Inst,
        active: u32,
    ) -> Checked<()> {
        let moved = match inst {
            Inst::Mov32 { d, a } => Some(((false, *d), (false, *a))),
            Inst::Mov64 { d, a } => Some(((true, *d), (true, *a))),
            _ => None,
        };
        if let Some((to, from)) = moved {
            self.check_fragments(to, active)?;
            let poison = self
                .poisons
                .get(&from)
                .filter(|p| p.mask & active != 0)
                .cloned();
            self.clear(to, active);
            if let Some(mut poison) = poison {
                poison.mask &= active;
                self.poisons.insert(to, poison);
            }
            return Ok(());
        }
        // Products in flight may follow each other on the same accumulators.
        let accumulators = match inst {
            Inst::Wgmma(wgmma) => wgmma.d.as_slice(),
            _ => &[],
        };
        let (mut used, mut written) = (Vec::new(), Vec::new());
        inst.registers(|reg, role| match (role, key(reg)) {
            (_, Some((false, slot))) if accumulators.contains(&slot) => {}
            (Role::Read, Some(key)) => used.push(key),
            (Role::Write, Some(key)) => written.push(key),
            (_, None) => {}
        });
        for key in used {
            let lanes = active & self.selected(inst, key);
            if let Some(poison) = self
                .poisons
                .get(&key)
                .filter(|p| p.mask & lanes != 0)
                .cloned()
            {
                self.confirm(env, poison)?;
                self.clear(key, u32::MAX);
            }
        }
        for key in written {
            self.check_fragments(key, active)?;
            self.clear(key, active);
        }
        Ok(())
    }

    /// Before a register is written: does a product in flight read it?
    fn check_fragments(&self, (wide, slot): (bool, u32), active: u32) -> Checked<()> {
        if wide || !self.products.read(slot) {
            return Ok(());
        }
        let detail = "write to an operand of a wgmma that has not been waited for";
        Err(Raw::new(
            FaultKind::AsyncNotWaited,
            active.trailing_zeros(),
            detail,
        ))
    }

    /// Lanes in which a selection takes the register; all for other instructions.
    fn selected(&self, inst: &Inst, key: (bool, u32)) -> u32 {
        let (a, b, p) = match inst {
            Inst::Selp32 { a, b, p, .. } => ((false, *a), (false, *b), *p),
            Inst::Selp64 { a, b, p, .. } => ((true, *a), (true, *b), *p),
            _ => return u32::MAX,
        };
        let p = self.p[p as usize];
        (if key == a { p } else { 0 }) | (if key == b { !p } else { 0 })
    }

    /// Accumulators of a product in flight: not to be used before it has been waited for.
    pub(super) fn poison_accumulators(&mut self, slots: &[u32]) {
        let detail = "accumulator of a wgmma that has not been waited for";
        let raw = Raw::new(FaultKind::AsyncNotWaited, 0, detail);
        let actor = self.actor(0);
        for slot in slots {
            let poison = Poison {
                mask: u32::MAX,
                raw: raw.clone(),
                actor,
                shared: None,
            };
            self.poisons.insert((false, *slot), poison);
        }
    }

    /// The product is complete.
    pub(super) fn cure_accumulators(&mut self, slots: &[u32]) {
        slots
            .iter()
            .for_each(|slot| self.clear((false, *slot), u32::MAX));
    }

    fn clear(&mut self, key: (bool, u32), lanes: u32) {
        if let Some(poison) = self.poisons.get_mut(&key) {
            poison.mask &= !lanes;
            if poison.mask == 0 {
                self.poisons.remove(&key);
            }
        }
    }

    /// The value is used: the load was at fault.
    fn confirm(&mut self, env: &mut Env<'_, '_>, poison: Poison) -> Checked<()> {
        let used_at = env.frozen.program.code[self.pc as usize].position.line;
        let mut raw = poison.raw;
        raw.detail = format!("{}; the value is used at PTX line {used_at}", raw.detail);
        if let (FaultKind::Uninitialized, Some((offset, bytes))) = (raw.kind, poison.shared) {
            if let Err(race) = env.shadow.defer(raw, (offset, bytes), poison.actor) {
                self.pc = poison.actor.pc;
                return Err(race);
            }
            return Ok(());
        }
        self.pc = poison.actor.pc;
        Err(raw)
    }
}
