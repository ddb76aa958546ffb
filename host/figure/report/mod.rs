//! A self-contained page with figures and tables: no file and no network besides itself.
//!
//! | module | what it is for |
//! |---|---|
//! | `tables` | the tables |
//! | `style.css`, `script.js` | how the page looks, zoom and pointer; both are put into it |

mod tables;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use quick_xml::escape::escape;

use super::error::FigureError;
use super::levels::{self, Level};
use super::roofs::{self, Limit};
use super::{Kind, Options, font, layout, select, svg, trace};
use crate::record::{Row, Status};
use crate::roofline::units::{engineering, grouped, significant};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");
/// Width of the figures in points.
const WIDTH: f64 = 504.0;

/// The page.
///
/// # Errors
/// As for [`select::measured`].
pub fn page(rows: &[Row], across_devices: bool) -> Result<String, FigureError> {
    let measured = select::measured(rows, across_devices)?;
    let devices = select::devices(rows).join(", ");
    let mut out = String::new();
    let title = format!("Roofline of {devices}");
    // Writing to a String does not fail.
    let _ = write!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta name=\"generator\" content=\"rooftrace {}\">\n<title>{}</title>\n<style>\n\
         {}{STYLE}</style>\n</head>\n<body>\n<header>\n\
         <h1>{}</h1>\n<p>{}</p>\n</header>\n<main>\n",
        env!("CARGO_PKG_VERSION"),
        escape(title.as_str()),
        font::rules(),
        escape(title.as_str()),
        escape(summary(rows, &measured).as_str()),
    );
    // The picture first: in print it stands above a list that can go on on the next page.
    out.push_str("<section id=\"roofline\">\n");
    figure(&mut out, rows, across_devices, (Kind::Roofline, "Roofline"));
    out.push_str("</section>\n");
    verdict_list(&mut out, rows, &measured)?;
    figures(&mut out, rows, across_devices);
    tables::measurements(&mut out, rows);
    method(&mut out, &measured);
    tables::provenance(&mut out, rows);
    let _ = write!(
        out,
        "</main>\n<footer>Made by rooftrace {} from {} rows.</footer>\n\
         <div id=\"tip\" role=\"tooltip\" hidden></div>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n",
        env!("CARGO_PKG_VERSION"),
        grouped(rows.len() as u64)
    );
    Ok(out)
}

/// One sentence: how much was measured and whether it was right.
fn summary(rows: &[Row], measured: &[&Row]) -> String {
    let of = |status| rows.iter().filter(|row| row.status == status).count() as u64;
    let verified = measured
        .iter()
        .filter(|row| row.verified == Some(true))
        .count() as u64;
    format!(
        "{} points measured, {} of them with a verified result; {} skipped, {} failed.",
        grouped(measured.len() as u64),
        grouped(verified),
        grouped(of(Status::Skipped)),
        grouped(of(Status::Failed))
    )
}

/// What the page says in its first paragraphs, as lines for a terminal: how much was measured, the
/// roofs, and the best point of each trace.
///
/// # Errors
/// As for [`page`].
pub fn text(rows: &[Row], across_devices: bool) -> Result<String, FigureError> {
    let measured = select::measured(rows, across_devices)?;
    let mut out = format!(
        "{}: {}\n",
        select::devices(rows).join(", "),
        summary(rows, &measured)
    );
    for verdict in verdicts(rows, &measured)? {
        out.push_str(&verdict);
        out.push('\n');
    }
    Ok(out)
}

/// The verdicts as a section of the page.
fn verdict_list(out: &mut String, rows: &[Row], measured: &[&Row]) -> Result<(), FigureError> {
    out.push_str("<section id=\"verdicts\">\n<h2>Verdicts</h2>\n<ul>\n");
    for verdict in verdicts(rows, measured)? {
        let _ = writeln!(out, "<li>{}</li>", escape(verdict.as_str()));
    }
    out.push_str("</ul>\n</section>\n");
    Ok(())
}

/// What the rows come to: the roofs, and for each trace its best point.
fn verdicts(rows: &[Row], measured: &[&Row]) -> Result<Vec<String>, FigureError> {
    let mut verdicts = Vec::new();
    let mut item = |text: String| verdicts.push(text);
    let roofs = levels::roofs(measured, None)?;
    let several = select::devices(rows).len() > 1;
    for roof in &roofs {
        let known = roofs.iter().find(|other| {
            !other.is_measured() && other.limit == roof.limit && other.device == roof.device
        });
        let share = known
            .filter(|_| roof.is_measured())
            .map_or(String::new(), |known| {
                format!(
                    " ({} % of the datasheet's)",
                    significant(100.0 * roof.rate / known.rate, 3)
                )
            });
        let device = if several {
            format!("{}: ", roof.device)
        } else {
            String::new()
        };
        let what = match roof.limit {
            Limit::Memory(Level::Dram) => "Memory roof ",
            Limit::Memory(_) => "Cache roof ",
            Limit::Compute(_) => "Compute roof ",
        };
        item(format!("{device}{what}{}{share}.", roof.label()));
    }
    for (memory, compute) in roofs::pairs(&roofs) {
        let device = if several {
            format!("{}: ", memory.device)
        } else {
            String::new()
        };
        let origin = if memory.is_measured() {
            "measured"
        } else {
            "datasheet"
        };
        let ridge = significant(compute.rate / memory.rate, 4);
        let of_pipe = match &compute.limit {
            Limit::Compute(pipe) if roofs::of_several_pipes(&roofs) => format!(" of {pipe}"),
            _ => String::new(),
        };
        let of_level = match memory.limit {
            Limit::Memory(Level::L2) => " with the L2",
            _ => "",
        };
        item(format!(
            "{device}Ridge point{of_pipe}{of_level} at {ridge} FLOP/byte, {origin}."
        ));
    }
    for group in trace::groups(measured) {
        let best = group.rows.iter().max_by(|a, b| {
            let fraction = |row: &Row| row.fraction_of_roof.unwrap_or_default();
            fraction(a).total_cmp(&fraction(b))
        });
        let Some(row) = best else { continue };
        item(best_point(&group.name, row));
    }
    Ok(verdicts)
}

