//! Nothing is cut off, and no words cover others.

use crate::{crossing, sample};
use rooftrace::figure::chart::{Body, Line, Look, Plot};
use rooftrace::figure::levels::Level;
use rooftrace::figure::pgfplots;
use rooftrace::figure::scene::{Anchor, Ink, Item, Scene, Text};
use rooftrace::figure::{Kind, Options, font, scene};
use rooftrace::record::Row;

/// Corners of a text's box, on its base line and at the height of capitals.
fn corners(text: &Text) -> [(f64, f64); 4] {
    let length = font::width(&text.text, text.size, text.bold);
    let start = match text.anchor {
        Anchor::Start => 0.0,
        Anchor::Middle => -length / 2.0,
        Anchor::End => -length,
    };
    let (sin, cos) = text.angle.to_radians().sin_cos();
    let height = 0.7 * text.size;
    [
        (start, 0.0),
        (start + length, 0.0),
        (start + length, height),
        (start, height),
    ]
    .map(|(s, t)| (text.at.0 + s * cos + t * sin, text.at.1 + s * sin - t * cos))
}

/// Whether two convex quadrangles overlap, by the separating axis theorem.
fn overlap(a: &[(f64, f64); 4], b: &[(f64, f64); 4]) -> bool {
    let separates = |of: &[(f64, f64); 4], i: usize| {
        let (p, q) = (of[i], of[(i + 1) % 4]);
        let normal = (q.1 - p.1, p.0 - q.0);
        let range = |points: &[(f64, f64); 4]| {
            points
                .iter()
                .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), point| {
                    let s = point.0 * normal.0 + point.1 * normal.1;
                    (low.min(s), high.max(s))
                })
        };
        let (a, b) = (range(a), range(b));
        a.1 <= b.0 || b.1 <= a.0
    };
    !(0..4).any(|i| separates(a, i) || separates(b, i))
}

fn check(name: &str, drawing: &Scene) {
    let inside = |(x, y): (f64, f64)| {
        x >= -0.01 && y >= -0.01 && x <= drawing.width + 0.01 && y <= drawing.height + 0.01
    };
    let texts: Vec<&Text> = drawing.texts().collect();
    for (i, text) in texts.iter().enumerate() {
        assert!(
            text.size >= 7.0,
            "{name}: {} is set in {} pt",
            text.text,
            text.size
        );
        assert!(
            corners(text).into_iter().all(inside),
            "{name}: `{}` is cut off",
            text.text
        );
        for other in &texts[i + 1..] {
            assert!(
                !overlap(&corners(text), &corners(other)),
                "{name}: `{}` covers `{}`",
                text.text,
                other.text
            );
        }
    }
    for item in &drawing.items {
        let points = match item {
            Item::Line { points, .. } | Item::Area { points, .. } => points.clone(),
            Item::Marker(marker) => vec![marker.at],
            Item::Text(_) => Vec::new(),
        };
        assert!(
            points.into_iter().all(inside),
            "{name}: {item:?} is cut off"
        );
    }
}

fn samples() -> Vec<(&'static str, Vec<Row>)> {
    let both = [
        sample::sweep(),
        sample::on_device(&sample::sweep(), "NVIDIA H100 80GB HBM3"),
    ];
    vec![
        ("sweep", sample::sweep()),
        ("ladder", sample::ladder()),
        ("all", [sample::sweep(), sample::ladder()].concat()),
        ("many", sample::many(40)),
        ("devices", both.concat()),
        ("pipes", sample::pipes(&["fp32", "tf32", "bf16"])),
        (
            "every pipe",
            sample::pipes(&[
                "fp32",
                "fp64",
                "fp64-tensor",
                "tf32",
                "bf16",
                "fp16",
                "fp8",
                "int8",
            ]),
        ),
        ("levels", sample::levels()),
        (
            "pipes and levels",
            [sample::pipes(&["fp32", "tf32", "bf16"]), sample::levels()].concat(),
        ),
        ("one", sample::sweep()[..1].to_vec()),
        (
            "crossing",
            [crossing::SGEMM.rows(), crossing::MIXED.rows()].concat(),
        ),
    ]
}

