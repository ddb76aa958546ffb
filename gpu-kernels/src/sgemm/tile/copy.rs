//! From global memory to a stage in shared memory.
//!
//! A stage holds `k` rows of A transposed (padded, so that the four-byte stores of a warp hit
//! different banks) and behind them `k` rows of B.

use super::{Corner, Operands, Shape};
use crate::gpu::thread;
use crate::params::WARP;
use crate::ptx::{copy_async, shared};
use core::marker::PhantomData;

/// Columns of A that a warp copies at a time: one sector of 32 bytes of each row.
const A_COLUMNS: u32 = 8;
/// Rows of A that a warp copies at a time.
const A_ROWS: u32 = WARP / A_COLUMNS;

/// Copies the k tiles of one tile of C, one after the other, into the stages in turn.
///
/// `VEC` is the number of elements of one copy of B: 4, or 1 where B's rows are not aligned.
pub struct Copier<S: Shape, const VEC: u32> {
    operands: Operands,
    corner: Corner,
    /// First element of A and B of the next k tile: the same for all threads of the block, so
    /// that only 32-bit offsets differ.
    a: *const f32,
    b: *const f32,
    /// Bytes from there to this thread's first element.
    a_offset: u32,
    b_offset: u32,
    /// Where that goes in the first stage.
    a_to: u32,
    b_to: u32,
    /// The stage that is filled next.
    stage: u32,
    /// The k tile that is copied next, the first that reaches past an edge, and the end.
    next: u32,
    edge: u32,
    end: u32,
    shape: PhantomData<S>,
}

impl<S: Shape, const VEC: u32> Copier<S, VEC> {
    const WARPS: u32 = S::TILE.threads() / WARP;
    const A_STEP: u32 = A_ROWS * Self::WARPS;
    const A_STEPS: u32 = S::TILE.m / Self::A_STEP;
    const A_PIECES: u32 = S::TILE.k / A_COLUMNS;
    /// Lanes on one row of B.
    const B_LANES: u32 = if S::TILE.n / VEC < WARP { S::TILE.n / VEC } else { WARP };
    const B_STEP: u32 = Self::WARPS * (WARP / Self::B_LANES);
    const B_STEPS: u32 = S::TILE.k / Self::B_STEP;
    const B_PIECE: u32 = Self::B_LANES * VEC;
    const B_PIECES: u32 = S::TILE.n / Self::B_PIECE;

    /// Prepares to copy the k tiles `first` to `end` (exclusive).
    #[inline(always)]
    pub fn new(operands: Operands, corner: Corner, first: u32, end: u32) -> Self {
        let (warp, lane) = (thread::thread_idx_x() / WARP, thread::thread_idx_x() % WARP);
        let (n, k) = (operands.n as usize, operands.k as usize);
        let (a_row, a_column) = (warp * A_ROWS + lane / A_COLUMNS, lane % A_COLUMNS);
        let b_row = warp * (WARP / Self::B_LANES) + lane / Self::B_LANES;
        let b_column = lane % Self::B_LANES * VEC;
        let inside = corner.row + S::TILE.m <= operands.m && corner.column + S::TILE.n <= operands.n;
        let whole = if inside { operands.k / S::TILE.k } else { 0 };
        let k0 = (first * S::TILE.k) as usize;
        let stage = shared::dynamic_base();
        Copier {
            operands,
            corner,
            a: operands.a.wrapping_add(corner.row as usize * k + k0),
            b: operands.b.wrapping_add(k0 * n + corner.column as usize),
            a_offset: (a_row * operands.k + a_column) * 4,
            b_offset: (b_row * operands.n + b_column) * 4,
            a_to: stage + (a_column * S::TILE.a_stride() + a_row) * 4,
            b_to: stage + S::TILE.a_bytes() + (b_row * S::TILE.n + b_column) * 4,
            stage: 0,
            next: first,
            edge: if whole < end { whole } else { end },
            end,
            shape: PhantomData,
        }
    }

    /// Starts the copies of the next k tile, if there is one, and closes their group.
    ///
    /// # Safety
    /// The operands are readable; nothing accesses the stage that is filled next until the
    /// group is complete.
    #[inline(always)]
    pub unsafe fn fill(&mut self) {
        // SAFETY: before `edge` every element lies inside A and B; `fill_edge` looks at each.
        unsafe {
            if self.next < self.edge {
                self.fill_whole();
                self.advance();
            } else if self.next < self.end {
                self.fill_edge();
                self.advance();
            }
        }
        copy_async::commit();
    }

