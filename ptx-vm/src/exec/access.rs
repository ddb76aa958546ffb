//! Loads and stores in every state space (PTX ISA, "ld", "st"), with their checks and counts.

use super::private::{read_words, write_words};
use super::warp::{Env, Warp};
use super::{BLOCK_WINDOW, Lanes64, WARP, lanes, window};
use crate::check::shadow::Use;
use crate::check::{Checked, FaultKind, Raw};
use crate::count::pattern;
use crate::ir::{Access, Reg, Space};
use crate::memory::Allocation;

/// Lanes that access the same space, with offsets in it.
pub(super) struct Group {
    pub space: Space,
    pub mask: u32,
    pub offsets: Lanes64,
}

impl Warp {
    /// Splits a generic access by the windows that its addresses lie in.
    pub(super) fn groups(&self, space: Space, addresses: Lanes64, active: u32) -> Vec<Group> {
        if space != Space::Generic {
            return vec![Group {
                space,
                mask: active,
                offsets: addresses,
            }];
        }
        let mut out: Vec<Group> = Vec::new();
        for lane in lanes(active) {
            let (space, offset) = window(addresses[lane]);
            match out.iter_mut().find(|g| g.space == space) {
                Some(group) => {
                    group.mask |= 1 << lane;
                    group.offsets[lane] = offset;
                }
                None => {
                    let mut offsets = [0; WARP];
                    offsets[lane] = offset;
                    out.push(Group {
                        space,
                        mask: 1 << lane,
                        offsets,
                    });
                }
            }
        }
        out
    }

    pub(super) fn load(
        &mut self,
        env: &mut Env<'_, '_>,
        access: &Access,
        active: u32,
    ) -> Checked<()> {
        for group in self.groups(access.space, self.addresses(access.addr), active) {
            aligned(&group, access.bytes * access.regs.len() as u32)?;
            match group.space {
                Space::Shared => self.load_shared(env, access, &group)?,
                Space::Local => self.load_local(env, access, &group)?,
                Space::Param => self.load_param(env, access, &group)?,
                _ => self.load_global(env, access, &group)?,
            }
        }
        Ok(())
    }

    pub(super) fn store(
        &mut self,
        env: &mut Env<'_, '_>,
        access: &Access,
        active: u32,
    ) -> Checked<()> {
        for group in self.groups(access.space, self.addresses(access.addr), active) {
            aligned(&group, access.bytes * access.regs.len() as u32)?;
            match group.space {
                Space::Shared => self.store_shared(env, access, &group)?,
                Space::Local => self.store_local(access, &group)?,
                Space::Param => {
                    let lane = group.mask.trailing_zeros();
                    let detail = "kernel parameters";
                    return Err(Raw::at(
                        FaultKind::ReadOnly,
                        lane,
                        group.offsets[lane as usize],
                        detail,
                    ));
                }
                _ => self.store_global(env, access, &group)?,
            }
        }
        Ok(())
    }

