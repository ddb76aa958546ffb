//! Draws a plot over two axes.

use std::collections::HashSet;

use super::axis::Axis;
use super::chart::{Line, Look, Plot, Point, Trace};
use super::labels::{Occupied, Spot};
use super::layout::{NORMAL, SMALL, text};
use super::scene::{Anchor, Ink, Item, Marker, Scene, Stroke, Text};
use super::spots::{along, around, beside};
use super::{font, legend};

/// Where a plot may stand, its axis labels included.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// Its left edge.
    pub left: f64,
    /// Its right edge.
    pub right: f64,
    /// Its upper edge.
    pub top: f64,
    /// Height between its axes.
    pub height: f64,
}

/// Length of ticks.
const TICK: f64 = 2.5;
/// Radius of the mark of a ridge point.
const RIDGE: f64 = 2.2;
/// Labels of a trace at most.
const LABELS: usize = 3;

/// Turns values into positions.
struct Area<'a> {
    x: &'a Axis,
    y: &'a Axis,
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

impl Area<'_> {
    fn place(&self, (x, y): (f64, f64)) -> (f64, f64) {
        (
            self.left + self.x.place(x) * (self.right - self.left),
            self.bottom - self.y.place(y) * (self.bottom - self.top),
        )
    }

    fn clamped(&self, (x, y): (f64, f64)) -> (f64, f64) {
        (
            x.max(self.left).min(self.right),
            y.max(self.top).min(self.bottom),
        )
    }
}

/// Draws a plot and gives the position under it.
pub fn draw(scene: &mut Scene, plot: &Plot, frame: Frame, tips: bool) -> f64 {
    let vertical = plot.y.ticks((frame.height / 22.0) as usize);
    let widest = vertical
        .iter()
        .filter_map(|tick| tick.label.as_deref())
        .map(|label| font::width(label, SMALL, false))
        .fold(0.0, f64::max);
    let area = Area {
        x: &plot.x,
        y: &plot.y,
        left: frame.left + NORMAL * 1.3 + widest + TICK + 2.0,
        right: frame.right - 1.0,
        top: frame.top,
        bottom: frame.top + frame.height,
    };
    let mut taken = occupied(&area, plot);
    axes(scene, &area, &vertical, frame.left);
    bands(scene, &area, &plot.lines);
    for line in &plot.lines {
        roof(scene, &area, line);
    }
    for trace in &plot.traces {
        connect(scene, &area, trace);
    }
    for trace in &plot.traces {
        points(scene, &area, trace, tips);
    }
    for mark in &plot.marks {
        ridge_mark(scene, area.place(*mark));
    }
    for line in &plot.lines {
        label_line(scene, &area, &mut taken, line);
    }
    for trace in &plot.traces {
        label_points(scene, &area, &mut taken, trace);
    }
    area.bottom + TICK + SMALL * 1.2 + NORMAL * 1.35
}

fn axes(scene: &mut Scene, area: &Area<'_>, vertical: &[super::axis::Tick], left: f64) {
    let grid = Stroke::solid(Ink::Grid, 0.4);
    let thin = Stroke::solid(Ink::Ink, 0.5);
    let widest = font::width("100 k", SMALL, false);
    let horizontal = area
        .x
        .ticks(((area.right - area.left) / (widest + 5.0)) as usize);
    for tick in &horizontal {
        let (x, _) = area.place((tick.value, area.y.low));
        let length = if tick.label.is_some() {
            TICK
        } else {
            TICK * 0.6
        };
        if tick.label.is_some() {
            scene.line((x, area.top), (x, area.bottom), grid);
        }
        scene.line((x, area.bottom), (x, area.bottom + length), thin);
    }
    for tick in vertical {
        let (_, y) = area.place((area.x.low, tick.value));
        let length = if tick.label.is_some() {
            TICK
        } else {
            TICK * 0.6
        };
        if tick.label.is_some() {
            scene.line((area.left, y), (area.right, y), grid);
        }
        scene.line((area.left - length, y), (area.left, y), thin);
    }
    let small = |anchor| (SMALL, anchor, Ink::Ink);
    for tick in &horizontal {
        if let Some(label) = &tick.label {
            let (x, _) = area.place((tick.value, area.y.low));
            // A label at the end of the axis stays within the figure.
            let half = font::width(label, SMALL, false) / 2.0;
            let x = x.min(area.right + 1.0 - half);
            text(
                scene,
                (x, area.bottom + TICK + SMALL),
                label,
                small(Anchor::Middle),
            );
        }
    }
    for tick in vertical {
        if let Some(label) = &tick.label {
            let (_, y) = area.place((area.x.low, tick.value));
            let at = (area.left - TICK - 1.5, y + 0.35 * SMALL);
            text(scene, at, label, small(Anchor::End));
        }
    }
    let corners = [
        (area.left, area.top),
        (area.right, area.top),
        (area.right, area.bottom),
        (area.left, area.bottom),
        (area.left, area.top),
    ];
    scene.items.push(Item::Line {
        points: corners.to_vec(),
        stroke: Stroke::solid(Ink::Ink, 0.6),
    });
    let title = |at, words: &str, angle| {
        Item::Text(Text {
            at,
            text: words.to_owned(),
            size: NORMAL,
            bold: false,
            anchor: Anchor::Middle,
            angle,
            ink: Ink::Ink,
        })
    };
    let middle = (
        (area.left + area.right) / 2.0,
        (area.top + area.bottom) / 2.0,
    );
    let under = area.bottom + TICK + SMALL * 1.2 + NORMAL;
    scene
        .items
        .push(title((middle.0, under), &area.x.title, 0.0));
    scene
        .items
        .push(title((left + NORMAL * 0.8, middle.1), &area.y.title, -90.0));
}

