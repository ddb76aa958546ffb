//! Asynchronous copies from global to shared memory (PTX ISA, "cp.async").
//!
//! The source is read when the copy is issued. Its bytes reach shared memory only when the
//! issuing thread waits for the copy's group: a kernel that waits for too few groups reads what
//! was there before, and the shadow says so.

use super::access::{Group, aligned, in_lane, shared_bounds};
use super::private::write_words;
use super::warp::{Env, Warp};
use super::{WARP, lanes};
use crate::check::shadow::{Actor, Use};
use crate::check::{Checked, FaultKind, Raw};
use crate::ir::{Inst, Space};

/// A copy in flight.
#[derive(Debug, Clone, Copy)]
struct Copy {
    lane: u32,
    /// Number of the copy in the warp.
    number: u64,
    pc: u32,
    /// Number of the group, counted per lane.
    group: u32,
    at: u32,
    bytes: u32,
    data: [u32; 4],
}

/// Copies in flight of a warp.
#[derive(Debug, Default)]
pub(crate) struct AsyncState {
    copies: Vec<Copy>,
    issued: u64,
    /// Groups that each lane has committed.
    committed: [u32; WARP],
}

impl AsyncState {
    pub fn reset(&mut self) {
        self.copies.clear();
        self.issued = 0;
        self.committed = [0; WARP];
    }

    /// Copies issued so far.
    pub fn issued(&self) -> u64 {
        self.issued
    }

    /// Closes the open group of the lanes.
    pub fn commit(&mut self, active: u32) {
        lanes(active).for_each(|lane| self.committed[lane] += 1);
    }
}

impl Warp {
    pub(super) fn async_copy(
        &mut self,
        env: &mut Env<'_, '_>,
        inst: &Inst,
        active: u32,
    ) -> Checked<()> {
        let Inst::AsyncCopy {
            dst,
            src,
            bytes,
            src_bytes,
            ignore,
        } = inst
        else {
            return Ok(());
        };
        let bytes = *bytes;
        let to = Group {
            space: Space::Shared,
            mask: active,
            offsets: self.addresses(*dst),
        };
        let from = Group {
            space: Space::Global,
            mask: active,
            offsets: self.addresses(*src),
        };
        aligned(&to, bytes)?;
        let ignored = ignore.map_or(0, |p| self.pred(p));
        let mut reading = 0;
        for lane in lanes(active) {
            let wanted = src_bytes.map_or(bytes, |slot| self.r[slot as usize][lane]);
            if wanted > bytes {
                let detail = format!("{wanted} source bytes for a copy of {bytes}");
                return Err(Raw::new(FaultKind::InvalidOperand, lane as u32, detail));
            }
            let wanted = if ignored >> lane & 1 == 1 { 0 } else { wanted };
            let at = shared_bounds(env, self.rank, lane, to.offsets[lane], bytes)?;
            if env.check_shared {
                let actor = self.actor(lane);
                env.shadow
                    .access(at, bytes, Use::AsyncIssue, actor)
                    .map_err(|raw| in_lane(raw, lane))?;
            }
            let mut data = [0; 4];
            if wanted > 0 {
                reading |= 1 << lane;
                self.fetch(env, lane, &from, (bytes, wanted), &mut data)?;
                env.counts.pcs[self.pc as usize].async_bytes += u64::from(wanted);
            }
            self.copies.copies.push(Copy {
                lane: lane as u32,
                number: self.copies.issued,
                pc: self.pc,
                group: self.copies.committed[lane],
                at: at as u32,
                bytes,
                data,
            });
            self.copies.issued += 1;
        }
        if reading != 0 {
            self.count_global(
                env,
                &Group {
                    mask: reading,
                    ..from
                },
            );
        }
        self.count_shared(env, &to, bytes);
        Ok(())
    }

    /// Reads the first `wanted` bytes of a copy of `bytes`; the others stay zero.
    fn fetch(
        &mut self,
        env: &Env<'_, '_>,
        lane: usize,
        from: &Group,
        (bytes, wanted): (u32, u32),
        data: &mut [u32; 4],
    ) -> Checked<()> {
        aligned(
            &Group {
                mask: 1 << lane,
                ..*from
            },
            bytes,
        )?;
        let address = from.offsets[lane];
        let (allocation, offset) = self.allocation(env, lane, address, wanted)?;
        let options = env.frozen.options;
        for byte in 0..u64::from(wanted) {
            let at = offset + byte;
            if options.checks.uninitialized && !allocation.is_written(at, 1) {
                let detail = format!("offset {at} of `{}`", allocation.name);
                return Err(Raw::at(
                    FaultKind::Uninitialized,
                    lane as u32,
                    address,
                    detail,
                ));
            }
            if byte % 4 != 0 {
                continue;
            }
            let rest = wanted - byte as u32;
            let mask = if rest >= 4 {
                u32::MAX
            } else {
                (1 << (8 * rest)) - 1
            };
            data[byte as usize / 4] = allocation.load(at, 4) as u32 & mask;
            if options.traffic {
                (0..u64::from(rest.min(4))).for_each(|b| allocation.touch(at + b, 1, false));
            }
        }
        Ok(())
    }

    /// Makes the data of all but the last `pending` groups of each lane visible, or of all copies.
    pub(super) fn async_wait(&mut self, env: &mut Env<'_, '_>, pending: Option<u32>, active: u32) {
        let committed = self.copies.committed;
        self.finish_copies(env, |copy| {
            let done = match pending {
                None => true,
                Some(n) => copy.group + n < committed[copy.lane as usize],
            };
            done && active >> copy.lane & 1 == 1
        });
    }

    /// Makes the data of a lane's first copies visible, those before number `end`.
    pub(super) fn land_copies(&mut self, env: &mut Env<'_, '_>, lane: u32, end: u64) {
        self.finish_copies(env, |copy| copy.lane == lane && copy.number < end);
    }

    fn finish_copies(&mut self, env: &mut Env<'_, '_>, done: impl Fn(&Copy) -> bool) {
        let first = self.first_thread();
        self.copies.copies.retain(|copy| {
            if !done(copy) {
                return true;
            }
            for word in 0..copy.bytes / 4 {
                let at = (copy.at + 4 * word) as usize;
                write_words(env.shared, at, 4, copy.data[word as usize].into());
            }
            let actor = Actor {
                thread: first + copy.lane,
                pc: copy.pc,
            };
            env.shadow.complete(copy.at.into(), copy.bytes, actor);
            false
        });
    }
}