    /// The allocation that holds `bytes` at `address`, and the offset in it.
    #[inline]
    pub(super) fn allocation<'f>(
        &mut self,
        env: &Env<'_, 'f>,
        lane: usize,
        address: u64,
        bytes: u32,
    ) -> Checked<(&'f Allocation, u64)> {
        if !env.waited[self.rank as usize] {
            let detail = "a thread of the block has to execute `griddepcontrol.wait` first";
            let kind = FaultKind::GridNotWaited;
            return Err(Raw::at(kind, lane as u32, address, detail));
        }
        let memory = env.frozen.memory;
        let holds = |a: &Allocation| {
            let offset = address.wrapping_sub(a.base);
            offset >= a.open.start && offset < a.open.end && a.open.end - offset >= u64::from(bytes)
        };
        if let Some(guess) = memory.try_get(self.last_allocation)
            && holds(guess)
        {
            return Ok((guess, address - guess.base));
        }
        if let Some(index) = memory.find(address) {
            let found = memory.get(index);
            if holds(found) {
                self.last_allocation = index;
                return Ok((found, address - found.base));
            }
            // Offsets are those from the first open byte: a guard band in front is negative.
            let open = found.open.end - found.open.start;
            let past = address.wrapping_sub(found.base + found.open.start) as i64;
            let detail = format!(
                "{bytes} bytes at offset {past} of `{}`, which has {open} bytes",
                found.name
            );
            return Err(Raw::at(
                FaultKind::OutOfBounds,
                lane as u32,
                address,
                detail,
            ));
        }
        let detail = format!("{bytes} bytes below every allocation");
        Err(Raw::at(
            FaultKind::OutOfBounds,
            lane as u32,
            address,
            detail,
        ))
    }

    fn load_global(
        &mut self,
        env: &mut Env<'_, '_>,
        access: &Access,
        group: &Group,
    ) -> Checked<()> {
        let bytes = access.bytes;
        let total = bytes * access.regs.len() as u32;
        let (check, count) = (
            env.frozen.options.checks.uninitialized && !access.dead,
            env.frozen.options.traffic,
        );
        for lane in lanes(group.mask) {
            let address = group.offsets[lane];
            let (allocation, offset) = self.allocation(env, lane, address, total)?;
            for (i, reg) in access.regs.iter().enumerate() {
                let at = offset + i as u64 * u64::from(bytes);
                if check && !allocation.is_written(at, bytes) {
                    let detail = format!("offset {at} of `{}`", allocation.name);
                    let raw = Raw::at(FaultKind::Uninitialized, lane as u32, address, detail);
                    self.poison(raw, &[*reg], lane, None)?;
                }
                if count {
                    allocation.touch(at, bytes, false);
                }
                self.put(*reg, lane, access, allocation.load(at, bytes));
            }
        }
        self.count_global(env, group);
        Ok(())
    }

    fn store_global(
        &mut self,
        env: &mut Env<'_, '_>,
        access: &Access,
        group: &Group,
    ) -> Checked<()> {
        let bytes = access.bytes;
        let total = bytes * access.regs.len() as u32;
        let count = env.frozen.options.traffic;
        for lane in lanes(group.mask) {
            let address = group.offsets[lane];
            let (allocation, offset) = self.allocation(env, lane, address, total)?;
            if allocation.read_only {
                let detail = format!("`{}`", allocation.name);
                return Err(Raw::at(FaultKind::ReadOnly, lane as u32, address, detail));
            }
            for (i, reg) in access.regs.iter().enumerate() {
                let at = offset + i as u64 * u64::from(bytes);
                allocation.store(at, bytes, self.get(*reg, lane));
                if count {
                    allocation.touch(at, bytes, true);
                }
            }
        }
        self.count_global(env, group);
        Ok(())
    }

    fn load_shared(
        &mut self,
        env: &mut Env<'_, '_>,
        access: &Access,
        group: &Group,
    ) -> Checked<()> {
        let bytes = access.bytes;
        let total = bytes * access.regs.len() as u32;
        for lane in lanes(group.mask) {
            let offset = shared_bounds(env, self.rank, lane, group.offsets[lane], total)?;
            if env.check_shared && !access.dead {
                let how = if access.strong {
                    Use::StrongRead
                } else {
                    Use::Read
                };
                let read = env.shadow.access(offset, total, how, self.actor(lane));
                if let Err(raw) = read {
                    let raw = in_lane(raw, lane);
                    self.poison(raw, &access.regs, lane, Some((offset, total)))?;
                }
            }
            for (i, reg) in access.regs.iter().enumerate() {
                let value = read_words(env.shared, offset as usize + i * bytes as usize, bytes);
                self.put(*reg, lane, access, value);
            }
        }
        self.count_shared(env, group, total);
        Ok(())
    }

    fn store_shared(
        &mut self,
        env: &mut Env<'_, '_>,
        access: &Access,
        group: &Group,
    ) -> Checked<()> {
        let bytes = access.bytes;
        let total = bytes * access.regs.len() as u32;
        for lane in lanes(group.mask) {
            let offset = shared_bounds(env, self.rank, lane, group.offsets[lane], total)?;
            for (i, reg) in access.regs.iter().enumerate() {
                let at = offset as usize + i * bytes as usize;
                let value = self.get(*reg, lane) & (u64::MAX >> (64 - 8 * bytes));
                if env.check_shared {
                    let how = if access.strong {
                        Use::StrongWrite
                    } else if read_words(env.shared, at, bytes) == value {
                        Use::SameWrite
                    } else {
                        Use::Write
                    };
                    env.shadow
                        .access(at as u64, bytes, how, self.actor(lane))
                        .map_err(|raw| in_lane(raw, lane))?;
                }
                write_words(env.shared, at, bytes, value);
            }
        }
        self.count_shared(env, group, total);
        Ok(())
    }

    /// Writes a loaded element, extended to its register.
    #[inline]
    pub(super) fn put(&mut self, reg: Reg, lane: usize, access: &Access, value: u64) {
        let mut value = value;
        if access.signed && access.bytes < 8 {
            let unused = 64 - 8 * access.bytes;
            value = ((value << unused) as i64 >> unused) as u64;
        }
        if access.narrow {
            value &= 0xffff;
        }
        self.set(reg, lane, value);
    }

    /// Counts a global request.
    pub(super) fn count_global(&self, env: &mut Env<'_, '_>, group: &Group) {
        let count = &mut env.counts.pcs[self.pc as usize];
        count.global_threads += u64::from(group.mask.count_ones());
        count.global_requests += 1;
        if env.frozen.options.traffic {
            count.sectors += u64::from(pattern::sectors(&group.offsets, group.mask));
        }
    }

    /// Counts a shared request of `bytes` per lane.
    pub(super) fn count_shared(&self, env: &mut Env<'_, '_>, group: &Group, bytes: u32) {
        let count = &mut env.counts.pcs[self.pc as usize];
        count.shared_threads += u64::from(group.mask.count_ones());
        count.shared_requests += 1;
        if env.frozen.options.traffic {
            let (wavefronts, ideal) = pattern::wavefronts(&group.offsets, group.mask, bytes);
            count.wavefronts += u64::from(wavefronts);
            count.ideal_wavefronts += u64::from(ideal);
        }
    }
}

