//! A roofline in letters, for a terminal.

mod canvas;

use super::axis::Axis;
use super::chart::{Body, Chart, Plot, Trace};
use super::palette::Style;
use super::{Kind, Options};
use crate::record::Row;
use canvas::Canvas;

/// Signs of traces, filled and hollow, where Unicode is shown.
const SIGNS: [(char, char); 9] = [
    ('●', '○'),
    ('■', '□'),
    ('▲', '△'),
    ('◆', '◇'),
    ('▼', '▽'),
    ('★', '☆'),
    ('⬢', '⬡'),
    ('✚', '✛'),
    ('✦', '✧'),
];
/// Signs of traces in ASCII: cold capital, warm small.
const LETTERS: [(char, char); 9] = [
    ('O', 'o'),
    ('X', 'x'),
    ('A', 'a'),
    ('D', 'd'),
    ('V', 'v'),
    ('S', 's'),
    ('H', 'h'),
    ('N', 'n'),
    ('Z', 'z'),
];
/// The smallest window in which a roofline can be read.
const LEAST: (usize, usize) = (32, 10);
/// Lines around the picture: title, axis, its labels.
const AROUND: usize = 3;
/// Lines of the smallest picture.
const LEAST_ROWS: usize = 5;

/// A roofline of the rows, at most `width` columns and `height` lines, each line ended.
///
/// With `unicode` roofs are drawn in braille dots, otherwise in ASCII. With `color` traces have
/// ANSI colours. Rows of several devices are drawn together. Rows without a measurement give an
/// empty string, so that a caller who only adds a picture need not ask first. A window smaller
/// than 32 x 10 is drawn for as if it had that size.
#[must_use]
pub fn render(rows: &[Row], width: usize, height: usize, unicode: bool, color: bool) -> String {
    let options = Options {
        kind: Kind::Roofline,
        across_devices: true,
        ..Options::default()
    };
    let chart = super::chart(rows, &options);
    chart.map_or(String::new(), |chart| {
        draw(&chart, width, height, unicode, color)
    })
}

/// The same of a chart of [`Kind::Roofline`]; nothing of a chart of another kind.
#[must_use]
pub fn draw(chart: &Chart, width: usize, height: usize, unicode: bool, color: bool) -> String {
    let Body::Plots(plots) = &chart.body else {
        return String::new();
    };
    let Some(plot) = plots.first() else {
        return String::new();
    };
    let size = (width.max(LEAST.0), height.max(LEAST.1));
    Picture { unicode, color }.draw(chart, plot, size)
}

/// The size of the terminal on stdout in columns and lines; 100 x 30 where there is none.
#[must_use]
pub fn window() -> (usize, usize) {
    match terminal_size::terminal_size() {
        // The prompt that follows takes a line.
        Some((width, height)) => (
            usize::from(width.0),
            usize::from(height.0).saturating_sub(1),
        ),
        None => (100, 30),
    }
}

/// Whether the locale says that the terminal shows UTF-8. Windows terminals do.
#[must_use]
pub fn speaks_unicode() -> bool {
    if cfg!(windows) {
        return true;
    }
    let set = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .find_map(set)
        .is_some_and(|locale| {
            let locale = locale.to_lowercase();
            locale.contains("utf-8") || locale.contains("utf8")
        })
}

/// Whether stdout gets colour: as `asked`, or else if it is a terminal and NO_COLOR is not set.
#[must_use]
pub fn wants_color(asked: Option<bool>) -> bool {
    use std::io::IsTerminal;
    let forbidden = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    asked.unwrap_or_else(|| !forbidden && std::io::stdout().is_terminal())
}

struct Picture {
    unicode: bool,
    color: bool,
}

impl Picture {
    fn draw(&self, chart: &Chart, plot: &Plot, (width, height): (usize, usize)) -> String {
        let (roofs, legend) = self.below(plot, width, height);
        let rows = height.saturating_sub(AROUND + legend.len() + roofs.len());
        let vertical = plot.y.ticks(rows / 3);
        let label =
            |tick: &super::axis::Tick| tick.label.as_deref().map_or(0, |l| l.chars().count());
        let margin = vertical.iter().map(label).max().unwrap_or(0);
        let columns = width.saturating_sub(margin + 2).max(16);
        let mut canvas = Canvas::new(columns, rows, self.unicode);
        let at = |(x, y): (f64, f64)| (plot.x.place(x), 1.0 - plot.y.place(y));
        for line in &plot.lines {
            let dashed = line.look != super::chart::Look::Measured;
            canvas.line(at(line.from), at(line.to), dashed);
        }
        for trace in &plot.traces {
            for point in &trace.points {
                canvas.sign(
                    at((point.x, point.y)),
                    self.sign(trace.style),
                    trace.style.ansi(),
                );
            }
        }
        for key in &plot.key {
            if let Some(end) = key.at {
                canvas.text(at(end), &key.name);
            }
        }
        let mut out = String::new();
        let title = format!("{} · {}", chart.title, chart.subtitle);
        self.push(&mut out, &clipped(&title, width));
        let rows_of = |value: f64| ((1.0 - plot.y.place(value)) * rows as f64) as usize;
        for (row, text) in canvas.lines(self.color).into_iter().enumerate() {
            let tick = vertical
                .iter()
                .find(|tick| tick.label.is_some() && rows_of(tick.value).min(rows - 1) == row);
            let label = tick
                .and_then(|tick| tick.label.as_deref())
                .unwrap_or_default();
            let edge = match (self.unicode, tick.is_some()) {
                (true, true) => '┤',
                (true, false) => '│',
                (false, _) => '|',
            };
            self.push(
                &mut out,
                format!("{label:>margin$} {edge}{text}").trim_end(),
            );
        }
        let (corner, dash) = if self.unicode {
            ('└', '─')
        } else {
            ('+', '-')
        };
        let base = format!(
            "{:margin$} {corner}{}",
            "",
            dash.to_string().repeat(columns)
        );
        self.push(&mut out, &base);
        self.push(&mut out, &horizontal(&plot.x, margin + 2, columns));
        for line in roofs.into_iter().chain(legend) {
            self.push(&mut out, &line);
        }
        out
    }

