//! Arithmetic intensities of `mix`, and the grammar of `--intensity`.
//!
//! ```text
//! list      = item { "," item }
//! item      = intensity | range
//! range     = intensity ".." intensity [ ":x" factor | ":+" intensity ]  (default: doubling)
//! intensity = digits [ "." digits ]                                      (FLOP/byte)
//! ```
//!
//! An element is read, written, and takes part in a whole number R of fused multiply-adds: 2R FLOPs
//! over 8 bytes. So intensities are multiples of 1/4, up to [`MAX_FMAS`] / 4. Both ends of a range
//! must be; what lies between is rounded to them.

use super::range::{self, Step};
use std::collections::HashSet;

/// FMAs of an element for each FLOP/byte: 2 FLOPs over 8 bytes are 1/4.
const FMAS_PER_INTENSITY: f64 = 4.0;

/// Most FMAs of an element: far right of the ridge point of any device in fp32.
pub const MAX_FMAS: u64 = 1024;

/// The intensities that are swept when none are given: both roofs by powers of two, and points
/// about the ridge.
pub const DEFAULT: &str = "0,0.25..8:x2,10,12,14,16,20,24,32..256:x2";

/// Why a list of intensities was refused. Each message has what was given, what is allowed, and a
/// fix.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IntensityError {
    /// Nothing but blanks.
    #[error("no intensity is given: write at least one, such as `8` or `0.25..256:x2`")]
    EmptyList,
    /// Two commas in a row, or one at an end.
    #[error("`{list}` has an empty item: remove the extra comma")]
    EmptyItem {
        /// The whole list.
        list: String,
    },
    /// Text that is no decimal number.
    #[error(
        "`{given}` in `{item}` is not an intensity: a number of FLOP/byte is allowed, such as \
         `0.25` or `16`, and a range, such as `0.25..256:x2`"
    )]
    NotANumber {
        /// The part that was not understood.
        given: String,
        /// The item it stands in.
        item: String,
    },
    /// A number that no whole number of FMAs has.
    #[error(
        "intensity `{given}` in `{item}` is not a multiple of 1/4 (an element takes a whole number \
         of FMAs: 2 FLOPs over 8 bytes each); the nearest allowed are {below} and {above}"
    )]
    NotAMultiple {
        /// The number.
        given: String,
        /// The item it stands in.
        item: String,
        /// The next lower multiple.
        below: String,
        /// The next higher one.
        above: String,
    },
    /// More than [`MAX_FMAS`].
    #[error(
        "intensity `{given}` in `{item}` is too large: at most {} are allowed ({MAX_FMAS} FMAs an \
         element)",
        of(MAX_FMAS)
    )]
    TooLarge {
        /// The number.
        given: String,
        /// The item it stands in.
        item: String,
    },
    /// A range whose start is past its end.
    #[error("`{item}` runs backwards: ranges ascend, so write `{end}..{start}`")]
    Reversed {
        /// The range.
        item: String,
        /// Its start as written.
        start: String,
        /// Its end as written.
        end: String,
    },
    /// A range that multiplies 0.
    #[error("`{item}` multiplies its way up from 0: write `0,0.25..{end}` with the same step")]
    FromZero {
        /// The range.
        item: String,
        /// Its end as written.
        end: String,
    },
    /// A step that is not `:xF` with F > 1 or `:+S` with S > 0.
    #[error(
        "`{given}` in `{item}` is not a step: write `:xF` with a factor above 1, such as `:x2`, or \
         `:+S` with an intensity above 0, such as `:+4`"
    )]
    Step {
        /// What stands after the colon.
        given: String,
        /// The range.
        item: String,
    },
}

/// The intensity of `fmas` FMAs on each element, FLOP/byte.
#[must_use]
#[allow(clippy::cast_precision_loss, reason = "at most MAX_FMAS")]
pub fn of(fmas: u64) -> f64 {
    fmas as f64 / FMAS_PER_INTENSITY
}

/// Parses a list of intensities, in the order written and without repetitions; returns the FMAs of
/// an element for each.
///
/// # Errors
/// [`IntensityError`] names the item that is wrong, what is allowed, and the fix.
///
/// # Examples
/// ```
/// use rooftrace::kernels::intensity::parse;
///
/// assert_eq!(parse("0, 0.25..2:x2, 10")?, [0, 1, 2, 4, 8, 40]);
/// # Ok::<(), rooftrace::kernels::intensity::IntensityError>(())
/// ```
pub fn parse(text: &str) -> Result<Vec<u64>, IntensityError> {
    if text.trim().is_empty() {
        return Err(IntensityError::EmptyList);
    }
    let mut all = Vec::new();
    let mut seen = HashSet::new();
    for item in text.split(',').map(str::trim) {
        if item.is_empty() {
            return Err(IntensityError::EmptyItem {
                list: text.trim().to_owned(),
            });
        }
        let fmas = match item.split_once("..") {
            Some((start, rest)) => range(item, start.trim(), rest.trim())?,
            None => vec![number(item, item)?],
        };
        all.extend(fmas.into_iter().filter(|fmas| seen.insert(*fmas)));
    }
    Ok(all)
}

