//! Problem sizes, and the grammar of `--sizes`.
//!
//! ```text
//! list  = item { "," item }
//! item  = size | range | size "x" size "x" size      (the last for GEMM: MxNxK)
//!       | ( size | range ) "@" intensity             (for `mix`: N elements at FLOP/byte)
//! range = size ".." size [ ":x" factor | ":+" size ] (default: doubling)
//! size  = digits [ "k" | "M" | "G" | "Ki" | "Mi" | "Gi" ]
//! factor = digits [ "." digits ]                     (greater than 1)
//! ```
//!
//! An intensity is an item of the grammar of [`super::intensity`].
//!
//! A range holds both its ends: the step that would pass the end is clipped to
//! it. Sizes keep the order they were written in; a repeated one is dropped.

use super::intensity::{self, IntensityError};
use super::range::{self, Step};
use std::collections::HashSet;
use std::fmt;

/// Most sizes one list may hold; each costs at least a second of measuring.
pub const MAX_SIZES: usize = 10_000;

/// Most elements of a vector, 2^48: past any memory, and far enough from 2^64
/// that bytes and operations can be counted in `u64`.
pub const MAX_ELEMENTS: u64 = 1 << 48;

/// Longest side of a matrix, the largest `int` of the BLAS interface.
pub const MAX_SIDE: u64 = i32::MAX as u64;

/// Largest product m n k, 2^60: the 2 m n k operations of a multiplication,
/// and of a small batch of them, fit a `u64`.
pub const MAX_VOLUME: u64 = 1 << 60;

/// What a plain `N` means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SizeKind {
    /// The number of elements of a vector.
    Elements,
    /// The side of three square matrices; `MxNxK` is allowed too.
    Matrix,
    /// The number of elements of a vector, at each of [`intensity::DEFAULT`]; `N@I` has its own
    /// intensity.
    Mixed,
}

/// One problem size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Size {
    /// A vector of so many elements.
    Elements(u64),
    /// C (m x n) from A (m x k) and B (k x n).
    Matrix {
        /// Rows of A and C.
        m: u64,
        /// Columns of B and C.
        n: u64,
        /// Columns of A and rows of B.
        k: u64,
    },
    /// A vector of which every element takes part in so many fused multiply-adds.
    Mixed {
        /// Elements.
        n: u64,
        /// FMAs of each.
        fmas: u64,
    },
}

impl fmt::Display for Size {
    /// The size in its own grammar: it parses back to itself.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Size::Elements(n) => write!(f, "{n}"),
            Size::Matrix { m, n, k } if m == n && n == k => write!(f, "{n}"),
            Size::Matrix { m, n, k } => write!(f, "{m}x{n}x{k}"),
            Size::Mixed { n, fmas } => write!(f, "{n}@{}", intensity::of(fmas)),
        }
    }
}

/// Why a size list was refused. Each message has what was given, what is
/// allowed, and a fix.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SizeError {
    /// Nothing but blanks.
    #[error("--sizes is empty: give at least one size, such as `1Mi` or `1k..16k`")]
    EmptyList,
    /// Two commas in a row, or one at an end.
    #[error("--sizes `{list}` has an empty item: remove the extra comma")]
    EmptyItem {
        /// The whole list.
        list: String,
    },
    /// Text that is no whole number with an optional suffix.
    #[error("`{given}` in --sizes `{item}` is not a size: {hint}")]
    NotASize {
        /// The part that was not understood.
        given: String,
        /// The item it stands in.
        item: String,
        /// What is allowed, and the nearest correct form.
        hint: String,
    },
    /// A size of 0.
    #[error("`{given}` in --sizes `{item}` is zero: the smallest size is 1")]
    Zero {
        /// The part that is zero.
        given: String,
        /// The item it stands in.
        item: String,
    },
    /// A number past the limits of this module.
    #[error("`{given}` in --sizes `{item}` is too large: {limit}")]
    TooLarge {
        /// The part that is too large.
        given: String,
        /// The item it stands in.
        item: String,
        /// The largest value allowed.
        limit: String,
    },
    /// A range whose start is past its end.
    #[error(
        "--sizes `{item}` runs backwards: ranges ascend, so write `{end}..{start}` \
         (a descending list can be spelled out with commas)"
    )]
    Reversed {
        /// The range.
        item: String,
        /// Its start as written.
        start: String,
        /// Its end as written.
        end: String,
    },
    /// A step that is not `:xF` with F > 1 or `:+S` with S >= 1.
    #[error(
        "`{given}` in --sizes `{item}` is not a step: write `:xF` with a factor above 1, \
         such as `:x1.5`, or `:+S` with a size of at least 1, such as `:+128`"
    )]
    Step {
        /// What stands after the colon.
        given: String,
        /// The range.
        item: String,
    },
    /// `MxNxK` for a kernel on vectors.
    #[error(
        "--sizes `{item}` is a matrix size, but this kernel works on vectors: \
         give one number of elements, such as `1Mi`"
    )]
    MatrixForVector {
        /// The item.
        item: String,
    },
    /// `N@I` for a kernel whose intensity is its own.
    #[error("--sizes `{item}` has an intensity, which only mix can be given: write `{plain}`")]
    NoIntensity {
        /// The item.
        item: String,
        /// What stands before the intensity.
        plain: String,
    },
    /// An intensity that was refused.
    #[error("--sizes `{item}`: {error}")]
    Intensity {
        /// The item.
        item: String,
        /// Why.
        error: IntensityError,
    },
    /// A product with other than three sides.
    #[error("--sizes `{item}` has {sides} sides: write `MxNxK`, or one side for square matrices")]
    Sides {
        /// The item.
        item: String,
        /// How many there are.
        sides: usize,
    },
    /// More than [`MAX_SIZES`] sizes.
    #[error(
        "--sizes `{item}` brings the list over {MAX_SIZES} sizes: take a larger step, \
         such as `:x2`, or a shorter range"
    )]
    TooMany {
        /// The item that passed the limit.
        item: String,
    },
}

