//! `sweep`: measure kernels over problem sizes.
//!
//! | module | what it is for |
//! |---|---|
//! | [`args`] | the raw arguments |
//! | [`form`] | `--batch`, `--beta`, `--out-type` |
//! | `ilp` | cycles of an FMA by chains and warps, below the table |
//! | [`pipe`] | `--pipe` |
//! | [`request`] | arguments and device become a plan |
//! | `view` | the table on stdout, the progress on stderr |

pub mod args;
pub mod form;
mod ilp;
pub mod pipe;
pub mod request;
mod view;

pub use args::SweepArgs;

use super::Verbosity;
use super::error::CliError;
use super::render::CommandError;
use crate::device::cuda::Ptx;
use crate::device::{DeviceInfo, DeviceKind};
use crate::figure::trace::size_label;
use crate::record::{self, Envelope, Identity, OnExisting, Resume, Row};
use crate::roofline::db::Database;
use crate::sweep::roofs::{PipeRoofs, Rate, Roofs};
use crate::sweep::{self, Budget, Observer, Outcome, Plan, Point, Stop};
use request::Request;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use view::View;

/// Measures the points that the arguments ask for.
///
/// # Errors
/// Bad input before anything is measured; a file that cannot be written; an interruption;
/// points that failed.
pub fn run(args: &SweepArgs, verbosity: Verbosity) -> Result<(), CliError> {
    let request = Request::parse(args)?;
    measure(&request, &Request::plan, verbosity, Shown::Table)?.conclusion
}

/// Makes the plan of a request for a device.
pub(super) type Planner<'a> = &'a dyn Fn(&Request, &DeviceInfo, Database) -> Result<Plan, CliError>;

/// What of a sweep is shown on stdout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shown {
    /// A line for each row, unless the rows themselves go there.
    Table,
    /// Nothing: another command writes what it makes of the rows.
    Nothing,
}

/// What a sweep left.
pub(super) struct Measured {
    /// Where the rows are.
    pub(super) rows: record::Destination,
    /// Points that failed, if any; their rows are there too.
    pub(super) conclusion: Result<(), CliError>,
}

/// Measures the points that `planner` makes of a request.
///
/// # Errors
/// Bad input before anything is measured; a file that cannot be written; an interruption; a
/// device that is lost.
pub(super) fn measure(
    request: &Request,
    planner: Planner<'_>,
    verbosity: Verbosity,
    shown: Shown,
) -> Result<Measured, CliError> {
    let database = Database::load(request.spec.as_deref()).map_err(CommandError::from)?;
    let ptx = request
        .ptx
        .as_deref()
        .map(Ptx::from_file)
        .transpose()
        .map_err(CliError::Usage)?;
    if let Some(out) = &request.out {
        out.check(request.on_existing)?;
    }
    let interrupted = watch_signals()?;

    let mut opened = super::open_device(request.device, ptx)?;
    let info = opened.device.info().clone();
    let mut plan =
        planner(request, &info, database).map_err(|error| super::explained(error, &opened))?;
    if request.baseline {
        plan.baseline = Some(opened.device.open_baseline()?);
    }
    let out = request.destination(&info);
    out.probe(request.on_existing)?;
    let resume = match request.on_existing {
        OnExisting::Append => record::resume(out.path(), request.format, &identity(&info))?,
        _ => Resume::default(),
    };
    let file = File {
        destination: out.clone(),
        format: request.format,
        on_existing: request.on_existing,
        envelope: Envelope::new(
            plan.run_id.clone(),
            std::env::args().collect(),
            environment(&info),
        ),
    };

    let rows_on_stdout = matches!(out, record::Destination::Stdout);
    let silent = rows_on_stdout || shown == Shown::Nothing;
    let view = View::new(verbosity, silent, plan.points.len());
    if let Some(reason) = &opened.fallback {
        view.notice(&format!(
            "measuring the CPU ({}, {} threads), because no GPU was found: {reason}",
            info.name, info.units
        ));
    }
    let mut follower = Follower {
        file,
        sink: None,
        resume,
        interrupted,
        view,
    };
    let outcome = sweep::run(&plan, opened.device.as_mut(), &mut follower);
    let Follower { sink, mut view, .. } = follower;
    let written = sink.map(|sink| sink.finish()).transpose()?.unwrap_or(0);
    view.finish();
    view.picture();
    view.cycles(&info);
    if let record::Destination::File(path) = &out
        && written > 0
    {
        view.notice(&format!("{written} rows in {}", path.display()));
    }
    match conclude(outcome, &out, &view) {
        conclusion @ (Ok(()) | Err(CliError::Failed(_))) => Ok(Measured {
            rows: out,
            conclusion,
        }),
        Err(error) => Err(error),
    }
}

