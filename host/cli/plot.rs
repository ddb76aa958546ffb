//! `rooftrace plot`: figures from files of rows.

mod load;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use super::error::CliError;
use super::nearest::nearest;
use super::{Color, Verbosity};
use crate::figure::chart::Chart;
use crate::figure::levels::Level;
use crate::figure::{self, Kind, Options, layout, pdf, pgfplots, raster, svg, terminal};

pub(super) use load::{load, note_omitted, note_without_datasheet};

/// Pictures of measured rows.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Examples:
  rooftrace plot rows.csv -o roofline.pdf --width 3.5in
      a roofline for a single column, fonts embedded
  rooftrace plot rows.csv -o climb.svg --kind ladder --width 7in
      how far each variant of a kernel gets, over two columns
  rooftrace plot crossover.csv -o crossover.svg --kind crossover --width 7in
      where a matrix product becomes compute-bound, and where it was predicted to
  rooftrace plot warm-and-cold.csv -o levels.svg --levels dram,l2
      the roof of the L2 beside that of the memory, from rows of `sweep copy --cache both`
  rooftrace plot rows.csv --terminal
      the roofline in this window")]
pub struct PlotArgs {
    /// Files of rows, as written by `rooftrace sweep`
    #[arg(required = true, value_name = "FILES")]
    pub files: Vec<PathBuf>,
    /// Picture to write: its extension (svg, png, pdf, tex) is its format; `-` is stdout
    #[arg(
        short,
        long,
        value_name = "PATH",
        required_unless_present = "terminal",
        conflicts_with = "terminal"
    )]
    pub out: Option<PathBuf>,
    /// What to show
    #[arg(long, value_enum, default_value = "roofline")]
    pub kind: Kind,
    /// Memory roofs to draw: of the device memory, of the L2 [default: dram, and l2 where rows were
    /// measured with --cache warm]
    #[arg(long, value_enum, value_delimiter = ',', value_name = "LEVELS")]
    pub levels: Option<Vec<Level>>,
    /// Width on paper: a number with in, cm, mm or pt; 3.5in is a column, 7in two
    #[arg(long, value_name = "WIDTH", default_value = "3.5in", value_parser = parse_width)]
    pub width: f64,
    /// Format of the picture, if not that of the extension
    #[arg(long, value_enum)]
    pub format: Option<PictureFormat>,
    /// Pixels an inch of a PNG
    #[arg(long, value_name = "N", default_value_t = 300, value_parser = clap::value_parser!(u32).range(36..=2400))]
    pub dpi: u32,
    /// Put the typeface into an SVG (1.1 MB); without it, Arial or Helvetica may stand in, whose
    /// letters are as wide
    #[arg(long)]
    pub embed_fonts: bool,
    /// Heading in place of the device's name; empty for none
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
    /// Draw rows of different devices in one figure
    #[arg(long)]
    pub across_devices: bool,
    /// Draw the roofline in this terminal
    #[arg(long)]
    pub terminal: bool,
    /// With --terminal, letters and signs of ASCII only
    #[arg(long, requires = "terminal")]
    pub ascii: bool,
}

/// Formats of pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum PictureFormat {
    /// Scalable Vector Graphics; text stays text
    Svg,
    /// Portable Network Graphics
    Png,
    /// Portable Document Format, fonts embedded
    Pdf,
    /// A LaTeX picture for the package pgfplots
    Pgfplots,
}

impl PictureFormat {
    /// Extensions and what they mean.
    const EXTENSIONS: [(&'static str, PictureFormat); 4] = [
        ("svg", PictureFormat::Svg),
        ("png", PictureFormat::Png),
        ("pdf", PictureFormat::Pdf),
        ("tex", PictureFormat::Pgfplots),
    ];

    /// The format that a file name asks for.
    ///
    /// # Errors
    /// A usage error for a name without one of the known extensions.
    fn of_path(path: &Path) -> Result<PictureFormat, CliError> {
        let names = Self::EXTENSIONS.map(|(name, _)| name);
        let Some(extension) = path.extension() else {
            return Err(CliError::Usage(format!(
                "--out `{}` has no extension that says the format; end it in one of {}, \
                 or give --format",
                path.display(),
                names.join(", ")
            )));
        };
        let extension = extension.to_string_lossy().to_lowercase();
        let known = Self::EXTENSIONS.iter().find(|(name, _)| *name == extension);
        known.map(|(_, format)| *format).ok_or_else(|| {
            let meant = nearest(&extension, names)
                .map_or(".".to_owned(), |name| format!("; did you mean .{name}?"));
            CliError::Usage(format!(
                "--out `{}`: no picture format has the extension .{extension}{meant} \
                 Allowed: {}; or give --format",
                path.display(),
                names.join(", ")
            ))
        })
    }
}

/// Draws the figure.
///
/// # Errors
/// Files that cannot be read, rows that make no such figure, an output that cannot be written.
pub fn run(
    args: &PlotArgs,
    out: &mut dyn Write,
    color: Color,
    verbosity: Verbosity,
) -> Result<(), CliError> {
    // The output is looked at first: no file is read for a picture that has no place.
    let picture = args
        .out
        .as_deref()
        .map(|path| target(path, args.format, &args.files))
        .transpose()?;
    if args.levels.is_some() && !matches!(args.kind, Kind::Roofline | Kind::Throughput) {
        return Err(CliError::Usage(
            "--levels is for --kind roofline and throughput: the other kinds have no memory roofs"
                .to_owned(),
        ));
    }
    let rows = load(&args.files, verbosity)?;
    let options = Options {
        kind: args.kind,
        width: args.width,
        across_devices: args.across_devices,
        levels: args.levels.clone(),
        title: args.title.clone(),
        tips: false,
    };
    let chart = figure::chart(&rows, &options)?;
    note_omitted(&rows, verbosity);
    note_without_datasheet(&rows, verbosity)?;
    let Some((path, format)) = picture else {
        return in_terminal(args, &chart, out, color);
    };
    let content = match format {
        PictureFormat::Pgfplots => pgfplots::picture(&chart, args.width).into_bytes(),
        _ => {
            let scene = layout::scene(&chart, args.width, false);
            match format {
                PictureFormat::Png => raster::png(&scene, f64::from(args.dpi))?,
                PictureFormat::Pdf => pdf::pdf(&scene)?,
                _ if args.embed_fonts => svg::document_with_fonts(&scene).into_bytes(),
                _ => svg::document(&scene).into_bytes(),
            }
        }
    };
    write(path, &content, out)
}

/// The file and its format.
fn target<'a>(
    path: &'a Path,
    format: Option<PictureFormat>,
    inputs: &[PathBuf],
) -> Result<(&'a Path, PictureFormat), CliError> {
    if path.as_os_str() == "-" {
        return Ok((path, format.unwrap_or(PictureFormat::Svg)));
    }
    let format = format.map_or_else(|| PictureFormat::of_path(path), Ok)?;
    check_out(path, inputs)?;
    Ok((path, format))
}

