//! Atomics (PTX ISA, "atom", "red"). Lanes act in ascending order; blocks run in parallel, so
//! that floating-point sums over blocks depend on their order, as on a GPU.

use std::sync::atomic::Ordering::Relaxed;

use super::access::{aligned, in_lane, shared_bounds};
use super::lanes;
use super::private::{read_words, write_words};
use super::warp::{Env, Warp};
use crate::check::shadow::Use;
use crate::check::{Checked, FaultKind, Raw};
use crate::ir::{Atom, AtomOp, Space, Ty};

impl Warp {
    pub(super) fn atomic(
        &mut self,
        env: &mut Env<'_, '_>,
        atom: &Atom,
        active: u32,
    ) -> Checked<()> {
        let bytes = atom.ty.bytes();
        for group in self.groups(atom.space, self.addresses(atom.addr), active) {
            aligned(&group, bytes)?;
            for lane in lanes(group.mask) {
                let (b, c) = (self.get(atom.b, lane), self.get(atom.c, lane));
                let address = group.offsets[lane];
                let old = match group.space {
                    Space::Shared => {
                        let at = shared_bounds(env, self.rank, lane, address, bytes)?;
                        if env.check_shared {
                            let actor = self.actor(lane);
                            env.shadow
                                .access(at, bytes, Use::Atomic, actor)
                                .map_err(|raw| in_lane(raw, lane))?;
                        }
                        let old = read_words(env.shared, at as usize, bytes);
                        write_words(env.shared, at as usize, bytes, apply(atom, old, b, c));
                        old
                    }
                    Space::Global => self.atomic_global(env, atom, lane, address, (b, c))?,
                    _ => {
                        let detail = "atomics exist in global and shared memory only";
                        return Err(Raw::at(
                            FaultKind::InvalidOperand,
                            lane as u32,
                            address,
                            detail,
                        ));
                    }
                };
                self.set(atom.dst, lane, old);
            }
            if group.space == Space::Shared {
                self.count_shared(env, &group, bytes);
            } else {
                self.count_global(env, &group);
            }
        }
        Ok(())
    }

    fn atomic_global(
        &mut self,
        env: &Env<'_, '_>,
        atom: &Atom,
        lane: usize,
        address: u64,
        (b, c): (u64, u64),
    ) -> Checked<u64> {
        let bytes = atom.ty.bytes();
        let (allocation, offset) = self.allocation(env, lane, address, bytes)?;
        let fault = |kind| {
            let detail = format!("atomic at offset {offset} of `{}`", allocation.name);
            Err(Raw::at(kind, lane as u32, address, detail))
        };
        if allocation.read_only {
            return fault(FaultKind::ReadOnly);
        }
        if env.frozen.options.checks.uninitialized && !allocation.is_written(offset, bytes) {
            return fault(FaultKind::Uninitialized);
        }
        if env.frozen.options.traffic {
            allocation.touch(offset, bytes, false);
            allocation.touch(offset, bytes, true);
        }
        if bytes == 8 {
            let _guard = env.frozen.memory.lock_wide_atomics();
            let old = allocation.load(offset, 8);
            allocation.store(offset, 8, apply(atom, old, b, c));
            return Ok(old);
        }
        let update = |old: u32| Some(apply(atom, old.into(), b, c) as u32);
        let (Ok(old) | Err(old)) = allocation
            .word(offset)
            .fetch_update(Relaxed, Relaxed, update);
        Ok(old.into())
    }
}

/// The new value.
fn apply(atom: &Atom, old: u64, b: u64, c: u64) -> u64 {
    let narrow = atom.ty.bytes() == 4;
    let signed = |x: u64| {
        if narrow {
            i64::from(x as i32)
        } else {
            x as i64
        }
    };
    match (atom.op, atom.ty) {
        (AtomOp::Add, Ty::F32) => {
            let sum = f32::from_bits(old as u32) + f32::from_bits(b as u32);
            if sum.is_nan() {
                super::round::NAN32.into()
            } else {
                sum.to_bits().into()
            }
        }
        (AtomOp::Add, Ty::F64) => (f64::from_bits(old) + f64::from_bits(b)).to_bits(),
        (AtomOp::Add, _) => old.wrapping_add(b),
        (AtomOp::Min, ty) if ty.signed() => {
            if signed(b) < signed(old) {
                b
            } else {
                old
            }
        }
        (AtomOp::Max, ty) if ty.signed() => {
            if signed(b) > signed(old) {
                b
            } else {
                old
            }
        }
        (AtomOp::Min, _) => old.min(b),
        (AtomOp::Max, _) => old.max(b),
        (AtomOp::And, _) => old & b,
        (AtomOp::Or, _) => old | b,
        (AtomOp::Xor, _) => old ^ b,
        (AtomOp::Exch, _) => b,
        (AtomOp::Cas, _) => {
            if old == b {
                c
            } else {
                old
            }
        }
        (AtomOp::Inc, _) => {
            if old >= b {
                0
            } else {
                old + 1
            }
        }
        (AtomOp::Dec, _) => {
            if old == 0 || old > b {
                b
            } else {
                old - 1
            }
        }
    }
}
