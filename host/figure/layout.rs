//! Gives everything in a chart its place on paper.

use super::bars;
use super::chart::{Body, Chart, Plot};
use super::palette::Style;
use super::plot::{self, Frame};
use super::scene::{Anchor, Ink, Item, Scene, Text};
use super::{font, legend};

/// The narrowest figure in points: 2 inches.
pub const MIN_WIDTH: f64 = 144.0;
/// The widest figure in points: 40 inches.
pub const MAX_WIDTH: f64 = 2880.0;
/// Size of the smallest type in points: what journals ask for in print.
pub const SMALL: f64 = 7.0;
/// Size of axis titles in points.
pub const NORMAL: f64 = 8.0;
/// From this width on, two plots stand side by side; more need as much for each.
const TWO_COLUMNS: f64 = 400.0;
/// Space around the figure.
const MARGIN: f64 = 3.0;

/// The drawing of a chart, `width` points wide; its height follows from what it holds.
#[must_use]
pub fn scene(chart: &Chart, width: f64, tips: bool) -> Scene {
    let width = width.clamp(MIN_WIDTH, MAX_WIDTH);
    let mut scene = Scene {
        width,
        ..Scene::default()
    };
    let mut y = heading(&mut scene, chart, MARGIN);
    match &chart.body {
        Body::Plots(plots) => {
            y = plots_below(&mut scene, plots, y, tips);
            y = legend::draw(
                &mut scene,
                &entries(plots),
                (MARGIN, width - MARGIN),
                y + 3.0,
            );
        }
        Body::Bars(bars) => y = bars::draw(&mut scene, bars, (MARGIN, width - MARGIN), y, tips),
    }
    for line in wrapped(&chart.note, width - 2.0 * MARGIN) {
        y += SMALL * 1.25;
        text(
            &mut scene,
            (MARGIN, y),
            &line,
            (SMALL, Anchor::Start, Ink::Muted),
        );
        y += 1.0;
    }
    scene.height = (y + MARGIN + 1.0).ceil();
    // White paper, so that a picture can be seen on a dark page too.
    let paper = Item::Area {
        points: vec![
            (0.0, 0.0),
            (width, 0.0),
            (width, scene.height),
            (0.0, scene.height),
        ],
        ink: Ink::Paper,
        tip: None,
    };
    scene.items.insert(0, paper);
    scene
}

/// Heading and subtitle, on one line if they fit. Gives the position under them.
fn heading(scene: &mut Scene, chart: &Chart, top: f64) -> f64 {
    const SIZE: f64 = 8.5;
    let inner = scene.width - 2.0 * MARGIN;
    let mut y = top;
    let lines = wrapped_bold(&chart.title, SIZE, inner);
    for line in &lines {
        y += SIZE * 1.1;
        scene.items.push(Item::Text(Text {
            at: (MARGIN, y),
            text: line.clone(),
            size: SIZE,
            bold: true,
            anchor: Anchor::Start,
            angle: 0.0,
            ink: Ink::Ink,
        }));
    }
    if lines.is_empty() || chart.subtitle.is_empty() {
        return y + 4.0;
    }
    let used = lines
        .last()
        .map_or(0.0, |line| font::width(line, SIZE, true));
    if used + 10.0 + font::width(&chart.subtitle, SMALL, false) > inner {
        y += SMALL * 1.3;
        text(
            scene,
            (MARGIN, y),
            &chart.subtitle,
            (SMALL, Anchor::Start, Ink::Muted),
        );
    } else {
        let right = scene.width - MARGIN;
        text(
            scene,
            (right, y),
            &chart.subtitle,
            (SMALL, Anchor::End, Ink::Muted),
        );
    }
    y + 5.0
}

fn plots_below(scene: &mut Scene, plots: &[Plot], top: f64, tips: bool) -> f64 {
    let inner = scene.width - 2.0 * MARGIN;
    let beside = plots.len() > 1 && scene.width >= TWO_COLUMNS / 2.0 * plots.len() as f64;
    const GUTTER: f64 = 12.0;
    let columns = if beside { plots.len() as f64 } else { 1.0 };
    let each = (inner - GUTTER * (columns - 1.0)) / columns;
    let mut y = top;
    let mut bottom = top;
    for (i, plot) in plots.iter().enumerate() {
        let left = if beside {
            MARGIN + (each + GUTTER) * i as f64
        } else {
            MARGIN
        };
        let frame = Frame {
            left,
            right: left + each,
            top: y,
            height: height_for(each, plots.len() > 1 && !beside),
        };
        bottom = plot::draw(scene, plot, frame, tips);
        if !beside {
            y = bottom + 6.0;
        }
    }
    bottom
}

/// Height of a plot of this width: about 4:3 in a column, flatter over two.
fn height_for(width: f64, stacked: bool) -> f64 {
    let share = if width < TWO_COLUMNS { 0.74 } else { 0.56 };
    let height = (width * share).clamp(130.0, 620.0);
    if stacked { height * 0.72 } else { height }
}

/// What the legend lists: every trace once.
fn entries(plots: &[Plot]) -> Vec<(String, Style)> {
    let mut entries: Vec<(String, Style)> = Vec::new();
    for trace in plots.iter().flat_map(|plot| &plot.traces) {
        let entry = (trace.name.clone(), trace.style);
        if !trace.points.is_empty() && !entries.contains(&entry) {
            entries.push(entry);
        }
    }
    entries
}

/// Adds a text that is not turned.
pub(super) fn text(
    scene: &mut Scene,
    at: (f64, f64),
    words: &str,
    (size, anchor, ink): (f64, Anchor, Ink),
) {
    scene.items.push(Item::Text(Text {
        at,
        text: words.to_owned(),
        size,
        bold: false,
        anchor,
        angle: 0.0,
        ink,
    }));
}

fn wrapped(words: &str, width: f64) -> Vec<String> {
    wrap(words, width, |line| font::width(line, SMALL, false))
}

fn wrapped_bold(words: &str, size: f64, width: f64) -> Vec<String> {
    wrap(words, width, |line| font::width(line, size, true))
}

/// Breaks a text into lines between words; a word that is too long stays whole.
fn wrap(words: &str, width: f64, measure: impl Fn(&str) -> f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in words.split_whitespace() {
        match lines.last_mut() {
            Some(line) if measure(&format!("{line} {word}")) <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}
