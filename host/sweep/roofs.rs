//! The roofs of the device: from its datasheet or its attributes, and measured in this run.

use super::Stop;
use crate::device::{CacheState, Device, DeviceError, DeviceInfo, DeviceKind};
use crate::kernels::{Bench, Data, Form, KernelId, Problem, Size};
use crate::measure::{Measurement, Rules, Subject, measure};
use crate::roofline::db::Database;
use crate::roofline::model::{Interval, Roofline};
use crate::roofline::peak;
use crate::roofline::pipe::Pipe;

/// The roofs of a device: one of bandwidth, and one of arithmetic for each pipe.
#[derive(Debug, Clone, PartialEq)]
pub struct Roofs {
    /// Of each pipe that was asked for.
    pub pipes: Vec<PipeRoofs>,
    /// Why a roof was not measured.
    pub notes: Vec<String>,
}

/// Both roofs of points that compute on one pipe, each as far as it is known.
#[derive(Debug, Clone, PartialEq)]
pub struct PipeRoofs {
    /// The pipe.
    pub pipe: Pipe,
    /// Peak rates of the datasheet, or from the device's attributes, and which.
    pub peak: Option<(Roofline, String)>,
    /// Rate of the kernel `fma` on this pipe in this run, FLOP/s.
    pub measured_flop_per_s: Option<Rate>,
    /// Bandwidth of the kernel `triad` in this run, byte/s.
    pub measured_byte_per_s: Option<Rate>,
}

/// A measured rate, or the quotient of two.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rate {
    /// From the median of the times.
    pub median: f64,
    /// From the 95 % interval of that median.
    pub interval: Option<Interval>,
}

/// How roofs are found.
#[derive(Debug, Clone, Copy)]
pub struct Conditions<'a> {
    /// When to stop sampling; the shortest sampling is cut to 0.3 s.
    pub rules: Rules,
    /// Seed of every operand.
    pub seed: u64,
    /// GPUs whose datasheets are known.
    pub database: &'a Database,
}

/// Longest of the shortest sampling of a roof, in seconds: a sweep does not wait longer for its first
/// point.
const ROOF_TIME_S: f64 = 0.3;

impl Roofs {
    /// The peaks of the device alone.
    pub(super) fn unmeasured(pipes: &[Pipe], database: &Database, info: &DeviceInfo) -> Self {
        let of_pipe = |&pipe: &Pipe| PipeRoofs {
            pipe,
            peak: peak(database, info, pipe),
            measured_flop_per_s: None,
            measured_byte_per_s: None,
        };
        Roofs {
            pipes: pipes.iter().map(of_pipe).collect(),
            notes: Vec::new(),
        }
    }

