//! `--kind roofline`: FLOP/s over arithmetic intensity, under the roofs.

use super::axis::{Axis, Labels, Scale};
use super::chart::{Body, Chart, Line, Look, Plot, Point, Side, Trace};
use super::heading;
use super::key::{self, have_short_labels, roof_label, roof_note};
use super::levels::Level;
use super::roofs::{self, Limit, Roof};
use super::trace::{self, Group};
use crate::record::Row;
use crate::roofline::units::significant;

/// Where along the intensity axis kernels without operations stand, as a share of its length.
const COPY_PLACE: f64 = 0.03;
/// How far apart their traces stand, at most.
const COPY_STEP: f64 = 0.03;

/// The roofline of measured rows.
///
/// A point of intensity 0 has no place on a logarithmic axis. It stands at the left edge, at
/// the height at which its distance from the memory roof is that of its bandwidth.
#[must_use]
pub fn chart(rows: &[&Row], roofs: &[Roof]) -> Chart {
    let groups = trace::groups(rows);
    let copies = groups.iter().filter(|group| is_copy(group)).count();
    let x = intensity_axis(rows, roofs, copies);
    let step = copy_step(rows, &x, copies);
    let mut copies_before = 0;
    let mut traces = Vec::new();
    for group in &groups {
        let place = COPY_PLACE + step * f64::from(copies_before);
        traces.push(traced(group, x.value(place)));
        copies_before += i32::from(is_copy(group));
    }
    show_behind(&mut traces);
    let y = rate_axis(&traces, roofs, &x);
    let (lines, marks) = lines(roofs, &x, &y);
    let key = key::entries(roofs, &lines, x.high);
    let mut note = "Numbers beside points are N; markers grow with N.".to_owned();
    let without_flops = |row: &&Row| trace::flop_rate(row).is_none() && row.byte_per_s.is_some();
    if rows.iter().any(without_flops) {
        note.push_str(" Kernels without FLOPs stand at the left edge, placed by their bytes.");
    }
    note.push_str(&roof_note(roofs));
    if roofs::of_several_pipes(roofs) {
        note.push_str(" Numbers at dotted lines are ridge points, FLOP/byte.");
    }
    let (title, subtitle) = heading(rows);
    Chart {
        title,
        subtitle,
        body: Body::Plots(vec![Plot {
            x,
            y,
            lines,
            traces,
            marks,
            key,
        }]),
        note,
    }
}

/// Whether a trace is of a kernel without operations.
fn is_copy(group: &Group<'_>) -> bool {
    group.rows.iter().all(|row| trace::flop_rate(row).is_none())
}

/// How far apart traces without operations stand, so that the last is left of the least
/// intensity.
fn copy_step(rows: &[&Row], x: &Axis, copies: usize) -> f64 {
    let least = rows
        .iter()
        .filter(|row| trace::flop_rate(row).is_some())
        .filter_map(|row| row.intensity_flop_per_byte)
        .fold(x.high, f64::min);
    let free = x.place(least) - COPY_PLACE;
    (free / copies.max(1) as f64).clamp(0.0, COPY_STEP)
}

/// Where a row stands; at `copy_at` if it is placed by its bytes alone.
fn position(row: &Row, copy_at: f64) -> Option<(f64, f64)> {
    match (trace::flop_rate(row), row.intensity_flop_per_byte) {
        (Some(rate), Some(intensity)) if intensity > 0.0 => Some((intensity, rate)),
        (None, _) => row.byte_per_s.map(|rate| (copy_at, rate * copy_at)),
        _ => None,
    }
}

fn traced(group: &Group<'_>, copy_at: f64) -> Trace {
    let weights = Weights::of(group);
    let points = group.rows.iter().filter_map(|row| {
        let (x, y) = position(row, copy_at)?;
        Some(Point {
            x,
            y,
            interval: trace::rate_interval(row, y),
            weight: weights.weight(row),
            size: trace::n_label(row),
            tip: trace::tip(&group.name, row),
        })
    });
    let points: Vec<Point> = points.collect();
    Trace {
        name: group.name.clone(),
        style: group.style,
        scale: 1.0,
        joined: goes_one_way(&points),
        points,
    }
}

