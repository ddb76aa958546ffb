//! Products that are narrow on one side: the warps of a block compute one tile of C together, each from
//! its own slices of k.
//!
//! A tile of 64 x 64 is too small for 8 x 16 sums a thread, unless it is one warp's: then six
//! 16-byte loads feed 128 FFMAs, as in the tiles of large products, and not four 64. So every warp sums the
//! whole tile over every so many slices of k, and what the warps have is added up at the end.
//!
//! - A warp copies what it multiplies, and waits for nobody: between the first copy and the last
//!   product there is no barrier of a block.
//! - A lies in shared memory as in global memory, row by row, so that all copies are of 16
//!   bytes. A thread loads four columns of its rows at once; a slice is 64 bytes of a row, and its four
//!   pieces change places from one pair of rows to the next (`swizzle`): the rows that a warp reads, or
//!   writes, together lie in different banks.
//! - All of one column of A then lies in one bank of the register file. An FFMA that begins a row of
//!   sums reads an element of A anew and a sum, and must find them in different banks; so the order
//!   of the columns of C is one whose both ends lie in the one bank for even columns of A, and in the
//!   other for odd ones (`column_of`).
//! - A's four columns are loaded over the last ones: its upper rows while the lower ones are
//!   multiplied.
//! - Whether ptxas keeps the order in which the main loop stands here, depends on code far from it: 9 of 512
//!   FFMAs find two operands in one bank, but 50 if the first copies are a loop.
//! - The sums of the warps are added up in shared memory, and those of the blocks of a cluster, if the
//!   launch has any, in that of all of them; always in the same order.

use super::Operands;
use crate::gpu::{fma, thread};
use crate::params::{SLICED, VECTOR_ELEMENTS, WARP};
use crate::ptx::compiler::{hold_order, opaque};
use crate::ptx::global::{Vec4, load_v4, prefetch_l2, store_v4};
use crate::ptx::{cluster, copy_async, shared, warp};

/// Rows and columns of a thread.
const TM: usize = SLICED.thread_m as usize;
const TN: usize = SLICED.thread_n as usize;
/// Rows of a thread that are loaded together.
const HALF: usize = TM / 2;
/// Bytes of a 16-byte piece.
const PIECE: u32 = 4 * VECTOR_ELEMENTS;
/// Bytes of a row of A in a stage, four pieces.
const A_ROW: u32 = SLICED.k * 4;
/// Bytes of a row of B in a stage.
const B_ROW: u32 = SLICED.n * 4;
/// Pieces of a row of A and of B in a stage.
const A_PIECES: u32 = A_ROW / PIECE;
const B_PIECES: u32 = B_ROW / PIECE;
/// Rows of A and of B that a warp copies at a time.
const A_ROWS: u32 = WARP / A_PIECES;
const B_ROWS: u32 = WARP / B_PIECES;
/// 16-byte vectors of a tile of C.
const VECTORS: u32 = SLICED.m * SLICED.n / VECTOR_ELEMENTS;
/// Vectors of C that a thread adds up at a time.
const TOGETHER: usize = 2;
/// Elements of 128 bytes, which the L2 reads together.
const LINE: u32 = 32;

/// Bits that the address of a piece of row `row` of A in a stage is changed by.
#[inline(always)]
const fn swizzle(row: u32) -> u32 {
    (row / 2 % A_PIECES) * PIECE
}

/// Where a warp computes: a tile of C, in its own part of shared memory.
#[derive(Clone, Copy)]
struct Place {
    /// First row and column of the tile.
    row: u32,
    column: u32,
    /// The first slice of k, and from one to the next.
    first: u32,
    step: u32,
    /// Address of the first stage.
    stages: u32,
}

/// First row and column of lane `lane`, inside the tile.
#[inline(always)]
const fn first_element(lane: u32) -> (u32, u32) {
    (lane / SLICED.lanes_n(), lane % SLICED.lanes_n() * VECTOR_ELEMENTS)
}

/// The row and the column of vector `v` of a thread, from its first.
#[inline(always)]
const fn vector(v: u32) -> (u32, u32) {
    const ACROSS: u32 = SLICED.thread_n / VECTOR_ELEMENTS;
    (v / ACROSS * SLICED.lanes_m(), v % ACROSS * SLICED.lanes_n() * VECTOR_ELEMENTS)
}