    #[inline(always)]
    fn advance(&mut self) {
        self.a = self.a.wrapping_add(S::TILE.k as usize);
        self.b = self.b.wrapping_add(S::TILE.k as usize * self.operands.n as usize);
        self.next += 1;
        self.stage = if self.stage + 1 == S::TILE.stages { 0 } else { self.stage + 1 };
    }

    /// Address of piece (`step`, `piece`) of this thread's elements of A, and where it goes.
    #[inline(always)]
    fn a_piece(&self, step: u32, piece: u32) -> (u32, *const f32) {
        let to = self.a_to
            + self.stage * S::TILE.stage_bytes()
            + (piece * A_COLUMNS * S::TILE.a_stride() + step * Self::A_STEP) * 4;
        let row = self.a_offset + step * (Self::A_STEP * self.operands.k * 4);
        let from = self.a.wrapping_byte_add(row as usize).wrapping_add((piece * A_COLUMNS) as usize);
        (to, from)
    }

    /// Address of piece (`step`, `piece`) of this thread's elements of B, and where it goes.
    #[inline(always)]
    fn b_piece(&self, step: u32, piece: u32) -> (u32, *const f32) {
        let to = self.b_to
            + self.stage * S::TILE.stage_bytes()
            + (step * Self::B_STEP * S::TILE.n + piece * Self::B_PIECE) * 4;
        let row = self.b_offset + step * (Self::B_STEP * self.operands.n * 4);
        let from = self.b.wrapping_byte_add(row as usize).wrapping_add((piece * Self::B_PIECE) as usize);
        (to, from)
    }

    /// Copies a k tile that lies inside both operands.
    #[inline(always)]
    unsafe fn fill_whole(&self) {
        // SAFETY: as the caller of `fill` vouches; every element is inside.
        unsafe {
            let mut step = 0;
            while step < Self::A_STEPS {
                let mut piece = 0;
                while piece < Self::A_PIECES {
                    let (to, from) = self.a_piece(step, piece);
                    copy_async::copy_whole_4(to, from);
                    piece += 1;
                }
                step += 1;
            }
            let mut step = 0;
            while step < Self::B_STEPS {
                let mut piece = 0;
                while piece < Self::B_PIECES {
                    let (to, from) = self.b_piece(step, piece);
                    if VEC == 4 {
                        copy_async::copy_whole_16(to, from);
                    } else {
                        copy_async::copy_whole_4(to, from);
                    }
                    piece += 1;
                }
                step += 1;
            }
        }
    }

    /// Copies a k tile that reaches past an edge: zeros stand for what lies outside.
    #[inline(always)]
    unsafe fn fill_edge(&self) {
        let Operands { m, n, k, .. } = self.operands;
        let (warp, lane) = (thread::thread_idx_x() / WARP, thread::thread_idx_x() % WARP);
        let k0 = self.next * S::TILE.k;
        // SAFETY: as the caller of `fill` vouches; what lies outside is neither read nor
        // addressed. With VEC = 4, n is a multiple of 4, so four columns are in or out together.
        unsafe {
            let row0 = self.corner.row + warp * A_ROWS + lane / A_COLUMNS;
            let column0 = k0 + lane % A_COLUMNS;
            let mut step = 0;
            while step < Self::A_STEPS {
                let mut piece = 0;
                while piece < Self::A_PIECES {
                    let (to, from) = self.a_piece(step, piece);
                    let inside = row0 + step * Self::A_STEP < m && column0 + piece * A_COLUMNS < k;
                    let from = if inside { from } else { self.a };
                    copy_async::copy_4(to, from, if inside { 4 } else { 0 });
                    piece += 1;
                }
                step += 1;
            }
            let row0 = k0 + warp * (WARP / Self::B_LANES) + lane / Self::B_LANES;
            let column0 = self.corner.column + lane % Self::B_LANES * VEC;
            let mut step = 0;
            while step < Self::B_STEPS {
                let mut piece = 0;
                while piece < Self::B_PIECES {
                    let (to, from) = self.b_piece(step, piece);
                    let inside = row0 + step * Self::B_STEP < k && column0 + piece * Self::B_PIECE < n;
                    let from = if inside { from } else { self.b };
                    if VEC == 4 {
                        copy_async::copy_16(to, from, if inside { 16 } else { 0 });
                    } else {
                        copy_async::copy_4(to, from, if inside { 4 } else { 0 });
                    }
                    piece += 1;
                }
                step += 1;
            }
        }
    }
}