/// Sets a flag on SIGINT and SIGTERM; a second signal ends the program at once.
pub(super) fn watch_signals() -> Result<Arc<AtomicBool>, CliError> {
    let flag = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&flag))
            .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&flag)))
            .map_err(|error| {
                CliError::Unavailable(format!("signals cannot be watched: {error}"))
            })?;
    }
    Ok(flag)
}

/// What rows of one file must share.
fn identity(info: &DeviceInfo) -> Identity {
    Identity {
        device: info.name.clone(),
        ptx_sha256: info.ptx_sha256.clone(),
    }
}

/// What may matter about the machine and is no column.
fn environment(info: &DeviceInfo) -> serde_json::Map<String, serde_json::Value> {
    let kind = match info.kind {
        DeviceKind::Cpu => "cpu",
        DeviceKind::Cuda => "cuda",
        DeviceKind::Vm => "vm",
    };
    let value = serde_json::json!({
        "device_kind": kind,
        "units": info.units,
        "memory_bytes": info.memory_bytes,
        "last_level_cache_bytes": info.cache_bytes,
        "kernel_compiler": env!("ROOFTRACE_PTX_COMPILER"),
        "kernel_source_sha256": env!("ROOFTRACE_PTX_SOURCE_SHA256"),
        "os": std::env::consts::OS,
        "arch": std::env::consts::ARCH,
        "cuda_visible_devices": std::env::var("CUDA_VISIBLE_DEVICES").ok(),
    });
    match value {
        serde_json::Value::Object(map) => map,
        _ => serde_json::Map::new(),
    }
}

/// The file for the rows, before it is opened.
struct File {
    destination: record::Destination,
    format: record::Format,
    on_existing: OnExisting,
    envelope: Envelope,
}

/// Hands rows to the file and to the view.
struct Follower {
    file: File,
    /// Opened when the roofs are known, which the envelope names.
    sink: Option<Box<dyn record::RowSink>>,
    resume: Resume,
    interrupted: Arc<AtomicBool>,
    view: View,
}

impl Observer for Follower {
    fn point(&mut self, index: usize, point: &Point) {
        self.view.point(index, point);
    }

    fn roofs(&mut self, roofs: &Roofs) -> Result<(), Stop> {
        self.view.roofs(roofs);
        let file = &mut self.file;
        file.envelope
            .environment
            .insert("roofs".to_owned(), in_envelope(roofs));
        self.sink = Some(record::open(
            &file.destination,
            file.format,
            file.on_existing,
            &file.envelope,
        )?);
        // Only now: a file that cannot be written must leave nothing on stdout.
        self.view.header();
        Ok(())
    }

    fn neighbours(&mut self, processes: &[u32]) {
        let pids: Vec<String> = processes.iter().map(u32::to_string).collect();
        self.view.notice(&format!(
            "warning: another process is computing on this device (PID {}): the times of both \
             suffer. Wait for it to end, or measure another device; the rows are marked",
            pids.join(", ")
        ));
    }

    fn row(&mut self, row: &Row) -> Result<(), Stop> {
        if let Some(sink) = &mut self.sink {
            sink.write(row)?;
        }
        self.view.row(row);
        Ok(())
    }

    fn no_steady_state(&mut self, row: &Row) {
        self.view.notice(&format!(
            "no steady state of {} {} {}: {}",
            row.kernel,
            row.variant,
            size_label(row),
            row.reason.as_deref().unwrap_or("no reason known")
        ));
    }

    fn has(&self, row: &Row) -> bool {
        self.resume.has(row)
    }

    fn go_on(&self) -> bool {
        !self.interrupted.load(Ordering::Relaxed)
    }
}

/// The roofs in the environment of a JSON document, for each pipe: rates in FLOP/s and byte/s, ridge
/// points in FLOP/byte, intervals from the 95 % intervals of the medians.
fn in_envelope(roofs: &Roofs) -> serde_json::Value {
    let pipes: serde_json::Map<_, _> = roofs
        .pipes
        .iter()
        .map(|roofs| (roofs.pipe.id().to_owned(), of_pipe(roofs)))
        .collect();
    serde_json::json!({ "pipes": pipes, "notes": roofs.notes })
}

fn of_pipe(roofs: &PipeRoofs) -> serde_json::Value {
    let rate = |rate: Option<Rate>| {
        rate.map(|rate| {
            serde_json::json!({
                "median": rate.median,
                "low": rate.interval.map(|interval| interval.low),
                "high": rate.interval.map(|interval| interval.high),
            })
        })
    };
    let peak = roofs.peak.as_ref().map(|(peak, source)| {
        serde_json::json!({
            "flop_per_s": peak.peak_flop_per_s,
            "byte_per_s": peak.peak_byte_per_s,
            "ridge_flop_per_byte": peak.ridge(),
            "source": source,
        })
    });
    serde_json::json!({
        "peak": peak,
        "measured": {
            "flop_per_s": rate(roofs.measured_flop_per_s),
            "byte_per_s": rate(roofs.measured_byte_per_s),
            "ridge_flop_per_byte": rate(roofs.measured_ridge()),
        },
    })
}

