//! `rooftrace count`: FLOPs and bytes counted from the PTX that runs, beside the model.

use super::error::CliError;
use super::render::{Cell, Column, Format, Sheet};
use super::sweep::form::FormArgs;
use super::sweep::request::{kernels, no_variant, sizes, wrong_variant};
use crate::count::{self, Counted, TOLERANCE};
use crate::device::vm::{Target, VmDevice, describe};
use crate::device::{DeviceError, DeviceInfo};
use crate::kernels::{Data, KernelId, Problem, Size};
use crate::roofline::units::{engineering, grouped};
use std::io::Write;

/// Count FLOPs and bytes from the PTX that runs, and compare them with the model.
///
/// Executes the embedded PTX instruction by instruction, on any machine: no GPU is needed. Counted
/// are the floating-point operations of every thread, and the distinct bytes of the operands that
/// are read or written: compulsory traffic. FLOPs beyond the model (zeros that fill up tiles, sums
/// that are added up) are shown apart. Exit code 1 if what is left of a difference is more than
/// 0.1 % of the model.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = "Examples:
  rooftrace count all
      every kernel and variant at small sizes, one of them ragged
  rooftrace count sgemm --variant tiled --sizes 128,100..160:+20 --format csv
      what padding costs around a tile multiple
  rooftrace count sgemm --variant auto --sizes 16,32,64 --batch 8
      the teams of a batch of small products")]
pub struct CountArgs {
    /// Kernels, separated by spaces or commas
    #[arg(default_value = "all", value_name = "KERNEL")]
    pub kernels: Vec<String>,

    /// One variant instead of all
    #[arg(long, default_value = "all", value_name = "VARIANT")]
    pub variant: String,

    /// Sizes instead of the kernel's own small ones, in the grammar of `sweep --sizes`
    #[arg(short, long, value_name = "SIZES", allow_hyphen_values = true)]
    pub sizes: Option<String>,

    /// Independent matrix products a launch
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..), value_name = "N")]
    pub batch: u64,

    /// Which of the embedded PTX modules runs
    #[arg(long, value_enum, default_value = "sm_90a", value_name = "TARGET")]
    pub target: Target,

    /// How to write the result
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
}

/// Counts, and prints a table.
///
/// # Errors
/// Bad input; a size that is too large to execute; [`CliError::Failed`] if count and model
/// disagree or a kernel does something wrong.
pub fn run(args: &CountArgs, out: &mut dyn Write) -> Result<(), CliError> {
    let problems = plan(args)?;
    let mut device = VmDevice::open(args.target)?;
    let mut sheet = Sheet::new(COLUMNS.to_vec());
    let mut failures = Vec::new();
    // What has been counted is printed, whatever comes after it.
    let mut stopped = None;
    for problem in &problems {
        let place = format!(
            "{} {} at {}",
            problem.kernel.name(),
            problem.variant,
            problem.size
        );
        match count::count(&mut device, problem) {
            Ok(counted) => {
                let found = counted.disagreements();
                sheet.push(row(&counted, args.target, &found));
                failures.extend(found.iter().map(|reason| format!("{place}: {reason}")));
            }
            Err(DeviceError::Call { reason, .. }) => {
                failures.push(format!("{place}: {reason}"));
            }
            Err(error) => {
                let fix = match error {
                    DeviceError::OutOfMemory { .. } => ": name smaller --sizes or --batch",
                    _ => "",
                };
                stopped = Some(CliError::Usage(format!("{place}: {error}{fix}")));
                break;
            }
        }
    }
    if !sheet.is_empty() || stopped.is_none() {
        sheet.write(args.format, out)?;
        out.flush()?;
    }
    if let Some(error) = stopped {
        return Err(error);
    }
    if failures.is_empty() {
        return Ok(());
    }
    Err(CliError::Failed(format!(
        "count and model disagree by more than {} %:\n{}",
        100.0 * TOLERANCE,
        failures.join("\n")
    )))
}

/// What is counted.
fn plan(args: &CountArgs) -> Result<Vec<Problem>, CliError> {
    let mut problems = Vec::new();
    let ids = kernels(&args.kernels)?;
    let form = FormArgs::of_batch(args.batch, &ids)?;
    let info = describe(args.target);
    // Of several kernels those that the target has.
    let runs = |id: &KernelId| !id.kernel().variants_on(&info).is_empty();
    if !ids.iter().any(runs) {
        return Err(CliError::Lacking(no_variant(ids[0], &info)));
    }
    for id in ids.into_iter().filter(runs) {
        let given = args.sizes.as_deref();
        let sizes = sizes(id, given.unwrap_or_else(|| id.kernel().counted_sizes()))?;
        for variant in variants(id, &args.variant, &info)? {
            problems.extend(sizes.iter().map(|&size: &Size| Problem {
                kernel: id,
                variant,
                size,
                form,
                // Counts do not depend on the data.
                seed: 1,
                data: Data::Random,
            }));
        }
    }
    Ok(problems)
}

/// The variants that are meant.
fn variants(id: KernelId, given: &str, info: &DeviceInfo) -> Result<Vec<&'static str>, CliError> {
    let known: Vec<&str> = id
        .kernel()
        .variants_on(info)
        .iter()
        .map(|v| v.name)
        .collect();
    let meant: Vec<&str> = known
        .iter()
        .copied()
        .filter(|name| given == "all" || *name == given)
        .collect();
    if meant.is_empty() {
        return Err(CliError::Usage(wrong_variant(id, given, info)));
    }
    Ok(meant)
}

