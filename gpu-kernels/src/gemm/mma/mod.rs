//! `gemm-bf16` by `mma.sync`, for compute capability 8.0 and later: fragments in registers, k tiles
//! on their way by `cp.async`.
//!
//! | module | what it holds |
//! |---|---|
//! | [`copy`] | from global memory to a stage in shared memory |
//! | [`fragment`] | from a stage to registers, and the products |
//! | [`output`] | C: from registers to memory |
//!
//! A block computes a tile of C of [`MMA`]'s shape. A stage holds a k tile of A, 64 bytes a row, and
//! behind it one of B, 512 bytes a row, both as they lie in memory but for the order of the 16-byte
//! chunks of a row, which is chosen so that neither copies nor `ldmatrix` meet a bank twice.

mod copy;
mod fragment;
mod output;

use super::walk::{Place, Walk};
use crate::gpu::thread;
use crate::params::{MMA, MMA_DEEP, MMA_TWO, MmaTile};
use crate::ptx::shared;
use copy::Copier;
use fragment::{DEPTH, Reader, Sums};

/// The shape of a tile.
trait Shape {
    const TILE: MmaTile;
    const PARTS: u32;
    const COPIES_FIRST: bool;
}

/// The operands of a launch: A is m x k, B k x n, C m x n, all row-major; the `batch` matrices of
/// each lie one behind the other.
#[derive(Clone, Copy)]
struct Operands {
    a: *const u16,
    b: *const u16,
    c: *mut u8,
    m: u32,
    n: u32,
    k: u32,
    /// [`crate::params::READS_C`] and its neighbours.
    flags: u32,
}

/// Computes a tile of C. `UNIT` is the number of elements of a copy, which the sides k and n are
/// multiples of: 8, 2 or 1.
///
/// # Safety
/// The operands are those of the launch, whose blocks have [`MMA`]'s threads and shared memory; the
/// place lies inside C.
#[inline(always)]
unsafe fn compute<T: Shape, const UNIT: u32>(operands: Operands, place: Place) {
    let MmaTile { stages, k, .. } = T::TILE;
    let slices = k / DEPTH;
    let base = shared::dynamic_base();
    let tiles = operands.k.div_ceil(k);
    let mut copier = Copier::<T, UNIT>::new(&operands, place, base);
    let mut filled = 0;
    while filled + 1 < stages {
        // SAFETY: the stage is not used yet.
        unsafe { copier.start(filled, 0, 1) };
        Copier::<T, UNIT>::commit();
        filled += 1;
    }
    // Stage of the k tile that is multiplied, of the one behind it, and of the one before it.
    let mut stage = 0;
    let mut free = stages - 1;
    if T::PARTS == 1 {
        unsafe { copier.start(filled, 0, 1) };
        Copier::<T, UNIT>::commit();
        Copier::<T, UNIT>::wait_for(stages - 1);
    } else {
        // SAFETY: as above.
        unsafe { copier.start(free, 0, T::PARTS) };
        Copier::<T, UNIT>::wait_for(stages - 2);
    }
    thread::sync_threads();
    let reader = Reader::new::<T>(base);
    let mut sums = Sums::zero();
    // SAFETY: the first k tile is complete, for all threads.
    let mut fragments = unsafe { reader.load::<T>(0, 0) };
    let mut tile = 0;
    while tile < tiles {
        let following = if stage + 1 == stages { 0 } else { stage + 1 };
        let mut slice = 0;
        while slice < slices {
            let next;
            // SAFETY: this k tile is complete since the barrier before, the next since this one,
            // behind which nobody reads this one any more. Past the last k tile zeros are copied,
            // and what is read is not used.
            unsafe {
                if slice + 1 < slices {
                    next = reader.load::<T>(stage, slice + 1);
                    if slice + 1 < T::PARTS {
                        copier.start(free, slice + 1, T::PARTS);
                    }
                    if T::PARTS > 1 && slice + 2 == T::PARTS {
                        Copier::<T, UNIT>::commit();
                    }
                } else {
                    Copier::<T, UNIT>::wait_for(stages - 2);
                    thread::sync_threads();
                    free = stage;
                    if T::COPIES_FIRST {
                        copier.start(free, 0, T::PARTS);
                        if T::PARTS == 1 {
                            Copier::<T, UNIT>::commit();
                        }
                    }
                    next = reader.load::<T>(following, 0);
                    if !T::COPIES_FIRST {
                        copier.start(free, 0, T::PARTS);
                        if T::PARTS == 1 {
                            Copier::<T, UNIT>::commit();
                        }
                    }
                }
            }
            sums.multiply(&fragments);
            fragments = next;
            slice += 1;
        }
        stage = following;
        tile += 1;
    }
    // No copy outlives the block.
    Copier::<T, UNIT>::wait_for(0);
    // SAFETY: C is the launch's.
    unsafe { output::write::<T, UNIT>(&operands, &sums, place) };
}

/// Defines the kernel of a unit of copies.
macro_rules! kernels {
    ($($(#[$doc:meta])* $name:ident: $shape:ident = $tile:ident, $unit:literal, $parts:literal, $first:literal;)*) => {
        $(
            struct $shape;

            impl Shape for $shape {
                const TILE: MmaTile = $tile;
                const PARTS: u32 = $parts;
                const COPIES_FIRST: bool = $first;
            }

            kernel! {
                $(#[$doc])*
                ///
                /// # Safety
                /// A, B and C hold `batch` matrices each; the grid has a block for every tile of
                /// [`MMA`]'s shape of every matrix, with its threads and shared memory.
                pub unsafe fn $name(a: *const u16, b: *const u16, c: *mut u8, m: u32, n: u32,
                    k: u32, batch: u32, flags: u32) {
                    let mut walk = Walk::new([m, n, batch], [$tile.m, $tile.n],
                        thread::block_idx_x(), thread::grid_dim_x());
                    if let Some(place) = walk.next() {
                        let matrix = place.matrix as usize;
                        let (m_, n_, k_) = (m as usize, n as usize, k as usize);
                        let size = if flags & crate::params::OUT_F32 != 0 { 4 } else { 2 };
                        // SAFETY: the matrix is one of the batch.
                        let operands = unsafe {
                            Operands {
                                a: a.add(matrix * m_ * k_),
                                b: b.add(matrix * k_ * n_),
                                c: c.add(matrix * m_ * n_ * size),
                                m,
                                n,
                                k,
                                flags,
                            }
                        };
                        // SAFETY: as the caller vouches.
                        unsafe { compute::<$shape, $unit>(operands, place) }
                    }
                }
            }
        )*
    };
}

kernels! {
    /// Rows of whole 16-byte units.
    gemm_bf16_mma: Whole = MMA, 8, 1, true;
    /// Rows of any length.
    gemm_bf16_mma_any: Any = MMA, 1, 1, true;
    /// Fewer barriers.
    gemm_bf16_mma_deep: Deep = MMA_DEEP, 8, 4, false;
    /// Rows of an even number of elements.
    gemm_bf16_mma_even: Even = MMA, 2, 1, true;
    /// Spread.
    gemm_bf16_mma_spread: Spread = MMA, 8, 2, false;
    /// Two blocks.
    gemm_bf16_mma_two: Two = MMA_TWO, 8, 1, true;
    /// Two blocks.
    gemm_bf16_mma_two_spread: TwoSpread = MMA_TWO, 8, 2, false;
}
