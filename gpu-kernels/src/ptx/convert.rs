//! Conversions that Rust has no operator for (PTX ISA, "cvt").
#![cfg_attr(not(target_arch = "nvptx64"), allow(unused_variables, unused_mut, unused_assignments))]

/// Two f32 rounded to nearest as a pair of bfloat16, `low` in the lower half
/// (`cvt.rn.bf16x2.f32`).
#[inline(always)]
pub fn bf16_pair(low: f32, high: f32) -> u32 {
    let mut pair = 0u32;
    // SAFETY: arithmetic on registers.
    unsafe {
        ptx!("cvt.rn.bf16x2.f32 {0}, {1}, {2};",
            out(reg32) pair, in(reg32) high, in(reg32) low, options(pure, nomem, nostack));
    }
    pair
}