/// Intervals around lines, under everything else.
fn bands(scene: &mut Scene, area: &Area<'_>, lines: &[Line]) {
    for line in lines
        .iter()
        .filter(|line| line.band.0 < 1.0 || line.band.1 > 1.0)
    {
        let vertical = line.from.0 == line.to.0;
        let shifted = |(x, y): (f64, f64), factor: f64| {
            let moved = if vertical {
                (x * factor, y)
            } else {
                (x, y * factor)
            };
            area.clamped(area.place(moved))
        };
        scene.items.push(Item::Area {
            points: vec![
                shifted(line.from, line.band.0),
                shifted(line.to, line.band.0),
                shifted(line.to, line.band.1),
                shifted(line.from, line.band.1),
            ],
            ink: Ink::Shade,
            tip: None,
        });
    }
}

fn roof(scene: &mut Scene, area: &Area<'_>, line: &Line) {
    let stroke = match line.look {
        Look::Datasheet => Stroke::dashed(Ink::Ink, 0.9, 4.0, 2.2),
        Look::Measured => Stroke::solid(Ink::Ink, 0.9),
        Look::Guide => Stroke::dashed(Ink::Muted, 0.6, 0.8, 1.8),
    };
    scene.line(area.place(line.from), area.place(line.to), stroke);
}

/// The positions of the points of a trace. Points that fall on one spot of the paper are one.
fn path(area: &Area<'_>, trace: &Trace) -> Vec<(f64, f64)> {
    let mut path: Vec<(f64, f64)> = Vec::new();
    for point in &trace.points {
        let at = area.place((point.x, point.y));
        if path
            .last()
            .is_none_or(|last| (last.0 - at.0).hypot(last.1 - at.1) > 0.25)
        {
            path.push(at);
        }
    }
    path
}

/// The line through a trace.
fn connect(scene: &mut Scene, area: &Area<'_>, trace: &Trace) {
    let path = path(area, trace);
    if trace.joined && path.len() > 1 {
        let stroke = legend::stroke(trace.style);
        scene.items.push(Item::Line {
            points: path,
            stroke,
        });
    }
}

fn radius(trace: &Trace, point: &Point) -> f64 {
    trace.scale * (1.5 + 1.4 * point.weight)
}

/// Error bars and markers. Markers that would cover each other exactly are drawn once.
fn points(scene: &mut Scene, area: &Area<'_>, trace: &Trace, tips: bool) {
    let mut drawn = HashSet::new();
    let mut markers = Vec::new();
    for point in &trace.points {
        let at = area.place((point.x, point.y));
        let radius = radius(trace, point);
        let quarter = |value: f64| (value * 4.0).round() as i64;
        if !drawn.insert((quarter(at.0), quarter(at.1), quarter(radius))) {
            continue;
        }
        if let Some(ends) = bar(area, trace, point) {
            error_bar(scene, ends, Ink::Trace(trace.style.colour()));
        }
        markers.push(Item::Marker(Marker {
            at,
            radius,
            shape: trace.style.shape(),
            colour: trace.style.colour(),
            hollow: trace.style.hollow,
            tip: tips.then(|| point.tip.clone()),
        }));
    }
    scene.items.append(&mut markers);
}

/// The ends of a point's interval, where it reaches beyond its marker.
fn bar(area: &Area<'_>, trace: &Trace, point: &Point) -> Option<((f64, f64), (f64, f64))> {
    let (low, high) = point.interval?;
    let end = |value| area.clamped(area.place((point.x, value)));
    let (low, high) = (end(low), end(high));
    (low.1 - high.1 > 2.0 * radius(trace, point)).then_some((low, high))
}

