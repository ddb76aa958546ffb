//! References in f64 and error bounds, on the device's real output.

use super::bench::{Bench, POISON_BITS};
use crate::device::Result;
use rayon::prelude::*;

/// Unit roundoff of f32: half the distance from 1 to the next number.
pub const UNIT_ROUNDOFF: f64 = 1.0 / (1u64 << 24) as f64;

/// The outcome of a verification.
#[derive(Debug, Clone, PartialEq)]
pub struct Check {
    /// Largest error found, in the measure that the kernel's documentation states.
    pub error: Option<f64>,
    /// Bound derived for it.
    pub error_bound: Option<f64>,
    /// Why the result is wrong; `None` if it is right.
    pub failure: Option<String>,
}

impl Check {
    /// Whether the result is right.
    pub fn passed(&self) -> bool {
        self.failure.is_none()
    }

    /// A check that failed before an error could be computed.
    pub fn failed(reason: String) -> Self {
        Check {
            error: None,
            error_bound: None,
            failure: Some(reason),
        }
    }

    /// Passes if `error` is at most `bound`; `what` says what the error is of.
    pub fn of(error: f64, bound: f64, what: impl FnOnce() -> String) -> Self {
        // A NaN error is not at most anything.
        let failure = (error.is_nan() || error > bound)
            .then(|| format!("{}: error {error:.3e}, bound {bound:.3e}", what()));
        Check {
            error: (!error.is_nan()).then_some(error),
            error_bound: Some(bound),
            failure,
        }
    }
}

/// What one element of an output should be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reference {
    /// The value, computed in f64.
    pub value: f64,
    /// The error is divided by this: 1 for an absolute error.
    pub scale: f64,
}

/// Checks an output element by element, and all guard bands.
///
/// The error is the largest `|output - value| / scale`; an element that still holds the poison
/// fails as not written, any other NaN as wrong.
///
/// # Errors
/// The device's error.
pub fn elementwise(
    bench: &mut Bench<'_>,
    operand: usize,
    bound: f64,
    reference: impl Fn(u64) -> Reference + Sync,
) -> Result<Check> {
    if let Err(reason) = bench.check_guards()? {
        return Ok(Check::failed(reason));
    }
    let mut worst = (0f64, 0u64);
    let outcome = bench.inspect(operand, 1, |first, piece| {
        let (error, at) = piece
            .par_iter()
            .enumerate()
            .map(|(i, &output)| {
                let index = first + i as u64;
                let expected = reference(index);
                let difference = (f64::from(output) - expected.value).abs();
                // 0 / 0: a right zero whose scale is zero.
                let error = if difference == 0.0 {
                    0.0
                } else {
                    difference / expected.scale
                };
                (if error.is_nan() { f64::INFINITY } else { error }, index)
            })
            .reduce(|| (0.0, u64::MAX), larger);
        if error > bound {
            let output = piece[(at - first) as usize];
            return Err(describe(at, output, reference(at), error, bound));
        }
        worst = larger(worst, (error, at));
        Ok(())
    })?;
    Ok(match outcome {
        Err(reason) => Check::failed(reason),
        Ok(()) => Check::of(worst.0, bound, || format!("element {}", worst.1)),
    })
}

/// The pair with the larger error; of equal ones the earlier, so that the outcome does not
/// depend on how the work was split.
fn larger(a: (f64, u64), b: (f64, u64)) -> (f64, u64) {
    if b.0 > a.0 || (b.0 == a.0 && b.1 < a.1) {
        b
    } else {
        a
    }
}

/// Says what is wrong with one element.
fn describe(at: u64, output: f32, expected: Reference, error: f64, bound: f64) -> String {
    if output.to_bits() == POISON_BITS {
        return format!("element {at} was not written");
    }
    format!(
        "element {at} is {output:e}, expected {:e} (error {error:.3e}, bound {bound:.3e})",
        expected.value
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nan_error_fails() {
        assert!(!Check::of(f64::NAN, 1.0, || "x".into()).passed());
        assert!(Check::of(1.0, 1.0, || "x".into()).passed());
        assert!(!Check::of(1.1, 1.0, || "x".into()).passed());
    }

    #[test]
    fn an_unwritten_element_is_called_so() {
        let expected = Reference {
            value: 1.0,
            scale: 1.0,
        };
        let text = describe(7, f32::from_bits(POISON_BITS), expected, f64::INFINITY, 0.0);
        assert_eq!(text, "element 7 was not written");
    }
}
