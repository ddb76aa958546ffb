//! `rooftrace devices`: what can be measured.

use super::error::CliError;
use super::render::{Cell, Column, Format, Sheet};
use crate::device::cpu::CpuDevice;
use crate::device::cuda::{self, CudaDevice};
use crate::device::{Device, DeviceError, DeviceInfo};
use crate::roofline::units::binary_bytes;
use std::io::Write;

/// List the devices that can be measured, with the value for --device.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = "Examples:
  rooftrace devices
      the CPU, and every GPU that the driver knows
  rooftrace devices --format json
      the same for a program")]
pub struct DevicesArgs {
    /// How to write the result
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
}

const COLUMNS: [Column; 7] = [
    ("device", Some("--device")),
    ("name", Some("Name")),
    ("compute_capability", Some("CC")),
    ("units", Some("SMs or threads")),
    ("memory_bytes", Some("Memory")),
    ("cache_bytes", Some("Last-level cache")),
    ("reason", None),
];

/// Writes one row a device; below the table, why a GPU cannot be used.
///
/// # Errors
/// stdout cannot be written.
pub fn run(args: &DevicesArgs, out: &mut dyn Write) -> Result<(), CliError> {
    let mut sheet = Sheet::new(COLUMNS.to_vec());
    let mut reasons = Vec::new();
    let mut add = |value: &str, name: &str, found: Result<DeviceInfo, DeviceError>| {
        if let Err(error) = &found {
            reasons.push(format!("{value}: {error}"));
        }
        sheet.push(row(value, name, found));
    };
    match cuda::list() {
        Ok(gpus) => {
            for (index, (name, _)) in (0..).zip(&gpus) {
                let opened = CudaDevice::open(index, None).map(|device| device.info().clone());
                add(&format!("cuda:{index}"), name, opened);
            }
        }
        Err(error) => add("cuda", "", Err(error)),
    }
    add(
        "cpu",
        "",
        CpuDevice::new().map(|device| device.info().clone()),
    );
    sheet.write(args.format, out)?;
    if args.format == Format::Table {
        for reason in reasons {
            writeln!(out, "{reason}")?;
        }
    }
    Ok(())
}

/// The row of a device, or of why it cannot be used.
fn row(value: &str, name: &str, found: Result<DeviceInfo, DeviceError>) -> Vec<Cell> {
    let (info, reason) = match found {
        Ok(info) => (Some(info), None),
        Err(error) => (None, Some(error.to_string())),
    };
    let info = info.as_ref();
    let bytes = |bytes: Option<u64>| Cell::maybe(bytes, |b| Cell::whole(b, binary_bytes(b)));
    vec![
        Cell::text(value),
        Cell::text(info.map_or(name, |info| info.name.as_str())),
        Cell::maybe(info.and_then(|i| i.compute_capability), |c| {
            Cell::text(c.to_string())
        }),
        Cell::maybe(info.map(|i| i.units), |n| {
            Cell::whole(n.into(), n.to_string())
        }),
        bytes(info.map(|i| i.memory_bytes)),
        bytes(info.and_then(|i| i.cache_bytes)),
        Cell::maybe(reason, Cell::text),
    ]
}
