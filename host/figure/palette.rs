//! Colours and markers that tell traces apart.
//!
//! The colours are those of Okabe and Ito ("Color Universal Design", 2008), which stay distinct
//! under the common forms of colour blindness; their yellow is left out because it is too light
//! for thin marks on white, and black belongs to axes and roofs. The shape changes together with
//! the colour, so that a print in black and white still tells traces apart.

/// A colour as `#rrggbb`.
pub type Hex = &'static str;

/// Colours of traces, in the order in which they are given out.
pub const COLOURS: [Hex; 6] = [
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9",
];

/// ANSI colours (of 256) next to [`COLOURS`], for terminals.
pub const ANSI: [u8; 6] = [32, 166, 36, 175, 214, 74];

/// The outline of a marker. All of them can be filled or hollow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A disc.
    Circle,
    /// A square that stands on its side.
    Square,
    /// A triangle that points up.
    Up,
    /// A square that stands on its corner.
    Diamond,
    /// A triangle that points down.
    Down,
    /// A five-pointed star.
    Star,
    /// A hexagon that stands on a corner.
    Hexagon,
}

/// Markers of traces, in the order in which they are given out: one more than colours, so that
/// a pair repeats only after 42 traces.
pub const SHAPES: [Shape; 7] = [
    Shape::Circle,
    Shape::Square,
    Shape::Up,
    Shape::Diamond,
    Shape::Down,
    Shape::Star,
    Shape::Hexagon,
];

/// How a trace looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Number of the trace among those that look different, from 0.
    pub index: usize,
    /// Whether its markers are hollow.
    pub hollow: bool,
    /// Whether its line is dashed.
    pub dashed: bool,
}

impl Style {
    /// The colour.
    #[must_use]
    pub fn colour(self) -> Hex {
        COLOURS[self.index % COLOURS.len()]
    }

    /// The colour of a terminal that has 256 of them.
    #[must_use]
    pub fn ansi(self) -> u8 {
        ANSI[self.index % ANSI.len()]
    }

    /// The marker.
    #[must_use]
    pub fn shape(self) -> Shape {
        SHAPES[self.index % SHAPES.len()]
    }
}

impl Shape {
    /// Corners around the origin, y downwards, of about the same area as a disc of radius `r`;
    /// empty for a disc.
    #[must_use]
    pub fn corners(self, r: f64) -> Vec<(f64, f64)> {
        use std::f64::consts::{FRAC_PI_2, PI};
        let regular = |n: usize, radius: f64, turn: f64| {
            (0..n)
                .map(|i| {
                    let angle = turn + 2.0 * PI * i as f64 / n as f64;
                    (radius * angle.cos(), radius * angle.sin())
                })
                .collect()
        };
        match self {
            Shape::Circle => Vec::new(),
            Shape::Square => regular(4, 1.25 * r, FRAC_PI_2 / 2.0),
            Shape::Up => regular(3, 1.45 * r, -FRAC_PI_2),
            Shape::Diamond => regular(4, 1.35 * r, 0.0),
            Shape::Down => regular(3, 1.45 * r, FRAC_PI_2),
            Shape::Hexagon => regular(6, 1.15 * r, FRAC_PI_2),
            Shape::Star => (0..10)
                .map(|i| {
                    let radius = if i % 2 == 0 { 1.55 * r } else { 0.68 * r };
                    let angle = -FRAC_PI_2 + PI * f64::from(i) / 5.0;
                    (radius * angle.cos(), radius * angle.sin())
                })
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn colour_and_shape_repeat_only_after_all_pairs() {
        let style = |index| Style {
            index,
            hollow: false,
            dashed: false,
        };
        let pairs: BTreeSet<String> = (0..42)
            .map(|i| format!("{}{:?}", style(i).colour(), style(i).shape()))
            .collect();
        assert_eq!(pairs.len(), 42);
    }
}
