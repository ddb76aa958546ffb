//! `rooftrace peaks`: peaks by unit and precision, where they come from, and with a device what is
//! measured of them.

mod measured;

use std::io::Write;

use super::Verbosity;
use super::error::CliError;
use super::render::{Cell, Column, CommandError, Common, Format, Sheet};
use crate::device::DeviceChoice;
use crate::roofline::peak::{self, Attributes, Derivation};
use crate::roofline::units::{binary_bytes, engineering, grouped};
use crate::roofline::{Gpu, Pipe};

/// Peak rates by unit and precision, from the datasheet and from SMs, cores and clock; with --device
/// measured as well: the bandwidth by `triad`, that of the last-level cache by `copy`, every pipe by
/// `fma`.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(after_help = "Examples:
  rooftrace peaks
      one line for each known GPU
  rooftrace peaks --gpu H100
      every peak of one GPU, each derived from SMs, cores and clock
  rooftrace peaks --device cuda
      every peak of this GPU measured, beside its datasheet")]
pub struct PeaksArgs {
    /// Only this GPU, in full: a name, an alias or the driver's device name
    #[arg(long, value_name = "NAME")]
    pub gpu: Option<String>,
    /// Measure the peaks of this device: auto, cpu, cuda or cuda:I
    #[arg(short, long, value_name = "DEVICE", conflicts_with = "gpu")]
    pub device: Option<DeviceChoice>,
    /// Short sampling (2 % noise)
    #[arg(long, requires = "device")]
    pub quick: bool,
    /// Longest sampling of a peak, in seconds
    #[arg(long, value_name = "S", requires = "device")]
    pub max_time: Option<f64>,
    /// Common flags.
    #[command(flatten)]
    pub common: Common,
}

/// Writes the peaks: a summary of all GPUs, everything about one, or what a device reaches.
///
/// # Errors
/// An unknown GPU, a faulty `--spec` file, a failed write; with a device: no such device, an
/// interruption, [`CliError::Failed`] if a peak could not be measured.
pub fn run(args: &PeaksArgs, verbosity: Verbosity, out: &mut dyn Write) -> Result<(), CliError> {
    match args.device {
        Some(device) => measured::run(args, device, verbosity, out)?,
        None => known(args, out)?,
    }
    Ok(out.flush()?)
}

/// Writes what the database knows.
fn known(args: &PeaksArgs, out: &mut dyn Write) -> Result<(), CommandError> {
    let database = args.common.database()?;
    let format = args.common.format;
    match (&args.gpu, format) {
        (Some(name), Format::Table) => one(database.find(name)?, out),
        (Some(name), _) => Ok(rates(&[database.find(name)?]).write(format, out)?),
        (None, Format::Table) => Ok(summary(database.gpus()).write(format, out)?),
        (None, _) => Ok(rates(&database.gpus().iter().collect::<Vec<_>>()).write(format, out)?),
    }
}

/// What the database knows of a device, as a driver would report it.
fn attributes(gpu: &Gpu) -> Option<Attributes> {
    Some(Attributes {
        compute_capability: gpu.compute_capability?,
        sms: gpu.sms?,
        sm_clock_hz: gpu.boost_clock_hz?,
        memory_bus_bits: gpu.memory_bus_bits,
        memory_clock_hz: gpu.memory_clock_hz,
    })
}

fn computed_peak(gpu: &Gpu, pipe: Pipe) -> Option<Derivation> {
    peak::peak(&attributes(gpu)?, pipe).ok()
}

fn computed_bandwidth(gpu: &Gpu) -> Option<Derivation> {
    peak::memory_peak(&attributes(gpu)?).ok()
}

