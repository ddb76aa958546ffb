//! `mma.sync`: eight warps a block, each 32 by 64 sums, operands in registers.

use super::{Accumulator, global_thread};
use crate::gpu::thread;
use crate::operands::{Format, PeakTile, SLICE_WORDS};
use crate::params::WARP;
use crate::ptx::mma;
use crate::random::stream;

/// Instructions of a warp one below the other.
const DOWN: usize = 2;
/// Instructions of a warp side by side.
const ACROSS: usize = 8;

const _: () = {
    let tile = PeakTile::mma(Format::Bf16);
    assert!(tile.warp_m as usize == 16 * DOWN && tile.n as usize == 8 * ACROSS);
};

/// The words of A that a lane holds of the rows from `first` on.
#[inline(always)]
fn left(format: Format, data: u32, seed: u64, first: u32, lane: u32) -> [u32; 4] {
    let word = |row: u32, column: u32| {
        format.word(data, seed, ((first + row) * SLICE_WORDS + column) as u64)
    };
    let (row, column) = (lane / 4, lane % 4);
    [
        word(row, column),
        word(row + 8, column),
        word(row, column + 4),
        word(row + 8, column + 4),
    ]
}

/// The words of B that a lane holds of the columns from `first` on.
#[inline(always)]
fn right(format: Format, data: u32, seed: u64, first: u32, lane: u32) -> [u32; 2] {
    let at = ((first + lane / 4) * SLICE_WORDS + lane % 4) as u64;
    [format.word(data, seed, at), format.word(data, seed, at + 4)]
}

/// Defines the kernel of a format.
macro_rules! peak {
    ($($name:ident: $format:ident, $sum:ident, $product:ident;)*) => {
        $(
            kernel! {
                /// Multiplies the tile of [`PeakTile::mma`] `steps` times.
                ///
                /// # Safety
                /// `out` holds one element for each thread of the grid.
                pub unsafe fn $name(out: *mut f32, steps: u32, seed: u64, data: u32) {
                    const FORMAT: Format = Format::$format;
                    let lane = thread::thread_idx_x() % WARP;
                    let first = thread::thread_idx_x() / WARP * PeakTile::mma(FORMAT).warp_m;
                    let a: [[u32; 4]; DOWN] = core::array::from_fn(|i| {
                        left(FORMAT, data, stream(seed, 0), first + 16 * i as u32, lane)
                    });
                    let b: [[u32; 2]; ACROSS] = core::array::from_fn(|j| {
                        right(FORMAT, data, stream(seed, 1), 8 * j as u32, lane)
                    });
                    let mut d = [[[0 as $sum; 4]; ACROSS]; DOWN];
                    let mut step = 0;
                    while step < steps {
                        let mut i = 0;
                        while i < DOWN * ACROSS {
                            let (down, across) = (i / ACROSS, i % ACROSS);
                            mma::$product(&mut d[down][across], a[down], b[across]);
                            i += 1;
                        }
                        step += 1;
                    }
                    let mut total = <$sum>::NOTHING;
                    let mut i = 0;
                    while i < DOWN * ACROSS * 4 {
                        total = d[i / (ACROSS * 4)][i / 4 % ACROSS][i % 4].add_to(total);
                        i += 1;
                    }
                    // SAFETY: one element for each thread.
                    unsafe { *out.add(global_thread()) = <$sum>::stored(total) }
                }
            }
        )*
    };
}

peak! {
    fma_mma_bf16: Bf16, f32, m16n8k16_bf16;
    fma_mma_f16: F16, f32, m16n8k16_f16;
    fma_mma_s8: S8, i32, m16n8k32_s8;
    fma_mma_tf32: Tf32, f32, m16n8k8_tf32;
}