    /// Adds a line, in ASCII if nothing else is shown.
    fn push(&self, out: &mut String, line: &str) {
        if self.unicode {
            out.push_str(line);
        } else {
            out.extend(line.chars().map(|c| match c {
                '·' => '-',
                '×' => 'x',
                'µ' => 'u',
                c if c.is_ascii() => c,
                _ => '?',
            }));
        }
        out.push('\n');
    }

    fn sign(&self, style: Style) -> char {
        let signs = if self.unicode { SIGNS } else { LETTERS };
        let (filled, hollow) = signs[style.index % signs.len()];
        if style.hollow { hollow } else { filled }
    }

    /// What stands below the axis: what the lines are, and what the signs are. At least half of the
    /// window is for the picture; what does not fit below it is counted.
    fn below(&self, plot: &Plot, width: usize, height: usize) -> (Vec<String>, Vec<String>) {
        let room = height - AROUND - LEAST_ROWS.max((height - AROUND) / 2);
        let roofs: Vec<(String, usize)> = plot
            .key
            .iter()
            .map(|key| within(&key.text, width))
            .map(|text| (text.to_owned(), text.chars().count()))
            .collect();
        let legend = self.legend(&plot.traces);
        // Without a legend the signs mean nothing; one line is kept for the roofs.
        let for_roofs = usize::from(!roofs.is_empty());
        let legend = flow_within(&legend, width, room - for_roofs);
        let roofs = flow_within(&roofs, width, room - legend.len());
        (roofs, legend)
    }

    /// The traces with their signs, and how wide each is.
    fn legend(&self, traces: &[Trace]) -> Vec<(String, usize)> {
        traces
            .iter()
            .filter(|trace| !trace.points.is_empty())
            .map(|trace| {
                let sign = canvas::painted(self.sign(trace.style), trace.style.ansi(), self.color);
                (
                    format!("{sign} {}", trace.name),
                    2 + trace.name.chars().count(),
                )
            })
            .collect()
    }
}

/// As many parts of an entry, between commas, as the width has room for.
fn within(entry: &str, width: usize) -> &str {
    let mut entry = entry;
    while entry.chars().count() > width {
        let Some((shorter, _)) = entry.rsplit_once(", ") else {
            break;
        };
        entry = shorter;
    }
    entry
}

/// Entries of a known width on at most `most` lines: of those that do not fit, how many they are.
fn flow_within(entries: &[(String, usize)], width: usize, most: usize) -> Vec<String> {
    for shown in (0..=entries.len()).rev() {
        let left = entries.len() - shown;
        let more = (left > 0).then(|| format!("+{left} more"));
        let more = more.map(|text| {
            let length = text.len();
            (text, length)
        });
        let lines = flow(entries[..shown].iter().cloned().chain(more), width);
        if lines.len() <= most {
            return lines;
        }
    }
    Vec::new()
}

/// Entries of a known width, as many on a line as fit.
fn flow(entries: impl Iterator<Item = (String, usize)>, width: usize) -> Vec<String> {
    const GAP: usize = 3;
    let mut lines: Vec<(String, usize)> = Vec::new();
    for (entry, length) in entries {
        match lines.last_mut() {
            Some((line, used)) if *used + GAP + length <= width => {
                line.push_str(&" ".repeat(GAP));
                line.push_str(&entry);
                *used += GAP + length;
            }
            _ => lines.push((entry, length)),
        }
    }
    lines.into_iter().map(|(line, _)| line).collect()
}

/// The labels of the horizontal axis, its title at the end.
fn horizontal(axis: &Axis, margin: usize, columns: usize) -> String {
    let mut line = vec![' '; margin + columns];
    let mut free = 0;
    for tick in axis.ticks(columns / 9) {
        let Some(label) = tick.label else { continue };
        let middle = margin + (axis.place(tick.value) * columns as f64) as usize;
        let start = middle.saturating_sub(label.chars().count() / 2);
        let end = start + label.chars().count();
        if start >= free && end <= line.len() {
            line[start..end]
                .iter_mut()
                .zip(label.chars())
                .for_each(|(to, c)| *to = c);
            free = end + 1;
        }
    }
    let title = " FLOP/byte";
    let end = line.len() - title.len();
    if free <= end {
        line[end..]
            .iter_mut()
            .zip(title.chars())
            .for_each(|(to, c)| *to = c);
    }
    line.into_iter().collect::<String>().trim_end().to_owned()
}

fn clipped(text: &str, width: usize) -> String {
    text.chars().take(width).collect()
}
