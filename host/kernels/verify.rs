//! References in f64 and error bounds, on the device's real output.

use super::bench::{Bench, POISON_BITS};
use crate::device::{Element, Fill, Result};
use rayon::prelude::*;

/// Unit roundoff of f32: half the distance from 1 to the next number.
pub const UNIT_ROUNDOFF: f64 = 1.0 / (1u64 << 24) as f64;

/// The outcome of a verification.
#[derive(Debug, Clone, PartialEq)]
pub struct Check {
    /// Absolute error of the element that comes nearest to its bound.
    pub error: Option<f64>,
    /// Bound derived for the same element.
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
}

/// What one element of an output should be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reference {
    /// The value, computed in f64.
    pub value: f64,
    /// Largest absolute error that rounding explains.
    pub bound: f64,
}

/// The error and the bound of the element that comes nearest to its bound.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Worst {
    /// Absolute error.
    pub error: f64,
    /// Bound of the same element.
    pub bound: f64,
    /// Its index.
    pub index: u64,
}

impl Worst {
    /// No error, at no element.
    pub const NONE: Worst = Worst {
        error: 0.0,
        bound: 0.0,
        index: u64::MAX,
    };

    /// The error of `output` against what it should be. A NaN is infinitely wrong.
    pub fn of(output: f64, expected: Reference, index: u64) -> Worst {
        let error = (output - expected.value).abs();
        Worst {
            error: if error.is_nan() { f64::INFINITY } else { error },
            bound: expected.bound,
            index,
        }
    }

    /// Error over bound: at most 1 if rounding explains it. Never NaN, which every comparison
    /// would let pass.
    fn ratio(&self) -> f64 {
        let ratio = self.error / self.bound;
        if self.error == 0.0 {
            // 0 / 0: right where only the exact value is.
            0.0
        } else if ratio.is_nan() {
            // A bound that was computed from an output which is itself NaN or infinite.
            f64::INFINITY
        } else {
            ratio
        }
    }

    /// The one nearer to its bound; of two alike the earlier, so that the outcome does not
    /// depend on how the work was split.
    pub fn or(self, other: Worst) -> Worst {
        let (a, b) = (self.ratio(), other.ratio());
        if b > a || (b == a && other.index < self.index) {
            other
        } else {
            self
        }
    }

    /// Passes if the error is within its bound; `what` names the thing with an index.
    pub fn judge(self, what: &str) -> Check {
        let failure = (self.ratio() > 1.0).then(|| {
            format!(
                "{what} {}: error {:.3e}, bound {:.3e}",
                self.index, self.error, self.bound
            )
        });
        Check {
            error: self.error.is_finite().then_some(self.error),
            error_bound: self.bound.is_finite().then_some(self.bound),
            failure,
        }
    }
}

/// Checks an output element by element, and all guard bands.
///
/// The check reports the error and the bound of the element nearest to its bound. An element
/// that still holds the poison fails as not written, any other NaN as wrong.
///
/// # Errors
/// The device's error.
pub fn elementwise(
    bench: &mut Bench<'_>,
    operand: usize,
    reference: impl Fn(u64) -> Reference + Sync,
) -> Result<Check> {
    if let Err(reason) = bench.check_guards()? {
        return Ok(Check::failed(reason));
    }
    let mut worst = Worst::NONE;
    let outcome = bench.inspect(operand, 1, |first, piece| {
        let found = piece
            .par_iter()
            .enumerate()
            .map(|(i, &output)| {
                let index = first + i as u64;
                Worst::of(f64::from(output), reference(index), index)
            })
            .reduce(|| Worst::NONE, Worst::or);
        worst = worst.or(found);
        if worst.ratio() > 1.0 {
            let output = piece[(worst.index - first) as usize];
            return Err(describe(output, reference(worst.index), &worst));
        }
        Ok(())
    })?;
    Ok(match outcome {
        Err(reason) => Check {
            failure: Some(reason),
            ..worst.judge("element")
        },
        Ok(()) => worst.judge("element"),
    })
}

/// Says what is wrong with one element.
fn describe(output: f32, expected: Reference, worst: &Worst) -> String {
    let index = worst.index;
    if [Element::F32, Element::Bf16]
        .iter()
        .any(|&element| output.to_bits() == Fill::Bits(POISON_BITS).stored(element, 0).to_bits())
    {
        return format!("element {index} was not written");
    }
    format!(
        "element {index} is {output:e}, expected {:e} (error {:.3e}, bound {:.3e})",
        expected.value, worst.error, worst.bound
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Reference = Reference {
        value: 1.0,
        bound: 0.5,
    };

    #[test]
    fn an_error_is_judged_against_its_own_bound() {
        assert!(Worst::of(1.5, ONE, 0).judge("element").passed());
        assert!(!Worst::of(1.6, ONE, 0).judge("element").passed());
        let exact = Reference { bound: 0.0, ..ONE };
        assert!(Worst::of(1.0, exact, 0).judge("element").passed());
        assert!(!Worst::of(1.0 + 1e-12, exact, 0).judge("element").passed());
    }

    #[test]
    fn a_nan_fails_and_has_no_error() {
        let check = Worst::of(f64::NAN, ONE, 3).judge("element");
        assert!(!check.passed());
        assert_eq!(check.error, None);
    }

    #[test]
    fn a_bound_that_is_spoilt_by_the_output_does_not_excuse_it() {
        let fine = Worst::of(1.0, ONE, 0);
        for bound in [f64::NAN, f64::INFINITY] {
            let spoilt = Worst::of(f64::NAN, Reference { bound, ..ONE }, 1);
            for worst in [fine.or(spoilt), spoilt.or(fine)] {
                let check = worst.judge("row");
                assert!(!check.passed());
                assert_eq!((check.error, check.error_bound), (None, None));
            }
        }
    }

    #[test]
    fn the_worst_is_the_one_nearest_to_its_bound() {
        let large = Worst {
            error: 1.0,
            bound: 10.0,
            index: 0,
        };
        let near = Worst {
            error: 0.1,
            bound: 0.2,
            index: 1,
        };
        assert_eq!(large.or(near), near);
        assert_eq!(near.or(large), near);
        assert_eq!(Worst::NONE.or(large), large);
    }

    #[test]
    fn an_unwritten_element_is_called_so() {
        let worst = Worst::of(f64::NAN, ONE, 7);
        let text = describe(f32::from_bits(POISON_BITS), ONE, &worst);
        assert_eq!(text, "element 7 was not written");
    }
}
