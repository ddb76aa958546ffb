//! Local memory and kernel parameters, and how words hold narrower values.

use super::access::Group;
use super::warp::{Env, Warp};
use super::{WARP, lanes};
use crate::check::{Checked, FaultKind, Raw};
use crate::ir::Access;

impl Warp {
    pub(super) fn load_local(
        &mut self,
        env: &Env<'_, '_>,
        access: &Access,
        group: &Group,
    ) -> Checked<()> {
        let bytes = access.bytes;
        for lane in lanes(group.mask) {
            let base =
                self.local_place(lane, group.offsets[lane], bytes * access.regs.len() as u32)?;
            for (i, reg) in access.regs.iter().enumerate() {
                let at = base + i * bytes as usize;
                if env.frozen.options.checks.uninitialized
                    && !access.dead
                    && (at..at + bytes as usize)
                        .any(|b| self.local_written[b / 4] >> (b % 4) & 1 == 0)
                {
                    let offset = group.offsets[lane];
                    let raw = Raw::at(
                        FaultKind::Uninitialized,
                        lane as u32,
                        offset,
                        "local memory",
                    );
                    self.poison(raw, &[*reg], lane, None)?;
                }
                let value = read_words(&self.local, at, bytes);
                self.put(*reg, lane, access, value);
            }
        }
        Ok(())
    }

    pub(super) fn store_local(&mut self, access: &Access, group: &Group) -> Checked<()> {
        let bytes = access.bytes;
        for lane in lanes(group.mask) {
            let base =
                self.local_place(lane, group.offsets[lane], bytes * access.regs.len() as u32)?;
            for (i, reg) in access.regs.iter().enumerate() {
                let at = base + i * bytes as usize;
                let value = self.get(*reg, lane);
                write_words(&mut self.local, at, bytes, value);
                (at..at + bytes as usize).for_each(|b| self.local_written[b / 4] |= 1 << (b % 4));
            }
        }
        Ok(())
    }

    /// Byte index in the warp's local memory of a lane's offset.
    fn local_place(&self, lane: usize, offset: u64, bytes: u32) -> Checked<usize> {
        let size = self.local.len() * 4 / WARP;
        if offset
            .checked_add(bytes.into())
            .is_none_or(|end| end > size as u64)
        {
            let detail =
                format!("{bytes} bytes at offset {offset} of {size} bytes of local memory");
            return Err(Raw::at(FaultKind::OutOfBounds, lane as u32, offset, detail));
        }
        Ok(lane * size + offset as usize)
    }

    pub(super) fn load_param(
        &mut self,
        env: &Env<'_, '_>,
        access: &Access,
        group: &Group,
    ) -> Checked<()> {
        let params = env.frozen.params;
        let bytes = access.bytes as usize;
        for lane in lanes(group.mask) {
            for (i, reg) in access.regs.iter().enumerate() {
                let at = group.offsets[lane].saturating_add((i * bytes) as u64) as usize;
                let Some(data) = at.checked_add(bytes).and_then(|end| params.get(at..end)) else {
                    let detail = format!("{} bytes of parameters", params.len());
                    return Err(Raw::at(
                        FaultKind::OutOfBounds,
                        lane as u32,
                        at as u64,
                        detail,
                    ));
                };
                let value = data
                    .iter()
                    .rev()
                    .fold(0, |v, byte| v << 8 | u64::from(*byte));
                self.put(*reg, lane, access, value);
            }
        }
        Ok(())
    }
}

/// Reads 1, 2, 4 or 8 aligned bytes.
#[inline]
pub(super) fn read_words(words: &[u32], at: usize, bytes: u32) -> u64 {
    let word = u64::from(words[at / 4]);
    match bytes {
        4 => word,
        8 => word | u64::from(words[at / 4 + 1]) << 32,
        _ => word >> (8 * (at & 3)) & ((1 << (8 * bytes)) - 1),
    }
}

/// Writes 1, 2, 4 or 8 aligned bytes.
#[inline]
pub(super) fn write_words(words: &mut [u32], at: usize, bytes: u32, value: u64) {
    match bytes {
        4 => words[at / 4] = value as u32,
        8 => {
            words[at / 4] = value as u32;
            words[at / 4 + 1] = (value >> 32) as u32;
        }
        _ => {
            let shift = 8 * (at & 3);
            let mask = ((1u32 << (8 * bytes)) - 1) << shift;
            let word = &mut words[at / 4];
            *word = *word & !mask | (value as u32) << shift & mask;
        }
    }
}
