//! Reads the files that a figure is made of.

use std::io::Write;
use std::path::PathBuf;

use crate::cli::Verbosity;
use crate::cli::error::CliError;
use crate::figure::select::usable;
use crate::record::{Row, Status, read_file};

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

/// A line on stderr. If stderr is closed there is nobody to tell.
fn say(verbosity: Verbosity, text: &str) {
    if verbosity >= Verbosity::Normal {
        drop(writeln!(anstream::stderr(), "{text}"));
    }
}
