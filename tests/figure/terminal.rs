//! The roofline in a terminal.

use crate::sample;
use rooftrace::figure::terminal::render;
use rooftrace::record::Row;

/// Every pipe that `fma` computes on.
const PIPES: [&str; 8] = [
    "fp32",
    "fp64",
    "fp64-tensor",
    "tf32",
    "bf16",
    "fp16",
    "fp8",
    "int8",
];

fn width(line: &str) -> usize {
    line.chars().count()
}

#[test]
fn it_fits_the_window() {
    for rows in [sample::sweep(), sample::levels(), sample::pipes(&PIPES)] {
        for (columns, lines) in [(32, 10), (40, 14), (80, 24), (120, 40), (200, 60)] {
            for unicode in [true, false] {
                let text = render(&rows, columns, lines, unicode, false);
                assert!(
                    text.lines().count() <= lines,
                    "{columns} x {lines}:\n{text}"
                );
                assert!(
                    text.lines().all(|line| width(line) <= columns),
                    "{columns} x {lines}:\n{text}"
                );
            }
        }
    }
}

#[test]
fn it_shows_roofs_points_and_a_legend() {
    let text = render(&sample::sweep(), 100, 30, true, false);
    insta::assert_snapshot!("terminal", text);
    assert!(
        text.contains("ridge 13.9 FLOP/byte") && text.contains("● copy vector"),
        "{text}"
    );
    assert!(
        text.chars().any(|c| ('\u{2801}'..='\u{28ff}').contains(&c)),
        "{text}"
    );
}

#[test]
fn ascii_is_ascii() {
    let text = render(&sample::ladder(), 80, 24, false, false);
    insta::assert_snapshot!("terminal_ascii", text);
    assert!(text.is_ascii(), "{text}");
    assert!(text.contains('/') && text.contains('='), "{text}");
}

#[test]
fn colour_only_where_it_is_wanted() {
    assert!(render(&sample::sweep(), 80, 24, true, true).contains("\u{1b}[38;5;"));
    assert!(!render(&sample::sweep(), 80, 24, true, false).contains('\u{1b}'));
}

#[test]
fn rows_without_a_measurement_give_nothing() {
    assert_eq!(render(&[], 80, 24, true, false), "");
    assert_eq!(render(&[Row::default()], 80, 24, true, false), "");
}

#[test]
fn each_pipe_has_a_named_roof_and_an_entry() {
    let text = render(&sample::pipes(&PIPES), 100, 36, true, false);
    insta::assert_snapshot!("terminal_pipes", text);
    let (picture, below) = text.split_once('└').unwrap();
    for (name, entry) in [
        ("FP32", "FP32 66.9/60.21 TFLOP/s, ridge 13.9"),
        ("FP64", "FP64 33.5/30.15 TFLOP/s, ridge 6.98"),
        ("TF32 tensor", "TF32 tensor 494.7/445.2 TFLOP/s, ridge 103"),
        ("INT8 tensor", "INT8 tensor 1.979/1.781 POP/s, ridge 412"),
    ] {
        assert!(picture.contains(name), "{name} in\n{picture}");
        assert!(below.contains(entry), "{entry} in\n{below}");
    }
}

#[test]
fn a_small_window_counts_what_it_leaves_out() {
    let text = render(&sample::pipes(&PIPES), 40, 14, false, false);
    assert!(text.is_ascii() && text.contains("more"), "{text}");
    assert!(text.contains("TF32 tensor"), "{text}");
}

#[test]
fn both_levels_are_named() {
    let text = render(&sample::levels(), 80, 24, true, false);
    insta::assert_snapshot!("terminal_levels", text);
    assert!(
        text.contains("DRAM 4.8/4.33 TB/s") && text.contains("L2 6."),
        "{text}"
    );
}