const SUMMARY: [Column; 13] = [
    ("gpu", Some("GPU")),
    ("compute_capability", Some("CC")),
    ("sms", Some("SMs")),
    ("memory", Some("Memory")),
    ("memory_bytes", Some("Size")),
    ("memory_bandwidth_byte_per_s", Some("Bandwidth")),
    ("l2_bytes", Some("L2")),
    ("tdp_w", Some("TDP")),
    ("fp32", Some("fp32 TFLOP/s")),
    ("tf32", Some("tf32")),
    ("bf16", Some("bf16")),
    ("fp8", Some("fp8")),
    ("fp4", Some("fp4")),
];

/// One line a GPU. The precisions are in TFLOP/s to keep the line short.
fn summary(gpus: &[Gpu]) -> Sheet {
    let mut sheet = Sheet::new(SUMMARY.to_vec());
    for gpu in gpus {
        let unsupported = if gpu.supported() == Some(false) {
            " (unsupported)"
        } else {
            ""
        };
        let mut row = vec![
            Cell::text(format!("{}{unsupported}", gpu.name)),
            Cell::maybe(gpu.compute_capability, |c| Cell::text(c.to_string())),
            Cell::maybe(gpu.sms, |n| Cell::whole(n.into(), n.to_string())),
            Cell::maybe(gpu.memory.clone(), Cell::text),
            Cell::maybe(gpu.memory_bytes, |n| Cell::whole(n, binary_bytes(n))),
            Cell::maybe(gpu.memory_bandwidth_byte_per_s, |x| {
                Cell::quantity(x, "B/s")
            }),
            Cell::maybe(gpu.l2_bytes, |n| Cell::whole(n, binary_bytes(n))),
            Cell::maybe(gpu.tdp_w, |x| Cell::number(x, format!("{x} W"))),
        ];
        for pipe in [Pipe::Fp32, Pipe::Tf32, Pipe::Bf16, Pipe::Fp8, Pipe::Fp4] {
            row.push(Cell::maybe(gpu.peak(pipe).ok(), |x| {
                Cell::number(x, format!("{:.1}", x / 1e12))
            }));
        }
        sheet.push(row);
    }
    sheet
}

const RATES: [Column; 21] = [
    ("gpu", None),
    ("compute_capability", None),
    ("supported", None),
    ("sms", None),
    ("fp32_cores_per_sm", None),
    ("boost_clock_hz", None),
    ("memory", None),
    ("memory_bytes", None),
    ("l2_bytes", None),
    ("l2_read_byte_per_s", None),
    ("tdp_w", None),
    ("peak_byte_per_s", None),
    ("computed_byte_per_s", None),
    ("pipe", Some("Pipe")),
    ("unit", Some("Unit")),
    ("precision", None),
    ("dense_flop_per_s", Some("Dense")),
    ("sparse_flop_per_s", Some("1:2 sparse")),
    ("computed_flop_per_s", Some("From attributes")),
    ("computed_over_dense", Some("over datasheet")),
    ("source", None),
];

