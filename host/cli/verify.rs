//! `rooftrace verify`: are the results right, and are the measurements what they claim to be?
//!
//! | module | what it is for |
//! |---|---|
//! | `audit` | the self-audit's table |
//! | `counters` | counted bytes and FLOPs against the hardware's counters |

mod audit;
mod counters;

use super::Verbosity;
use super::error::CliError;
use super::sweep::request::{kernels, sizes};
use crate::device::{self, DeviceChoice, DeviceError};
use crate::kernels::{Bench, Check, Data, KernelId, Problem, Size, bench};
use std::io::Write;
use std::path::PathBuf;

/// Check every kernel and variant over ragged sizes, and audit the measurements.
///
/// Results are checked on the device's real output, over sizes at which edges show: around tiles,
/// vectors and blocks, and matrices with three different sides. With all kernels at their own
/// sizes the program then audits its measurements: is its peak kernel right of the ridge point,
/// do its arrays exceed the cache, is time in proportion to work, do zeros run faster, does the
/// same point give the same time, is a point above its roof explained. Exit code 1 on any failure.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = "Examples:
  rooftrace verify
      everything, the audit too
  rooftrace verify sgemm --sizes 2360,4097,33x1000x7 --seed 7
      one kernel at these sizes, without the audit
  rooftrace verify --counters --out counters.csv
      counted bytes and FLOPs against the GPU's own counters, through Nsight Compute (ncu)")]
pub struct VerifyArgs {
    /// Kernels, separated by spaces or commas
    #[arg(default_value = "all", value_name = "KERNEL")]
    pub kernels: Vec<String>,

    /// Sizes instead of the kernel's own ragged ones, in the grammar of `sweep --sizes`
    #[arg(short, long, value_name = "SIZES", allow_hyphen_values = true)]
    pub sizes: Option<String>,

    /// auto, cpu, cuda or cuda:I
    #[arg(short, long, value_name = "DEVICE", default_value = "auto")]
    pub device: DeviceChoice,

    /// Seed of the operands
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub seed: u64,

    /// A short audit: a tenth of the sampling
    #[arg(long, conflicts_with_all = ["counters", "sizes"])]
    pub quick: bool,

    /// Compare counted bytes and FLOPs with the GPU's counters, through `ncu`, and do nothing else
    #[arg(long, conflicts_with = "sizes")]
    pub counters: bool,

    /// File for the report of --counters: CSV, or JSON if it is named so
    #[arg(short, long, value_name = "PATH", requires = "counters")]
    pub out: Option<PathBuf>,

    /// Run this launch once, and nothing else: what --counters profiles
    #[arg(long, value_name = "KERNEL:VARIANT:SIZE", hide = true)]
    pub once: Vec<String>,
}

/// The checks of one variant.
#[derive(Default)]
struct Tally {
    passed: usize,
    skipped: usize,
    /// Size and reason of each that failed.
    failures: Vec<(Size, String)>,
    /// Largest error over its bound.
    worst: Option<f64>,
}

/// Checks, and prints one line a variant; then the audit.
///
/// # Errors
/// Bad input; no device; [`CliError::Failed`] if a check fails.
pub fn run(args: &VerifyArgs, verbosity: Verbosity, out: &mut dyn Write) -> Result<(), CliError> {
    if !args.once.is_empty() {
        return counters::once(args);
    }
    if args.counters {
        return counters::run(args, verbosity, out);
    }
    let plan: Vec<(KernelId, Vec<Size>)> = kernels(&args.kernels)?
        .into_iter()
        .map(|id| {
            let text = args
                .sizes
                .as_deref()
                .unwrap_or_else(|| id.kernel().ragged_sizes());
            Ok((id, sizes(id, text)?))
        })
        .collect::<Result<_, CliError>>()?;
    let mut opened = super::open_device(args.device, None)?;
    let device = opened.device.as_mut();
    if verbosity >= Verbosity::Normal {
        // If stderr is closed there is nobody to tell.
        let _ = writeln!(anstream::stderr(), "checking {}", device.info().name);
    }
    let mut failed = 0;
    for (id, sizes) in plan {
        for variant in id.kernel().variants(device.info().kind) {
            let tally = check_variant(device, id, variant.name, &sizes, args.seed)?;
            failed += tally.failures.len();
            print(out, id, variant.name, &tally)?;
        }
    }
    if args.sizes.is_none() && args.kernels == ["all"] {
        failed += audit::run(device, args.seed, args.quick, out)?;
    }
    match failed {
        0 => Ok(()),
        1 => Err(CliError::Failed("1 check failed".to_owned())),
        _ => Err(CliError::Failed(format!("{failed} checks failed"))),
    }
}

/// Checks one variant at every size.
fn check_variant(
    device: &mut dyn device::Device,
    kernel: KernelId,
    variant: &'static str,
    sizes: &[Size],
    seed: u64,
) -> Result<Tally, DeviceError> {
    let mut tally = Tally::default();
    for &size in sizes {
        let problem = Problem {
            kernel,
            variant,
            size,
            seed,
            data: Data::Random,
        };
        let checked = check(device, &problem);
        device.release_all();
        match checked {
            Ok(check) => {
                let ratio = check
                    .error
                    .zip(check.error_bound)
                    .and_then(|(error, bound)| (bound > 0.0).then(|| error / bound));
                tally.worst = tally.worst.into_iter().chain(ratio).reduce(f64::max);
                match check.failure {
                    None => tally.passed += 1,
                    Some(reason) => tally.failures.push((size, reason)),
                }
            }
            Err(error @ DeviceError::Lost { .. }) => return Err(error),
            Err(DeviceError::OutOfMemory { .. } | DeviceError::Unsupported(_)) => {
                tally.skipped += 1
            }
            Err(error) => tally.failures.push((size, error.to_string())),
        }
    }
    Ok(tally)
}

/// Checks one problem, if it fits in the device's memory.
fn check(device: &mut dyn device::Device, problem: &Problem) -> device::Result<Check> {
    let needed = bench::bytes_needed(problem, device.info())
        .map_err(|error| DeviceError::Unsupported(error.to_string()))?;
    let free = device.free_bytes()?;
    if needed > free {
        return Err(DeviceError::OutOfMemory {
            device: device.info().name.clone(),
            needed,
            free,
        });
    }
    problem
        .kernel
        .kernel()
        .verify(&mut Bench::new(device, problem.clone())?)
}

/// One line a variant, and one for each failure.
fn print(
    out: &mut dyn Write,
    kernel: KernelId,
    variant: &str,
    tally: &Tally,
) -> std::io::Result<()> {
    let worst = tally.worst.map_or(String::new(), |worst| {
        format!(", largest error {:.1} % of its bound", 100.0 * worst)
    });
    let skipped = match tally.skipped {
        0 => String::new(),
        skipped => format!(", {skipped} do not fit here"),
    };
    writeln!(
        out,
        "{:6} {:9} {:4} passed, {} failed{skipped}{worst}",
        kernel.name(),
        variant,
        tally.passed,
        tally.failures.len()
    )?;
    for (size, reason) in &tally.failures {
        writeln!(out, "  FAILED at {size}: {reason}")?;
    }
    out.flush()
}
