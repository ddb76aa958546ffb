//! `--kind ladder`: the climb from a kernel's first variant to its fastest.

use super::axis::{Axis, Labels, Scale};
use super::chart::{Bar, Bars, Body, Chart};
use super::common;
use super::error::FigureError;
use super::palette::Style;
use super::trace;
use crate::record::{Cache, Row};
use crate::roofline::units::{engineering, significant};

/// The variants of every kernel at the largest size that all of them ran.
///
/// Bars are fractions of the roof. The factor is against the kernel's first variant.
///
/// # Errors
/// [`FigureError::Lacks`] if the rows name no roofs.
pub fn chart(rows: &[&Row]) -> Result<Chart, FigureError> {
    // One cache state, so that bars compare: cold where it was measured.
    let cold = rows.iter().any(|row| row.cache == Cache::Cold);
    let rows: Vec<&Row> = rows
        .iter()
        .copied()
        .filter(|row| !cold || row.cache == Cache::Cold)
        .filter(|row| {
            row.fraction_of_roof
                .is_some_and(|f| f > 0.0 && f.is_finite())
        })
        .collect();
    if rows.is_empty() {
        return Err(FigureError::Lacks {
            kind: "ladder",
            needs: "rows with a fraction of the roof, and none has one",
            remedy: "measure them on a device whose roofs are known or measured",
        });
    }
    let groups: Vec<(String, Vec<Bar>)> = kernels(&rows)
        .into_iter()
        .enumerate()
        .map(|(index, (name, rows))| rungs(index, &name, &rows))
        .collect();
    let longest = groups
        .iter()
        .flat_map(|(_, bars)| bars.iter().map(|bar| bar.value))
        .fold(1.0, f64::max);
    let (title, facts) = common(&rows);
    Ok(Chart {
        title,
        subtitle: facts.join(" · "),
        body: Body::Bars(Bars {
            x: Axis {
                title: "Fraction of the roof".to_owned(),
                low: 0.0,
                high: longest,
                scale: Scale::Linear,
                labels: Labels::Percent,
            },
            reference: Some((1.0, "roof".to_owned())),
            groups,
        }),
        note: String::new(),
    })
}

/// Rows of each kernel, of each device where there are several; batches apart.
fn kernels<'a>(rows: &[&'a Row]) -> Vec<(String, Vec<&'a Row>)> {
    let several = rows.iter().any(|row| row.device != rows[0].device);
    let mut kernels: Vec<(String, Vec<&Row>)> = Vec::new();
    for row in rows {
        let mut name = row.kernel.clone();
        if row.batch > 1 {
            name.push_str(" batched");
        }
        if several {
            name.push_str(&format!(" on {}", row.device));
        }
        match kernels.iter_mut().find(|(known, _)| *known == name) {
            Some((_, of_kernel)) => of_kernel.push(row),
            None => kernels.push((name, vec![row])),
        }
    }
    kernels
}

fn rungs(index: usize, kernel: &str, rows: &[&Row]) -> (String, Vec<Bar>) {
    let mut variants: Vec<&str> = Vec::new();
    for row in rows {
        if !variants.contains(&row.variant.as_str()) {
            variants.push(&row.variant);
        }
    }
    // The largest size of all variants; where they share none, each variant's own largest.
    let mut sizes: Vec<&Row> = rows.to_vec();
    sizes.sort_by(|a, b| trace::size(b).total_cmp(&trace::size(a)));
    let has = |variant: &str, size: &Row| {
        let same = |row: &&&Row| {
            let sides = |row: &Row| (row.m, row.n, row.k, row.batch);
            row.variant == variant && sides(row) == sides(size)
        };
        rows.iter().rev().find(same).copied()
    };
    let common = sizes
        .iter()
        .find(|size| variants.iter().all(|v| has(v, size).is_some()));
    let chosen = variants.iter().filter_map(|variant| match common {
        Some(size) => has(variant, size),
        None => sizes.iter().find(|row| row.variant == *variant).copied(),
    });
    let chosen: Vec<&Row> = chosen.collect();
    let first = chosen.first().and_then(|row| row.fraction_of_roof);
    let bars = chosen.iter().map(|row| {
        let value = row.fraction_of_roof.unwrap_or_default();
        let rate = match trace::flop_rate(row) {
            Some(rate)
                if row.k.is_some() || row.intensity_flop_per_byte > row.ridge_flop_per_byte =>
            {
                engineering(rate, "FLOP/s")
            }
            _ => row
                .byte_per_s
                .map_or(String::new(), |rate| engineering(rate, "B/s")),
        };
        let climb = match first {
            Some(first) if chosen.len() > 1 => format!(" · {}×", significant(value / first, 3)),
            _ => String::new(),
        };
        let size = match common {
            Some(_) => String::new(),
            None => format!(" · N = {}", trace::full_size_label(row)),
        };
        Bar {
            name: row.variant.clone(),
            value,
            label: format!("{} % · {rate}{climb}{size}", significant(100.0 * value, 3)),
            style: Style {
                index,
                hollow: false,
                dashed: false,
            },
            tip: trace::tip(&format!("{kernel} {}", row.variant), row),
        }
    });
    let bars = bars.collect();
    let heading = match common {
        Some(size) => format!("{kernel}, N = {}", trace::full_size_label(size)),
        None => kernel.to_owned(),
    };
    (heading, bars)
}