#[test]
fn words_are_legible_whole_and_apart_at_every_width() {
    for (name, rows) in samples() {
        for kind in [
            Kind::Roofline,
            Kind::Throughput,
            Kind::Speedup,
            Kind::Ladder,
            Kind::Crossover,
        ] {
            for inches in [3.5, 5.0, 7.0] {
                let options = Options {
                    kind,
                    width: inches * 72.0,
                    across_devices: true,
                    ..Options::default()
                };
                // Not every sample has a baseline.
                if let Ok(drawing) = scene(&rows, &options) {
                    check(&format!("{name} {kind:?} {inches} in"), &drawing);
                }
            }
        }
    }
}

#[test]
fn each_pipe_has_both_its_roofs_and_one_label() {
    let rows = sample::pipes(&["fp32", "tf32", "bf16"]);
    let drawing = scene(&rows, &Options::default()).unwrap();
    let words: Vec<&str> = drawing.texts().map(|text| text.text.as_str()).collect();
    for label in [
        "FP32 66.9/60.21 TFLOP/s",
        "TF32 tensor 494.7/445.2 TFLOP/s",
        "BF16 tensor 989.4/890.5 TFLOP/s",
        "4.8/4.33 TB/s",
        // The ridge points of the datasheet.
        "13.9",
        "103",
        "206",
    ] {
        assert_eq!(
            words.iter().filter(|word| **word == label).count(),
            1,
            "{label} in {words:?}"
        );
    }
    // Level lines across the plot: a dashed and a solid roof for each pipe.
    let chart = rooftrace::figure::chart(&rows, &Options::default()).unwrap();
    let Body::Plots(plots) = chart.body else {
        panic!("a roofline is a plot");
    };
    let level = |look| {
        let lines = plots[0].lines.iter();
        lines
            .filter(|line| line.look == look && line.from.1 == line.to.1)
            .count()
    };
    assert_eq!((level(Look::Datasheet), level(Look::Measured)), (3, 3));
}

#[test]
fn roofs_of_more_pipes_than_find_a_place_are_listed_below() {
    let rows = sample::pipes(&["fp32", "fp64", "tf32", "bf16", "int8"]);
    let note = rooftrace::figure::chart(&rows, &Options::default())
        .unwrap()
        .note;
    for label in ["FP64 33.5/30.15 TFLOP/s", "INT8 tensor 1.979/1.781 POP/s"] {
        assert!(note.contains(label), "{label} in {note}");
    }
}

#[test]
fn the_l2_has_a_roof_above_that_of_the_memory() {
    let plot = |levels: Option<Vec<Level>>| {
        let options = Options {
            levels,
            ..Options::default()
        };
        let chart = rooftrace::figure::chart(&sample::levels(), &options).unwrap();
        let Body::Plots(plots) = chart.body else {
            panic!("a roofline is a plot");
        };
        plots[0].clone()
    };
    let both = plot(None);
    let line = |label: &str| {
        let found = both.lines.iter().find(|line| line.label.contains(label));
        found.unwrap_or_else(|| panic!("{label} in {:?}", both.lines))
    };
    let (l2, dram) = (line("L2 6."), line("DRAM 4.8/4.33 TB/s"));
    assert_eq!(l2.look, Look::Measured);
    // Roofs of memory rise alike; the higher one ends where the same pipe limits it, further left.
    let slope = |line: &Line| line.to.1 / line.to.0;
    assert!(slope(l2) > slope(dram));
    assert!(l2.to.0 < dram.to.0);
    let pipe = both.lines.iter().filter(|line| line.from.1 == line.to.1);
    let leftmost = pipe.map(|line| line.from.0).fold(f64::INFINITY, f64::min);
    assert!((leftmost / l2.to.0 - 1.0).abs() < 1e-9, "{leftmost}");
    // Only asked for, the memory alone.
    let dram = plot(Some(vec![Level::Dram]));
    assert!(dram.lines.iter().all(|line| !line.label.contains("L2")));
    let words = |plot: &Plot| -> Vec<String> {
        plot.traces.iter().map(|trace| trace.name.clone()).collect()
    };
    assert_eq!(words(&dram), words(&both));
    for name in ["copy vector cold", "copy vector warm"] {
        assert!(words(&both).iter().any(|word| word == name), "{name}");
    }
}

