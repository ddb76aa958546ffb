//! `sgemm`: C = A @ B + C in fp32, all three row-major, any M, N, K.
//!
//! A ladder to climb: [`naive`] reads both operands from global memory for every FMA,
//! [`tiled`] shares tiles of them through shared memory, [`register`] keeps 8 x 8 elements of C
//! in the registers of each thread, [`pipelined`] copies the next tiles while it multiplies
//! (`tile` holds its engine).

pub mod naive;
pub mod pipelined;
pub mod register;
mod tile;
pub mod tiled;

/// Row and column of the first element of C that this block computes, for square tiles laid
/// out row by row on a one-dimensional grid of `ceil(m / tile) * ceil(n / tile)` blocks.
///
/// A one-dimensional grid because y and z end at 65535 blocks.
#[inline(always)]
fn tile_origin(block: u32, n: u32, tile: u32) -> (usize, usize) {
    let columns = n.div_ceil(tile);
    // SAFETY: a launch with n = 0 has no blocks, so columns >= 1 here; without this the
    // division would carry a panic into the PTX.
    unsafe { core::hint::assert_unchecked(columns != 0) };
    ((block / columns) as usize * tile as usize, (block % columns) as usize * tile as usize)
}
