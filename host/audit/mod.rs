//! The program audits its own measurements: are they what they claim to be?
//!
//! | check | what would fail it |
//! |---|---|
//! | `fma` lies right of the ridge point | a peak kernel limited by memory |
//! | the largest arrays are at least 4 times the last-level cache | a bandwidth of the cache |
//! | `fma` takes time in proportion to its steps | a loop that the compiler shortened or removed |
//! | random and zero data take about the same time | data that draws less power or is skipped |
//! | two measurements of one point agree | a time that depends on what ran before |
//! | no point above its roof without an explanation | miscounted work, a wrong peak |
//!
//! [`judge`] holds the arithmetic; here the points are measured.

pub mod judge;

use crate::device::{CacheState, Device, DeviceError, DeviceInfo, DeviceKind, Result};
use crate::kernels::size::parse_sizes;
use crate::kernels::{Bench, Data, Form, KernelId, Problem, Size, bench};
use crate::measure::{Measurement, Rules, Subject, measure};
use crate::record::Cache;
use crate::roofline::db::Database;
use crate::roofline::model::Roofline;
use crate::roofline::pipe::Pipe;
use crate::roofline::units::{binary_bytes, engineering};
use crate::roofline::work::Work;
use crate::sweep::above::Evidence;
use crate::sweep::roofs::{peak, roof_size};
use judge::{Outcome, Yardstick, fit, is_linear, is_quiet};

/// Bytes of an array over the bytes of the last-level cache, at least.
pub const CACHES: u64 = 4;

/// Largest factor between random and zero data.
pub const DATA_FACTOR: f64 = 1.25;

/// Steps of `fma` over those of its roof, for the line through its times.
const PARTS: [u64; 5] = [64, 16, 4, 2, 1];

/// One line of the audit.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// What is checked.
    pub check: &'static str,
    /// Of which point.
    pub subject: String,
    /// What was found.
    pub figure: String,
    /// What is asked of it.
    pub limit: String,
    /// Whether it keeps to that.
    pub outcome: Outcome,
}

/// How an audit is made.
#[derive(Debug, Clone)]
pub struct Audit {
    /// When to stop sampling.
    pub rules: Rules,
    /// GPUs whose datasheets are known.
    pub database: Database,
    /// Seed of every operand.
    pub seed: u64,
}

/// A point that was measured for the audit.
struct Timed {
    kernel: KernelId,
    size: Size,
    work: Work,
    /// Bytes of the work that are written.
    written: u64,
    measured: Measurement,
}

impl Timed {
    fn name(&self) -> String {
        format!("{} {}", self.kernel.name(), self.size)
    }
}

impl Audit {
    /// Runs every check and hands each finding on at once.
    ///
    /// # Errors
    /// The device's error.
    pub fn run(&self, device: &mut dyn Device, found: &mut dyn FnMut(Finding)) -> Result<()> {
        let info = device.info().clone();
        found(arrays_exceed_the_cache(&info));

        let yardstick = Yardstick::of(info.kind);
        let free = device.free_bytes()?;
        let fma = self.proportional(device, yardstick, found)?;
        let stream = Size::Elements(roof_size(KernelId::Triad, &info, free));
        let triad = self.time(device, KernelId::Triad, stream, Data::Random)?;
        let copy = self.same_again(device, KernelId::Copy, stream, yardstick, found)?;
        let sgemm =
            self.same_again(device, KernelId::Sgemm, matrix(info.kind), yardstick, found)?;

        let datasheet = peak(&self.database, &info, Pipe::Fp32).map(|(roofline, _)| roofline);
        let rate = |amount: u64, timed: &Timed| amount as f64 / timed.measured.summary.median;
        let own = Roofline::new(rate(fma.work.flops, &fma), rate(triad.work.bytes, &triad)).ok();
        if let Some(roofline) = datasheet.or(own) {
            found(right_of_the_ridge(&fma, roofline));
            for timed in [&copy, &triad, &fma, &sgemm] {
                found(below_the_roof(timed, roofline, datasheet.is_none(), &info));
            }
        }
        Ok(())
    }

