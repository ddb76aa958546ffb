//! Which sizes to measure for a crossover.

use crate::roofline::crossover::fit::BAND;

/// The least side that is measured, unless the crossover is so far left that its left side would
/// have too few.
const LEAST: u64 = 16;
/// The largest side that is measured, unless the crossover is so far right that its right side
/// would have too few.
const LARGEST: u64 = 4096;
/// Factor in N around the predicted crossover within which sizes are dense: far enough beyond
/// the bands for the asymptotes.
const DENSE: f64 = 2.6 * BAND;
/// Sizes an octave there.
const DENSE_STEPS: f64 = 5.0;
/// Sizes an octave elsewhere.
const COARSE_STEPS: f64 = 2.0;

/// Sides to measure, ascending: from 16 to 4096, two an octave, five around the predicted
/// crossover, and further out where the crossover asks for it.
///
/// All are multiples of `multiple`, the elements of the widest access: what a ragged row costs is
/// another question than where the roofs meet.
#[must_use]
pub fn sizes(predicted: Option<f64>, multiple: u64) -> Vec<u64> {
    let multiple = multiple.max(1);
    let (mut low, mut high) = (LEAST as f64, LARGEST as f64);
    if let Some(n) = predicted {
        low = low.min(n / (3.0 * BAND));
        high = high.max(n * DENSE);
    }
    let dense = |n: f64| predicted.is_some_and(|at| n >= at / DENSE && n <= at * DENSE);
    let mut sizes: Vec<u64> = Vec::new();
    let mut n = low;
    loop {
        let size = (n.min(high) / multiple as f64).round() as u64 * multiple;
        sizes.push(size.max(multiple));
        if n >= high {
            break;
        }
        let steps = if dense(n) { DENSE_STEPS } else { COARSE_STEPS };
        let next = n * (1.0 / steps).exp2();
        // No coarse step into the dense sizes.
        n = match predicted.map(|at| at / DENSE) {
            Some(first) if n < first => next.min(first),
            _ => next,
        };
    }
    sizes.dedup();
    sizes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roofline::crossover::fit::LEAST_POINTS;
    use proptest::prelude::*;

    #[test]
    fn a_card_whose_crossover_is_unknown_gets_two_sizes_an_octave() {
        let sizes = sizes(None, 4);
        assert_eq!(sizes.first(), Some(&16));
        assert_eq!(sizes.last(), Some(&4096));
        assert_eq!(sizes.len(), 17);
    }

    #[test]
    fn the_crossover_of_an_h200_in_fp32_is_surrounded() {
        let sizes = sizes(Some(111.5), 4);
        assert_eq!((sizes[0], sizes[sizes.len() - 1]), (16, 4096));
        let near = sizes.iter().filter(|&&n| n > 28 && n < 450).count();
        assert!(near >= 18, "{sizes:?}");
        assert!(sizes.len() <= 36, "{sizes:?}");
    }

    proptest! {
        /// Both sides have points enough, though the roofs of a run are a tenth off those that
        /// the sizes were chosen by.
        #[test]
        fn both_bands_have_sizes_enough(
            predicted in 80.0..4000.0f64,
            off in 0.9..1.1f64,
            wide in any::<bool>(),
        ) {
            // Half precision crosses further right.
            let multiple = if wide && predicted > 400.0 { 8 } else { 4 };
            let sizes = sizes(Some(predicted), multiple);
            let measured = predicted * off;
            let left = sizes.iter().filter(|&&n| n as f64 * BAND <= measured).count();
            let right = sizes.iter().filter(|&&n| n as f64 >= BAND * measured).count();
            prop_assert!(left >= LEAST_POINTS && right >= LEAST_POINTS, "{sizes:?}");
            prop_assert!(sizes.windows(2).all(|pair| pair[0] < pair[1]));
            prop_assert!(sizes.iter().all(|n| n % multiple == 0));
        }
    }
}
