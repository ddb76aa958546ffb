//! `--kind throughput`: the rate over N, the baseline beside it.

use super::axis::{Axis, Labels, Scale};
use super::chart::{Body, Chart, Line, Look, Plot, Point, Side, Trace};
use super::heading;
use super::key;
use super::levels::Level;
use super::palette::Style;
use super::roofline::{self, Weights};
use super::roofs::{self, Limit, Roof};
use super::trace::{self, Group};
use crate::record::Row;

/// What a plot's vertical axis shows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rate {
    Bytes,
    Flops,
}

/// Throughput of measured rows: byte/s for kernels that stay left of the ridge point at every
/// size, FLOP/s for the others, in a plot each.
#[must_use]
pub fn chart(rows: &[&Row], roofs: &[Roof]) -> Chart {
    let groups = trace::groups(rows);
    let plots = [Rate::Bytes, Rate::Flops].into_iter().filter_map(|rate| {
        let chosen: Vec<&Group<'_>> = groups.iter().filter(|g| rate_of(g) == rate).collect();
        (!chosen.is_empty()).then(|| plot(&chosen, roofs, rate, groups.len()))
    });
    let plots: Vec<Plot> = plots.collect();
    let (title, subtitle) = heading(rows);
    Chart {
        title,
        subtitle,
        body: Body::Plots(plots),
        note: key::roof_note(roofs).trim_start().to_owned(),
    }
}

fn rate_of(group: &Group<'_>) -> Rate {
    let memory_bound = |row: &&Row| {
        trace::flop_rate(row).is_none()
            || match (row.intensity_flop_per_byte, row.ridge_flop_per_byte) {
                (Some(intensity), Some(ridge)) => row.k.is_none() && intensity < ridge,
                _ => false,
            }
    };
    if group.rows.iter().all(memory_bound) {
        Rate::Bytes
    } else {
        Rate::Flops
    }
}

fn plot(groups: &[&Group<'_>], roofs: &[Roof], rate: Rate, next_style: usize) -> Plot {
    let mut traces = Vec::new();
    for group in groups {
        traces.push(traced(group, rate, group.name.clone(), group.style, |_| {
            Some(1.0)
        }));
    }
    for (i, (group, name)) in baselines(groups).into_iter().enumerate() {
        let style = Style {
            index: next_style + i,
            hollow: true,
            dashed: true,
        };
        let kernel = group.rows.first().map_or("", |row| row.kernel.as_str());
        traces.push(traced(
            group,
            rate,
            format!("{name} for {kernel}"),
            style,
            |row| {
                let same = row.baseline.as_deref() == Some(name);
                let seconds = row
                    .baseline_time_median_s
                    .filter(|seconds| same && *seconds > 0.0)?;
                Some(row.time_median_s? / seconds)
            },
        ));
    }
    traces.retain(|trace| !trace.points.is_empty());
    let x = size_axis(
        traces
            .iter()
            .flat_map(|trace| trace.points.iter().map(|p| p.x)),
    );
    let wanted: Vec<&Roof> = roofs
        .iter()
        .filter(|roof| roof.is_of_memory() == (rate == Rate::Bytes))
        .filter(|roof| {
            let pipe = |row: &&Row| Limit::Compute(roofs::pipe_name(row.pipe.as_deref()));
            rate == Rate::Bytes
                || groups
                    .iter()
                    .any(|g| g.rows.iter().any(|row| pipe(row) == roof.limit))
        })
        .collect();
    let y = Axis::logarithmic(
        match rate {
            Rate::Bytes => "Achieved (byte/s)",
            Rate::Flops => "Achieved (FLOP/s)",
        },
        traces
            .iter()
            .flat_map(|trace| trace.points.iter().map(|p| p.y))
            .chain(wanted.iter().map(|roof| roof.rate)),
        (1.6, 2.2),
        (Scale::Decades, Labels::Decimal),
    );
    let devices = roofline::devices(roofs);
    let mut lines = Vec::new();
    for roof in wanted {
        let measured = roof.is_measured();
        let line = Line {
            from: (x.low, roof.rate),
            to: (x.high, roof.rate),
            band: (roof.range.0 / roof.rate, roof.range.1 / roof.rate),
            look: if measured {
                Look::Measured
            } else {
                Look::Datasheet
            },
            label: key::roof_label(roof, roofs),
            side: match roof.limit {
                Limit::Memory(Level::L2) => Side::Above,
                _ if measured => Side::Below,
                _ => Side::Above,
            },
        };
        roofline::add(&mut lines, line, roofline::mark(&devices, &roof.device));
    }
    let lines = roofline::labelled(lines);
    Plot {
        x,
        y,
        lines,
        traces,
        marks: Vec::new(),
        key: Vec::new(),
    }
}

/// Every baseline of a kernel once, though it was measured beside each variant: beside the one
/// with most rows, the last of equals.
fn baselines<'a>(groups: &[&'a Group<'a>]) -> Vec<(&'a Group<'a>, &'a str)> {
    let mut found: Vec<(&Group<'_>, &str, usize)> = Vec::new();
    for group in groups {
        let mut names: Vec<&str> = group
            .rows
            .iter()
            .filter_map(|r| r.baseline.as_deref())
            .collect();
        names.sort_unstable();
        for of_name in names.chunk_by(|a, b| a == b) {
            let (name, count) = (of_name[0], of_name.len());
            let key = |group: &Group<'_>| {
                group
                    .rows
                    .first()
                    .map(|r| (r.kernel.clone(), r.cache, r.device.clone()))
            };
            let same = found
                .iter_mut()
                .find(|(other, known, _)| *known == name && key(other) == key(group));
            match same {
                Some(best) if count >= best.2 => *best = (group, name, count),
                Some(_) => {}
                None => found.push((group, name, count)),
            }
        }
    }
    found
        .into_iter()
        .map(|(group, name, _)| (group, name))
        .collect()
}

/// An axis of N in powers of two.
pub(super) fn size_axis(sizes: impl Iterator<Item = f64>) -> Axis {
    Axis::logarithmic("N", sizes, (1.35, 1.35), (Scale::Octaves, Labels::Binary))
}

/// The rates of a group, each times what `factor` gives; rows without a factor are left out.
fn traced(
    group: &Group<'_>,
    rate: Rate,
    name: String,
    style: Style,
    factor: impl Fn(&Row) -> Option<f64>,
) -> Trace {
    let weights = Weights::of(group);
    let points = group.rows.iter().filter_map(|row| {
        let own = match rate {
            Rate::Bytes => row.byte_per_s?,
            Rate::Flops => trace::flop_rate(row)?,
        };
        let factor = factor(row)?;
        // The interval of the time is the kernel's own, not its baseline's.
        let interval = trace::rate_interval(row, own).filter(|_| factor == 1.0);
        Some(Point {
            x: trace::size(row),
            y: own * factor,
            interval,
            weight: weights.weight(row),
            size: String::new(),
            tip: trace::tip(&name, row),
        })
    });
    let points = points.collect();
    Trace {
        name,
        style,
        scale: 1.0,
        joined: true,
        points,
    }
}
