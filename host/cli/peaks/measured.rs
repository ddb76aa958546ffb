//! `rooftrace peaks --device`: the roofs of a device as they are measured, beside its datasheet.

use std::io::Write;
use std::sync::atomic::Ordering;

use super::PeaksArgs;
use crate::cli::error::CliError;
use crate::cli::render::{Cell, Column, Format, Sheet};
use crate::cli::sweep::request::positive;
use crate::cli::sweep::watch_signals;
use crate::cli::{Verbosity, open_device};
use crate::device::{DeviceChoice, DeviceInfo, DeviceKind, vm};
use crate::kernels::KernelId;
use crate::measure::Rules;
use crate::roofline::peak;
use crate::roofline::units::binary_bytes;
use crate::roofline::{Database, Pipe};
use crate::sweep::Stop;
use crate::sweep::roofs::{self, Conditions, Rate, Roofs};

/// Seed of the operands, that of `sweep`.
const SEED: u64 = 1;
/// Names of GPUs that are suggested for one without a datasheet.
const SUGGESTED: usize = 3;

/// Measures the bandwidth and the rate of every pipe of a device, each verified first, and writes
/// them with what the datasheet says.
///
/// # Errors
/// Bad input, no such device, an interruption; [`CliError::Failed`] once everything is written if
/// a peak could not be measured.
pub(super) fn run(
    args: &PeaksArgs,
    choice: DeviceChoice,
    verbosity: Verbosity,
    out: &mut dyn Write,
) -> Result<(), CliError> {
    if let DeviceChoice::Vm(_) = choice {
        return Err(CliError::Usage(format!(
            "--device {choice}: {}",
            vm::NO_TIMINGS
        )));
    }
    let longest = positive("--max-time", args.max_time, "seconds, such as 3")?;
    let database = args.common.database()?;
    let interrupted = watch_signals()?;
    let mut opened = open_device(choice, None)?;
    let info = opened.device.info().clone();
    let pipes = KernelId::Fma.kernel().pipes(&info);
    let say = |text: &str| {
        if verbosity >= Verbosity::Normal {
            // If stderr is closed there is nobody to tell.
            drop(writeln!(anstream::stderr(), "{text}"));
        }
    };
    if let Some(reason) = &opened.fallback {
        say(&format!(
            "measuring the CPU, because no GPU was found: {reason}"
        ));
    }
    let names: Vec<&str> = pipes.iter().map(|pipe| pipe.id()).collect();
    say(&format!(
        "measuring {}: triad, copy in the cache, and fma on {}",
        info.name,
        names.join(", ")
    ));
    let conditions = Conditions {
        rules: rules(info.kind, args.quick, longest),
        seed: SEED,
        database: &database,
    };
    let go_on = || !interrupted.load(Ordering::Relaxed);
    let roofs = Roofs::of(&pipes, conditions, opened.device.as_mut(), &go_on).map_err(stopped)?;
    let mut notes = roofs.notes.clone();
    let cache =
        roofs::cache(conditions, opened.device.as_mut(), &go_on, &mut notes).map_err(stopped)?;
    let format = args.common.format;
    if format == Format::Table {
        let capability = info
            .compute_capability
            .map(|c| format!(", compute capability {c}"));
        writeln!(out, "{}{}", info.name, capability.unwrap_or_default())?;
    }
    sheet(&roofs, cache, &info, &database).write(format, out)?;
    if format == Format::Table {
        writeln!(out, "{}", source(&info, &database))?;
        if let (Some(bytes), true) = (info.cache_bytes, cache.is_some()) {
            let bytes = binary_bytes(bytes);
            writeln!(
                out,
                "The cache's is the best of working sets of a quarter, half, and three quarters of \
                 its {bytes}, which stay in it from launch to launch."
            )?;
        }
    }
    match notes.as_slice() {
        [] => Ok(()),
        notes => Err(CliError::Failed(notes.join("\n"))),
    }
}

/// Why nothing is written.
fn stopped(stop: Stop) -> CliError {
    match stop {
        Stop::Interrupted => CliError::Interrupted("interrupted; no peak is written".to_owned()),
        Stop::Record(error) => error.into(),
        Stop::Device(error) => error.into(),
    }
}

