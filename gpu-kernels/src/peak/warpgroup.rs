//! `wgmma`: two warpgroups a multiprocessor, each 64 by 256 sums, operands in shared memory.

use super::{global_thread, lower_24};
use crate::gpu::thread;
use crate::operands::{Format, PEAK_BLOCK, PeakTile, SLICE_WORDS};
use crate::ptx::{shared, wgmma};
use crate::random::stream;

/// Bytes of a row of a tile: its slices, the width of the swizzle.
const ROW_BYTES: u32 = 128;
/// 32-bit words of a row.
const ROW_WORDS: u32 = ROW_BYTES / 4;
/// Rows of A of a warpgroup.
const WARPGROUP_ROWS: u32 = 64;

const _: () = assert!(PeakTile::wgmma(Format::Bf16).slices * SLICE_WORDS == ROW_WORDS);

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

/// Sums that wrap around become what a thread stores.
macro_rules! folded {
    (f32, $d:ident) => {{
        let mut sum = 0f32;
        let mut i = 0;
        while i < 128 {
            sum += $d[i];
            i += 1;
        }
        sum
    }};
    (i32, $d:ident) => {{
        let mut sum = 0i32;
        let mut i = 0;
        while i < 128 {
            sum = sum.wrapping_add($d[i]);
            i += 1;
        }
        lower_24(sum)
    }};
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
                    wgmma::fence_proxy();
                    thread::sync_threads();
                    let warpgroup = thread::thread_idx_x() / 128;
                    let a = wgmma::descriptor(base + warpgroup * WARPGROUP_ROWS * ROW_BYTES);
                    let b = wgmma::descriptor(columns);
                    let adds = (restarts == 0) as u32;
                    let mut d = [0 as $sum; 128];
                    let mut left = steps;
                    while left >= TILE.slices {
                        wgmma::fence();
                        // SAFETY: the tiles were written before the barrier and stay as they are.
                        unsafe {
                            wgmma::$product(&mut d, a, b, adds);
                            wgmma::$product(&mut d, a + wgmma::NEXT_SLICE, b + wgmma::NEXT_SLICE, 1);
                            wgmma::$product(&mut d, a + 2 * wgmma::NEXT_SLICE, b + 2 * wgmma::NEXT_SLICE, 1);
                            wgmma::$product(&mut d, a + 3 * wgmma::NEXT_SLICE, b + 3 * wgmma::NEXT_SLICE, 1);
                        }
                        wgmma::commit();
                        wgmma::wait::<1>();
                        left -= TILE.slices;
                    }
                    wgmma::wait::<0>();
                    let mut slice = 0;
                    while slice < left {
                        let offset = slice as u64 * wgmma::NEXT_SLICE;
                        wgmma::fence();
                        // SAFETY: as above.
                        unsafe {
                            wgmma::$product(&mut d, a + offset, b + offset, adds | slice);
                        }
                        wgmma::commit();
                        wgmma::wait::<0>();
                        slice += 1;
                    }
                    // SAFETY: one element for each thread.
                    unsafe { *out.add(global_thread()) = folded!($sum, d) }
                }
            }
        )*
    };
}

peak! {
    fma_wgmma_bf16: Bf16, f32, m64n256k16_bf16;
    fma_wgmma_e4m3: E4m3, f32, m64n256k32_e4m3;
    fma_wgmma_f16: F16, f32, m64n256k16_f16;
    fma_wgmma_s8: S8, i32, m64n256k32_s8;
    fma_wgmma_tf32: Tf32, f32, m64n256k8_tf32;
}
