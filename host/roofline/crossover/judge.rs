//! Whether a measured crossing is the predicted one.
//!
//! The prediction is N* = ridge point x bits / 16 from the roofs that the same runs measured with
//! the stream and peak kernels, so that neither a datasheet nor the clock of the day decides. The
//! criterion is fixed here, before any trace is looked at, and none of its constants is taken from
//! a measured crossing:
//!
//! 1. **Testable?** Each side must have [`super::fit::LEAST_POINTS`] sizes an octave or more from
//!    the prediction, and its asymptote must reach [`LEAST_EFFICIENCY`] of the measured roof: below,
//!    it is the kernel that sets the limit and not the card, and where such a kernel crosses says
//!    nothing of the card's ridge point. Nor may it exceed the roof by more than
//!    [`MOST_EFFICIENCY`] allows: then what was measured as a roof is none.
//! 2. **Equivalent?** The quotient of observed and predicted crossing is the compute efficiency
//!    over the memory efficiency, an identity. *Confirmed* if its whole 95 % interval lies within a
//!    factor of [`TOLERANCE`], *refuted* if all of it lies outside, *not testable* if it reaches
//!    over an end: the points are too few or too scattered to tell. (Two one-sided tests, as for
//!    bioequivalence: Schuirmann, J. Pharmacokin. Biopharm. 15, 1987. A plain test of equality
//!    would refute every prediction once the measurement is precise enough.)
//!
//! The interval is the bootstrap's of [`mod@super::fit`], widened by the extreme quotients of the
//! roofs' intervals.

use super::fit::{Estimate, Fit, LEAST_POINTS, fit};
use super::point::Point;
use crate::roofline::model::Interval;
use std::fmt;

/// How far the observed crossing may lie from the predicted one, as a factor either way: sqrt(4/3).
///
/// The claims of [`super::claims`] lie on a grid: the nearest neighbour of each, the same product
/// with or without reading C in one storage, is a factor of 4/3 away. A crossing within the square
/// root of that is nearer to its own prediction than to any neighbour's; one outside would confirm
/// another claim.
pub const TOLERANCE: f64 = 1.154_700_538_379_251_5;

/// The least part of a measured roof that the asymptote of its side must reach.
pub const LEAST_EFFICIENCY: f64 = 0.5;

/// The largest part of a measured roof. A product reads three arrays for each that it writes, the
/// kernel that measures the memory's roof two, and memory is a little faster when it only reads:
/// an excess of up to a tenth is that. Beyond, the roof is not one, or is another pipe's.
pub const MOST_EFFICIENCY: f64 = 1.1;

/// The two measured roofs, with intervals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeasuredRoofs {
    /// Of the pipe, FLOP/s.
    pub flop_per_s: Estimate,
    /// Of the memory, byte/s.
    pub byte_per_s: Estimate,
}

impl MeasuredRoofs {
    /// The predicted crossover of a product whose operands have `bits_per_square` bits for N^2
    /// elements, with the extreme quotients as its interval.
    #[must_use]
    pub fn crossover(&self, bits_per_square: f64) -> Estimate {
        self.flop_per_s
            .over(&self.byte_per_s)
            .times(bits_per_square / 16.0)
    }
}

/// A side of the crossover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Left: bound by memory.
    Memory,
    /// Right: bound by compute.
    Compute,
}

impl Side {
    /// Its name in every output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Side::Memory => "memory",
            Side::Compute => "compute",
        }
    }

    /// Where it lies.
    fn place(self) -> &'static str {
        match self {
            Side::Memory => "left",
            Side::Compute => "right",
        }
    }
}

/// Why a prediction cannot be tested with the points at hand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Obstacle {
    /// No roof of this pipe, or none of the memory, was measured beside the points.
    NoRoofs,
    /// Too few sizes near the asymptote of a side.
    FewSizes {
        /// The side.
        side: Side,
        /// How many there are.
        found: usize,
    },
    /// The kernel stays far below a roof.
    FarBelowRoof {
        /// The roof's side.
        side: Side,
        /// The part of it that was reached.
        efficiency: f64,
    },
    /// The kernel is faster than what was measured as a roof.
    AboveRoof {
        /// The roof's side.
        side: Side,
        /// The part of it that was reached.
        efficiency: f64,
    },
    /// The interval reaches over an end of the tolerance.
    TooWide {
        /// The interval of observed over predicted crossing.
        ratio: Interval,
    },
}

