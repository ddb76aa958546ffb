//! A chart as a LaTeX picture, for the package pgfplots.

use std::fmt::Write as _;

use super::axis::{Axis, Scale};
use super::chart::{Bars, Body, Chart, Look, Plot};
use super::palette::{COLOURS, Shape, Style};
use super::scene::Ink;

/// A chart as a `tikzpicture` of `width` points for `\input`. The preamble needs
/// `\usepackage{pgfplots}`; text is set in the document's own font.
#[must_use]
pub fn picture(chart: &Chart, width: f64) -> String {
    let mut out = String::from("% Needs \\usepackage{pgfplots} and \\pgfplotsset{compat=1.18}.\n");
    for (i, colour) in COLOURS.iter().enumerate() {
        let _ = writeln!(
            out,
            "\\definecolor{{rooftrace{i}}}{{HTML}}{{{}}}",
            &colour[1..]
        );
    }
    let ink = &Ink::Ink.hex()[1..];
    let _ = writeln!(out, "\\definecolor{{rooftraceink}}{{HTML}}{{{ink}}}");
    match &chart.body {
        Body::Plots(plots) => {
            for plot in plots {
                draw_plot(&mut out, chart, plot, width);
            }
        }
        Body::Bars(bars) => draw_bars(&mut out, chart, bars, width),
    }
    out
}

fn draw_plot(out: &mut String, chart: &Chart, plot: &Plot, width: f64) {
    let mode = |axis: &Axis| {
        if axis.scale == Scale::Linear {
            "normal"
        } else {
            "log"
        }
    };
    let _ = write!(
        out,
        "\\begin{{tikzpicture}}\n\\begin{{axis}}[\n  width={width}bp, height={:.1}bp, \
         xmode={}, ymode={},\n  xmin={:e}, xmax={:e}, ymin={:e}, ymax={:e},\n  \
         title={{{}}}, xlabel={{{}}}, ylabel={{{}}},\n  title style={{font=\\small}}, \
         tick label style={{font=\\footnotesize}}, label style={{font=\\small}},\n  \
         legend style={{font=\\footnotesize, at={{(0.5,-0.22)}}, anchor=north, draw=none, \
         legend columns=2}}, legend cell align=left,\n",
        width * 0.8,
        mode(&plot.x),
        mode(&plot.y),
        plot.x.low,
        plot.x.high,
        plot.y.low,
        plot.y.high,
        tex(&chart.title),
        tex(&plot.x.title),
        tex(&plot.y.title),
    );
    if plot.x.scale == Scale::Octaves {
        let _ = writeln!(out, "  log basis x=2,");
    }
    out.push_str("]\n");
    for line in &plot.lines {
        let look = match line.look {
            Look::Datasheet => "densely dashed, thick",
            Look::Measured => "thick",
            Look::Guide => "densely dotted",
        };
        let vertical = line.from.0 == line.to.0;
        let side = match (line.look, line.side) {
            (Look::Guide, _) if vertical => "near start, right",
            (_, super::chart::Side::Above) if vertical => "near start, left",
            _ if vertical => "near start, right",
            (_, super::chart::Side::Above) => "above, sloped",
            _ => "below, sloped",
        };
        let _ = writeln!(
            out,
            "\\addplot[rooftraceink, {look}, forget plot] coordinates {{({:e},{:e}) ({:e},{:e})}} \
             node[midway, {side}, font=\\footnotesize] {{{}}};",
            line.from.0,
            line.from.1,
            line.to.0,
            line.to.1,
            tex(&line.label)
        );
    }
    for (x, y) in &plot.marks {
        let _ = writeln!(
            out,
            "\\addplot[rooftraceink, only marks, mark=diamond*, forget plot] coordinates \
             {{({x:e},{y:e})}};"
        );
    }
    for trace in plot.traces.iter().filter(|trace| !trace.points.is_empty()) {
        let _ = writeln!(
            out,
            "\\addplot+[{}, error bars/.cd, y dir=both, y explicit] coordinates {{",
            style(trace.style)
        );
        for point in &trace.points {
            let _ = write!(out, "  ({:e},{:e})", point.x, point.y);
            if let Some((low, high)) = point.interval {
                let (down, up) = (point.y - low, high - point.y);
                let _ = write!(out, " += (0,{up:e}) -= (0,{down:e})");
            }
            out.push('\n');
        }
        let _ = writeln!(out, "}};\n\\addlegendentry{{{}}}", tex(&trace.name));
    }
    out.push_str("\\end{axis}\n\\end{tikzpicture}\n");
}

