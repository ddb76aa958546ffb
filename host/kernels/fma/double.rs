//! fp64: the sum of a thread's chains, and outputs whose doubles are stored as two f32.

use super::Chain;
use crate::device::Result;
use crate::kernels::verify::{Reference, UNIT_ROUNDOFF, Worst};
use crate::kernels::{Bench, Check};
use gpu_kernels::params::FMA_F64_CHAINS;
use gpu_kernels::random::uniform_f64;

/// Unit roundoff of f64.
pub(super) const UNIT_ROUNDOFF_F64: f64 = f64::EPSILON / 2.0;

/// Largest error of a number of magnitude 1 that is stored as two f32: the second rounds what the
/// first leaves.
pub(super) const TWO_F32: f64 = UNIT_ROUNDOFF * UNIT_ROUNDOFF;

/// What thread `t` stores after `steps` steps of its chains, and how far that may be off: by the
/// roundings of the chains and of their sum, of the two f32 that it is stored as, and of this
/// computation, of which each of a dozen operations rounds a number of at most the number of
/// chains.
pub(super) fn chains(seed: u64, t: u64, steps: u64) -> Reference {
    let chains = u64::from(FMA_F64_CHAINS);
    let chain = Chain::of(steps);
    let ends = (0..chains).map(|c| chain.end(uniform_f64(seed, t * chains + c)));
    let count = chains as f64;
    let rounding = count * chain.bound() / UNIT_ROUNDOFF + count * (count + 1.0) / 2.0;
    Reference {
        value: ends.sum(),
        bound: UNIT_ROUNDOFF_F64 * (rounding + 12.0 * count) + TWO_F32 * count,
    }
}

/// Checks an output of doubles that are stored as two f32 each, and the guard bands.
pub(super) fn check(bench: &mut Bench<'_>, reference: impl Fn(u64) -> Reference) -> Result<Check> {
    if let Err(reason) = bench.check_guards()? {
        return Ok(Check::failed(reason));
    }
    let mut worst = Worst::NONE;
    let outcome = bench.inspect(0, 2, |first, piece| {
        for (pair, halves) in piece.chunks_exact(2).enumerate() {
            let t = first / 2 + pair as u64;
            let value = f64::from(halves[0]) + f64::from(halves[1]);
            worst = worst.or(Worst::of(value, reference(t), t));
        }
        Ok(())
    })?;
    Ok(match outcome {
        Err(reason) => Check::failed(reason),
        Ok(()) => worst.judge("pair"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpu_kernels::params::{FMA_ADDEND, FMA_MULTIPLIER};

    /// The chains of one thread, step by step.
    fn step_by_step(seed: u64, t: u64, steps: u64) -> f64 {
        let chains = u64::from(FMA_F64_CHAINS);
        let (a, b) = (f64::from(FMA_MULTIPLIER), f64::from(FMA_ADDEND));
        let after = |c| (0..steps).fold(uniform_f64(seed, t * chains + c), |r, _| r.mul_add(a, b));
        (0..chains).map(after).sum()
    }

    #[test]
    fn the_closed_form_is_the_sum_of_the_chains() {
        for (t, steps) in [(0, 0), (1, 1), (2, 15), (3, 16), (4, 1000), (5, 20_000)] {
            let expected = chains(9, t, steps);
            let difference = (step_by_step(9, t, steps) - expected.value).abs();
            assert!(
                difference <= expected.bound,
                "{steps} steps: {difference} > {}",
                expected.bound
            );
        }
    }

    #[test]
    fn the_bound_catches_one_missing_step_while_the_chains_move() {
        for steps in [1, 16, 64, 256, 4096] {
            let expected = chains(9, 1, steps);
            let missing = (step_by_step(9, 1, steps - 1) - expected.value).abs();
            assert!(missing > expected.bound, "{steps} steps");
        }
    }
}
