//! Launches until load, compilation and rising clocks are past.

use super::Subject;
use crate::device::{Device, Result};
use std::time::Instant;

/// Shortest warm-up: clocks rise within it.
const WARM_UP_S: f64 = 0.05;
/// Fewest launches of the warm-up: the first loads and compiles.
const WARM_UP_LAUNCHES: usize = 3;
/// Launches at its end from which the estimate is taken.
const ESTIMATED_FROM: usize = 3;
/// Times below this are not credible, and would make a sample of endless launches.
const SHORTEST_S: f64 = 1e-7;

/// What the warm-up tells.
pub(super) struct Estimate {
    /// Seconds of one launch.
    pub(super) launch_s: f64,
    /// Seconds that timing one launch takes, the sweep of the cache included.
    pub(super) cost_s: f64,
}

/// Warms up for at least [`WARM_UP_S`] and [`WARM_UP_LAUNCHES`] launches, but begins no launch
/// after `most_s` seconds: a launch that takes longer is its own warm-up. `None` if interrupted.
pub(super) fn warm_up(
    device: &mut dyn Device,
    subject: Subject<'_>,
    most_s: f64,
    go_on: &dyn Fn() -> bool,
) -> Result<Option<Estimate>> {
    let start = Instant::now();
    let (mut times, mut costs) = (Vec::new(), Vec::new());
    loop {
        let round = Instant::now();
        times.extend(device.time(subject.problem, subject.operands, subject.cache, 1, 1)?);
        costs.push(round.elapsed().as_secs_f64());
        let elapsed = start.elapsed().as_secs_f64();
        let warm = costs.len() >= WARM_UP_LAUNCHES && elapsed >= WARM_UP_S;
        if warm || elapsed >= most_s {
            return Ok(Some(Estimate {
                launch_s: last_median(&times).max(SHORTEST_S),
                cost_s: last_median(&costs).max(SHORTEST_S),
            }));
        }
        if !go_on() {
            return Ok(None);
        }
    }
}

/// Median of the last [`ESTIMATED_FROM`] values, so that one slow launch does not decide how
/// many make a sample; 0 without any.
fn last_median(values: &[f64]) -> f64 {
    let mut last = values[values.len().saturating_sub(ESTIMATED_FROM)..].to_vec();
    last.sort_by(f64::total_cmp);
    last.get(last.len() / 2).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_estimate_is_the_median_of_the_last_launches() {
        assert_eq!(last_median(&[9.0, 1.0, 50.0, 2.0]), 2.0);
        assert_eq!(last_median(&[3.0]), 3.0);
        assert_eq!(last_median(&[]), 0.0);
    }
}
