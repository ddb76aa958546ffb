//! A, transposed in the scratch memory: bulk tensor copies then bring columns of A as `sgemm_transposed` reads
//! them.
//!
//! A block takes 64 x 64 elements through shared memory, so that rows of A are read and rows of its transpose
//! written 128 bytes at a time, and each thread has 16 loads on their way.

use crate::gpu::thread;
use crate::params::{TRANSPOSE_BLOCK, TRANSPOSE_STRIDE, TRANSPOSE_TILE, WARP};
use crate::ptx::{grid, shared};

/// Elements of a thread.
const EACH: usize = (TRANSPOSE_TILE * TRANSPOSE_TILE / TRANSPOSE_BLOCK) as usize;
/// Warps side by side in a row of the tile.
const ACROSS: u32 = TRANSPOSE_TILE / WARP;
/// Rows of the tile that the block's warps take at a time.
const ROWS: u32 = TRANSPOSE_BLOCK / WARP;

/// Row and column of element `i` of this thread, rows being those of A, or where A has been transposed, of
/// that: lanes lie side by side.
#[inline(always)]
fn place(i: usize) -> (u32, u32) {
    let (warp, lane) = (thread::thread_idx_x() / WARP, thread::thread_idx_x() % WARP);
    (warp + i as u32 / ACROSS * ROWS, lane + i as u32 % ACROSS * WARP)
}

kernel! {
    /// Writes the transposes of `batch` row-major matrices of `rows` rows and `columns` columns, which lie one
    /// behind the other from `a` on, to `scratch`, `offset` bytes from its start; `pitch` elements lie
    /// between rows of the transposes.
    ///
    /// # Safety
    /// `a` and `scratch` hold the elements and do not overlap; rows, columns >= 1 and pitch >= rows. The grid
    /// has a block for each tile of 64 x 64 elements of each matrix, a block the threads and the dynamic
    /// shared memory that are asked for.
    pub unsafe fn transpose_32(
        a: *const f32, scratch: *mut u8, offset: u64, rows: u32, columns: u32, pitch: u32,
    ) {
        grid::let_next_start();
        let across = columns.div_ceil(TRANSPOSE_TILE);
        let tiles = rows.div_ceil(TRANSPOSE_TILE) * across;
        // SAFETY: there are rows and columns. Keeps panics out of the PTX.
        unsafe { core::hint::assert_unchecked(across != 0 && tiles != 0) };
        let (matrix, tile) = (thread::block_idx_x() / tiles, thread::block_idx_x() % tiles);
        let (first_row, first_column) =
            (tile / across * TRANSPOSE_TILE, tile % across * TRANSPOSE_TILE);
        let matrix = matrix as usize;
        let a = a.wrapping_add(matrix * rows as usize * columns as usize);
        let to = scratch.wrapping_add(offset as usize).cast::<f32>();
        let to = to.wrapping_add(matrix * columns as usize * pitch as usize);
        let at = |row: u32, column: u32| {
            shared::dynamic_base() + (row * TRANSPOSE_STRIDE + column) * 4
        };
        // SAFETY: only elements inside the matrix are read and written; between the stores to shared memory
        // and the loads stands a barrier of the block.
        unsafe {
            let mut elements = [0f32; EACH];
            let mut i = 0;
            while i < EACH {
                let (row, column) = place(i);
                let (row, column) = (first_row + row, first_column + column);
                if row < rows && column < columns {
                    elements[i] = *a.wrapping_add(row as usize * columns as usize + column as usize);
                }
                i += 1;
            }
            let mut i = 0;
            while i < EACH {
                let (row, column) = place(i);
                shared::store_u32(at(column, row), elements[i].to_bits());
                i += 1;
            }
            thread::sync_threads();
            let mut i = 0;
            while i < EACH {
                let (column, row) = place(i);
                let element = f32::from_bits(shared::load_u32(at(column, row)));
                let (row, column) = (first_row + row, first_column + column);
                if row < rows && column < columns {
                    *to.wrapping_add(column as usize * pitch as usize + row as usize) = element;
                }
                i += 1;
            }
        }
    }
}
