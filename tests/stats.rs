//! Statistics of samples against values worked out elsewhere.

use proptest::prelude::*;
use rooftrace::measure::stats::{StatsError, Summary, median_ranks};

#[test]
fn ranks_are_those_of_the_published_table() {
    // Two-sided 95 % sign-test intervals of the median.
    for (samples, ranks) in [
        (6, (1, 6)),
        (7, (1, 7)),
        (8, (1, 8)),
        (9, (2, 8)),
        (10, (2, 9)),
        (11, (2, 10)),
        (12, (3, 10)),
        (15, (4, 12)),
        (20, (6, 15)),
        (25, (8, 18)),
        (30, (10, 21)),
        (40, (14, 27)),
        (50, (18, 33)),
        (100, (40, 61)),
    ] {
        assert_eq!(median_ranks(samples), Some(ranks), "{samples} samples");
    }
    for samples in 0..6 {
        assert_eq!(median_ranks(samples), None, "{samples} samples");
    }
}

/// Binomial coefficients as integers: exact for every n that fits.
fn coverage_numerator(samples: u32, rank: usize) -> u128 {
    let mut coefficient = 1u128;
    let mut outside = 0u128;
    for successes in 0..rank as u128 {
        outside += coefficient;
        coefficient = coefficient * (u128::from(samples) - successes) / (successes + 1);
    }
    (1u128 << samples) - 2 * outside
}

#[test]
fn ranks_agree_with_exact_integer_arithmetic() {
    for samples in 6..=110u32 {
        let (low, high) = median_ranks(samples as usize).unwrap();
        assert_eq!(low + high, samples as usize + 1);
        // coverage >= 19/20, without a division
        let reaches = |rank| 20 * coverage_numerator(samples, rank) >= 19u128 << samples;
        assert!(
            reaches(low),
            "{samples} samples: rank {low} covers too little"
        );
        assert!(
            !reaches(low + 1),
            "{samples} samples: rank {low} is not the narrowest"
        );
    }
}

#[test]
fn an_odd_number_of_samples() {
    let summary = Summary::of(&[5.0, 1.0, 4.0, 2.0, 3.0]).unwrap();
    assert_eq!(
        summary,
        Summary {
            samples: 5,
            median: 3.0,
            min: 1.0,
            q1: 2.0,
            q3: 4.0,
            ci95: None,
            rel_noise: None
        }
    );
}

#[test]
fn an_even_number_of_samples_with_an_outlier() {
    // R: quantile(c(1,2,3,4,5,6,7,8,9,100)) is 1.00 3.25 5.50 7.75 100.00
    let samples = [100.0, 9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0];
    let summary = Summary::of(&samples).unwrap();
    assert_eq!((summary.q1, summary.median, summary.q3), (3.25, 5.5, 7.75));
    assert_eq!(summary.ci95, Some((2.0, 9.0)));
    assert_eq!(summary.rel_noise, Some(3.5 / 5.5));
}

#[test]
fn one_sample_is_all_its_statistics() {
    let summary = Summary::of(&[2.5]).unwrap();
    assert_eq!(
        (summary.min, summary.q1, summary.median, summary.q3),
        (2.5, 2.5, 2.5, 2.5)
    );
    assert_eq!((summary.ci95, summary.rel_noise), (None, None));
}

#[test]
fn a_median_of_zero_has_no_relative_noise() {
    let summary = Summary::of(&[0.0; 8]).unwrap();
    assert_eq!((summary.ci95, summary.rel_noise), (Some((0.0, 0.0)), None));
}

#[test]
fn samples_no_clock_can_give_are_an_error() {
    assert_eq!(Summary::of(&[]), Err(StatsError::Empty));
    for bad in [f64::NAN, f64::INFINITY, -1e-9] {
        let error = Summary::of(&[1.0, bad]).unwrap_err();
        assert!(
            matches!(error, StatsError::Sample { index: 1, .. }),
            "{error}"
        );
    }
}

proptest! {
    #[test]
    fn statistics_are_ordered_and_do_not_depend_on_the_order_of_samples(
        samples in prop::collection::vec(0.0f64..1e6, 1..200),
    ) {
        let summary = Summary::of(&samples).unwrap();
        prop_assert!(summary.min <= summary.q1 && summary.q1 <= summary.median);
        prop_assert!(summary.median <= summary.q3);
        if let Some((low, high)) = summary.ci95 {
            prop_assert!(low <= summary.median && summary.median <= high);
        }
        let reversed: Vec<f64> = samples.iter().rev().copied().collect();
        prop_assert_eq!(Summary::of(&reversed).unwrap(), summary);
    }
}
