//! What a figure shows, before anything has a place on paper.

use super::axis::Axis;
use super::palette::Style;

/// A figure: plots, or bars, under one heading.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// The heading; none if empty.
    pub title: String,
    /// What holds for all of it, set small beside the heading.
    pub subtitle: String,
    /// The contents.
    pub body: Body,
    /// A line under the legend.
    pub note: String,
}

/// The contents of a figure.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// Plots over two axes.
    Plots(Vec<Plot>),
    /// Horizontal bars.
    Bars(Bars),
}

/// A plot over two axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Plot {
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// Roofs and guides.
    pub lines: Vec<Line>,
    /// The measurements.
    pub traces: Vec<Trace>,
    /// Marked points: ridge points.
    pub marks: Vec<(f64, f64)>,
    /// What the lines of a roofline are, for a picture without labels at them.
    pub key: Vec<Key>,
}

/// What a roof, or what the datasheet's and the measured one of a pipe are.
#[derive(Clone, Debug, PartialEq)]
pub struct Key {
    /// All of it: `FP32 66.9/66.57 TFLOP/s, ridge 13.9`.
    pub text: String,
    /// Its name alone; empty where the lines explain themselves.
    pub name: String,
    /// Where the upper of its lines ends, if the name should stand there.
    pub at: Option<(f64, f64)>,
}

/// How a line looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// Dashed: from a datasheet, or predicted.
    Datasheet,
    /// Solid: measured, or fitted to measurements.
    Measured,
    /// Thin and dotted: a guide for the eye.
    Guide,
}

/// On which side of a line its label stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Above it, or left of a vertical one.
    Above,
    /// Below it, or right of a vertical one.
    Below,
    /// Left of where it begins; above it where there is no room.
    Before,
}

/// A straight line, in values of the axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Where it begins.
    pub from: (f64, f64),
    /// Where it ends.
    pub to: (f64, f64),
    /// Factors by which an interval around it reaches down and up, or of a vertical line left and
    /// right; `(1, 1)` for none.
    pub band: (f64, f64),
    /// How it looks.
    pub look: Look,
    /// What is written along it; nothing if empty.
    pub label: String,
    /// Where that is written.
    pub side: Side,
}

/// A trace.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// What the legend calls it.
    pub name: String,
    /// How it looks.
    pub style: Style,
    /// Factor of the size of its markers: above 1 where another trace would cover it.
    pub scale: f64,
    /// Whether a line joins its points.
    pub joined: bool,
    /// Its points, small to large.
    pub points: Vec<Point>,
}

/// A measured point, in values of the axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// Along the horizontal axis.
    pub x: f64,
    /// Along the vertical axis.
    pub y: f64,
    /// The 95 % interval along the vertical axis.
    pub interval: Option<(f64, f64)>,
    /// Size of the marker, from 0 for the smallest N of the trace to 1 for the largest.
    pub weight: f64,
    /// N as a person writes it.
    pub size: String,
    /// What a page says about it.
    pub tip: String,
}

/// Horizontal bars in groups.
#[derive(Clone, Debug, PartialEq)]
pub struct Bars {
    /// The axis of their lengths.
    pub x: Axis,
    /// Where a line is drawn across, and what is written at it.
    pub reference: Option<(f64, String)>,
    /// The groups, from top to bottom.
    pub groups: Vec<(String, Vec<Bar>)>,
}

/// A bar.
#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    /// What is written before it.
    pub name: String,
    /// Its length.
    pub value: f64,
    /// What is written after it.
    pub label: String,
    /// How it looks.
    pub style: Style,
    /// What a page says about it.
    pub tip: String,
}
