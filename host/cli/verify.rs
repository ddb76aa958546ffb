//! `rooftrace verify`: are the results right, and are the measurements what they claim to be?
//!
//! | module | what it is for |
//! |---|---|
//! | `audit` | the self-audit's table |
//! | `checks` | one problem after the other: outcome, error, fingerprint |
//! | `counters` | counted bytes and FLOPs against the hardware's counters |

mod audit;
mod checks;
mod counters;

use super::Verbosity;
use super::error::CliError;
use super::render::{Cell, Column, Format, Sheet};
use super::sweep::form::FormArgs;
use super::sweep::request::{kernels, no_variant, sizes};
use crate::device::{DeviceChoice, DeviceInfo, DeviceKind};
use crate::kernels::{Data, Form, KernelId, Problem, Size};
use checks::{Checked, Outcome, Tally};
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
  rooftrace verify sgemm --batch 5 --offset 1
      batches, on operands that are aligned to one element only
  rooftrace verify --device vm
      the PTX itself, executed with checks on any machine
  rooftrace verify --digest --format csv > digests.csv
      a fingerprint of every output, to compare two devices bit for bit
  rooftrace verify --counters --out counters.csv
      counted bytes and FLOPs against the GPU's own counters, through Nsight Compute (ncu)")]
pub struct VerifyArgs {
    /// Kernels, separated by spaces or commas
    #[arg(default_value = "all", value_name = "KERNEL")]
    pub kernels: Vec<String>,

    /// Sizes instead of the kernel's own ragged ones, in the grammar of `sweep --sizes`
    #[arg(short, long, value_name = "SIZES", allow_hyphen_values = true)]
    pub sizes: Option<String>,

    /// auto, cpu, cuda or cuda:I; vm or vm:sm_80 to execute the PTX of a target without a GPU
    #[arg(short, long, value_name = "DEVICE", default_value = "auto")]
    pub device: DeviceChoice,

    /// Seed of the operands
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub seed: u64,

    /// Independent matrix products a launch
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..), conflicts_with = "counters", value_name = "N")]
    pub batch: u64,

    /// Elements by which every operand starts past an aligned address
    #[arg(
        long,
        default_value_t = 0,
        conflicts_with = "counters",
        value_name = "N"
    )]
    pub offset: u64,

    /// A short audit: a tenth of the sampling
    #[arg(long, conflicts_with_all = ["counters", "sizes"])]
    pub quick: bool,

    /// Compare counted bytes and FLOPs with the GPU's counters, through `ncu`, and do nothing else
    #[arg(long, conflicts_with = "sizes")]
    pub counters: bool,

    /// Print one line a problem with the SHA-256 of its output, and leave the audit out
    ///
    /// Equal digests mean equal bits: kernels with the same order of operations have them on every
    /// device. Of an output that grows with the device (`fma`: one element a thread) the first
    /// elements are digested, as many as `--device vm` has.
    #[arg(long, conflicts_with = "counters")]
    pub digest: bool,

    /// How to write the lines of --digest
    #[arg(long, value_enum, default_value_t = Format::Table, requires = "digest")]
    pub format: Format,

    /// File for the report of --counters: CSV, or JSON if it is named so
    #[arg(short, long, value_name = "PATH", requires = "counters")]
    pub out: Option<PathBuf>,

    /// Run this launch once, and nothing else: what --counters profiles
    #[arg(long, value_name = "KERNEL:VARIANT:SIZE", hide = true)]
    pub once: Vec<String>,
}

