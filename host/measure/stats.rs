//! Statistics of a sample of times: order statistics only, because times have
//! a hard lower limit and a long upper tail, so that means and standard
//! deviations describe neither.

use statrs::distribution::{Binomial, DiscreteCDF};

/// Confidence level of the interval of the median.
pub const CONFIDENCE: f64 = 0.95;

/// What a set of samples says, in the unit of the samples.
///
/// Quartiles are linear between the order statistics around position (n - 1) p,
/// counted from 0: definition 7 of Hyndman and Fan, "Sample Quantiles in
/// Statistical Packages", The American Statistician 50 (1996), the default of R
/// and NumPy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// Number of samples.
    pub samples: usize,
    /// Median; of an even number of samples the mean of the middle two.
    pub median: f64,
    /// Smallest sample.
    pub min: f64,
    /// First quartile.
    pub q1: f64,
    /// Third quartile.
    pub q3: f64,
    /// Confidence interval of the median at 95 % or more, by [`median_ranks`];
    /// `None` below 6 samples, where no such interval exists.
    pub ci95: Option<(f64, f64)>,
    /// Half-width of `ci95` over the median, dimensionless; `None` without an
    /// interval or with a median of 0.
    pub rel_noise: Option<f64>,
}

/// Why samples were refused.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum StatsError {
    /// There are none.
    #[error("no samples to summarize: at least one is needed")]
    Empty,
    /// A sample is negative, infinite or not a number.
    #[error("sample {index} is {value}: a sample must be finite and at least 0")]
    Sample {
        /// Its position, counted from 0.
        index: usize,
        /// Its value.
        value: f64,
    },
}

impl Summary {
    /// Summarizes samples given in any order.
    ///
    /// # Errors
    /// [`StatsError::Empty`] without samples; [`StatsError::Sample`] if one is
    /// negative, infinite or NaN, none of which a clock can give.
    pub fn of(samples: &[f64]) -> Result<Self, StatsError> {
        let valid = |value: f64| value.is_finite() && value >= 0.0;
        if let Some((index, &value)) = samples.iter().enumerate().find(|(_, s)| !valid(**s)) {
            return Err(StatsError::Sample { index, value });
        }
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        let &min = sorted.first().ok_or(StatsError::Empty)?;
        let median = quantile(&sorted, 0.5);
        let ci95 =
            median_ranks(sorted.len()).map(|(low, high)| (sorted[low - 1], sorted[high - 1]));
        Ok(Self {
            samples: sorted.len(),
            median,
            min,
            q1: quantile(&sorted, 0.25),
            q3: quantile(&sorted, 0.75),
            ci95,
            rel_noise: ci95
                .filter(|_| median > 0.0)
                .map(|(low, high)| (high - low) / 2.0 / median),
        })
    }
}

/// Quantile `p` (0 to 1) of ascending, non-empty `sorted`, as [`Summary`] defines it.
#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss
)]
fn quantile(sorted: &[f64], p: f64) -> f64 {
    let position = (sorted.len() - 1) as f64 * p;
    let below = position.floor() as usize;
    let above = (below + 1).min(sorted.len() - 1);
    let weight = position - position.floor();
    sorted[below] + weight * (sorted[above] - sorted[below])
}

/// Ranks, counted from 1, of the order statistics that enclose the median of
/// `samples` independent samples of any continuous distribution with at least
/// [`CONFIDENCE`]; `None` where even the extremes do not (below 6).
///
/// With X ~ Binomial(n, 1/2) the interval from the l-th smallest to the l-th
/// largest sample covers the median with probability 1 - 2 P(X <= l - 1)
/// (Conover, "Practical Nonparametric Statistics", section 3.2); l is the
/// largest rank that reaches the level, which gives the narrowest interval.
#[must_use]
pub fn median_ranks(samples: usize) -> Option<(usize, usize)> {
    let coin = Binomial::new(0.5, samples as u64).ok()?;
    let covers = |rank: usize| 1.0 - 2.0 * coin.cdf(rank as u64 - 1) >= CONFIDENCE;
    // `covers` goes from true to false once as the rank grows.
    let (mut low, mut high) = (0, samples / 2 + 1);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if covers(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    (low > 0).then(|| (low, samples + 1 - low))
}