impl Obstacle {
    /// Its name for programs.
    #[must_use]
    pub fn id(&self) -> &'static str {
        match self {
            Obstacle::NoRoofs => "no-measured-roofs",
            Obstacle::FewSizes { .. } => "few-sizes",
            Obstacle::FarBelowRoof { .. } => "far-below-roof",
            Obstacle::AboveRoof { .. } => "above-roof",
            Obstacle::TooWide { .. } => "interval-too-wide",
        }
    }
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Obstacle::NoRoofs => f.write_str(
                "no roofs of this pipe and of the memory were measured beside the points",
            ),
            Obstacle::FewSizes { side, found } => write!(
                f,
                "{found} {} an octave or more {} of the predicted crossover, on the {} side, and \
                 {LEAST_POINTS} are needed",
                if *found == 1 {
                    "size lies"
                } else {
                    "sizes lie"
                },
                side.place(),
                side.name()
            ),
            Obstacle::FarBelowRoof { side, efficiency } => write!(
                f,
                "the {} side reaches {:.1} % of the measured roof, below {:.0} %: the kernel and \
                 not the card sets the limit there",
                side.name(),
                100.0 * efficiency,
                100.0 * LEAST_EFFICIENCY
            ),
            Obstacle::AboveRoof { side, efficiency } => write!(
                f,
                "the {} side reaches {:.1} % of what was measured as its roof, which is no roof \
                 then, or is another pipe's",
                side.name(),
                100.0 * efficiency
            ),
            Obstacle::TooWide { ratio } => write!(
                f,
                "observed over predicted lies between {:.3} and {:.3}, across an end of the \
                 tolerance ({:.3} to {:.3}): more sizes on both sides would narrow it",
                ratio.low,
                ratio.high,
                1.0 / TOLERANCE,
                TOLERANCE
            ),
        }
    }
}

/// What a prediction came to.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// The crossing is where it was predicted.
    Confirmed,
    /// It is elsewhere.
    Refuted,
    /// The points cannot tell.
    NotTestable(Vec<Obstacle>),
}

impl Verdict {
    /// Its name in every output.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Verdict::Confirmed => "confirmed",
            Verdict::Refuted => "refuted",
            Verdict::NotTestable(_) => "not testable",
        }
    }

    /// What is in the way of a verdict; nothing if there is one.
    #[must_use]
    pub fn obstacles(&self) -> &[Obstacle] {
        match self {
            Verdict::NotTestable(obstacles) => obstacles,
            _ => &[],
        }
    }
}

/// A prediction beside what was observed, each as far as it is known.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// The predicted crossover.
    pub predicted: Option<Estimate>,
    /// The asymptotes and their crossing.
    pub fit: Option<Fit>,
    /// Left asymptote over the memory's roof.
    pub memory_efficiency: Option<Estimate>,
    /// Right asymptote over the pipe's roof.
    pub compute_efficiency: Option<Estimate>,
    /// Observed over predicted crossing: the compute efficiency over the memory efficiency.
    pub ratio: Option<Estimate>,
    /// What follows.
    pub verdict: Verdict,
}

impl Judgement {
    /// The side whose efficiency moves the crossing more, if both are known.
    #[must_use]
    pub fn moved_by(&self) -> Option<Side> {
        let shift = |efficiency: Estimate| efficiency.value.ln().abs();
        let (memory, compute) = (self.memory_efficiency?, self.compute_efficiency?);
        Some(if shift(compute) > shift(memory) {
            Side::Compute
        } else {
            Side::Memory
        })
    }
}

/// Judges the points of a trace, one for each size, of a product whose operands have
/// `bits_per_square` bits for N^2 elements, against the crossover that measured roofs predict.
#[must_use]
pub fn judge(points: &[Point], bits_per_square: f64, roofs: Option<&MeasuredRoofs>) -> Judgement {
    let Some(roofs) = roofs else {
        return Judgement {
            predicted: None,
            fit: None,
            memory_efficiency: None,
            compute_efficiency: None,
            ratio: None,
            verdict: Verdict::NotTestable(vec![Obstacle::NoRoofs]),
        };
    };
    let predicted = roofs.crossover(bits_per_square);
    let fit = fit(points, bits_per_square, predicted.value);
    let memory_efficiency = fit.memory.rate.map(|rate| rate.over(&roofs.byte_per_s));
    let compute_efficiency = fit.compute.rate.map(|rate| rate.over(&roofs.flop_per_s));
    let ratio = fit.crossover.map(|observed| observed.over(&predicted));
    let mut obstacles = Vec::new();
    for (side, sizes, efficiency) in [
        (Side::Memory, fit.memory.sizes, memory_efficiency),
        (Side::Compute, fit.compute.sizes, compute_efficiency),
    ] {
        obstacles.extend(match efficiency.map(|efficiency| efficiency.value) {
            None => Some(Obstacle::FewSizes { side, found: sizes }),
            Some(efficiency) if efficiency < LEAST_EFFICIENCY => {
                Some(Obstacle::FarBelowRoof { side, efficiency })
            }
            Some(efficiency) if efficiency > MOST_EFFICIENCY => {
                Some(Obstacle::AboveRoof { side, efficiency })
            }
            Some(_) => None,
        });
    }
    let verdict = match ratio.filter(|_| obstacles.is_empty()) {
        None => Verdict::NotTestable(obstacles),
        Some(ratio) => decide(ratio.interval),
    };
    Judgement {
        predicted: Some(predicted),
        fit: Some(fit),
        memory_efficiency,
        compute_efficiency,
        ratio,
        verdict,
    }
}