fn range(item: &str, start_text: &str, rest: &str) -> Result<Vec<u64>, IntensityError> {
    let (end_text, step_text) = match rest.split_once(':') {
        Some((end, step)) => (end.trim(), Some(step.trim())),
        None => (rest, None),
    };
    let start = number(start_text, item)?;
    let end = number(end_text, item)?;
    if start > end {
        return Err(IntensityError::Reversed {
            item: item.to_owned(),
            start: start_text.to_owned(),
            end: end_text.to_owned(),
        });
    }
    let step = step_text.map_or(Ok(Step::Times(2.0)), |text| step(text, item))?;
    if start == 0 && matches!(step, Step::Times(_)) {
        return Err(IntensityError::FromZero {
            item: item.to_owned(),
            end: end_text.to_owned(),
        });
    }
    // Distinct whole numbers up to the largest are never more than this.
    let most = MAX_FMAS as usize + 1;
    Ok(range::walk(start, end, &step, most).unwrap_or_default())
}

fn step(text: &str, item: &str) -> Result<Step, IntensityError> {
    let refused = || IntensityError::Step {
        given: text.to_owned(),
        item: item.to_owned(),
    };
    if let Some(factor) = text.strip_prefix('x') {
        return range::factor(factor).ok_or_else(refused);
    }
    let difference = text.strip_prefix('+').ok_or_else(refused)?;
    match number(difference.trim(), item)? {
        0 => Err(refused()),
        fmas => Ok(Step::Plus(fmas)),
    }
}

/// The FMAs of an element that have an intensity.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a whole number of at most MAX_FMAS"
)]
fn number(text: &str, item: &str) -> Result<u64, IntensityError> {
    let (given, item) = (text.to_owned(), item.to_owned());
    // Only plain decimals: `f64::from_str` alone would take `1e3` and `inf`.
    let plain = text.chars().all(|c| c.is_ascii_digit() || c == '.');
    let fmas = match text.parse::<f64>() {
        Ok(intensity) if plain => intensity * FMAS_PER_INTENSITY,
        _ => return Err(IntensityError::NotANumber { given, item }),
    };
    if fmas > MAX_FMAS as f64 {
        return Err(IntensityError::TooLarge { given, item });
    }
    if fmas.fract() != 0.0 {
        let multiple = |fmas: f64| of(fmas as u64).to_string();
        return Err(IntensityError::NotAMultiple {
            given,
            item,
            below: multiple(fmas.floor()),
            above: multiple(fmas.ceil()),
        });
    }
    Ok(fmas as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn intensities(text: &str) -> Vec<f64> {
        parse(text).unwrap().into_iter().map(of).collect()
    }

    #[test]
    fn items_and_ranges_are_multiples_of_a_quarter() {
        assert_eq!(intensities("0.25..4"), [0.25, 0.5, 1.0, 2.0, 4.0]);
        assert_eq!(intensities("0..1:+0.5,0.5,16"), [0.0, 0.5, 1.0, 16.0]);
        assert_eq!(intensities(".5, 3."), [0.5, 3.0]);
        // Between its ends a range is rounded: 1, 1.5, 2.25, 3.375, 4.
        assert_eq!(intensities("1..4:x1.5"), [1.0, 1.5, 2.25, 3.5, 4.0]);
        assert_eq!(intensities("8..8"), [8.0]);
        assert_eq!(parse("0..256:+0.25").unwrap().len() as u64, MAX_FMAS + 1);
    }

    #[test]
    fn the_default_goes_from_a_copy_to_the_right_of_any_ridge() {
        let swept = intensities(DEFAULT);
        assert_eq!((swept[0], swept[1]), (0.0, 0.25));
        assert_eq!(swept.last(), Some(&of(MAX_FMAS)));
        assert!(swept.is_sorted());
        for power in -2..=8 {
            assert!(swept.contains(&2f64.powi(power)), "2^{power}");
        }
    }

    #[test]
    fn each_refusal_says_what_was_given_what_is_allowed_and_the_fix() {
        for (text, given, advice) in [
            (" ", "no intensity", "`0.25..256:x2`"),
            ("1,,2", "`1,,2`", "remove the extra comma"),
            ("0.3", "`0.3`", "nearest allowed are 0.25 and 0.5"),
            ("0.1", "`0.1`", "nearest allowed are 0 and 0.25"),
            ("1..8.1", "`8.1`", "nearest allowed are 8 and 8.25"),
            ("1..8:+0.3", "`0.3`", "nearest allowed are 0.25 and 0.5"),
            ("257", "`257`", "at most 256 are allowed (1024 FMAs"),
            ("256.1", "`256.1`", "at most 256"),
            ("-1", "`-1`", "such as `0.25`"),
            ("1e2", "`1e2`", "such as `0.25`"),
            ("inf", "`inf`", "such as `0.25`"),
            ("1..", "``", "such as `0.25`"),
            ("many", "`many`", "such as `0.25`"),
            ("8..2", "`8..2`", "`2..8`"),
            ("0..8", "`0..8`", "`0,0.25..8`"),
            ("0..8:x2", "`0..8:x2`", "`0,0.25..8`"),
            ("1..8:x1", "`x1`", "above 1"),
            ("1..8:+0", "`+0`", "above 0"),
            ("1..8:2", "`2`", "`:xF`"),
        ] {
            let message = parse(text).unwrap_err().to_string();
            assert!(message.contains(given), "`{text}`: {message}");
            assert!(message.contains(advice), "`{text}`: {message}");
        }
    }
}