    /// Measures one point cold, on fresh operands.
    fn time(
        &self,
        device: &mut dyn Device,
        kernel: KernelId,
        size: Size,
        data: Data,
    ) -> Result<Timed> {
        let info = device.info().clone();
        let entry = kernel.kernel();
        let problem = Problem {
            kernel,
            variant: entry.variants(info.kind).last().map_or("", |v| v.name),
            size,
            form: Form::default(),
            seed: self.seed,
            data,
        };
        let uncountable =
            |error: crate::roofline::work::WorkError| DeviceError::Unsupported(error.to_string());
        let work = entry.work(&problem, &info).map_err(uncountable)?;
        let (_, written) = bench::bytes_moved(&problem, &info).map_err(uncountable)?;
        let mut bench = Bench::new(device, problem.clone())?;
        bench.fill(data)?;
        let operands = bench.operands().to_vec();
        let subject = Subject {
            problem: &problem,
            operands: &operands,
            cache: CacheState::Cold,
            baseline: None,
        };
        let measured = measure(bench.device, subject, &self.rules, &|| true);
        device.release_all();
        let measured = measured?.ok_or_else(|| DeviceError::Call {
            call: "measuring",
            reason: "it was interrupted".to_owned(),
        })?;
        Ok(Timed {
            kernel,
            size,
            work,
            written,
            measured,
        })
    }

    /// `fma` at several numbers of steps; returns the longest.
    fn proportional(
        &self,
        device: &mut dyn Device,
        yardstick: Yardstick,
        found: &mut dyn FnMut(Finding),
    ) -> Result<Timed> {
        let Yardstick { tolerance, .. } = yardstick;
        let most = roof_size(KernelId::Fma, device.info(), 0);
        let mut at = |steps| self.time(device, KernelId::Fma, Size::Elements(steps), Data::Random);
        let empty = yardstick.time(&at(1)?.measured);
        let mut points = Vec::new();
        let mut quiet = true;
        let mut longest = None;
        for part in PARTS {
            let timed = at(most / part)?;
            quiet &= is_quiet(&timed.measured, tolerance);
            points.push(((most / part) as f64, yardstick.time(&timed.measured)));
            longest = Some(timed);
        }
        let shortest = points.first().map_or(0.0, |&(_, time)| time);
        let (figure, outcome) = match fit(&points) {
            None => ("no line".to_owned(), Outcome::Fail),
            Some(line) => (
                format!(
                    "intercept {}, residuals up to {:.2} %",
                    engineering(line.intercept, "s"),
                    100.0 * line.worst_residual
                ),
                match is_linear(line, empty, shortest, tolerance) {
                    Outcome::Fail if !quiet => Outcome::NotJudged,
                    outcome => outcome,
                },
            ),
        };
        found(Finding {
            check: "time in proportion to steps",
            subject: format!("fma {} to {most}", most / PARTS[0]),
            figure,
            limit: format!(
                "an empty launch, {}, ± {:.0} %; residuals {:.0} %",
                engineering(empty, "s"),
                100.0 * tolerance,
                100.0 * tolerance
            ),
            outcome,
        });
        longest.ok_or_else(|| DeviceError::Unsupported("fma has no steps to time".to_owned()))
    }