fn best_point(name: &str, row: &Row) -> String {
    let mut text = format!("{name}: best at N = {}", trace::full_size_label(row));
    if let Some(fraction) = row.fraction_of_roof {
        let _ = write!(text, ", {} % of its roof", significant(100.0 * fraction, 3));
    }
    let rates = [
        trace::flop_rate(row).map(|rate| engineering(rate, trace::rate_unit(row))),
        row.byte_per_s.map(|rate| engineering(rate, "B/s")),
    ];
    let rates: Vec<String> = rates.into_iter().flatten().collect();
    let _ = write!(text, " ({})", rates.join(", "));
    if let Some(bound) = row.bound {
        let _ = write!(text, ", {}-bound", format!("{bound:?}").to_lowercase());
    }
    if let Some(occupancy) = row.occupancy {
        let _ = write!(text, ", occupancy {} %", significant(100.0 * occupancy, 3));
    }
    if let (Some(speedup), Some(baseline)) = (row.speedup, &row.baseline) {
        let _ = write!(
            text,
            ", {} times as fast as {baseline}",
            significant(speedup, 3)
        );
    }
    text.push('.');
    text
}

/// Every other kind of figure that the rows make.
fn figures(out: &mut String, rows: &[Row], across_devices: bool) {
    out.push_str("<section id=\"figures\">\n<h2>Figures</h2>\n");
    for (kind, name) in [
        (Kind::Throughput, "Throughput"),
        (Kind::Ladder, "Variants"),
        (Kind::Speedup, "Speedup"),
        (Kind::Crossover, "Crossover"),
    ] {
        // Single problems cannot tell where the roofs meet.
        if kind == Kind::Crossover && rows.iter().all(|row| row.batch <= 1) {
            continue;
        }
        figure(out, rows, across_devices, (kind, name));
    }
    out.push_str("</section>\n");
}

/// A figure with its tools; nothing if the rows do not make one of this kind.
fn figure(out: &mut String, rows: &[Row], across_devices: bool, (kind, name): (Kind, &str)) {
    let options = Options {
        kind,
        width: WIDTH,
        across_devices,
        tips: true,
        ..Options::default()
    };
    let Ok(chart) = super::chart(rows, &options) else {
        return;
    };
    let drawing = svg::element(&layout::scene(&chart, WIDTH, true));
    let _ = write!(
        out,
        "<figure>\n<figcaption>{name}</figcaption>\n<div class=\"view\">\n{drawing}</div>\n\
         <div class=\"tools\"><button type=\"button\" data-zoom=\"in\">Zoom in</button>\
         <button type=\"button\" data-zoom=\"out\">Zoom out</button>\
         <button type=\"button\" data-zoom=\"reset\">Whole figure</button></div>\n</figure>\n"
    );
}

/// How the numbers came about, from what the rows record.
fn method(out: &mut String, rows: &[&Row]) {
    let range = |values: Vec<u64>| match (values.iter().min(), values.iter().max()) {
        (Some(low), Some(high)) if low == high => grouped(*low),
        (Some(low), Some(high)) => format!("{} to {}", grouped(*low), grouped(*high)),
        _ => "an unrecorded number of".to_owned(),
    };
    let samples = range(rows.iter().filter_map(|row| row.samples).collect());
    let launches = range(
        rows.iter()
            .filter_map(|row| row.launches_per_sample)
            .collect(),
    );
    let seeds: BTreeSet<String> = rows.iter().map(|row| row.seed.to_string()).collect();
    let data: BTreeSet<String> = rows
        .iter()
        .map(|row| format!("{:?}", row.data).to_lowercase())
        .collect();
    let loose = rows
        .iter()
        .filter(|row| row.converged == Some(false))
        .count();
    let text = [
        format!(
            "Times are medians of {samples} samples of {launches} launches each; error bars are \
             95 % intervals of the median."
        ),
        "Cold: the last-level cache is swept before each launch. Warm: launches follow each other \
         directly."
            .to_owned(),
        format!(
            "Inputs are {} data from seed {}. Results are verified before timing.",
            Vec::from_iter(data).join(" and "),
            Vec::from_iter(seeds).join(", ")
        ),
        "FLOPs count a fused multiply-add as two. Bytes are the compulsory traffic to memory. \
         Arithmetic intensity is FLOPs over bytes."
            .to_owned(),
        format!(
            "{loose} of {} points ran out of time before the noise fell under its limit.",
            rows.len()
        ),
    ];
    out.push_str("<section id=\"method\">\n<h2>Method</h2>\n");
    for paragraph in text {
        let _ = writeln!(out, "<p>{}</p>", escape(paragraph.as_str()));
    }
    out.push_str("</section>\n");
}
