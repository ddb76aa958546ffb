//! The closed form of a chain of fused multiply-adds and the bound on its error.

use crate::kernels::verify::UNIT_ROUNDOFF;
use gpu_kernels::params::{FMA_ADDEND, FMA_MULTIPLIER};

/// n steps r = a r + b, with the fixed a of [`FMA_MULTIPLIER`] and b of [`FMA_ADDEND`]:
/// r_n = a^n r_0 + b (1 - a^n) / (1 - a).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Chain {
    /// a^n
    decay: f64,
    /// (1 - a^n) / (1 - a): the sum of the powers of a below the n-th.
    powers: f64,
}

impl Chain {
    /// A chain of `steps` steps.
    #[must_use]
    pub fn of(steps: u64) -> Chain {
        let a = f64::from(FMA_MULTIPLIER);
        let decay = a.powf(steps as f64);
        Chain {
            decay,
            powers: (1.0 - decay) / (1.0 - a),
        }
    }

    /// Where a chain that starts from `start` ends.
    #[must_use]
    pub fn end(self, start: f64) -> f64 {
        self.decay * start + f64::from(FMA_ADDEND) * self.powers
    }

    /// Bound on the error in f32, from a start of at most 1 in magnitude that is exact.
    ///
    /// A step rounds once, by at most u times the value, which stays below 1; older errors shrink
    /// by the multiplier a with each step, so the error is at most u (1 - a^n) / (1 - a).
    #[must_use]
    pub fn bound(self) -> f64 {
        UNIT_ROUNDOFF * self.powers
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpu_kernels::random::uniform;

    fn step_by_step(start: f32, steps: u64) -> f64 {
        f64::from((0..steps).fold(start, |r, _| r.mul_add(FMA_MULTIPLIER, FMA_ADDEND)))
    }

    #[test]
    fn a_chain_without_steps_is_its_start_exactly() {
        let chain = Chain::of(0);
        assert_eq!((chain.end(0.7), chain.bound()), (0.7, 0.0));
    }

    #[test]
    fn the_closed_form_is_the_chain_within_its_bound() {
        for steps in (0..70).chain([127, 1000, 1023, 1024, 65_536]) {
            let chain = Chain::of(steps);
            for i in 0..200 {
                let start = uniform(3, i);
                let error = (step_by_step(start, steps) - chain.end(f64::from(start))).abs();
                assert!(
                    error <= chain.bound(),
                    "{steps} steps from {start}: {error}"
                );
            }
        }
    }

    #[test]
    fn one_step_too_few_or_too_many_is_beyond_the_bound() {
        // As far as `mix` goes: by then a chain has lost 2/5 of its distance from 1/2.
        for steps in [1, 2, 3, 31, 32, 33, 100, 500, 1024] {
            let chain = Chain::of(steps);
            for other in [steps - 1, steps + 1] {
                let error = (step_by_step(-1.0, other) - chain.end(-1.0)).abs();
                assert!(error > chain.bound(), "{other} for {steps}: {error}");
            }
        }
    }
}
