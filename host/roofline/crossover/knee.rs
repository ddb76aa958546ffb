//! A smooth knee through all points of a trace.
//!
//! P(N) = (memory(N)^-p + compute^-p)^(-1/p), with memory(N) = N x 16 / bits x byte/s: the p-norm
//! of the two times. p = 1 is a kernel that moves and computes in turn, a large p one that does
//! both at once, so that only the longer time shows. Two asymptotes and their crossing come out
//! of every point, also of those near the knee that [`mod@super::fit`] must leave out.
//!
//! With x = ln N, x* the crossing and h = ln compute, ln P = h - g(x, x*, p) where
//! g = ln(1 + e^(-p (x - x*))) / p. Least squares in ln P gives h as a mean; the remaining two
//! are searched, x* within p, each on a grid that is refined around its best.

use super::point::Point;

/// The least sharpness that is looked for: below, the times would add up to more than their sum.
pub const SOFTEST: f64 = 1.0;
/// The largest: from there a knee is as good as sharp, its deviation below 4 % at the crossing.
pub const SHARPEST: f64 = 20.0;

/// Fewest points: twice as many as there are unknowns.
const LEAST_POINTS: usize = 6;

/// A fitted knee.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Knee {
    /// Side at which the asymptotes cross.
    pub crossover: f64,
    /// Left asymptote, byte/s.
    pub byte_per_s: f64,
    /// Right asymptote, FLOP/s.
    pub flop_per_s: f64,
    /// The exponent p.
    pub sharpness: f64,
    /// Root of the mean squared difference between measured and fitted ln P: about the relative
    /// error.
    pub rms: f64,
}

/// Fits a knee to the points of a product whose operands have `bits_per_square` bits for N^2
/// elements. `None` below 6 points, or if the crossing lies outside them.
#[must_use]
pub fn knee(points: &[Point], bits_per_square: f64) -> Option<Knee> {
    if points.len() < LEAST_POINTS {
        return None;
    }
    let measured: Vec<(f64, f64)> = points
        .iter()
        .map(|point| ((point.n as f64).ln(), point.flop_per_s().ln()))
        .collect();
    let least = measured
        .iter()
        .map(|(x, _)| *x)
        .fold(f64::INFINITY, f64::min);
    let most = measured
        .iter()
        .map(|(x, _)| *x)
        .fold(f64::NEG_INFINITY, f64::max);
    if least >= most {
        return None;
    }
    let crossing = |p: f64| refine((least, most), &|x| residual(&measured, x, p).1);
    let log_p = refine((SOFTEST.ln(), SHARPEST.ln()), &|log_p| {
        let p = log_p.exp();
        residual(&measured, crossing(p), p).1
    });
    let p = log_p.exp();
    let at = crossing(p);
    let margin = 1e-3 * (most - least);
    if at < least + margin || at > most - margin {
        return None;
    }
    let (height, mean_square) = residual(&measured, at, p);
    let (crossover, flop_per_s) = (at.exp(), height.exp());
    Some(Knee {
        crossover,
        byte_per_s: flop_per_s / crossover * bits_per_square / 16.0,
        flop_per_s,
        sharpness: p,
        rms: mean_square.sqrt(),
    })
}

/// How far ln P lies below the right asymptote.
fn drop_below(x: f64, crossing: f64, p: f64) -> f64 {
    let t = p * (crossing - x);
    // ln(1 + e^t) without overflow.
    (t.max(0.0) + (-t.abs()).exp().ln_1p()) / p
}

/// The best height for a crossing and a sharpness, and the mean squared residual left.
fn residual(measured: &[(f64, f64)], crossing: f64, p: f64) -> (f64, f64) {
    let count = measured.len() as f64;
    let heights = || {
        measured
            .iter()
            .map(|(x, y)| y + drop_below(*x, crossing, p))
    };
    let height = heights().sum::<f64>() / count;
    let squares = heights().map(|found| (found - height).powi(2)).sum::<f64>();
    (height, squares / count)
}

/// The place of the least value of `cost` within a range: the best of a grid, then of finer ones
/// around it.
fn refine(range: (f64, f64), cost: &dyn Fn(f64) -> f64) -> f64 {
    const STEPS: u32 = 16;
    const ROUNDS: usize = 9;
    let (mut low, mut high) = range;
    let mut best = low;
    for _ in 0..ROUNDS {
        let step = (high - low) / f64::from(STEPS);
        let places = (0..=STEPS).map(|i| low + step * f64::from(i));
        let costs = places.map(|place| (cost(place), place));
        best = costs
            .min_by(|a, b| a.0.total_cmp(&b.0))
            .map_or(best, |(_, place)| place);
        (low, high) = ((best - step).max(range.0), (best + step).min(range.1));
    }
    best
}

#[cfg(test)]
mod tests {
    use super::super::point::model::{BITS, Kernel, sides};
    use super::*;
    use proptest::prelude::*;

    fn near(found: f64, expected: f64, within: f64) -> bool {
        (found / expected - 1.0).abs() <= within
    }

    #[test]
    fn without_a_knee_in_sight_there_is_none() {
        let kernel = Kernel {
            byte_per_s: 4e12,
            flop_per_s: 60e12,
            sharpness: 3.0,
        };
        let left = kernel.trace(&sides(2.0, 12.0));
        assert!(left.len() >= LEAST_POINTS);
        assert_eq!(knee(&left, f64::from(BITS)), None);
        let few = kernel.trace(&[16, 64, 128, 256, 1024]);
        assert_eq!(knee(&few, f64::from(BITS)), None);
        assert_eq!(knee(&[few[0]; 8], f64::from(BITS)), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        /// All three unknowns come back from exact points.
        #[test]
        fn a_knee_is_recovered(
            byte_per_s in 1e10..1e13f64,
            intensity in 6.0..300.0f64,
            sharpness in 1.1..12.0f64,
        ) {
            let kernel = Kernel { byte_per_s, flop_per_s: intensity * byte_per_s, sharpness };
            let n = kernel.crossover();
            let found = knee(&kernel.trace(&sides(n / 12.0, n * 12.0)), f64::from(BITS)).unwrap();
            prop_assert!(near(found.crossover, n, 1e-3), "{found:?} for {n}");
            prop_assert!(near(found.byte_per_s, byte_per_s, 1e-3), "{found:?}");
            prop_assert!(near(found.sharpness, sharpness, 1e-2), "{found:?} for {sharpness}");
            prop_assert!(found.rms < 1e-3);
        }

        /// And nearly so from noisy ones.
        #[test]
        fn noise_moves_a_knee_by_little(
            sharpness in 1.5..6.0f64,
            factors in prop::collection::vec(0.98..1.02f64, 60),
        ) {
            let kernel = Kernel { byte_per_s: 4e12, flop_per_s: 60e12, sharpness };
            let sides = sides(10.0, 1440.0);
            let noisy = sides.iter().zip(&factors).map(|(&n, &factor)| kernel.at(n, factor));
            let found = knee(&noisy.collect::<Vec<_>>(), f64::from(BITS)).unwrap();
            prop_assert!(near(found.crossover, 120.0, 0.06), "{found:?}");
            prop_assert!(found.rms < 0.02);
        }
    }
}
