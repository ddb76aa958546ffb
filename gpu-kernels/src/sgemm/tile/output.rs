//! C: read, add, store.

use super::fragment::{column, first_element, row};
use super::{Corner, Operands, Shape, Target};
use crate::gpu::thread;
use crate::ptx::global::{Vec4, load_v4, prefetch_l2, store_v4};

/// Rows of a thread with `columns` columns that are read together before the first of them is written, in
/// vectors of `vec` elements: enough loads in flight to hide one another, and where each element is asked
/// about, not more than there are registers for.
const fn rows_together(columns: usize, vec: u32) -> usize {
    if vec == 1 && columns > 8 { 2 } else { 4 }
}

/// Elements of 128 bytes, which the L2 reads together.
const LINE: u32 = 32;

/// Asks for the tile of C at `corner` to be brought into the L2, each thread of the block for its
/// part.
///
/// # Safety
/// C is readable.
#[inline(always)]
pub unsafe fn prefetch<S: Shape>(operands: Operands, corner: Corner) {
    let Operands { c, m, n, .. } = operands;
    let mut line = thread::thread_idx_x();
    while line < S::TILE.m * S::TILE.n / LINE {
        let row = corner.row + line / (S::TILE.n / LINE);
        let column = corner.column + line % (S::TILE.n / LINE) * LINE;
        if row < m && column < n {
            let address = c.wrapping_add(row as usize * n as usize + column as usize);
            // SAFETY: the element lies inside C.
            unsafe { prefetch_l2(address) }
        }
        line += S::TILE.threads();
    }
}

/// This thread's elements of a tile of C.
pub struct Output<S, const VEC: u32> {
    c: *mut f32,
    row: u32,
    column: u32,
    m: u32,
    n: u32,
    inside: bool,
    shape: core::marker::PhantomData<S>,
}

impl<S: Shape, const VEC: u32> Output<S, VEC> {
    /// The elements in the tile at `corner`.
    #[inline(always)]
    pub fn new(target: Target, corner: Corner) -> Self {
        let (row, column) = first_element::<S>();
        let Target { c, m, n, .. } = target;
        Output {
            c,
            row: corner.row + row,
            column: corner.column + column,
            m,
            n,
            inside: corner.row + S::TILE.m <= m && corner.column + S::TILE.n <= n,
            shape: core::marker::PhantomData,
        }
    }

    /// Address of vector (`i`, `j`), and how many of its elements lie inside C.
    #[inline(always)]
    fn vector(&self, i: usize, j: usize) -> (*mut f32, u32) {
        let (row, column) = (self.row + row::<S>(i), self.column + column::<S>(j));
        let address = self.c.wrapping_add(row as usize * self.n as usize + column as usize);
        if self.inside {
            return (address, 4);
        }
        let count = if row < self.m && column < self.n { self.n - column } else { 0 };
        (address, count)
    }

    /// Reads vector (`i`, `j`); zeros stand for what lies outside.
    ///
    /// # Safety
    /// C is readable, and no other thread writes the vector meanwhile.
    #[inline(always)]
    pub unsafe fn read(&self, i: usize, j: usize) -> Vec4 {
        let (address, count) = self.vector(i, j);
        let mut v = [0f32; 4];
        // SAFETY: `count` elements lie inside C; with VEC = 4 rows are 16-byte aligned.
        unsafe {
            if VEC == 4 {
                if count > 0 {
                    v = load_v4(address);
                }
            } else {
                let mut e = 0;
                while e < 4 {
                    if (e as u32) < count {
                        v[e] = *address.wrapping_add(e);
                    }
                    e += 1;
                }
            }
        }
        v
    }

    /// Writes what of vector (`i`, `j`) lies inside.
    ///
    /// # Safety
    /// C is writable, and no other thread accesses the vector meanwhile.
    #[inline(always)]
    pub unsafe fn write(&self, i: usize, j: usize, v: Vec4) {
        let (address, count) = self.vector(i, j);
        // SAFETY: as in `read`; each element of C is one thread's.
        unsafe {
            if VEC == 4 {
                if count > 0 {
                    store_v4(address, v);
                }
            } else {
                let mut e = 0;
                while e < 4 {
                    if (e as u32) < count {
                        *address.wrapping_add(e) = v[e];
                    }
                    e += 1;
                }
            }
        }
    }

    /// C += `sums`.
    ///
    /// # Safety
    /// C is readable and writable, and no other block accesses this tile.
    #[inline(always)]
    pub unsafe fn add<const TM: usize, const TN: usize>(&self, sums: &[[f32; TN]; TM]) {
        const MOST: usize = 4;
        let together = const { rows_together(TN, VEC) };
        let mut first = 0;
        while first < TM {
            // SAFETY: as the caller vouches.
            unsafe {
                let mut old = [[0f32; TN]; MOST];
                let mut i = 0;
                while i < together {
                    let mut j = 0;
                    while j < TN {
                        let v = self.read(first + i, j / 4);
                        let mut e = 0;
                        while e < 4 {
                            old[i][j + e] = v[e];
                            e += 1;
                        }
                        j += 4;
                    }
                    i += 1;
                }
                let mut i = 0;
                while i < together {
                    let mut j = 0;
                    while j < TN {
                        let v = core::array::from_fn(|e| old[i][j + e] + sums[first + i][j + e]);
                        self.write(first + i, j / 4, v);
                        j += 4;
                    }
                    i += 1;
                }
            }
            first += together;
        }
    }
}
