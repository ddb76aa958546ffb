//! Bulk copies (PTX ISA, "cp.async.bulk", "cp.async.bulk.tensor").
//!
//! A copy moves its bytes when it is issued, on behalf of the copying unit: in the shadow its
//! accesses belong to that unit, and only who waits for the mbarrier (or the group) is ordered
//! behind them. Fences between the proxies are not tracked.

use super::private::{read_words, write_words};
use super::warp::{Env, Warp};
use super::{lanes, window};
use crate::check::shadow::Actor;
use crate::check::{Checked, FaultKind, Raw};
use crate::ir::{Bulk, BulkGlobal, Space};
use crate::tensor_map::{Swizzle, TENSOR_MAP_BYTES, TensorMap};

/// Groups of bulk copies to global memory, per lane: epochs of the copies since the last commit
/// and of each committed group.
#[derive(Debug, Default)]
pub(crate) struct BulkState {
    open: Vec<(u32, u32)>,
    committed: Vec<(u32, u32)>,
}

impl BulkState {
    pub fn reset(&mut self) {
        self.open.clear();
        self.committed.clear();
    }
}

/// A row of contiguous bytes of a copy.
struct Row {
    /// Offset in the plain layout of shared memory.
    offset: u64,
    bytes: u32,
    /// Address in global memory of its first byte, whether that is inside the tensor or not.
    global: u64,
    /// The bytes inside the tensor: others read as zero and are not stored.
    inside: std::ops::Range<u32>,
}

impl Warp {
    pub(super) fn bulk(&mut self, env: &mut Env<'_, '_>, bulk: &Bulk, active: u32) -> Checked<()> {
        for lane in lanes(active) {
            let (rows, swizzle, align) = self.rows(env, bulk, lane)?;
            let total: u32 = rows.iter().map(|row| row.bytes).sum();
            let shared = (Space::Shared, bulk.shared);
            let base = self.shared_place(env, shared, lane, (total, align))?;
            let copier = env
                .shadow
                .copier(self.number as usize, bulk.barrier.is_some());
            let epoch = env.shadow.tick(copier);
            let unit = (copier, epoch);
            let actor = self.actor(lane);
            let barrier = match bulk.barrier {
                Some(barrier) => {
                    Some(self.shared_place(env, (Space::Shared, barrier), lane, (8, 8))?)
                }
                None => None,
            };
            let stride = env.frozen.shared_stride();
            let mask = bulk.multicast.map(|slot| self.r[slot as usize][lane]);
            if mask.is_some_and(|mask| mask >> env.frozen.cluster_blocks() != 0) {
                let detail = format!("a cluster of {} blocks", env.frozen.cluster_blocks());
                return Err(Raw::new(FaultKind::InvalidOperand, lane as u32, detail));
            }
            // A multicast writes to the same offset in every block of the mask.
            let ranks: Vec<Option<u64>> = match mask {
                None => vec![None],
                Some(mask) => lanes(mask).map(|rank| Some(rank as u64)).collect(),
            };
            for rank in ranks {
                let place = |at: u64| rank.map_or(at, |rank| rank * stride + at % stride);
                for row in &rows {
                    let direction = (barrier.is_some(), unit);
                    self.row(env, (lane, actor), row, place(base), swizzle, direction)?;
                }
                match barrier {
                    Some(at) => env.mbarriers.copy(lane, place(at), total, unit)?,
                    None => self.bulk.open.push((lane as u32, epoch)),
                }
            }
            self.count_bulk(env, &rows);
        }
        Ok(())
    }

