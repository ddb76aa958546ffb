//! `sgemm`: C = A @ B + C in fp32, all three row-major, any M, N, K.
//!
//! A ladder to climb: [`naive`] reads both operands from global memory for every FMA,
//! [`tiled`] shares tiles of them through shared memory, [`register`] keeps 8 x 8 elements of C
//! in the registers of each thread, [`pipelined`] copies the next tiles while it multiplies
//! (`tile` holds its engine), `sliced` lets the warps of a block share the k of a tile, `bulk` gives a tile to
//! a warp, for batches, with stages that bulk tensor copies fill (`row_major` is the main loop of both),
//! `transposed` has them fill those of large tiles, from an A that [`transpose`] has transposed,
//! [`product`] gives each product of a batch of small ones to a team of threads.
//!
//! All take batches: products of one size, their operands one behind the other in memory.

#[cfg(sm_90a)]
pub mod bulk;
pub mod naive;
pub mod pipelined;
pub mod product;
pub mod register;
#[cfg(sm_90a)]
mod row_major;
#[cfg(sm_90a)]
pub mod sliced;
mod tile;
pub mod tiled;
#[cfg(sm_90a)]
pub mod transpose;
#[cfg(sm_90a)]
pub mod transposed;

use crate::gpu::thread;

/// The matrices of a batch of products, or of one, row-major: C (m x n) = A (m x k) @ B (k x n) + C.
#[derive(Clone, Copy)]
struct Operands {
    /// A of the first product; the others lie behind it.
    a: *const f32,
    /// B, likewise.
    b: *const f32,
    /// C, likewise.
    c: *mut f32,
    /// Rows of A and C.
    m: u32,
    /// Columns of B and C.
    n: u32,
    /// Columns of A, rows of B.
    k: u32,
}

impl Operands {
    /// Those of product `index` of the batch.
    #[inline(always)]
    fn of_product(self, index: u32) -> Self {
        let (m, n, k) = (self.m as usize, self.n as usize, self.k as usize);
        let index = index as usize;
        Operands {
            a: self.a.wrapping_add(index * (m * k)),
            b: self.b.wrapping_add(index * (k * n)),
            c: self.c.wrapping_add(index * (m * n)),
            ..self
        }
    }
}

/// The operands of the product to which this block belongs, and row and column of the first
/// element of C that it computes, for square tiles laid out row by row, product by product, on a
/// one-dimensional grid of `batch * ceil(m / tile) * ceil(n / tile)` blocks.
///
/// A one-dimensional grid because y and z end at 65535 blocks.
#[inline(always)]
fn square_tile(operands: Operands, tile: u32) -> (Operands, usize, usize) {
    let block = thread::block_idx_x();
    let (rows, columns) = (operands.m.div_ceil(tile), operands.n.div_ceil(tile));
    let tiles = rows * columns;
    // SAFETY: a launch with m = 0 or n = 0 has no blocks, and one with more tiles than 32 bits
    // count is refused, so both are at least 1 here; without this the divisions would carry
    // panics into the PTX.
    unsafe { core::hint::assert_unchecked(columns != 0 && tiles != 0) };
    let inside = block % tiles;
    (
        operands.of_product(block / tiles),
        (inside / columns) as usize * tile as usize,
        (inside % columns) as usize * tile as usize,
    )
}
