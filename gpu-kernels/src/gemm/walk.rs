//! Which tiles of C fall to a block, in which order.

use crate::params::BAND;

/// A walk over the tiles of every matrix, in bands of [`BAND`] rows column by column, so that
/// what runs at the same time shares rows of A and columns of B in the L2.
#[derive(Clone, Copy)]
pub struct Walk {
    /// Rows and columns of tiles.
    rows: u32,
    columns: u32,
    group: u32,
    /// Tiles of all matrices, and the next of this block.
    total: u32,
    next: u32,
    step: u32,
    tile: [u32; 2],
}

/// Where a tile lies: its first row and column, and its matrix of the batch.
#[derive(Clone, Copy)]
pub struct Place {
    pub row: u32,
    pub column: u32,
    pub matrix: u32,
}

/// `a / b`; 0 if `b` is 0, which no caller asks for, instead of a panic.
#[inline(always)]
fn divide(a: u32, b: u32) -> u32 {
    a.checked_div(b).unwrap_or(0)
}

impl Walk {
    /// The tiles `first`, `first + step`, … of `batch` matrices m x n; a tile has `tile` rows and columns.
    #[inline(always)]
    pub fn new([m, n, batch]: [u32; 3], tile: [u32; 2], first: u32, step: u32) -> Self {
        let (rows, columns) = (m.div_ceil(tile[0]), n.div_ceil(tile[1]));
        Walk {
            rows,
            columns,
            group: (BAND / tile[0]).max(1),
            total: rows * columns * batch,
            next: first,
            step,
            tile,
        }
    }

    /// Whether there are no more tiles for this block.
    #[inline(always)]
    pub fn is_done(&self) -> bool {
        self.next >= self.total
    }

    /// The next tile of this block.
    ///
    /// The first copies wait for it, so it divides only where there is something to divide.
    #[inline(always)]
    pub fn next(&mut self) -> Option<Place> {
        if self.is_done() {
            return None;
        }
        let of_matrix = self.rows * self.columns;
        let matrix = match self.total == of_matrix {
            true => 0,
            false => divide(self.next, of_matrix),
        };
        let tile = self.next - matrix * of_matrix;
        let band = match self.rows <= self.group {
            true => 0,
            false => divide(tile, self.group * self.columns),
        };
        let first_row = band * self.group;
        let height = self.group.min(self.rows - first_row);
        let in_band = tile - first_row * self.columns;
        let column = divide(in_band, height);
        let row = first_row + in_band - column * height;
        self.next += self.step;
        Some(Place {
            row: row * self.tile[0],
            column: column * self.tile[1],
            matrix,
        })
    }
}
