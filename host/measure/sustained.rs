//! A point under load for a given time.

use super::observed::Observed;
use super::{BATCH_S, Batches, Measurement, Subject, summarize, warm_up};
use crate::device::{Device, Result};
use std::time::Instant;

/// Part of the time after which the state counts as steady: power, temperature and clocks have
/// had as long to settle as they are then observed.
pub const SETTLING: f64 = 0.5;

/// Runs `subject` for `seconds` without a pause and measures the steady state: the samples,
/// clocks, power and throttle reasons of the second half (from `SETTLING` of the time on).
///
/// No stopping rule applies and nothing is retried: throttling is what is looked for.
/// `go_on` is asked between batches; `None` comes back if it said no.
///
/// # Errors
/// The device's error.
pub fn sustain(
    device: &mut dyn Device,
    subject: Subject<'_>,
    seconds: f64,
    go_on: &dyn Fn() -> bool,
) -> Result<Option<Measurement>> {
    let start = Instant::now();
    let Some(estimate) = warm_up(device, subject, seconds * SETTLING, go_on)? else {
        return Ok(None);
    };
    let mut batches = Batches::new(&estimate, BATCH_S);
    let (mut samples, mut observed) = (Vec::new(), Observed::default());
    loop {
        let before = start.elapsed().as_secs_f64();
        let times = batches.take(device, subject, seconds - before)?;
        if before >= seconds * SETTLING {
            samples.extend(times);
            observed.look(device)?;
        }
        let elapsed = start.elapsed().as_secs_f64();
        if elapsed + batches.sample_cost_s > seconds && !samples.is_empty() {
            let summary = summarize(&samples)?;
            return Ok(Some(observed.measurement(summary, batches.launches, false)));
        }
        if !go_on() {
            return Ok(None);
        }
    }
}
