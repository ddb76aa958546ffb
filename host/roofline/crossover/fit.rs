//! The asymptotes of a measured trace, and where they cross.
//!
//! Over N, on logarithmic axes, a square product has two asymptotes of known slope: far left the
//! time is that of its bytes, so that FLOP/s grows with N (slope 1); far right it is that of its
//! FLOPs, so that FLOP/s is constant (slope 0). With the slope given, fitting a line is fitting
//! its height: the bytes a second on the left, the FLOPs a second on the right.
//!
//! * **Which points.** Those at most 1 / [`BAND`] and those at least [`BAND`] times the predicted
//!   crossover. Between them neither asymptote holds, and no point there enters.
//! * **Which line.** The line of least absolute deviations, whose height is the median of the
//!   points' heights: one point in five may be anything without moving it out of the others'
//!   range, as least squares would let it.
//! * **How sure.** The points of each side are drawn again with replacement, [`RESAMPLES`] times
//!   from one seed; the interval is from the 2.5th to the 97.5th percentile of what those draws
//!   give (Efron and Tibshirani, "An Introduction to the Bootstrap", 1993, chapter 13). It holds
//!   the scatter of the sizes of a side around its line, by far the larger part of the
//!   uncertainty: the time of one size is known to 0.5 %.
//!
//! A knee that is not sharp pulls both asymptotes down, by at most a third at a factor of
//! [`BAND`] (if times add up), and less further out. Both move alike, so that their crossing
//! moves less; [`mod@super::knee`] gives it without that pull.

use super::point::{Point, median};
use crate::roofline::model::Interval;
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

/// Factor in N between the predicted crossover and the points that an asymptote is fitted to: an
/// octave, at which the other of two times is half as long.
pub const BAND: f64 = 2.0;

/// Fewest sizes of a side: of 5, even the whole range holds the median of what they were drawn from
/// in only 1 - 2 / 2^5 = 93.75 % of cases, so that no interval could have 95 %. The same limit as for
/// the interval of a time.
pub const LEAST_POINTS: usize = 6;

/// Draws of the bootstrap.
pub const RESAMPLES: usize = 4000;

/// Seed of the draws: the same points have the same interval.
const SEED: u64 = 0x0072_6f6f_6674_7261;

/// A value and its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The value.
    pub value: f64,
    /// Its interval.
    pub interval: Interval,
}

impl Estimate {
    /// A quotient, with the extreme quotients as its interval: it holds whatever the dependence
    /// of the two.
    #[must_use]
    pub fn over(&self, other: &Estimate) -> Estimate {
        Estimate {
            value: self.value / other.value,
            interval: Interval {
                low: self.interval.low / other.interval.high,
                high: self.interval.high / other.interval.low,
            },
        }
    }

    /// The same in another unit.
    #[must_use]
    pub fn times(&self, factor: f64) -> Estimate {
        Estimate {
            value: self.value * factor,
            interval: Interval {
                low: self.interval.low * factor,
                high: self.interval.high * factor,
            },
        }
    }
}

/// The points on one side of a crossover, and the asymptote through them.
#[derive(Clone, Debug, PartialEq)]
pub struct Asymptote {
    /// Number of sizes in its band.
    pub sizes: usize,
    /// Least and largest side among them.
    pub range: Option<(u64, u64)>,
    /// The height of the line: byte/s left, FLOP/s right. `None` below [`LEAST_POINTS`].
    pub rate: Option<Estimate>,
    /// The slope of FLOP/s over N that the points have by themselves, on logarithmic axes: the
    /// median of the slopes of all pairs (Theil and Sen). 1 is expected left, 0 right. It is
    /// shown, not used. `None` below [`LEAST_POINTS`].
    pub slope: Option<f64>,
}

/// The two asymptotes of a trace.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// Left of the crossover: bytes a second.
    pub memory: Asymptote,
    /// Right of it: FLOPs a second.
    pub compute: Asymptote,
    /// The side at which they cross, if both were fitted.
    pub crossover: Option<Estimate>,
}

