//! When sampling stops, how many launches make a sample, what is measured again.

use crate::mock::{Mock, Timing, problem, quick_rules};
use rooftrace::device::{CacheState, Telemetry, Throttle};
use rooftrace::kernels::KernelId;
use rooftrace::measure::{Measurement, Rules, Subject, measure, sustain};
use std::time::{Duration, Instant};

fn measured(mock: &mut Mock, cache: CacheState, rules: &Rules) -> Measurement {
    let problem = problem(KernelId::Copy, 1024);
    let subject = Subject {
        problem: &problem,
        operands: &[],
        cache,
        baseline: None,
    };
    measure(mock, subject, rules, &|| true).unwrap().unwrap()
}

fn cold(mock: &mut Mock, rules: &Rules) -> Measurement {
    measured(mock, CacheState::Cold, rules)
}

#[test]
fn steady_times_converge_after_the_fewest_samples() {
    let mut mock = Mock::new();
    mock.pause = Duration::from_micros(100);
    let rules = Rules {
        max_time_s: 5.0,
        ..quick_rules()
    };
    let start = Instant::now();
    let measured = cold(&mut mock, &rules);
    assert!(measured.converged);
    assert!(measured.summary.samples >= rules.min_samples);
    assert_eq!(measured.summary.median, 1e-3);
    assert!(
        start.elapsed() < Duration::from_secs(2),
        "far from the limit"
    );
}

#[test]
fn sampling_goes_on_for_the_shortest_time() {
    let mut mock = Mock::new();
    mock.pause = Duration::from_micros(100);
    let rules = Rules {
        min_time_s: 0.2,
        max_time_s: 5.0,
        ..quick_rules()
    };
    let start = Instant::now();
    assert!(cold(&mut mock, &rules).converged);
    assert!(start.elapsed() >= Duration::from_millis(200));
}

#[test]
fn times_that_scatter_end_at_the_limit_and_say_so() {
    let mut mock = Mock::new();
    mock.pause = Duration::from_millis(1);
    // A factor of two between samples: the interval never gets narrow.
    mock.seconds = Box::new(|n| if n % 2 == 0 { 1e-3 } else { 2e-3 });
    let rules = Rules {
        max_time_s: 0.2,
        ..quick_rules()
    };
    let start = Instant::now();
    let measured = cold(&mut mock, &rules);
    assert!(!measured.converged);
    let noise = measured.summary.rel_noise.unwrap();
    assert!(noise > rules.noise, "{noise}");
    // Warm-up (50 ms), sampling (200 ms), and what a busy machine adds.
    assert!(start.elapsed() < Duration::from_secs(2));
}

#[test]
fn a_launch_longer_than_the_limit_is_launched_twice_in_all() {
    let mut mock = Mock::new();
    mock.pause = Duration::from_millis(30);
    mock.seconds = Box::new(|_| 30e-3);
    let rules = Rules {
        max_time_s: 0.01,
        ..quick_rules()
    };
    let measured = cold(&mut mock, &rules);
    // Once to warm up, once to measure.
    assert_eq!(mock.timings.len(), 2);
    assert!(
        mock.timings
            .iter()
            .all(|t| t.launches == 1 && t.samples == 1)
    );
    assert_eq!(measured.summary.samples, 1);
    assert_eq!(measured.summary.ci95, None);
    assert!(!measured.converged);
}

#[test]
fn no_sample_begins_that_would_end_after_the_limit() {
    let mut mock = Mock::new();
    mock.pause = Duration::from_millis(40);
    mock.seconds = Box::new(|_| 40e-3);
    let rules = Rules {
        max_time_s: 0.1,
        ..quick_rules()
    };
    let measured = cold(&mut mock, &rules);
    assert!(measured.summary.samples <= 2, "{:?}", mock.timings);
}

#[test]
fn short_launches_are_timed_together() {
    for (seconds, expected) in [(1e-3, 1), (100e-6, 1), (30e-6, 4), (3e-6, 34), (1e-9, 256)] {
        let mut mock = Mock::new();
        mock.seconds = Box::new(move |_| seconds);
        let rules = Rules {
            max_time_s: 5.0,
            ..quick_rules()
        };
        assert_eq!(cold(&mut mock, &rules).launches, expected, "{seconds} s");
    }
}

#[test]
fn a_sample_of_many_costly_launches_stays_within_the_limit() {
    let mut mock = Mock::new();
    // A short launch whose cache sweep takes a millisecond: 50 of them would be half the limit.
    mock.pause = Duration::from_millis(1);
    mock.seconds = Box::new(|_| 2e-6);
    let rules = Rules {
        max_time_s: 0.1,
        ..quick_rules()
    };
    let measured = cold(&mut mock, &rules);
    assert!(measured.launches <= 10, "{}", measured.launches);
    assert!(measured.summary.samples >= 5, "{:?}", measured.summary);
}