/// Finds what would stop a file from being written, without touching anything.
///
/// # Errors
/// A usage error for a folder, for a file in a folder that does not exist, and for one of `inputs`,
/// which would be lost.
pub(super) fn check_out(path: &Path, inputs: &[PathBuf]) -> Result<(), CliError> {
    // What does not exist yet is none of them.
    let same = |input: &PathBuf| {
        let files = (path.canonicalize(), input.canonicalize());
        matches!(files, (Ok(out), Ok(input)) if out == input)
    };
    if inputs.iter().any(same) {
        return Err(CliError::Usage(format!(
            "--out `{}` is one of the files that are read, and would be lost; name another",
            path.display()
        )));
    }
    if path.is_dir() {
        return Err(CliError::Usage(format!(
            "--out `{}` is a folder: name a file in it",
            path.display()
        )));
    }
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    if let Some(parent) = parent.filter(|parent| !parent.is_dir()) {
        return Err(CliError::Usage(format!(
            "cannot write `{}`: there is no folder `{}`; create it, or change --out",
            path.display(),
            parent.display()
        )));
    }
    Ok(())
}

/// Writes a file, or stdout for `-`.
///
/// # Errors
/// A usage error with the reason.
pub(super) fn write(path: &Path, content: &[u8], out: &mut dyn Write) -> Result<(), CliError> {
    if path.as_os_str() == "-" {
        // Not through the filter for terminal colours, which would change binary formats.
        let mut raw = std::io::stdout().lock();
        out.flush()?;
        raw.write_all(content)?;
        return Ok(raw.flush()?);
    }
    fs::write(path, content).map_err(|error| {
        CliError::Usage(format!(
            "cannot write `{}`: {error}; check its permissions, or change --out",
            path.display()
        ))
    })
}

fn in_terminal(
    args: &PlotArgs,
    chart: &Chart,
    out: &mut dyn Write,
    color: Color,
) -> Result<(), CliError> {
    if args.kind != Kind::Roofline {
        return Err(CliError::Usage(
            "--terminal draws rooflines only; for another --kind give -o FILE".to_owned(),
        ));
    }
    let (width, height) = terminal::window();
    let unicode = !args.ascii && terminal::speaks_unicode();
    let color = terminal::wants_color(match color {
        Color::Auto => None,
        Color::Always => Some(true),
        Color::Never => Some(false),
    });
    out.write_all(terminal::draw(chart, width, height, unicode, color).as_bytes())?;
    Ok(out.flush()?)
}

/// A width on paper in points.
fn parse_width(text: &str) -> Result<f64, String> {
    const UNITS: [(&str, f64); 4] = [
        ("in", 72.0),
        ("cm", 72.0 / 2.54),
        ("mm", 72.0 / 25.4),
        ("pt", 1.0),
    ];
    let allowed = || {
        format!(
            "allowed: a number with in, cm, mm or pt, from {} in to {} in, such as 3.5in",
            layout::MIN_WIDTH / 72.0,
            layout::MAX_WIDTH / 72.0
        )
    };
    let text = text.trim();
    let (number, points) = UNITS
        .iter()
        .find_map(|(unit, points)| Some((text.strip_suffix(unit)?, *points)))
        .ok_or_else(allowed)?;
    let width = number.trim().parse::<f64>().map_err(|_| allowed())? * points;
    if (layout::MIN_WIDTH..=layout::MAX_WIDTH).contains(&width) {
        Ok(width)
    } else {
        Err(allowed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_have_a_unit_and_limits() {
        assert_eq!(parse_width("3.5in"), Ok(252.0));
        assert_eq!(parse_width("254 mm").map(f64::round), Ok(720.0));
        assert_eq!(parse_width("8.89cm").map(f64::round), Ok(252.0));
        for wrong in ["3.5", "in", "-1in", "0.1in", "1e9in", "NaNin", ""] {
            assert!(parse_width(wrong).is_err(), "{wrong}");
        }
    }
}
