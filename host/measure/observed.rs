//! Clock, power, temperature and throttle reasons along a measurement.

use super::Measurement;
use super::stats::Summary;
use crate::device::{Device, Result, Throttle};

/// Readings taken around the batches.
#[derive(Default)]
pub(super) struct Observed {
    clocks: Vec<f64>,
    powers: Vec<f64>,
    temperature: Option<f64>,
    throttle: Option<Vec<Throttle>>,
}

impl Observed {
    /// Takes a reading.
    pub(super) fn look(&mut self, device: &mut dyn Device) -> Result<()> {
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
    pub(super) fn measurement(
        self,
        summary: Summary,
        launches: u32,
        converged: bool,
    ) -> Measurement {
        let median = |values: &[f64]| Summary::of(values).ok().map(|summary| summary.median);
        Measurement {
            summary,
            baseline: None,
            launches,
            converged,
            thermal_retries: 0,
            clock_hz: median(&self.clocks),
            power_w: median(&self.powers),
            temperature_c: self.temperature,
            throttle: self.throttle,
        }
    }
}