    /// Moves one row.
    fn row(
        &mut self,
        env: &mut Env<'_, '_>,
        (lane, actor): (usize, Actor),
        row: &Row,
        base: u64,
        swizzle: Swizzle,
        (to_shared, unit): (bool, (usize, u32)),
    ) -> Checked<()> {
        let named = |mut raw: Box<Raw>| {
            raw.lane = lane as u32;
            raw
        };
        for start in (0..row.bytes).step_by(16) {
            let at = swizzle.apply(base + row.offset + u64::from(start));
            if env.check_shared {
                env.shadow
                    .unit_access(at, 16, to_shared, actor, unit)
                    .map_err(named)?;
            }
            for word in (start..start + 16).step_by(4) {
                let at = at as usize + (word - start) as usize;
                if row.inside.start <= word && word + 4 <= row.inside.end {
                    self.piece(
                        env,
                        lane,
                        row.global.wrapping_add(word.into()),
                        at,
                        (4, to_shared),
                    )?;
                    continue;
                }
                if to_shared {
                    write_words(env.shared, at, 4, 0);
                }
                for byte in (word..word + 4).filter(|byte| row.inside.contains(byte)) {
                    let at = at + (byte - word) as usize;
                    self.piece(
                        env,
                        lane,
                        row.global.wrapping_add(byte.into()),
                        at,
                        (1, to_shared),
                    )?;
                }
            }
        }
        Ok(())
    }

    /// Moves 1 or 4 bytes between global memory and offset `at` of shared memory.
    fn piece(
        &mut self,
        env: &mut Env<'_, '_>,
        lane: usize,
        global: u64,
        at: usize,
        (bytes, to_shared): (u32, bool),
    ) -> Checked<()> {
        let (allocation, offset) = self.allocation(env, lane, global, bytes)?;
        let fault = |kind| {
            let detail = format!("offset {offset} of `{}`", allocation.name);
            Err(Raw::at(kind, lane as u32, global, detail))
        };
        if to_shared {
            if env.frozen.options.checks.uninitialized && !allocation.is_written(offset, bytes) {
                return fault(FaultKind::Uninitialized);
            }
            write_words(env.shared, at, bytes, allocation.load(offset, bytes));
        } else if allocation.read_only {
            return fault(FaultKind::ReadOnly);
        } else {
            allocation.store(offset, bytes, read_words(env.shared, at, bytes));
        }
        if env.frozen.options.traffic {
            allocation.touch(offset, bytes, !to_shared);
        }
        Ok(())
    }

    fn count_bulk(&self, env: &mut Env<'_, '_>, rows: &[Row]) {
        let count = &mut env.counts.pcs[self.pc as usize];
        count.global_requests += 1;
        for row in rows {
            count.bulk_bytes += u64::from(row.bytes);
            if !row.inside.is_empty() {
                let first = row.global + u64::from(row.inside.start);
                let end = row.global + u64::from(row.inside.end);
                count.async_bytes += end - first;
                count.sectors += end.div_ceil(32) - first / 32;
            }
        }
    }

    /// The rows of a copy, the layout in shared memory, and the alignment that it must have.
    fn rows(
        &mut self,
        env: &Env<'_, '_>,
        bulk: &Bulk,
        lane: usize,
    ) -> Checked<(Vec<Row>, Swizzle, u32)> {
        match &bulk.global {
            BulkGlobal::Linear { addr, bytes } => {
                let (bytes, global) = (self.r[*bytes as usize][lane], self.addresses(*addr)[lane]);
                if bytes % 16 != 0 || global % 16 != 0 {
                    let detail = format!("{bytes} bytes; size and address are multiples of 16");
                    return Err(Raw::at(FaultKind::Misaligned, lane as u32, global, detail));
                }
                let row = Row {
                    offset: 0,
                    bytes,
                    global,
                    inside: 0..bytes,
                };
                Ok((vec![row], Swizzle::None, 16))
            }
            BulkGlobal::Tensor { map, coordinates } => {
                let at = self.addresses(*map)[lane];
                let map = self.tensor_map(env, lane, at)?;
                if map.sizes.len() != coordinates.len() {
                    let detail = format!("the map has {} dimensions", map.sizes.len());
                    return Err(Raw::at(FaultKind::InvalidOperand, lane as u32, at, detail));
                }
                let start: Vec<i64> = coordinates
                    .iter()
                    .map(|c| i64::from(self.r[*c as usize][lane] as i32))
                    .collect();
                // The swizzle repeats every 1024 bytes, and boxes are aligned to it.
                let align = if map.swizzle == Swizzle::B128 {
                    1024
                } else {
                    128
                };
                Ok((box_rows(&map, &start), map.swizzle, align))
            }
        }
    }

