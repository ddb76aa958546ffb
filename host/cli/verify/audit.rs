//! The self-audit's table.

use crate::audit::judge::Outcome;
use crate::audit::{Audit, Finding};
use crate::cli::error::CliError;
use crate::cli::render::{Cell, Column, Format, Sheet};
use crate::device::Device;
use crate::measure::Rules;
use crate::roofline::db::Database;
use std::io::Write;

const COLUMNS: [Column; 5] = [
    ("check", Some("Audit")),
    ("point", Some("Point")),
    ("found", Some("Found")),
    ("limit", Some("Limit")),
    ("outcome", Some("Outcome")),
];

/// Audits the device and prints the table; returns the number of checks that failed.
///
/// # Errors
/// The device's error; stdout cannot be written.
pub(super) fn run(
    device: &mut dyn Device,
    seed: u64,
    quick: bool,
    out: &mut dyn Write,
) -> Result<usize, CliError> {
    let kind = device.info().kind;
    let audit = Audit {
        rules: if quick {
            Rules::quick(kind)
        } else {
            Rules::defaults(kind)
        },
        database: Database::builtin().map_err(|error| CliError::Usage(error.to_string()))?,
        seed,
    };
    let mut sheet = Sheet::new(COLUMNS.to_vec());
    let mut failed = 0;
    audit.run(device, &mut |finding: Finding| {
        failed += usize::from(finding.outcome == Outcome::Fail);
        sheet.push(vec![
            Cell::text(finding.check),
            Cell::text(finding.subject),
            Cell::text(finding.figure),
            Cell::text(finding.limit),
            Cell::text(finding.outcome.name()),
        ]);
    })?;
    sheet.write(Format::Table, out)?;
    out.flush()?;
    Ok(failed)
}
