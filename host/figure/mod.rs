//! Figures, from rows only.
//!
//! Rows become a [`chart::Chart`] (what is shown), a chart becomes a [`scene::Scene`] (what is
//! where), and every picture format is made from the scene.
//!
//! | module | what it is for |
//! |---|---|
//! | [`select`] | which rows a figure shows |
//! | [`trace`] | rows that belong together |
//! | [`roofs`], [`levels`] | the roofs that the rows name, and those of the levels of the memory |
//! | `key` | what the roofs are, in words |
//! | [`roofline`], [`throughput`], [`speedup`], [`ladder`], [`crossover`] | one kind of figure each |
//! | [`mod@chart`], [`axis`] | what a figure shows |
//! | [`layout`], [`legend`], [`labels`], `spots` | a place on paper for everything, without overlap |
//! | [`mod@scene`] | the drawing |
//! | [`svg`], [`raster`], [`pdf`] | a drawing as SVG, PNG, PDF |
//! | [`pgfplots`] | a chart as a LaTeX picture |
//! | [`terminal`] | a roofline in letters |
//! | [`report`] | a page with figures and tables |
//! | [`font`], [`palette`] | the typeface, colours and markers |

pub mod axis;
mod bars;
pub mod chart;
pub mod crossover;
pub mod error;
pub mod font;
mod key;
pub mod labels;
pub mod ladder;
pub mod layout;
pub mod legend;
pub mod levels;
pub mod palette;
pub mod pdf;
pub mod pgfplots;
mod plot;
pub mod raster;
pub mod report;
pub mod roofline;
pub mod roofs;
pub mod scene;
pub mod select;
pub mod speedup;
mod spots;
pub mod svg;
pub mod terminal;
pub mod throughput;
pub mod trace;

pub use error::FigureError;

use crate::record::Row;
use chart::Chart;
use levels::Level;
use scene::Scene;

/// What a figure shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Kind {
    /// FLOP/s over arithmetic intensity, under the roofs
    #[default]
    Roofline,
    /// FLOP/s or byte/s over N, the baseline beside it
    Throughput,
    /// Times as fast as the baseline, over N
    Speedup,
    /// The climb from a kernel's first variant to its fastest
    Ladder,
    /// FLOP/s of matrix products over N, where bytes and FLOPs cross, and where they should
    Crossover,
}

/// How a figure is made.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// What it shows.
    pub kind: Kind,
    /// Its width in points, 72 an inch; from [`layout::MIN_WIDTH`] to [`layout::MAX_WIDTH`].
    pub width: f64,
    /// Whether rows of several devices may come together.
    pub across_devices: bool,
    /// Which levels of the memory have a roof; those of [`levels::roofs`] if none is named.
    pub levels: Option<Vec<Level>>,
    /// A heading in place of the device's name; empty for none.
    pub title: Option<String>,
    /// Whether points carry what a page shows when the pointer is over them.
    pub tips: bool,
}

impl Default for Options {
    /// A roofline of one device in the width of a single column.
    fn default() -> Self {
        Options {
            kind: Kind::Roofline,
            width: 3.5 * 72.0,
            across_devices: false,
            levels: None,
            title: None,
            tips: false,
        }
    }
}

/// What a figure of the rows shows.
///
/// # Errors
/// [`FigureError`] if the rows make no such figure.
pub fn chart(rows: &[Row], options: &Options) -> Result<Chart, FigureError> {
    let measured = select::measured(rows, options.across_devices)?;
    let roofs = || levels::roofs(&measured, options.levels.as_deref());
    let mut chart = match options.kind {
        Kind::Roofline => roofline::chart(&measured, &roofs()?),
        Kind::Throughput => throughput::chart(&measured, &roofs()?),
        Kind::Speedup => speedup::chart(&measured)?,
        Kind::Ladder => ladder::chart(&measured)?,
        Kind::Crossover => crossover::chart(&measured)?,
    };
    if let Some(title) = &options.title {
        chart.title.clone_from(title);
    }
    Ok(chart)
}

/// The drawing of a figure of the rows.
///
/// # Errors
/// [`FigureError`] if the rows make no such figure.
pub fn scene(rows: &[Row], options: &Options) -> Result<Scene, FigureError> {
    Ok(layout::scene(
        &chart(rows, options)?,
        options.width,
        options.tips,
    ))
}

/// The heading: the devices, and what holds for all rows.
fn heading(rows: &[&Row]) -> (String, String) {
    let (devices, mut facts) = common(rows);
    facts.push(if rows.len() == 1 {
        "1 point".to_owned()
    } else {
        format!(
            "{} points",
            crate::roofline::units::grouped(rows.len() as u64)
        )
    });
    (devices, facts.join(" · "))
}

/// The letter that stands for a device where there are several.
fn letter(devices: &[&str], device: &str) -> char {
    let place = devices
        .iter()
        .position(|known| *known == device)
        .unwrap_or_default();
    // Beyond Z nobody can tell lines apart anyway.
    char::from(b'A' + (place % 26) as u8)
}

/// The devices and the cache state, where all rows have one.
fn common(rows: &[&Row]) -> (String, Vec<String>) {
    let devices = select::devices(rows.iter().copied());
    let cache = rows.first().map(|row| row.cache);
    let mut facts = Vec::new();
    if let Some(cache) = cache.filter(|cache| rows.iter().all(|row| row.cache == *cache)) {
        facts.push(format!("{} cache", trace::cache_name(cache)));
    }
    let title = if devices.len() == 1 {
        devices[0].to_owned()
    } else {
        let lettered = devices
            .iter()
            .map(|device| format!("{}: {device}", letter(&devices, device)));
        lettered.collect::<Vec<_>>().join(", ")
    };
    (title, facts)
}
