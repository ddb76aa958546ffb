//! What `compare` may and may not say about two files.

use proptest::prelude::*;
use rooftrace::measure::BETWEEN_CONTEXTS_S;
use rooftrace::record::compare::DEFAULT_THRESHOLD;
use rooftrace::record::{Cache, CompareError, Row, Status, Verdict, compare};

/// A measured point: median and half-width of the interval in seconds, clock in Hz.
fn row(n: u64, median: f64, half_width: f64, clock: Option<f64>) -> Row {
    Row {
        device: "mock".to_owned(),
        kernel: "copy".to_owned(),
        variant: "vector".to_owned(),
        n,
        status: Status::Ok,
        converged: Some(true),
        time_median_s: Some(median),
        time_ci95_low_s: Some(median - half_width),
        time_ci95_high_s: Some(median + half_width),
        sm_clock_hz: clock,
        ..Row::default()
    }
}

/// The verdict on one point.
fn verdict(old: &Row, new: &Row) -> (Verdict, Option<String>) {
    let (old, new) = ([old.clone()], [new.clone()]);
    let points = compare(&old, &new, DEFAULT_THRESHOLD, false).unwrap();
    assert_eq!(points.len(), 1);
    (points[0].verdict, points[0].reason.clone())
}

#[test]
fn a_change_counts_only_beyond_threshold_and_intervals() {
    let old = row(1, 1.0, 0.001, Some(1e9));
    for (median, half_width, expected) in [
        (1.0, 0.001, Verdict::Same),
        (1.019, 0.001, Verdict::Same),
        (1.05, 0.001, Verdict::Slower),
        (0.95, 0.001, Verdict::Faster),
        // The medians part by more than the threshold, the intervals do not.
        (1.05, 0.04, Verdict::Ambiguous),
        (0.95, 0.04, Verdict::Ambiguous),
    ] {
        let new = row(1, median, half_width, Some(1e9));
        assert_eq!(verdict(&old, &new).0, expected, "{median} ± {half_width}");
    }
}

#[test]
fn a_clock_that_drifts_is_no_regression() {
    let old = row(1, 1.0, 0.001, Some(2e9));
    // 5 % more time at a clock 5 % lower: the same cycles.
    let (found, reason) = verdict(&old, &row(1, 1.05, 0.001, Some(2e9 / 1.05)));
    assert_eq!(found, Verdict::Ambiguous);
    let reason = reason.unwrap();
    assert!(reason.contains("4.8 % lower"), "{reason}");
    // The same loss of time at the same clock is one.
    assert_eq!(
        verdict(&old, &row(1, 1.05, 0.001, Some(2e9))).0,
        Verdict::Slower
    );
    // Without clocks time decides alone.
    let unknown = row(1, 1.0, 0.001, None);
    assert_eq!(
        verdict(&unknown, &row(1, 1.05, 0.001, None)).0,
        Verdict::Slower
    );
}

#[test]
fn on_a_gpu_what_two_processes_may_differ_by_is_the_same() {
    let on_gpu = |median: f64| Row {
        compute_capability: Some("9.0".to_owned()),
        ..row(1, median, 0.001 * median, Some(1e9))
    };
    // 7 % of a launch of 6 us, as seen between two runs of one program; 21 % are more than that.
    assert_eq!(verdict(&on_gpu(6.18e-6), &on_gpu(6.60e-6)).0, Verdict::Same);
    assert_eq!(
        verdict(&on_gpu(6.18e-6), &on_gpu(7.5e-6)).0,
        Verdict::Slower
    );
    // It is no excuse for a long one.
    assert_eq!(
        verdict(&on_gpu(6.18e-4), &on_gpu(6.60e-4)).0,
        Verdict::Slower
    );
}

#[test]
fn what_two_processes_may_differ_by_counts_once_whether_rows_state_it_or_are_older() {
    let beyond = BETWEEN_CONTEXTS_S;
    let noise = 0.001;
    let older = |median: f64| Row {
        compute_capability: Some("9.0".to_owned()),
        time_rel_noise: Some(noise),
        ..row(1, median, noise * median, Some(1e9))
    };
    let stating = |median: f64| Row {
        time_ci95_low_s: Some(median - noise * median - beyond),
        time_ci95_high_s: Some(median + noise * median + beyond),
        ..older(median)
    };
    let close = |a: f64, b: f64| (a - b).abs() < 1e-15;
    for row in [older(5e-6), stating(5e-6)] {
        let (low, high) = row.sampling_interval().unwrap();
        assert!(
            close(low, 4.995e-6) && close(high, 5.005e-6),
            "{low} {high}"
        );
    }
    let old = 5e-6;
    // The nearer ends of the samples' intervals part by the threshold and by just more or less
    // than what two processes may differ by.
    let edge = (old * (1.0 + noise) * (1.0 + DEFAULT_THRESHOLD) + beyond) / (1.0 - noise);
    for (new, expected) in [
        (old + 0.9 * beyond, Verdict::Same),
        (edge * 0.999, Verdict::Ambiguous),
        (edge * 1.001, Verdict::Slower),
    ] {
        for before in [older(old), stating(old)] {
            for after in [older(new), stating(new)] {
                assert_eq!(verdict(&before, &after).0, expected, "{new}");
            }
        }
    }
}