/// One row for each GPU and pipe.
fn rates(gpus: &[&Gpu]) -> Sheet {
    let mut sheet = Sheet::new(RATES.to_vec());
    for gpu in gpus {
        for (pipe, rate) in &gpu.peaks {
            let computed = computed_peak(gpu, *pipe).map(|d| d.value);
            let ratio = computed.map(|c| c / rate.dense_flop_per_s);
            sheet.push(vec![
                Cell::text(&gpu.name),
                Cell::maybe(gpu.compute_capability, |c| Cell::text(c.to_string())),
                Cell::maybe(gpu.supported(), Cell::flag),
                Cell::maybe(gpu.sms, |n| Cell::whole(n.into(), n.to_string())),
                Cell::maybe(gpu.fp32_cores_per_sm, |n| {
                    Cell::whole(n.into(), n.to_string())
                }),
                Cell::maybe(gpu.boost_clock_hz, |x| Cell::quantity(x, "Hz")),
                Cell::maybe(gpu.memory.clone(), Cell::text),
                Cell::maybe(gpu.memory_bytes, |n| Cell::whole(n, binary_bytes(n))),
                Cell::maybe(gpu.l2_bytes, |n| Cell::whole(n, binary_bytes(n))),
                Cell::maybe(gpu.l2_read_peak(), |d| Cell::quantity(d.value, "B/s")),
                Cell::maybe(gpu.tdp_w, |x| Cell::quantity(x, "W")),
                Cell::maybe(gpu.memory_bandwidth_byte_per_s, |x| {
                    Cell::quantity(x, "B/s")
                }),
                Cell::maybe(computed_bandwidth(gpu), |d| Cell::quantity(d.value, "B/s")),
                Cell::text(pipe.id()),
                Cell::text(pipe.unit().to_string()),
                Cell::text(pipe.precision()),
                Cell::quantity(rate.dense_flop_per_s, pipe.rate_unit()),
                Cell::maybe(rate.sparse_flop_per_s, |x| {
                    Cell::quantity(x, pipe.rate_unit())
                }),
                Cell::maybe(computed, |x| Cell::quantity(x, pipe.rate_unit())),
                Cell::maybe(ratio, |r| Cell::number(r, format!("{:.1} %", r * 100.0))),
                Cell::text(&gpu.source),
            ]);
        }
    }
    sheet
}

/// Everything about one GPU, for people.
fn one(gpu: &Gpu, out: &mut dyn Write) -> Result<(), CommandError> {
    let capability = gpu
        .compute_capability
        .map(|c| format!(", compute capability {c}"));
    writeln!(out, "{}{}", gpu.name, capability.unwrap_or_default())?;
    if gpu.supported() == Some(false) {
        let minimum = crate::roofline::db::MINIMUM_COMPUTE_CAPABILITY;
        writeln!(
            out,
            "Not supported: the kernels need compute capability {minimum}."
        )?;
    }
    memory_lines(gpu, out)?;
    if let Some(watts) = gpu.tdp_w {
        writeln!(out, "Thermal design power: {watts} W")?;
    }
    writeln!(out)?;
    rates(&[gpu]).write(Format::Table, out)?;
    derivation_lines(gpu, out)?;
    writeln!(out, "Source: {}", gpu.source)?;
    if let Some(note) = &gpu.note {
        writeln!(out, "Note: {note}")?;
    }
    Ok(())
}

fn memory_lines(gpu: &Gpu, out: &mut dyn Write) -> Result<(), CommandError> {
    if let (Some(memory), Some(bytes)) = (&gpu.memory, gpu.memory_bytes) {
        writeln!(out, "Memory: {} of {memory}", binary_bytes(bytes))?;
    }
    if let Some(l2) = gpu.l2_bytes {
        writeln!(out, "L2 cache: {}", binary_bytes(l2))?;
    }
    if let Some(reads) = gpu.l2_read_peak() {
        writeln!(out, "L2 bandwidth, reads: {reads}")?;
    }
    if let Some(datasheet) = gpu.memory_bandwidth_byte_per_s {
        writeln!(
            out,
            "Memory bandwidth, datasheet: {}",
            engineering(datasheet, "B/s")
        )?;
        if let Some(computed) = computed_bandwidth(gpu) {
            let off = (computed.value / datasheet - 1.0) * 100.0;
            writeln!(
                out,
                "Memory bandwidth, from attributes ({off:+.1} %): {computed}"
            )?;
        }
    }
    Ok(())
}

