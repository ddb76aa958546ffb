//! From a stage of f32 to one half of a k tile of bfloat16.
//!
//! A thread rounds units of four f32 at a time: 16 bytes of a row of 128 become 8 of a row of
//! 128. Both rows are swizzled, and their units are dealt out so that what eight lanes read is a whole
//! row, and what sixteen write is a whole row too, or two halves that lie in different banks; from
//! one unit of a thread to its next it is a multiple of eight rows, so that the swizzle stays.

use super::{Fused, Operands};
use super::feed;
use crate::gemm::ring::{Ring, Stage};
use crate::gemm::walk::Place;
use crate::params::{FUSED_DEPTH, LOADS_A, LOADS_B, PANEL_BYTES, PANEL_COLUMNS};
use crate::ptx::convert::bf16_pair;
use crate::ptx::{global, shared};

/// Bytes of a row.
const ROW: u32 = 128;
/// Elements of a unit.
const UNIT: u32 = 4;
/// Units whose loads are under way together.
const TOGETHER: usize = 4;

/// The first unit of a thread in a stage: where it lies and where it goes.
#[derive(Clone, Copy)]
struct Unit {
    /// Row and column of the tile.
    row: u32,
    column: u32,
    /// Bytes from the start of the stage's part, and of what it is rounded to.
    from: u32,
    to: u32,
}

/// The units of a thread, the same in every stage.
#[derive(Clone, Copy)]
pub struct Share {
    a: Unit,
    b: Unit,
}

/// Place of a unit in a swizzled row: its 16 bytes, or the 8 that they become.
#[inline(always)]
fn swizzled(row: u32, sixteen: u32) -> u32 {
    row * ROW + (sixteen ^ (row % 8)) * 16
}

impl Share {
    /// Of thread `index` of a block.
    #[inline(always)]
    pub fn new<T: Fused>(index: u32) -> Self {
        const { assert!(T::TILE.consumers.is_power_of_two() && T::TILE.consumers <= 2) };
        let (warp, lane) = (index / 32, index % 32);
        let (unit, quarter) = (lane % 8, lane / 8);
        let half_of_16 = unit % 2 * 8;
        // Eight rows for two warps: sixteen lanes have rows that are four apart.
        let row = warp / 2 * 8 + warp % 2 * 2 + quarter / 2 + quarter % 2 * 4;
        let a = Unit {
            row,
            column: unit * UNIT,
            from: swizzled(row, unit),
            to: swizzled(row, unit / 2) + half_of_16,
        };
        // Two rows for a warp: sixteen lanes have one row of two panels, which becomes one of one.
        let (row, side) = (warp * 2 + quarter / 2, quarter % 2);
        let b = Unit {
            row,
            column: side * feed::COLUMNS + unit * UNIT,
            from: side * feed::BYTES + swizzled(row, unit),
            to: swizzled(row, side * 4 + unit / 2) + half_of_16,
        };
        Share { a, b }
    }

    /// Rounds a stage, which holds k tile `k_tile` of the block's tile at `place`.
    ///
    /// # Safety
    /// The stage is complete; nobody reads the half.
    #[inline(always)]
    pub unsafe fn round<T: Fused>(
        &self,
        operands: &Operands,
        ring: Ring,
        (place, k_tile): (Place, u32),
        stage: Stage,
        half: u32,
    ) {
        let products = &operands.products;
        let k = k_tile * FUSED_DEPTH;
        let [along, across] = ring.rounded::<T>();
        // Rows that the block's warps cover at a time: of A four each, of B two.
        let (a_rows, b_rows) = (16 * T::TILE.consumers, 8 * T::TILE.consumers);
        let turns = FUSED_DEPTH / b_rows;

        let from = ring.rows::<T>(stage) + self.a.from;
        // The halves of A's rows lie side by side: a bit of the address that the swizzle also turns.
        let to = (along + self.a.to) ^ (half * (ROW / 2));
        let mut words = [[0.0; UNIT as usize]; TOGETHER];
        for unit in 0..TOGETHER as u32 {
            let row = unit * a_rows;
            // SAFETY: a unit of the stage, or checked.
            words[unit as usize] = unsafe {
                if operands.loads::<T>(LOADS_A) {
                    let at = [place.row + self.a.row + row, k + self.a.column];
                    elements(operands.a, [products.m, products.k], place.matrix, at)
                } else {
                    shared::load_v4(from + row * ROW)
                }
            };
        }
        for unit in 0..TOGETHER as u32 {
            // SAFETY: a unit of the half.
            unsafe { shared::store_v2(to + unit * a_rows * ROW, rounded(words[unit as usize])) };
        }

        let from = ring.columns::<T>(stage) + self.b.from;
        let to = across + self.b.to + half * (FUSED_DEPTH * ROW);
        let units = T::TILE.n / PANEL_COLUMNS * turns;
        for group in 0..units / TOGETHER as u32 {
            let place_of = |unit: u32| {
                let unit = group * TOGETHER as u32 + unit;
                (unit / turns, unit % turns * b_rows)
            };
            for unit in 0..TOGETHER as u32 {
                let (panel, row) = place_of(unit);
                // SAFETY: a unit of the stage, or checked.
                words[unit as usize] = unsafe {
                    if operands.loads::<T>(LOADS_B) {
                        let column = place.column + panel * PANEL_COLUMNS + self.b.column;
                        let at = [k + self.b.row + row, column];
                        elements(operands.b, [products.k, products.n], place.matrix, at)
                    } else {
                        shared::load_v4(from + panel * PANEL_BYTES + row * ROW)
                    }
                };
            }
            for unit in 0..TOGETHER as u32 {
                let (panel, row) = place_of(unit);
                let to = to + panel * PANEL_BYTES + row * ROW;
                // SAFETY: a unit of the half.
                unsafe { shared::store_v2(to, rounded(words[unit as usize])) };
            }
        }
    }
}

/// A unit in bfloat16.
#[inline(always)]
fn rounded([x, y, z, w]: [f32; UNIT as usize]) -> [u32; 2] {
    [bf16_pair(x, y), bf16_pair(z, w)]
}

/// Four elements of a row of a matrix of the batch, one by one; 0 where there are none.
///
/// # Safety
/// The matrices, of `rows` and `columns`, lie at `base` one behind the other.
#[inline(always)]
unsafe fn elements(
    base: *const f32,
    [rows, columns]: [u32; 2],
    matrix: u32,
    [row, column]: [u32; 2],
) -> [f32; UNIT as usize] {
    let row_of_all = u64::from(matrix) * u64::from(rows) + u64::from(row);
    let first = base.wrapping_add(row_of_all as usize * columns as usize + column as usize);
    let mut four = [0.0; UNIT as usize];
    for i in 0..UNIT {
        let inside = row < rows && column + i < columns;
        let at = first.wrapping_add(i as usize).cast::<u32>();
        // SAFETY: an element, or not loaded.
        four[i as usize] = f32::from_bits(unsafe { global::load_if(at, u32::from(inside)) });
    }
    four
}
