//! The legend under a figure.

use super::font;
use super::palette::Style;
use super::scene::{Anchor, Ink, Item, Marker, Scene, Stroke, Text};

/// Size of its type in points.
const SIZE: f64 = 7.5;
/// Height of a line in points.
const LEADING: f64 = 10.5;
/// Length of the piece of line with the marker on it.
const KEY: f64 = 18.0;
/// Space between key and name, and between columns.
const GAP: f64 = 4.0;

/// Draws the legend below `top` and gives the position under it. Entries go down the columns,
/// of which there are as many as fit.
pub fn draw(
    scene: &mut Scene,
    entries: &[(String, Style)],
    (left, right): (f64, f64),
    top: f64,
) -> f64 {
    if entries.is_empty() {
        return top;
    }
    let widest = entries
        .iter()
        .map(|(name, _)| font::width(name, SIZE, false))
        .fold(0.0, f64::max);
    let column = KEY + GAP + widest + 3.0 * GAP;
    let most = ((right - left + 3.0 * GAP) / column).floor().max(1.0) as usize;
    let rows = entries.len().div_ceil(most);
    for (i, (name, style)) in entries.iter().enumerate() {
        let x = left + column * (i / rows) as f64;
        let y = top + LEADING * ((i % rows) as f64 + 0.75);
        let middle = y - 0.34 * SIZE;
        scene.line((x, middle), (x + KEY, middle), stroke(*style));
        scene.items.push(Item::Marker(Marker {
            at: (x + KEY / 2.0, middle),
            radius: 2.6,
            shape: style.shape(),
            colour: style.colour(),
            hollow: style.hollow,
            tip: None,
        }));
        scene.items.push(Item::Text(Text {
            at: (x + KEY + GAP, y),
            text: name.clone(),
            size: SIZE,
            bold: false,
            anchor: Anchor::Start,
            angle: 0.0,
            ink: Ink::Ink,
        }));
    }
    top + LEADING * rows as f64 + 2.0
}

/// The line of a trace.
#[must_use]
pub fn stroke(style: Style) -> Stroke {
    let ink = Ink::Trace(style.colour());
    if style.dashed {
        Stroke::dashed(ink, 0.9, 2.5, 1.8)
    } else {
        Stroke::solid(ink, 0.9)
    }
}