/// The equivalence test.
fn decide(ratio: Interval) -> Verdict {
    let (low, high) = (1.0 / TOLERANCE, TOLERANCE);
    if low <= ratio.low && ratio.high <= high {
        Verdict::Confirmed
    } else if ratio.high < low || high < ratio.low {
        Verdict::Refuted
    } else {
        Verdict::NotTestable(vec![Obstacle::TooWide { ratio }])
    }
}

#[cfg(test)]
mod tests {
    use super::super::claims;
    use super::super::point::model::{BITS, Kernel, sides};
    use super::*;
    use proptest::prelude::*;

    /// The roofs of a card, each known to 0.5 %.
    fn roofs() -> MeasuredRoofs {
        let known = |value: f64| Estimate {
            value,
            interval: Interval {
                low: 0.995 * value,
                high: 1.005 * value,
            },
        };
        MeasuredRoofs {
            flop_per_s: known(64e12),
            byte_per_s: known(4e12),
        }
    }

    /// Points of a kernel that reaches these parts of the roofs.
    fn points(memory: f64, compute: f64) -> Vec<Point> {
        let kernel = Kernel {
            byte_per_s: memory * 4e12,
            flop_per_s: compute * 64e12,
            sharpness: 40.0,
        };
        kernel.trace(&sides(8.0, 4096.0))
    }

    fn judged(points: &[Point]) -> Judgement {
        judge(points, f64::from(BITS), Some(&roofs()))
    }

