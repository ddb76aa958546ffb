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
use crate::params::MMA;
use crate::ptx::shared;
use copy::Copier;
use fragment::{Reader, Sums};

/// Bytes of a row of A in a stage.
const A_ROW: u32 = MMA.k * 2;
/// Bytes of a row of B in a stage.
const B_ROW: u32 = MMA.n * 2;
/// Copies under way while a k tile is multiplied.
const AHEAD: u32 = MMA.stages - 2;

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
unsafe fn compute<const UNIT: u32>(operands: Operands, place: Place) {
    let base = shared::dynamic_base();
    let mut copier = Copier::<UNIT>::new(&operands, place, base);
    let mut filled = 0;
    while filled < MMA.stages {
        // SAFETY: the stage is not used yet.
        unsafe { copier.start(filled) };
        Copier::<UNIT>::commit();
        filled += 1;
    }
    // SAFETY: C is the launch's.
    unsafe { output::prefetch(&operands, place) };
    Copier::<UNIT>::wait::<{ AHEAD + 1 }>();
    thread::sync_threads();
    let reader = Reader::new(base);
    let mut sums = Sums::zero();
    // SAFETY: the first k tile is complete, for all threads.
    let mut fragments = unsafe { reader.load(0, 0) };
    // With rows of whole units a turn of the loop takes all stages, whose addresses are constants then.
    let turn = if UNIT == 8 { MMA.stages } else { 1 };
    let mut first = 0;
    'tiles: loop {
        let mut i = 0;
        while i < turn {
            let stage = if UNIT == 8 { i } else { first };
            let following = if stage + 1 == MMA.stages {
                0
            } else {
                stage + 1
            };
            // SAFETY: this k tile is complete since the barrier before.
            let second = unsafe { reader.load(stage, 1) };
            sums.multiply(&fragments);
            Copier::<UNIT>::wait::<AHEAD>();
            // The next k tile is complete, and nobody reads this one any more.
            thread::sync_threads();
            if UNIT == 1 {
                // Before registers are needed for single elements on their way.
                sums.multiply(&second);
            }
            // SAFETY: as said; past the last k tile nothing is copied, and what is read is not used.
            unsafe {
                copier.start(stage);
                Copier::<UNIT>::commit();
                fragments = reader.load(following, 0);
            }
            if UNIT != 1 {
                sums.multiply(&second);
            }
            if copier.is_past(MMA.stages) {
                break 'tiles;
            }
            first = following;
            i += 1;
        }
    }
    // No copy outlives the block.
    Copier::<UNIT>::wait::<0>();
    // SAFETY: C is the launch's.
    unsafe { output::write::<UNIT>(&operands, &sums, place) };
}

/// Defines the kernel of a unit of copies.
macro_rules! kernels {
    ($($(#[$doc:meta])* $name:ident, $unit:literal;)*) => {
        $(
            kernel! {
                $(#[$doc])*
                ///
                /// # Safety
                /// A, B and C hold `batch` matrices each; the grid has a block for every tile of
                /// [`MMA`]'s shape of every matrix, with its threads and shared memory.
                pub unsafe fn $name(a: *const u16, b: *const u16, c: *mut u8, m: u32, n: u32,
                    k: u32, batch: u32, flags: u32) {
                    let mut walk = Walk::new([m, n, batch], [MMA.m, MMA.n],
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
                        unsafe { compute::<$unit>(operands, place) }
                    }
                }
            }
        )*
    };
}

kernels! {
    /// Rows of whole 16-byte units.
    gemm_bf16_mma, 8;
    /// Rows of any length.
    gemm_bf16_mma_any, 1;
    /// Rows of an even number of elements.
    gemm_bf16_mma_even, 2;
}
