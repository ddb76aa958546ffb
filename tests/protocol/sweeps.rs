//! What rows of a sweep say: throttling, steady state, neighbours, what was there already.

use crate::mock::{Mock, Watcher, plan};
use rooftrace::device::{Telemetry, Throttle};
use rooftrace::kernels::KernelId;
use rooftrace::measure::BETWEEN_CONTEXTS_S;
use rooftrace::record::{Row, Status};
use rooftrace::roofline::peak::ComputeCapability;
use rooftrace::sweep::{self, Stop};
use std::time::Duration;

const POINTS: [(KernelId, u64); 3] = [
    (KernelId::Copy, 1000),
    (KernelId::Copy, 2000),
    (KernelId::Triad, 1000),
];

fn hot(reason: Throttle) -> Box<dyn FnMut(usize) -> Telemetry> {
    Box::new(move |_| Telemetry {
        clock_hz: Some(1.2e9),
        power_w: Some(700.0),
        temperature_c: Some(90.0),
        throttle: Some(vec![reason]),
    })
}

#[test]
fn throttled_points_are_kept_and_marked() {
    for (reason, name, times) in [
        (Throttle::Thermal, "thermal", Some("measured 3 times")),
        (Throttle::PowerCap, "power-cap", None),
    ] {
        let mut mock = Mock::new();
        mock.state = hot(reason);
        let mut watcher = Watcher::default();
        let outcome = sweep::run(&plan(&POINTS), &mut mock, &mut watcher).unwrap();
        assert_eq!(outcome.ok, POINTS.len());
        for row in &watcher.rows {
            assert_eq!(row.throttle.as_deref(), Some(name));
            assert_eq!(row.sm_clock_hz, Some(1.2e9));
            assert_eq!((row.power_w, row.temperature_c), (Some(700.0), Some(90.0)));
            let said = row.reason.as_deref().unwrap_or_default();
            assert_eq!(
                times.is_some_and(|t| said.contains(t)),
                times.is_some(),
                "{said}"
            );
        }
    }
}

#[test]
fn a_sustained_point_has_a_row_for_the_burst_and_one_for_the_steady_state() {
    let mut mock = Mock::new();
    mock.pause = Duration::from_micros(100);
    let mut plan = plan(&POINTS[..1]);
    plan.sustained_s = Some(0.1);
    let mut watcher = Watcher::default();
    sweep::run(&plan, &mut mock, &mut watcher).unwrap();
    let [burst, steady] = watcher.rows.as_slice() else {
        panic!("{} rows", watcher.rows.len());
    };
    assert!(burst.converged.is_some() && !burst.is_steady_state());
    assert!(steady.converged.is_none() && steady.is_steady_state());
    assert!(steady.time_median_s.is_some() && steady.verified == Some(true));
    let said = steady.reason.as_ref().unwrap();
    assert!(
        said.contains("steady state: the second half of 0.1 s"),
        "{said}"
    );

    // A file that has only the burst lacks the steady state, and nothing else.
    let mut rest = Watcher {
        known: vec![burst.clone()],
        ..Watcher::default()
    };
    sweep::run(&plan, &mut Mock::new(), &mut rest).unwrap();
    assert_eq!(rest.rows.len(), 1);
    assert!(rest.rows[0].is_steady_state());
}

#[test]
fn on_a_gpu_the_interval_covers_other_processes_and_the_stopping_rule_does_not() {
    // Every sample takes as long: the interval of the samples has no width.
    let swept = |capability: Option<ComputeCapability>| {
        let mut mock = Mock::new();
        mock.info.compute_capability = capability;
        mock.seconds = Box::new(|_| 5e-6);
        let mut watcher = Watcher::default();
        let mut plan = plan(&POINTS[..1]);
        plan.rules.max_time_s = 1.0;
        sweep::run(&plan, &mut mock, &mut watcher).unwrap();
        watcher.rows.remove(0)
    };
    let stated = |row: &Row| (row.time_ci95_low_s.unwrap(), row.time_ci95_high_s.unwrap());

    let cpu = swept(None);
    assert_eq!(stated(&cpu), (5e-6, 5e-6));
    assert_eq!(cpu.reason, None);

    let gpu = swept(Some(ComputeCapability { major: 9, minor: 0 }));
    let (low, high) = stated(&gpu);
    assert!((low - (5e-6 - BETWEEN_CONTEXTS_S)).abs() < 1e-15, "{low}");
    assert!((high - (5e-6 + BETWEEN_CONTEXTS_S)).abs() < 1e-15, "{high}");
    assert_eq!((gpu.time_rel_noise, gpu.converged), (Some(0.0), Some(true)));
    let said = gpu.reason.as_deref().unwrap();
    assert!(said.contains("another process may find 0.75 µs"), "{said}");
    let (low, high) = gpu.sampling_interval().unwrap();
    assert!((low - 5e-6).abs() < 1e-15 && (high - 5e-6).abs() < 1e-15);
}

#[test]
fn points_measured_beside_another_process_are_marked_and_told_once() {
    let mut mock = Mock::new();
    mock.others = vec![4711];
    let mut watcher = Watcher::default();
    sweep::run(&plan(&POINTS), &mut mock, &mut watcher).unwrap();
    assert_eq!(watcher.neighbours, [[4711]]);
    for row in &watcher.rows {
        assert!(row.reason.as_ref().unwrap().contains("PID 4711"));
    }
}

#[test]
fn an_interrupted_sweep_goes_on_where_it_stopped() {
    let mut first = Watcher {
        stop_after: Some(1),
        ..Watcher::default()
    };
    let stopped = sweep::run(&plan(&POINTS), &mut Mock::new(), &mut first);
    assert!(matches!(stopped, Err(Stop::Interrupted)));
    assert_eq!(first.rows.len(), 1);

    let mut second = Watcher {
        known: first.rows.clone(),
        ..Watcher::default()
    };
    let outcome = sweep::run(&plan(&POINTS), &mut Mock::new(), &mut second).unwrap();
    assert_eq!((outcome.ok, outcome.resumed), (2, 1));
    let all: Vec<(&str, u64)> = first
        .rows
        .iter()
        .chain(&second.rows)
        .map(|row: &Row| (row.kernel.as_str(), row.n))
        .collect();
    let expected: Vec<(&str, u64)> = POINTS.iter().map(|(id, n)| (id.name(), *n)).collect();
    assert_eq!(all, expected);
    assert!(second.rows.iter().all(|row| row.status == Status::Ok));
}

#[test]
fn a_point_above_the_measured_roof_says_why() {
    let mut mock = Mock::new();
    // The roofs come first: copy, later, is a thousand times as fast.
    mock.seconds = Box::new(|_| 1e-3);
    let mut watcher = Watcher::default();
    sweep::run(
        &plan(&[(KernelId::Copy, 10_000_000)]),
        &mut mock,
        &mut watcher,
    )
    .unwrap();
    let row = &watcher.rows[0];
    assert!(row.fraction_of_roof.unwrap() > 1.0, "not clamped");
    assert!(row.reason.as_ref().unwrap().contains("faster"));
}
