//! Timing until the answer is known well enough.
//!
//! [`measure`] warms up, takes samples in batches, and stops by [`Rules`]; the device decides
//! how a sample is timed ([`crate::device::Device::time`]), [`stats`] what samples say.

pub mod stats;

use crate::device::{CacheState, Device, DeviceError, DeviceKind, Region, Result, Throttle};
use crate::kernels::Problem;
use stats::Summary;
use std::time::{Duration, Instant};

/// When to stop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rules {
    /// Fewest samples.
    pub min_samples: usize,
    /// Shortest sampling, in seconds.
    pub min_time_s: f64,
    /// Longest sampling, in seconds: it ends there whether the answer is known or not.
    pub max_time_s: f64,
    /// Half-width of the median's 95 % interval, over the median, that is good enough.
    pub noise: f64,
}

impl Rules {
    /// The defaults: 10 samples, 0.5 s, 0.5 %; at most 3 s on a GPU and 1 s on a CPU, where
    /// other programs keep most points from converging.
    pub fn defaults(device: DeviceKind) -> Rules {
        let max_time_s = match device {
            DeviceKind::Cuda => 3.0,
            DeviceKind::Cpu => 1.0,
        };
        Rules {
            min_samples: 10,
            min_time_s: 0.5,
            max_time_s,
            noise: 0.005,
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

/// What was measured at one point.
#[derive(Debug, Clone, PartialEq)]
pub struct Measurement {
    /// Seconds of one launch.
    pub summary: Summary,
    /// Launches of each sample.
    pub launches: u32,
    /// Whether sampling stopped because the answer was known well enough.
    pub converged: bool,
    /// Median of the core clocks measured between the batches, in Hz.
    pub clock_hz: Option<f64>,
    /// Median of the power readings, in watts.
    pub power_w: Option<f64>,
    /// Highest temperature read, in degrees Celsius.
    pub temperature_c: Option<f64>,
    /// Reasons seen for a clock held back; `None` if the device does not tell.
    pub throttle: Option<Vec<Throttle>>,
}

/// Shortest sample: well above the half microsecond that events resolve.
const SAMPLE_S: f64 = 100e-6;
/// Most launches of one sample.
const MOST_LAUNCHES: u32 = 256;
/// Shortest warm-up: clocks rise within it.
const WARM_UP_S: f64 = 0.05;
/// Fewest launches of the warm-up: the first loads and compiles.
const WARM_UP_LAUNCHES: u32 = 3;
/// Length of a batch: how long an interruption or a clock reading waits.
const BATCH_S: f64 = 0.05;
/// How often a point that ran into a thermal limit is measured again.
const THERMAL_RETRIES: u32 = 2;
/// How long the device cools before that.
const COOLING: Duration = Duration::from_secs(2);

/// Measures one launch of `problem` on filled operands.
///
/// `go_on` is asked between batches; `None` comes back if it said no.
///
/// # Errors
/// The device's error.
pub fn measure(
    device: &mut dyn Device,
    problem: &Problem,
    operands: &[Region],
    cache: CacheState,
    rules: &Rules,
    go_on: &dyn Fn() -> bool,
) -> Result<Option<Measurement>> {
    for retry in 0.. {
        let measured = attempt(device, problem, operands, cache, rules, go_on)?;
        let Some(measurement) = measured else {
            return Ok(None);
        };
        // A power cap is a fact of the card; heat passes.
        let thermal = measurement
            .throttle
            .as_ref()
            .is_some_and(|seen| seen.contains(&Throttle::Thermal));
        if !thermal || retry == THERMAL_RETRIES || !go_on() {
            return Ok(Some(measurement));
        }
        std::thread::sleep(COOLING);
    }
    unreachable!("the loop returns at the last retry")
}

/// One measurement, whatever the state of the device.
fn attempt(
    device: &mut dyn Device,
    problem: &Problem,
    operands: &[Region],
    cache: CacheState,
    rules: &Rules,
    go_on: &dyn Fn() -> bool,
) -> Result<Option<Measurement>> {
    let Some(estimate) = warm_up(device, problem, operands, cache, rules, go_on)? else {
        return Ok(None);
    };
    let launches = (SAMPLE_S / estimate.launch_s)
        .ceil()
        .clamp(1.0, f64::from(MOST_LAUNCHES)) as u32;
    let mut samples: Vec<f64> = Vec::new();
    let mut observed = Observed::default();
    let mut sample_cost_s = estimate.cost_s * f64::from(launches);
    let start = Instant::now();
    loop {
        let left_s = rules.max_time_s - start.elapsed().as_secs_f64();
        let batch = (BATCH_S.min(left_s) / sample_cost_s).clamp(1.0, 1000.0) as u32;
        let batch_start = Instant::now();
        samples.extend(device.time(problem, operands, cache, launches, batch)?);
        sample_cost_s = batch_start.elapsed().as_secs_f64() / f64::from(batch);
        observed.look(device)?;

        let elapsed = start.elapsed().as_secs_f64();
        let summary = Summary::of(&samples).map_err(|error| DeviceError::Call {
            call: "timing",
            reason: error.to_string(),
        })?;
        let known = samples.len() >= rules.min_samples
            && elapsed >= rules.min_time_s
            && summary.rel_noise.is_some_and(|noise| noise < rules.noise);
        if known || elapsed >= rules.max_time_s {
            return Ok(Some(observed.measurement(summary, launches, known)));
        }
        if !go_on() {
            return Ok(None);
        }
    }
}

/// What the warm-up tells.
struct Estimate {
    /// Seconds of one launch.
    launch_s: f64,
    /// Seconds that timing one launch takes, the sweep of the cache included.
    cost_s: f64,
}

/// Launches until load, compilation and rising clocks are past.
fn warm_up(
    device: &mut dyn Device,
    problem: &Problem,
    operands: &[Region],
    cache: CacheState,
    rules: &Rules,
    go_on: &dyn Fn() -> bool,
) -> Result<Option<Estimate>> {
    let start = Instant::now();
    let mut launches = 0;
    // The samples themselves take that long at least: no need to warm up for longer.
    let enough_s = WARM_UP_S.min(rules.max_time_s);
    loop {
        let round = Instant::now();
        let times = device.time(problem, operands, cache, 1, 1)?;
        launches += 1;
        if launches >= WARM_UP_LAUNCHES && start.elapsed().as_secs_f64() >= enough_s {
            let launch_s = times.first().copied().unwrap_or(0.0).max(1e-7);
            return Ok(Some(Estimate {
                launch_s,
                cost_s: round.elapsed().as_secs_f64(),
            }));
        }
        if !go_on() {
            return Ok(None);
        }
    }
}

/// Readings taken between batches.
#[derive(Default)]
struct Observed {
    clocks: Vec<f64>,
    powers: Vec<f64>,
    temperature: Option<f64>,
    throttle: Option<Vec<Throttle>>,
}

impl Observed {
    /// Takes a reading.
    fn look(&mut self, device: &mut dyn Device) -> Result<()> {
        let now = device.telemetry()?;
        self.clocks.extend(now.clock_hz);
        self.powers.extend(now.power_w);
        self.temperature = self
            .temperature
            .into_iter()
            .chain(now.temperature_c)
            .reduce(f64::max);
        if let Some(reasons) = now.throttle {
            let seen = self.throttle.get_or_insert_default();
            for reason in reasons {
                if !seen.contains(&reason) {
                    seen.push(reason);
                }
            }
        }
        Ok(())
    }

    /// The measurement with what was read along it.
    fn measurement(self, summary: Summary, launches: u32, converged: bool) -> Measurement {
        let median = |values: &[f64]| Summary::of(values).ok().map(|summary| summary.median);
        Measurement {
            summary,
            launches,
            converged,
            clock_hz: median(&self.clocks),
            power_w: median(&self.powers),
            temperature_c: self.temperature,
            throttle: self.throttle,
        }
    }
}
