//! The main loop of `sgemm_sliced` and `sgemm_bulk`: a warp's 64 x 64 of C, from an A that lies row by row
//! in shared memory.
//!
//! - A slice of k is 64 bytes of a row of A, and its four pieces change places from one pair of rows to
//!   the next (`swizzle`): the rows that a warp reads, or that are written, together lie in different banks.
//!   A thread loads four columns of its rows at once.
//! - All of one column of A then lies in one bank of the register file. An FFMA that begins a row of
//!   sums reads an element of A anew and a sum, and must find them in different banks; so the order
//!   of the columns of C is one whose both ends lie in the one bank for even columns of A, and in the
//!   other for odd ones (`column_of`).
//! - A's four columns are loaded over the last ones: its upper rows while the lower ones are
//!   multiplied.

use crate::gpu::fma;
use crate::params::{SLICED, VECTOR_ELEMENTS};
use crate::ptx::compiler::hold_order;
use crate::ptx::global::Vec4;
use crate::ptx::shared;

/// Rows and columns of a thread.
pub const TM: usize = SLICED.thread_m as usize;
pub const TN: usize = SLICED.thread_n as usize;
/// Rows of a thread that are loaded together.
const HALF: usize = TM / 2;
/// Bytes of a 16-byte piece.
pub const PIECE: u32 = 4 * VECTOR_ELEMENTS;
/// Bytes of a row of A in a stage, four pieces.
pub const A_ROW: u32 = SLICED.k * 4;
/// Pieces of a row of A in a stage.
pub const A_PIECES: u32 = A_ROW / PIECE;
/// Columns of A that are loaded at once, and as many rows of B.
const STEPS: u32 = VECTOR_ELEMENTS;
/// Of a slice.
pub const QUARTERS: u32 = SLICED.k / STEPS;

/// Bits that the address of a piece of row `row` of A in a stage is changed by.
#[inline(always)]
pub const fn swizzle(row: u32) -> u32 {
    (row / 2 % A_PIECES) * PIECE
}

/// First row and column of lane `lane`, inside the tile.
#[inline(always)]
pub const fn first_element(lane: u32) -> (u32, u32) {
    (lane / SLICED.lanes_n(), lane % SLICED.lanes_n() * VECTOR_ELEMENTS)
}

/// The row and the column of vector `v` of a thread, from its first.
#[inline(always)]
pub const fn vector(v: u32) -> (u32, u32) {
    const ACROSS: u32 = SLICED.thread_n / VECTOR_ELEMENTS;
    (v / ACROSS * SLICED.lanes_m(), v % ACROSS * SLICED.lanes_n() * VECTOR_ELEMENTS)
}

/// A thread's elements of a row of B.
///
/// # Safety
/// They have arrived, and nothing is copied to them.
#[inline(always)]
unsafe fn load_b(b: &mut [f32; TN], at: u32) {
    let mut j = 0;
    while j < TN {
        let (_, column) = vector(j as u32 / VECTOR_ELEMENTS);
        // SAFETY: as the caller vouches.
        let v = unsafe { shared::load_v4(at + column * 4) };
        let mut e = 0;
        while e < 4 {
            b[j + e] = v[e];
            e += 1;
        }
        j += 4;
    }
}

/// Four columns of half of a thread's rows of A, from row `first` on.
///
/// # Safety
/// As for [`load_b`].
#[inline(always)]
unsafe fn load_a(a: &mut [Vec4; TM], first: usize, at: u32) {
    let mut i = first;
    while i < first + HALF {
        // SAFETY: as the caller vouches.
        a[i] = unsafe { shared::load_v4(at + i as u32 * (SLICED.lanes_m() * A_ROW)) };
        i += 1;
    }
}

/// The `s`-th column of a walk over a row of sums whose first and last column are odd if `e` is.
#[inline(always)]
const fn column_of(e: usize, s: usize) -> usize {
    const LAST: usize = TN - 1;
    const BEFORE: usize = LAST - 1;
    match (e % 2, s) {
        (0, BEFORE) => LAST,
        (0, LAST) => BEFORE,
        (1, 0) => 1,
        (1, 1) => 0,
        _ => s,
    }
}

