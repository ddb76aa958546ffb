//! What a sweep makes of a device that fails: every point keeps a row, with the reason.

use crate::scripted::{Event, Failure, LAUNCH_S, Scripted};
use rooftrace::device::{DeviceError, DeviceKind};
use rooftrace::kernels::{Data, Form, KernelId, Problem, Size};
use rooftrace::measure::Rules;
use rooftrace::record::{Cache, Row, Status};
use rooftrace::roofline::db::Database;
use rooftrace::sweep::roofs::Roofs;
use rooftrace::sweep::{self, Observer, Outcome, Plan, Point, Stop};

/// Keeps the rows, and ends the sweep after `most` of them.
struct Keeper {
    rows: Vec<Row>,
    begun: Vec<usize>,
    notes: Vec<String>,
    most: usize,
}

impl Observer for Keeper {
    fn point(&mut self, index: usize, _: &Point) {
        self.begun.push(index);
    }
    fn roofs(&mut self, roofs: &Roofs) -> Result<(), Stop> {
        self.notes.extend(roofs.notes.iter().cloned());
        Ok(())
    }
    fn neighbours(&mut self, _: &[u32]) {}
    fn no_steady_state(&mut self, _: &Row) {}
    fn row(&mut self, row: &Row) -> Result<(), Stop> {
        self.rows.push(row.clone());
        Ok(())
    }
    fn has(&self, _: &Row) -> bool {
        false
    }
    fn go_on(&self) -> bool {
        self.rows.len() < self.most
    }
}

/// Copies of 10, 20, 30 and 40 elements, then a product with the side 5.
fn plan() -> Plan {
    let point = |kernel: KernelId, size| Point {
        problem: Problem {
            kernel,
            variant: kernel.kernel().variants(DeviceKind::Cpu)[0].name,
            size,
            form: Form::default(),
            seed: 3,
            data: Data::Random,
        },
        cache: Cache::Cold,
    };
    let copies = [10, 20, 30, 40].map(|n| point(KernelId::Copy, Size::Elements(n)));
    let product = point(KernelId::Sgemm, Size::Matrix { m: 5, n: 6, k: 7 });
    Plan {
        run_id: "run".to_owned(),
        points: copies.into_iter().chain([product]).collect(),
        rules: Rules {
            min_time_s: 1e-4,
            max_time_s: 1e-3,
            ..Rules::quick(DeviceKind::Cpu)
        },
        sustained_s: None,
        baseline: None,
        seed: 3,
        database: Database::builtin().unwrap(),
    }
}

fn run_to(
    most: usize,
    script: &[((KernelId, u64), Event)],
) -> (Result<Outcome, Stop>, Keeper, Scripted) {
    let mut device = Scripted::new(script.iter().copied());
    let mut keeper = Keeper {
        rows: Vec::new(),
        begun: Vec::new(),
        notes: Vec::new(),
        most,
    };
    let outcome = sweep::run(&plan(), &mut device, &mut keeper);
    (outcome, keeper, device)
}

fn run(script: &[((KernelId, u64), Event)]) -> (Result<Outcome, Stop>, Keeper, Scripted) {
    run_to(usize::MAX, script)
}

/// The sizes of the rows; all of the plan's are there, in its order.
fn assert_complete(rows: &[Row]) {
    let sizes: Vec<u64> = rows.iter().map(|row| row.m.unwrap_or(row.n)).collect();
    assert_eq!(sizes, [10, 20, 30, 40, 5]);
}

fn statuses(rows: &[Row]) -> Vec<Status> {
    rows.iter().map(|row| row.status).collect()
}

/// A point that was not measured claims nothing.
fn assert_untimed(row: &Row) {
    assert_eq!(row.time_median_s, None);
    assert_eq!(row.samples, None);
    assert_eq!(row.flop_per_s, None);
    assert_eq!(row.byte_per_s, None);
    assert_eq!(row.fraction_of_roof, None);
    assert_ne!(row.verified, Some(true));
    assert!(row.reason.as_ref().is_some_and(|reason| !reason.is_empty()));
    assert!(!row.timestamp_utc.is_empty());
}

#[test]
fn a_sound_device_gives_a_row_for_each_point() {
    let (outcome, keeper, device) = run(&[]);
    let outcome = outcome.unwrap();
    assert_eq!((outcome.ok, outcome.skipped, outcome.failed), (5, 0, 0));
    assert_complete(&keeper.rows);
    assert_eq!(keeper.begun, [0, 1, 2, 3, 4]);
    assert_eq!(keeper.notes, Vec::<String>::new());
    assert_eq!(device.calls_after_loss, 0);
    for row in &keeper.rows {
        assert_eq!(row.status, Status::Ok);
        assert_eq!(row.verified, Some(true));
        assert_eq!(row.time_median_s, Some(LAUNCH_S));
        let bytes = row.bytes.unwrap() as f64;
        assert_eq!(row.byte_per_s, Some(bytes / LAUNCH_S));
    }
}

