//! What is judged, without a device: figures against limits.

use crate::device::DeviceKind;
use crate::measure::Measurement;
use crate::measure::stats::Summary;

/// Outcome of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// The figure keeps its limit.
    Pass,
    /// It does not.
    Fail,
    /// It cannot be judged here: something is not known, or too noisy.
    NotJudged,
}

impl Outcome {
    /// Its name in every output.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Pass => "pass",
            Outcome::Fail => "FAIL",
            Outcome::NotJudged => "not judged",
        }
    }

    /// Pass or fail.
    pub(super) fn of(passed: bool) -> Self {
        if passed { Outcome::Pass } else { Outcome::Fail }
    }
}

/// A straight line through times: `intercept + slope * steps`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Line {
    /// Seconds at no steps.
    pub intercept: f64,
    /// Seconds a step.
    pub slope: f64,
    /// Largest distance of a time from the line, over the time.
    pub worst_residual: f64,
}

/// Fits a line through `(steps, seconds)` by least squares of the relative residuals, so that
/// the short times, which tell the intercept, weigh as much as the long ones.
///
/// `None` with fewer than three points (two make a line whatever they are), with a time that is
/// not above 0, or if all steps are alike.
pub fn fit(points: &[(f64, f64)]) -> Option<Line> {
    if points.len() < 3 || points.iter().any(|&(_, time)| time <= 0.0) {
        return None;
    }
    // Each equation a + b s = t divided by t: a u + b v = 1 with u = 1/t and v = s/t.
    let (mut uu, mut uv, mut vv, mut u1, mut v1) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for &(steps, time) in points {
        let (u, v) = (1.0 / time, steps / time);
        uu += u * u;
        uv += u * v;
        vv += v * v;
        u1 += u;
        v1 += v;
    }
    let determinant = uu * vv - uv * uv;
    if determinant <= f64::EPSILON * uu * vv {
        return None;
    }
    let intercept = (u1 * vv - v1 * uv) / determinant;
    let slope = (v1 * uu - u1 * uv) / determinant;
    let worst_residual = points
        .iter()
        .map(|&(steps, time)| ((intercept + slope * steps - time) / time).abs())
        .fold(0.0, f64::max);
    Some(Line {
        intercept,
        slope,
        worst_residual,
    })
}

/// Whether the line is that of a loop that runs as often as it says: residuals within
/// `tolerance`, and no more time without steps than an empty launch takes, give or take
/// `tolerance` of the shortest time that was fitted.
pub fn is_linear(line: Line, empty_launch_s: f64, shortest_s: f64, tolerance: f64) -> Outcome {
    let most = empty_launch_s + tolerance * shortest_s;
    Outcome::of(
        line.slope > 0.0 && line.worst_residual <= tolerance && line.intercept.abs() <= most,
    )
}

/// How far two times may differ, and which time of a measurement it is that is compared.
#[derive(Debug, Clone, Copy)]
pub struct Yardstick {
    /// Relative difference, at most.
    pub tolerance: f64,
    /// The median; on a CPU, whose other programs only ever add to a time, the shortest.
    pub time: fn(&Summary) -> f64,
}

impl Yardstick {
    /// Of a kind of device.
    pub fn of(device: DeviceKind) -> Self {
        match device {
            DeviceKind::Cuda | DeviceKind::Vm => Yardstick {
                tolerance: 0.02,
                time: |summary| summary.median,
            },
            DeviceKind::Cpu => Yardstick {
                tolerance: 0.25,
                time: |summary| summary.min,
            },
        }
    }

    /// The time of a measurement, in seconds.
    pub fn time(&self, measured: &Measurement) -> f64 {
        (self.time)(&measured.summary)
    }

    /// Whether two measurements of the same work agree: times within the tolerance, or intervals
    /// that overlap. Not judged if the interval of either is wider than the tolerance.
    pub fn agree(&self, first: &Measurement, second: &Measurement) -> Outcome {
        if (self.time(first) / self.time(second) - 1.0).abs() <= self.tolerance {
            return Outcome::Pass;
        }
        if !is_quiet(first, self.tolerance) || !is_quiet(second, self.tolerance) {
            return Outcome::NotJudged;
        }
        let overlap = first
            .summary
            .ci95
            .zip(second.summary.ci95)
            .is_some_and(|(a, b)| a.0 <= b.1 && b.0 <= a.1);
        Outcome::of(overlap)
    }

    /// Whether two distributions of the data make no more than the factor `most` of a difference.
    pub fn data_matters(&self, random: &Measurement, zeros: &Measurement, most: f64) -> Outcome {
        let factor = self.time(random) / self.time(zeros);
        if factor <= most && factor >= 1.0 / most {
            Outcome::Pass
        } else if is_quiet(random, most - 1.0) && is_quiet(zeros, most - 1.0) {
            Outcome::Fail
        } else {
            Outcome::NotJudged
        }
    }
}