/// Parses a list of sizes, in the order written and without repetitions.
///
/// # Errors
/// [`SizeError`] names the item that is wrong, what is allowed, and the fix.
///
/// # Examples
/// ```
/// use rooftrace::kernels::size::{Size, SizeKind, parse_sizes};
///
/// let sizes = parse_sizes("1Ki..6Ki, 100", SizeKind::Elements)?;
/// assert_eq!(sizes, [1024, 2048, 4096, 6144, 100].map(Size::Elements));
/// # Ok::<(), rooftrace::kernels::size::SizeError>(())
/// ```
pub fn parse_sizes(text: &str, kind: SizeKind) -> Result<Vec<Size>, SizeError> {
    if text.trim().is_empty() {
        return Err(SizeError::EmptyList);
    }
    let mut sizes = Vec::new();
    let mut seen = HashSet::new();
    for item in text.split(',').map(str::trim) {
        if item.is_empty() {
            return Err(SizeError::EmptyItem {
                list: text.trim().to_owned(),
            });
        }
        for size in parse_item(item, kind)? {
            if seen.insert(size) {
                sizes.push(size);
            }
        }
        if sizes.len() > MAX_SIZES {
            return Err(SizeError::TooMany {
                item: item.to_owned(),
            });
        }
    }
    Ok(sizes)
}

fn parse_item(item: &str, kind: SizeKind) -> Result<Vec<Size>, SizeError> {
    if kind == SizeKind::Mixed {
        return parse_mixed(item);
    }
    if let Some((plain, _)) = item.split_once('@') {
        return Err(SizeError::NoIntensity {
            item: item.to_owned(),
            plain: plain.trim().to_owned(),
        });
    }
    if let Some((start, rest)) = item.split_once("..") {
        let values = parse_range(item, start.trim(), rest.trim())?;
        return values
            .into_iter()
            .map(|n| size_of(item, [n; 3], kind))
            .collect();
    }
    // A leading digit keeps the `x` of a word from passing for a product.
    if item.starts_with(|c: char| c.is_ascii_digit()) && item.contains('x') {
        if kind == SizeKind::Elements {
            return Err(SizeError::MatrixForVector {
                item: item.to_owned(),
            });
        }
        let sides: Vec<&str> = item.split('x').map(str::trim).collect();
        let &[m, n, k] = sides.as_slice() else {
            return Err(SizeError::Sides {
                item: item.to_owned(),
                sides: sides.len(),
            });
        };
        let sides = [
            parse_number(m, item)?,
            parse_number(n, item)?,
            parse_number(k, item)?,
        ];
        return Ok(vec![size_of(item, sides, kind)?]);
    }
    Ok(vec![size_of(item, [parse_number(item, item)?; 3], kind)?])
}

/// An item for a kernel with intensities: each length at each intensity.
fn parse_mixed(item: &str) -> Result<Vec<Size>, SizeError> {
    let (lengths, intensities) = match item.split_once('@') {
        Some((lengths, text)) => (lengths.trim(), text),
        None => (item, intensity::DEFAULT),
    };
    let fmas = intensity::parse(intensities).map_err(|error| SizeError::Intensity {
        item: item.to_owned(),
        error,
    })?;
    let lengths = parse_item(lengths, SizeKind::Elements)?;
    if lengths.len() * fmas.len() > MAX_SIZES {
        return Err(SizeError::TooMany {
            item: item.to_owned(),
        });
    }
    Ok(at_intensities(&lengths, &fmas))
}

/// Each length in `sizes` once, at each intensity: numbers of FMAs an element.
#[must_use]
pub fn at_intensities(sizes: &[Size], fmas: &[u64]) -> Vec<Size> {
    let mut seen = HashSet::new();
    let lengths = sizes.iter().filter_map(|size| match *size {
        Size::Elements(n) | Size::Mixed { n, .. } => seen.insert(n).then_some(n),
        Size::Matrix { .. } => None,
    });
    lengths
        .flat_map(|n| fmas.iter().map(move |&fmas| Size::Mixed { n, fmas }))
        .collect()
}