#[test]
fn a_wrong_result_fails_its_point_is_not_timed_and_the_sweep_goes_on() {
    for (kernel, size) in [(KernelId::Copy, 20), (KernelId::Sgemm, 5)] {
        let (outcome, keeper, device) = run(&[((kernel, size), Event::Wrong)]);
        let outcome = outcome.unwrap();
        assert_eq!((outcome.ok, outcome.skipped, outcome.failed), (4, 0, 1));
        assert_complete(&keeper.rows);
        let wrong = keeper.rows.iter().find(|row| row.status == Status::Failed);
        let wrong = wrong.unwrap();
        assert_eq!(wrong.kernel, kernel.name());
        assert_eq!(wrong.verified, Some(false));
        assert_untimed(wrong);
        assert!(!device.timed.contains(&(kernel, size)));
        assert!(device.timed.contains(&(KernelId::Copy, 30)));
    }
}

#[test]
fn a_lost_device_fails_the_rest_and_drops_nothing() {
    let (outcome, keeper, device) = run(&[((KernelId::Copy, 20), Event::Error(Failure::Lost))]);
    let Err(Stop::Device(error @ DeviceError::Lost { .. })) = outcome else {
        panic!("a lost device is not reported: {outcome:?}");
    };
    assert_complete(&keeper.rows);
    assert_eq!(keeper.rows[0].status, Status::Ok);
    for row in &keeper.rows[1..] {
        assert_eq!(row.status, Status::Failed);
        assert_untimed(row);
        let reason = row.reason.as_ref().unwrap();
        assert!(reason.contains("CUDA_ERROR_LAUNCH_FAILED"), "{reason}");
    }
    assert!(
        keeper.rows[2]
            .reason
            .as_ref()
            .unwrap()
            .starts_with("not run")
    );
    assert!(error.to_string().contains("opened again"), "{error}");
    assert_eq!(device.calls_after_loss, 0, "a lost device was called again");
}

#[test]
fn a_device_lost_while_the_roofs_are_measured_drops_nothing_either() {
    let roof = (KernelId::Triad, Scripted::ROOF_TRIAD);
    let (outcome, keeper, device) = run(&[(roof, Event::Error(Failure::Lost))]);
    assert!(matches!(
        outcome,
        Err(Stop::Device(DeviceError::Lost { .. }))
    ));
    assert_complete(&keeper.rows);
    for row in &keeper.rows {
        assert_eq!(row.status, Status::Failed);
        assert_untimed(row);
    }
    assert_eq!(device.calls_after_loss, 0, "a lost device was called again");
}

#[test]
fn memory_that_runs_out_skips_the_point_with_the_bytes() {
    let (outcome, keeper, _) = run(&[((KernelId::Copy, 30), Event::Error(Failure::OutOfMemory))]);
    let outcome = outcome.unwrap();
    assert_eq!((outcome.ok, outcome.skipped, outcome.failed), (4, 1, 0));
    assert_complete(&keeper.rows);
    let row = &keeper.rows[2];
    assert_eq!(row.status, Status::Skipped);
    assert_untimed(row);
    let reason = row.reason.as_ref().unwrap();
    assert!(reason.contains("4096 bytes needed"), "{reason}");
    assert!(reason.contains("1024 bytes free"), "{reason}");
}

#[test]
fn what_cannot_run_is_skipped_and_what_breaks_once_fails_alone() {
    let (outcome, keeper, _) = run(&[
        ((KernelId::Copy, 10), Event::Error(Failure::Unsupported)),
        ((KernelId::Copy, 40), Event::Error(Failure::Call)),
    ]);
    let outcome = outcome.unwrap();
    assert_eq!((outcome.ok, outcome.skipped, outcome.failed), (3, 1, 1));
    assert_complete(&keeper.rows);
    assert_eq!(
        statuses(&keeper.rows),
        [
            Status::Skipped,
            Status::Ok,
            Status::Ok,
            Status::Failed,
            Status::Ok
        ]
    );
    assert_eq!(keeper.rows[0].reason.as_deref(), Some("too many blocks"));
    assert_untimed(&keeper.rows[0]);
    assert_untimed(&keeper.rows[3]);
}

#[test]
fn a_roof_that_is_wrong_is_not_used_and_said_to_be_missing() {
    let roof = (KernelId::Triad, Scripted::ROOF_TRIAD);
    let (outcome, keeper, _) = run(&[(roof, Event::Wrong)]);
    assert_eq!(outcome.unwrap().ok, 5);
    assert_eq!(keeper.notes.len(), 1);
    assert!(keeper.notes[0].contains("`triad`"), "{}", keeper.notes[0]);
    for row in &keeper.rows {
        assert_eq!(row.measured_peak_byte_per_s, None);
        assert_eq!(row.fraction_of_roof, None, "placed on half a roofline");
        assert!(row.measured_peak_flop_per_s.is_some());
    }
}

#[test]
fn an_interruption_keeps_the_rows_before_it() {
    let (outcome, keeper, _) = run_to(2, &[]);
    assert!(matches!(outcome, Err(Stop::Interrupted)));
    assert_eq!(keeper.rows.len(), 2);
    assert_eq!(statuses(&keeper.rows), [Status::Ok, Status::Ok]);
}