/// Names the lane of a fault found in the shadow.
pub(super) fn in_lane(mut raw: Box<Raw>, lane: usize) -> Box<Raw> {
    raw.lane = lane as u32;
    raw
}

/// An access of `bytes` in all must be aligned to them.
pub(super) fn aligned(group: &Group, bytes: u32) -> Checked<()> {
    for lane in lanes(group.mask) {
        let offset = group.offsets[lane];
        if offset & u64::from(bytes - 1) != 0 {
            let detail = format!("not a multiple of {bytes}");
            return Err(Raw::at(FaultKind::Misaligned, lane as u32, offset, detail));
        }
    }
    Ok(())
}

/// Place in the cluster's shared memory of `bytes` at `offset`, seen from the block of rank `rank`.
pub(super) fn shared_bounds(
    env: &Env<'_, '_>,
    rank: u32,
    lane: usize,
    offset: u64,
    bytes: u32,
) -> Checked<u64> {
    let size = u64::from(env.frozen.shared_bytes);
    let (block, local) = match (offset / BLOCK_WINDOW).checked_sub(1) {
        None => (rank.into(), offset),
        Some(block) => (block, offset % BLOCK_WINDOW),
    };
    let inside = local
        .checked_add(bytes.into())
        .is_some_and(|end| end <= size);
    if !inside || block >= u64::from(env.frozen.cluster_blocks()) {
        let detail = format!("{bytes} bytes at offset {local} of {size} bytes of shared memory");
        return Err(Raw::at(FaultKind::OutOfBounds, lane as u32, offset, detail));
    }
    Ok(block * env.frozen.shared_stride() + local)
}
