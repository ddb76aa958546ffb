//! `--resume` continues a file, and refuses one that is of another run.

use crate::Place;
use rooftrace::record::{Row, Status};

/// Sizes of the rows.
fn sizes(rows: &[Row]) -> Vec<u64> {
    rows.iter().map(|row| row.n).collect()
}

#[test]
fn a_file_is_continued_where_it_ends_even_in_the_middle_of_a_row() {
    for format in ["csv", "jsonl", "json"] {
        let place = Place::new();
        let file = format!("rows.{format}");
        let args = ["copy", "--sizes", "4..7:+1", "--out", &file];
        place.sweep(args).ok();
        let whole = place.rows(&file);
        let text = place.read(&file);
        // The last row is cut in two: what a power failure may leave.
        let last = text.rfind("copy").unwrap();
        place.write(&file, &text[..last + 10]);
        let ran = place.sweep(args.into_iter().chain(["--resume"])).ok();
        ran.says(&["3 points in the file already"]);
        let rows = place.rows(&file);
        assert_eq!(sizes(&rows), [4, 5, 6, 7]);
        assert_eq!(rows[..3], whole[..3], "rows were changed");
        assert_ne!(rows[3].run_id, rows[2].run_id);
        // Nothing is left to do.
        place.sweep(args.into_iter().chain(["--resume"])).ok();
        assert_eq!(place.rows(&file), rows);
    }
}

#[test]
fn more_sizes_are_added_and_none_twice() {
    let place = Place::new();
    place
        .sweep(["copy", "--sizes", "4,6", "--out", "rows.csv"])
        .ok();
    let more = [
        "copy", "--sizes", "3..8:+1", "--out", "rows.csv", "--resume",
    ];
    place
        .sweep(more)
        .ok()
        .says(&["2 points in the file already"]);
    assert_eq!(sizes(&place.rows("rows.csv")), [4, 6, 3, 5, 7, 8]);
    // Another seed, state of the cache or kernel is another point.
    place
        .sweep(more.into_iter().chain(["--seed", "2", "--cache", "warm"]))
        .ok();
    assert_eq!(place.rows("rows.csv").len(), 12);
}

#[test]
fn intensities_tell_the_points_of_mix_apart() {
    let place = Place::new();
    let args = ["mix", "--sizes", "100", "--out", "rows.csv"];
    place
        .sweep(args.into_iter().chain(["--intensity", "0,2"]))
        .ok();
    place
        .sweep(
            args.into_iter()
                .chain(["--intensity", "0.25..2:x2", "--resume"]),
        )
        .ok()
        .says(&["1 point in the file already"]);
    let rows = place.rows("rows.csv");
    let fmas: Vec<Option<u64>> = rows.iter().map(|row| row.k).collect();
    assert_eq!(fmas, [0, 8, 1, 2, 4].map(Some));
    assert!(rows.iter().all(|row| row.n == 100 && row.m.is_none()));
    // Their own intensities, written behind the elements, are the same points.
    place
        .sweep([
            "mix",
            "--sizes",
            "100@0.5,100@2",
            "--out",
            "rows.csv",
            "--resume",
        ])
        .ok()
        .says(&["2 points in the file already"]);
    assert_eq!(place.rows("rows.csv"), rows);
    // A file compared with itself has each point once.
    let compared = place
        .run(["compare", "rows.csv", "rows.csv", "--format", "json"])
        .ok();
    compared.says(&["5 same"]);
}

#[test]
fn a_file_that_does_not_exist_or_is_empty_is_begun() {
    let place = Place::new();
    place.write("empty.csv", "");
    for file in ["new.csv", "empty.csv"] {
        place
            .sweep(["copy", "--sizes", "4", "--out", file, "--resume"])
            .ok();
        assert_eq!(sizes(&place.rows(file)), [4]);
    }
}

/// A good file that is changed by `change` cannot be continued, and stays as it is.
#[track_caller]
fn not_continued(change: impl Fn(&str, &Row) -> String, parts: &[&str]) {
    let place = Place::new();
    let args = ["copy", "--sizes", "4,5", "--out", "rows.csv"];
    place.sweep(args).ok();
    let row = place.rows("rows.csv").remove(0);
    let changed = change(&place.read("rows.csv"), &row);
    place.write("rows.csv", &changed);
    place
        .sweep(args.into_iter().chain(["--resume"]))
        .refused(2, parts);
    assert_eq!(place.read("rows.csv"), changed);
    assert_eq!(place.files(), ["rows.csv"]);
}

#[test]
fn another_schema_is_refused() {
    not_continued(
        |text, _| text.replace("\n1,", "\n2,"),
        &["`rows.csv` line 2", "schema version `2`", "only 1"],
    );
}

#[test]
fn another_device_is_refused() {
    not_continued(
        |text, row| text.replace(&row.device, "NVIDIA Example"),
        &["rows.csv", "device", "`NVIDIA Example`", "--out"],
    );
}

#[test]
fn other_columns_are_refused() {
    not_continued(
        |text, _| text.replacen("run_id", "run", 1),
        &["rows.csv", "lacks the columns run_id"],
    );
    not_continued(
        |_, _| "name,age\nx,1\n".to_owned(),
        &["rows.csv", "lacks the columns"],
    );
}

#[test]
fn a_spoilt_value_is_told_with_line_and_column() {
    not_continued(
        |text, _| {
            text.replacen(",copy,", ",copy,x", 1)
                .replacen(",cold,", ",cool,", 1)
        },
        &["rows.csv", "line 2", "column `cache`"],
    );
}

#[test]
fn another_format_is_refused() {
    let place = Place::new();
    place
        .sweep(["copy", "--sizes", "4", "--out", "rows.csv"])
        .ok();
    let text = place.read("rows.csv");
    for format in ["jsonl", "json"] {
        let args = ["copy", "--sizes", "4", "--out", "rows.csv", "--resume"];
        let ran = place.sweep(args.into_iter().chain(["--format", format]));
        ran.refused(2, &["rows.csv"]);
        assert_eq!(place.read("rows.csv"), text);
    }
}

#[test]
fn a_skipped_point_keeps_its_one_row() {
    let place = Place::new();
    let args = ["copy", "--sizes", "4,1000G", "--out", "rows.csv"];
    place.sweep(args).ok();
    place.sweep(args.into_iter().chain(["--resume"])).ok();
    let rows = place.rows("rows.csv");
    assert_eq!(rows.len(), 2);
    assert_eq!(rows[1].status, Status::Skipped);
}
