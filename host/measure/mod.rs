//! Timing until the answer is known well enough.
//!
//! | item | what it is for |
//! |---|---|
//! | [`measure`] | warms up, takes samples in batches, and stops by [`Rules`] |
//! | [`sustain`] | keeps a point running and reports its steady state |
//! | [`stats`] | what samples say |
//!
//! How a sample is timed is the device's part ([`crate::device::Device::time`]). Cold and warm
//! launches are never mixed: a measurement has one state of the cache from its warm-up on.

mod observed;
pub mod stats;
mod sustained;
mod warm_up;

pub use sustained::sustain;

use crate::device::{CacheState, Device, DeviceError, DeviceKind, Region, Result, Throttle};
use crate::kernels::Problem;
use observed::Observed;
use stats::Summary;
use std::time::{Duration, Instant};
use warm_up::{Estimate, warm_up};

/// When to stop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rules {
    /// Fewest samples.
    pub min_samples: usize,
    /// Shortest sampling, in seconds, cache sweeps included.
    pub min_time_s: f64,
    /// Longest sampling, in seconds: it ends there whether the answer is known or not. No sample
    /// is begun that would end later, except the first.
    pub max_time_s: f64,
    /// Half-width of the median's 95 % interval, over the median, that is good enough.
    pub noise: f64,
    /// How often a point that ran into a thermal limit is measured again.
    pub thermal_retries: u32,
    /// How long the device cools before that.
    pub cooling: Duration,
}

impl Rules {
    /// The defaults: 10 samples, 0.5 s, 0.5 %; at most 3 s on a GPU and 1 s on a CPU, where
    /// other programs keep most points from converging.
    pub fn defaults(device: DeviceKind) -> Rules {
        let max_time_s = match device {
            DeviceKind::Cuda | DeviceKind::Vm => 3.0,
            DeviceKind::Cpu => 1.0,
        };
        Rules {
            min_samples: 10,
            min_time_s: 0.5,
            max_time_s,
            noise: 0.005,
            thermal_retries: 2,
            cooling: Duration::from_secs(2),
        }
    }

    /// For a first look: a tenth of the time, 2 %.
    pub fn quick(device: DeviceKind) -> Rules {
        let rules = Rules::defaults(device);
        Rules {
            min_time_s: 0.05,
            max_time_s: rules.max_time_s / 10.0,
            noise: 0.02,
            ..rules
        }
    }
}

/// By how much the time of one launch on a GPU differs between two CUDA contexts, and so between
/// two processes, in seconds, beyond what the samples of either say. No sample of one run can see
/// it: rows state it in their interval ([`crate::record::Row::sampling_interval`]).
///
/// Within a context the cold median of a short launch repeats to 0.03 us, 0.08 us at most. Another
/// context, of the same process or not, shifts all short launches together, and a few (copies of
/// 16Ki to 256Ki elements) by themselves as well. On one H200 21 launches below 20 us were timed in
/// three times five processes, 5 in six contexts; all medians of a series lay within 0.49 us of each
/// other, but for the copy of 64Ki elements, where it was 0.72 us in one series. This is the largest
/// of these ranges, rounded up: measured cold, and taken for warm launches too.
/// `tests/repeat.rs` holds it against the rows of the processes.
pub const BETWEEN_CONTEXTS_S: f64 = 0.75e-6;

/// What was measured at one point.
#[derive(Debug, Clone, PartialEq)]
pub struct Measurement {
    /// Seconds of one launch.
    pub summary: Summary,
    /// Seconds of one launch of the baseline.
    pub baseline: Option<Summary>,
    /// Launches of each sample.
    pub launches: u32,
    /// Whether sampling stopped because the answer was known well enough.
    pub converged: bool,
    /// Measurements thrown away before this one because a thermal limit held the clock back.
    pub thermal_retries: u32,
    /// Median of the core clocks measured before the samples and between their batches, in Hz.
    pub clock_hz: Option<f64>,
    /// Median of the power readings, in watts.
    pub power_w: Option<f64>,
    /// Highest temperature read, in degrees Celsius.
    pub temperature_c: Option<f64>,
    /// Reasons seen for a clock held back; `None` if the device does not tell.
    pub throttle: Option<Vec<Throttle>>,
}

impl Measurement {
    /// Whether this reason for a clock held back was seen.
    pub fn throttled_by(&self, reason: Throttle) -> bool {
        self.throttle
            .as_ref()
            .is_some_and(|seen| seen.contains(&reason))
    }
}

/// Shortest sample: well above the half microsecond that events resolve.
const SAMPLE_S: f64 = 100e-6;
/// Most launches of one sample.
const MOST_LAUNCHES: u32 = 256;
/// Length of a batch: how long an interruption or a clock reading waits.
const BATCH_S: f64 = 0.05;
/// Most samples of a batch.
const MOST_SAMPLES: f64 = 1000.0;
/// Samples of the first batch, at most; each batch is at most twice as long as the one before,
/// so that a wrong estimate of a sample's cost never makes a long batch.
const FIRST_BATCH: u32 = 8;
/// Steps in which the device cools: how long an interruption waits.
const COOLING_STEP: Duration = Duration::from_millis(50);

/// What is measured: a problem on filled operands, with the cache in this state.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// What is launched.
    pub problem: &'a Problem,
    /// Its operands, in the order of the kernel's.
    pub operands: &'a [Region],
    /// State of the last-level cache before each launch.
    pub cache: CacheState,
    /// What it is compared with, on the same operands: a batch of its samples follows each
    /// batch of the subject's, so that the ratio survives drifting clocks.
    pub baseline: Option<&'a Problem>,
}