/// Makes a size of numbers that are at least 1; a vector takes the first.
fn size_of(item: &str, [m, n, k]: [u64; 3], kind: SizeKind) -> Result<Size, SizeError> {
    let too_large = |given: u64, limit: String| SizeError::TooLarge {
        given: given.to_string(),
        item: item.to_owned(),
        limit,
    };
    match kind {
        SizeKind::Elements | SizeKind::Mixed if m > MAX_ELEMENTS => Err(too_large(
            m,
            format!("a vector has at most {MAX_ELEMENTS} elements"),
        )),
        SizeKind::Elements | SizeKind::Mixed => Ok(Size::Elements(m)),
        SizeKind::Matrix => {
            let longest = m.max(n).max(k);
            if longest > MAX_SIDE {
                return Err(too_large(longest, format!("a side is at most {MAX_SIDE}")));
            }
            if u128::from(m) * u128::from(n) * u128::from(k) > u128::from(MAX_VOLUME) {
                return Err(too_large(longest, format!("M*N*K is at most {MAX_VOLUME}")));
            }
            Ok(Size::Matrix { m, n, k })
        }
    }
}

fn parse_range(item: &str, start_text: &str, rest: &str) -> Result<Vec<u64>, SizeError> {
    let (end_text, step_text) = match rest.split_once(':') {
        Some((end, step)) => (end.trim(), Some(step.trim())),
        None => (rest, None),
    };
    let start = parse_number(start_text, item)?;
    let end = parse_number(end_text, item)?;
    if start > end {
        return Err(SizeError::Reversed {
            item: item.to_owned(),
            start: start_text.to_owned(),
            end: end_text.to_owned(),
        });
    }
    let step = step_text.map_or(Ok(Step::Times(2.0)), |text| parse_step(item, text))?;
    range::walk(start, end, &step, MAX_SIZES).ok_or_else(|| SizeError::TooMany {
        item: item.to_owned(),
    })
}

fn parse_step(item: &str, text: &str) -> Result<Step, SizeError> {
    let refused = || SizeError::Step {
        given: text.to_owned(),
        item: item.to_owned(),
    };
    if let Some(factor) = text.strip_prefix('x') {
        return range::factor(factor).ok_or_else(refused);
    }
    let step = text.strip_prefix('+').ok_or_else(refused)?;
    match parse_number(step.trim(), item) {
        Err(SizeError::Zero { .. }) => Err(refused()),
        step => step.map(Step::Plus),
    }
}

fn parse_number(text: &str, item: &str) -> Result<u64, SizeError> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (digits, suffix) = text.split_at(digits);
    let factor: u64 = match suffix {
        _ if digits.is_empty() => return Err(not_a_size(text, digits, suffix, item)),
        "" => 1,
        "k" => 1_000,
        "M" => 1_000_000,
        "G" => 1_000_000_000,
        "Ki" => 1 << 10,
        "Mi" => 1 << 20,
        "Gi" => 1 << 30,
        _ => return Err(not_a_size(text, digits, suffix, item)),
    };
    match digits
        .parse::<u64>()
        .ok()
        .and_then(|number| number.checked_mul(factor))
    {
        Some(0) => Err(SizeError::Zero {
            given: text.to_owned(),
            item: item.to_owned(),
        }),
        Some(number) => Ok(number),
        None => Err(SizeError::TooLarge {
            given: text.to_owned(),
            item: item.to_owned(),
            limit: format!("a number is at most {}", u64::MAX),
        }),
    }
}

fn not_a_size(text: &str, digits: &str, suffix: &str, item: &str) -> SizeError {
    let hint = match suffix {
        "" => "a size is missing here; a range is written `A..B`".to_owned(),
        _ if suffix.starts_with(['-', '\u{2212}']) => {
            "sizes are positive, and a range is written `A..B`".to_owned()
        }
        _ if suffix.starts_with('=') => "both ends belong to a range: write `A..B`".to_owned(),
        _ if suffix.starts_with(['.', 'e', 'E']) => {
            "only whole numbers are allowed, without point or exponent: \
             write `1500` for `1.5k` and `1k` for `1e3`"
                .to_owned()
        }
        "K" | "kB" | "KB" | "ki" | "m" | "g" | "mi" | "gi" if !digits.is_empty() => format!(
            "unknown suffix `{suffix}`; allowed are k M G (powers of 1000) and Ki Mi Gi \
             (powers of 1024), as in `{digits}k` or `{digits}Ki`"
        ),
        _ if digits.is_empty() => {
            "a size is a whole number, such as `4096`, `4k` or `4Ki`".to_owned()
        }
        _ => format!(
            "unknown suffix `{suffix}`; allowed are k M G (powers of 1000) and Ki Mi Gi \
             (powers of 1024)"
        ),
    };
    SizeError::NotASize {
        given: text.to_owned(),
        item: item.to_owned(),
        hint,
    }
}