fn error_bar(scene: &mut Scene, (low, high): ((f64, f64), (f64, f64)), ink: Ink) {
    const CAP: f64 = 1.6;
    let stroke = Stroke::solid(ink, 0.7);
    scene.line(low, high, stroke);
    for end in [low, high] {
        scene.line((end.0 - CAP, end.1), (end.0 + CAP, end.1), stroke);
    }
}

fn ridge_mark(scene: &mut Scene, at: (f64, f64)) {
    let corners = [(0.0, -RIDGE), (RIDGE, 0.0), (0.0, RIDGE), (-RIDGE, 0.0)];
    scene.items.push(Item::Area {
        points: corners
            .iter()
            .map(|(dx, dy)| (at.0 + dx, at.1 + dy))
            .collect(),
        ink: Ink::Ink,
        tip: None,
    });
}

/// Where lines, traces and marks leave no place for labels.
fn occupied(area: &Area<'_>, plot: &Plot) -> Occupied {
    let mut taken = Occupied::new((area.left, area.top), (area.right, area.bottom));
    for line in &plot.lines {
        taken.line(area.place(line.from), area.place(line.to));
    }
    for trace in &plot.traces {
        if trace.joined {
            for pair in path(area, trace).windows(2) {
                taken.line(pair[0], pair[1]);
            }
        }
        for point in &trace.points {
            if let Some((low, high)) = bar(area, trace, point) {
                taken.line(low, high);
            }
            taken.disc(area.place((point.x, point.y)), radius(trace, point) + 0.8);
        }
    }
    for mark in &plot.marks {
        taken.disc(area.place(*mark), RIDGE + 1.0);
    }
    taken
}

/// Takes the best place for what is written along a line, if something is.
fn line_label(area: &Area<'_>, taken: &mut Occupied, line: &Line, wider: f64) -> Option<Spot> {
    if line.label.is_empty() {
        return None;
    }
    let (from, to) = (area.place(line.from), area.place(line.to));
    let length = wider * font::width(&line.label, SMALL, false);
    let spots = if from.0 == to.0 {
        beside(from, to, length, line.side)
    } else {
        along(from, to, length, line.side)
    };
    let (spot, _) = taken.best(spots)?;
    taken.label(&spot);
    Some(spot)
}

/// Where the labels of the lines go in a plot of this width and height between its axes, in points
/// from its upper left corner; `None` for a line without one. They are set in a type that is `wider`
/// times as wide as the one that ships with the program.
pub(super) fn label_spots(
    plot: &Plot,
    (width, height): (f64, f64),
    wider: f64,
) -> Vec<Option<Spot>> {
    let area = Area {
        x: &plot.x,
        y: &plot.y,
        left: 0.0,
        right: width,
        top: 0.0,
        bottom: height,
    };
    let mut taken = occupied(&area, plot);
    let spots = plot.lines.iter();
    spots
        .map(|line| line_label(&area, &mut taken, line, wider))
        .collect()
}

/// Writes what a line is along it.
fn label_line(scene: &mut Scene, area: &Area<'_>, taken: &mut Occupied, line: &Line) {
    let Some(spot) = line_label(area, taken, line, 1.0) else {
        return;
    };
    scene.items.push(Item::Text(Text {
        at: spot.at,
        text: line.label.clone(),
        size: SMALL,
        bold: false,
        anchor: Anchor::Start,
        angle: spot.angle,
        ink: if line.look == Look::Guide {
            Ink::Muted
        } else {
            Ink::Ink
        },
    }));
}

/// Writes N beside a few points: the largest, the smallest, the fastest. A label without a free
/// place is left out.
fn label_points(scene: &mut Scene, area: &Area<'_>, taken: &mut Occupied, trace: &Trace) {
    let fastest = trace.points.iter().max_by(|a, b| a.y.total_cmp(&b.y));
    let chosen = [trace.points.last(), trace.points.first(), fastest];
    let mut written: Vec<&str> = Vec::new();
    for point in chosen.into_iter().flatten().take(LABELS) {
        if point.size.is_empty() || written.contains(&point.size.as_str()) {
            continue;
        }
        let at = area.place((point.x, point.y));
        let length = font::width(&point.size, SMALL, false);
        let Some((spot, 0)) = taken.best(around(at, radius(trace, point), length)) else {
            continue;
        };
        taken.label(&spot);
        written.push(&point.size);
        text(
            scene,
            spot.at,
            &point.size,
            (SMALL, Anchor::Start, Ink::Muted),
        );
    }
}