/// Fits the asymptotes of `points`, one for each size, of a product whose operands have
/// `bits_per_square` bits for N^2 elements and whose crossover is predicted at the side
/// `predicted`.
#[must_use]
pub fn fit(points: &[Point], bits_per_square: f64, predicted: f64) -> Fit {
    let chosen = |inside: &dyn Fn(f64) -> bool| -> Vec<Point> {
        let mut points: Vec<Point> = points
            .iter()
            .filter(|p| inside(p.n as f64))
            .copied()
            .collect();
        points.sort_by_key(|point| point.n);
        points
    };
    let left = chosen(&|n| n * BAND <= predicted);
    let right = chosen(&|n| n >= BAND * predicted);
    let bytes: Vec<f64> = left.iter().map(Point::byte_per_s).collect();
    let flops: Vec<f64> = right.iter().map(Point::flop_per_s).collect();

    let mut random = Xoshiro256PlusPlus::seed_from_u64(SEED);
    let byte_draws = draws(&bytes, &mut random);
    let flop_draws = draws(&flops, &mut random);
    let memory = asymptote(&left, &bytes, &byte_draws);
    let compute = asymptote(&right, &flops, &flop_draws);

    let to_side = bits_per_square / 16.0;
    let crossover = memory.rate.zip(compute.rate).and_then(|(memory, compute)| {
        let draws = flop_draws.iter().zip(&byte_draws);
        Some(Estimate {
            value: to_side * compute.value / memory.value,
            interval: percentiles(draws.map(|(f, b)| to_side * f / b).collect())?,
        })
    });
    Fit {
        memory,
        compute,
        crossover,
    }
}

fn asymptote(points: &[Point], heights: &[f64], draws: &[f64]) -> Asymptote {
    let rate = median(heights.to_vec()).zip(percentiles(draws.to_vec()));
    Asymptote {
        sizes: points.len(),
        range: points.first().zip(points.last()).map(|(a, b)| (a.n, b.n)),
        rate: rate.map(|(value, interval)| Estimate { value, interval }),
        slope: if points.len() < LEAST_POINTS {
            None
        } else {
            slope(points)
        },
    }
}

/// Medians of as many values drawn with replacement; none below [`LEAST_POINTS`].
fn draws(values: &[f64], random: &mut Xoshiro256PlusPlus) -> Vec<f64> {
    if values.len() < LEAST_POINTS {
        return Vec::new();
    }
    let mut draw = || {
        let drawn = values
            .iter()
            .map(|_| values[random.random_range(0..values.len())]);
        median(drawn.collect())
    };
    (0..RESAMPLES).filter_map(|_| draw()).collect()
}

/// The range that leaves out 2.5 % of the draws at either end.
fn percentiles(mut draws: Vec<f64>) -> Option<Interval> {
    draws.sort_by(f64::total_cmp);
    let tail = draws.len() / 40;
    Some(Interval {
        low: *draws.get(tail)?,
        high: *draws.get(draws.len().checked_sub(1 + tail)?)?,
    })
}

/// The slope of FLOP/s over N on logarithmic axes by Theil and Sen.
fn slope(points: &[Point]) -> Option<f64> {
    let mut slopes = Vec::new();
    for (i, a) in points.iter().enumerate() {
        for b in points[i + 1..].iter().filter(|b| b.n != a.n) {
            let rise = (b.flop_per_s() / a.flop_per_s()).ln();
            slopes.push(rise / (b.n as f64 / a.n as f64).ln());
        }
    }
    median(slopes)
}

#[cfg(test)]
mod tests {
    use super::super::point::model::{BITS, Kernel, sides};
    use super::*;
    use proptest::prelude::*;

    const KERNEL: Kernel = Kernel {
        byte_per_s: 4e12,
        flop_per_s: 60e12,
        sharpness: 40.0,
    };

    fn fitted(points: &[Point]) -> Fit {
        fit(points, f64::from(BITS), KERNEL.crossover())
    }

    fn near(found: f64, expected: f64, within: f64) -> bool {
        (found / expected - 1.0).abs() <= within
    }

    #[test]
    fn a_sharp_trace_is_recovered_exactly() {
        let fit = fitted(&KERNEL.trace(&sides(16.0, 4096.0)));
        let crossover = fit.crossover.unwrap();
        assert!(near(crossover.value, 120.0, 1e-9), "{crossover:?}");
        assert!(near(fit.memory.rate.unwrap().value, 4e12, 1e-9));
        assert!(near(fit.compute.rate.unwrap().value, 60e12, 1e-9));
        assert!((fit.memory.slope.unwrap() - 1.0).abs() < 1e-6);
        assert!(fit.compute.slope.unwrap().abs() < 1e-6);
    }

