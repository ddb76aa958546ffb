//! C: from the sums of the transposed product to memory.

use super::PANEL_COLUMNS;
use super::fragment::own_column;
use crate::gemm::output::element;
use crate::gemm::walk::Place;
use crate::gemm::{Products, Tile};
use crate::params::READS_C;
use crate::ptx::global;
use crate::ptx::wgmma::Sums;

/// A thread's part of C: a pair of columns of rows 0, 1, 8, 9, 16, 17, … from its first on.
pub struct Own {
    c: *mut f32,
    /// Rows and columns of C from there on.
    rows: u32,
    columns: u32,
    pitch: usize,
    reads: bool,
}

/// Pairs of C that are read together.
const TOGETHER: u32 = 8;

/// What is added to them.
type Old = [[f32; 2]; TOGETHER as usize];

impl Own {
    /// Of thread `index` of the block in the tile at `place`.
    #[inline(always)]
    pub fn new(products: &Products, place: Place, index: u32) -> Self {
        let column = place.column + own_column(index);
        let row = place.row + 2 * (index % 4);
        let at = element(products, place.matrix, row, column);
        Own {
            c: products.c.cast::<f32>().wrapping_add(at),
            rows: products.m.saturating_sub(row),
            columns: products.n.saturating_sub(column),
            pitch: products.n as usize,
            reads: products.flags & READS_C != 0,
        }
    }

    /// Row of pair `i`.
    #[inline(always)]
    const fn row(i: u32) -> u32 {
        8 * (i / 2) + i % 2
    }

    /// Address of pair `i` of group `group`, and how many elements of it exist.
    #[inline(always)]
    fn pair(&self, group: u32, i: u32) -> (*mut f32, u32) {
        let row = Self::row(group * TOGETHER + i);
        let at = self.c.wrapping_add(row as usize * self.pitch);
        (at, if row < self.rows { self.columns } else { 0 })
    }

    /// Reads a group, if the launch reads C. With `EVEN` rows have an even number of elements, so that
    /// pairs are aligned.
    ///
    /// # Safety
    /// C is as the launch says; nobody else writes the elements.
    #[inline(always)]
    unsafe fn read<const EVEN: bool>(&self, group: u32) -> Old {
        let mut old = [[0.0; 2]; TOGETHER as usize];
        if !self.reads {
            return old;
        }
        for i in 0..TOGETHER {
            let (from, exist) = self.pair(group, i);
            let old = &mut old[i as usize];
            // SAFETY: elements of C.
            unsafe {
                if EVEN && exist > 0 {
                    *old = global::load_v2(from);
                }
                if !EVEN && exist > 0 {
                    old[0] = *from;
                }
                if !EVEN && exist > 1 {
                    old[1] = *from.wrapping_add(1);
                }
            }
        }
        old
    }

    /// Writes a group of the sums, `old` added.
    ///
    /// # Safety
    /// As for [`Own::read`]; the products are complete.
    #[inline(always)]
    unsafe fn write<const EVEN: bool>(&self, group: u32, sums: &impl Sums, old: &Old) {
        for i in 0..TOGETHER {
            let (to, exist) = self.pair(group, i);
            let four = sums.columns(((group * TOGETHER + i) / 2) as usize);
            let (part, [x, y]) = ((i % 2) as usize, old[i as usize]);
            let pair = [four[part] + x, four[part + 2] + y];
            // SAFETY: elements of C.
            unsafe {
                if EVEN && exist > 0 {
                    global::store_v2(to, pair);
                }
                if !EVEN && exist > 0 {
                    *to = pair[0];
                }
                if !EVEN && exist > 1 {
                    *to.wrapping_add(1) = pair[1];
                }
            }
        }
    }

    /// Writes all sums; a group of C is read while the one before is written.
    ///
    /// # Safety
    /// As for [`Own::write`].
    #[inline(always)]
    pub unsafe fn write_all<T: Tile, const EVEN: bool>(&self, sums: &T::Sums) {
        let groups = T::TILE.n / 4 / TOGETHER;
        // SAFETY: as the caller vouches.
        unsafe {
            let mut old = self.read::<EVEN>(0);
            for group in 0..groups {
                let next = match group + 1 < groups {
                    true => self.read::<EVEN>(group + 1),
                    false => old,
                };
                self.write::<EVEN>(group, sums, &old);
                old = next;
            }
        }
    }
}

/// Asks for the lines of C that the tile at `place` is added to: when its products are complete they
/// are in the L2.
#[inline(always)]
pub fn prefetch<T: Tile>(products: &Products, place: Place, index: u32) {
    // A row for each thread.
    const { assert!(T::TILE.n == 128 * T::TILE.consumers) };
    if products.flags & READS_C == 0 {
        return;
    }
    let row = place.row + index;
    for panel in 0..T::TILE.m() / PANEL_COLUMNS {
        let column = place.column + panel * PANEL_COLUMNS;
        if row < products.m && column < products.n {
            let at = element(products, place.matrix, row, column);
            // SAFETY: an element of C.
            unsafe { global::prefetch_l2(products.c.cast::<f32>().wrapping_add(at)) };
        }
    }
}
