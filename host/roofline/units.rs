//! Decimal and binary prefixes, engineering notation.
//!
//! Rates are decimal throughout (1 TB/s = 10^12 byte/s), capacities binary (1 GiB = 2^30
//! byte). Taking one for the other is an error of 7 % at G and 10 % at T.

/// 2^30 byte.
pub const GIB: u64 = 1 << 30;
/// 2^40 byte.
pub const TIB: u64 = 1 << 40;

const DECIMAL: [(&str, f64); 12] = [
    ("E", 1e18),
    ("P", 1e15),
    ("T", 1e12),
    ("G", 1e9),
    ("M", 1e6),
    ("k", 1e3),
    ("", 1.0),
    ("m", 1e-3),
    ("µ", 1e-6),
    ("n", 1e-9),
    ("p", 1e-12),
    ("f", 1e-15),
];
const BINARY: [(&str, u64); 6] = [
    ("Ei", 1 << 60),
    ("Pi", 1 << 50),
    ("Ti", 1 << 40),
    ("Gi", 1 << 30),
    ("Mi", 1 << 20),
    ("Ki", 1 << 10),
];

/// `value` with `digits` significant digits, without an exponent and without trailing zeros
/// after the decimal point: 19.97, 0.1667, 2360.
///
/// Digits left of the decimal point are never rounded away: 12345 with three digits is 12345.
#[must_use]
pub fn significant(value: f64, digits: usize) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    let magnitude = value.abs().log10().floor() as i64;
    let decimals = (digits as i64 - 1 - magnitude).clamp(0, 17) as usize;
    let text = format!("{value:.decimals$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// Engineering notation with an SI prefix: `engineering(3.35e12, "B/s")` is `3.35 TB/s`.
///
/// Four significant digits; the prefix is decimal, from f to E.
#[must_use]
pub fn engineering(value: f64, unit: &str) -> String {
    let Some((prefix, scale)) = prefix_of(value) else {
        return format!("{value} {unit}");
    };
    format!("{} {prefix}{unit}", significant(value / scale, 4))
}

fn prefix_of(value: f64) -> Option<(&'static str, f64)> {
    if !value.is_finite() {
        return None;
    }
    if value == 0.0 {
        return Some(("", 1.0));
    }
    // Half a unit of the fourth digit: 999.96 G rounds to 1000 G, which is written 1 T.
    let fits = |scale: f64| value.abs() >= scale * 0.99995;
    let found = DECIMAL.iter().find(|(_, scale)| fits(*scale));
    Some(*found.unwrap_or(&DECIMAL[DECIMAL.len() - 1]))
}

/// A capacity in binary units: `binary_bytes(1 << 30)` is `1 GiB`.
#[must_use]
pub fn binary_bytes(bytes: u64) -> String {
    match BINARY.iter().find(|(_, scale)| bytes >= *scale) {
        Some((prefix, scale)) => {
            format!("{} {prefix}B", significant(bytes as f64 / *scale as f64, 4))
        }
        None => format!("{bytes} B"),
    }
}

/// A whole number with commas between groups of three digits: 33,792.
#[must_use]
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// How much larger a binary prefix is than the decimal one, as a fraction: 0.0737 at
/// `power` 3 (GiB against GB), 0.0995 at 4 (TiB against TB).
#[must_use]
pub fn binary_excess(power: i32) -> f64 {
    (1024f64 / 1000.0).powi(power) - 1.0
}

/// Rounds as the lecture prints its ridge points: to the nearest integer, half to even
/// (562.5 is 562).
#[must_use]
pub fn rounded(value: f64) -> f64 {
    value.round_ties_even()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engineering_notation_uses_decimal_prefixes() {
        assert_eq!(engineering(3.35e12, "B/s"), "3.35 TB/s");
        assert_eq!(engineering(66.9e12, "FLOP/s"), "66.9 TFLOP/s");
        assert_eq!(engineering(989.4e12, "FLOP/s"), "989.4 TFLOP/s");
        assert_eq!(engineering(1978.9e12, "FLOP/s"), "1.979 PFLOP/s");
        assert_eq!(engineering(0.1, "s"), "100 ms");
        assert_eq!(engineering(1.98e9, "Hz"), "1.98 GHz");
        assert_eq!(engineering(0.0, "B/s"), "0 B/s");
        assert_eq!(engineering(-2500.0, "W"), "-2.5 kW");
        assert_eq!(engineering(1e-20, "s"), "0.00001 fs");
    }

    #[test]
    fn rounding_carries_into_the_next_prefix() {
        assert_eq!(engineering(999.96e9, "B/s"), "1 TB/s");
        assert_eq!(engineering(999.94e9, "B/s"), "999.9 GB/s");
    }

    #[test]
    fn what_is_not_finite_stays_legible() {
        assert_eq!(engineering(f64::INFINITY, "s"), "inf s");
        assert_eq!(significant(f64::NAN, 3), "NaN");
    }

    #[test]
    fn capacities_are_binary() {
        assert_eq!(binary_bytes(GIB), "1 GiB");
        assert_eq!(binary_bytes(TIB), "1 TiB");
        assert_eq!(binary_bytes(62_914_560), "60 MiB");
        assert_eq!(binary_bytes(1023), "1023 B");
        assert_eq!(binary_bytes(0), "0 B");
    }

    #[test]
    fn significant_keeps_integer_digits() {
        assert_eq!(significant(12345.0, 3), "12345");
        assert_eq!(significant(1.0 / 6.0, 4), "0.1667");
        assert_eq!(significant(19.970_149, 4), "19.97");
        assert_eq!(significant(100.0, 4), "100");
    }

    #[test]
    fn groups_of_three_digits() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(33792), "33,792");
        assert_eq!(grouped(1_000_000), "1,000,000");
    }
}
