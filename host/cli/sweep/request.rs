//! Arguments and device become a plan. Everything that can be wrong is found here, before
//! anything is measured.

use super::args::{BaselineArg, CacheArg, DataArg, SweepArgs};
use super::form::FormArgs;
use super::pipe::{self, Pipes};
use crate::cli::error::CliError;
use crate::cli::nearest::unknown;
use crate::device::{DeviceChoice, DeviceInfo, DeviceKind};
use crate::kernels::size::{Size, SizeKind, at_intensities, parse_sizes};
use crate::kernels::{Data, Form, KernelId, Problem, intensity};
use crate::measure::Rules;
use crate::record::{Cache, Destination, Format, OnExisting};
use crate::roofline::db::Database;
use crate::roofline::pipe::Pipe;
use crate::sweep::{Plan, Point};
use std::path::PathBuf;

/// A sweep as far as it can be checked without a device.
#[derive(Debug, Clone)]
pub struct Request {
    /// Kernels and their sizes; none means the kernel's own for the device.
    pub kernels: Vec<(KernelId, Option<Vec<Size>>)>,
    /// `--batch`, `--beta` and `--out-type`.
    pub form: FormArgs,
    /// `--pipe`.
    pub pipes: Option<Pipes>,
    /// `--intensity`: FMAs of each element, for kernels whose size has a number of them.
    pub fmas: Option<Vec<u64>>,
    /// `--variant`.
    pub variant: Option<String>,
    /// `--device`.
    pub device: DeviceChoice,
    /// States of the cache, in the order they are measured.
    pub caches: Vec<Cache>,
    /// `--out`.
    pub out: Option<Destination>,
    /// `--format`, or what the name of the file says.
    pub format: Format,
    /// `--resume` or `--force`.
    pub on_existing: OnExisting,
    /// `--seed`.
    pub seed: u64,
    /// `--data`.
    pub data: Data,
    /// `--min-time`, in seconds.
    pub min_time_s: Option<f64>,
    /// `--max-time`, in seconds.
    pub max_time_s: Option<f64>,
    /// `--noise`.
    pub noise: Option<f64>,
    /// `--sustained`, in seconds.
    pub sustained_s: Option<f64>,
    /// `--baseline cublas`.
    pub baseline: bool,
    /// `--quick`.
    pub quick: bool,
    /// `--spec`.
    pub spec: Option<PathBuf>,
    /// `--ptx`.
    pub ptx: Option<PathBuf>,
}

impl Request {
    /// Checks the arguments.
    ///
    /// # Errors
    /// [`CliError::Usage`] names the flag, what was given and what is allowed.
    pub fn parse(args: &SweepArgs) -> Result<Self, CliError> {
        if let DeviceChoice::Vm(_) = args.device {
            return Err(CliError::Usage(format!(
                "--device {}: {}. `verify --device vm` and `count` use it",
                args.device,
                crate::device::vm::NO_TIMINGS
            )));
        }
        let ids = kernels(&args.kernels)?;
        let form = FormArgs::parse(args, &ids)?;
        let fmas = intensities(args, &ids)?;
        let kernels = ids
            .into_iter()
            .map(|id| {
                let sizes = match &args.sizes {
                    Some(text) => Some(sizes(id, text)?),
                    None => None,
                };
                Ok((id, sizes))
            })
            .collect::<Result<_, CliError>>()?;
        let out = args.out.clone().map(Destination::from_out);
        let by_name = out.as_ref().and_then(|out| Format::of_path(out.path()));
        Ok(Request {
            kernels,
            form,
            pipes: args.pipe.clone(),
            fmas,
            variant: args.variant.clone(),
            device: args.device,
            caches: match args.cache {
                CacheArg::Cold => vec![Cache::Cold],
                CacheArg::Warm => vec![Cache::Warm],
                CacheArg::Both => vec![Cache::Cold, Cache::Warm],
            },
            out,
            format: args.format.or(by_name).unwrap_or(Format::Csv),
            on_existing: match (args.resume, args.force) {
                (true, _) => OnExisting::Append,
                (_, true) => OnExisting::Replace,
                _ => OnExisting::Refuse,
            },
            seed: args.seed,
            data: match args.data {
                DataArg::Random => Data::Random,
                DataArg::Integers => Data::Integers,
                DataArg::Zeros => Data::Zeros,
            },
            min_time_s: positive("--min-time", args.min_time, "seconds, such as 0.5")?,
            max_time_s: positive("--max-time", args.max_time, "seconds, such as 3")?,
            noise: positive("--noise", args.noise, "a fraction, such as 0.005 for 0.5 %")?,
            sustained_s: positive("--sustained", args.sustained, "seconds, such as 30")?,
            baseline: args.baseline == BaselineArg::Cublas,
            quick: args.quick,
            spec: args.spec.clone(),
            ptx: args.ptx.clone(),
        })
    }