/// Whether a median is known to within the tolerance at all.
pub(super) fn is_quiet(measured: &Measurement, tolerance: f64) -> bool {
    measured
        .summary
        .rel_noise
        .is_some_and(|noise| noise <= tolerance)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOLERANCE: f64 = 0.02;

    fn line(time: impl Fn(f64) -> f64) -> Line {
        let steps = [1024.0, 4096.0, 16384.0, 65536.0];
        fit(&steps.map(|s| (s, time(s)))).unwrap()
    }

    /// A measurement of samples spread evenly by `spread` around `median`.
    fn measured(median: f64, spread: f64) -> Measurement {
        let samples: Vec<f64> = (0..21)
            .map(|i| median * (1.0 + spread * (f64::from(i) - 10.0) / 10.0))
            .collect();
        Measurement {
            summary: Summary::of(&samples).unwrap(),
            baseline: None,
            launches: 1,
            converged: true,
            thermal_retries: 0,
            clock_hz: None,
            power_w: None,
            temperature_c: None,
            throttle: None,
        }
    }

    #[test]
    fn a_line_is_found_whatever_its_scale() {
        let found = line(|s| 3e-6 + 1.3e-7 * s);
        assert!((found.intercept - 3e-6).abs() < 1e-12, "{found:?}");
        assert!((found.slope - 1.3e-7).abs() < 1e-15);
        assert!(found.worst_residual < 1e-9);
        assert_eq!(is_linear(found, 4e-6, 1.4e-4, TOLERANCE), Outcome::Pass);
    }

    #[test]
    fn a_loop_that_was_removed_is_not_linear() {
        // The compiler kept the launch and dropped the steps.
        let found = line(|_| 4e-6);
        assert_eq!(is_linear(found, 4e-6, 4e-6, TOLERANCE), Outcome::Fail);
        // It folded half of the steps beyond some number.
        let found = line(|s| 1e-7 * s.min(32768.0));
        assert_eq!(is_linear(found, 4e-6, 1e-4, TOLERANCE), Outcome::Fail);
    }

    #[test]
    fn an_intercept_beyond_an_empty_launch_fails() {
        let found = line(|s| 50e-6 + 1e-7 * s);
        assert_eq!(is_linear(found, 4e-6, 1.5e-4, TOLERANCE), Outcome::Fail);
        // Steps that cost less when they are few: a negative intercept.
        let found = line(|s| 1e-7 * s - 50e-6);
        assert_eq!(is_linear(found, 4e-6, 5e-5, TOLERANCE), Outcome::Fail);
    }

    #[test]
    fn two_points_or_one_step_count_make_no_line() {
        assert_eq!(fit(&[(1.0, 1.0), (2.0, 5.0)]), None);
        assert_eq!(fit(&[(2.0, 1.0), (2.0, 1.0), (2.0, 1.0)]), None);
        assert_eq!(fit(&[(1.0, 0.0), (2.0, 1.0), (3.0, 1.0)]), None);
    }

    fn gpu() -> Yardstick {
        Yardstick::of(DeviceKind::Cuda)
    }

    #[test]
    fn a_busy_cpu_is_judged_by_its_shortest_times() {
        let cpu = Yardstick::of(DeviceKind::Cpu);
        // The same shortest time, twice the median.
        let (calm, busy) = (measured(1.0, 0.0), measured(2.0, 0.5));
        assert_eq!(cpu.agree(&calm, &busy), Outcome::Pass);
        assert_eq!(cpu.agree(&calm, &measured(2.0, 0.1)), Outcome::Fail);
    }

    #[test]
    fn medians_agree_within_tolerance_or_intervals() {
        let quiet = 0.001;
        let agrees = |other| gpu().agree(&measured(1.0, quiet), &other);
        assert_eq!(agrees(measured(1.015, quiet)), Outcome::Pass);
        assert_eq!(agrees(measured(1.03, quiet)), Outcome::Fail);
        assert_eq!(agrees(measured(0.97, quiet)), Outcome::Fail);
        assert_eq!(agrees(measured(1.03, 0.4)), Outcome::NotJudged);
        let wide = 0.035;
        let overlapping = gpu().agree(&measured(1.0, wide), &measured(1.025, wide));
        assert_eq!(overlapping, Outcome::Pass);
    }

    #[test]
    fn zeros_that_run_much_faster_fail() {
        let data = |zeros| gpu().data_matters(&measured(1.0, 0.001), &zeros, 1.25);
        assert_eq!(data(measured(0.88, 0.001)), Outcome::Pass);
        assert_eq!(data(measured(0.5, 0.001)), Outcome::Fail);
        assert_eq!(data(measured(0.5, 0.9)), Outcome::NotJudged);
    }
}
