//! C: from the sums in registers to memory.

use super::Operands;
use super::fragment::{ACROSS, DOWN, Sums, corner};
use crate::gemm::walk::Place;
use crate::gpu::thread;
use crate::params::{OUT_F32, READS_C, WARP};
use crate::ptx::convert::bf16_pair;

/// Two f32 that are moved at once.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
struct Pair([f32; 2]);

/// Writes the sums, C added if the launch reads it. With `UNIT` above 1 rows of C have an even number
/// of elements, and pairs are moved at once.
///
/// # Safety
/// C is m x n; no other block writes the tile.
#[inline(always)]
pub unsafe fn write<const UNIT: u32>(operands: &Operands, sums: &Sums, place: Place) {
    let lane = thread::thread_idx_x() % WARP;
    let (row, column) = corner();
    let row = place.row + row + lane / 4;
    let column = place.column + column + lane % 4 * 2;
    let mut part = 0;
    while part < 2 * DOWN {
        let (i, lower) = (part / 2, part % 2);
        let row = row + 16 * i as u32 + 8 * lower as u32;
        if row < operands.m {
            // SAFETY: the row is one of C's.
            unsafe { write_row::<UNIT>(operands, sums, [i, lower], row, column) };
        }
        part += 1;
    }
}

/// Writes a thread's pairs of a row: all are read before the first is written, so that they are on
/// their way together.
///
/// # Safety
/// As for [`write`]; the row is one of C's.
#[inline(always)]
unsafe fn write_row<const UNIT: u32>(
    operands: &Operands,
    sums: &Sums,
    [i, lower]: [usize; 2],
    row: u32,
    column: u32,
) {
    let first = row as usize * operands.n as usize + column as usize;
    let mut old = [[0f32; 2]; ACROSS];
    if operands.flags & READS_C != 0 {
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
    let mut j = 0;
    while j < ACROSS {
        if column + 8 * (j as u32) < operands.n {
            let second = column + 8 * (j as u32) + 1 < operands.n;
            let [x, y] = sums.pair(i, j, lower);
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
                1 => [widened(*from), if second { widened(*from.add(1)) } else { 0.0 }],
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
