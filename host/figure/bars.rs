//! Draws horizontal bars.

use super::axis::Axis;
use super::chart::{Bar, Bars};
use super::font;
use super::layout::{NORMAL, SMALL, text};
use super::scene::{Anchor, Ink, Item, Scene, Stroke, Text};

/// Height of a bar and the distance from one to the next, in points.
const BAR: f64 = 8.0;
const STEP: f64 = 12.0;
/// From the top of a bar to the base line of its texts.
const BASE: f64 = 6.4;
/// Between the end of a bar and what it comes to.
const GAP: f64 = 4.0;

/// Draws bars and gives the position under them. The axis ends early enough for what is
/// written behind the longest bars.
pub fn draw(
    scene: &mut Scene,
    bars: &Bars,
    (left, right): (f64, f64),
    top: f64,
    tips: bool,
) -> f64 {
    let all = || bars.groups.iter().flat_map(|(_, group)| group);
    let names = all()
        .map(|bar| font::width(&bar.name, SMALL, false))
        .fold(0.0, f64::max);
    let from = left + names + 4.0;
    let room = right - 1.0 - from;
    let end = all()
        .filter(|bar| bar.value > 0.0)
        .map(|bar| {
            let free = room - GAP - font::width(&bar.label, SMALL, false);
            // At least a third for the bars, though a label then reaches the edge.
            from + (free * bars.x.high / bar.value).clamp(room / 3.0, room)
        })
        // The last tick's label is centred on the end of the axis.
        .fold(
            right - 1.0 - font::width("100 %", SMALL, false) / 2.0,
            f64::min,
        );
    let mut y = top + 2.0;
    let mut drawn = Scene::default();
    let mut spans = Vec::new();
    for (name, group) in &bars.groups {
        y += NORMAL * 1.2;
        drawn.items.push(heading(name, (left, y)));
        y += 3.0;
        spans.push((y - 1.5, y + STEP * group.len() as f64 - 2.5));
        for bar in group {
            one(
                &mut drawn,
                &bars.x,
                bar,
                (from, end),
                (left + names, y),
                tips,
            );
            y += STEP;
        }
        y += 2.0;
    }
    axis(scene, bars, (from, end), (top, y), &spans);
    scene.items.append(&mut drawn.items);
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

/// One bar: its name, itself, and behind it what it comes to, on paper, so that no line of the
/// axis runs through the words.
fn one(
    scene: &mut Scene,
    axis: &Axis,
    bar: &Bar,
    (from, end): (f64, f64),
    (names, y): (f64, f64),
    tips: bool,
) {
    let to = from + axis.place(bar.value) * (end - from);
    text(
        scene,
        (names, y + BASE),
        &bar.name,
        (SMALL, Anchor::End, Ink::Ink),
    );
    scene.items.push(Item::Area {
        points: vec![(from, y), (to, y), (to, y + BAR), (from, y + BAR)],
        ink: Ink::Trace(bar.style.colour()),
        tip: tips.then(|| bar.tip.clone()),
    });
    let length = font::width(&bar.label, SMALL, false);
    let start = to + GAP;
    scene.rectangle(
        (start - 1.5, y - 1.0),
        (start + length + 1.5, y + BAR + 1.0),
        Ink::Paper,
    );
    text(
        scene,
        (start, y + BASE),
        &bar.label,
        (SMALL, Anchor::Start, Ink::Ink),
    );
}

fn axis(
    scene: &mut Scene,
    bars: &Bars,
    (from, end): (f64, f64),
    (top, bottom): (f64, f64),
    spans: &[(f64, f64)],
) {
    let place = |value: f64| from + bars.x.place(value) * (end - from);
    for tick in bars.x.ticks(((end - from) / 24.0) as usize) {
        let Some(label) = tick.label else { continue };
        let x = place(tick.value);
        for (top, bottom) in spans {
            scene.line((x, *top), (x, *bottom), Stroke::solid(Ink::Grid, 0.4));
        }
        scene.line((x, bottom), (x, bottom + 2.5), Stroke::solid(Ink::Ink, 0.5));
        text(
            scene,
            (x, bottom + 2.5 + SMALL),
            &label,
            (SMALL, Anchor::Middle, Ink::Ink),
        );
    }
    scene.line((from, bottom), (end, bottom), Stroke::solid(Ink::Ink, 0.6));
    for (top, bottom) in spans {
        scene.line((from, *top), (from, *bottom), Stroke::solid(Ink::Ink, 0.6));
    }
    if let Some((value, label)) = &bars.reference {
        let x = place(*value);
        scene.line(
            (x, top),
            (x, bottom),
            Stroke::dashed(Ink::Ink, 0.9, 4.0, 2.2),
        );
        text(
            scene,
            (x - 2.0, top + SMALL),
            label,
            (SMALL, Anchor::End, Ink::Ink),
        );
    }
    let under = bottom + 2.5 + SMALL * 1.2 + NORMAL;
    let middle = (from + end) / 2.0;
    text(
        scene,
        (middle, under),
        &bars.x.title,
        (NORMAL, Anchor::Middle, Ink::Ink),
    );
}
