//! Golden figures: the whole SVG, and its words apart, so that a change of either is seen.

use crate::{crossing, sample};
use quick_xml::Reader;
use quick_xml::events::Event;
use rooftrace::figure::{Kind, Options, scene, svg};
use rooftrace::record::Row;

fn drawn(rows: &[Row], kind: Kind, inches: f64) -> String {
    let options = Options {
        kind,
        width: inches * 72.0,
        ..Options::default()
    };
    svg::document(&scene(rows, &options).unwrap())
}

/// The words of an SVG, a line for each text element.
fn words(svg: &str) -> String {
    let mut reader = Reader::from_str(svg);
    let mut lines = Vec::new();
    let mut inside = false;
    loop {
        match reader.read_event().unwrap() {
            Event::Start(element) if element.name().as_ref() == "text" => {
                inside = true;
                lines.push(String::new());
            }
            Event::End(element) if element.name().as_ref() == "text" => inside = false,
            Event::Text(text) if inside => lines.last_mut().unwrap().push_str(&text),
            Event::Eof => break,
            _ => {}
        }
    }
    lines.join("\n")
}

fn check(name: &str, rows: &[Row], kind: Kind, inches: f64) {
    let svg = drawn(rows, kind, inches);
    insta::assert_snapshot!(format!("{name}_words"), words(&svg));
    insta::assert_snapshot!(format!("{name}_svg"), svg);
}

#[test]
fn roofline_of_a_sweep_in_a_column() {
    check("roofline", &sample::sweep(), Kind::Roofline, 3.5);
}

#[test]
fn roofline_of_a_ladder_over_two_columns() {
    check("roofline_wide", &sample::ladder(), Kind::Roofline, 7.0);
}

#[test]
fn roofline_of_two_levels_in_a_column() {
    check("levels", &sample::levels(), Kind::Roofline, 3.5);
}

#[test]
fn throughput_over_two_columns() {
    check("throughput", &sample::ladder(), Kind::Throughput, 7.0);
}

#[test]
fn speedup_in_a_column() {
    check("speedup", &sample::ladder(), Kind::Speedup, 3.5);
}

#[test]
fn ladder_in_a_column() {
    check("ladder", &sample::ladder(), Kind::Ladder, 3.5);
}

#[test]
fn crossover_over_two_columns() {
    let rows = crossing::SGEMM.rows();
    check("crossover", &rows, Kind::Crossover, 7.0);
}

#[test]
fn a_crossover_says_both_crossings_and_the_verdict() {
    let drawn = drawn(&crossing::SGEMM.rows(), Kind::Crossover, 7.0);
    let words = words(&drawn);
    for part in [
        "predicted 121",
        "observed 11",
        "asymptote 4.0",
        "asymptote 58.",
        "roof 66.4 TFLOP/s",
        "sgemm auto, batches that fill the card",
        "sgemm auto, one problem",
        "Prediction confirmed: observed over predicted is 0.9",
    ] {
        assert!(words.contains(part), "{part} is not in\n{words}");
    }
}

#[test]
fn a_roofline_says_its_roofs_ridge_and_sizes() {
    let words = words(&drawn(&sample::sweep(), Kind::Roofline, 3.5));
    for line in [
        "NVIDIA H200",
        "4.8 TB/s datasheet",
        "4.33 TB/s measured",
        "FP32 66.9 TFLOP/s datasheet",
        "FP32 61.4 TFLOP/s measured",
        "ridge 13.9 FLOP/byte",
        "Arithmetic intensity (FLOP/byte)",
        "Achieved (FLOP/s)",
        "sgemm async",
        "copy vector",
        "32",
        "64Ki",
    ] {
        assert!(
            words.lines().any(|found| found == line),
            "{line} is not in\n{words}"
        );
    }
}