/// Whether intensity only grows or only falls with the size. With matrices of several shapes it goes
/// back and forth, and a line through the points would show nothing but that.
fn goes_one_way(points: &[Point]) -> bool {
    let rising = points.windows(2).all(|pair| pair[0].x <= pair[1].x);
    let falling = points.windows(2).all(|pair| pair[0].x >= pair[1].x);
    rising || falling
}

/// Enlarges the markers of traces whose points all have the same intensity as those of a later
/// trace, which would cover them.
fn show_behind(traces: &mut [Trace]) {
    /// What each later trace adds to the factor.
    const LARGER: f64 = 0.45;
    /// The largest factor: beyond, a marker hides more than it shows.
    const LARGEST: f64 = 1.9;
    let column = |trace: &Trace| {
        let first = trace.points.first()?.x;
        trace
            .points
            .iter()
            .all(|point| point.x == first)
            .then_some(first)
    };
    let columns: Vec<Option<f64>> = traces.iter().map(column).collect();
    for (i, trace) in traces.iter_mut().enumerate() {
        let later = columns[i + 1..]
            .iter()
            .filter(|other| other.is_some() && **other == columns[i]);
        trace.scale = (1.0 + LARGER * later.count() as f64).min(LARGEST);
    }
}

/// Sizes of markers in a trace.
pub(super) struct Weights {
    low: f64,
    span: f64,
}

impl Weights {
    pub(super) fn of(group: &Group<'_>) -> Weights {
        let sizes = || group.rows.iter().map(|row| trace::size(row).max(1.0).ln());
        let low = sizes().fold(f64::INFINITY, f64::min);
        let high = sizes().fold(0.0, f64::max);
        Weights {
            low,
            span: high - low,
        }
    }

    /// From 0 for the smallest N to 1 for the largest; 1 where there is only one.
    pub(super) fn weight(&self, row: &Row) -> f64 {
        if self.span > 0.0 {
            (trace::size(row).max(1.0).ln() - self.low) / self.span
        } else {
            1.0
        }
    }
}

fn intensity_axis(rows: &[&Row], roofs: &[Roof], copies: usize) -> Axis {
    let intensities = rows
        .iter()
        .filter(|row| trace::flop_rate(row).is_some())
        .filter_map(|row| row.intensity_flop_per_byte);
    let pairs = roofs::pairs(roofs);
    // A decade on either side of the ridge point, so that both roofs can be seen.
    let ridges = pairs.iter().flat_map(|(memory, compute)| {
        let ridge = compute.rate / memory.rate;
        [ridge / 10.0, ridge * 10.0]
    });
    let values: Vec<f64> = intensities.chain(ridges).collect();
    // At the left edge there is room for every kernel without operations.
    let room = 5.0 * 1.6f64.powi(copies.clamp(1, 8) as i32 - 1);
    Axis::logarithmic(
        "Arithmetic intensity (FLOP/byte)",
        values.into_iter(),
        (room, 5.0),
        (Scale::Decades, Labels::Plain),
    )
}

fn rate_axis(traces: &[Trace], roofs: &[Roof], x: &Axis) -> Axis {
    let points = traces
        .iter()
        .flat_map(|trace| trace.points.iter().map(|point| point.y));
    let heights = roofs.iter().map(|roof| match roof.limit {
        Limit::Memory(_) => roof.rate * x.low,
        Limit::Compute(_) => roof.rate,
    });
    Axis::logarithmic(
        "Achieved (FLOP/s)",
        points.chain(heights).collect::<Vec<_>>().into_iter(),
        (2.0, 3.5),
        (Scale::Decades, Labels::Decimal),
    )
}