/// Checks, and prints one line a variant; then the audit.
///
/// # Errors
/// Bad input; no device; [`CliError::Failed`] if a check fails, or nothing could be checked.
pub fn run(args: &VerifyArgs, verbosity: Verbosity, out: &mut dyn Write) -> Result<(), CliError> {
    if !args.once.is_empty() {
        return counters::once(args);
    }
    if args.counters {
        return counters::run(args, verbosity, out);
    }
    let ids = kernels(&args.kernels)?;
    let form = FormArgs::of_batch(args.batch, &ids)?;
    let plan: Vec<(KernelId, Vec<Size>)> = ids
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
    let info = device.info().clone();
    let say = |text: String| {
        if verbosity >= Verbosity::Normal {
            // If stderr is closed there is nobody to tell.
            let _ = writeln!(anstream::stderr(), "{text}");
        }
    };
    let (plan, missing): (Vec<_>, Vec<_>) = plan
        .into_iter()
        .partition(|(id, _)| !id.kernel().variants_on(&info).is_empty());
    if let (true, Some(&(id, _))) = (plan.is_empty(), missing.first()) {
        let error = CliError::Lacking(no_variant(id, &info));
        return Err(super::explained(error, &opened));
    }
    say(format!("checking {}", info.name));
    if !missing.is_empty() {
        let names: Vec<&str> = missing.iter().map(|(id, _)| id.name()).collect();
        say(format!(
            "not checked, because no variant runs here: {}",
            names.join(", ")
        ));
    }
    let mut sheet = Sheet::new(DIGESTS.to_vec());
    let (mut passed, mut failed) = (0, 0);
    for (id, sizes) in plan {
        let forms = match (args.digest, form.batch) {
            (true, _) => vec![form],
            (false, 1) => Form::of(id.kernel(), &info),
            (false, batch) => {
                let forms = Form::of(id.kernel(), &info).into_iter();
                let single = forms.filter(|form| form.batch == 1);
                single.map(|form| Form { batch, ..form }).collect()
            }
        };
        let mut cases: Vec<(Size, Form)> = sizes
            .iter()
            .flat_map(|size| forms.iter().map(|form| (*size, *form)))
            .collect();
        if info.kind == DeviceKind::Vm && args.sizes.is_none() {
            let dear = take_out(&mut cases, |(size, form)| is_dear(id, *size, *form, &info));
            if !dear.is_empty() {
                say(format!(
                    "{}: not at {}, which the VM takes long for; --sizes names them all the same",
                    id.name(),
                    named(id, &dear)
                ));
            }
        }
        for variant in id.kernel().variants_on(&info) {
            let mut tally = Tally::default();
            let on_pipe = |form: &Form| {
                let pipe = form.pipe.unwrap_or_else(|| id.kernel().pipe());
                id.kernel().variants_on_pipe(pipe, &info).contains(&variant)
            };
            for &(size, form) in cases.iter().filter(|(_, form)| on_pipe(form)) {
                let problem = Problem {
                    kernel: id,
                    variant: variant.name,
                    size,
                    form,
                    seed: args.seed,
                    data: Data::Random,
                };
                let checked = checks::check(device, &problem, args.offset, args.digest)?;
                if args.digest {
                    sheet.push(digest_row(&problem, &info, &checked));
                }
                tally.add(size, checked);
            }
            passed += tally.passed;
            failed += tally.failures.len();
            if !args.digest {
                tally.print(out, id, variant.name)?;
            }
        }
    }
    if args.digest {
        sheet.write(args.format, out)?;
        out.flush()?;
    } else if args.sizes.is_none() && args.kernels == ["all"] && info.kind != DeviceKind::Vm {
        failed += audit::run(device, args.seed, args.quick, out)?;
    }
    match failed {
        0 if passed == 0 => Err(CliError::Failed(
            "nothing was checked: no problem fits on the device; name smaller --sizes or --batch"
                .to_owned(),
        )),
        0 => Ok(()),
        1 => Err(CliError::Failed("1 check failed".to_owned())),
        _ => Err(CliError::Failed(format!("{failed} checks failed"))),
    }
}

/// The sizes, each once, with the pipe where it is not the kernel's own.
fn named(kernel: KernelId, cases: &[(Size, Form)]) -> String {
    let mut names = Vec::new();
    for (size, form) in cases {
        let name = match form.pipe {
            Some(pipe) if pipe != kernel.kernel().pipe() => format!("{size} on {pipe}"),
            _ => size.to_string(),
        };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.join(", ")
}

/// Whether the VM executes a problem for more than a few seconds.
fn is_dear(kernel: KernelId, size: Size, form: Form, info: &DeviceInfo) -> bool {
    /// About a second for each loop that does little else.
    const MOST_FLOPS: u64 = 80_000_000;
    let entry = kernel.kernel();
    let dearest = |variant: &'static str| {
        let problem = Problem {
            kernel,
            variant,
            size,
            form,
            seed: 1,
            data: Data::Random,
        };
        // What can't be counted is refused when it is checked.
        entry.work(&problem, info).map_or(0, |work| work.flops)
    };
    let variants = entry.variants_on(info).into_iter();
    variants.map(|v| dearest(v.name)).max() > Some(MOST_FLOPS)
}

/// Moves the items for which `test` holds out of the list.
fn take_out<T: Clone>(list: &mut Vec<T>, test: impl Fn(&T) -> bool) -> Vec<T> {
    let (out, kept) = list.iter().cloned().partition(|item| test(item));
    *list = kept;
    out
}

/// Columns of `--digest`.
const DIGESTS: [Column; 10] = [
    ("kernel", Some("Kernel")),
    ("variant", Some("Variant")),
    ("size", Some("Size")),
    ("seed", None),
    ("device", None),
    ("ptx_sha256", None),
    ("elements", Some("Elements")),
    ("sha256", Some("SHA-256 of the output")),
    ("verified", Some("Verified")),
    ("reason", None),
];

fn digest_row(problem: &Problem, info: &DeviceInfo, checked: &Checked) -> Vec<Cell> {
    let digest = checked.fingerprint.as_ref();
    let (verified, reason) = match &checked.outcome {
        Outcome::Passed => (Cell::flag(true), None),
        Outcome::Failed(reason) => (Cell::flag(false), Some(reason)),
        Outcome::Skipped(reason) => (Cell::missing(), Some(reason)),
    };
    vec![
        Cell::text(problem.kernel.name()),
        Cell::text(problem.variant),
        Cell::text(problem.size.to_string()),
        Cell::whole(problem.seed, problem.seed.to_string()),
        Cell::text(&info.name),
        Cell::maybe(info.ptx_sha256.as_deref(), Cell::text),
        Cell::maybe(digest, |d| Cell::whole(d.elements, d.elements.to_string())),
        Cell::maybe(digest, |d| Cell::text(&d.sha256)),
        verified,
        Cell::maybe(reason, Cell::text),
    ]
}
