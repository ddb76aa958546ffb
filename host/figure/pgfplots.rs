//! A chart as a LaTeX picture, for the package pgfplots.

use std::fmt::Write as _;

use super::axis::{Axis, Scale};
use super::chart::{Bars, Body, Chart, Look, Plot};
use super::palette::{COLOURS, Shape, Style};
use super::plot;
use super::scene::Ink;

/// How much wider than in the typeface of the program a text may be set: LaTeX takes the document's
/// font, whose widths are not known here. Computer Modern is up to a fifth wider.
const WIDER: f64 = 1.2;

/// A chart as a `tikzpicture` of `width` points for `\input`. The preamble needs
/// `\usepackage{pgfplots}`; text is set in the document's own font.
#[must_use]
pub fn picture(chart: &Chart, width: f64) -> String {
    let mut out = String::from("% Needs \\usepackage{pgfplots} and \\pgfplotsset{compat=1.18}.\n");
    for text in [&chart.subtitle, &chart.note] {
        // What a caption should say. A line break would end the comment.
        let _ = writeln!(out, "% {}", text.replace(['\n', '\r'], " "));
    }
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
    /// What ticks, axis title and heading take beside the axes, in points.
    const BESIDE: f64 = 45.0;
    let (inner, height) = (width - BESIDE, width * 0.8 - BESIDE);
    let _ = write!(
        out,
        "\\begin{{tikzpicture}}\n\\begin{{axis}}[\n  scale only axis, width={inner:.1}bp, \
         height={height:.1}bp,\n  xmode={}, ymode={},\n  xmin={:e}, xmax={:e}, ymin={:e}, ymax={:e},\n  \
         title={{{}}}, xlabel={{{}}}, ylabel={{{}}},\n  title style={{font=\\small}}, \
         tick label style={{font=\\footnotesize}}, label style={{font=\\small}},\n  \
         legend style={{font=\\footnotesize, at={{(0.5,0)}}, yshift=-36bp, anchor=north, draw=none, \
         legend columns=2}}, legend cell align=left,\n",
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
        let _ = writeln!(
            out,
            "\\addplot[rooftraceink, {look}, forget plot] coordinates {{({:e},{:e}) ({:e},{:e})}};",
            line.from.0, line.from.1, line.to.0, line.to.1,
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
            "\\addplot+[{}{}, error bars/.cd, y dir=both, y explicit] coordinates {{",
            if trace.joined { "" } else { "only marks, " },
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
    let spots = plot::label_spots(plot, (inner, height), WIDER);
    for (line, spot) in plot.lines.iter().zip(spots) {
        let Some(spot) = spot else { continue };
        let _ = writeln!(
            out,
            "\\node[rooftraceink, font=\\scriptsize, anchor=base west, inner sep=0pt, rotate={:.2}] \
             at (rel axis cs:{:.4},{:.4}) {{{}}};",
            -spot.angle,
            spot.at.0 / inner,
            1.0 - spot.at.1 / height,
            tex(&line.label)
        );
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
    use crate::figure::{self, Kind, Options};
    use crate::record::{Row, Status};

    #[test]
    fn latex_takes_device_names_as_they_are() {
        assert_eq!(tex("A_100 & 50 % {x}"), "A\\_100 \\& 50 \\% \\{x\\}");
    }

    /// Every brace closes one that is open, every environment the last one begun, and a sign that
    /// means something to LaTeX is escaped wherever text is set.
    fn check(source: &str) {
        let mut depth = 0i32;
        let mut environments = Vec::new();
        let code = source.lines().filter(|line| !line.starts_with('%'));
        for line in code {
            let mut before = ' ';
            for c in line.chars() {
                match c {
                    '{' if before != '\\' => depth += 1,
                    '}' if before != '\\' => depth -= 1,
                    '%' | '&' | '#' | '_' | '~' => {
                        assert_eq!(before, '\\', "`{c}` is not escaped in {line}");
                    }
                    _ => {}
                }
                assert!(depth >= 0, "a brace too many in {line}");
                before = if (before, c) == ('\\', '\\') { ' ' } else { c };
            }
            if let Some(name) = line.strip_prefix("\\begin{") {
                environments.push(name.split('}').next().unwrap_or_default());
            }
            if let Some(name) = line.strip_prefix("\\end{") {
                assert_eq!(environments.pop(), name.strip_suffix('}'), "{line}");
            }
        }
        assert_eq!((depth, environments.len()), (0, 0), "{source}");
    }

    /// Rows of a kernel and a device whose names have every sign that means something.
    fn rows() -> Vec<Row> {
        let row = |variant: &str, n: u64, pipe: &str| Row {
            device: "A_100 & 50 % #1 {x} ~^\\ $".to_owned(),
            kernel: "gemm_#1".to_owned(),
            variant: variant.to_owned(),
            pipe: Some(pipe.to_owned()),
            m: Some(n),
            n,
            k: Some(n),
            batch: 1,
            flops: Some(2 * n * n * n),
            intensity_flop_per_byte: Some(n as f64 / 8.0),
            time_median_s: Some(1e-3),
            flop_per_s: Some(2e12),
            byte_per_s: Some(1e11),
            peak_flop_per_s: Some(if pipe == "bf16" { 9.9e14 } else { 6.7e13 }),
            peak_byte_per_s: Some(4.8e12),
            measured_peak_flop_per_s: Some(6.6e13),
            measured_peak_byte_per_s: Some(4.4e12),
            fraction_of_roof: Some(0.5),
            verified: Some(true),
            status: Status::Ok,
            ..Row::default()
        };
        vec![
            row("50%_of", 256, "fp32"),
            row("50%_of", 512, "fp32"),
            row("{a&b}", 256, "bf16"),
            row("{a&b}", 512, "bf16"),
        ]
    }

    #[test]
    fn every_kind_is_sound_latex_whatever_things_are_called() {
        for kind in [Kind::Roofline, Kind::Throughput, Kind::Ladder] {
            let options = Options {
                kind,
                ..Options::default()
            };
            let chart = figure::chart(&rows(), &options).unwrap();
            let source = picture(&chart, options.width);
            assert!(source.contains("A\\_100 \\& 50 \\% \\#1"), "{source}");
            check(&source);
        }
    }

    #[test]
    fn the_check_finds_faults() {
        for fault in [
            "{",
            "}",
            "a_b",
            "\\\\% x",
            "\\begin{axis}",
            "\\begin{a}\n\\end{b}",
        ] {
            let found = std::panic::catch_unwind(|| check(fault));
            assert!(found.is_err(), "{fault}");
        }
    }
}
