//! A drawing: what is where, in points (1/72 inch) from the upper left corner.
//!
//! Every picture format is made from it, so that they all show the same.

use super::palette::{Hex, Shape};

/// A drawing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scene {
    /// Width in points.
    pub width: f64,
    /// Height in points.
    pub height: f64,
    /// What is drawn, from back to front.
    pub items: Vec<Item>,
}

/// What something is painted with. The grey levels are names, so that a page can give them
/// other values on a dark background.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ink {
    /// Text, axes, roofs.
    Ink,
    /// Less important text.
    Muted,
    /// Grid lines.
    Grid,
    /// An area between two values.
    Shade,
    /// The background.
    Paper,
    /// The colour of a trace.
    Trace(Hex),
}

impl Ink {
    /// The colour on white.
    #[must_use]
    pub fn hex(self) -> Hex {
        match self {
            Ink::Ink => "#1a1a1a",
            Ink::Muted => "#595959",
            Ink::Grid => "#e3e3e3",
            Ink::Shade => "#d9d9d9",
            Ink::Paper => "#ffffff",
            Ink::Trace(hex) => hex,
        }
    }

    /// Name of the grey level, empty for a trace.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Ink::Ink => "ink",
            Ink::Muted => "muted",
            Ink::Grid => "grid",
            Ink::Shade => "shade",
            Ink::Paper => "paper",
            Ink::Trace(_) => "",
        }
    }
}

/// How a line is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stroke {
    /// Its paint.
    pub ink: Ink,
    /// Its width in points.
    pub width: f64,
    /// Lengths of dash and gap in points, if it is dashed.
    pub dash: Option<(f64, f64)>,
}

impl Stroke {
    /// A solid line.
    #[must_use]
    pub fn solid(ink: Ink, width: f64) -> Stroke {
        Stroke {
            ink,
            width,
            dash: None,
        }
    }

    /// A dashed line.
    #[must_use]
    pub fn dashed(ink: Ink, width: f64, dash: f64, gap: f64) -> Stroke {
        Stroke {
            ink,
            width,
            dash: Some((dash, gap)),
        }
    }
}

/// Which part of a text lies at its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// Its left end.
    Start,
    /// Its middle.
    Middle,
    /// Its right end.
    End,
}

/// A text.
#[derive(Clone, Debug, PartialEq)]
pub struct Text {
    /// Position of the anchor, on the base line.
    pub at: (f64, f64),
    /// The words.
    pub text: String,
    /// Height of the letters' em in points.
    pub size: f64,
    /// Whether it is set in bold.
    pub bold: bool,
    /// What lies at the position.
    pub anchor: Anchor,
    /// Rotation about the position in degrees, clockwise.
    pub angle: f64,
    /// Its paint.
    pub ink: Ink,
}

/// A marker.
#[derive(Clone, Debug, PartialEq)]
pub struct Marker {
    /// Its middle.
    pub at: (f64, f64),
    /// Radius of a disc of the same area, in points.
    pub radius: f64,
    /// Its outline.
    pub shape: Shape,
    /// Its colour.
    pub colour: Hex,
    /// Whether only the outline is coloured.
    pub hollow: bool,
    /// What a page says about it when the pointer is over it.
    pub tip: Option<String>,
}

/// Part of a drawing.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// A line through points.
    Line {
        /// The points, at least two.
        points: Vec<(f64, f64)>,
        /// How it is drawn.
        stroke: Stroke,
    },
    /// A filled polygon.
    Area {
        /// Its corners.
        points: Vec<(f64, f64)>,
        /// Its paint.
        ink: Ink,
        /// What a page says about it when the pointer is over it.
        tip: Option<String>,
    },
    /// A marker.
    Marker(Marker),
    /// A text.
    Text(Text),
}

impl Scene {
    /// Adds a straight line.
    pub fn line(&mut self, from: (f64, f64), to: (f64, f64), stroke: Stroke) {
        self.items.push(Item::Line {
            points: vec![from, to],
            stroke,
        });
    }

    /// Adds a rectangle between two corners.
    pub fn rectangle(&mut self, from: (f64, f64), to: (f64, f64), ink: Ink) {
        let points = vec![from, (to.0, from.1), to, (from.0, to.1)];
        self.items.push(Item::Area {
            points,
            ink,
            tip: None,
        });
    }

    /// The texts, in the order in which they are drawn.
    pub fn texts(&self) -> impl Iterator<Item = &Text> {
        self.items.iter().filter_map(|item| match item {
            Item::Text(text) => Some(text),
            _ => None,
        })
    }
}
