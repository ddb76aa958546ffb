//! What the peak kernels of the tensor cores multiply: shapes, and the value of every element.
//!
//! Every block of such a kernel multiplies the same tile of A by the same tile of B again and
//! again. The host computes the result from the functions here, so nothing is uploaded.

use crate::params::WARP;
use crate::random::{bits, integer, uniform, uniform_f64};

/// What an element of A and B is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// bfloat16, summed in f32.
    Bf16,
    /// IEEE binary16, summed in f32.
    F16,
    /// The upper 19 bits of an f32, summed in f32.
    Tf32,
    /// 8 bits with 4 of exponent and 3 of mantissa, summed in f32 with few bits.
    E4m3,
    /// Signed 8-bit integer, summed in 32 bits that wrap around.
    S8,
    /// IEEE binary64, summed in f64.
    F64,
}

/// How the operands are filled: all zeros.
pub const ZEROS: u32 = 0;
/// How the operands are filled: random values that use every bit of the format.
pub const RANDOM: u32 = 1;
/// How the operands are filled: the integers -2 to 2.
pub const INTEGERS: u32 = 2;

/// Largest magnitude of a random signed 8-bit integer: the one that has a counterpart.
const S8_MAX: u64 = 127;

impl Format {
    /// Bits of an element.
    pub const fn bits(self) -> u32 {
        match self {
            Format::Bf16 | Format::F16 => 16,
            Format::Tf32 => 32,
            Format::E4m3 | Format::S8 => 8,
            Format::F64 => 64,
        }
    }

    /// Element `index` of stream `seed`, exact in the format and in an f32, for all formats but
    /// [`Format::F64`], whose elements are those of [`double`].
    ///
    /// Random values are [`uniform`], rounded to nearest. Those of [`Format::E4m3`] are multiples
    /// of 1/16: tensor cores of Hopper keep 14 bits of its sums, and those of 128 products then
    /// fit.
    #[inline(always)]
    pub const fn value(self, data: u32, seed: u64, index: u64) -> f32 {
        if data == ZEROS {
            return 0.0;
        }
        if data == INTEGERS {
            return integer(seed, index);
        }
        match self {
            Format::S8 => {
                let top32 = bits(seed, index) >> 32;
                (((top32 * (2 * S8_MAX + 1)) >> 32) as i32 - S8_MAX as i32) as f32
            }
            // The upper 5 of the 24 bits that `uniform` has.
            Format::E4m3 => ((bits(seed, index) >> 59) as i32 - 16) as f32 * (1.0 / 16.0),
            Format::Bf16 => rounded(uniform(seed, index), 8),
            Format::F16 => {
                let value = rounded(uniform(seed, index), 11);
                // Below the smallest normal number.
                if value.abs() < 1.0 / 16384.0 {
                    0.0
                } else {
                    value
                }
            }
            _ => rounded(uniform(seed, index), 11),
        }
    }

    /// Bits of an element with this value, which is one of [`Format::value`].
    #[inline(always)]
    const fn encoded(self, value: f32) -> u32 {
        match self {
            Format::Bf16 => value.to_bits() >> 16,
            Format::F16 => small_float(value, 5, 10),
            Format::E4m3 => small_float(value, 4, 3),
            Format::S8 => (value as i32 & 0xff) as u32,
            _ => value.to_bits(),
        }
    }

    /// Elements `index * 32 / bits` and those behind them as they lie in 32 bits of memory.
    #[inline(always)]
    pub const fn word(self, data: u32, seed: u64, index: u64) -> u32 {
        let per = 32 / self.bits();
        let mut word = 0;
        let mut e = 0;
        while e < per {
            let value = self.value(data, seed, index * per as u64 + e as u64);
            word |= self.encoded(value) << (e * self.bits());
            e += 1;
        }
        word
    }
}

/// Element `index` of stream `seed` of [`Format::F64`].
#[inline(always)]
pub const fn double(data: u32, seed: u64, index: u64) -> f64 {
    match data {
        ZEROS => 0.0,
        INTEGERS => integer(seed, index) as f64,
        _ => uniform_f64(seed, index),
    }
}

/// A finite `value` rounded to so many significant bits, fewer than an f32 has; ties to even.
#[inline(always)]
const fn rounded(value: f32, significant: u32) -> f32 {
    let drop = 24 - significant;
    let bits = value.to_bits();
    let below_half = (1 << (drop - 1)) - 1;
    f32::from_bits((bits + below_half + (bits >> drop & 1)) >> drop << drop)
}