/// The roofs, a guide from each ridge point down to the axis, and the ridge points.
fn lines(roofs: &[Roof], x: &Axis, y: &Axis) -> (Vec<Line>, Vec<(f64, f64)>) {
    let pairs = roofs::pairs(roofs);
    let devices = devices(roofs);
    let short = have_short_labels(roofs);
    let mut lines = Vec::new();
    // The L2 first: its label has the place above both lines.
    let of_l2 = |roof: &&Roof| roof.limit == Limit::Memory(Level::L2);
    let in_order = roofs
        .iter()
        .filter(of_l2)
        .chain(roofs.iter().filter(|roof| !of_l2(roof)));
    for roof in in_order {
        let (from, to) = match roof.limit {
            Limit::Memory(_) => {
                let highest = pairs
                    .iter()
                    .filter(|(memory, _)| *memory == roof)
                    .map(|(_, compute)| compute.rate)
                    .fold(0.0, f64::max);
                // Without a compute roof nothing ends the memory roof.
                let top = if highest > 0.0 { highest } else { y.high };
                let end = (top / roof.rate).min(x.high);
                ((x.low, x.low * roof.rate), (end, end * roof.rate))
            }
            Limit::Compute(_) => {
                // From where the fastest level feeds it.
                let fastest = pairs
                    .iter()
                    .filter(|(_, compute)| *compute == roof)
                    .map(|(memory, _)| memory.rate)
                    .fold(0.0, f64::max);
                let start = if fastest > 0.0 {
                    roof.rate / fastest
                } else {
                    x.low
                };
                ((start, roof.rate), (x.high, roof.rate))
            }
        };
        let measured = roof.is_measured();
        let line = Line {
            from,
            to,
            band: (roof.range.0 / roof.rate, roof.range.1 / roof.rate),
            look: if measured {
                Look::Measured
            } else {
                Look::Datasheet
            },
            label: roof_label(roof, roofs),
            side: match (short, &roof.limit) {
                (_, Limit::Memory(Level::L2)) => Side::Above,
                (true, Limit::Memory(_)) => Side::Below,
                (true, Limit::Compute(_)) => Side::Before,
                (false, _) if measured => Side::Below,
                (false, _) => Side::Above,
            },
        };
        add(&mut lines, line, mark(&devices, &roof.device));
    }
    let mut lines = labelled(lines);
    let marks = pairs
        .iter()
        .map(|(memory, compute)| (compute.rate / memory.rate, compute.rate));
    let marks: Vec<(f64, f64)> = marks.collect();
    lines.extend(guides(&pairs, y, &devices));
    (lines, marks)
}

/// One guide for each device and pipe, at its ridge point.
fn guides(pairs: &[(&Roof, &Roof)], y: &Axis, devices: &[&str]) -> Vec<Line> {
    let mut guides = Vec::new();
    for (memory, compute) in roofs::ridges(pairs) {
        let ridge = compute.rate / memory.rate;
        let several = pairs.iter().any(|(_, other)| other.limit != compute.limit);
        let label = match several {
            true => significant(ridge, 3),
            false => format!("ridge {} FLOP/byte", significant(ridge, 3)),
        };
        let line = Line {
            from: (ridge, y.low),
            to: (ridge, compute.rate),
            band: (1.0, 1.0),
            look: Look::Guide,
            label,
            side: Side::Below,
        };
        add(&mut guides, line, mark(devices, &memory.device));
    }
    labelled(guides)
}

/// Names of the devices that have roofs.
pub(super) fn devices(roofs: &[Roof]) -> Vec<&str> {
    let mut devices: Vec<&str> = Vec::new();
    for roof in roofs {
        if !devices.contains(&roof.device.as_str()) {
            devices.push(&roof.device);
        }
    }
    devices
}

/// The letter of a device, where there are several.
pub(super) fn mark(devices: &[&str], device: &str) -> Option<char> {
    (devices.len() > 1).then(|| super::letter(devices, device))
}

/// A line and the letters of the devices whose line it is.
pub(super) type Marked = (Line, Vec<char>);

/// Adds a line, or only its device to the same line of another device: a horizontal one is the
/// same wherever it begins.
pub(super) fn add(lines: &mut Vec<Marked>, line: Line, mark: Option<char>) {
    let level = |line: &Line| (line.from.1 == line.to.1).then_some(line.to);
    let same = lines.iter_mut().find(|(other, _)| {
        let whole = (other.from, other.to) == (line.from, line.to);
        let levels = level(other).is_some() && level(other) == level(&line);
        other.label == line.label && other.look == line.look && (whole || levels)
    });
    match same {
        Some((other, marks)) => {
            other.from.0 = other.from.0.min(line.from.0);
            marks.extend(mark);
        }
        None => lines.push((line, mark.into_iter().collect())),
    }
}

/// The lines, the letters of their devices before their labels.
pub(super) fn labelled(lines: Vec<Marked>) -> Vec<Line> {
    let labelled = lines.into_iter().map(|(mut line, marks)| {
        if !marks.is_empty() && !line.label.is_empty() {
            let marks: Vec<String> = marks.iter().map(char::to_string).collect();
            line.label = format!("{}: {}", marks.join(", "), line.label);
        }
        line
    });
    labelled.collect()
}