    fn obstacles(points: &[Point]) -> Vec<&'static str> {
        let judgement = judged(points);
        assert_eq!(judgement.verdict.name(), "not testable");
        judgement
            .verdict
            .obstacles()
            .iter()
            .map(Obstacle::id)
            .collect()
    }

    #[test]
    fn a_kernel_near_both_roofs_confirms() {
        let judgement = judged(&points(0.93, 0.9));
        assert_eq!(judgement.verdict, Verdict::Confirmed);
        assert!((judgement.predicted.unwrap().value - 128.0).abs() < 1e-9);
        assert!((judgement.memory_efficiency.unwrap().value - 0.93).abs() < 1e-6);
        assert!((judgement.compute_efficiency.unwrap().value - 0.9).abs() < 1e-6);
        assert_eq!(judgement.moved_by(), Some(Side::Compute));
    }

    #[test]
    fn equal_efficiencies_cancel_and_unequal_ones_refute() {
        assert_eq!(judged(&points(0.6, 0.6)).verdict, Verdict::Confirmed);
        let left = judged(&points(0.95, 0.7));
        assert_eq!(left.verdict, Verdict::Refuted);
        assert!((left.ratio.unwrap().value - 0.7 / 0.95).abs() < 1e-6);
        let right = judged(&points(0.7, 0.95));
        assert_eq!(right.verdict, Verdict::Refuted);
        assert_eq!(right.moved_by(), Some(Side::Memory));
    }

    #[test]
    fn a_kernel_at_30_percent_of_a_roof_tests_nothing() {
        assert_eq!(obstacles(&points(0.9, 0.3)), ["far-below-roof"]);
        // Not even where the two efficiencies would cancel.
        let both = points(0.3, 0.3);
        assert_eq!(obstacles(&both), ["far-below-roof"; 2]);
        let judgement = judged(&both);
        assert!((judgement.ratio.unwrap().value - 1.0).abs() < 1e-6);
        let words = judgement.verdict.obstacles()[1].to_string();
        assert!(words.contains("the compute side reaches 30.0 %"), "{words}");
        assert!(words.contains("the kernel and not the card"), "{words}");
    }

    #[test]
    fn what_exceeds_a_roof_shows_that_it_is_none() {
        // The roof of another pipe.
        assert_eq!(obstacles(&points(0.9, 10.0)), ["above-roof"]);
        assert_eq!(judged(&points(1.05, 1.0)).verdict, Verdict::Confirmed);
    }

    #[test]
    fn a_side_without_points_is_named() {
        let all = points(0.9, 0.9);
        let right: Vec<Point> = all.iter().filter(|p| p.n > 64).copied().collect();
        let judgement = judged(&right);
        let words = judgement.verdict.obstacles()[0].to_string();
        assert_eq!(obstacles(&right), ["few-sizes"]);
        assert!(
            words.starts_with("0 sizes lie an octave or more left"),
            "{words}"
        );
        // What is known of the other side is still told.
        assert_eq!(judgement.memory_efficiency, None);
        assert!((judgement.compute_efficiency.unwrap().value - 0.9).abs() < 1e-6);
        let left: Vec<Point> = all.iter().filter(|p| p.n < 256).copied().collect();
        assert!(
            judged(&left).verdict.obstacles()[0]
                .to_string()
                .contains("right")
        );
        assert_eq!(obstacles(&[]), ["few-sizes"; 2]);
    }

    #[test]
    fn without_roofs_there_is_no_prediction() {
        let judgement = judge(&points(0.9, 0.9), f64::from(BITS), None);
        assert_eq!(judgement.verdict.obstacles(), [Obstacle::NoRoofs]);
    }

    #[test]
    fn what_the_points_cannot_tell_is_neither_confirmed_nor_refuted() {
        let mut scattered = points(0.9, 0.8);
        for (i, point) in scattered.iter_mut().enumerate() {
            point.seconds *= [0.85, 1.0, 1.2][i % 3];
        }
        assert_eq!(obstacles(&scattered), ["interval-too-wide"]);
    }

    /// Two points that lie just so must not turn a refuted prediction into a confirmed one.
    #[test]
    fn tuned_outliers_do_not_change_the_verdict() {
        let mut tuned = points(0.95, 0.7);
        let untuned = judged(&tuned);
        for point in tuned.iter_mut().filter(|p| [16, 431, 861].contains(&p.n)) {
            point.seconds *= 0.7 / 0.95;
        }
        let judgement = judged(&tuned);
        assert_eq!(judgement.verdict, Verdict::Refuted);
        let (before, after) = (untuned.ratio.unwrap().value, judgement.ratio.unwrap().value);
        assert!((after / before - 1.0).abs() < 1e-6);
    }

    #[test]
    fn uncertain_roofs_widen_the_interval() {
        let sharp = judged(&points(0.9, 0.9)).ratio.unwrap().interval;
        assert!((sharp.low - 0.995 / 1.005).abs() < 1e-6, "{sharp:?}");
        assert!((sharp.high - 1.005 / 0.995).abs() < 1e-6, "{sharp:?}");
    }

    #[test]
    fn the_tolerance_keeps_neighbouring_claims_apart() {
        let bits = claims()
            .into_iter()
            .map(|claim| (claim.pipe, claim.storage.bits_per_square()));
        let bits: Vec<_> = bits.collect();
        for (pipe, a) in &bits {
            for (_, b) in bits.iter().filter(|(other, b)| other == pipe && b > a) {
                let apart = f64::from(*b) / f64::from(*a);
                assert!(
                    apart.sqrt() >= TOLERANCE - 1e-12,
                    "{pipe:?}: {a} and {b} bits"
                );
            }
        }
        assert!((TOLERANCE * TOLERANCE - 4.0 / 3.0).abs() < 1e-12);
    }

    proptest! {
        /// The identity that the reader is told: observed over predicted is one efficiency over
        /// the other.
        #[test]
        fn the_ratio_is_the_quotient_of_the_efficiencies(
            memory in 0.05..1.3f64,
            compute in 0.05..1.3f64,
            factors in prop::collection::vec(0.95..1.05f64, 60),
        ) {
            let mut points = points(memory, compute);
            points.iter_mut().zip(&factors).for_each(|(p, f)| p.seconds *= f);
            let found = judged(&points);
            let quotient = found.compute_efficiency.unwrap().value / found.memory_efficiency.unwrap().value;
            prop_assert!((found.ratio.unwrap().value / quotient - 1.0).abs() < 1e-9);
        }

        /// Kernels that are good on both sides confirm or refute by their efficiencies alone.
        #[test]
        fn the_verdict_follows_from_the_efficiencies(
            memory in 0.55..1.0f64,
            compute in 0.55..1.0f64,
        ) {
            let ratio = compute / memory;
            let off = ratio.max(1.0 / ratio);
            prop_assume!((off / TOLERANCE - 1.0).abs() > 0.05);
            let expected = if off < TOLERANCE { Verdict::Confirmed } else { Verdict::Refuted };
            prop_assert_eq!(judged(&points(memory, compute)).verdict, expected);
        }
    }
}