    #[test]
    fn only_points_an_octave_away_count() {
        let mut points = KERNEL.trace(&sides(16.0, 4096.0));
        let before = fitted(&points);
        assert_eq!(before.memory.range.unwrap().1, 54);
        assert_eq!(before.compute.range.unwrap().0, 256);
        for point in points.iter_mut().filter(|p| p.n > 60 && p.n < 240) {
            point.seconds *= 10.0;
        }
        assert_eq!(fitted(&points), before);
    }

    #[test]
    fn a_side_with_too_few_sizes_has_no_line() {
        let fit = fitted(&KERNEL.trace(&sides(31.0, 4096.0)));
        assert_eq!((fit.memory.sizes, fit.memory.rate), (4, None));
        assert_eq!(fit.memory.slope, None);
        assert!(fit.compute.rate.is_some());
        assert_eq!(fit.crossover, None);
        assert_eq!(fitted(&[]).memory.range, None);
    }

    #[test]
    fn one_size_in_five_may_be_anything() {
        let mut points = KERNEL.trace(&sides(16.0, 4096.0));
        let left: Vec<usize> = (0..points.len()).filter(|&i| points[i].n <= 60).collect();
        assert!(left.len() >= 8);
        points[left[0]].seconds *= 1e-3;
        points[left[3]].seconds *= 1e3;
        let fit = fitted(&points);
        assert!(near(fit.crossover.unwrap().value, 120.0, 1e-9));
    }

    #[test]
    fn the_same_points_have_the_same_interval_in_any_order() {
        let factors = [1.0, 1.1, 0.93, 1.04];
        let sides = sides(16.0, 4096.0);
        let noisy = sides.iter().enumerate();
        let mut points: Vec<Point> = noisy.map(|(i, &n)| KERNEL.at(n, factors[i % 4])).collect();
        let first = fitted(&points);
        let interval = first.crossover.unwrap().interval;
        assert!(interval.low < interval.high);
        points.reverse();
        assert_eq!(fitted(&points), first);
    }

    proptest! {
        /// Whatever the card and the kernel: with noise of up to 5 % in every time the crossing
        /// is found within 5 %, between the ends of its interval.
        #[test]
        fn the_crossing_is_recovered_through_noise(
            byte_per_s in 1e10..1e13f64,
            intensity in 6.0..300.0f64,
            factors in prop::collection::vec(0.975..1.025f64, 60),
        ) {
            let kernel = Kernel { byte_per_s, flop_per_s: intensity * byte_per_s, sharpness: 40.0 };
            let n = kernel.crossover();
            // As wide as the band asks for, and further.
            let sides = sides(n / 12.0, n * 12.0);
            let noisy = sides.iter().zip(&factors).map(|(&n, &factor)| kernel.at(n, factor));
            let points: Vec<Point> = noisy.collect();
            let found = fit(&points, f64::from(BITS), n).crossover.unwrap();
            prop_assert!(near(found.value, n, 0.05), "{found:?} for {n}");
            prop_assert!(found.interval.low <= found.value && found.value <= found.interval.high);
            prop_assert!(near(found.interval.low, n, 0.06) && near(found.interval.high, n, 0.06));
        }

        /// A soft knee pulls both lines alike.
        #[test]
        fn a_soft_knee_moves_the_crossing_by_little(sharpness in 1.5..8.0f64) {
            let kernel = Kernel { sharpness, ..KERNEL };
            let points = kernel.trace(&sides(10.0, 1440.0));
            let fit = fit(&points, f64::from(BITS), 120.0);
            let (memory, compute) = (fit.memory.rate.unwrap(), fit.compute.rate.unwrap());
            prop_assert!(memory.value < 4e12 && compute.value < 60e12);
            prop_assert!(near(fit.crossover.unwrap().value, 120.0, 0.03));
        }
    }

    /// How often the interval holds the truth, over many traces with scatter of 5 %: a
    /// percentile bootstrap of few points is a little short of its 95 %.
    #[test]
    fn the_interval_covers_the_truth_as_often_as_it_says() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
        let sides = sides(16.0, 4096.0);
        let covered = (0..200).filter(|_| {
            let mut scatter = || (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0;
            let points: Vec<Point> = sides
                .iter()
                .map(|&n| KERNEL.at(n, (0.05 * scatter()).exp()))
                .collect();
            let interval = fitted(&points).crossover.unwrap().interval;
            interval.low <= 120.0 && 120.0 <= interval.high
        });
        let covered = covered.count();
        assert!(covered >= 180, "{covered} of 200");
    }
}