/// `sums += column e of a (outer) b` for the rows `from` to `to`, row by row, forth and back.
#[inline(always)]
fn accumulate<S: Slices>(
    a: &[Vec4; TM],
    e: usize,
    [from, to]: [usize; 2],
    b: &[f32; TN],
    sums: &mut [[f32; TN]; TM],
) {
    let mut i = from;
    while i < to {
        let mut step = 0;
        while step < TN {
            let j = column_of(e, if i % 2 == S::FORTH { step } else { TN - 1 - step });
            sums[i][j] = fma(a[i][e], b[j], sums[i][j]);
            step += 1;
        }
        i += 1;
    }
}

/// The slices that a warp multiplies, one after the other, in stages.
pub trait Slices {
    /// Bytes of a row of B in a stage.
    const B_ROW: u32;
    /// Which rows of sums are walked forth, the others back: even ones (0) or odd ones (1), as ptxas finds
    /// fewer FFMAs that read two registers of a bank.
    const FORTH: usize;
    /// Whether the loop is left before it loads what comes next: ptxas moves those loads behind a branch that
    /// they stand before, where the next [`hold_order`] waits for them.
    const LEAVES_EARLY: bool;

    /// Waits for the next slice: bytes from the first stage to its own.
    ///
    /// # Safety
    /// The whole warp calls it, when it has loaded all of the slice before.
    unsafe fn next(&mut self) -> u32;

    /// Fills stages again, called in each quarter of a slice but the very first when its columns of A are
    /// loaded, with the quarters that are left.
    ///
    /// # Safety
    /// The whole warp calls it.
    unsafe fn refill(&mut self, quarters_left: u32);
}

/// Sums `count` slices (not 0), the first of which has arrived.
///
/// # Safety
/// `a_base` and `b_base` are the addresses of this thread's elements in the first stage; a stage that
/// [`Slices::next`] hands out is not written until the next call.
#[inline(always)]
pub unsafe fn sum<S: Slices>(
    slices: &mut S,
    count: u32,
    [a_base, b_base]: [u32; 2],
) -> [[f32; TN]; TM] {
    const ALL: [usize; 2] = [0, TM];
    const UPPER: [usize; 2] = [0, HALF];
    const LOWER: [usize; 2] = [HALF, TM];
    const { assert!(QUARTERS == 4) };

    let mut sums = [[0f32; TN]; TM];
    let mut columns = [[0f32; 4]; TM];
    let (mut even, mut odd) = ([0f32; TN], [0f32; TN]);
    let (mut a, mut b) = (a_base, b_base);
    let mut quarters_left = QUARTERS * count;
    // SAFETY: shared addresses are those of this thread's elements in a stage that has arrived; what is
    // loaded of a stage is loaded before the next is asked for.
    unsafe {
        load_a(&mut columns, 0, a);
        load_a(&mut columns, HALF, a);
        load_b(&mut even, b);
        loop {
            load_b(&mut odd, b + S::B_ROW);
            accumulate::<S>(&columns, 0, ALL, &even, &mut sums);
            hold_order();
            load_b(&mut even, b + 2 * S::B_ROW);
            accumulate::<S>(&columns, 1, ALL, &odd, &mut sums);
            hold_order();
            load_b(&mut odd, b + 3 * S::B_ROW);
            accumulate::<S>(&columns, 2, ALL, &even, &mut sums);
            quarters_left -= 1;
            if S::LEAVES_EARLY && quarters_left == 0 {
                break;
            }
            (a, b) = if quarters_left == 0 {
                (a, b)
            } else if quarters_left.is_multiple_of(QUARTERS) {
                let offset = slices.next();
                (a_base + offset, b_base + offset)
            } else {
                // From piece 0 to 1, 1 to 2, 2 to 3.
                let changed = if quarters_left.is_multiple_of(2) { 3 * PIECE } else { PIECE };
                (a ^ changed, b + STEPS * S::B_ROW)
            };
            hold_order();
            load_b(&mut even, b);
            accumulate::<S>(&columns, 3, UPPER, &odd, &mut sums);
            if !S::LEAVES_EARLY && quarters_left == 0 {
                break;
            }
            hold_order();
            load_a(&mut columns, 0, a);
            accumulate::<S>(&columns, 3, LOWER, &odd, &mut sums);
            hold_order();
            load_a(&mut columns, HALF, a);
            slices.refill(quarters_left);
        }
        let rest = if S::LEAVES_EARLY { ALL } else { LOWER };
        accumulate::<S>(&columns, 3, rest, &odd, &mut sums);
    }
    sums
}