    /// Looks up or derives the peaks of the device, and measures its roofs: the bandwidth, and the
    /// rate of each of `pipes`. What is measured is verified first.
    ///
    /// A device error other than a lost device leaves a roof unmeasured, with a note.
    ///
    /// # Errors
    /// [`Stop::Interrupted`], or a device that is lost.
    pub fn of(
        pipes: &[Pipe],
        conditions: Conditions<'_>,
        device: &mut dyn Device,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Self, Stop> {
        let mut roofs = Roofs::unmeasured(pipes, conditions.database, device.info());
        let mut notes = Vec::new();
        let bandwidth = measured(Target::Memory, conditions, device, go_on, &mut notes)?;
        for of_pipe in &mut roofs.pipes {
            of_pipe.measured_byte_per_s = bandwidth;
            let target = Target::Pipe(of_pipe.pipe);
            of_pipe.measured_flop_per_s = measured(target, conditions, device, go_on, &mut notes)?;
        }
        roofs.notes = notes;
        Ok(roofs)
    }

    /// The roofs of a pipe; nothing is known of one that was not looked for.
    pub fn of_pipe(&self, pipe: Pipe) -> PipeRoofs {
        let found = self.pipes.iter().find(|roofs| roofs.pipe == pipe);
        found.cloned().unwrap_or(PipeRoofs {
            pipe,
            peak: None,
            measured_flop_per_s: None,
            measured_byte_per_s: None,
        })
    }
}

/// What a roof is of.
#[derive(Debug, Clone, Copy)]
enum Target {
    /// The device memory, by `triad`.
    Memory,
    /// The last-level cache, by `copy` of this many elements, which stay in it.
    Cache(u64),
    /// A pipe, by `fma`.
    Pipe(Pipe),
}

/// Shares of the last-level cache that a working set takes whose copy measures it. In a small one
/// the launch counts for much; a large one may not find a place beside what else is there, and on
/// GPUs whose L2 has two halves what is kept in both takes its place twice.
const CACHE_SHARES: [f64; 3] = [0.25, 0.5, 0.75];

/// Measures the bandwidth of the last-level cache, byte/s: the best of `copy`, launch after launch on
/// the same arrays, which take a quarter, half, and three quarters of it. What is measured is
/// verified first. `None` if the device does not say how large the cache is, or if it does not let
/// it be measured, which `notes` then says.
///
/// # Errors
/// [`Stop::Interrupted`], or a device that is lost.
pub fn cache(
    conditions: Conditions<'_>,
    device: &mut dyn Device,
    go_on: &dyn Fn() -> bool,
    notes: &mut Vec<String>,
) -> Result<Option<Rate>, Stop> {
    let Some(bytes) = device.info().cache_bytes else {
        return Ok(None);
    };
    let mut best: Option<Rate> = None;
    for share in CACHE_SHARES {
        /// Bytes that an element takes: read in one array, written in the other.
        const ELEMENT_BYTES: f64 = 8.0;
        let elements = (share * bytes as f64 / ELEMENT_BYTES) as u64;
        let rate = measured(Target::Cache(elements), conditions, device, go_on, notes)?;
        let better = |rate: &Rate| best.is_none_or(|best| rate.median > best.median);
        best = rate.filter(better).or(best);
    }
    Ok(best)
}

/// Measures one roof; `None`, and a note, if the device does not let it.
fn measured(
    target: Target,
    conditions: Conditions<'_>,
    device: &mut dyn Device,
    go_on: &dyn Fn() -> bool,
    notes: &mut Vec<String>,
) -> Result<Option<Rate>, Stop> {
    let measured = roof(target, conditions, device, go_on);
    device.release_all();
    match measured {
        Ok(None) => Err(Stop::Interrupted),
        Ok(rate) => Ok(rate),
        Err(error @ DeviceError::Lost { .. }) => Err(error.into()),
        Err(error) => {
            let what = match target {
                Target::Memory => "`triad`".to_owned(),
                Target::Cache(elements) => {
                    format!("the last-level cache, by `copy` of {elements} elements,")
                }
                Target::Pipe(Pipe::Fp32) => "`fma`".to_owned(),
                Target::Pipe(pipe) => format!("`fma` on {pipe}"),
            };
            notes.push(format!("the roof of {what} is not measured: {error}"));
            Ok(None)
        }
    }
}

impl PipeRoofs {
    /// The ridge point of the two measured roofs in FLOP/byte, and its interval
    /// ([`Roofline::ridge_interval`]) where both roofs have one.
    pub fn measured_ridge(&self) -> Option<Rate> {
        let (flops, bytes) = (self.measured_flop_per_s?, self.measured_byte_per_s?);
        let interval = flops
            .interval
            .zip(bytes.interval)
            .and_then(|(flops, bytes)| Roofline::ridge_interval(flops, bytes).ok());
        Some(Rate {
            median: flops.median / bytes.median,
            interval,
        })
    }