#[test]
fn too_few_samples_never_make_a_regression() {
    let without = |median| Row {
        time_ci95_low_s: None,
        time_ci95_high_s: None,
        ..row(1, median, 0.0, Some(1e9))
    };
    let (found, reason) = verdict(&without(1.0), &without(2.0));
    assert_eq!(found, Verdict::Ambiguous);
    assert!(reason.unwrap().contains("too few samples"));
    assert_eq!(verdict(&without(1.0), &without(1.0)).0, Verdict::Same);
}

#[test]
fn a_point_that_fails_now_is_a_regression_and_one_that_is_missing_is_named() {
    let good = row(1, 1.0, 0.001, None);
    let failed = Row {
        status: Status::Failed,
        reason: Some("element 7: wrong".to_owned()),
        time_median_s: None,
        ..good.clone()
    };
    let (found, reason) = verdict(&good, &failed);
    assert!(found == Verdict::Broken && found.is_regression());
    assert_eq!(reason.as_deref(), Some("element 7: wrong"));
    assert_eq!(verdict(&failed, &good).0, Verdict::Mended);
    assert_eq!(verdict(&failed, &failed).0, Verdict::NotMeasured);

    let other = row(2, 1.0, 0.001, None);
    let (old, new) = ([good], [other]);
    let points = compare(&old, &new, DEFAULT_THRESHOLD, false).unwrap();
    let verdicts: Vec<Verdict> = points.iter().map(|point| point.verdict).collect();
    assert_eq!(verdicts, [Verdict::OnlyOld, Verdict::OnlyNew]);
}

#[test]
fn points_are_matched_by_work_not_by_run_or_seed() {
    let old = row(1, 1.0, 0.001, None);
    let new = Row {
        seed: 99,
        run_id: "another".to_owned(),
        ..old.clone()
    };
    assert_eq!(verdict(&old, &new).0, Verdict::Same);
    // Warm and cold, burst and steady state are different points.
    let warm = Row {
        cache: Cache::Warm,
        ..old.clone()
    };
    let steady = Row {
        converged: None,
        ..old.clone()
    };
    for other in [warm, steady] {
        let (old, new) = ([old.clone()], [other]);
        assert_eq!(
            compare(&old, &new, DEFAULT_THRESHOLD, false).unwrap().len(),
            2
        );
    }
}

#[test]
fn other_devices_are_refused_unless_asked_for() {
    let old = row(1, 1.0, 0.001, None);
    let new = Row {
        device: "another".to_owned(),
        ..old.clone()
    };
    let (old, new) = ([old], [new]);
    let error = compare(&old, &new, DEFAULT_THRESHOLD, false).unwrap_err();
    assert!(matches!(error, CompareError::Devices { .. }));
    assert!(error.to_string().contains("--across-devices"), "{error}");
    assert_eq!(
        compare(&old, &new, DEFAULT_THRESHOLD, true).unwrap().len(),
        1
    );
}

/// Any row, its interval not even in order.
fn any_row() -> impl Strategy<Value = Row> {
    let time = || prop::option::of(1e-9..10.0f64);
    let status = prop::sample::select(vec![Status::Ok, Status::Skipped, Status::Failed]);
    let clock = prop::option::of(1e8..3e9f64);
    (1..4u64, time(), time(), time(), clock, status).prop_map(
        |(n, median, low, high, sm_clock_hz, status)| Row {
            time_median_s: median,
            time_ci95_low_s: low,
            time_ci95_high_s: high,
            sm_clock_hz,
            status,
            ..row(n, 1.0, 0.0, None)
        },
    )
}

proptest! {
    #[test]
    fn a_file_never_differs_from_itself(
        rows in prop::collection::vec(any_row(), 0..12),
        threshold in 0.0..0.5f64,
    ) {
        for point in compare(&rows, &rows, threshold, false).unwrap() {
            prop_assert!(
                matches!(point.verdict, Verdict::Same | Verdict::NotMeasured),
                "{:?}", point
            );
        }
    }

    #[test]
    fn exchanging_the_files_exchanges_the_verdicts(
        old in prop::collection::vec(any_row(), 0..12),
        new in prop::collection::vec(any_row(), 0..12),
        threshold in 0.0..0.5f64,
    ) {
        let mirrored = |verdict| match verdict {
            Verdict::Slower => Verdict::Faster,
            Verdict::Faster => Verdict::Slower,
            Verdict::OnlyOld => Verdict::OnlyNew,
            Verdict::OnlyNew => Verdict::OnlyOld,
            other => other,
        };
        let there = compare(&old, &new, threshold, true).unwrap();
        let back = compare(&new, &old, threshold, true).unwrap();
        prop_assert_eq!(there.len(), back.len());
        for point in &there {
            let size = point.row().map(|row| row.n);
            let twin = back.iter().find(|other| other.row().map(|row| row.n) == size);
            // A point that was lost has no mirror image: failing is no slower or faster.
            if point.time_ratio.is_some() {
                prop_assert_eq!(twin.map(|twin| twin.verdict), Some(mirrored(point.verdict)));
            }
        }
    }

    #[test]
    fn a_real_loss_is_always_found(
        median in 1e-6..1.0f64,
        noise in 0.0..0.005f64,
        loss in 1.06..3.0f64,
        clock in prop::option::of(1e9..2e9f64),
    ) {
        let old = row(1, median, noise * median, clock);
        let new = row(1, median * loss, noise * median * loss, clock);
        prop_assert_eq!(verdict(&old, &new).0, Verdict::Slower);
        prop_assert_eq!(verdict(&new, &old).0, Verdict::Faster);
    }
}
