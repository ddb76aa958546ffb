//! Chains of fused multiply-adds, r = r a + b: references and error bounds in closed form.

use crate::kernels::verify::{Reference, UNIT_ROUNDOFF};
use gpu_kernels::params::{FMA_ADDEND, FMA_CHAINS, FMA_F64_CHAINS, FMA_MULTIPLIER};
use gpu_kernels::random::{uniform, uniform_f64};

/// Unit roundoff of f64.
pub(super) const UNIT_ROUNDOFF_F64: f64 = f64::EPSILON / 2.0;

/// Largest error of a number of magnitude 1 that is stored as two f32: the second rounds what the
/// first leaves.
pub(super) const TWO_F32: f64 = UNIT_ROUNDOFF * UNIT_ROUNDOFF;

/// Bound on the error of the sum of a thread's fp32 chains after `steps` steps.
///
/// A step rounds once, by at most u times the value, which stays below 1; older errors shrink
/// by the multiplier a with each step, so a chain's error is at most u (1 - a^n) / (1 - a).
/// The sum of the chains, each at most 1 in magnitude, adds at most u times C(C+1)/2.
pub fn bound(steps: u64) -> f64 {
    rounding(UNIT_ROUNDOFF, f64::from(FMA_CHAINS), steps)
}

fn rounding(unit: f64, chains: f64, steps: u64) -> f64 {
    let a = f64::from(FMA_MULTIPLIER);
    let per_chain = (1.0 - a.powf(steps as f64)) / (1.0 - a);
    unit * (chains * per_chain + chains * (chains + 1.0) / 2.0)
}

/// What thread `t` stores after `steps` steps of its fp32 chains.
pub fn reference(seed: u64, t: u64, steps: u64) -> f64 {
    let chains = u64::from(FMA_CHAINS);
    let start = (0..chains).map(|c| f64::from(uniform(seed, t * chains + c)));
    closed_form(start.sum(), chains, steps)
}

/// r_n = a^n r_0 + b (1 - a^n) / (1 - a), summed over the chains, whose starts sum to `start`.
fn closed_form(start: f64, chains: u64, steps: u64) -> f64 {
    let (a, b) = (f64::from(FMA_MULTIPLIER), f64::from(FMA_ADDEND));
    let decay = a.powf(steps as f64);
    decay * start + chains as f64 * b * (1.0 - decay) / (1.0 - a)
}

/// What thread `t` stores after `steps` steps of its fp64 chains, and how far that may be off: by
/// the roundings of the chains, of the two f32 that it is stored as, and of this computation, of
/// which each of a dozen operations rounds a number of at most the number of chains.
pub(super) fn double(seed: u64, t: u64, steps: u64) -> Reference {
    let chains = u64::from(FMA_F64_CHAINS);
    let start = (0..chains).map(|c| uniform_f64(seed, t * chains + c));
    let count = chains as f64;
    Reference {
        value: closed_form(start.sum(), chains, steps),
        bound: rounding(UNIT_ROUNDOFF_F64, count, steps)
            + count * (TWO_F32 + 12.0 * UNIT_ROUNDOFF_F64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The chains of one thread, step by step in f32, as the kernel computes them.
    fn step_by_step(seed: u64, t: u64, steps: u64) -> f32 {
        let chains = u64::from(FMA_CHAINS);
        let mut sum = 0f32;
        for c in 0..chains {
            let mut r = uniform(seed, t * chains + c);
            for _ in 0..steps {
                r = r.mul_add(FMA_MULTIPLIER, FMA_ADDEND);
            }
            sum += r;
        }
        sum
    }

    /// The same in f64.
    fn doubles_step_by_step(seed: u64, t: u64, steps: u64) -> f64 {
        let chains = u64::from(FMA_F64_CHAINS);
        let (a, b) = (f64::from(FMA_MULTIPLIER), f64::from(FMA_ADDEND));
        let after = |c| (0..steps).fold(uniform_f64(seed, t * chains + c), |r, _| r.mul_add(a, b));
        (0..chains).map(after).sum()
    }

    #[test]
    fn the_closed_form_is_the_chain() {
        for (t, steps) in [(0, 0), (1, 1), (2, 15), (3, 16), (4, 1000), (5, 20_000)] {
            let difference = (f64::from(step_by_step(9, t, steps)) - reference(9, t, steps)).abs();
            assert!(
                difference <= bound(steps),
                "{steps} steps: {difference} > {}",
                bound(steps)
            );
            let expected = double(9, t, steps);
            let difference = (doubles_step_by_step(9, t, steps) - expected.value).abs();
            assert!(
                difference <= expected.bound,
                "{steps} steps: {difference} > {}",
                expected.bound
            );
        }
    }

    #[test]
    fn the_bound_catches_one_missing_step_while_the_chains_move() {
        for steps in [1, 16, 64, 256] {
            let missing = (0..100)
                .map(|t| (f64::from(step_by_step(9, t, steps - 1)) - reference(9, t, steps)).abs())
                .fold(0.0, f64::max);
            assert!(
                missing > bound(steps),
                "{steps} steps: {missing} <= {}",
                bound(steps)
            );
            let expected = double(9, 1, steps);
            let missing = (doubles_step_by_step(9, 1, steps - 1) - expected.value).abs();
            assert!(missing > expected.bound, "{steps} steps");
        }
    }
}
