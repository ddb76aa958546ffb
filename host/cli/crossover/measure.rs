//! The sweep that puts a predicted crossover to the test.

use super::CrossoverArgs;
use crate::cli::Verbosity;
use crate::cli::error::CliError;
use crate::cli::sweep::args::{BaselineArg, CacheArg, DataArg, SweepArgs};
use crate::cli::sweep::form::Batch;
use crate::cli::sweep::request::Request;
use crate::cli::sweep::{self, Measured, Shown};
use crate::crossover::sizes::sizes;
use crate::device::{DeviceChoice, DeviceInfo, DeviceKind};
use crate::kernels::{KernelId, Size};
use crate::record::{Destination, Row, read_file};
use crate::roofline::Database;
use crate::roofline::crossover::{Claim, Crossover, claims};
use crate::sweep::{Plan, Point, roofs};
use std::io::Write;
use std::path::PathBuf;

/// What is measured, and where the rows go.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Measuring, with --device")]
pub struct MeasuringArgs {
    /// Sides instead of 16 to 4096, denser near the prediction: as in `sweep`
    #[arg(long, value_name = "SIZES", requires = "device")]
    pub sizes: Option<String>,

    /// A variant of the kernel, or `all`; without it the fastest
    #[arg(long, value_name = "V", requires = "device")]
    pub variant: Option<String>,

    /// File for the rows; without it `results/local/KERNEL-DEVICE-TIME.csv`
    #[arg(short, long, value_name = "PATH", requires = "device")]
    pub out: Option<PathBuf>,

    /// Continue the file: measure only the points that it lacks
    #[arg(long, requires = "out", conflicts_with = "force")]
    pub resume: bool,

    /// Replace the file if it exists
    #[arg(long, requires = "out")]
    pub force: bool,

    /// Short sampling (2 % noise)
    #[arg(long, requires = "device")]
    pub quick: bool,

    /// Longest sampling of a point, in seconds
    #[arg(long, value_name = "S", requires = "device")]
    pub max_time: Option<f64>,
}

/// The largest side on a CPU, whose ridge point lies far left of a GPU's: beyond, one launch takes
/// seconds and shows nothing new.
const LARGEST_ON_CPU: u64 = 1024;

/// Measures the kernels of a claim, as far as the device runs them, and gives the rows of the
/// file, and whether points failed.
///
/// # Errors
/// Bad input, no kernel, no device, a file that cannot be written, an interruption.
pub(super) fn measure(
    args: &CrossoverArgs,
    device: DeviceChoice,
    testers: &[&str],
    verbosity: Verbosity,
) -> Result<(Vec<Row>, Result<(), CliError>), CliError> {
    let request = request(args, device, testers)?;
    let planner = |request: &Request, info: &DeviceInfo, database: Database| {
        let (request, missing) = runnable(request, info);
        let plan = plan(&request, info, database)?;
        if let (Some(note), true) = (note(&missing, info), verbosity >= Verbosity::Normal) {
            // If stderr is closed there is nobody to tell.
            let _ = writeln!(anstream::stderr(), "{note}");
        }
        Ok(plan)
    };
    let Measured { rows, conclusion } =
        sweep::measure(&request, &planner, verbosity, Shown::Nothing)?;
    // From the file, so that `--from` of it gives the same verdict.
    Ok((read_file(rows.path())?.rows, conclusion))
}

fn request(
    args: &CrossoverArgs,
    device: DeviceChoice,
    testers: &[&str],
) -> Result<Request, CliError> {
    let own = &args.measuring;
    let out = own.out.clone();
    if out.clone().map(Destination::from_out) == Some(Destination::Stdout) {
        return Err(CliError::Usage(
            "--out -: the verdict goes to stdout; name a file for the rows".to_owned(),
        ));
    }
    let kernels: Vec<String> = KernelId::ALL
        .iter()
        .map(|id| id.name())
        .filter(|name| testers.contains(name))
        .map(str::to_owned)
        .collect();
    Request::parse(&SweepArgs {
        kernels,
        sizes: own.sizes.clone(),
        intensity: None,
        variant: own.variant.clone(),
        device,
        batch: None,
        beta: None,
        out_type: None,
        pipe: None,
        cache: CacheArg::Cold,
        out,
        format: None,
        resume: own.resume,
        force: own.force,
        baseline: BaselineArg::None,
        seed: 1,
        data: DataArg::Random,
        min_time: None,
        max_time: own.max_time,
        noise: None,
        sustained: None,
        quick: own.quick,
        spec: args.common.spec.clone(),
        ptx: None,
    })
}