    /// One point twice with random data and once with zeros in between.
    fn same_again(
        &self,
        device: &mut dyn Device,
        kernel: KernelId,
        size: Size,
        yardstick: Yardstick,
        found: &mut dyn FnMut(Finding),
    ) -> Result<Timed> {
        let first = self.time(device, kernel, size, Data::Random)?;
        let zeros = self.time(device, kernel, size, Data::Zeros)?;
        let second = self.time(device, kernel, size, Data::Random)?;
        let time = |timed: &Timed| yardstick.time(&timed.measured);
        found(Finding {
            check: "random against zeros",
            subject: first.name(),
            figure: format!(
                "{} and {}: {:+.1} %",
                engineering(time(&first), "s"),
                engineering(time(&zeros), "s"),
                100.0 * (time(&first) / time(&zeros) - 1.0)
            ),
            limit: format!("a factor of {DATA_FACTOR}"),
            outcome: yardstick.data_matters(&first.measured, &zeros.measured, DATA_FACTOR),
        });
        found(Finding {
            check: "the same again",
            subject: first.name(),
            figure: format!(
                "{} and {}: {:+.2} %",
                engineering(time(&first), "s"),
                engineering(time(&second), "s"),
                100.0 * (time(&second) / time(&first) - 1.0)
            ),
            limit: format!(
                "{:.0} %, or intervals that overlap",
                100.0 * yardstick.tolerance
            ),
            outcome: yardstick.agree(&first.measured, &second.measured),
        });
        Ok(first)
    }
}

/// Side of the product that is measured: large enough to fill the device.
fn matrix(device: DeviceKind) -> Size {
    let side = match device {
        DeviceKind::Cuda | DeviceKind::Vm => 4096,
        DeviceKind::Cpu => 512,
    };
    Size::Matrix {
        m: side,
        n: side,
        k: side,
    }
}

/// Copy's arrays at the largest size it is swept over by default.
fn arrays_exceed_the_cache(info: &DeviceInfo) -> Finding {
    let kernel = KernelId::Copy.kernel();
    let sizes = parse_sizes(kernel.default_sizes(info.kind), kernel.size_kind());
    let largest = sizes
        .unwrap_or_default()
        .iter()
        .map(|size| match *size {
            Size::Elements(n) | Size::Mixed { n, .. } => 4 * n,
            Size::Matrix { m, n, .. } => 4 * m * n,
        })
        .max()
        .unwrap_or(0);
    Finding {
        check: "arrays exceed the cache",
        subject: format!("copy {}", largest / 4),
        figure: format!("{} an array", binary_bytes(largest)),
        limit: match info.cache_bytes {
            Some(cache) => format!("{CACHES} x {}", binary_bytes(cache)),
            None => "the size of the cache is not known".to_owned(),
        },
        outcome: info.cache_bytes.map_or(Outcome::NotJudged, |cache| {
            Outcome::of(largest >= CACHES * cache)
        }),
    }
}

/// Whether `fma` is limited by arithmetic on this roofline.
fn right_of_the_ridge(fma: &Timed, roofline: Roofline) -> Finding {
    let intensity = fma.work.intensity();
    Finding {
        check: "right of the ridge point",
        subject: fma.name(),
        figure: format!("intensity {intensity:.3e} FLOP/byte"),
        limit: format!("above {:.1}", roofline.ridge()),
        outcome: Outcome::of(intensity > roofline.ridge()),
    }
}

/// Whether a point lies below its roof, or above it for a known reason.
fn below_the_roof(
    timed: &Timed,
    roofline: Roofline,
    measured_roof: bool,
    info: &DeviceInfo,
) -> Finding {
    let seconds = timed.measured.summary.median;
    let fraction = roofline.fraction_of_roof(timed.work, seconds);
    let explanation = (fraction > 1.0).then(|| {
        Evidence {
            fraction,
            bound: roofline.bound(timed.work, seconds),
            cache: Cache::Cold,
            bytes: timed.work.bytes,
            written: timed.written,
            cache_bytes: info.cache_bytes,
            measured_roof,
            clock_hz: timed.measured.clock_hz,
            assumed_clock_hz: info.attributes.as_ref().map(|known| known.sm_clock_hz),
        }
        .explain()
    });
    Finding {
        check: "below the roof",
        subject: timed.name(),
        figure: match &explanation {
            None => format!("{:.1} %", 100.0 * fraction),
            Some(reason) => format!("{:.1} %: {reason}", 100.0 * fraction),
        },
        limit: "100 %, or explained".to_owned(),
        outcome: Outcome::of(explanation.is_none_or(|reason| reason.is_explained())),
    }
}