    /// The roofline that points are placed on, and where it is from: the datasheet's or the
    /// attributes' where there is one, otherwise the measured one.
    pub fn placing(&self) -> Option<(Roofline, &str)> {
        if let Some((roofline, source)) = &self.peak {
            return Some((*roofline, source));
        }
        let (flops, bytes) = (self.measured_flop_per_s?, self.measured_byte_per_s?);
        Some((
            Roofline::new(flops.median, bytes.median).ok()?,
            "measured in this run",
        ))
    }
}

/// Peak rates of a pipe of a device that has a datasheet or reports its clocks, and where they are
/// from.
pub fn peak(database: &Database, info: &DeviceInfo, pipe: Pipe) -> Option<(Roofline, String)> {
    if info.kind == DeviceKind::Cpu {
        return None;
    }
    if let Some(gpu) = database.find_by_driver_name(&info.name)
        && let Ok(roofline) = gpu.roofline(pipe)
    {
        return Some((roofline, format!("datasheet of {}", gpu.name)));
    }
    let attributes = info.attributes.as_ref()?;
    let flops = peak::peak(attributes, pipe).ok()?;
    let bytes = peak::memory_peak(attributes).ok()?;
    Some((
        Roofline::new(flops.value, bytes.value).ok()?,
        "device attributes".to_owned(),
    ))
}

/// Measures a roof with its kernel's fastest variant, that of the memory and of a pipe at the size of
/// [`roof_size`].
fn roof(
    target: Target,
    conditions: Conditions<'_>,
    device: &mut dyn Device,
    go_on: &dyn Fn() -> bool,
) -> crate::device::Result<Option<Rate>> {
    let (kernel, pipe, cache) = match target {
        Target::Memory => (KernelId::Triad, None, CacheState::Cold),
        Target::Cache(_) => (KernelId::Copy, None, CacheState::Warm),
        Target::Pipe(pipe) => (KernelId::Fma, Some(pipe), CacheState::Cold),
    };
    let free = device.free_bytes()?;
    let info = device.info();
    let size = match target {
        Target::Cache(elements) => elements,
        Target::Memory | Target::Pipe(_) => roof_size(kernel, info, free),
    };
    let unsupported =
        |error: crate::roofline::work::WorkError| DeviceError::Unsupported(error.to_string());
    let variants = kernel.kernel().variants_on(info);
    let problem = Problem {
        kernel,
        variant: variants.last().map_or("", |variant| variant.name),
        size: Size::Elements(size),
        form: Form {
            pipe,
            ..Form::default()
        },
        seed: conditions.seed,
        data: Data::Random,
    };
    let work = kernel.kernel().work(&problem, info).map_err(unsupported)?;
    let mut bench = Bench::new(device, problem.clone())?;
    let check = kernel.kernel().verify(&mut bench)?;
    if let Some(failure) = check.failure {
        return Err(DeviceError::Unsupported(failure));
    }
    bench.fill(Data::Random)?;
    let operands = bench.operands().to_vec();
    let rules = Rules {
        min_time_s: conditions.rules.min_time_s.min(ROOF_TIME_S),
        ..conditions.rules
    };
    let subject = Subject {
        problem: &problem,
        operands: &operands,
        cache,
        baseline: None,
    };
    let measured = measure(bench.device, subject, &rules, go_on)?;
    let amount = match kernel {
        KernelId::Fma => work.flops,
        _ => work.bytes,
    };
    Ok(measured.map(|measured| rate(amount as f64, &measured)))
}

/// Elements of each of triad's arrays with `free` bytes of memory free, or steps of fma's chains.
pub fn roof_size(kernel: KernelId, info: &DeviceInfo, free: u64) -> u64 {
    match (kernel, info.kind) {
        (KernelId::Fma, DeviceKind::Cuda | DeviceKind::Vm) => 1 << 16,
        (KernelId::Fma, DeviceKind::Cpu) => 1 << 14,
        _ => {
            /// Bytes of the three arrays together, over the bytes of the last-level cache.
            const CACHES: u64 = 48;
            let wanted = info.cache_bytes.map_or(1 << 30, |cache| CACHES * cache);
            let most = match info.kind {
                DeviceKind::Cuda | DeviceKind::Vm => 3 << 30,
                DeviceKind::Cpu => 3 << 27,
            };
            // At most half of what is free: the sweep's own points come next.
            wanted.min(most).min(free / 2) / 12
        }
    }
}

/// `amount` per second.
fn rate(amount: f64, measured: &Measurement) -> Rate {
    let summary = &measured.summary;
    Rate {
        median: amount / summary.median,
        interval: summary.ci95.map(|(low, high)| Interval {
            low: amount / high,
            high: amount / low,
        }),
    }
}
