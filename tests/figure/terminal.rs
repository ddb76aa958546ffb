//! The roofline in a terminal.

use crate::sample;
use rooftrace::figure::terminal::render;
use rooftrace::record::Row;

fn width(line: &str) -> usize {
    line.chars().count()
}

#[test]
fn it_fits_the_window() {
    let rows = sample::sweep();
    for (columns, lines) in [(40, 16), (80, 24), (120, 40), (200, 60)] {
        let text = render(&rows, columns, lines, true, false);
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
