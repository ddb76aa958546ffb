//! One point is verified and measured.

use super::{Budget, Observer, Plan, Point};
use crate::device::{CacheState, Device, DeviceError, LaunchFacts};
use crate::kernels::{Bench, Check, bench};
use crate::measure::{Measurement, Subject, measure, sustain};
use crate::record::{Row, Status};
use std::time::Instant;

/// Which rows of a point are to be measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Wanted {
    /// The row by the stopping rule.
    burst: bool,
    /// The row of the steady state, after so many seconds.
    steady: Option<f64>,
}

impl Wanted {
    /// The rows that the plan asks for and the observer does not have. `planned` is the point's
    /// row before it is run.
    pub(super) fn missing(plan: &Plan, planned: &Row, observer: &dyn Observer) -> Self {
        let steady_row = Row {
            status: Status::Ok,
            ..planned.clone()
        };
        Wanted {
            burst: !observer.has(planned),
            steady: plan.sustained_s.filter(|_| !observer.has(&steady_row)),
        }
    }

    /// Whether the row by the stopping rule is missing.
    pub(super) fn burst(self) -> bool {
        self.burst
    }

    /// Whether there is anything to measure.
    pub(super) fn any(self) -> bool {
        self.burst || self.steady.is_some()
    }
}

/// What became of a point.
pub(super) enum Found {
    /// It was not run.
    Skipped(String),
    /// The device failed.
    Failed(DeviceError),
    /// The result is wrong: it is not timed.
    Wrong(Check, LaunchFacts),
    /// It was measured.
    Measured(Box<Measured>),
}

/// A point that was measured.
pub(super) struct Measured {
    pub(super) check: Check,
    pub(super) facts: LaunchFacts,
    pub(super) baseline: Baseline,
    /// By the stopping rule.
    pub(super) burst: Option<Measurement>,
    /// Steady state, and the seconds under load.
    pub(super) steady: Option<(f64, Measurement)>,
}

/// What is known of the result of the baseline.
pub(super) enum Baseline {
    /// There is none, or none was asked for.
    None,
    /// It is as right as the kernel's has to be.
    Right,
    /// It is not, or it could not be run: it is not timed.
    Unusable(String),
}

/// Checks the result of the baseline on the operands of `bench`, as the kernel's is checked.
fn check_baseline(plan: &Plan, bench: &mut Bench<'_>) -> crate::device::Result<Baseline> {
    let kernel = bench.problem.kernel.kernel();
    if plan.baseline.is_none() || kernel.library().is_none() {
        return Ok(Baseline::None);
    }
    let own = bench.problem.clone();
    bench.problem = own.baseline();
    let checked = kernel.verify(bench);
    bench.problem = own;
    Ok(match checked {
        Ok(check) => match check.failure {
            None => Baseline::Right,
            Some(reason) => Baseline::Unusable(format!("the baseline's result is wrong: {reason}")),
        },
        Err(error @ DeviceError::Lost { .. }) => return Err(error),
        Err(error) => Baseline::Unusable(format!("the baseline does not run: {error}")),
    })
}

/// Verifies and measures one point; `None` if it was interrupted.
pub(super) fn visit(
    plan: &Plan,
    point: &Point,
    wanted: Wanted,
    device: &mut dyn Device,
    budget: &mut Budget,
    go_on: &dyn Fn() -> bool,
) -> Option<Found> {
    match on_device(plan, point, wanted, device, budget, go_on) {
        Ok(found) => found,
        Err(DeviceError::Unsupported(reason)) => Some(Found::Skipped(reason)),
        Err(error @ DeviceError::OutOfMemory { .. }) => Some(Found::Skipped(error.to_string())),
        Err(error) => Some(Found::Failed(error)),
    }
}

/// [`visit`], with the device's errors.
fn on_device(
    plan: &Plan,
    point: &Point,
    wanted: Wanted,
    device: &mut dyn Device,
    budget: &mut Budget,
    go_on: &dyn Fn() -> bool,
) -> crate::device::Result<Option<Found>> {
    let problem = &point.problem;
    let needed = bench::bytes_needed(problem, device.info(), true)
        .map_err(|error| DeviceError::Unsupported(error.to_string()))?;
    let free = device.free_bytes()?;
    if needed > free {
        return Ok(Some(Found::Skipped(format!(
            "needs {needed} bytes of device memory, {free} are free"
        ))));
    }
    let facts = device.launch_facts(problem)?;

    let verifying = Instant::now();
    let mut bench = Bench::new(device, problem.clone())?;
    let check = problem.kernel.kernel().verify(&mut bench)?;
    budget.verifying += verifying.elapsed();
    if !check.passed() {
        return Ok(Some(Found::Wrong(check, facts)));
    }
    let verifying = Instant::now();
    let baseline = check_baseline(plan, &mut bench)?;
    budget.verifying += verifying.elapsed();
    if !go_on() {
        return Ok(None);
    }

    // Verification may have left other values than those to be timed.
    let filling = Instant::now();
    bench.fill(problem.data)?;
    budget.verifying += filling.elapsed();
    let operands = bench.operands().to_vec();
    let other = problem.baseline();
    let subject = Subject {
        problem,
        operands: &operands,
        cache: CacheState::from(point.cache),
        baseline: matches!(baseline, Baseline::Right).then_some(&other),
    };
    let measuring = Instant::now();
    let mut measured = Measured {
        check,
        facts,
        baseline,
        burst: None,
        steady: None,
    };
    if wanted.burst {
        measured.burst = measure(bench.device, subject, &plan.rules, go_on)?;
        if measured.burst.is_none() {
            return Ok(None);
        }
    }
    if let Some(seconds) = wanted.steady {
        let Some(steady) = sustain(bench.device, subject, seconds, go_on)? else {
            return Ok(None);
        };
        measured.steady = Some((seconds, steady));
    }
    budget.measuring += measuring.elapsed();
    Ok(Some(Found::Measured(Box::new(measured))))
}
