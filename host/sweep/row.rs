//! A point and what was found about it become a row.

use super::above::Evidence;
use super::roofs::{PipeRoofs, Roofs};
use super::visit::{Baseline, Found, Measured};
use super::{Plan, Point};
use crate::device::{DeviceInfo, LaunchFacts, Throttle};
use crate::kernels::{Check, Size, bench};
use crate::measure::Measurement;
use crate::record::{Bound, Row, Status};
use crate::roofline::model;
use crate::roofline::work::Work;

/// Part of a time from which what another process may find is worth a note.
const WORTH_A_NOTE: f64 = 0.01;

/// The columns that all rows of a run share.
pub(super) struct Provenance {
    run_id: String,
    host: Option<String>,
}

impl Provenance {
    /// Asks the system once.
    pub(super) fn new(plan: &Plan) -> Self {
        let host = gethostname::gethostname().to_string_lossy().into_owned();
        Provenance {
            run_id: plan.run_id.clone(),
            host: (!host.is_empty()).then_some(host),
        }
    }
}

/// The row of a point before it is run: provenance and work.
pub(super) fn planned(plan: &Plan, point: &Point, info: &DeviceInfo, run: &Provenance) -> Row {
    let problem = &point.problem;
    let kernel = problem.kernel.kernel();
    let (m, n, k) = match problem.size {
        Size::Elements(n) => (None, n, None),
        Size::Matrix { m, n, k } => (Some(m), n, Some(k)),
        Size::Mixed { n, fmas } => (None, n, Some(fmas)),
    };
    let work = kernel.work(problem, info).ok();
    let non_empty = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    Row {
        run_id: run.run_id.clone(),
        host: run.host.clone(),
        device: info.name.clone(),
        device_index: info.index,
        compute_capability: info
            .compute_capability
            .map(|capability| capability.to_string()),
        driver_version: info.driver_version.clone(),
        rooftrace_version: env!("CARGO_PKG_VERSION").to_owned(),
        git_commit: non_empty(env!("ROOFTRACE_GIT_COMMIT")),
        ptx_sha256: info.ptx_sha256.clone(),
        ptx_source: info.ptx_source.clone(),
        kernel: problem.kernel.name().to_owned(),
        variant: problem.variant.to_owned(),
        pipe: Some(problem.pipe().id().to_owned()),
        storage: Some(kernel.operand_type(problem, info).to_owned()),
        out_type: Some(problem.out().name().to_owned()),
        beta: (!kernel.betas().is_empty()).then_some(match problem.form.reads_c {
            true => 1.0,
            false => 0.0,
        }),
        m,
        n,
        k,
        batch: problem.form.batch,
        flops: work.map(|work| work.flops),
        bytes: work.map(|work| work.bytes),
        intensity_flop_per_byte: work.map(Work::intensity),
        data: problem.data,
        seed: plan.seed,
        cache: point.cache,
        ..Row::default()
    }
}

/// Marks a point as failed.
pub(super) fn fail(row: &mut Row, reason: &str) {
    row.status = Status::Failed;
    row.reason = Some(reason.to_owned());
}

/// Adds what a reader should know of the point.
pub(super) fn note(row: &mut Row, text: &str) {
    row.reason = Some(match row.reason.take() {
        Some(reason) => format!("{reason}; {text}"),
        None => text.to_owned(),
    });
}

/// Sets the time at which the point was finished.
pub(super) fn stamp(row: &mut Row) {
    let now = jiff::Timestamp::now();
    row.timestamp_utc = now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
}

/// Completes the rows of a point: the row that was planned, and a second one for the steady
/// state if it was asked for.
pub(super) fn complete(
    planned: Row,
    plan: &Plan,
    point: &Point,
    found: &Found,
    roofs: &Roofs,
    info: &DeviceInfo,
) -> Vec<Row> {
    let mut row = planned;
    let roofs = &roofs.of_pipe(point.problem.pipe());
    place_roofs(&mut row, roofs);
    match found {
        Found::Skipped(reason) => {
            row.status = Status::Skipped;
            row.reason = Some(reason.clone());
        }
        Found::Failed(error) => fail(&mut row, &error.to_string()),
        Found::Wrong(check, facts) => {
            place_launch(&mut row, facts);
            place_check(&mut row, check);
            fail(&mut row, check.failure.as_deref().unwrap_or("wrong result"));
        }
        Found::Measured(measured) => {
            let Measured {
                check,
                facts,
                baseline,
                burst,
                steady,
            } = measured.as_ref();
            place_launch(&mut row, facts);
            place_check(&mut row, check);
            row.status = Status::Ok;
            let place = |measured: &Measurement, mut row: Row| {
                place_times(&mut row, measured);
                place_on_roofline(&mut row, point, measured, roofs, info);
                row
            };
            let burst = burst.as_ref().map(|measured| {
                let mut row = place(measured, row.clone());
                place_baseline(&mut row, plan, point, measured);
                if let Baseline::Unusable(reason) = baseline {
                    note(&mut row, reason);
                }
                row
            });
            let steady = steady.as_ref().map(|(seconds, measured)| {
                let mut row = place(measured, row.clone());
                // The stopping rule did not apply: this is what tells the two rows apart.
                row.converged = None;
                note(
                    &mut row,
                    &format!("steady state: the second half of {seconds} s under load"),
                );
                row
            });
            return burst.into_iter().chain(steady).collect();
        }
    }
    vec![row]
}