    /// The plan for a device.
    ///
    /// # Errors
    /// [`CliError::Usage`]: a variant that the kernel does not have there; a size whose FLOPs or
    /// bytes do not fit in 64 bits; a shortest time above the longest.
    pub fn plan(&self, info: &DeviceInfo, database: Database) -> Result<Plan, CliError> {
        let mut points = Vec::new();
        for (id, sizes) in &self.kernels {
            let sizes = match sizes {
                Some(sizes) => sizes.clone(),
                None => self.own_sizes(*id, info.kind)?,
            };
            let sizes = match &self.fmas {
                Some(fmas) if id.kernel().size_kind() == SizeKind::Mixed => {
                    at_intensities(&sizes, fmas)
                }
                _ => sizes,
            };
            let variants = self.variants(*id, info)?;
            if variants.is_empty() {
                continue;
            }
            for pipe in pipe::of(self.pipes.as_ref(), *id, info)? {
                for variant in pipe::variants(*id, pipe, info, &variants)? {
                    for size in &sizes {
                        let problem = self.problem(*id, pipe, variant, *size, info)?;
                        points.extend(self.caches.iter().map(|&cache| Point {
                            problem: problem.clone(),
                            cache,
                        }));
                    }
                }
            }
        }
        let rules = self.rules(info.kind)?;
        Ok(Plan {
            run_id: run_id(),
            points,
            rules,
            sustained_s: self.sustained_s,
            baseline: None,
            seed: self.seed,
            database,
        })
    }

    /// One problem of the plan, whose work can be counted.
    fn problem(
        &self,
        kernel: KernelId,
        pipe: Pipe,
        variant: &'static str,
        size: Size,
        info: &DeviceInfo,
    ) -> Result<Problem, CliError> {
        let mut problem = Problem {
            kernel,
            variant,
            size,
            form: Form {
                pipe: Some(pipe),
                ..Form::default()
            },
            seed: self.seed,
            data: self.data,
        };
        problem.form = self.form.of(&problem, info)?;
        kernel
            .kernel()
            .work(&problem, info)
            .map_err(|error| CliError::Usage(format!("--sizes {size}: {error}")))?;
        Ok(problem)
    }

    /// Where the rows go.
    pub fn destination(&self, info: &DeviceInfo) -> Destination {
        self.out.clone().unwrap_or_else(|| {
            let names: Vec<&str> = self.kernels.iter().map(|(id, _)| id.name()).collect();
            let kernel = if names.len() == KernelId::ALL.len() {
                "all".to_owned()
            } else {
                names.join("-")
            };
            let time = jiff::Timestamp::now()
                .strftime("%Y%m%dT%H%M%SZ")
                .to_string();
            Destination::default_for(&kernel, &info.name, &time, self.format)
        })
    }

    /// The kernel's own sizes on a device.
    fn own_sizes(&self, id: KernelId, device: DeviceKind) -> Result<Vec<Size>, CliError> {
        let kernel = id.kernel();
        let text = if self.quick {
            kernel.quick_sizes(device)
        } else {
            kernel.default_sizes(device)
        };
        sizes(id, text)
    }

    /// The variants to be measured.
    fn variants(&self, id: KernelId, info: &DeviceInfo) -> Result<Vec<&'static str>, CliError> {
        let known = id.kernel().variants_on(info);
        if known.is_empty() {
            return match self.kernels.len() {
                // One of several: the others are measured.
                len if len == KernelId::ALL.len() => Ok(Vec::new()),
                _ => Err(CliError::Lacking(no_variant(id, info))),
            };
        }
        match self.variant.as_deref() {
            None => Ok(known
                .last()
                .map(|variant| variant.name)
                .into_iter()
                .collect()),
            Some("all") => Ok(known.iter().map(|variant| variant.name).collect()),
            Some(given) => match known.iter().find(|variant| variant.name == given) {
                Some(variant) => Ok(vec![variant.name]),
                None => Err(CliError::Lacking(wrong_variant(id, given, info))),
            },
        }
    }

    /// When to stop sampling.
    fn rules(&self, device: DeviceKind) -> Result<Rules, CliError> {
        let defaults = if self.quick {
            Rules::quick(device)
        } else {
            Rules::defaults(device)
        };
        let rules = Rules {
            min_time_s: self.min_time_s.unwrap_or(defaults.min_time_s),
            max_time_s: self.max_time_s.unwrap_or(defaults.max_time_s),
            noise: self.noise.unwrap_or(defaults.noise),
            ..defaults
        };
        if rules.min_time_s <= rules.max_time_s {
            return Ok(rules);
        }
        match (self.min_time_s, self.max_time_s) {
            // Only one was given: the other follows.
            (Some(_), None) => Ok(Rules {
                max_time_s: rules.min_time_s,
                ..rules
            }),
            (None, _) => Ok(Rules {
                min_time_s: rules.max_time_s,
                ..rules
            }),
            _ => Err(CliError::Usage(format!(
                "--min-time {} is above --max-time {}; raise the one or lower the other",
                rules.min_time_s, rules.max_time_s
            ))),
        }
    }
}