/// Bits of `value`, which is 0 or a normal number of an IEEE-like format with so many bits of
/// exponent and mantissa.
#[inline(always)]
const fn small_float(value: f32, exponent: u32, mantissa: u32) -> u32 {
    let bits = value.to_bits();
    let magnitude = bits & 0x7fff_ffff;
    if magnitude == 0 {
        return 0;
    }
    let bias_difference = 127 - ((1 << (exponent - 1)) - 1);
    let sign = bits >> 31 << (exponent + mantissa);
    sign | ((magnitude >> (23 - mantissa)) - (bias_difference << mantissa))
}

/// The product that every block of a peak kernel computes again and again.
///
/// A has [`m`](Self::m) rows, B has [`n`](Self::n) columns, and the two share
/// [`slices`](Self::slices) slices along k, each as deep as an instruction. A step multiplies one
/// slice, the slices take turns. Element (row, k) of A has the index `row * depth + k` in its
/// stream, element (k, column) of B the index `column * depth + k`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeakTile {
    /// What is multiplied.
    pub format: Format,
    /// Rows of a warp, a multiple of 8.
    pub warp_m: u32,
    /// Columns, a multiple of 8.
    pub n: u32,
    /// Depth of a slice.
    pub k: u32,
    /// Slices.
    pub slices: u32,
    /// Dynamic shared memory of a block.
    pub shared_bytes: u32,
    /// Blocks on a multiprocessor.
    pub blocks_per_sm: u32,
}

/// Bytes of a slice of a row, for all instructions on elements narrower than 64 bits.
pub const SLICE_BYTES: u32 = 32;
/// 32-bit words of a slice of a row.
pub const SLICE_WORDS: u32 = SLICE_BYTES / 4;
/// Threads of a block of every peak kernel of the tensor cores: two warpgroups.
pub const PEAK_BLOCK: u32 = 256;
/// Warps of such a block.
pub const PEAK_WARPS: u32 = PEAK_BLOCK / WARP;

impl PeakTile {
    /// The tile of `wgmma` m64n256: 64 rows a warpgroup, operands in shared memory.
    pub const fn wgmma(format: Format) -> Self {
        const SLICES: u32 = 4;
        let tile = PeakTile {
            format,
            warp_m: 16,
            n: 256,
            k: SLICE_BYTES * 8 / format.bits(),
            slices: SLICES,
            shared_bytes: 0,
            blocks_per_sm: 1,
        };
        PeakTile {
            shared_bytes: (tile.m() + tile.n) * SLICES * SLICE_BYTES,
            ..tile
        }
    }

    /// The tile of `mma.sync` m16n8: 2 by 8 instructions a warp, operands in registers.
    pub const fn mma(format: Format) -> Self {
        PeakTile {
            format,
            warp_m: 32,
            n: 64,
            k: SLICE_BYTES * 8 / format.bits(),
            slices: 1,
            shared_bytes: 0,
            blocks_per_sm: 2,
        }
    }

    /// The tile of `mma.sync` m8n8k4 on doubles: 8 instructions a warp.
    pub const fn double() -> Self {
        PeakTile {
            format: Format::F64,
            warp_m: 8,
            n: 64,
            k: 4,
            slices: 1,
            shared_bytes: 0,
            blocks_per_sm: 2,
        }
    }

    /// The tile of `mma.sync` m16n8k16 on doubles: 4 instructions a warp.
    pub const fn wide_double() -> Self {
        PeakTile {
            warp_m: 16,
            n: 32,
            k: 16,
            blocks_per_sm: 1,
            ..PeakTile::double()
        }
    }

    /// Rows of a block.
    pub const fn m(&self) -> u32 {
        PEAK_WARPS * self.warp_m
    }

    /// Elements of a row of A, or of a column of B.
    pub const fn depth(&self) -> u32 {
        self.slices * self.k
    }

    /// Sums that a thread accumulates.
    pub const fn sums(&self) -> u32 {
        self.warp_m * self.n / WARP
    }

    /// Elements of A and B whose values a thread computes: its part of the tile where that lies in
    /// shared memory, its own fragments where they lie in registers.
    pub const fn filled(&self, shared: bool) -> u32 {
        if shared {
            (self.m() + self.n) * self.depth() / PEAK_BLOCK
        } else {
            (self.warp_m + self.n) * self.depth() / WARP
        }
    }