impl<'a> Subject<'a> {
    /// The baseline as a subject of its own.
    fn other(self) -> Option<Subject<'a>> {
        let problem = self.baseline?;
        Some(Subject {
            problem,
            baseline: None,
            ..self
        })
    }
}

/// Measures one launch of `subject`.
///
/// A point that ran into a thermal limit is measured again, as often as the rules say; a power
/// cap is a fact of the card and is not. The last measurement is kept and marked in any case.
///
/// `go_on` is asked between batches; `None` comes back if it said no.
///
/// # Errors
/// The device's error.
pub fn measure(
    device: &mut dyn Device,
    subject: Subject<'_>,
    rules: &Rules,
    go_on: &dyn Fn() -> bool,
) -> Result<Option<Measurement>> {
    let mut retries = 0;
    loop {
        let Some(measured) = attempt(device, subject, rules, go_on)? else {
            return Ok(None);
        };
        if retries == rules.thermal_retries || !measured.throttled_by(Throttle::Thermal) {
            return Ok(Some(Measurement {
                thermal_retries: retries,
                ..measured
            }));
        }
        retries += 1;
        if !cool(rules.cooling, go_on) {
            return Ok(None);
        }
    }
}

/// Lets the device rest; says whether it was not interrupted.
fn cool(rest: Duration, go_on: &dyn Fn() -> bool) -> bool {
    let start = Instant::now();
    while let Some(left) = rest.checked_sub(start.elapsed()) {
        if !go_on() {
            return false;
        }
        std::thread::sleep(left.min(COOLING_STEP));
    }
    go_on()
}

/// One measurement, whatever the state of the device.
fn attempt(
    device: &mut dyn Device,
    subject: Subject<'_>,
    rules: &Rules,
    go_on: &dyn Fn() -> bool,
) -> Result<Option<Measurement>> {
    let Some(estimate) = warm_up(device, subject, rules.max_time_s, go_on)? else {
        return Ok(None);
    };
    let mut observed = Observed::default();
    observed.look(device)?;
    let most_s = rules.max_time_s / rules.min_samples.max(1) as f64;
    let mut batches = Batches::new(&estimate, most_s);
    let mut samples: Vec<f64> = Vec::new();
    let mut others: Vec<f64> = Vec::new();
    if let Some(other) = subject.other()
        && warm_up(device, other, rules.max_time_s, go_on)?.is_none()
    {
        return Ok(None);
    }
    let start = Instant::now();
    loop {
        let left_s = rules.max_time_s - start.elapsed().as_secs_f64();
        samples.extend(batches.take(device, subject, left_s)?);
        if let Some(other) = subject.other() {
            let count = samples.len() - others.len();
            others.extend(device.time(
                other.problem,
                other.operands,
                other.cache,
                batches.launches,
                count as u32,
            )?);
        }
        observed.look(device)?;

        let elapsed = start.elapsed().as_secs_f64();
        let summary = summarize(&samples)?;
        let known = samples.len() >= rules.min_samples
            && elapsed >= rules.min_time_s
            && summary.rel_noise.is_some_and(|noise| noise < rules.noise);
        if known || elapsed + batches.sample_cost_s > rules.max_time_s {
            return Ok(Some(Measurement {
                baseline: (!others.is_empty())
                    .then(|| summarize(&others))
                    .transpose()?,
                ..observed.measurement(summary, batches.launches, known)
            }));
        }
        if !go_on() {
            return Ok(None);
        }
    }
}

/// What the samples say.
fn summarize(samples: &[f64]) -> Result<Summary> {
    Summary::of(samples).map_err(|error| DeviceError::Call {
        call: "timing",
        reason: error.to_string(),
    })
}

/// Takes samples in batches of about [`BATCH_S`].
struct Batches {
    /// Launches of each sample.
    launches: u32,
    /// Seconds that one sample takes, the sweep of the cache included.
    sample_cost_s: f64,
    /// Samples of the next batch, at most.
    most: u32,
}

impl Batches {
    /// Batches whose samples take at most `most_s` seconds each, if one launch does.
    fn new(estimate: &Estimate, most_s: f64) -> Self {
        let wanted = (SAMPLE_S / estimate.launch_s)
            .ceil()
            .clamp(1.0, f64::from(MOST_LAUNCHES));
        let affordable = (most_s / estimate.cost_s).floor().max(1.0);
        let launches = wanted.min(affordable) as u32;
        Batches {
            launches,
            sample_cost_s: estimate.cost_s * f64::from(launches),
            most: FIRST_BATCH,
        }
    }

    /// Seconds of one launch, from each sample of the next batch, which ends within `left_s` if
    /// one sample does.
    fn take(
        &mut self,
        device: &mut dyn Device,
        subject: Subject<'_>,
        left_s: f64,
    ) -> Result<Vec<f64>> {
        let fitting = (BATCH_S.min(left_s) / self.sample_cost_s).clamp(1.0, MOST_SAMPLES) as u32;
        let batch = fitting.min(self.most);
        let start = Instant::now();
        let times = device.time(
            subject.problem,
            subject.operands,
            subject.cache,
            self.launches,
            batch,
        )?;
        self.sample_cost_s = start.elapsed().as_secs_f64() / f64::from(batch);
        self.most = batch.saturating_mul(2);
        Ok(times)
    }
}