#[test]
fn labels_of_a_latex_picture_cross_neither_lines_nor_each_other() {
    const INCHES: f64 = 5.0;
    for (rows, kind) in [
        (crossing::SGEMM.rows(), Kind::Crossover),
        (crossing::MIXED.rows(), Kind::Crossover),
        (sample::levels(), Kind::Roofline),
    ] {
        let options = Options {
            kind,
            width: INCHES * 72.0,
            ..Options::default()
        };
        let chart = rooftrace::figure::chart(&rows, &options).unwrap();
        let source = pgfplots::picture(&chart, options.width);
        let number = |from: &str, start: &str, end: &str| -> f64 {
            let (_, rest) = from.split_once(start).unwrap();
            rest.split_once(end).unwrap().0.parse().unwrap()
        };
        let size = (
            number(&source, "axis, width=", "bp"),
            number(&source, "height=", "bp"),
        );
        let boxes: Vec<[(f64, f64); 4]> = source
            .lines()
            .filter(|line| line.starts_with("\\node"))
            .map(|node| {
                let (_, place) = node.split_once("axis cs:").unwrap();
                let at = (
                    number(place, "", ",") * size.0,
                    (1.0 - number(place, ",", ")")) * size.1,
                );
                let (_, words) = node.rsplit_once(" {").unwrap();
                corners(&Text {
                    at,
                    text: words.trim_end_matches("};").to_owned(),
                    size: 7.0,
                    bold: false,
                    anchor: Anchor::Start,
                    angle: -number(node, "rotate=", "]"),
                    ink: Ink::Ink,
                })
            })
            .collect();
        let Body::Plots(plots) = &chart.body else {
            panic!("a plot");
        };
        let labelled = plots[0].lines.iter().filter(|line| !line.label.is_empty());
        assert_eq!(boxes.len(), labelled.count());
        let place = |(x, y): (f64, f64)| {
            (
                plots[0].x.place(x) * size.0,
                (1.0 - plots[0].y.place(y)) * size.1,
            )
        };
        for (i, of_label) in boxes.iter().enumerate() {
            for other in &boxes[i + 1..] {
                assert!(!overlap(of_label, other), "{source}");
            }
            for line in &plots[0].lines {
                let (from, to) = (place(line.from), place(line.to));
                assert!(
                    !overlap(of_label, &[from, to, to, from]),
                    "{line:?}\n{source}"
                );
            }
        }
    }
}

#[test]
fn every_point_has_a_marker_and_every_wide_interval_a_bar() {
    let rows = sample::sweep();
    let drawing = scene(&rows, &Options::default()).unwrap();
    let markers = drawing
        .items
        .iter()
        .filter(|item| matches!(item, Item::Marker(_)))
        .count();
    // Each trace has one more in the legend; points that coincide on paper are drawn once.
    assert!(
        markers > rows.len() * 9 / 10 && markers <= rows.len() + 5,
        "{markers}"
    );
}

#[test]
fn a_fault_in_the_layout_would_be_found() {
    let mut drawing = scene(&sample::sweep(), &Options::default()).unwrap();
    let first = drawing.texts().next().unwrap().clone();
    drawing.items.push(Item::Text(first));
    let found = std::panic::catch_unwind(|| check("planted", &drawing));
    assert!(found.is_err());
}