/// Says how it ended, and finds the exit code.
fn conclude(
    outcome: Result<Outcome, Stop>,
    out: &record::Destination,
    view: &View,
) -> Result<(), CliError> {
    let outcome = match outcome {
        Ok(outcome) => outcome,
        Err(Stop::Interrupted) => {
            return Err(CliError::Interrupted(match out {
                record::Destination::File(path) => format!(
                    "interrupted; the rows of all finished points are in {0}, and --out {0} \
                     --resume continues it",
                    path.display()
                ),
                record::Destination::Stdout => {
                    "interrupted; the rows of all finished points were written".to_owned()
                }
            }));
        }
        Err(Stop::Record(error)) => return Err(error.into()),
        Err(Stop::Device(error)) => return Err(error.into()),
    };
    if outcome.resumed > 0 {
        view.notice(&format!("{} in the file already", points(outcome.resumed)));
    }
    view.detail(&budget(&outcome.budget));
    if outcome.skipped > 0 {
        view.notice(&format!(
            "{} skipped; the rows say why",
            points(outcome.skipped)
        ));
    }
    if outcome.failed > 0 {
        return Err(CliError::Failed(format!(
            "{} of {} points failed; their rows say why",
            outcome.failed,
            outcome.ok + outcome.skipped + outcome.failed
        )));
    }
    if outcome.no_steady_state > 0 {
        return Err(CliError::Failed(format!(
            "the steady state of {} could not be measured; the file keeps the rows that it had, \
             and --resume tries again",
            points(outcome.no_steady_state)
        )));
    }
    Ok(())
}

/// Where the time went, in one line.
fn budget(budget: &Budget) -> String {
    let seconds = |duration: std::time::Duration| duration.as_secs_f64();
    let total = seconds(budget.total);
    let known = seconds(budget.measuring) + seconds(budget.verifying) + seconds(budget.roofs);
    let rest = (total - known).max(0.0);
    format!(
        "time: {total:.1} s = measuring {:.1} s + roofs {:.1} s + verifying {:.1} s + rest {rest:.1} s \
         ({:.1} %)",
        seconds(budget.measuring),
        seconds(budget.roofs),
        seconds(budget.verifying),
        if total > 0.0 {
            100.0 * rest / total
        } else {
            0.0
        }
    )
}

/// `1 point`, `2 points`.
fn points(count: usize) -> String {
    match count {
        1 => "1 point".to_owned(),
        _ => format!("{count} points"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::DeviceError;

    fn concluded(outcome: Result<Outcome, Stop>, out: &str) -> Result<(), (u8, String)> {
        let view = View::new(Verbosity::Quiet, true, 0);
        conclude(outcome, &record::Destination::from_out(out), &view)
            .map_err(|error| (error.code(), error.to_string()))
    }

    #[test]
    fn one_failed_point_makes_the_exit_code_1() {
        let fine = Outcome {
            ok: 3,
            skipped: 2,
            ..Outcome::default()
        };
        assert_eq!(concluded(Ok(fine), "rows.csv"), Ok(()));
        let failed = Outcome { failed: 1, ..fine };
        let (code, message) = concluded(Ok(failed), "rows.csv").unwrap_err();
        assert_eq!(code, 1);
        assert!(message.starts_with("1 of 6 points failed"), "{message}");
        let unsettled = Outcome {
            no_steady_state: 1,
            ..fine
        };
        let (code, message) = concluded(Ok(unsettled), "rows.csv").unwrap_err();
        assert_eq!(code, 1);
        assert!(message.contains("steady state of 1 point "), "{message}");
    }

    #[test]
    fn a_lost_device_is_exit_code_3_and_an_interruption_130() {
        let lost = DeviceError::Lost {
            call: "cuLaunchKernel",
            reason: "CUDA_ERROR_LAUNCH_FAILED".to_owned(),
        };
        let (code, message) = concluded(Err(Stop::Device(lost)), "rows.csv").unwrap_err();
        assert_eq!(code, 3);
        assert!(message.contains("CUDA_ERROR_LAUNCH_FAILED"), "{message}");
        let (code, message) = concluded(Err(Stop::Interrupted), "rows.csv").unwrap_err();
        assert_eq!(code, 130);
        assert!(message.contains("--out rows.csv --resume"), "{message}");
        let (_, message) = concluded(Err(Stop::Interrupted), "-").unwrap_err();
        assert!(!message.contains("--resume"), "{message}");
    }
}