    /// Reads a tensor map from global memory, constant memory or the kernel's parameters.
    fn tensor_map(&mut self, env: &Env<'_, '_>, lane: usize, at: u64) -> Checked<TensorMap> {
        let mut bytes = [0; TENSOR_MAP_BYTES];
        if !at.is_multiple_of(64) {
            return Err(Raw::at(
                FaultKind::Misaligned,
                lane as u32,
                at,
                "tensor maps are aligned to 64",
            ));
        }
        match window(at) {
            (Space::Param, offset) => {
                let data = env
                    .frozen
                    .params
                    .get(offset as usize..)
                    .and_then(|p| p.get(..TENSOR_MAP_BYTES));
                if let Some(data) = data {
                    bytes.copy_from_slice(data);
                }
            }
            _ => {
                let (allocation, offset) =
                    self.allocation(env, lane, at, TENSOR_MAP_BYTES as u32)?;
                for (i, byte) in bytes.iter_mut().enumerate() {
                    *byte = allocation.load(offset + i as u64, 1) as u8;
                }
            }
        }
        TensorMap::decode(&bytes).ok_or_else(|| {
            Raw::at(
                FaultKind::InvalidOperand,
                lane as u32,
                at,
                "not a tensor map of ptx_vm::TensorMap",
            )
        })
    }

    pub(super) fn bulk_commit(&mut self, active: u32) {
        for lane in lanes(active) {
            let mine = |(l, _): &(u32, u32)| *l == lane as u32;
            let newest = self
                .bulk
                .open
                .iter()
                .filter(|entry| mine(entry))
                .map(|(_, e)| *e)
                .max();
            self.bulk.open.retain(|entry| !mine(entry));
            self.bulk.committed.push((lane as u32, newest.unwrap_or(0)));
        }
    }

    /// Waits until at most `pending` of each lane's groups are in flight.
    pub(super) fn bulk_wait(&mut self, env: &mut Env<'_, '_>, pending: u32, active: u32) {
        for lane in lanes(active) {
            let mine: Vec<u32> = self
                .bulk
                .committed
                .iter()
                .filter(|(l, _)| *l == lane as u32)
                .map(|(_, e)| *e)
                .collect();
            let done = mine.len().saturating_sub(pending as usize);
            if let Some(epoch) = mine[..done].iter().max() {
                env.shadow.observe(
                    self.number as usize,
                    env.shadow.copier(self.number as usize, false),
                    *epoch,
                );
            }
            let mut left = done;
            self.bulk.committed.retain(|(l, _)| {
                let drop = *l == lane as u32 && left > 0;
                left -= usize::from(drop);
                !drop
            });
        }
    }
}

/// The contiguous rows of a box.
fn box_rows(map: &TensorMap, start: &[i64]) -> Vec<Row> {
    let element = map.element_bytes;
    let inner = map.box_sizes[0];
    let bytes = inner * element;
    let outer: u32 = map.box_sizes[1..].iter().product();
    // Columns of the box that lie inside the tensor.
    let clip = |column: i64| (column - start[0]).clamp(0, inner.into()) as u32 * element;
    let columns = clip(0)..clip(map.sizes[0].min(i64::MAX as u64) as i64);
    (0..outer)
        .map(|index| {
            let (mut rest, mut inside) = (index, true);
            let mut global = map
                .base
                .0
                .wrapping_add_signed(start[0] * i64::from(element));
            let outer = map.sizes.iter().zip(&map.box_sizes).zip(start).skip(1);
            for (((size, box_size), start), stride) in outer.zip(&map.strides) {
                let at = start + i64::from(rest % box_size);
                rest /= box_size;
                inside &= at >= 0 && (at as u64) < *size;
                global = global.wrapping_add((at as u64).wrapping_mul(*stride));
            }
            let inside = if inside { columns.clone() } else { 0..0 };
            Row {
                offset: u64::from(index) * u64::from(bytes),
                bytes,
                global,
                inside,
            }
        })
        .collect()
}
