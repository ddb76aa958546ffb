//! From global memory to a stage in shared memory.

use super::{A_ROW, B_ROW, Operands};
use crate::gemm::walk::Place;
use crate::gpu::thread;
use crate::params::MMA;
use crate::ptx::{copy_async, shared};

/// Bytes of a chunk, the unit of the swizzle and of `ldmatrix`.
const CHUNK: u32 = 16;

/// Place of chunk `chunk` of row `row` of A's part of a stage: two rows share the 128 bytes of all
/// banks, and of eight rows no two have the same chunk in the same place.
#[inline(always)]
pub fn in_a(row: u32, chunk: u32) -> u32 {
    row * A_ROW + (chunk ^ (row / 2 % 4)) * CHUNK
}

/// Place of chunk `chunk` of row `row` of B's part of a stage.
#[inline(always)]
pub fn in_b(row: u32, chunk: u32) -> u32 {
    MMA.a_bytes() + row * B_ROW + (chunk ^ (row % 8)) * CHUNK
}

/// Copies the k tiles of one tile of C, one after the other, `UNIT` elements at a time.
///
/// For what lies past the edges of C other elements are copied, or zeros: what is computed from them
/// is not written.
pub struct Copier<const UNIT: u32> {
    /// This thread's first element of the next k tile of A and of B.
    a: *const u16,
    b: *const u16,
    /// Elements of a row of A and of B.
    k: u32,
    n: u32,
    /// Shared memory.
    base: u32,
    /// Rows of A behind this thread's first.
    rows: u32,
    /// Elements of k from the next k tile on.
    depth: i32,
}

impl<const UNIT: u32> Copier<UNIT> {
    /// Threads on a row of A, and of B.
    const A_LANES: u32 = MMA.k / UNIT;
    const B_LANES: u32 = MMA.n / UNIT;
    /// Rows of all threads together.
    const A_ROWS: u32 = MMA.threads() / Self::A_LANES;
    const B_ROWS: u32 = MMA.threads() / Self::B_LANES;

    /// Row and column of this thread's first element in a k tile of A.
    #[inline(always)]
    fn a_first() -> (u32, u32) {
        let t = thread::thread_idx_x();
        (t / Self::A_LANES, t % Self::A_LANES * UNIT)
    }

    /// The same of B.
    #[inline(always)]
    fn b_first() -> (u32, u32) {
        let t = thread::thread_idx_x();
        (t / Self::B_LANES, t % Self::B_LANES * UNIT)
    }

    /// Closes the group of the copies that were started. Single elements are moved by loads and
    /// stores, for which the barriers are enough.
    #[inline(always)]
    pub fn commit() {
        if UNIT != 1 {
            copy_async::commit();
        }
    }

    /// Waits until at most `PENDING` groups are under way.
    #[inline(always)]
    pub fn wait<const PENDING: u32>() {
        if UNIT != 1 {
            copy_async::wait::<PENDING>();
        }
    }

    /// Makes `count` copies; single elements, which take a register each on their way, sixteen at a
    /// time.
    #[inline(always)]
    fn passes(&self, count: u32, copy: impl Fn(u32)) {
        let together = if UNIT == 1 { 16 } else { count };
        let mut first = 0;
        while first < count {
            for i in 0..together {
                copy(first + i);
            }
            first += together;
            if UNIT == 1 {
                // No side has its highest bit set, but compilers do not know: the loop stays one.
                first += self.k >> 31;
            }
        }
    }

    /// Prepares to copy what the tile of C at `place` needs to the shared memory at `base`.
    #[inline(always)]
    pub fn new(operands: &Operands, place: Place, base: u32) -> Self {
        let ((a_row, a_column), (b_row, b_column)) = (Self::a_first(), Self::b_first());
        let last = operands.m - 1;
        let row = (place.row + a_row).min(last);
        let column = (place.column + b_column).min(operands.n - UNIT);
        let (n, k) = (operands.n as usize, operands.k as usize);
        Copier {
            a: operands.a.wrapping_add(row as usize * k + a_column as usize),
            b: operands.b.wrapping_add(b_row as usize * n + column as usize),
            k: operands.k,
            n: operands.n,
            base,
            rows: last - row,
            depth: operands.k as i32,
        }
    }

    /// Whether it is `tiles` k tiles past the last.
    #[inline(always)]
    pub fn is_past(&self, tiles: u32) -> bool {
        self.depth <= -((tiles * MMA.k) as i32)
    }

    /// Starts to copy the next k tile, if there is one, to a stage; zeros where k ends in it.
    ///
    /// # Safety
    /// Nothing accesses the stage until the copies have been waited for.
    #[inline(always)]
    pub unsafe fn start(&mut self, stage: u32) {
        // SAFETY: as the caller vouches.
        unsafe {
            if UNIT == 8 && self.depth >= MMA.k as i32 {
                self.start_all::<true>(stage);
            } else if UNIT != 8 || self.depth > 0 {
                self.start_all::<false>(stage);
            }
        }
        self.a = self.a.wrapping_add(MMA.k as usize);
        self.b = self.b.wrapping_add(MMA.k as usize * self.n as usize);
        self.depth -= MMA.k as i32;
    }

    /// Starts to copy a k tile, which is `WHOLE` or ends early.
    ///
    /// # Safety
    /// As for [`Copier::start`].
    #[inline(always)]
    unsafe fn start_all<const WHOLE: bool>(&self, stage: u32) {
        let base = self.base + stage * MMA.stage_bytes();
        let ((a_row, a_column), (b_row, b_column)) = (Self::a_first(), Self::b_first());
        self.passes(MMA.m / Self::A_ROWS, |pass| {
            let down = pass * Self::A_ROWS;
            // Whole units need no condition then.
            let row = if UNIT == 8 { down.min(self.rows) } else { down };
            let from = self.a.wrapping_add(row as usize * self.k as usize);
            let at = in_a(a_row + down, a_column * 2 / CHUNK) + a_column * 2 % CHUNK;
            let exists = WHOLE || (a_column as i32) < self.depth;
            let exists = exists && (UNIT == 8 || down <= self.rows);
            // SAFETY: inside A where the element exists, inside the stage in any case.
            unsafe { copy::<UNIT>(base + at, from, exists) };
        });
        self.passes(MMA.k / Self::B_ROWS, |pass| {
            let down = pass * Self::B_ROWS;
            let from = self.b.wrapping_add(down as usize * self.n as usize);
            let at = in_b(b_row + down, b_column * 2 / CHUNK) + b_column * 2 % CHUNK;
            let exists = WHOLE || ((b_row + down) as i32) < self.depth;
            // SAFETY: as for A.
            unsafe { copy::<UNIT>(base + at, from, exists) };
        });
    }
}

/// Copies `UNIT` elements, or zeros where they do not exist.
///
/// # Safety
/// `to` lies inside the block's shared memory and nothing accesses it until copies have been waited
/// for behind a barrier; `from` is aligned to the unit and readable where the elements exist.
#[inline(always)]
unsafe fn copy<const UNIT: u32>(to: u32, from: *const u16, exists: bool) {
    let bytes = if exists { UNIT * 2 } else { 0 };
    // SAFETY: as the caller vouches.
    unsafe {
        match UNIT {
            8 => copy_async::copy_16(to, from.cast(), bytes),
            2 => copy_async::copy_4(to, from.cast(), bytes),
            _ => shared::store_u16(to, if exists { *from } else { 0 }),
        }
    }
}
