//! Draws horizontal bars.

use super::chart::{Bar, Bars};
use super::font;
use super::layout::{NORMAL, SMALL, text};
use super::scene::{Anchor, Ink, Item, Marker, Scene, Stroke, Text};

/// Height of a bar and the distance from one to the next, in points.
const BAR: f64 = 8.0;
const STEP: f64 = 12.0;

/// Draws bars and gives the position under them.
pub fn draw(
    scene: &mut Scene,
    bars: &Bars,
    (left, right): (f64, f64),
    top: f64,
    tips: bool,
) -> f64 {
    let all = || bars.groups.iter().flat_map(|(_, group)| group);
    let widest = |words: &dyn Fn(&Bar) -> f64| all().map(words).fold(0.0, f64::max);
    let names = widest(&|bar| font::width(&bar.name, SMALL, false));
    let from = left + names + 4.0;
    let to = right - 1.0;
    let place = |value: f64| from + bars.x.place(value) * (to - from);
    let mut y = top + 2.0;
    let mut drawn: Vec<Item> = Vec::new();
    for (name, group) in &bars.groups {
        y += NORMAL * 1.2;
        drawn.push(heading(name, (left, y)));
        y += 3.0;
        for bar in group {
            one(&mut drawn, bar, (from, place(bar.value), to), (left + names, y), tips);
            y += STEP;
        }
        y += 2.0;
    }
    axis(scene, bars, (from, to), (top, y));
    scene.items.append(&mut drawn);
    y + 2.5 + SMALL * 1.2 + NORMAL * 1.35
}

fn heading(name: &str, at: (f64, f64)) -> Item {
    Item::Text(Text {
        at,
        text: name.to_owned(),
        size: NORMAL,
        bold: true,
        anchor: Anchor::Start,
        angle: 0.0,
        ink: Ink::Ink,
    })
}

/// One bar: its name, itself, and what it comes to, inside it where there is no room beyond.
fn one(
    drawn: &mut Vec<Item>,
    bar: &Bar,
    (from, end, to): (f64, f64, f64),
    (names, y): (f64, f64),
    tips: bool,
) {
    let ink = Ink::Trace(bar.style.colour());
    let mut part = Scene::default();
    text(&mut part, (names, y + 6.4), &bar.name, (SMALL, Anchor::End, Ink::Ink));
    part.rectangle((from, y), (end, y + BAR), ink);
    // A marker at the end, so that the pointer finds it and black-and-white prints show it.
    part.items.push(Item::Marker(Marker {
        at: (end, y + BAR / 2.0),
        radius: 2.6,
        shape: bar.style.shape(),
        colour: bar.style.colour(),
        hollow: true,
        tip: tips.then(|| bar.tip.clone()),
    }));
    let length = font::width(&bar.label, SMALL, false);
    if end + 6.0 + length <= to {
        text(&mut part, (end + 6.0, y + 6.4), &bar.label, (SMALL, Anchor::Start, Ink::Ink));
    } else {
        // On paper, not on the colour: no text colour is legible on all of them.
        let start = (end - 6.0 - length).max(from + 2.0);
        part.rectangle((start - 1.5, y + 0.4), (start + length + 1.5, y + BAR - 0.4), Ink::Paper);
        text(&mut part, (start, y + 6.4), &bar.label, (SMALL, Anchor::Start, Ink::Ink));
    }
    drawn.append(&mut part.items);
}

fn axis(scene: &mut Scene, bars: &Bars, (from, to): (f64, f64), (top, bottom): (f64, f64)) {
    let place = |value: f64| from + bars.x.place(value) * (to - from);
    for tick in bars.x.ticks(((to - from) / 34.0) as usize) {
        let Some(label) = tick.label else { continue };
        let x = place(tick.value);
        scene.line((x, top), (x, bottom), Stroke::solid(Ink::Grid, 0.4));
        scene.line((x, bottom), (x, bottom + 2.5), Stroke::solid(Ink::Ink, 0.5));
        let half = font::width(&label, SMALL, false) / 2.0;
        let at = (x.min(to + 1.0 - half), bottom + 2.5 + SMALL);
        text(scene, at, &label, (SMALL, Anchor::Middle, Ink::Ink));
    }
    scene.line((from, bottom), (to, bottom), Stroke::solid(Ink::Ink, 0.6));
    scene.line((from, top), (from, bottom), Stroke::solid(Ink::Ink, 0.6));
    if let Some((value, label)) = &bars.reference {
        let x = place(*value);
        scene.line((x, top), (x, bottom), Stroke::dashed(Ink::Ink, 0.9, 4.0, 2.2));
        text(scene, (x - 2.0, top + SMALL), label, (SMALL, Anchor::End, Ink::Ink));
    }
    let under = bottom + 2.5 + SMALL * 1.2 + NORMAL;
    let middle = (from + to) / 2.0;
    text(scene, (middle, under), &bars.x.title, (NORMAL, Anchor::Middle, Ink::Ink));
}
