//! The entries of the pipelined tiles: one for each shape, and one more of each for a B or C
//! whose rows are not aligned to 16 bytes; and the same for clusters that compute a tile together.

use super::Operands;
#[cfg(sm_90a)]
use super::tile::run_together;
use super::tile::{Copied, Schedule, Shape, run};
use crate::params::{FLAT, NARROW, SMALL, SQUARE, TileShape, VECTOR_ELEMENTS, WIDE, WIDE_ANY};

/// Defines the entry of a shape, with its accesses to B and C `VEC` elements wide, which does what `run`
/// says.
macro_rules! tile_kernels {
    ($run:ident: $($(#[$doc:meta])* $entry:ident: $shape:ident = $tile:ident, $vec:expr;)*) => {
        $(
            $(#[$doc])*
            struct $shape;

            impl Shape for $shape {
                const TILE: TileShape = $tile;
            }

            kernel! {
                /// C = A @ B + C. Which tiles fall to a block, and which part of them, say
                /// `waves`, `share` and `extra` (see [`Schedule`]).
                ///
                /// # Safety
                /// As for the function that it calls.
                pub unsafe fn $entry(
                    a: *const f32, b: *const f32, c: *mut f32, m: u32, n: u32, k: u32,
                    waves: u32, share: u32, extra: u32, scratch: *mut u32,
                ) {
                    const TM: usize = $tile.thread_m as usize;
                    const TN: usize = $tile.thread_n as usize;
                    // SAFETY: as the caller vouches.
                    unsafe {
                        $run::<$shape, TM, TN, { $vec }>(
                            Operands { a, b, c, m, n, k },
                            Schedule { waves, share, extra, scratch },
                        )
                    }
                }
            }
        )*
    };
}

/// C = A @ B + C by blocks that each compute on their own.
///
/// # Safety
/// As for [`run`].
#[inline(always)]
unsafe fn run_apart<S: Shape, const TM: usize, const TN: usize, const VEC: u32>(
    operands: Operands,
    schedule: Schedule,
) {
    // SAFETY: as the caller vouches.
    unsafe {
        run::<S, TM, TN, VEC>(operands.target(), schedule, Copied::<S, VEC>::new(operands));
    }
}

tile_kernels! { run_apart:
    /// Large products.
    sgemm_wide: Wide = WIDE, VECTOR_ELEMENTS;
    /// Large products, any alignment.
    sgemm_wide_any: WideAny = WIDE_ANY, 1;
    /// Middling products.
    sgemm_flat: Flat = FLAT, VECTOR_ELEMENTS;
    /// Middling products, any alignment.
    sgemm_flat_any: FlatAny = FLAT, 1;
    /// Narrow products.
    sgemm_square: Square = SQUARE, VECTOR_ELEMENTS;
    /// Narrow products, any alignment.
    sgemm_square_any: SquareAny = SQUARE, 1;
    /// Deep narrow products.
    sgemm_narrow: Narrow = NARROW, VECTOR_ELEMENTS;
    /// Deep narrow products, any alignment.
    sgemm_narrow_any: NarrowAny = NARROW, 1;
    /// Small products.
    sgemm_small: Small = SMALL, VECTOR_ELEMENTS;
    /// Small products, any alignment.
    sgemm_small_any: SmallAny = SMALL, 1;
}

#[cfg(sm_90a)]
tile_kernels! { run_together:
    /// Middling products, few of them.
    sgemm_flat_together: FlatTogether = FLAT, VECTOR_ELEMENTS;
    /// Middling products, few of them, any alignment.
    sgemm_flat_together_any: FlatTogetherAny = FLAT, 1;
    /// Narrow products, few of them.
    sgemm_square_together: SquareTogether = SQUARE, VECTOR_ELEMENTS;
    /// Narrow products, few of them, any alignment.
    sgemm_square_together_any: SquareTogetherAny = SQUARE, 1;
    /// Deep narrow products, few of them.
    sgemm_narrow_together: NarrowTogether = NARROW, VECTOR_ELEMENTS;
    /// Deep narrow products, few of them, any alignment.
    sgemm_narrow_together_any: NarrowTogetherAny = NARROW, 1;
    /// Small products, few of them.
    sgemm_small_together: SmallTogether = SMALL, VECTOR_ELEMENTS;
    /// Small products, few of them, any alignment.
    sgemm_small_together_any: SmallTogetherAny = SMALL, 1;
}