fn place_launch(row: &mut Row, facts: &LaunchFacts) {
    row.grid = facts.grid.clone();
    row.block = facts.block.clone();
    row.registers = facts.registers;
    row.shared_bytes = facts.shared_bytes;
    row.occupancy = facts.occupancy;
}

fn place_check(row: &mut Row, check: &Check) {
    row.verified = Some(check.passed());
    row.error = check.error;
    row.error_bound = check.error_bound;
}

fn place_times(row: &mut Row, measured: &Measurement) {
    let summary = &measured.summary;
    row.samples = Some(summary.samples as u64);
    row.launches_per_sample = Some(u64::from(measured.launches));
    row.time_median_s = Some(summary.median);
    row.time_min_s = Some(summary.min);
    row.time_q1_s = Some(summary.q1);
    row.time_q3_s = Some(summary.q3);
    row.state_interval(summary.ci95);
    row.time_rel_noise = summary.rel_noise;
    row.converged = Some(measured.converged);
    row.sm_clock_hz = measured.clock_hz;
    row.power_w = measured.power_w;
    row.temperature_c = measured.temperature_c;
    if measured.thermal_retries > 0 {
        let last = if measured.throttled_by(Throttle::Thermal) {
            "and still held back by its temperature"
        } else {
            "and no longer held back by its temperature"
        };
        note(
            row,
            &format!("measured {} times, {last}", measured.thermal_retries + 1),
        );
    }
    let beyond = row.between_processes_s();
    if beyond > WORTH_A_NOTE * summary.median {
        note(
            row,
            &format!(
                "so short that another process may find {} µs more or less, which the interval \
                 includes",
                beyond * 1e6
            ),
        );
    }
    // `none` is a reading, empty is no reading.
    row.throttle = measured.throttle.as_ref().map(|reasons| {
        let names: Vec<&str> = reasons.iter().map(|reason| reason.name()).collect();
        if names.is_empty() {
            "none".to_owned()
        } else {
            names.join("+")
        }
    });
}

fn place_baseline(row: &mut Row, plan: &Plan, point: &Point, measured: &Measurement) {
    let library = point.problem.kernel.kernel().library();
    if let (Some(name), Some(library), Some(summary)) =
        (&plan.baseline, library, &measured.baseline)
    {
        row.baseline = Some(library.column(name));
        row.baseline_time_median_s = Some(summary.median);
        row.speedup = Some(summary.median / measured.summary.median);
    }
}

fn place_roofs(row: &mut Row, roofs: &PipeRoofs) {
    if let Some((peak, _)) = &roofs.peak {
        row.peak_flop_per_s = Some(peak.peak_flop_per_s);
        row.peak_byte_per_s = Some(peak.peak_byte_per_s);
    }
    row.measured_peak_flop_per_s = roofs.measured_flop_per_s.map(|rate| rate.median);
    row.measured_peak_byte_per_s = roofs.measured_byte_per_s.map(|rate| rate.median);
    if let Some((placing, source)) = roofs.placing() {
        row.peak_source = Some(source.to_owned());
        row.ridge_flop_per_byte = Some(placing.ridge());
        row.roof_flop_per_s = row
            .intensity_flop_per_byte
            .map(|intensity| placing.roof_at(intensity));
    }
}

fn place_on_roofline(
    row: &mut Row,
    point: &Point,
    measured: &Measurement,
    roofs: &PipeRoofs,
    info: &DeviceInfo,
) {
    let (Some(flops), Some(bytes)) = (row.flops, row.bytes) else {
        return;
    };
    let work = Work { flops, bytes };
    let seconds = measured.summary.median;
    row.flop_per_s = Some(flops as f64 / seconds);
    row.byte_per_s = Some(bytes as f64 / seconds);
    let Some((placing, _)) = roofs.placing() else {
        return;
    };
    let fraction = placing.fraction_of_roof(work, seconds);
    row.fraction_of_roof = Some(fraction);
    let bound = placing.bound(work, seconds);
    row.bound = Some(match bound {
        model::Bound::Memory => Bound::Memory,
        model::Bound::Compute => Bound::Compute,
        model::Bound::Latency => Bound::Latency,
    });
    if fraction > 1.0 {
        let evidence = Evidence {
            fraction,
            bound,
            cache: point.cache,
            bytes,
            written: bench::bytes_moved(&point.problem, info).map_or(0, |(_, written)| written),
            cache_bytes: info.cache_bytes,
            measured_roof: roofs.peak.is_none(),
            clock_hz: measured.clock_hz,
            assumed_clock_hz: info.attributes.as_ref().map(|known| known.sm_clock_hz),
        };
        note(row, &evidence.explain().to_string());
    }
}
