//! Finds free places for labels.
//!
//! What is drawn is entered into a grid of cells; a label goes where what it covers costs least. The cost does not depend on the number of points, only on the size of the picture.

/// Side of a cell in points.
const CELL: f64 = 0.75;
/// Cost of a cell outside the picture, in taken cells: a label is rather covered than cut off.
const OUTSIDE: usize = 200;
/// Cost of a cell of a line, of a marker, of another label: words over words cannot be read.
const LINE: u8 = 1;
const MARKER: u8 = 2;
const LABEL: u8 = 16;

/// A label's place: where its base line begins, how far it reaches, how it is turned.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spot {
    /// The beginning of the base line.
    pub at: (f64, f64),
    /// Length of the text in points.
    pub length: f64,
    /// Size of its type in points.
    pub size: f64,
    /// Rotation in degrees, clockwise.
    pub angle: f64,
}

impl Spot {
    /// Height of capitals over the base line, and depth of descenders under it, in em.
    const ABOVE: f64 = 0.74;
    const BELOW: f64 = 0.22;

    /// Height of capitals at a size of type, both in points.
    #[must_use]
    pub fn height(size: f64) -> f64 {
        Self::ABOVE * size
    }

    /// Points all over the label, less than a cell apart.
    fn cover(&self, pad: f64) -> impl Iterator<Item = (f64, f64)> {
        let (sin, cos) = self.angle.to_radians().sin_cos();
        let (x, y) = self.at;
        let step = CELL * 0.9;
        let from = -pad;
        let along = ((self.length + 2.0 * pad) / step).ceil() as usize;
        let bottom = -Self::BELOW * self.size - pad;
        let height = (Self::ABOVE + Self::BELOW) * self.size + 2.0 * pad;
        let across = (height / step).ceil() as usize;
        (0..=along).flat_map(move |i| {
            let s = from + i as f64 * step;
            (0..=across).map(move |j| {
                let t = bottom + j as f64 * step;
                (x + s * cos + t * sin, y + s * sin - t * cos)
            })
        })
    }
}

/// The taken cells of a rectangle of the picture.
pub struct Occupied {
    left: f64,
    top: f64,
    columns: usize,
    rows: usize,
    /// What covering each cell costs.
    cells: Vec<u8>,
}

impl Occupied {
    /// An empty grid over the rectangle with these corners.
    #[must_use]
    pub fn new((left, top): (f64, f64), (right, bottom): (f64, f64)) -> Occupied {
        let cells_of = |length: f64| (length / CELL).ceil().max(1.0) as usize;
        let (columns, rows) = (cells_of(right - left), cells_of(bottom - top));
        Occupied {
            left,
            top,
            columns,
            rows,
            cells: vec![0; columns * rows],
        }
    }

    fn cell(&self, (x, y): (f64, f64)) -> Option<usize> {
        let column = ((x - self.left) / CELL).floor();
        let row = ((y - self.top) / CELL).floor();
        let inside = column >= 0.0
            && row >= 0.0
            && (column as usize) < self.columns
            && (row as usize) < self.rows;
        inside.then(|| row as usize * self.columns + column as usize)
    }

    fn take(&mut self, at: (f64, f64), cost: u8) {
        if let Some(cell) = self.cell(at) {
            self.cells[cell] = self.cells[cell].max(cost);
        }
    }

    /// Enters a straight line.
    pub fn line(&mut self, from: (f64, f64), to: (f64, f64)) {
        let (dx, dy) = (to.0 - from.0, to.1 - from.1);
        let steps = (dx.hypot(dy) / (CELL * 0.7)).ceil().max(1.0) as usize;
        for i in 0..=steps {
            let t = i as f64 / steps as f64;
            self.take((from.0 + t * dx, from.1 + t * dy), LINE);
        }
    }

    /// Enters a disc.
    pub fn disc(&mut self, at: (f64, f64), radius: f64) {
        let steps = (radius / CELL).ceil() as i32;
        for i in -steps..=steps {
            for j in -steps..=steps {
                let (dx, dy) = (f64::from(i) * CELL, f64::from(j) * CELL);
                if dx.hypot(dy) <= radius + 0.5 * CELL {
                    self.take((at.0 + dx, at.1 + dy), MARKER);
                }
            }
        }
    }

    /// Enters a label.
    pub fn label(&mut self, spot: &Spot) {
        let cover: Vec<(f64, f64)> = spot.cover(1.0).collect();
        for at in cover {
            self.take(at, LABEL);
        }
    }

    /// How much a label would cover, 0 where it is free.
    #[must_use]
    pub fn cost(&self, spot: &Spot) -> usize {
        spot.cover(0.4)
            .map(|at| match self.cell(at) {
                Some(cell) => usize::from(self.cells[cell]),
                None => OUTSIDE,
            })
            .sum()
    }

    /// The place of the least cost, the first of equals, and its cost.
    #[must_use]
    pub fn best(&self, spots: impl IntoIterator<Item = Spot>) -> Option<(Spot, usize)> {
        let mut best: Option<(Spot, usize)> = None;
        for spot in spots {
            let cost = self.cost(&spot);
            if best.is_none_or(|(_, least)| cost < least) {
                best = Some((spot, cost));
            }
            if cost == 0 {
                break;
            }
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spot(x: f64, y: f64) -> Spot {
        Spot {
            at: (x, y),
            length: 20.0,
            size: 7.0,
            angle: 0.0,
        }
    }

    #[test]
    fn a_label_avoids_what_is_drawn_and_the_edge() {
        let mut taken = Occupied::new((0.0, 0.0), (100.0, 50.0));
        assert_eq!(taken.cost(&spot(10.0, 20.0)), 0);
        assert!(taken.cost(&spot(90.0, 20.0)) >= OUTSIDE);
        taken.disc((15.0, 18.0), 2.0);
        assert!(taken.cost(&spot(10.0, 20.0)) > 0);
        let best = taken.best([spot(10.0, 20.0), spot(90.0, 20.0), spot(40.0, 20.0)]);
        assert_eq!(best, Some((spot(40.0, 20.0), 0)));
    }

    #[test]
    fn a_placed_label_keeps_others_away() {
        let mut taken = Occupied::new((0.0, 0.0), (100.0, 50.0));
        taken.label(&spot(10.0, 20.0));
        assert!(taken.cost(&spot(25.0, 22.0)) > 0);
        assert_eq!(taken.cost(&spot(10.0, 40.0)), 0);
    }

    #[test]
    fn turned_labels_cover_what_lies_along_them() {
        let mut taken = Occupied::new((0.0, 0.0), (100.0, 100.0));
        taken.line((30.0, 30.0), (35.0, 25.0));
        let turned = Spot {
            angle: -45.0,
            length: 40.0,
            ..spot(15.0, 48.0)
        };
        assert!(taken.cost(&turned) > 0);
        assert_eq!(
            taken.cost(&Spot {
                at: (45.0, 68.0),
                ..turned
            }),
            0
        );
    }
}
