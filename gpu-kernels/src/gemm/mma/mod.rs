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
use crate::params::{MMA, MMA_DEEP, MmaTile};
use crate::ptx::shared;
use copy::Copier;
use fragment::{DEPTH, Reader, Sums};

/// The shape of a tile.
trait Shape {
    const TILE: MmaTile;
    const SPLIT: bool;
    const FIRST: bool;
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
    let barrier = base + stages * T::TILE.stage_bytes();
    let mut copier = Copier::<T, UNIT>::new(&operands, place, base);
    let mut filled = 0;
    while filled < stages {
        // SAFETY: the stage is not used yet.
        unsafe { copier.start(filled) };
        Copier::<T, UNIT>::commit();
        filled += 1;
    }
    if T::SPLIT && thread::thread_idx_x() == 0 {
        unsafe { split::init(barrier, T::TILE.threads() / 32) };
    }
    Copier::<T, UNIT>::wait_for(stages - 1);
    thread::sync_threads();
    let reader = Reader::new::<T>(base);
    let mut sums = Sums::zero();
    // SAFETY: the first k tile is complete, for all threads.
    let mut fragments = unsafe { reader.load::<T>(0, 0) };
    let mut first = 0;
    'tiles: loop {
        // Each stage in turn: its addresses are constants.
        let mut i = 0;
        while i < if UNIT == 8 { stages } else { 1 } {
            let stage = if UNIT == 8 { i } else { first };
            let following = if stage + 1 == stages { 0 } else { stage + 1 };
            let mut slice = 0;
            while slice + 1 < slices {
                // SAFETY: this k tile is complete since the barrier before.
                let next = unsafe { reader.load::<T>(stage, slice + 1) };
                if T::SPLIT && slice + 2 == slices {
                    Copier::<T, UNIT>::wait_for(stages - 2);
                    let token = unsafe { split::arrive(barrier) };
                    sums.multiply(&fragments);
                    unsafe { split::wait(barrier, token) };
                } else {
                    sums.multiply(&fragments);
                }
                fragments = next;
                slice += 1;
            }
            if !T::SPLIT {
                Copier::<T, UNIT>::wait_for(stages - 2);
                // The next k tile is complete, and nobody reads this one any more.
                thread::sync_threads();
            }
            // SAFETY: as said; past the last k tile nothing is copied, and what is read is not used.
            unsafe {
                if UNIT == 1 {
                    sums.multiply(&fragments);
                    copier.start(stage);
                    fragments = reader.load::<T>(following, 0);
                } else if T::FIRST {
                    copier.start(stage);
                    Copier::<T, UNIT>::commit();
                    let next = reader.load::<T>(following, 0);
                    sums.multiply(&fragments);
                    fragments = next;
                } else {
                    let next = reader.load::<T>(following, 0);
                    copier.start(stage);
                    Copier::<T, UNIT>::commit();
                    sums.multiply(&fragments);
                    fragments = next;
                }
            }
            if copier.is_past(stages) {
                break 'tiles;
            }
            first = following;
            i += 1;
        }
    }
    // No copy outlives the block.
    Copier::<T, UNIT>::wait_for(0);
    // SAFETY: C is the launch's.
    unsafe { output::write::<T, UNIT>(&operands, &sums, place) };
}

/// A barrier in two halves.
mod split {
    use crate::ptx::warp;

    pub unsafe fn init(barrier: u32, arrivals: u32) {
        unsafe { ptx!("mbarrier.init.shared.b64 [{0}], {1};", in(reg32) barrier, in(reg32) arrivals, options(nostack)) };
    }

    #[inline(always)]
    pub unsafe fn arrive(barrier: u32) -> u64 {
        let mut token = 0u64;
        warp::sync();
        if crate::gpu::thread::thread_idx_x() % 32 == 0 {
            unsafe { ptx!("mbarrier.arrive.shared.b64 {0}, [{1}];", out(reg64) token, in(reg32) barrier, options(nostack)) };
        }
        token
    }

    #[inline(always)]
    pub unsafe fn wait(barrier: u32, token: u64) {
        if crate::gpu::thread::thread_idx_x() % 32 == 0 {
            loop {
                let mut done = 1u32;
                unsafe { ptx!("{{ .reg .pred done; mbarrier.test_wait.shared.b64 done, [{1}], {2}; selp.u32 {0}, 1, 0, done; }}",
                    out(reg32) done, in(reg32) barrier, in(reg64) token, options(nostack)) };
                if done != 0 {
                    break;
                }
            }
        }
        warp::sync();
    }
}

/// Defines the kernel of a unit of copies.
macro_rules! kernels {
    ($($(#[$doc:meta])* $name:ident: $shape:ident = $tile:ident, $unit:literal, $split:literal, $first:literal;)*) => {
        $(
            struct $shape;

            impl Shape for $shape {
                const TILE: MmaTile = $tile;
                const SPLIT: bool = $split;
                const FIRST: bool = $first;
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
    gemm_bf16_mma: Whole = MMA, 8, false, false;
    /// Rows of any length.
    gemm_bf16_mma_any: Any = MMA, 1, false, true;
    /// Fewer barriers.
    gemm_bf16_mma_deep: Deep = MMA_DEEP, 8, false, false;
    /// Rows of an even number of elements.
    gemm_bf16_mma_even: Even = MMA, 2, false, true;
    /// Copies before loads.
    gemm_bf16_mma_first: First = MMA, 8, false, true;
    /// Split.
    gemm_bf16_mma_split: Split = MMA, 8, true, true;
}
