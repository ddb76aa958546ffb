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
//!   bytes ([`row_major`]).
//! - Whether ptxas keeps the order in which the main loop stands here, depends on code far from it: 9 of 512
//!   FFMAs find two operands in one bank, but 50 if the first copies are a loop.
//! - The sums of the warps are added up in shared memory, and those of the blocks of a cluster, if the
//!   launch has any, in that of all of them; always in the same order.

use super::Operands;
use super::row_major::{
    self, A_PIECES, A_ROW, PIECE, QUARTERS, Slices, TM, TN, first_element, swizzle, vector,
};
use crate::gpu::thread;
use crate::params::{SLICED, VECTOR_ELEMENTS, WARP};
use crate::ptx::compiler::opaque;
use crate::ptx::global::{Vec4, load_v4, prefetch_l2, store_v4};
use crate::ptx::{cluster, copy_async, shared, warp};

/// Bytes of a row of B in a stage.
const B_ROW: u32 = SLICED.n * 4;
/// Pieces of a row of B in a stage.
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

/// Sums the slices of this warp.
///
/// # Safety
/// As for [`run`]; the warp's part of shared memory is not used by others.
#[inline(always)]
unsafe fn sum(operands: Operands, place: Place) -> [[f32; TN]; TM] {
    let slices = operands.k.div_ceil(SLICED.k);
    // SAFETY: a block has warps. Keeps the division below from carrying a panic.
    unsafe { core::hint::assert_unchecked(place.step != 0) };
    let count = if place.first < slices { (slices - place.first).div_ceil(place.step) } else { 0 };
    if count == 0 {
        return [[0f32; TN]; TM];
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
        copy_async::wait::<{ SLICED.stages - 1 }>();
        warp::sync();
        let mut own = Own { copier, stage: 0, quarters: QUARTERS * count };
        let sums = row_major::sum(&mut own, count, [a_base, b_base]);
        copy_async::wait::<0>();
        sums
    }
}

/// The slices of a warp.
struct Own {
    copier: Copier,
    /// The stage that is multiplied.
    stage: u32,
    /// Quarters of all slices.
    quarters: u32,
}

impl Slices for Own {
    const B_ROW: u32 = B_ROW;
    const FORTH: usize = 1;
    const LEAVES_EARLY: bool = false;

    #[inline(always)]
    unsafe fn next(&mut self) -> u32 {
        self.stage = next_stage(self.stage);
        copy_async::wait::<{ SLICED.stages - 2 }>();
        warp::sync();
        self.stage * SLICED.stage_bytes()
    }

    /// The stage before this, of which nothing has been read behind the barrier, is filled again, a
    /// half at a time; in the first slice there is none.
    #[inline(always)]
    unsafe fn refill(&mut self, quarters_left: u32) {
        // SAFETY: as above.
        unsafe {
            if quarters_left.is_multiple_of(QUARTERS) {
                self.copier.fill_a();
            } else if quarters_left % QUARTERS == QUARTERS / 2
                && quarters_left + QUARTERS / 2 < self.quarters
            {
                self.copier.fill_b();
            }
        }
    }
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