/// When to stop sampling; `longest` in seconds.
fn rules(kind: DeviceKind, quick: bool, longest: Option<f64>) -> Rules {
    let rules = match quick {
        true => Rules::quick(kind),
        false => Rules::defaults(kind),
    };
    let max_time_s = longest.unwrap_or(rules.max_time_s);
    Rules {
        min_time_s: rules.min_time_s.min(max_time_s),
        max_time_s,
        ..rules
    }
}

const COLUMNS: [Column; 13] = [
    ("device", None),
    ("roof", Some("Roof")),
    ("unit", Some("Unit")),
    ("kernel", Some("Kernel")),
    ("measured_per_s", Some("Measured")),
    ("measured_ci95_low_per_s", None),
    ("measured_ci95_high_per_s", None),
    ("rel_noise", Some("±")),
    ("datasheet_per_s", Some("Datasheet")),
    ("measured_over_datasheet", Some("of it")),
    ("computed_per_s", Some("From attributes")),
    ("measured_over_computed", Some("of that")),
    ("rate_unit", None),
];

/// A row for the memory, one for the last-level cache if it was measured, and one for each pipe.
fn sheet(roofs: &Roofs, cache: Option<Rate>, info: &DeviceInfo, database: &Database) -> Sheet {
    let gpu = match info.kind {
        DeviceKind::Cpu => None,
        _ => database.find_by_driver_name(&info.name),
    };
    let attributes = info.attributes.as_ref();
    let mut sheet = Sheet::new(COLUMNS.to_vec());
    sheet.push(row(
        info,
        ["memory", "device memory", KernelId::Triad.name(), "B/s"],
        roofs.pipes.first().and_then(|of| of.measured_byte_per_s),
        gpu.and_then(|gpu| gpu.memory_bandwidth_byte_per_s),
        attributes.and_then(|of| Some(peak::memory_peak(of).ok()?.value)),
    ));
    if cache.is_some() {
        let names = match info.kind {
            DeviceKind::Cpu => ["cache", "last-level cache"],
            DeviceKind::Cuda | DeviceKind::Vm => ["l2", "L2 cache"],
        };
        sheet.push(row(
            info,
            [names[0], names[1], KernelId::Copy.name(), "B/s"],
            cache,
            gpu.and_then(|gpu| Some(gpu.l2_read_peak()?.value)),
            None,
        ));
    }
    for of in &roofs.pipes {
        let unit = unit(of.pipe, info.kind);
        sheet.push(row(
            info,
            [
                of.pipe.id(),
                &unit,
                KernelId::Fma.name(),
                of.pipe.rate_unit(),
            ],
            of.measured_flop_per_s,
            gpu.and_then(|gpu| gpu.peak(of.pipe).ok()),
            attributes.and_then(|attributes| Some(peak::peak(attributes, of.pipe).ok()?.value)),
        ));
    }
    sheet
}

/// What does the arithmetic of a pipe: a CPU has no CUDA cores.
fn unit(pipe: Pipe, kind: DeviceKind) -> String {
    match kind {
        DeviceKind::Cpu => "CPU cores".to_owned(),
        _ => pipe.unit().to_string(),
    }
}

fn row(
    info: &DeviceInfo,
    [roof, unit, kernel, rate_unit]: [&str; 4],
    measured: Option<Rate>,
    datasheet: Option<f64>,
    computed: Option<f64>,
) -> Vec<Cell> {
    let quantity = |value| Cell::maybe(value, |value| Cell::quantity(value, rate_unit));
    let percent = |share: f64, digits| Cell::number(share, format!("{:.digits$} %", share * 100.0));
    let share = |peak: Option<f64>| {
        let both = measured.zip(peak);
        Cell::maybe(both, |(rate, peak)| percent(rate.median / peak, 1))
    };
    let interval = measured.and_then(|rate| Some((rate.interval?, rate.median)));
    vec![
        Cell::text(&info.name),
        Cell::text(roof),
        Cell::text(unit),
        Cell::text(kernel),
        quantity(measured.map(|rate| rate.median)),
        quantity(interval.map(|(interval, _)| interval.low)),
        quantity(interval.map(|(interval, _)| interval.high)),
        Cell::maybe(interval, |(interval, median)| {
            percent((interval.high - interval.low) / 2.0 / median, 2)
        }),
        quantity(datasheet),
        share(datasheet),
        quantity(computed),
        share(computed),
        Cell::text(rate_unit),
    ]
}

