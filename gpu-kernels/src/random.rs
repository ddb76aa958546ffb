//! The generator behind every operand: element `i` is a pure function of a seed and `i`.
//!
//! Because no state is carried along, the device fills gigabytes in parallel and the host
//! checks a result without ever downloading the inputs: both call the functions below.
//! The mixing function is the output function of SplitMix64 (G. L. Steele, D. Lea,
//! C. H. Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).

/// Weyl increment of SplitMix64, 2^64 divided by the golden ratio, odd.
const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// Largest magnitude that [`integer`] returns.
pub const INTEGER_MAX: u32 = 2;

/// 64 uniform bits for element `index` of stream `seed`.
#[inline(always)]
pub const fn bits(seed: u64, index: u64) -> u64 {
    let mut z = seed.wrapping_add(index.wrapping_add(1).wrapping_mul(GAMMA));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Uniform in [-1, 1): a multiple of 2^-23, exact in f32.
#[inline(always)]
pub const fn uniform(seed: u64, index: u64) -> f32 {
    let top24 = (bits(seed, index) >> 40) as i32;
    (top24 - (1 << 23)) as f32 * (1.0 / (1u32 << 23) as f32)
}

/// Uniform in [-1, 1): a multiple of 2^-52, exact in f64.
#[inline(always)]
pub const fn uniform_f64(seed: u64, index: u64) -> f64 {
    let top53 = (bits(seed, index) >> 11) as i64;
    (top53 - (1 << 52)) as f64 * (1.0 / (1u64 << 52) as f64)
}

/// Uniform over the integers -2, -1, 0, 1, 2: sums of products stay exact in f32 up to 2^24.
#[inline(always)]
pub const fn integer(seed: u64, index: u64) -> f32 {
    let top32 = bits(seed, index) >> 32;
    let span = 2 * INTEGER_MAX as u64 + 1;
    (((top32 * span) >> 32) as i32 - INTEGER_MAX as i32) as f32
}

/// 1 or -1 with equal chance in one element of `one_in` on average, 0 in the others: sums of
/// products stay so small that narrow storage holds them exactly.
#[inline(always)]
pub const fn sign(seed: u64, index: u64, one_in: u32) -> f32 {
    let random = bits(seed, index);
    let hit = ((random >> 32) * one_in as u64) >> 32 == 0;
    match (hit, random & 1) {
        (false, _) => 0.0,
        (true, 0) => 1.0,
        (true, _) => -1.0,
    }
}

/// Bits of the bfloat16 nearest to a number that is not NaN, ties to even; a NaN keeps its upper
/// half.
#[inline(always)]
pub const fn bf16_bits(value: f32) -> u16 {
    let bits = value.to_bits();
    if value.is_nan() {
        return (bits >> 16) as u16;
    }
    ((bits + 0x7fff + (bits >> 16 & 1)) >> 16) as u16
}

/// An independent stream for operand `stream` of a run with `seed`.
pub const fn stream(seed: u64, stream: u64) -> u64 {
    bits(seed ^ 0x726f_6f66_7472_6163, stream)
}
