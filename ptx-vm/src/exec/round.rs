//! Rounding to narrower formats in every mode.
//!
//! Sums and products are first formed in binary64 rounded to odd: if the result is inexact its
//! last bit is set. Rounding that once more to a format with at least two bits less is then the
//! same as rounding the exact value (Boldo and Melquiond, "Emulation of a FMA and Correctly
//! Rounded Sums", 2008).

use crate::ir::Round;

/// A binary interchange-like format.
#[derive(Debug, Clone, Copy)]
pub(super) struct Format {
    pub exponent: u32,
    pub mantissa: u32,
}

pub(super) const F16: Format = Format {
    exponent: 5,
    mantissa: 10,
};
pub(super) const BF16: Format = Format {
    exponent: 8,
    mantissa: 7,
};
/// Without the infinities of IEEE formats: the largest exponent has numbers too.
pub(super) const E4M3: Format = Format {
    exponent: 4,
    mantissa: 3,
};
pub(super) const TF32: Format = Format {
    exponent: 8,
    mantissa: 10,
};
pub(super) const F32: Format = Format {
    exponent: 8,
    mantissa: 23,
};

/// The NaN that single-precision instructions return.
pub(super) const NAN32: u32 = 0x7fff_ffff;

impl Format {
    fn sign(self) -> u32 {
        1 << (self.exponent + self.mantissa)
    }

    fn infinity(self) -> u32 {
        ((1 << self.exponent) - 1) << self.mantissa
    }

    /// The canonical NaN: all bits but the sign.
    pub fn nan(self) -> u32 {
        self.sign() - 1
    }
}

/// Rounds `x` to `format`; the bits are right-aligned.
pub(super) fn narrow(x: f64, format: Format, round: Round) -> u32 {
    if x.is_nan() {
        return format.nan();
    }
    let negative = x.is_sign_negative();
    let sign = if negative { format.sign() } else { 0 };
    if x.is_infinite() {
        return sign | format.infinity();
    }
    let bits = x.to_bits();
    let (mut exponent, mut significand) =
        ((bits >> 52 & 0x7ff) as i32 - 1023, bits & ((1 << 52) - 1));
    if exponent == -1023 {
        exponent = -1022;
    } else {
        significand |= 1 << 52;
    }
    if significand == 0 {
        return sign;
    }
    let bias = (1 << (format.exponent - 1)) - 1;
    let smallest = 1 - bias;
    let subnormal = (smallest - exponent).max(0) as u32;
    // Beyond 60 bits everything is below half of the last place, and only "not zero" matters.
    let shift = (52 - format.mantissa + subnormal).min(60);
    let kept = significand >> shift;
    let rest = significand & ((1 << shift) - 1);
    let half = 1 << (shift - 1);
    let up = match round {
        Round::Nearest => rest > half || (rest == half && kept & 1 == 1),
        Round::NearestAway => rest >= half,
        Round::Zero => false,
        Round::Down => negative && rest != 0,
        Round::Up => !negative && rest != 0,
    };
    // A carry out of the mantissa raises the exponent by itself.
    let magnitude = kept + u64::from(up);
    let packed = if subnormal > 0 {
        magnitude
    } else {
        (((exponent - smallest) as u64) << format.mantissa) + magnitude
    };
    if packed < u64::from(format.infinity()) {
        return sign | packed as u32;
    }
    let to_infinity = match round {
        Round::Nearest | Round::NearestAway => true,
        Round::Zero => false,
        Round::Down => negative,
        Round::Up => !negative,
    };
    sign | if to_infinity {
        format.infinity()
    } else {
        format.infinity() - 1
    }
}

/// Value of right-aligned bits of a format.
pub(super) fn widen(bits: u32, format: Format) -> f64 {
    let negative = bits & format.sign() != 0;
    let exponent = (bits & format.nan()) >> format.mantissa;
    let mantissa = bits & ((1 << format.mantissa) - 1);
    let bias = (1 << (format.exponent - 1)) - 1;
    let scale = |e: i32| f64::from_bits(((e + 1023) as u64) << 52);
    let magnitude = if exponent == (1 << format.exponent) - 1 {
        if mantissa == 0 {
            f64::INFINITY
        } else {
            f64::NAN
        }
    } else if exponent == 0 {
        f64::from(mantissa) * scale(1 - bias - format.mantissa as i32)
    } else {
        f64::from(mantissa | 1 << format.mantissa)
            * scale(exponent as i32 - bias - format.mantissa as i32)
    };
    if negative { -magnitude } else { magnitude }
}

/// `p + c` rounded to odd.
pub(super) fn sum_odd(p: f64, c: f64) -> f64 {
    let sum = p + c;
    if !sum.is_finite() {
        return sum;
    }
    let back = sum - p;
    let error = (p - (sum - back)) + (c - back);
    odd(sum, error)
}

/// The neighbour of `rounded` with an odd last bit, if `rounded + error` is not `rounded`.
pub(super) fn odd(rounded: f64, error: f64) -> f64 {
    let bits = rounded.to_bits();
    if error == 0.0 || bits & 1 == 1 {
        rounded
    } else if (error > 0.0) == (rounded > 0.0) {
        f64::from_bits(bits + 1)
    } else {
        f64::from_bits(bits - 1)
    }
}

/// The sign of an exact zero sum: plus, except when rounding down or when both are minus zero.
pub(super) fn zero_sign(sum: f64, p: f64, c: f64, round: Round) -> f64 {
    if sum == 0.0 && round == Round::Down && !(p.is_sign_positive() && c.is_sign_positive()) {
        return -0.0;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn narrowing_to_f32_agrees_with_the_processor() {
        let mut x = 0x1234_5678_9abc_def1u64;
        for _ in 0..200_000 {
            x = x
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            // Exponents around the range of f32, subnormals included.
            let exponent = 1023 - 160 + (x >> 40) % 300;
            let value = f64::from_bits(x & 0x800f_ffff_ffff_ffff | exponent << 52);
            assert_eq!(
                narrow(value, F32, Round::Nearest),
                (value as f32).to_bits(),
                "{value:e}"
            );
        }
    }

    #[test]
    fn known_roundings() {
        assert_eq!(
            narrow(65520.0, F16, Round::Nearest),
            0x7c00,
            "first value that is infinite"
        );
        assert_eq!(narrow(65519.9, F16, Round::Nearest), 0x7bff);
        assert_eq!(narrow(65520.0, F16, Round::Zero), 0x7bff);
        assert_eq!(
            narrow(2f64.powi(-25), F16, Round::Nearest),
            0,
            "tie to even zero"
        );
        assert_eq!(narrow(-2f64.powi(-30), F16, Round::Down), 0x8001);
        assert_eq!(narrow(f64::NAN, BF16, Round::Nearest), 0x7fff);
        assert_eq!(
            narrow(1.0 + 2f64.powi(-8), BF16, Round::Nearest),
            0x3f80,
            "tie to even"
        );
        assert_eq!(
            narrow(1.0 + 2f64.powi(-11), TF32, Round::NearestAway),
            0x1fc01,
            "tie away"
        );
        for bits in [
            0u32, 1, 0x3ff, 0x400, 0x3c00, 0x7bff, 0x7c00, 0xfc00, 0x8001,
        ] {
            assert_eq!(narrow(widen(bits, F16), F16, Round::Nearest), bits);
        }
    }
}