    /// Row and column of sum `index` of thread `thread` of a block: a warp's registers hold 8 by 8
    /// elements each pair, two neighbours of a row a thread.
    pub const fn place(&self, thread: u32, index: u32) -> (u32, u32) {
        let (warp, lane) = (thread / WARP, thread % WARP);
        let (half, rest) = (index % 2, index / 2);
        let (across, down) = (rest % (self.n / 8), rest / (self.n / 8));
        (
            warp * self.warp_m + 8 * down + lane / 4,
            8 * across + 2 * (lane % 4) + half,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_encoded_as_the_formats_say() {
        for (format, value, bits) in [
            (Format::Bf16, 1.0, 0x3f80),
            (Format::F16, 1.0, 0x3c00),
            (Format::F16, -0.5, 0xb800),
            (Format::F16, 2.0, 0x4000),
            (Format::E4m3, 1.0, 0x38),
            (Format::E4m3, -2.0, 0xc0),
            (Format::E4m3, 0.0625, 0x18),
            (Format::E4m3, 0.9375, 0x37),
            (Format::S8, -127.0, 0x81),
            (Format::Tf32, -1.0, 0xbf80_0000),
        ] {
            assert_eq!(format.encoded(value), bits, "{format:?} {value}");
        }
    }

    #[test]
    fn random_values_use_every_bit_and_are_exact() {
        for (format, significant) in [(Format::Bf16, 8), (Format::F16, 11), (Format::Tf32, 11)] {
            let mut lowest = 0;
            for index in 0..10_000 {
                let value = format.value(RANDOM, 3, index);
                assert!(value.abs() <= 1.0);
                assert_eq!(rounded(value, significant), value);
                lowest += value.to_bits() >> (24 - significant) & 1;
            }
            assert!((4000..6000).contains(&lowest), "{format:?}: {lowest}");
        }
        for index in 0..10_000 {
            let value = Format::E4m3.value(RANDOM, 3, index);
            assert!(value.abs() <= 1.0 && (value * 16.0).fract() == 0.0);
            assert!(Format::S8.value(RANDOM, 3, index).abs() <= S8_MAX as f32);
        }
    }

    #[test]
    fn rounding_is_to_nearest_and_to_even() {
        let ulp = 1.0 / 128.0;
        assert_eq!(rounded(1.0 + 0.5 * ulp, 8), 1.0);
        assert_eq!(rounded(1.0 + 1.5 * ulp, 8), 1.0 + 2.0 * ulp);
        assert_eq!(rounded(1.0 + 0.6 * ulp, 8), 1.0 + ulp);
        assert_eq!(rounded(-1.0 - 0.6 * ulp, 8), -1.0 - ulp);
    }

    #[test]
    fn a_word_holds_its_elements_in_the_order_of_memory() {
        let of = |format: Format, index| format.encoded(format.value(INTEGERS, 5, index));
        let expected = of(Format::Bf16, 14) | of(Format::Bf16, 15) << 16;
        assert_eq!(Format::Bf16.word(INTEGERS, 5, 7), expected);
        let expected = (0..4).fold(0, |word, e| word | of(Format::S8, 28 + e) << (8 * e));
        assert_eq!(Format::S8.word(INTEGERS, 5, 7), expected);
        assert_eq!(Format::Tf32.word(INTEGERS, 5, 7), of(Format::Tf32, 7));
    }

    #[test]
    fn the_threads_of_a_block_share_the_tile_out() {
        for tile in [
            PeakTile::wgmma(Format::Bf16),
            PeakTile::mma(Format::S8),
            PeakTile::double(),
            PeakTile::wide_double(),
        ] {
            let mut seen = [[0u8; 256]; 256];
            for thread in 0..PEAK_BLOCK {
                for index in 0..tile.sums() {
                    let (row, column) = tile.place(thread, index);
                    seen[row as usize][column as usize] += 1;
                }
            }
            for (row, columns) in seen.iter().enumerate() {
                for (column, &times) in columns.iter().enumerate() {
                    let inside = row < tile.m() as usize && column < tile.n as usize;
                    assert_eq!(times, u8::from(inside), "{tile:?} ({row}, {column})");
                }
            }
        }
    }
}