/// Copies the slices of a warp, one after the other, into its stages in turn.
struct Copier {
    operands: Operands,
    place: Place,
    /// First element of A and B of the next slice, the same for all lanes.
    a: *const f32,
    b: *const f32,
    /// Bytes from there to this lane's first piece.
    a_offset: u32,
    b_offset: u32,
    /// Where that goes in the first stage.
    a_to: u32,
    b_to: u32,
    /// The stage that is filled next.
    stage: u32,
    /// The slice that is copied next, the first that reaches past an edge, and the end.
    next: u32,
    edge: u32,
    end: u32,
}

impl Copier {
    #[inline(always)]
    fn new(operands: Operands, place: Place) -> Self {
        let lane = thread::thread_idx_x() % WARP;
        let (n, k) = (operands.n as usize, operands.k as usize);
        let k0 = (place.first * SLICED.k) as usize;
        let (a_row, a_piece) = (lane / A_PIECES, lane % A_PIECES * PIECE);
        let (b_row, b_piece) = (lane / B_PIECES, lane % B_PIECES * PIECE);
        let inside = place.row + SLICED.m <= operands.m && place.column + SLICED.n <= operands.n;
        Copier {
            operands,
            place,
            a: operands.a.wrapping_add(place.row as usize * k + k0),
            b: operands.b.wrapping_add(k0 * n + place.column as usize),
            a_offset: a_row * (operands.k * 4) + a_piece,
            b_offset: b_row * (operands.n * 4) + b_piece,
            a_to: place.stages + a_row * A_ROW + (a_piece ^ swizzle(a_row)),
            b_to: place.stages + SLICED.a_bytes() + b_row * B_ROW + b_piece,
            stage: 0,
            next: place.first,
            edge: if inside { operands.k / SLICED.k } else { 0 },
            end: operands.k.div_ceil(SLICED.k),
        }
    }

    /// Starts the copies of A of the next slice, if there is one.
    ///
    /// # Safety
    /// The operands are readable, their rows start on 16 bytes and are of whole pieces; nothing accesses
    /// the stage that is filled next until the group of [`Copier::fill_b`] is complete.
    #[inline(always)]
    unsafe fn fill_a(&self) {
        let stride = (A_ROWS * self.operands.k * 4) as usize;
        let to = self.a_to + self.stage * SLICED.stage_bytes();
        // Computed here, not kept in registers through the loop.
        let mut from = self.a.wrapping_byte_add(opaque(self.a_offset) as usize);
        // SAFETY: before `edge` every piece lies inside A; after it each is looked at.
        unsafe {
            let mut row = 0;
            if self.next < self.edge {
                while row < SLICED.m {
                    copy_async::copy_whole_16(to + row * A_ROW, from);
                    from = from.wrapping_byte_add(stride);
                    row += A_ROWS;
                }
            } else if self.next < self.end {
                let lane = opaque(thread::thread_idx_x()) % WARP;
                let row0 = self.place.row + lane / A_PIECES;
                let column = self.next * SLICED.k + lane % A_PIECES * VECTOR_ELEMENTS;
                while row < SLICED.m {
                    let inside = row0 + row < self.operands.m && column < self.operands.k;
                    let source = if inside { from } else { self.a };
                    copy_async::copy_16(to + row * A_ROW, source, if inside { PIECE } else { 0 });
                    from = from.wrapping_byte_add(stride);
                    row += A_ROWS;
                }
            }
        }
    }