/// Where the peaks beside the measured ones are from, or why there are none.
fn source(info: &DeviceInfo, database: &Database) -> String {
    if info.kind == DeviceKind::Cpu {
        return "A CPU has no datasheet here: what is measured stands alone.".to_owned();
    }
    match database.find_by_driver_name(&info.name) {
        Some(gpu) => format!("Datasheet of {}: {}", gpu.name, gpu.source),
        None => format!(
            "No datasheet: {} is not in the database, where the nearest are {}; add it with --spec FILE.",
            info.name,
            database.nearest_to(&info.name, SUGGESTED).join(", ")
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::vm::{Target, describe};
    use crate::roofline::model::Interval;
    use crate::sweep::roofs::PipeRoofs;

    fn rate(median: f64) -> Option<Rate> {
        Some(Rate {
            median,
            interval: Some(Interval {
                low: 0.99 * median,
                high: 1.01 * median,
            }),
        })
    }

    fn of(pipe: Pipe, flops: Option<Rate>) -> PipeRoofs {
        PipeRoofs {
            pipe,
            peak: None,
            measured_flop_per_s: flops,
            measured_byte_per_s: rate(4.32e12),
        }
    }

    fn h200() -> DeviceInfo {
        DeviceInfo {
            name: "NVIDIA H200".to_owned(),
            kind: DeviceKind::Cuda,
            ..describe(Target::Sm90a)
        }
    }

    #[test]
    fn each_roof_is_set_against_the_datasheet_and_a_missing_one_is_null() {
        let roofs = Roofs {
            pipes: vec![of(Pipe::Fp32, None), of(Pipe::Bf16, rate(881e12))],
            notes: Vec::new(),
        };
        let database = Database::builtin().unwrap();
        let rows = sheet(&roofs, None, &h200(), &database).objects();
        assert_eq!(rows.len(), 3);
        assert_eq!(rows[0]["roof"], "memory");
        assert_eq!(rows[0]["measured_over_datasheet"], 0.9);
        assert_eq!(rows[1]["measured_per_s"], serde_json::Value::Null);
        assert_eq!(rows[1]["datasheet_per_s"], 66.9e12);
        assert_eq!(rows[2]["unit"], "tensor cores");
        let share = rows[2]["measured_over_datasheet"].as_f64().unwrap();
        assert!((share - 881.0 / 989.4).abs() < 1e-9, "{share}");
        let noise = rows[2]["rel_noise"].as_f64().unwrap();
        assert!((noise - 0.01).abs() < 1e-9, "{noise}");
    }

    #[test]
    fn a_measured_l2_stands_beside_its_datasheet_where_there_is_one() {
        let roofs = Roofs {
            pipes: vec![of(Pipe::Fp32, None)],
            notes: Vec::new(),
        };
        let database = Database::builtin().unwrap();
        let l2 = |info: &DeviceInfo| sheet(&roofs, rate(3.6096e12), info, &database).objects();
        let rows = l2(&h200());
        assert_eq!(
            (&rows[1]["roof"], &rows[1]["kernel"]),
            (&"l2".into(), &"copy".into())
        );
        assert_eq!(rows[1]["measured_per_s"], 3.6096e12);
        assert_eq!(rows[1]["datasheet_per_s"], serde_json::Value::Null);
        let a100 = DeviceInfo {
            name: "NVIDIA A100-SXM4-80GB".to_owned(),
            ..h200()
        };
        assert_eq!(l2(&a100)[1]["measured_over_datasheet"], 0.5);
    }

    #[test]
    fn a_gpu_without_a_datasheet_is_answered_with_the_nearest() {
        let info = DeviceInfo {
            name: "NVIDIA H200 NVL 141GB".to_owned(),
            ..h200()
        };
        let text = source(&info, &Database::builtin().unwrap());
        assert!(
            text.contains("nearest are H200") && text.contains("--spec"),
            "{text}"
        );
    }
}