/// The request without the kernels that no variant runs on the device, and those kernels. Where
/// none is left the request stays as it is: planning it says what is wrong.
fn runnable(request: &Request, info: &DeviceInfo) -> (Request, Vec<KernelId>) {
    let runs = |id: KernelId| !id.kernel().variants_on(info).is_empty();
    let mut left = request.clone();
    left.kernels.retain(|&(id, _)| runs(id));
    if left.kernels.is_empty() {
        return (request.clone(), Vec::new());
    }
    let ids = request.kernels.iter().map(|&(id, _)| id);
    (left, ids.filter(|&id| !runs(id)).collect())
}

/// What is said of kernels that are left out.
fn note(missing: &[KernelId], info: &DeviceInfo) -> Option<String> {
    if missing.is_empty() {
        return None;
    }
    let names: Vec<&str> = missing.iter().map(|id| id.name()).collect();
    Some(format!(
        "not measured: {}; {} has no tensor cores that run it",
        names.join(", "),
        info.name
    ))
}

/// Both traces in one plan, so that they share the roofs of one run.
fn plan(request: &Request, info: &DeviceInfo, database: Database) -> Result<Plan, CliError> {
    let mut request = request.clone();
    for (id, sizes) in &mut request.kernels {
        sizes.get_or_insert_with(|| own_sizes(*id, info, &database));
    }
    let mut passes = passes(&request).into_iter();
    let first = passes.next().unwrap_or(request);
    let mut plan = first.plan(info, database.clone())?;
    for pass in passes {
        let points: Vec<Point> = pass.plan(info, database.clone())?.points;
        // A problem that fills the card by itself is in both.
        let new: Vec<Point> = points
            .into_iter()
            .filter(|point| !plan.points.contains(point))
            .collect();
        plan.points.extend(new);
    }
    Ok(plan)
}

/// The requests whose points make the traces: single problems, and on a device that can launch
/// several at once batches that fill it.
fn passes(request: &Request) -> Vec<Request> {
    let mut batched = request.clone();
    batched.kernels.retain(|(id, _)| id.kernel().batches());
    batched.form.batch = Some(Batch::Auto);
    let mut passes = vec![request.clone()];
    if !batched.kernels.is_empty() {
        passes.push(batched);
    }
    passes
}

/// The sides to measure with a kernel on a device.
fn own_sizes(id: KernelId, info: &DeviceInfo, database: &Database) -> Vec<Size> {
    let claim = claims()
        .into_iter()
        .find(|claim| claim.tested_by == id.name() && claim.storage.reads_c);
    let predicted = claim
        .as_ref()
        .and_then(|claim| predicted(claim, info, database));
    /// Bits of the widest access of a thread.
    const ACCESS: u32 = 128;
    let bits = claim.map_or(ACCESS, |claim| claim.storage.a.bits());
    let mut sides = sizes(predicted, u64::from(ACCESS / bits));
    if info.kind == DeviceKind::Cpu {
        sides.retain(|&n| n <= LARGEST_ON_CPU);
    }
    let square = |n| Size::Matrix { m: n, n, k: n };
    sides.into_iter().map(square).collect()
}

/// Where the device's known roofs put the crossover: what the sizes are chosen by, not what they
/// are judged by.
fn predicted(claim: &Claim, info: &DeviceInfo, database: &Database) -> Option<f64> {
    let (roofline, _) = roofs::peak(database, info, claim.pipe)?;
    match claim.on(&roofline) {
        Crossover::At { n, .. } => Some(n),
        _ => None,
    }
}
