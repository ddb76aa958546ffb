//! One problem after the other: outcome, error, fingerprint.

use crate::device::{Device, DeviceError, Result};
use crate::kernels::digest::{Fingerprint, fingerprint};
use crate::kernels::{Bench, KernelId, Problem, Size, bench};
use std::io::Write;

/// What came of a check.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Outcome {
    /// The result is right.
    Passed,
    /// Why it is wrong.
    Failed(String),
    /// Why it could not be run here.
    Skipped(String),
}

/// A problem that was checked.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Checked {
    pub(super) outcome: Outcome,
    /// Error over bound.
    ratio: Option<f64>,
    /// Of the output, if it was asked for and the problem ran.
    pub(super) fingerprint: Option<Fingerprint>,
}

/// Checks one problem, if it fits in the device's memory, on operands that start `offset`
/// elements past an aligned address.
///
/// # Errors
/// The device is lost; every other error is an outcome.
pub(super) fn check(
    device: &mut dyn Device,
    problem: &Problem,
    offset: u64,
    digest: bool,
) -> Result<Checked> {
    let checked = run(device, problem, offset, digest);
    device.release_all();
    let unchecked = |outcome| Checked {
        outcome,
        ratio: None,
        fingerprint: None,
    };
    match checked {
        Ok(checked) => Ok(checked),
        Err(error @ DeviceError::Lost { .. }) => Err(error),
        Err(error @ (DeviceError::OutOfMemory { .. } | DeviceError::Unsupported(_))) => {
            Ok(unchecked(Outcome::Skipped(error.to_string())))
        }
        Err(error) => Ok(unchecked(Outcome::Failed(error.to_string()))),
    }
}

fn run(device: &mut dyn Device, problem: &Problem, offset: u64, digest: bool) -> Result<Checked> {
    let needed = bench::bytes_needed(problem, device.info(), offset == 0)
        .map_err(|error| DeviceError::Unsupported(error.to_string()))?;
    let free = device.free_bytes()?;
    if needed > free {
        return Err(DeviceError::OutOfMemory {
            device: device.info().name.clone(),
            needed,
            free,
        });
    }
    let mut bench = Bench::at(device, problem.clone(), offset)?;
    // Every kernel's last run is the one on random data.
    let check = problem.kernel.kernel().verify(&mut bench)?;
    Ok(Checked {
        ratio: check
            .error
            .zip(check.error_bound)
            .and_then(|(error, bound)| (bound > 0.0).then(|| error / bound)),
        outcome: check.failure.map_or(Outcome::Passed, Outcome::Failed),
        fingerprint: digest.then(|| fingerprint(&mut bench)).transpose()?,
    })
}

/// The checks of one variant.
#[derive(Default)]
pub(super) struct Tally {
    pub(super) passed: usize,
    skipped: usize,
    /// Size and reason of each that failed.
    pub(super) failures: Vec<(Size, String)>,
    /// Largest error over its bound.
    worst: Option<f64>,
}

impl Tally {
    /// Adds a check.
    pub(super) fn add(&mut self, size: Size, checked: Checked) {
        self.worst = self.worst.into_iter().chain(checked.ratio).reduce(f64::max);
        match checked.outcome {
            Outcome::Passed => self.passed += 1,
            Outcome::Skipped(_) => self.skipped += 1,
            Outcome::Failed(reason) => self.failures.push((size, reason)),
        }
    }

    /// One line for the variant, and one for each failure.
    pub(super) fn print(
        &self,
        out: &mut dyn Write,
        kernel: KernelId,
        variant: &str,
    ) -> std::io::Result<()> {
        let worst = self.worst.map_or(String::new(), |worst| {
            format!(", largest error {:.1} % of its bound", 100.0 * worst)
        });
        let skipped = match self.skipped {
            0 => String::new(),
            skipped => format!(", {skipped} do not fit here"),
        };
        writeln!(
            out,
            "{:10} {:12} {:4} passed, {} failed{skipped}{worst}",
            kernel.name(),
            variant,
            self.passed,
            self.failures.len()
        )?;
        for (size, reason) in &self.failures {
            writeln!(out, "  FAILED at {size}: {reason}")?;
        }
        out.flush()
    }
}
