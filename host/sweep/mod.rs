//! Walks a plan: verify, measure, hand each row on at once.
//!
//! | module | what it is for |
//! |---|---|
//! | [`plan`] | what is to be measured, complete before anything happens |
//! | [`roofs`] | the roofs of the device: datasheet or attributes, and measured in this run |
//! | `visit` | one point is verified and measured |
//! | `row` | a point and what was found about it become its rows |
//! | [`above`] | why a point lies above its roof |

pub mod above;
pub mod plan;
pub mod roofs;
mod row;
mod visit;

pub use plan::{Plan, Point};

use crate::device::{Device, DeviceError};
use crate::record::{Row, Status};
use roofs::{Conditions, Roofs};
use row::Provenance;
use std::time::{Duration, Instant};
use visit::{Found, Wanted};

/// Follows a sweep. Nothing below the command line prints: it tells an observer.
pub trait Observer {
    /// Point `index` of the plan begins.
    fn point(&mut self, index: usize, point: &Point);

    /// The roofs of this run are known; the first row comes next.
    ///
    /// # Errors
    /// The sweep ends with what is returned here.
    fn roofs(&mut self, roofs: &Roofs) -> Result<(), Stop>;

    /// Other processes were seen computing on the device; told once for each set of them.
    fn neighbours(&mut self, processes: &[u32]);

    /// A row is complete.
    ///
    /// # Errors
    /// The sweep ends with what is returned here (a full disk, a closed pipe).
    fn row(&mut self, row: &Row) -> Result<(), Stop>;

    /// The steady state of a point could not be measured, and the row with what a run before
    /// measured of the point exists already. This row, which says why, is not handed on: it would
    /// be a second one of the point, and a later run could not try again.
    fn no_steady_state(&mut self, row: &Row);

    /// Whether this row exists already (a run that is resumed). What tells rows apart is
    /// [`crate::record::PointKey`].
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
    /// Steady states that could not be measured, of points that a resumed file had already.
    pub no_steady_state: usize,
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
    let pending: Vec<(usize, &Point, Wanted)> = plan
        .points
        .iter()
        .enumerate()
        .map(|(index, point)| {
            let row = row::planned(plan, point, device.info(), &provenance);
            (index, point, Wanted::missing(plan, &row, observer))
        })
        .filter(|(_, _, wanted)| wanted.any())
        .collect();
    outcome.resumed = plan.points.len() - pending.len();
    if pending.is_empty() {
        return Ok(outcome);
    }

    let mut company = Company::default();
    company.look(device, observer);
    let roofs_start = Instant::now();
    let pipes = plan.pipes();
    let conditions = Conditions {
        rules: plan.rules,
        seed: plan.seed,
        database: &plan.database,
    };
    let mut lost: Option<DeviceError> = None;
    let roofs = match Roofs::of(&pipes, conditions, device, &|| observer.go_on()) {
        Ok(roofs) => roofs,
        // Not the end of the sweep yet: every point gets its row, which says so.
        Err(Stop::Device(error)) => {
            lost = Some(error);
            Roofs::unmeasured(&pipes, &plan.database, device.info())
        }
        Err(stop) => return Err(stop),
    };
    outcome.budget.roofs = roofs_start.elapsed();
    observer.roofs(&roofs)?;

    for (index, point, wanted) in pending {
        if !observer.go_on() {
            return Err(Stop::Interrupted);
        }
        observer.point(index, point);
        let mut row = row::planned(plan, point, device.info(), &provenance);
        let rows = match &lost {
            Some(error) => {
                row::fail(&mut row, &format!("not run, the device is lost: {error}"));
                vec![row]
            }
            None => {
                let found = visit::visit(plan, point, wanted, device, &mut outcome.budget, &|| {
                    observer.go_on()
                });
                device.release_all();
                let Some(found) = found else {
                    return Err(Stop::Interrupted);
                };
                let mut rows = row::complete(row, plan, point, &found, &roofs, device.info());
                if let Found::Failed(error @ DeviceError::Lost { .. }) = found {
                    lost = Some(error);
                } else if let Some(text) = company.look(device, observer) {
                    rows.iter_mut().for_each(|row| row::note(row, &text));
                }
                rows
            }
        };
        for mut row in rows {
            row::stamp(&mut row);
            if row.status != Status::Ok && !wanted.burst() {
                outcome.no_steady_state += 1;
                observer.no_steady_state(&row);
                continue;
            }
            match row.status {
                Status::Ok => outcome.ok += 1,
                Status::Skipped => outcome.skipped += 1,
                Status::Failed => outcome.failed += 1,
            }
            observer.row(&row)?;
        }
    }
    outcome.budget.total = start.elapsed();
    match lost {
        Some(error) => Err(Stop::Device(error)),
        None => Ok(outcome),
    }
}

/// Other processes on the device, as they were last seen.
#[derive(Default)]
struct Company(Vec<u32>);

impl Company {
    /// Looks for them; tells the observer if they have changed, and returns a note for the rows
    /// of the points that were measured beside them.
    fn look(&mut self, device: &mut dyn Device, observer: &mut dyn Observer) -> Option<String> {
        let now = device.neighbours();
        if now.is_empty() {
            self.0 = now;
            return None;
        }
        if now != self.0 {
            observer.neighbours(&now);
        }
        let pids: Vec<String> = now.iter().map(u32::to_string).collect();
        self.0 = now;
        Some(format!(
            "another process was computing on the device (PID {})",
            pids.join(", ")
        ))
    }
}
