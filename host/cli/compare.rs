//! `rooftrace compare`: two files of rows, point by point.

use super::Verbosity;
use super::error::CliError;
use super::render::{Cell, Column, Format, Sheet};
use crate::kernels::intensity;
use crate::record::compare::DEFAULT_THRESHOLD;
use crate::record::{Cache, Comparison, Row, Verdict, compare, read_file};
use crate::roofline::units::engineering;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Compare two files of rows point by point; exit code 1 on a real regression.
///
/// A point is slower only if it takes more time and more cycles, each by more than the threshold
/// with the 95 % intervals of both files: noise and a drifting clock are no regressions.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = "Examples:
  rooftrace compare before.csv after.csv
      a table; exit code 1 if a point is slower or no longer right
  rooftrace compare before.csv after.csv --threshold 0.05 --format csv
      only changes above 5 % count; for a program")]
pub struct CompareArgs {
    /// Rows of the earlier sweep (CSV, JSON or JSON Lines)
    #[arg(value_name = "OLD")]
    pub old: PathBuf,

    /// Rows of the later sweep
    #[arg(value_name = "NEW")]
    pub new: PathBuf,

    /// Smallest relative change that counts
    #[arg(
        long,
        value_name = "F",
        default_value_t = DEFAULT_THRESHOLD,
        allow_negative_numbers = true
    )]
    pub threshold: f64,

    /// Compare files from different devices
    #[arg(long)]
    pub across_devices: bool,

    /// How to write the result
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
}

const COLUMNS: [Column; 17] = [
    ("kernel", Some("Kernel")),
    ("variant", Some("Variant")),
    ("m", None),
    ("n", Some("Size")),
    ("k", None),
    ("batch", None),
    ("cache", Some("Cache")),
    ("data", None),
    ("steady_state", Some("Steady")),
    ("old_time_median_s", Some("Old")),
    ("new_time_median_s", Some("New")),
    ("old_sm_clock_hz", None),
    ("new_sm_clock_hz", None),
    ("time_ratio", Some("Time")),
    ("cycles_ratio", Some("Cycles")),
    ("verdict", Some("Verdict")),
    ("reason", Some("Reason")),
];

/// Writes one row a point.
///
/// # Errors
/// A file that cannot be read, different devices, or a threshold that is none;
/// [`CliError::Failed`] on a regression.
pub fn run(args: &CompareArgs, verbosity: Verbosity, out: &mut dyn Write) -> Result<(), CliError> {
    if !(args.threshold.is_finite() && args.threshold >= 0.0) {
        return Err(CliError::Usage(format!(
            "--threshold {}: give a fraction of at least 0, such as 0.02 for 2 %",
            args.threshold
        )));
    }
    let (old, new) = (read(&args.old, verbosity)?, read(&args.new, verbosity)?);
    let points = compare(&old, &new, args.threshold, args.across_devices)
        .map_err(|error| CliError::Usage(error.to_string()))?;
    let mut sheet = Sheet::new(COLUMNS.to_vec());
    for row in points.iter().filter_map(line) {
        sheet.push(row);
    }
    sheet.write(args.format, out)?;
    out.flush()?;
    if verbosity >= Verbosity::Normal {
        // If stderr is closed there is nobody to tell.
        let _ = writeln!(anstream::stderr(), "{}", summary(&points));
    }
    match points.iter().filter(|p| p.verdict.is_regression()).count() {
        0 => Ok(()),
        count => Err(CliError::Failed(format!(
            "{count} of {} points regressed",
            points.len()
        ))),
    }
}

/// The rows of a file; says if its end is torn.
fn read(path: &Path, verbosity: Verbosity) -> Result<Vec<Row>, CliError> {
    let table = read_file(path)?;
    if let Some(torn) = table.torn
        && verbosity >= Verbosity::Normal
    {
        let _ = writeln!(
            anstream::stderr(),
            "`{}` is cut short at line {}: its rows before are compared",
            path.display(),
            torn.line
        );
    }
    Ok(table.rows)
}

/// How many points came to which verdict.
fn summary(points: &[Comparison<'_>]) -> String {
    let mut counts: Vec<(Verdict, usize)> = Vec::new();
    for point in points {
        match counts.iter_mut().find(|(known, _)| *known == point.verdict) {
            Some((_, count)) => *count += 1,
            None => counts.push((point.verdict, 1)),
        }
    }
    let parts: Vec<String> = counts
        .iter()
        .map(|(verdict, count)| format!("{count} {}", verdict.name()))
        .collect();
    match parts.is_empty() {
        true => "no points".to_owned(),
        false => parts.join(", "),
    }
}

/// The cells of a point.
fn line(point: &Comparison<'_>) -> Option<Vec<Cell>> {
    let row = point.row()?;
    let (old, new) = (point.old, point.new);
    let size = match (row.m, row.k) {
        (Some(m), Some(k)) if m == row.n && k == row.n => m.to_string(),
        (Some(m), Some(k)) => format!("{m}x{}x{k}", row.n),
        (None, Some(fmas)) => format!("{}@{}", row.n, intensity::of(fmas)),
        _ => row.n.to_string(),
    };
    let state = match row.cache {
        Cache::Cold => "cold",
        Cache::Warm => "warm",
    };
    let steady = old.into_iter().chain(new).any(Row::is_steady_state);
    let time = |row: Option<&Row>| {
        Cell::maybe(row.and_then(|row| row.time_median_s), |seconds| {
            Cell::number(seconds, engineering(seconds, "s"))
        })
    };
    let clock = |row: Option<&Row>| {
        Cell::maybe(row.and_then(|row| row.sm_clock_hz), |hz| {
            Cell::quantity(hz, "Hz")
        })
    };
    let ratio = |ratio: Option<f64>| {
        Cell::maybe(ratio, |ratio| {
            Cell::number(ratio, format!("{:+.1} %", 100.0 * (ratio - 1.0)))
        })
    };
    let side = |side: Option<u64>| Cell::maybe(side, |side| Cell::whole(side, side.to_string()));
    Some(vec![
        Cell::text(&row.kernel),
        Cell::text(&row.variant),
        side(row.m),
        Cell::whole(row.n, size),
        side(row.k),
        Cell::whole(row.batch, row.batch.to_string()),
        Cell::text(state),
        Cell::text(format!("{:?}", row.data).to_lowercase()),
        Cell::flag(steady),
        time(old),
        time(new),
        clock(old),
        clock(new),
        ratio(point.time_ratio),
        ratio(point.cycles_ratio),
        Cell::text(point.verdict.name()),
        Cell::maybe(point.reason.clone(), Cell::text),
    ])
}
