//! C: from the sums in registers to memory.

use super::Operands;
use super::fragment::{ACROSS, DOWN, Sums, corner};
use crate::gemm::walk::Place;
use crate::gpu::thread;
use crate::params::{MMA, OUT_F32, READS_C, WARP};
use crate::ptx::convert::bf16_pair;
use crate::ptx::global;

/// Two f32 that are moved at once.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
struct Pair([f32; 2]);

/// What is added to a thread's pairs of a row.
type Old = [[f32; 2]; ACROSS];

/// A thread's first row and column of C.
#[inline(always)]
fn own(place: Place) -> (u32, u32) {
    let lane = thread::thread_idx_x() % WARP;
    let (row, column) = corner();
    (
        place.row + row + lane / 4,
        place.column + column + lane % 4 * 2,
    )
}

/// Asks for the lines of C that the tile at `place` is added to, if the launch reads C: when the
/// products are complete they are in the L2.
///
/// # Safety
/// C is m x n.
#[inline(always)]
pub unsafe fn prefetch(operands: &Operands, place: Place) {
    if operands.flags & READS_C == 0 {
        return;
    }
    let (line, size) = if operands.flags & OUT_F32 != 0 {
        (32, 4)
    } else {
        (64, 2)
    };
    let mut at = thread::thread_idx_x();
    let lines = MMA.n / line;
    while at < MMA.m * lines {
        let (row, column) = (place.row + at / lines, place.column + at % lines * line);
        if row < operands.m && column < operands.n {
            let element = row as usize * operands.n as usize + column as usize;
            let from = operands.c.wrapping_add(element * size);
            // SAFETY: the word in which an element of C lies.
            unsafe { global::prefetch_l2(from.map_addr(|address| address & !3).cast()) };
        }
        at += MMA.threads();
    }
}

/// Writes the sums, C added if the launch reads it. With `UNIT` above 1 rows of C have an even number
/// of elements, and pairs are moved at once. A row is read while the one before is written.
///
/// # Safety
/// C is m x n; no other block writes the tile.
#[inline(always)]
pub unsafe fn write<const UNIT: u32>(operands: &Operands, sums: &Sums, place: Place) {
    let (row, column) = own(place);
    let row = |part: usize| row + 16 * (part / 2) as u32 + 8 * (part % 2) as u32;
    // SAFETY: as the caller vouches.
    let mut old = unsafe { read_row::<UNIT>(operands, row(0), column) };
    let mut part = 0;
    while part < 2 * DOWN {
        let mut next = old;
        if part + 1 < 2 * DOWN {
            // SAFETY: as above.
            next = unsafe { read_row::<UNIT>(operands, row(part + 1), column) };
        }
        // SAFETY: as above.
        unsafe { write_row::<UNIT>(operands, sums, part, &old, row(part), column) };
        old = next;
        part += 1;
    }
}

/// Reads a thread's pairs of a row, as far as they exist and the launch reads C.
///
/// # Safety
/// C is m x n.
#[inline(always)]
unsafe fn read_row<const UNIT: u32>(operands: &Operands, row: u32, column: u32) -> Old {
    let first = row as usize * operands.n as usize + column as usize;
    let mut old = [[0f32; 2]; ACROSS];
    if operands.flags & READS_C != 0 && row < operands.m {
        let mut j = 0;
        while j < ACROSS {
            if column + 8 * (j as u32) < operands.n {
                let second = column + 8 * (j as u32) + 1 < operands.n;
                // SAFETY: inside the row.
                old[j] = unsafe { read::<UNIT>(operands, first + 8 * j, second) };
            }
            j += 1;
        }
    }
    old
}

/// Writes a thread's pairs of a row, if that is one of C's.
///
/// # Safety
/// As for [`write`].
#[inline(always)]
unsafe fn write_row<const UNIT: u32>(
    operands: &Operands,
    sums: &Sums,
    part: usize,
    old: &Old,
    row: u32,
    column: u32,
) {
    let first = row as usize * operands.n as usize + column as usize;
    let mut j = 0;
    while j < ACROSS && row < operands.m {
        if column + 8 * (j as u32) < operands.n {
            let second = column + 8 * (j as u32) + 1 < operands.n;
            let [x, y] = sums.pair(part / 2, j, part % 2);
            let pair = [x + old[j][0], y + old[j][1]];
            // SAFETY: inside the row.
            unsafe { store::<UNIT>(operands, first + 8 * j, pair, second) };
        }
        j += 1;
    }
}

/// Reads the pair from element `at` on, or its first element alone.
///
/// # Safety
/// C holds them.
#[inline(always)]
unsafe fn read<const UNIT: u32>(operands: &Operands, at: usize, second: bool) -> [f32; 2] {
    // SAFETY: as the caller vouches; pairs are aligned where rows are even.
    unsafe {
        if operands.flags & OUT_F32 != 0 {
            let from = operands.c.cast::<f32>().add(at);
            match UNIT {
                1 => [*from, if second { *from.add(1) } else { 0.0 }],
                _ => (*from.cast::<Pair>()).0,
            }
        } else {
            let from = operands.c.cast::<u16>().add(at);
            match UNIT {
                1 => [
                    widened(*from),
                    if second { widened(*from.add(1)) } else { 0.0 },
                ],
                _ => {
                    let pair = *from.cast::<u32>();
                    [widened(pair as u16), widened((pair >> 16) as u16)]
                }
            }
        }
    }
}

/// Stores the pair from element `at` on, or its first element alone.
///
/// # Safety
/// C holds them, and nobody else accesses them.
#[inline(always)]
unsafe fn store<const UNIT: u32>(operands: &Operands, at: usize, pair: [f32; 2], second: bool) {
    // SAFETY: as the caller vouches; pairs are aligned where rows are even.
    unsafe {
        if operands.flags & OUT_F32 != 0 {
            let to = operands.c.cast::<f32>().add(at);
            if UNIT == 1 {
                *to = pair[0];
                if second {
                    *to.add(1) = pair[1];
                }
            } else {
                *to.cast::<Pair>() = Pair(pair);
            }
        } else {
            let to = operands.c.cast::<u16>().add(at);
            let rounded = bf16_pair(pair[0], pair[1]);
            if UNIT == 1 {
                *to = rounded as u16;
                if second {
                    *to.add(1) = (rounded >> 16) as u16;
                }
            } else {
                *to.cast::<u32>() = rounded;
            }
        }
    }
}

/// The value of a bfloat16.
#[inline(always)]
fn widened(bits: u16) -> f32 {
    f32::from_bits((bits as u32) << 16)
}
