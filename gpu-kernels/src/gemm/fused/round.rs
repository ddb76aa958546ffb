//! From a stage of f32 to bfloat16.
//!
//! A thread rounds units of four f32 at a time: 16 bytes of a row of 128 become 8 of a row of 64 (A) or of
//! 128 (B). All rows are swizzled. The units are dealt out so that what eight lanes read and what sixteen
//! write are whole rows, which lie in different banks; from one unit of a thread to its next it is a
//! multiple of eight rows, so that the swizzle stays.

use super::feed::{self, B_PANEL, ROW};
use super::{Fused, Operands, SLICE, SLICE_PANEL};
use crate::gemm::ring::Ring;
use crate::gemm::walk::Place;
use crate::params::{FUSED_DEPTH, LOADS_A, LOADS_B, PANEL_COLUMNS};
use crate::ptx::convert::bf16_pair;
use crate::ptx::{global, shared};
use crate::stage::Stage;

/// Bytes of a row of A in bfloat16; those of B are as long as those of f32.
const NARROW_ROW: u32 = FUSED_DEPTH * 2;
/// Elements of a unit.
const UNIT: u32 = 4;
/// Units whose loads are under way together.
const TOGETHER: usize = 4;

/// The first unit of a thread in a stage: where it lies and where it goes.
#[derive(Clone, Copy)]
struct Unit {
    /// Row and column of the block's tile of the operand.
    row: u32,
    column: u32,
    /// Bytes from the start of the operand's part of the stage, and of the half.
    from: u32,
    to: u32,
}

/// The units of a thread, the same in every stage.
#[derive(Clone, Copy)]
pub struct Share {
    a: Unit,
    b: Unit,
}

/// Rows that a block's warps cover at a time: of A four each, of B two.
const fn rows_at_a_time(consumers: u32) -> [u32; 2] {
    [16 * consumers, 8 * consumers]
}

/// Place of 16 bytes in rows of 128, swizzled.
#[inline(always)]
fn swizzled(row: u32, sixteen: u32) -> u32 {
    row * ROW + (sixteen ^ (row % 8)) * 16
}

/// Place of 16 bytes in rows of 64, swizzled.
#[inline(always)]
fn swizzled_narrow(row: u32, sixteen: u32) -> u32 {
    row * NARROW_ROW + (sixteen ^ (row / 2 % 4)) * 16
}

impl Share {
    /// Of thread `index` of the block.
    #[inline(always)]
    pub fn new<T: Fused>(index: u32) -> Self {
        const { assert!(T::TILE.consumers == 1 || T::TILE.consumers == 2) };
        let (warp, lane) = (index / 32, index % 32);
        let (unit, quarter) = (lane % 8, lane / 8);
        let half_of_16 = unit % 2 * 8;
        // Four rows for a warp.
        let row = warp * 4 + quarter;
        let a = Unit {
            row,
            column: unit * UNIT,
            from: swizzled(row, unit),
            to: swizzled_narrow(row, unit / 2) + half_of_16,
        };
        // Two rows for a warp: sixteen lanes have one row of two panels, which becomes one of one.
        let (row, side) = (warp * 2 + quarter / 2, quarter % 2);
        let b = Unit {
            row,
            column: side * feed::COLUMNS + unit * UNIT,
            from: side * B_PANEL + swizzled(row, unit),
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
        let [along, across] = ring.half::<T>(half);
        let [a_rows, b_rows] = rows_at_a_time(T::TILE.consumers);
        let mut words = [[0.0; UNIT as usize]; TOGETHER];

        let (from, to) = (ring.rows::<T>(stage) + self.a.from, along + self.a.to);
        const { assert!(T::TILE.m() / rows_at_a_time(T::TILE.consumers)[0] <= TOGETHER as u32) };
        let units = T::TILE.m() / a_rows;
        for unit in 0..units {
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
        for unit in 0..units {
            let to = to + unit * a_rows * NARROW_ROW;
            // SAFETY: a unit of the half.
            unsafe { shared::store_v2(to, rounded(words[unit as usize])) };
        }

        let (from, to) = (ring.columns::<T>(stage) + self.b.from, across + self.b.to);
        let turns = FUSED_DEPTH / b_rows;
        const {
            let turns = FUSED_DEPTH / rows_at_a_time(T::TILE.consumers)[1];
            assert!((T::TILE.n / PANEL_COLUMNS * turns).is_multiple_of(TOGETHER as u32));
        }
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
                        shared::load_v4(from + panel * 2 * B_PANEL + row * ROW)
                    }
                };
            }
            for unit in 0..TOGETHER as u32 {
                let (panel, row) = place_of(unit);
                let slice = row / SLICE * (T::TILE.n * SLICE * 2);
                let to = to + slice + panel * SLICE_PANEL + row % SLICE * ROW;
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
