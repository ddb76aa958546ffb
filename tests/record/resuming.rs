//! Continuing a file, whole or cut short at any byte.

use std::fs;

use rooftrace::record::{
    Cache, Data, Format, Identity, OnExisting, RecordError, Row, read_bytes, read_file, resume,
};

use crate::sample::{envelope, full_row, opened, row_of_size, skipped_row, written};

fn identity() -> Identity {
    Identity {
        device: full_row().device,
        ptx_sha256: full_row().ptx_sha256,
    }
}

#[test]
fn a_file_cut_at_any_byte_keeps_its_whole_rows_and_can_be_continued() {
    let folder = tempfile::tempdir().unwrap();
    let rows = [row_of_size(1), row_of_size(2)];
    for format in Format::ALL {
        let path = written(folder.path(), format, &rows);
        let whole = fs::read(&path).unwrap();
        let begun = fs::read(written(folder.path(), format, &[])).unwrap().len();
        let one = fs::read(written(folder.path(), format, &rows[..1]))
            .unwrap()
            .len();
        // Every tenth byte, and all of them around the ends of rows.
        let cuts = (begun.max(1)..whole.len())
            .filter(|cut| cut % 10 == 0 || one.abs_diff(*cut) < 12 || whole.len() - cut < 12);
        for cut in cuts {
            fs::write(&path, &whole[..cut]).unwrap();
            let kept = read_file(&path).unwrap().rows;
            assert!(
                kept.iter().zip(&rows).all(|(kept, row)| kept == row),
                "{format} cut at {cut}"
            );
            assert!(
                cut < one || !kept.is_empty(),
                "{format} cut at {cut} loses a whole row"
            );

            let mut sink = opened(&path, format, OnExisting::Append).unwrap();
            sink.write(&row_of_size(9)).unwrap();
            assert_eq!(sink.finish().unwrap(), 1);
            let table = read_file(&path).unwrap();
            let expected: Vec<Row> = kept.into_iter().chain([row_of_size(9)]).collect();
            assert_eq!(table.rows, expected, "{format} cut at {cut}");
            assert_eq!(table.torn, None, "{format} cut at {cut}");
        }
    }
}

#[test]
fn a_torn_row_is_reported_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    for (format, line) in [(Format::Csv, 2), (Format::Jsonl, 1)] {
        let path = written(folder.path(), format, &[skipped_row()]);
        let whole = fs::read(&path).unwrap();
        let begun = fs::read(written(folder.path(), format, &[])).unwrap().len();
        let table = read_bytes(&whole[..whole.len() - 4], &path, Some(format)).unwrap();
        let torn = table.torn.expect("a torn row");
        assert_eq!((torn.line, torn.offset), (line, begun as u64), "{format}");
        assert!(table.rows.is_empty(), "{format}");
    }
}

#[test]
fn a_last_number_that_lost_its_end_is_not_trusted() {
    let folder = tempfile::tempdir().unwrap();
    let row = Row {
        speedup: Some(1.25),
        ..skipped_row()
    };
    let path = written(folder.path(), Format::Csv, &[row]);
    let text = fs::read_to_string(&path).unwrap();
    // `1.25` cut to `1.2`: still 66 well-formed fields.
    let cut = text.strip_suffix("5\n").expect("the speedup ends the line");
    let table = read_bytes(cut.as_bytes(), &path, None).unwrap();
    assert!(table.rows.is_empty() && table.torn.is_some());
}

#[test]
fn blanks_after_the_last_row_do_not_cost_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path(), Format::Csv, &[full_row()]);
    let text = fs::read_to_string(&path).unwrap();
    for (after, torn) in [("", false), ("\n\n", false), ("\r\n", false), ("  ", true)] {
        let table = read_bytes(format!("{text}{after}").as_bytes(), &path, None).unwrap();
        assert_eq!(
            (table.rows.len(), table.torn.is_some()),
            (1, torn),
            "{after:?}"
        );
    }
}

#[test]
fn finished_points_are_known_by_what_was_chosen_not_by_what_was_measured() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path(), Format::Csv, &[full_row()]);
    let found = resume(&path, Format::Csv, &identity()).unwrap();
    let same = Row {
        time_median_s: None,
        run_id: "other".to_owned(),
        ..full_row()
    };
    assert!(found.has(&same));
    for other in [
        Row {
            kernel: "copy".to_owned(),
            ..full_row()
        },
        Row {
            variant: "naive".to_owned(),
            ..full_row()
        },
        Row {
            pipe: None,
            ..full_row()
        },
        Row {
            storage: Some("bf16".to_owned()),
            ..full_row()
        },
        Row {
            out_type: None,
            ..full_row()
        },
        Row {
            beta: Some(0.0),
            ..full_row()
        },
        Row {
            m: Some(1),
            ..full_row()
        },
        Row { n: 1, ..full_row() },
        Row {
            k: None,
            ..full_row()
        },
        Row {
            batch: 1,
            ..full_row()
        },
        Row {
            cache: Cache::Cold,
            ..full_row()
        },
        Row {
            data: Data::Zeros,
            ..full_row()
        },
        Row {
            seed: 1,
            ..full_row()
        },
    ] {
        assert!(!found.has(&other), "{other:?}");
    }
}