#[test]
fn batches_begin_short_and_at_most_double() {
    let mut mock = Mock::new();
    mock.pause = Duration::from_micros(20);
    let rules = Rules {
        min_time_s: 0.1,
        max_time_s: 1.0,
        ..quick_rules()
    };
    cold(&mut mock, &rules);
    let batches: Vec<u32> = mock
        .timings
        .iter()
        .skip_while(|timing| timing.samples == 1)
        .map(|timing| timing.samples)
        .collect();
    assert!(batches[0] <= 8, "{batches:?}");
    assert!(
        batches.windows(2).all(|pair| pair[1] <= 2 * pair[0]),
        "{batches:?}"
    );
}

#[test]
fn cold_and_warm_launches_are_never_mixed() {
    for cache in [CacheState::Cold, CacheState::Warm] {
        let mut mock = Mock::new();
        measured(&mut mock, cache, &quick_rules());
        let other = |timing: &&Timing| timing.cache != cache;
        assert_eq!(mock.timings.iter().find(other), None);
    }
}

/// A state with these throttle reasons.
fn throttled(reasons: Vec<Throttle>) -> Telemetry {
    Telemetry {
        clock_hz: Some(1.5e9),
        throttle: Some(reasons),
        ..Telemetry::default()
    }
}

/// Measures with a device that is throttled for its first `readings` readings.
fn throttled_for(reason: Throttle, readings: usize) -> (Measurement, usize) {
    let mut mock = Mock::new();
    mock.state = Box::new(move |n| {
        throttled(if n < readings {
            vec![reason]
        } else {
            Vec::new()
        })
    });
    let measured = cold(&mut mock, &quick_rules());
    let warm_ups = mock.timings.iter().filter(|t| t.samples == 1).count();
    (measured, warm_ups)
}

#[test]
fn a_thermal_event_is_measured_again_until_it_has_passed() {
    // The first attempt takes its reading before the samples while the card is hot.
    let (measured, _) = throttled_for(Throttle::Thermal, 1);
    assert_eq!(measured.thermal_retries, 1);
    assert_eq!(measured.throttle, Some(Vec::new()));
}

#[test]
fn heat_that_stays_ends_the_retries_and_marks_the_point() {
    let (measured, _) = throttled_for(Throttle::Thermal, usize::MAX);
    assert_eq!(measured.thermal_retries, quick_rules().thermal_retries);
    assert!(measured.throttled_by(Throttle::Thermal));
}

#[test]
fn a_power_cap_is_a_fact_of_the_card() {
    for reason in [Throttle::PowerCap, Throttle::Hardware] {
        let (measured, _) = throttled_for(reason, usize::MAX);
        assert_eq!(measured.thermal_retries, 0);
        assert!(measured.throttled_by(reason));
    }
}

#[test]
fn an_interruption_ends_the_cooling() {
    let mut mock = Mock::new();
    mock.state = Box::new(|_| throttled(vec![Throttle::Thermal]));
    let rules = Rules {
        cooling: Duration::from_secs(600),
        ..quick_rules()
    };
    let start = Instant::now();
    let problem = problem(KernelId::Copy, 1024);
    let subject = Subject {
        problem: &problem,
        operands: &[],
        cache: CacheState::Cold,
        baseline: None,
    };
    let go_on = || start.elapsed() < Duration::from_millis(200);
    assert_eq!(measure(&mut mock, subject, &rules, &go_on).unwrap(), None);
    assert!(start.elapsed() < Duration::from_secs(60));
}

#[test]
fn the_steady_state_is_that_of_the_second_half() {
    let mut mock = Mock::new();
    mock.pause = Duration::from_millis(1);
    let start = Instant::now();
    // Fast until 0.2 s, then slower and capped.
    let slow = move || start.elapsed() > Duration::from_millis(200);
    mock.seconds = Box::new(move |_| if slow() { 2e-3 } else { 1e-3 });
    mock.state = Box::new(move |_| {
        throttled(if slow() {
            vec![Throttle::PowerCap]
        } else {
            Vec::new()
        })
    });
    let problem = problem(KernelId::Copy, 1024);
    let subject = Subject {
        problem: &problem,
        operands: &[],
        cache: CacheState::Warm,
        baseline: None,
    };
    let steady = sustain(&mut mock, subject, 0.8, &|| true).unwrap().unwrap();
    assert_eq!(steady.summary.min, 2e-3);
    assert!(steady.throttled_by(Throttle::PowerCap));
    assert!(start.elapsed() >= Duration::from_millis(700));
    assert!(!steady.converged);
}
