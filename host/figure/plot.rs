//! Draws a plot over two axes.

use std::collections::HashSet;

use super::axis::Axis;
use super::chart::{Line, Look, Plot, Point, Side, Trace};
use super::labels::{Occupied, Spot};
use super::layout::{NORMAL, SMALL, text};
use super::scene::{Anchor, Ink, Item, Marker, Scene, Stroke, Text};
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
            x.clamp(self.left, self.right),
            y.clamp(self.top, self.bottom),
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
    let mut taken = Occupied::new((area.left, area.top), (area.right, area.bottom));
    axes(scene, &area, &vertical, frame.left);
    bands(scene, &area, &plot.lines);
    for line in &plot.lines {
        roof(scene, &area, &mut taken, line);
    }
    for trace in &plot.traces {
        connect(scene, &area, &mut taken, trace);
    }
    for trace in &plot.traces {
        points(scene, &area, &mut taken, trace, tips);
    }
    for mark in &plot.marks {
        ridge_mark(scene, &mut taken, area.place(*mark));
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

fn roof(scene: &mut Scene, area: &Area<'_>, taken: &mut Occupied, line: &Line) {
    let stroke = match line.look {
        Look::Datasheet => Stroke::dashed(Ink::Ink, 0.9, 4.0, 2.2),
        Look::Measured => Stroke::solid(Ink::Ink, 0.9),
        Look::Guide => Stroke::dashed(Ink::Muted, 0.6, 0.8, 1.8),
    };
    let (from, to) = (area.place(line.from), area.place(line.to));
    scene.line(from, to, stroke);
    taken.line(from, to);
}

/// The line through a trace. Points that fall on one spot of the paper are one.
fn connect(scene: &mut Scene, area: &Area<'_>, taken: &mut Occupied, trace: &Trace) {
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
    if !trace.joined {
        return;
    }
    for pair in path.windows(2) {
        taken.line(pair[0], pair[1]);
    }
    if path.len() > 1 {
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
fn points(scene: &mut Scene, area: &Area<'_>, taken: &mut Occupied, trace: &Trace, tips: bool) {
    let mut drawn = HashSet::new();
    let mut markers = Vec::new();
    for point in &trace.points {
        let at = area.place((point.x, point.y));
        let radius = radius(trace, point);
        let quarter = |value: f64| (value * 4.0).round() as i64;
        if !drawn.insert((quarter(at.0), quarter(at.1), quarter(radius))) {
            continue;
        }
        if let Some((low, high)) = point.interval {
            let end = |value| area.clamped(area.place((point.x, value)));
            let (low, high) = (end(low), end(high));
            error_bar(
                scene,
                taken,
                (low, high),
                radius,
                Ink::Trace(trace.style.colour()),
            );
        }
        taken.disc(at, radius + 0.8);
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

/// An interval, where it reaches beyond its marker.
fn error_bar(
    scene: &mut Scene,
    taken: &mut Occupied,
    (low, high): ((f64, f64), (f64, f64)),
    radius: f64,
    ink: Ink,
) {
    const CAP: f64 = 1.6;
    if low.1 - high.1 <= 2.0 * radius {
        return;
    }
    let stroke = Stroke::solid(ink, 0.7);
    scene.line(low, high, stroke);
    taken.line(low, high);
    for end in [low, high] {
        scene.line((end.0 - CAP, end.1), (end.0 + CAP, end.1), stroke);
    }
}

fn ridge_mark(scene: &mut Scene, taken: &mut Occupied, at: (f64, f64)) {
    const RADIUS: f64 = 2.2;
    taken.disc(at, RADIUS + 1.0);
    let corners = [(0.0, -RADIUS), (RADIUS, 0.0), (0.0, RADIUS), (-RADIUS, 0.0)];
    scene.items.push(Item::Area {
        points: corners
            .iter()
            .map(|(dx, dy)| (at.0 + dx, at.1 + dy))
            .collect(),
        ink: Ink::Ink,
        tip: None,
    });
}

/// Writes what a line is along it.
fn label_line(scene: &mut Scene, area: &Area<'_>, taken: &mut Occupied, line: &Line) {
    if line.label.is_empty() {
        return;
    }
    let (from, to) = (area.place(line.from), area.place(line.to));
    let length = font::width(&line.label, SMALL, false);
    let spots = if from.0 == to.0 {
        beside(from, to, length, line.side)
    } else {
        along(from, to, length, line.side)
    };
    let Some((spot, _)) = taken.best(spots) else {
        return;
    };
    taken.label(&spot);
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

/// Places along a line, from its far end back, on the side that is wanted and then the other.
fn along(from: (f64, f64), to: (f64, f64), length: f64, side: Side) -> Vec<Spot> {
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let whole = dx.hypot(dy).max(1e-6);
    let unit = (dx / whole, dy / whole);
    let angle = dy.atan2(dx).to_degrees();
    let above = 3.2;
    let below = -(Spot::height(SMALL) + 2.0);
    // Further rows, beyond other roofs and their labels. A datasheet's stands above all lines as
    // long as there is a free place, so that labels are in the order of their lines.
    let row = |side: f64, row: f64| side + side.signum() * row * 1.6 * SMALL;
    let sides = match side {
        Side::Above | Side::Before => [
            row(above, 0.0),
            row(above, 1.0),
            row(above, 2.0),
            row(below, 0.0),
            row(below, 1.0),
        ],
        Side::Below => [
            row(below, 0.0),
            row(above, 0.0),
            row(below, 1.0),
            row(above, 1.0),
            row(below, 2.0),
        ],
    };
    // Where a label begins that ends a little before the line: before its beginning, if the line
    // is shorter, for beyond its end is often the edge of the plot.
    let last = whole - length - 4.0;
    let first = last.min(0.0);
    let mut spots = match side {
        Side::Before => before(from, length),
        Side::Above | Side::Below => Vec::new(),
    };
    for off in sides {
        for i in 0..=24 {
            let start = first + (last - first) * (1.0 - f64::from(i) / 24.0);
            spots.push(Spot {
                // Up, seen from the base line, is (unit.1, -unit.0).
                at: (
                    from.0 + unit.0 * start + unit.1 * off,
                    from.1 + unit.1 * start - unit.0 * off,
                ),
                length,
                size: SMALL,
                angle,
            });
        }
    }
    spots
}

/// Places left of where a horizontal line begins, level with it and then in rows above and below.
fn before((x, y): (f64, f64), length: f64) -> Vec<Spot> {
    /// Room for the mark of a ridge point.
    const GAP: f64 = 6.0;
    let rows = [0.0, -1.0, -2.0, 1.0, -3.0, 2.0];
    let spot = |row: f64| Spot {
        at: (
            x - GAP - length,
            y + Spot::height(SMALL) / 2.0 + row * 1.25 * SMALL,
        ),
        length,
        size: SMALL,
        angle: 0.0,
    };
    rows.map(spot).to_vec()
}

/// Places beside a vertical line, from its lower end up.
fn beside(from: (f64, f64), to: (f64, f64), length: f64, side: Side) -> Vec<Spot> {
    let right = from.0 + 3.0;
    let left = from.0 - 3.0 - length;
    let sides = match side {
        Side::Below => [right, left],
        Side::Above | Side::Before => [left, right],
    };
    let steps = ((from.1 - to.1) / 4.0).max(1.0) as usize;
    let mut spots = Vec::new();
    for i in 0..steps {
        for x in sides {
            spots.push(Spot {
                at: (x, from.1 - 4.0 - 4.0 * i as f64),
                length,
                size: SMALL,
                angle: 0.0,
            });
        }
    }
    spots
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

/// Places around a marker, the clearest first.
fn around(at: (f64, f64), radius: f64, length: f64) -> Vec<Spot> {
    let height = Spot::height(SMALL);
    let gap = radius + 2.2;
    let offsets = [
        (gap, height / 2.0),
        (-gap - length, height / 2.0),
        (-length / 2.0, -gap),
        (-length / 2.0, gap + height),
        (0.7 * gap, -0.7 * gap),
        (0.7 * gap, 0.7 * gap + height),
        (-0.7 * gap - length, -0.7 * gap),
        (-0.7 * gap - length, 0.7 * gap + height),
    ];
    let spot = |(dx, dy)| Spot {
        at: (at.0 + dx, at.1 + dy),
        length,
        size: SMALL,
        angle: 0.0,
    };
    offsets.into_iter().map(spot).collect()
}
