//! Candidate places for labels: along lines, beside them, around markers. [`super::labels`] chooses.

use super::chart::Side;
use super::labels::Spot;
use super::layout::SMALL;

/// Places along a line, from its far end back, on the side that is wanted and then the other.
pub(super) fn along(from: (f64, f64), to: (f64, f64), length: f64, side: Side) -> Vec<Spot> {
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
pub(super) fn beside(from: (f64, f64), to: (f64, f64), length: f64, side: Side) -> Vec<Spot> {
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

/// Places around a marker, the clearest first.
pub(super) fn around(at: (f64, f64), radius: f64, length: f64) -> Vec<Spot> {
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
