//! `rooftrace report`: a page with figures and tables, or its verdicts as text.

use std::io::Write;
use std::path::PathBuf;

use super::Verbosity;
use super::error::CliError;
use super::plot::{check_out, load, write};
use crate::figure::report;

/// A self-contained page of measured rows, or in short what they come to.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Examples:
  rooftrace report rows.csv -o report.html
      device, method, figures, tables and provenance on one page
  rooftrace report rows.csv
      the roofs, and how near to them each kernel came, as text
  rooftrace report h100.csv h200.csv --across-devices -o compare.html
      two devices on one page")]
pub struct ReportArgs {
    /// Files of rows, as written by `rooftrace sweep`
    #[arg(required = true, value_name = "FILES")]
    pub files: Vec<PathBuf>,
    /// Page to write; `-` is stdout. Without it, the verdicts are written to stdout as text
    #[arg(short, long, value_name = "PATH")]
    pub out: Option<PathBuf>,
    /// Show rows of different devices on one page
    #[arg(long)]
    pub across_devices: bool,
}

/// Writes the page, or the text.
///
/// # Errors
/// Files that cannot be read, rows without a measurement, an output that cannot be written.
pub fn run(args: &ReportArgs, out: &mut dyn Write, verbosity: Verbosity) -> Result<(), CliError> {
    if let Some(path) = args.out.as_deref().filter(|path| path.as_os_str() != "-") {
        check_out(path, &args.files)?;
        let extension = path.extension().and_then(|extension| extension.to_str());
        if !matches!(extension, Some("html" | "htm")) {
            return Err(CliError::Usage(format!(
                "--out `{}`: a report is an HTML page; end its name in .html",
                path.display()
            )));
        }
    }
    let rows = load(&args.files, verbosity)?;
    match &args.out {
        Some(path) => write(
            path,
            report::page(&rows, args.across_devices)?.as_bytes(),
            out,
        ),
        None => {
            out.write_all(report::text(&rows, args.across_devices)?.as_bytes())?;
            Ok(out.flush()?)
        }
    }
}
