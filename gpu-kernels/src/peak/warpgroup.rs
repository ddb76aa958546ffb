//! `wgmma`: two warpgroups a multiprocessor, each 64 by 256 sums, operands in shared memory.

use super::{Accumulator, global_thread};
use crate::gpu::thread;
use crate::operands::{Format, PEAK_BLOCK, PeakTile, SLICE_BYTES};
use crate::ptx::wgmma::Descriptor;
use crate::ptx::{fence, shared, wgmma, wgmma_wide};
use crate::random::stream;

/// Bytes of a row of a tile: its slices, the width of the swizzle.
const ROW_BYTES: u32 = 128;
/// 32-bit words of a row.
const ROW_WORDS: u32 = ROW_BYTES / 4;
/// Rows of A of a warpgroup.
const WARPGROUP_ROWS: u32 = 64;

const _: () = assert!(PeakTile::wgmma(Format::Bf16).slices * SLICE_BYTES == ROW_BYTES);

/// Fills `rows` rows at `base` with the elements of stream `seed`, in the 128-byte swizzle.
///
/// # Safety
/// The rows lie inside the block's shared memory, 1024-byte aligned, and no other thread accesses
/// them before a barrier.
#[inline(always)]
unsafe fn fill(format: Format, base: u32, rows: u32, data: u32, seed: u64) {
    let mut at = thread::thread_idx_x();
    while at < rows * ROW_WORDS {
        let (row, word) = (at / ROW_WORDS, at % ROW_WORDS);
        let chunk = (word / 4) ^ (row % 8);
        let value = format.word(data, seed, at as u64);
        // SAFETY: the swizzle permutes the chunks of a row.
        unsafe { shared::store_u32(base + row * ROW_BYTES + chunk * 16 + word % 4 * 4, value) };
        at += PEAK_BLOCK;
    }
}

/// Slice `index` of an operand.
#[inline(always)]
fn slice(operand: Descriptor, index: u32) -> Descriptor {
    operand.advance(index * SLICE_BYTES)
}

/// Defines the kernel of a format.
macro_rules! peak {
    ($($name:ident: $format:ident, $sum:ident, $product:ident;)*) => {
        $(
            kernel! {
                /// Multiplies the tile of [`PeakTile::wgmma`] `steps` slices far.
                ///
                /// With `restarts` not 0 the sums start from zero again after each turn over the
                /// slices, so that they stay as small as those of a matrix product.
                ///
                /// # Safety
                /// `out` holds one element for each thread of the grid, whose blocks have
                /// [`PEAK_BLOCK`] threads and the tile's shared memory.
                pub unsafe fn $name(out: *mut f32, steps: u32, seed: u64, data: u32, restarts: u32) {
                    const TILE: PeakTile = PeakTile::wgmma(Format::$format);
                    let base = shared::dynamic_base();
                    let columns = base + TILE.m() * ROW_BYTES;
                    // SAFETY: A lies at the start of the shared memory and B behind it.
                    unsafe {
                        fill(Format::$format, base, TILE.m(), data, stream(seed, 0));
                        fill(Format::$format, columns, TILE.n, data, stream(seed, 1));
                    }
                    fence::shared_written();
                    thread::sync_threads();
                    let warpgroup = thread::thread_idx_x() / 128;
                    let a = Descriptor::along_k(base + warpgroup * WARPGROUP_ROWS * ROW_BYTES);
                    let b = Descriptor::along_k(columns);
                    let adds = (restarts == 0) as u32;
                    let mut d = [0 as $sum; 128];
                    let mut left = steps;
                    while left >= TILE.slices {
                        wgmma::fence();
                        // SAFETY: the tiles were written before the barrier and stay as they are.
                        unsafe {
                            wgmma_wide::$product(&mut d, a, b, adds);
                            wgmma_wide::$product(&mut d, slice(a, 1), slice(b, 1), 1);
                            wgmma_wide::$product(&mut d, slice(a, 2), slice(b, 2), 1);
                            wgmma_wide::$product(&mut d, slice(a, 3), slice(b, 3), 1);
                        }
                        wgmma::commit();
                        wgmma::wait::<1>();
                        left -= TILE.slices;
                    }
                    wgmma::wait::<0>();
                    let mut i = 0;
                    while i < left {
                        wgmma::fence();
                        // SAFETY: as above.
                        unsafe { wgmma_wide::$product(&mut d, slice(a, i), slice(b, i), adds | i) }
                        wgmma::commit();
                        wgmma::wait::<0>();
                        i += 1;
                    }
                    let mut total = <$sum>::NOTHING;
                    let mut i = 0;
                    while i < 128 {
                        total = d[i].add_to(total);
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
    fma_wgmma_bf16: Bf16, f32, bf16;
    fma_wgmma_e4m3: E4m3, f32, e4m3;
    fma_wgmma_f16: F16, f32, f16;
    fma_wgmma_s8: S8, i32, s8;
    fma_wgmma_tf32: Tf32, f32, tf32;
}
