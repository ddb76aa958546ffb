//! Which rows a figure shows.

use super::error::FigureError;
use crate::record::{Row, Status};

/// The measured rows of one device, or of all with `across_devices`, in their order.
///
/// # Errors
/// [`FigureError::NoRows`], [`FigureError::MixedDevices`], [`FigureError::NothingMeasured`].
pub fn measured(rows: &[Row], across_devices: bool) -> Result<Vec<&Row>, FigureError> {
    if rows.is_empty() {
        return Err(FigureError::NoRows);
    }
    let devices = devices(rows);
    if devices.len() > 1 && !across_devices {
        return Err(FigureError::MixedDevices {
            devices: devices.into_iter().map(str::to_owned).collect(),
        });
    }
    let shown: Vec<&Row> = rows.iter().filter(|row| usable(row)).collect();
    if shown.is_empty() {
        let of = |status| rows.iter().filter(|row| row.status == status).count();
        return Err(FigureError::NothingMeasured {
            rows: rows.len(),
            skipped: of(Status::Skipped),
            failed: of(Status::Failed),
            reason: rows.iter().find_map(|row| row.reason.clone()),
        });
    }
    Ok(shown)
}

/// Names of the devices, in the order in which the rows have them first.
#[must_use]
pub fn devices<'a>(rows: impl IntoIterator<Item = &'a Row>) -> Vec<&'a str> {
    let mut devices: Vec<&str> = Vec::new();
    for row in rows {
        if !devices.contains(&row.device.as_str()) {
            devices.push(&row.device);
        }
    }
    devices
}

/// Whether a row has a place in a figure: it ran, gave the right result, and has rates.
#[must_use]
pub fn usable(row: &Row) -> bool {
    let positive = |value: Option<f64>| value.is_some_and(|v| v > 0.0 && v.is_finite());
    row.status == Status::Ok
        && row.verified != Some(false)
        && positive(row.time_median_s)
        && (positive(row.flop_per_s) || positive(row.byte_per_s))
}
