//! `devices`: what can be measured.

use super::error::CliError;
use crate::device::cpu::CpuDevice;
use crate::device::cuda::{self, CudaDevice};
use crate::device::{Device, DeviceError, DeviceInfo};
use crate::roofline::units::binary_bytes;
use comfy_table::Table;
use std::io::Write;

/// Arguments of `devices`.
#[derive(Debug, clap::Args)]
#[command(
    about = "List the devices that can be measured, with the value for --device",
    after_help = "Examples:\n  rooftrace devices\n  rooftrace sweep sgemm --device cuda:1"
)]
pub struct DevicesArgs {}

/// Prints one line a device.
///
/// # Errors
/// stdout cannot be written.
pub fn run(_: &DevicesArgs, out: &mut dyn Write) -> Result<(), CliError> {
    let mut table = Table::new();
    table.set_header([
        "--device",
        "name",
        "units",
        "memory",
        "last-level cache",
        "note",
    ]);
    match cuda::list() {
        Ok(gpus) => {
            for (index, (name, capability)) in gpus.iter().enumerate() {
                let opened = CudaDevice::open(index as u32, None);
                add(
                    &mut table,
                    &format!("cuda:{index}"),
                    opened.map(|d| d.info().clone()),
                    || format!("{name} ({capability})"),
                );
            }
        }
        Err(error) => {
            table.add_row(["cuda", "", "", "", "", &error.to_string()]);
        }
    }
    add(
        &mut table,
        "cpu",
        CpuDevice::new().map(|d| d.info().clone()),
        String::new,
    );
    writeln!(out, "{}", table.trim_fmt())?;
    Ok(())
}

/// Adds the line of a device, or of why it cannot be used.
fn add(
    table: &mut Table,
    value: &str,
    info: Result<DeviceInfo, DeviceError>,
    name: impl FnOnce() -> String,
) {
    match info {
        Ok(info) => table.add_row([
            value,
            &info.name,
            &info.units.to_string(),
            &binary_bytes(info.memory_bytes),
            &info.cache_bytes.map(binary_bytes).unwrap_or_default(),
            &info
                .compute_capability
                .map(|c| format!("compute capability {c}"))
                .unwrap_or_default(),
        ]),
        Err(error) => table.add_row([value, &name(), "", "", "", &error.to_string()]),
    };
}