#[test]
fn rows_of_another_device_or_ptx_are_not_continued() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path(), Format::Json, &[full_row()]);
    for (other, what, values) in [
        (
            Identity {
                device: "CPU".to_owned(),
                ..identity()
            },
            "device",
            ["Example GPU", "`CPU`"],
        ),
        (
            Identity {
                ptx_sha256: Some("77".to_owned()),
                ..identity()
            },
            "ptx_sha256",
            ["00ff", "77"],
        ),
        (
            Identity {
                ptx_sha256: None,
                ..identity()
            },
            "ptx_sha256",
            ["00ff", "none"],
        ),
    ] {
        let error = resume(&path, Format::Json, &other).unwrap_err();
        let message = error.to_string();
        assert!(matches!(error, RecordError::OtherRun { .. }), "{message}");
        for part in values.iter().chain([&what, &"--out"]) {
            assert!(message.contains(part), "no `{part}` in: {message}");
        }
    }
}

#[test]
fn there_is_nothing_to_skip_in_a_file_that_is_missing_or_empty() {
    let folder = tempfile::tempdir().unwrap();
    for format in Format::ALL {
        let path = folder.path().join(format!("new.{format}"));
        assert!(
            resume(&path, format, &identity())
                .unwrap()
                .finished
                .is_empty()
        );
        fs::write(&path, "").unwrap();
        assert!(
            resume(&path, format, &identity())
                .unwrap()
                .finished
                .is_empty()
        );
        opened(&path, format, OnExisting::Append)
            .unwrap()
            .write(&full_row())
            .unwrap();
        assert_eq!(read_file(&path).unwrap().rows, [full_row()]);
    }
}

#[test]
fn a_csv_with_other_columns_is_read_but_not_continued() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path(), Format::Csv, &[]);
    fs::write(&path, format!("{},note\n", Row::COLUMNS.join(","))).unwrap();
    assert!(read_file(&path).is_ok());
    let error = opened(&path, Format::Csv, OnExisting::Append)
        .err()
        .unwrap();
    assert!(matches!(error, RecordError::OtherColumns { .. }), "{error}");
}

#[test]
fn a_file_that_cannot_be_read_is_not_touched_by_continuing_it() {
    let folder = tempfile::tempdir().unwrap();
    for format in Format::ALL {
        let path = folder.path().join(format!("notes.{format}"));
        fs::write(&path, "my notes\nof the day\n").unwrap();
        assert!(
            opened(&path, format, OnExisting::Append).is_err(),
            "{format}"
        );
        assert_eq!(fs::read_to_string(&path).unwrap(), "my notes\nof the day\n");
    }
}

#[test]
fn a_line_without_its_end_gets_one_before_the_next() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path(), Format::Jsonl, &[row_of_size(1)]);
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.trim_end()).unwrap();
    opened(&path, Format::Jsonl, OnExisting::Append)
        .unwrap()
        .write(&row_of_size(2))
        .unwrap();
    assert_eq!(
        read_file(&path).unwrap().rows,
        [row_of_size(1), row_of_size(2)]
    );
}

#[test]
fn a_continued_document_keeps_its_envelope_whatever_its_layout() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path(), Format::Json, &[row_of_size(1)]);
    let document: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    fs::write(&path, document.to_string()).unwrap();
    let mut sink = opened(&path, Format::Json, OnExisting::Append).unwrap();
    sink.write(&row_of_size(2)).unwrap();
    let table = read_file(&path).unwrap();
    assert_eq!(table.rows, [row_of_size(1), row_of_size(2)]);
    assert_eq!(table.envelope, Some(envelope()));
}

#[test]
fn a_document_of_another_layout_that_was_cut_short_is_refused_not_emptied() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(
        folder.path(),
        Format::Json,
        &[row_of_size(1), row_of_size(2)],
    );
    let document: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let all_rows_in_one_line = fs::read_to_string(&path)
        .unwrap()
        .replace("[\n{", "[{")
        .replace("},\n{", "},{");
    for text in [
        all_rows_in_one_line,
        document.to_string(),
        document.to_string().replace("\"rows\":[", "\"rows\": ["),
        serde_json::to_string_pretty(&document).unwrap(),
    ] {
        for kept in [text.trim_end().len() - 1, text.len() * 3 / 4] {
            fs::write(&path, &text[..kept]).unwrap();
            let error = opened(&path, Format::Json, OnExisting::Append).err();
            assert!(
                matches!(error, Some(RecordError::Malformed { .. })),
                "{error:?}: {kept} of {text}"
            );
            assert_eq!(fs::read_to_string(&path).unwrap(), text[..kept]);
        }
    }
}