const COLUMNS: [Column; 32] = [
    ("kernel", Some("Kernel")),
    ("variant", Some("Variant")),
    ("size", Some("Size")),
    ("batch", None),
    ("target", None),
    ("entry", None),
    ("counted_flops", Some("FLOPs")),
    ("model_flops", Some("model")),
    ("beyond_model_flops", Some("padding")),
    ("padding_flops", None),
    ("overhead_flops", None),
    ("unexplained_flops", None),
    ("requested_bytes", Some("Requested")),
    ("unique_bytes", Some("Unique")),
    ("model_bytes", Some("model")),
    ("read_bytes", None),
    ("written_bytes", None),
    ("scratch_bytes", None),
    ("counted_intensity_flop_per_byte", Some("FLOP/byte")),
    ("model_intensity_flop_per_byte", Some("model")),
    ("load_requests", None),
    ("load_sectors", None),
    ("store_requests", None),
    ("store_sectors", None),
    ("sectors_per_request", Some("Sectors")),
    ("shared_requests", None),
    ("shared_conflicts", None),
    ("conflicts_per_access", Some("Conflicts")),
    ("blocks", None),
    ("thread_instructions", None),
    ("agrees", Some("Agrees")),
    ("reason", None),
];

fn row(counted: &Counted, target: Target, disagreements: &[String]) -> Vec<Cell> {
    let report = &counted.report;
    let whole = |value: u64| Cell::whole(value, grouped(value));
    let signed = |value: i64| {
        let sign = if value < 0 { "-" } else { "" };
        Cell::signed(value, format!("{sign}{}", grouped(value.unsigned_abs())))
    };
    let requested = report.levels().requested;
    let ratio = |value: f64| Cell::number(value, format!("{value:.3}"));
    let maybe =
        |value: Option<f64>| Cell::maybe(value, |value| Cell::number(value, format!("{value:.2}")));
    vec![
        Cell::text(counted.problem.kernel.name()),
        Cell::text(counted.problem.variant),
        Cell::text(counted.problem.size.to_string()),
        whole(counted.problem.form.batch),
        Cell::text(target.name()),
        Cell::text(&counted.entry),
        whole(counted.flops()),
        whole(counted.model.flops),
        signed(counted.beyond_model()),
        whole(counted.surplus.padding),
        whole(counted.surplus.overhead),
        signed(counted.unexplained_flops()),
        Cell::whole(requested, engineering(requested as f64, "B")),
        whole(counted.unique_bytes()),
        whole(counted.model.bytes),
        whole(counted.operand_bytes.0),
        whole(counted.operand_bytes.1),
        whole(counted.scratch_bytes),
        ratio(counted.intensity()),
        ratio(counted.model.intensity()),
        whole(report.global.load_requests),
        whole(report.global.load_sectors),
        whole(report.global.store_requests),
        whole(report.global.store_sectors),
        maybe(counted.sectors_per_request()),
        whole(report.shared.requests),
        whole(report.shared.conflicts()),
        maybe(counted.conflicts_per_access()),
        whole(report.blocks),
        whole(report.thread_instructions),
        Cell::flag(disagreements.is_empty()),
        Cell::maybe(
            (!disagreements.is_empty()).then(|| disagreements.join("; ")),
            Cell::text,
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(kernels: &[&str]) -> CountArgs {
        CountArgs {
            kernels: kernels.iter().map(|&name| name.to_owned()).collect(),
            variant: "all".to_owned(),
            sizes: None,
            batch: 1,
            target: Target::Sm80,
            format: Format::Json,
        }
    }

    #[test]
    fn every_variant_is_counted_at_every_size() {
        for target in Target::ALL {
            let all = CountArgs {
                target,
                ..args(&["all"])
            };
            let problems = plan(&all).unwrap();
            for id in KernelId::ALL {
                for variant in id.kernel().variants_on(&describe(target)) {
                    let of_variant = problems
                        .iter()
                        .filter(|problem| problem.kernel == id && problem.variant == variant.name);
                    assert!(of_variant.count() >= 2, "{} {}", id.name(), variant.name);
                }
            }
        }
    }

    #[test]
    fn a_variant_that_a_kernel_does_not_have_is_refused() {
        let wrong = CountArgs {
            variant: "vectr".to_owned(),
            ..args(&["copy"])
        };
        let error = plan(&wrong).unwrap_err().to_string();
        assert!(
            error.contains("--variant") && error.contains("\"vector\"?"),
            "{error}"
        );
    }

    #[test]
    fn rows_have_counts_and_models_side_by_side() {
        let mut out = Vec::new();
        let args = CountArgs {
            sizes: Some("1000".to_owned()),
            ..args(&["saxpy"])
        };
        run(&args, &mut out).unwrap();
        let rows: serde_json::Value = serde_json::from_slice(&out).unwrap();
        let rows = rows.as_array().unwrap();
        assert_eq!(rows.len(), 2);
        for row in rows {
            assert_eq!(row["counted_flops"], 2000);
            assert_eq!(row["beyond_model_flops"], 0);
            assert_eq!(row["unique_bytes"], 12_000);
            assert_eq!(row["counted_intensity_flop_per_byte"], 1.0 / 6.0);
            assert_eq!(row["conflicts_per_access"], serde_json::Value::Null);
            assert_eq!(row["agrees"], true);
        }
    }
}