    /// Starts those of B, closes the group of both, and goes on to the slice after it.
    ///
    /// # Safety
    /// As for [`Copier::fill_a`].
    #[inline(always)]
    unsafe fn fill_b(&mut self) {
        let stride = (B_ROWS * self.operands.n * 4) as usize;
        let to = self.b_to + self.stage * SLICED.stage_bytes();
        let mut from = self.b.wrapping_byte_add(opaque(self.b_offset) as usize);
        // SAFETY: as in `fill_a`.
        unsafe {
            let mut row = 0;
            if self.next < self.edge {
                while row < SLICED.k {
                    copy_async::copy_whole_16(to + row * B_ROW, from);
                    from = from.wrapping_byte_add(stride);
                    row += B_ROWS;
                }
                self.advance();
            } else if self.next < self.end {
                let lane = opaque(thread::thread_idx_x()) % WARP;
                let row0 = self.next * SLICED.k + lane / B_PIECES;
                let column = self.place.column + lane % B_PIECES * VECTOR_ELEMENTS;
                while row < SLICED.k {
                    let inside = row0 + row < self.operands.k && column < self.operands.n;
                    let source = if inside { from } else { self.b };
                    copy_async::copy_16(to + row * B_ROW, source, if inside { PIECE } else { 0 });
                    from = from.wrapping_byte_add(stride);
                    row += B_ROWS;
                }
                self.advance();
            }
        }
        copy_async::commit();
    }

    #[inline(always)]
    fn advance(&mut self) {
        let columns = (self.place.step * SLICED.k) as usize;
        self.a = self.a.wrapping_add(columns);
        self.b = self.b.wrapping_add(columns * self.operands.n as usize);
        self.next += self.place.step;
        self.stage = next_stage(self.stage);
    }
}

#[inline(always)]
fn next_stage(stage: u32) -> u32 {
    if stage + 1 == SLICED.stages { 0 } else { stage + 1 }
}

/// Asks for the tile of C to be brought into the L2, each thread of the block for a part of it.
///
/// # Safety
/// C is readable.
#[inline(always)]
unsafe fn prefetch(operands: Operands, place: Place) {
    let Operands { c, m, n, .. } = operands;
    let mut line = thread::thread_idx_x();
    while line < SLICED.m * SLICED.n / LINE {
        let row = place.row + line / (SLICED.n / LINE);
        let column = place.column + line % (SLICED.n / LINE) * LINE;
        if row < m && column < n {
            // SAFETY: the element lies inside C.
            unsafe { prefetch_l2(c.wrapping_add(row as usize * n as usize + column as usize)) }
        }
        line += SLICED.threads();
    }
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
fn accumulate(
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
            let j = column_of(e, if i % 2 == 1 { step } else { TN - 1 - step });
            sums[i][j] = fma(a[i][e], b[j], sums[i][j]);
            step += 1;
        }
        i += 1;
    }
}