/// The fp32 peak factor by factor, and the BF16 peak read backwards.
fn derivation_lines(gpu: &Gpu, out: &mut dyn Write) -> Result<(), CommandError> {
    let Some(device) = attributes(gpu) else {
        return Ok(());
    };
    if let Ok(fp32) = peak::fp32_peak(&device) {
        let per_cycle = grouped((fp32.value / device.sm_clock_hz).round() as u64);
        writeln!(out, "fp32: {fp32} ({per_cycle} FLOP/cycle)")?;
    }
    let hardware = peak::tensor_flops_per_sm_cycle(device.compute_capability, Pipe::Bf16);
    if let (Some(bf16), Some(hardware)) = (gpu.peaks.get(&Pipe::Bf16), hardware) {
        let clock = device.sm_clock_hz;
        // The lecture's rounding, where there is one, gives the lecture's 3,784.
        let rate = bf16.lecture_flop_per_s.unwrap_or(bf16.dense_flop_per_s);
        let text = peak::explain_backwards(Pipe::Bf16, rate, device.sms, clock, hardware);
        writeln!(out, "{text}.")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn output(gpu: Option<&str>, format: Format) -> String {
        let common = Common { spec: None, format };
        let mut out = Vec::new();
        run(
            &PeaksArgs {
                gpu: gpu.map(str::to_owned),
                common,
                ..PeaksArgs::default()
            },
            Verbosity::Quiet,
            &mut out,
        )
        .unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn one_gpu_is_derived_factor_by_factor_and_read_backwards() {
        let text = output(Some("H100"), Format::Table);
        for part in [
            "132 SMs x 128 cores per SM x 2 FLOPs per FMA x 1.98e9 Hz = 6.6908e13 FLOP/s",
            "33,792 FLOP/cycle",
            "3,784",
            "4,096",
            "assumes 1.83 GHz",
            "3.35 TB/s",
            "50 MiB",
            "Source: NVIDIA H100",
        ] {
            assert!(text.contains(part), "{part} in\n{text}");
        }
    }

    #[test]
    fn the_bandwidth_of_the_l2_is_derived_where_it_is_known() {
        let line = "L2 bandwidth, reads: 5120 bytes per cycle x 1.41e9 Hz = 7.2192e12 byte/s";
        assert!(output(Some("A100"), Format::Table).contains(line));
        assert!(!output(Some("H200"), Format::Table).contains("L2 bandwidth"));
        for (gpu, known) in [("A100", 7.2192e12.into()), ("H200", Value::Null)] {
            let rows: Value = serde_json::from_str(&output(Some(gpu), Format::Json)).unwrap();
            assert_eq!(rows[0]["l2_read_byte_per_s"], known, "{gpu}");
        }
    }

    #[test]
    fn the_summary_marks_what_is_unsupported() {
        let text = output(None, Format::Table);
        assert!(
            text.contains("V100 SXM2 (unsupported)") && text.contains("989.4"),
            "{text}"
        );
        assert!(output(Some("V100"), Format::Table).contains("need compute capability 8.0"));
    }

    #[test]
    fn json_has_a_row_for_each_pipe_and_null_where_unknown() {
        let rows: Value = serde_json::from_str(&output(Some("B200"), Format::Json)).unwrap();
        let rows = rows.as_array().unwrap();
        assert_eq!(rows.len(), 9);
        let fp4 = rows.iter().find(|r| r["pipe"] == "fp4").unwrap();
        assert_eq!(fp4["dense_flop_per_s"], 9000e12);
        assert_eq!(fp4["sparse_flop_per_s"], 18000e12);
        assert_eq!(fp4["boost_clock_hz"], Value::Null);
    }

    #[test]
    fn a_faulty_spec_file_is_named_with_its_line() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(
            file.path(),
            "[[gpu]]\nname = \"X\"\nsms = -1\nsource = \"s\"\n",
        )
        .unwrap();
        let common = Common {
            spec: Some(file.path().to_owned()),
            format: Format::Table,
        };
        let args = PeaksArgs {
            common,
            ..PeaksArgs::default()
        };
        let error = run(&args, Verbosity::Quiet, &mut Vec::new()).unwrap_err();
        let message = error.to_string();
        let place = format!("--spec: {}:3: gpu \"X\".sms: -1", file.path().display());
        assert!(message.starts_with(&place), "{message}");
    }
}
