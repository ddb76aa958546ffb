//! From global memory to a stage in shared memory.

use super::{Operands, Shape};
use crate::gemm::walk::Place;
use crate::gpu::thread;
use crate::ptx::special::opaque;
use crate::ptx::{copy_async, shared};
use core::marker::PhantomData;

/// Bytes of a chunk, the unit of the swizzle and of `ldmatrix`.
const CHUNK: u32 = 16;

/// Place of chunk `chunk` of row `row` of A's part of a stage: of the rows that share the 128 bytes of
/// all banks, and of eight rows, no two have the same chunk in the same place.
#[inline(always)]
pub fn in_a<T: Shape>(row: u32, chunk: u32) -> u32 {
    let chunks = T::TILE.a_row() / CHUNK;
    row * T::TILE.a_row() + (chunk ^ (row / (8 / chunks) % chunks)) * CHUNK
}

/// Place of chunk `chunk` of row `row` of B's part of a stage.
#[inline(always)]
pub fn in_b<T: Shape>(row: u32, chunk: u32) -> u32 {
    T::TILE.a_bytes() + row * T::TILE.b_row() + (chunk ^ (row % 8)) * CHUNK
}

/// Copies the k tiles of one tile of C, one after the other, `UNIT` elements at a time.
pub struct Copier<T, const UNIT: u32> {
    /// This thread's first element of the next k tile of A and of B.
    a: *const u16,
    b: *const u16,
    /// Elements of a row of A and of B.
    k: u32,
    n: u32,
    /// Shared memory.
    base: u32,
    /// Rows of A from this thread's first on, elements of A's row from its first on, and whether
    /// its column of B exists.
    rows: u32,
    depth: i32,
    column_exists: bool,
    shape: PhantomData<T>,
}

impl<T: Shape, const UNIT: u32> Copier<T, UNIT> {
    /// Threads on a row of A, and of B.
    const A_LANES: u32 = T::TILE.k / UNIT;
    const B_LANES: u32 = T::TILE.n / UNIT;
    /// Rows of all threads together.
    const A_ROWS: u32 = T::TILE.threads() / Self::A_LANES;
    const B_ROWS: u32 = T::TILE.threads() / Self::B_LANES;
    /// Copies of a thread from a k tile of A, and of B.
    const A_PASSES: u32 = T::TILE.m / Self::A_ROWS;
    const B_PASSES: u32 = T::TILE.k / Self::B_ROWS;

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

    /// Waits until at most `pending` groups, 0 to 3, are under way.
    #[inline(always)]
    pub fn wait_for(pending: u32) {
        if UNIT != 1 {
            match pending {
                0 => copy_async::wait::<0>(),
                1 => copy_async::wait::<1>(),
                2 => copy_async::wait::<2>(),
                _ => copy_async::wait::<3>(),
            }
        }
    }

    /// Copies that follow each other; single elements, which take a register each on their way, not
    /// all at once.
    #[inline(always)]
    fn passes(count: u32) -> u32 {
        if UNIT == 1 { opaque(count) } else { count }
    }

    /// Prepares to copy what the tile of C at `place` needs to the shared memory at `base`.
    #[inline(always)]
    pub fn new(operands: &Operands, place: Place, base: u32) -> Self {
        let ((a_row, a_column), (b_row, b_column)) = (Self::a_first(), Self::b_first());
        let (row, column) = (place.row + a_row, place.column + b_column);
        let (n, k) = (operands.n as usize, operands.k as usize);
        Copier {
            a: operands.a.wrapping_add(row as usize * k + a_column as usize),
            b: operands.b.wrapping_add(b_row as usize * n + column as usize),
            k: operands.k,
            n: operands.n,
            base,
            rows: operands.m.saturating_sub(row),
            depth: operands.k as i32,
            column_exists: column < operands.n,
            shape: PhantomData,
        }
    }

    /// Starts part `part` of `parts` of the copies of the next k tile to a stage, one part after the
    /// other; zeros where A and B have no elements.
    ///
    /// # Safety
    /// Nothing accesses the stage until the copies have been waited for.
    #[inline(always)]
    pub unsafe fn start(&mut self, stage: u32, part: u32, parts: u32) {
        let base = self.base + stage * T::TILE.stage_bytes();
        let ((a_row, a_column), (b_row, b_column)) = (Self::a_first(), Self::b_first());
        let column_exists = (a_column as i32) < self.depth;
        let mut pass = Self::A_PASSES * part / parts;
        let passes = Self::passes(Self::A_PASSES * (part + 1) / parts);
        while pass < passes {
            let down = pass * Self::A_ROWS;
            let from = self.a.wrapping_add(down as usize * self.k as usize);
            let at = in_a::<T>(a_row + down, a_column * 2 / CHUNK) + a_column * 2 % CHUNK;
            // SAFETY: inside A where the element exists, inside the stage in any case.
            unsafe { copy::<UNIT>(base + at, from, column_exists && down < self.rows) };
            pass += 1;
        }
        let mut pass = Self::B_PASSES * part / parts;
        let passes = Self::passes(Self::B_PASSES * (part + 1) / parts);
        while pass < passes {
            let down = pass * Self::B_ROWS;
            let from = self.b.wrapping_add(down as usize * self.n as usize);
            let at = in_b::<T>(b_row + down, b_column * 2 / CHUNK) + b_column * 2 % CHUNK;
            let exists = self.column_exists && ((b_row + down) as i32) < self.depth;
            // SAFETY: as for A.
            unsafe { copy::<UNIT>(base + at, from, exists) };
            pass += 1;
        }
        if part + 1 == parts {
            self.a = self.a.wrapping_add(T::TILE.k as usize);
            self.b = self.b.wrapping_add(T::TILE.k as usize * self.n as usize);
            self.depth -= T::TILE.k as i32;
        }
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