/// Sums the slices of this warp.
///
/// # Safety
/// As for [`run`]; the warp's part of shared memory is not used by others.
#[inline(always)]
unsafe fn sum(operands: Operands, place: Place) -> [[f32; TN]; TM] {
    const ALL: [usize; 2] = [0, TM];
    const UPPER: [usize; 2] = [0, HALF];
    const LOWER: [usize; 2] = [HALF, TM];
    /// Columns of A that are loaded at once, and as many rows of B.
    const STEPS: u32 = VECTOR_ELEMENTS;
    const QUARTERS: u32 = SLICED.k / STEPS;
    const { assert!(QUARTERS == 4) };

    let mut sums = [[0f32; TN]; TM];
    let slices = operands.k.div_ceil(SLICED.k);
    // SAFETY: a block has warps. Keeps the division below from carrying a panic.
    unsafe { core::hint::assert_unchecked(place.step != 0) };
    let count = if place.first < slices { (slices - place.first).div_ceil(place.step) } else { 0 };
    if count == 0 {
        return sums;
    }
    // SAFETY: shared addresses are those of this thread's elements in a stage of its warp; a stage
    // is read between the barrier of the warp that says it has arrived and the next, and filled only then.
    unsafe {
        let mut copier = Copier::new(operands, place);
        let mut stage = 0;
        while stage < SLICED.stages {
            copier.fill_a();
            copier.fill_b();
            stage += 1;
        }
        let (row, column) = first_element(thread::thread_idx_x() % WARP);
        let a_base = place.stages + row * A_ROW + swizzle(row);
        let b_base = place.stages + SLICED.a_bytes() + column * 4;

        let mut columns = [[0f32; 4]; TM];
        let (mut even, mut odd) = ([0f32; TN], [0f32; TN]);
        let (mut a, mut b) = (a_base, b_base);
        let mut stage = 0;
        let mut quarters_left = QUARTERS * count;
        copy_async::wait::<{ SLICED.stages - 1 }>();
        warp::sync();
        load_a(&mut columns, 0, a);
        load_a(&mut columns, HALF, a);
        load_b(&mut even, b);
        loop {
            load_b(&mut odd, b + B_ROW);
            accumulate(&columns, 0, ALL, &even, &mut sums);
            hold_order();
            load_b(&mut even, b + 2 * B_ROW);
            accumulate(&columns, 1, ALL, &odd, &mut sums);
            hold_order();
            load_b(&mut odd, b + 3 * B_ROW);
            accumulate(&columns, 2, ALL, &even, &mut sums);
            quarters_left -= 1;
            (a, b) = if quarters_left == 0 {
                (a, b)
            } else if quarters_left.is_multiple_of(QUARTERS) {
                stage = next_stage(stage);
                copy_async::wait::<{ SLICED.stages - 2 }>();
                warp::sync();
                let offset = stage * SLICED.stage_bytes();
                (a_base + offset, b_base + offset)
            } else {
                // From piece 0 to 1, 1 to 2, 2 to 3.
                let changed = if quarters_left.is_multiple_of(2) { 3 * PIECE } else { PIECE };
                (a ^ changed, b + STEPS * B_ROW)
            };
            hold_order();
            load_b(&mut even, b);
            accumulate(&columns, 3, UPPER, &odd, &mut sums);
            if quarters_left == 0 {
                break;
            }
            hold_order();
            load_a(&mut columns, 0, a);
            accumulate(&columns, 3, LOWER, &odd, &mut sums);
            hold_order();
            load_a(&mut columns, HALF, a);
            // The stage before this, of which nothing has been read behind the barrier, is filled again, a
            // half at a time; in the first slice there is none.
            if quarters_left.is_multiple_of(QUARTERS) {
                copier.fill_a();
            } else if quarters_left % QUARTERS == QUARTERS / 2
                && quarters_left + QUARTERS / 2 < QUARTERS * count
            {
                copier.fill_b();
            }
        }
        accumulate(&columns, 3, LOWER, &odd, &mut sums);
        copy_async::wait::<0>();
    }
    sums
}

