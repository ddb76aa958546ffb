//! The tables of the page.

use std::fmt::Write as _;

use quick_xml::escape::escape;

use crate::figure::trace;
use crate::record::{Row, Status};
use crate::roofline::units::{engineering, significant};

/// Rows a table shows at most: beyond, a page gets too large to be read.
const MOST: usize = 2000;

/// Every point, with what became of it.
pub(super) fn measurements(out: &mut String, rows: &[Row]) {
    const HEADS: [&str; 11] = [
        "Kernel", "Variant", "N", "Cache", "Time", "±", "FLOP/s", "B/s", "Roof", "Bound", "Check",
    ];
    out.push_str("<section id=\"measurements\">\n<h2>Measurements</h2>\n");
    if rows.len() > MOST {
        let _ = writeln!(out, "<p>The first {MOST} of {} rows.</p>", rows.len());
    }
    out.push_str("<div class=\"scroll\"><table>\n<thead><tr>");
    for head in HEADS {
        let _ = write!(out, "<th scope=\"col\">{head}</th>");
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for row in rows.iter().take(MOST) {
        out.push_str("<tr>");
        for (i, cell) in cells(row).iter().enumerate() {
            let class = if (4..9).contains(&i) || i == 2 {
                " class=\"n\""
            } else {
                ""
            };
            let _ = write!(out, "<td{class}>{}</td>", escape(cell.as_str()));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody>\n</table></div>\n</section>\n");
}

fn cells(row: &Row) -> [String; 11] {
    let unit = |value: Option<f64>, unit| value.map_or(String::new(), |v| engineering(v, unit));
    let percent = |value: Option<f64>| {
        value.map_or(String::new(), |v| {
            format!("{} %", significant(100.0 * v, 3))
        })
    };
    let reason = row.reason.as_deref().unwrap_or_default();
    let check = match (row.status, row.verified) {
        (Status::Ok, Some(true)) if reason.is_empty() => "verified".to_owned(),
        (Status::Ok, Some(true)) => format!("verified; {reason}"),
        (Status::Ok, _) => format!("not verified {reason}"),
        (Status::Skipped, _) => format!("skipped: {reason}"),
        (Status::Failed, _) => format!("failed: {reason}"),
    };
    [
        row.kernel.clone(),
        row.variant.clone(),
        trace::full_size_label(row),
        trace::cache_name(row.cache).to_owned(),
        unit(row.time_median_s, "s"),
        percent(row.time_rel_noise),
        unit(trace::flop_rate(row), "FLOP/s"),
        unit(row.byte_per_s, "B/s"),
        percent(row.fraction_of_roof),
        row.bound
            .map_or(String::new(), |bound| format!("{bound:?}").to_lowercase()),
        check,
    ]
}

/// Where the rows are from: each column of provenance with its values.
pub(super) fn provenance(out: &mut String, rows: &[Row]) {
    type Column = (&'static str, fn(&Row) -> Option<String>);
    const COLUMNS: [Column; 13] = [
        ("Device", |row| Some(row.device.clone())),
        ("Device index", |row| {
            row.device_index.map(|index| index.to_string())
        }),
        ("Compute capability", |row| row.compute_capability.clone()),
        ("Driver", |row| row.driver_version.clone()),
        ("Host", |row| row.host.clone()),
        ("Run", |row| Some(row.run_id.clone())),
        ("rooftrace", |row| Some(row.rooftrace_version.clone())),
        ("Commit", |row| row.git_commit.clone()),
        ("PTX", |row| row.ptx_source.clone()),
        ("SHA-256 of the PTX", |row| row.ptx_sha256.clone()),
        ("Peaks from", |row| row.peak_source.clone()),
        ("Throttle reasons", |row| row.throttle.clone()),
        ("Schema version", |row| Some(row.schema_version.to_string())),
    ];
    out.push_str("<section id=\"provenance\">\n<h2>Provenance</h2>\n<table>\n<tbody>\n");
    for (name, value) in COLUMNS {
        let mut values: Vec<String> = Vec::new();
        for row in rows {
            let value = value(row).filter(|value| !value.is_empty());
            if let Some(value) = value.filter(|value| !values.contains(value)) {
                values.push(value);
            }
        }
        let values = if values.is_empty() {
            "unknown".to_owned()
        } else {
            values.join(", ")
        };
        let _ = writeln!(
            out,
            "<tr><th scope=\"row\">{name}</th><td>{}</td></tr>",
            escape(values.as_str())
        );
    }
    let times = || {
        rows.iter()
            .map(|row| row.timestamp_utc.as_str())
            .filter(|time| !time.is_empty())
    };
    if let (Some(first), Some(last)) = (times().min(), times().max()) {
        let _ = writeln!(
            out,
            "<tr><th scope=\"row\">Measured</th><td>{} to {}</td></tr>",
            escape(first),
            escape(last)
        );
    }
    out.push_str("</tbody>\n</table>\n</section>\n");
}