fn draw_bars(out: &mut String, chart: &Chart, bars: &Bars, width: f64) {
    let all: Vec<_> = bars
        .groups
        .iter()
        .flat_map(|(group, of_group)| of_group.iter().map(move |bar| (group, bar)))
        .collect();
    let names: Vec<String> = all
        .iter()
        .map(|(group, bar)| format!("{{{}: {}}}", tex(group), tex(&bar.name)))
        .collect();
    let _ = write!(
        out,
        "\\begin{{tikzpicture}}\n\\begin{{axis}}[\n  xbar, bar shift=0pt, y dir=reverse, \
         width={width}bp, height={:.1}bp, xmin=0, xmax={:.4},\n  title={{{}}}, xlabel={{{} (\\%)}}, \
         ytick={{{}}}, yticklabels={{{}}},\n  tick label style={{font=\\footnotesize}}, \
         label style={{font=\\small}}, title style={{font=\\small}},\n]\n",
        60.0 + 16.0 * all.len() as f64,
        100.0 * bars.x.high,
        tex(&chart.title),
        tex(&bars.x.title),
        (0..all.len())
            .map(|i| i.to_string())
            .collect::<Vec<_>>()
            .join(","),
        names.join(","),
    );
    for (i, (_, bar)) in all.iter().enumerate() {
        let colour = bar.style.index % COLOURS.len();
        let _ = writeln!(
            out,
            "\\addplot[fill=rooftrace{colour}, draw=none] coordinates {{({:.4},{i})}} \
             node[right, font=\\footnotesize, rooftraceink] {{{}}};",
            100.0 * bar.value,
            tex(&bar.label)
        );
    }
    out.push_str("\\end{axis}\n\\end{tikzpicture}\n");
}

fn style(style: Style) -> String {
    let mark = match (style.shape(), style.hollow) {
        (Shape::Circle, false) => "*",
        (Shape::Circle, true) => "o",
        (Shape::Square, false) => "square*",
        (Shape::Square, true) => "square",
        (Shape::Up | Shape::Down, false) => "triangle*",
        (Shape::Up | Shape::Down, true) => "triangle",
        (Shape::Diamond, false) => "diamond*",
        (Shape::Diamond, true) => "diamond",
        (Shape::Star, _) => "star",
        (Shape::Hexagon, false) => "pentagon*",
        (Shape::Hexagon, true) => "pentagon",
    };
    let turn = if style.shape() == Shape::Down {
        ", rotate=180"
    } else {
        ""
    };
    let dash = if style.dashed {
        "densely dashed"
    } else {
        "solid"
    };
    format!(
        "rooftrace{}, {dash}, mark={mark}, mark options={{solid, scale=0.7{turn}}}",
        style.index % COLOURS.len()
    )
}

/// Text with the characters that mean something to LaTeX made harmless.
fn tex(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\textbackslash{}"),
            '{' | '}' | '%' | '&' | '$' | '#' | '_' => {
                out.push('\\');
                out.push(c);
            }
            '~' => out.push_str("\\textasciitilde{}"),
            '^' => out.push_str("\\textasciicircum{}"),
            '×' => out.push_str("$\\times$"),
            '·' => out.push_str("$\\cdot$"),
            'µ' => out.push_str("$\\mu$"),
            '±' => out.push_str("$\\pm$"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latex_takes_device_names_as_they_are() {
        assert_eq!(tex("A_100 & 50 % {x}"), "A\\_100 \\& 50 \\% \\{x\\}");
    }
}