/// Why no variant of a kernel runs on a device, and what to do.
pub fn no_variant(id: KernelId, info: &DeviceInfo) -> String {
    let name = id.name();
    match info.compute_capability {
        None => format!(
            "{name} needs tensor cores; a CPU has none. Name an NVIDIA GPU with --device cuda"
        ),
        Some(found) => format!(
            "{name} needs wgmma, which compute capability 9.0 has; this device is {found}. \
             gemm-bf16 --variant mma runs on it"
        ),
    }
}

/// Why a kernel has no variant of the name on a device: there is none, or it needs another device.
pub fn wrong_variant(id: KernelId, given: &str, info: &DeviceInfo) -> String {
    let kernel = id.kernel();
    let here = kernel.variants_on(info).into_iter();
    let allowed: Vec<&str> = here.map(|variant| variant.name).chain(["all"]).collect();
    let elsewhere = kernel
        .variants(info.kind)
        .iter()
        .any(|variant| variant.name == given);
    if let (true, Some(found)) = (elsewhere, info.compute_capability) {
        // What a GPU lacks for a variant, wgmma or bulk copies, came with 9.0.
        return format!(
            "--variant: {given} of {} needs compute capability 9.0; this device is {found}. Allowed: {}",
            id.name(),
            allowed.join(", ")
        );
    }
    let device = match info.kind {
        DeviceKind::Cpu => "a CPU",
        DeviceKind::Cuda | DeviceKind::Vm => "a GPU",
    };
    let what = format!("variant of {} on {device}", id.name());
    format!("--variant: {}", unknown(&what, given, allowed))
}

/// The kernels that were named, each once, in the order given.
///
/// # Errors
/// [`CliError::Usage`] names the one that is unknown, and the nearest known.
pub fn kernels(given: &[String]) -> Result<Vec<KernelId>, CliError> {
    let names = || KernelId::ALL.map(KernelId::name);
    let mut ids = Vec::new();
    for name in given.iter().flat_map(|word| word.split(',')).map(str::trim) {
        let found: &[KernelId] = match name {
            "all" => &KernelId::ALL,
            "" => {
                return Err(CliError::Usage(format!(
                    "an empty kernel name; allowed: {}, all",
                    names().join(", ")
                )));
            }
            _ => match KernelId::ALL.iter().find(|id| id.name() == name) {
                Some(id) => std::slice::from_ref(id),
                None => {
                    let allowed = names().into_iter().chain(["all"]);
                    return Err(CliError::Usage(unknown("kernel", name, allowed)));
                }
            },
        };
        for id in found {
            if !ids.contains(id) {
                ids.push(*id);
            }
        }
    }
    Ok(ids)
}

/// Sizes of a kernel.
///
/// # Errors
/// [`CliError::Usage`] says what is wrong with them.
pub fn sizes(id: KernelId, text: &str) -> Result<Vec<Size>, CliError> {
    parse_sizes(text, id.kernel().size_kind())
        .map_err(|error| CliError::Usage(format!("{}: {error}", id.name())))
}

/// The FMAs of an element for each item of `--intensity`.
///
/// # Errors
/// [`CliError::Usage`]: an intensity that no whole number of FMAs has; no kernel that takes one; a
/// size that has its own.
fn intensities(args: &SweepArgs, ids: &[KernelId]) -> Result<Option<Vec<u64>>, CliError> {
    let Some(text) = &args.intensity else {
        return Ok(None);
    };
    let fmas =
        intensity::parse(text).map_err(|error| CliError::Usage(format!("--intensity: {error}")))?;
    if !ids
        .iter()
        .any(|id| id.kernel().size_kind() == SizeKind::Mixed)
    {
        let names: Vec<&str> = ids.iter().map(|id| id.name()).collect();
        return Err(CliError::Usage(format!(
            "--intensity {text} is given for {}, and only mix takes one: leave it out, or sweep mix",
            names.join(", ")
        )));
    }
    if let Some(sizes) = args.sizes.as_deref().filter(|sizes| sizes.contains('@')) {
        return Err(CliError::Usage(format!(
            "--sizes {sizes} has intensities of its own: leave out --intensity {text}, or what \
             follows the `@`"
        )));
    }
    Ok(Some(fmas))
}

/// Checks a number that must be above 0.
pub(in crate::cli) fn positive(
    flag: &str,
    value: Option<f64>,
    allowed: &str,
) -> Result<Option<f64>, CliError> {
    match value {
        Some(value) if !(value.is_finite() && value > 0.0) => Err(CliError::Usage(format!(
            "{flag} {value}: give {allowed}, above 0"
        ))),
        value => Ok(value),
    }
}

/// Time and process, so that two runs differ even within a second.
fn run_id() -> String {
    let now = jiff::Timestamp::now();
    format!(
        "{}-{:x}-{:05}",
        now.strftime("%Y%m%dT%H%M%SZ"),
        std::process::id(),
        now.subsec_nanosecond() / 10_000
    )
}
