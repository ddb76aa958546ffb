//! Whatever fails, every point has its row.

use crate::mock::{Mock, Watcher, plan};
use rooftrace::device::DeviceError;
use rooftrace::kernels::KernelId;
use rooftrace::record::{Row, Status};
use rooftrace::sweep::{self, Outcome, Stop};
use std::time::Duration;

const POINTS: [(KernelId, u64); 4] = [
    (KernelId::Copy, 1000),
    (KernelId::Triad, 1000),
    (KernelId::Fma, 16),
    (KernelId::Copy, 2000),
];

/// Sweeps [`POINTS`] on a device that fails its call number `at`.
fn sweep(at: usize, error: &DeviceError) -> (Watcher, Result<Outcome, Stop>, usize) {
    let mut mock = Mock::new();
    mock.pause = Duration::from_micros(100);
    mock.fault = Some((at, error.clone()));
    let mut watcher = Watcher::default();
    let outcome = sweep::run(&plan(&POINTS), &mut mock, &mut watcher);
    (watcher, outcome, mock.calls)
}

/// Every point once and in order, and nothing measured without a check and a time.
fn require_every_row(watcher: &Watcher, at: usize, error: &DeviceError) {
    let names: Vec<(&str, u64)> = watcher
        .rows
        .iter()
        .map(|row| (row.kernel.as_str(), row.n))
        .collect();
    let expected: Vec<(&str, u64)> = POINTS.iter().map(|(id, n)| (id.name(), *n)).collect();
    assert_eq!(names, expected, "call {at} fails with {error}");
    for row in &watcher.rows {
        match row.status {
            Status::Ok => assert!(row.verified == Some(true) && row.time_median_s.is_some()),
            Status::Skipped | Status::Failed => {
                assert!(row.reason.is_some() && row.time_median_s.is_none());
            }
        }
    }
}

#[test]
fn no_fault_at_any_call_drops_a_row() {
    let call = DeviceError::Call {
        call: "cuLaunchKernel",
        reason: "planted".to_owned(),
    };
    let lost = DeviceError::Lost {
        call: "cuStreamSynchronize",
        reason: "planted".to_owned(),
    };
    let full = DeviceError::OutOfMemory {
        device: "mock".to_owned(),
        needed: 2,
        free: 1,
    };
    let unsupported = DeviceError::Unsupported("planted".to_owned());
    let (watcher, outcome, calls) = sweep(usize::MAX - 1, &call);
    assert_eq!(outcome.unwrap().ok, POINTS.len());
    assert!(watcher.rows.iter().all(|row| row.status == Status::Ok));

    // Every early call (the roofs and the first point), then a sample of the rest.
    let early = 0..40.min(calls);
    let rest = (40..calls).step_by((calls / 30).max(1));
    for at in early.chain(rest) {
        for error in [&call, &lost, &full, &unsupported] {
            let (watcher, outcome, _) = sweep(at, error);
            require_every_row(&watcher, at, error);
            let ended = matches!(outcome, Err(Stop::Device(_)));
            let is_lost = matches!(error, DeviceError::Lost { .. });
            // The number of calls differs from run to run: a late one may never come.
            assert!(!ended || is_lost, "call {at} fails with {error}");
        }
    }
}

#[test]
fn a_lost_device_fails_the_points_after_it_and_says_why() {
    let (clean, _, calls) = sweep(usize::MAX - 1, &DeviceError::Unsupported(String::new()));
    assert_eq!(clean.rows.len(), POINTS.len());
    let lost = DeviceError::Lost {
        call: "cuStreamSynchronize",
        reason: "illegal address".to_owned(),
    };
    let (watcher, outcome, _) = sweep(calls / 2, &lost);
    assert!(matches!(outcome, Err(Stop::Device(_))));
    let last = watcher.rows.last().unwrap();
    assert_eq!(last.status, Status::Failed);
    assert!(last.reason.as_ref().unwrap().contains("illegal address"));
}

#[test]
fn a_point_that_has_its_row_gets_no_second_one_when_its_steady_state_fails() {
    let mut bursts = Watcher::default();
    sweep::run(&plan(&POINTS), &mut Mock::new(), &mut bursts).unwrap();
    let mut sustained = plan(&POINTS);
    sustained.sustained_s = Some(0.002);
    let resume = |fault: Option<(usize, DeviceError)>| {
        let mut mock = Mock::new();
        mock.pause = Duration::from_micros(100);
        mock.fault = fault;
        let mut watcher = Watcher {
            known: bursts.rows.clone(),
            ..Watcher::default()
        };
        let outcome = sweep::run(&sustained, &mut mock, &mut watcher);
        (watcher, outcome, mock.calls)
    };
    let (clean, outcome, calls) = resume(None);
    let outcome = outcome.unwrap();
    assert_eq!((outcome.ok, outcome.no_steady_state), (POINTS.len(), 0));
    assert!(clean.unsettled.is_empty());

    let lost = DeviceError::Lost {
        call: "cuStreamSynchronize",
        reason: "planted".to_owned(),
    };
    let call = DeviceError::Call {
        call: "cuLaunchKernel",
        reason: "planted".to_owned(),
    };
    let full = DeviceError::OutOfMemory {
        device: "mock".to_owned(),
        needed: 2,
        free: 1,
    };
    let mut failed = 0;
    for at in (0..calls).step_by((calls / 40).max(1)) {
        for error in [&lost, &call, &full] {
            let (watcher, _, _) = resume(Some((at, error.clone())));
            assert!(
                watcher.rows.iter().all(Row::is_steady_state),
                "call {at} fails with {error}: a second row of a point"
            );
            assert_eq!(watcher.rows.len() + watcher.unsettled.len(), POINTS.len());
            assert!(watcher.unsettled.iter().all(|row| row.reason.is_some()));
            failed += watcher.unsettled.len();
        }
    }
    assert!(failed > 0, "no fault met a steady state");
}

#[test]
fn a_wrong_result_is_a_failed_row_and_is_not_timed() {
    let mut mock = Mock::new();
    mock.skips_an_element = true;
    let mut watcher = Watcher::default();
    let outcome = sweep::run(&plan(&POINTS), &mut mock, &mut watcher).unwrap();
    assert_eq!((outcome.ok, outcome.failed), (2, 2));
    let row = &watcher.rows[0];
    assert_eq!((row.status, row.verified), (Status::Failed, Some(false)));
    assert_eq!(row.time_median_s, None);
    assert!(
        row.reason
            .as_ref()
            .unwrap()
            .contains("element 999 was not written")
    );
    let timed = |timing: &crate::mock::Timing| timing.kernel == KernelId::Copy;
    assert!(!mock.timings.iter().any(timed));
}

#[test]
fn a_point_too_large_for_the_memory_is_skipped_and_the_next_measured() {
    let mut mock = Mock::new();
    let mut watcher = Watcher::default();
    let points = [(KernelId::Copy, 1 << 40), (KernelId::Copy, 1000)];
    let outcome = sweep::run(&plan(&points), &mut mock, &mut watcher).unwrap();
    assert_eq!((outcome.ok, outcome.skipped), (1, 1));
    let reason = watcher.rows[0].reason.as_ref().unwrap();
    assert!(reason.contains("bytes of device memory"), "{reason}");
}
