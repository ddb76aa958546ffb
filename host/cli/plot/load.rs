//! Reads the files that a figure is made of.

use std::io::Write;
use std::path::PathBuf;

use crate::cli::Verbosity;
use crate::cli::error::CliError;
use crate::cli::render::CommandError;
use crate::figure::select::{devices, usable};
use crate::record::{Row, Status, read_file};
use crate::roofline::Database;

/// The rows of all files, in their order. A file that was cut short gives its whole rows, and
/// a line on stderr says so.
///
/// # Errors
/// The first file that cannot be read.
pub fn load(files: &[PathBuf], verbosity: Verbosity) -> Result<Vec<Row>, CliError> {
    let mut rows = Vec::new();
    for path in files {
        let table = read_file(path)?;
        if let Some(torn) = table.torn {
            say(
                verbosity,
                &format!(
                    "`{}` is cut short in line {}: its {} whole rows are used",
                    path.display(),
                    torn.line,
                    table.rows.len()
                ),
            );
        }
        rows.extend(table.rows);
    }
    Ok(rows)
}

/// Says how many rows the figure does not show, and why.
pub fn note_omitted(rows: &[Row], verbosity: Verbosity) {
    let omitted = rows.iter().filter(|row| !usable(row)).count();
    if omitted > 0 {
        let of = |status| rows.iter().filter(|row| row.status == status).count();
        say(
            verbosity,
            &format!(
                "{omitted} of {} rows are not shown ({} skipped, {} failed)",
                rows.len(),
                of(Status::Skipped),
                of(Status::Failed)
            ),
        );
    }
}

/// Says which GPUs of the rows have no datasheet, and which known ones are called alike: their
/// figure has the measured roofs, and those of the device's attributes, alone.
///
/// # Errors
/// A usage error for a database that cannot be read.
pub fn note_without_datasheet(rows: &[Row], verbosity: Verbosity) -> Result<(), CliError> {
    /// Names that are suggested for one.
    const SUGGESTED: usize = 3;
    let database = Database::load(None).map_err(CommandError::from)?;
    for device in devices(rows.iter().filter(|row| lacks_datasheet(row))) {
        if database.find_by_driver_name(device).is_some() {
            continue;
        }
        say(
            verbosity,
            &format!(
                "no datasheet roofs for `{device}`: it is not in the database of GPUs, where the \
                 nearest are {}; the roofs that the rows name are drawn. To have those of its \
                 datasheet, sweep with --spec FILE",
                database.nearest_to(device, SUGGESTED).join(", ")
            ),
        );
    }
    Ok(())
}

/// Whether a row is of a GPU and its peaks, if it has any, are not from a datasheet.
fn lacks_datasheet(row: &Row) -> bool {
    let from_datasheet = row
        .peak_source
        .as_deref()
        .is_some_and(|source| source.starts_with("datasheet"));
    row.compute_capability.is_some() && !from_datasheet
}

/// A line on stderr. If stderr is closed there is nobody to tell.
fn say(verbosity: Verbosity, text: &str) {
    if verbosity >= Verbosity::Normal {
        drop(writeln!(anstream::stderr(), "{text}"));
    }
}