/// Adds up what the warps of the cluster have, and adds that to C.
///
/// First the warps of a block, in its shared memory; then each block its share of the tile from the
/// shared memory of all.
///
/// # Safety
/// As for [`run`]; every thread of the cluster calls it, with its own sums, when the stages are no longer
/// filled.
#[inline(always)]
unsafe fn combine(operands: Operands, place: Place, sums: &[[f32; TN]; TM]) {
    const WARPS: usize = SLICED.warps as usize;
    const { assert!(VECTORS * PIECE <= SLICED.warp_bytes()) };
    let Operands { c, m, n, .. } = operands;
    let (rank, parts) = (cluster::rank(), cluster::size());
    let thread = thread::thread_idx_x();
    let (lane, base) = (thread % WARP, shared::dynamic_base());
    let at = |warp: u32, v: u32| base + warp * SLICED.warp_bytes() + v * PIECE;
    // SAFETY: a part of a cluster's tile is not empty, and their number not 0; the division cannot
    // panic.
    unsafe { core::hint::assert_unchecked(parts != 0) };
    let share = VECTORS / parts;
    let (first, end) = (share * rank + thread, share * (rank + 1));
    let (row, column) = first_element(lane);
    // Address of a vector of C, if it falls to this thread.
    let element = |v: u32| {
        let (down, across) = vector(v / WARP);
        let (row, column) = (place.row + row + down, place.column + column + across);
        let inside = v < end && row < m && column < n;
        (inside, c.wrapping_add(row as usize * n as usize + column as usize))
    };
    // SAFETY: a warp's stages are its own until the barrier of the block, behind which a vector of all
    // warps is one thread's, and behind that of the cluster the sums are only read. Each vector of C is
    // one thread's, and its rows start on 16 bytes and are of whole vectors.
    unsafe {
        warp::sync();
        let mut v = 0;
        while v < TM * TN / 4 {
            // Not the sums themselves: see `plus_zero` of the teams.
            let (i, j) = (v / (TN / 4), v % (TN / 4) * 4);
            let part = core::array::from_fn(|e| sums[i][j + e] + 0.0);
            shared::store_v4(at(thread / WARP, v as u32 * WARP + lane), part);
            v += 1;
        }
        thread::sync_threads();
        let mut v = thread;
        while v < VECTORS {
            let each: [Vec4; WARPS] = core::array::from_fn(|warp| shared::load_v4(at(warp as u32, v)));
            let mut total = each[0];
            let mut warp = 1;
            while warp < WARPS {
                total = core::array::from_fn(|e| total[e] + each[warp][e]);
                warp += 1;
            }
            shared::store_v4(at(0, v), total);
            v += SLICED.threads();
        }
        let read = |v: u32| {
            let (inside, address) = element(v);
            if inside { load_v4(address) } else { [0.0; 4] }
        };
        let vectors = |from: u32| core::array::from_fn(|g| from + g as u32 * SLICED.threads());
        let mut each: [u32; TOGETHER] = vectors(first);
        // Under way while the others come to the barrier.
        let mut old = each.map(read);
        cluster::exchange();
        loop {
            let of = |part: u32| {
                each.map(|v| match v < end {
                    true => shared::load_v4_of(cluster::address_in(part, at(0, v))),
                    false => [0.0; 4],
                })
            };
            let mut total = of(0);
            let mut part = 1;
            while part < parts {
                let more = of(part);
                let mut g = 0;
                while g < TOGETHER {
                    if each[g] < end {
                        total[g] = core::array::from_fn(|e| total[g][e] + more[g][e]);
                    }
                    g += 1;
                }
                part += 1;
            }
            let mut g = 0;
            while g < TOGETHER {
                let (inside, address) = element(each[g]);
                if inside {
                    store_v4(address, core::array::from_fn(|e| old[g][e] + total[g][e]));
                }
                g += 1;
            }
            let next = each[0] + TOGETHER as u32 * SLICED.threads();
            if next >= end {
                break;
            }
            each = vectors(next);
            old = each.map(read);
        }
        // Nobody leaves while others read its shared memory.
        cluster::sync();
    }
}

/// What this block computes of C += A @ B: with the others of its cluster one tile.
///
/// # Safety
/// The operands are row-major matrices of their sizes, those of a batch one behind the other, m, n, k >= 1;
/// `c` overlaps neither of the others. All three start on 16 bytes, n and k are multiples of 4. The block
/// has the threads and the dynamic shared memory of the shape, and the grid a cluster for each tile, of
/// a number of blocks that divides that of the vectors of a tile.
#[inline(always)]
unsafe fn run(operands: Operands) {
    let (rows, columns) = (operands.m.div_ceil(SLICED.m), operands.n.div_ceil(SLICED.n));
    let tiles = rows * columns;
    // SAFETY: m, n >= 1. Keeps panics out of the PTX.
    unsafe { core::hint::assert_unchecked(rows != 0 && tiles != 0) };
    let index = cluster::index();
    let (product, tile) = (index / tiles, index % tiles);
    let operands = operands.of_product(product);
    // From the first lane, so that ptxas sees that a whole warp agrees.
    let warp = warp::first(thread::thread_idx_x() / WARP);
    let place = Place {
        row: tile % rows * SLICED.m,
        column: tile / rows * SLICED.n,
        first: cluster::rank() * SLICED.warps + warp,
        step: cluster::size() * SLICED.warps,
        stages: shared::dynamic_base() + warp * SLICED.warp_bytes(),
    };
    // SAFETY: as the caller vouches; the shared memory has not been used.
    unsafe {
        if cluster::rank() == 0 {
            prefetch(operands, place);
        }
        let sums = sum(operands, place);
        combine(operands, place, &sums);
    }
}

kernel! {
    /// C = A @ B + C, each tile by a cluster, or by one block.
    ///
    /// # Safety
    /// As for the function that it calls.
    pub unsafe fn sgemm_sliced(
        a: *const f32, b: *const f32, c: *mut f32, m: u32, n: u32, k: u32,
    ) {
        // SAFETY: as the caller vouches.
        unsafe { run(Operands { a, b, c, m, n, k }) }
    }
}
