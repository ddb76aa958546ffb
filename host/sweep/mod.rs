//! Walks a plan: verify, measure, hand each row on at once.
//!
//! | module | what it is for |
//! |---|---|
//! | [`plan`] | what is to be measured, complete before anything happens |
//! | [`roofs`] | the roofs of the device: datasheet or attributes, and measured in this run |
//! | `row` | a point and what was found about it become a row |

pub mod plan;
pub mod roofs;
mod row;

pub use plan::{Plan, Point};

use crate::device::{CacheState, Device, DeviceError};
use crate::kernels::{Bench, Check, bench};
use crate::measure::{Measurement, measure};
use crate::record::{Row, Status};
use roofs::Roofs;
use row::Provenance;
use std::time::{Duration, Instant};

/// Follows a sweep. Nothing below the command line prints: it tells an observer.
pub trait Observer {
    /// Point `index` of the plan begins.
    fn point(&mut self, index: usize, point: &Point);

    /// The roofs of this run are known.
    fn roofs(&mut self, roofs: &Roofs);

    /// A row is complete.
    ///
    /// # Errors
    /// The sweep ends with what is returned here (a full disk, a closed pipe).
    fn row(&mut self, row: &Row) -> Result<(), Stop>;

    /// Whether the row of this point exists already (a run that is resumed).
    fn has(&self, row: &Row) -> bool;

    /// Whether to go on; asked between launches.
    fn go_on(&self) -> bool;
}

/// Why a sweep ended before its plan did.
#[derive(Debug, thiserror::Error)]
pub enum Stop {
    /// The observer said so: an interruption.
    #[error("interrupted")]
    Interrupted,
    /// A row could not be handed on.
    #[error(transparent)]
    Record(#[from] crate::record::RecordError),
    /// The device is lost, and rows that were not measured were handed on as failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

/// Where the time of a sweep went.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Budget {
    /// Warming up and sampling, cache sweeps and clock probes included.
    pub measuring: Duration,
    /// Filling operands, checking results.
    pub verifying: Duration,
    /// Measuring the roofs.
    pub roofs: Duration,
    /// All of it.
    pub total: Duration,
}

/// What a sweep came to.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Outcome {
    /// Points measured.
    pub ok: usize,
    /// Points not run, with a reason in their row.
    pub skipped: usize,
    /// Points that were wrong or crashed.
    pub failed: usize,
    /// Points that a resumed file had already.
    pub resumed: usize,
    /// Where the time went.
    pub budget: Budget,
}

/// Measures every point of the plan.
///
/// # Errors
/// [`Stop`]; the rows of all points before have been handed on.
pub fn run(
    plan: &Plan,
    device: &mut dyn Device,
    observer: &mut dyn Observer,
) -> Result<Outcome, Stop> {
    let start = Instant::now();
    let mut outcome = Outcome::default();
    let provenance = Provenance::new(plan);
    let pending: Vec<(usize, &Point)> = plan
        .points
        .iter()
        .enumerate()
        .filter(|(_, point)| !observer.has(&row::planned(plan, point, device.info(), &provenance)))
        .collect();
    outcome.resumed = plan.points.len() - pending.len();
    if pending.is_empty() {
        return Ok(outcome);
    }

    let roofs_start = Instant::now();
    let mut lost: Option<DeviceError> = None;
    let roofs = match Roofs::of(plan, device, &|| observer.go_on()) {
        Ok(roofs) => roofs,
        // Not the end of the sweep yet: every point gets its row, which says so.
        Err(Stop::Device(error)) => {
            lost = Some(error);
            Roofs::unmeasured(plan, device.info())
        }
        Err(stop) => return Err(stop),
    };
    outcome.budget.roofs = roofs_start.elapsed();
    observer.roofs(&roofs);

    for (index, point) in pending {
        if !observer.go_on() {
            return Err(Stop::Interrupted);
        }
        observer.point(index, point);
        let mut row = row::planned(plan, point, device.info(), &provenance);
        match &lost {
            Some(error) => row::fail(&mut row, &format!("not run, the device is lost: {error}")),
            None => {
                let found = visit(plan, point, device, &mut outcome.budget, &|| {
                    observer.go_on()
                });
                device.release_all();
                let Some(found) = found else {
                    return Err(Stop::Interrupted);
                };
                row::complete(&mut row, point, &found, &roofs, device.info());
                if let Found::Failed(error @ DeviceError::Lost { .. }) = found {
                    lost = Some(error);
                }
            }
        }
        row::stamp(&mut row);
        match row.status {
            Status::Ok => outcome.ok += 1,
            Status::Skipped => outcome.skipped += 1,
            Status::Failed => outcome.failed += 1,
        }
        observer.row(&row)?;
    }
    outcome.budget.total = start.elapsed();
    match lost {
        Some(error) => Err(Stop::Device(error)),
        None => Ok(outcome),
    }
}

/// What became of a point.
enum Found {
    /// It was not run.
    Skipped(String),
    /// The device failed.
    Failed(DeviceError),
    /// The result is wrong: it is not timed.
    Wrong(Check, crate::device::LaunchFacts),
    /// It was measured.
    Measured(Check, crate::device::LaunchFacts, Box<Measurement>),
}

/// Verifies and measures one point; `None` if it was interrupted.
fn visit(
    plan: &Plan,
    point: &Point,
    device: &mut dyn Device,
    budget: &mut Budget,
    go_on: &dyn Fn() -> bool,
) -> Option<Found> {
    let skipped_or_failed = |error| match error {
        DeviceError::Unsupported(reason) => Found::Skipped(reason),
        error @ DeviceError::OutOfMemory { .. } => Found::Skipped(error.to_string()),
        error => Found::Failed(error),
    };
    match visit_device(plan, point, device, budget, go_on) {
        Ok(found) => found,
        Err(error) => Some(skipped_or_failed(error)),
    }
}

/// [`visit`], with the device's errors.
fn visit_device(
    plan: &Plan,
    point: &Point,
    device: &mut dyn Device,
    budget: &mut Budget,
    go_on: &dyn Fn() -> bool,
) -> crate::device::Result<Option<Found>> {
    let problem = &point.problem;
    let needed = bench::bytes_needed(problem, device.info())
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
    if !go_on() {
        return Ok(None);
    }

    // Verification may have left other values than those to be timed.
    let filling = Instant::now();
    bench.fill(problem.data)?;
    budget.verifying += filling.elapsed();
    let operands = bench.operands().to_vec();
    let measuring = Instant::now();
    let cache = CacheState::from(point.cache);
    let measured = measure(bench.device, problem, &operands, cache, &plan.rules, go_on)?;
    budget.measuring += measuring.elapsed();
    Ok(measured.map(|measured| Found::Measured(check, facts, Box::new(measured))))
}
