//! What is written is read back, and looks as it is documented to look.

use std::fs;

use proptest::prelude::*;
use rooftrace::record::{Format, OnExisting, Row, read_bytes, read_file};

use crate::sample::{any_row, envelope, full_row, opened, row_of_size, skipped_row, written};

#[test]
fn each_format_looks_as_documented() {
    let folder = tempfile::tempdir().unwrap();
    for format in Format::ALL {
        let path = written(folder.path(), format, &[full_row(), skipped_row()]);
        insta::assert_snapshot!(format.name(), fs::read_to_string(path).unwrap());
    }
}

#[test]
fn the_csv_header_is_the_columns() {
    let folder = tempfile::tempdir().unwrap();
    let text = fs::read_to_string(written(folder.path(), Format::Csv, &[])).unwrap();
    assert_eq!(text, format!("{}\n", Row::COLUMNS.join(",")));
}

#[test]
fn every_format_gives_the_rows_back() {
    let folder = tempfile::tempdir().unwrap();
    let rows = [full_row(), skipped_row(), row_of_size(5)];
    for format in Format::ALL {
        let table = read_file(&written(folder.path(), format, &rows)).unwrap();
        assert_eq!(table.rows, rows, "{format}");
        assert_eq!(table.torn, None, "{format}");
        assert_eq!(
            table.envelope,
            (format == Format::Json).then(envelope),
            "{format}"
        );
    }
}

#[test]
fn a_number_that_is_not_finite_reads_back_as_unknown() {
    let folder = tempfile::tempdir().unwrap();
    let row = Row {
        error: Some(f64::INFINITY),
        speedup: Some(f64::NAN),
        ..full_row()
    };
    let unknown = Row {
        error: None,
        speedup: None,
        ..full_row()
    };
    for format in Format::ALL {
        let path = written(folder.path(), format, std::slice::from_ref(&row));
        assert_eq!(
            read_file(&path).unwrap().rows,
            std::slice::from_ref(&unknown),
            "{format}"
        );
    }
}

#[test]
fn the_content_decides_where_the_name_does_not() {
    let folder = tempfile::tempdir().unwrap();
    for rows in [vec![full_row()], vec![full_row(), skipped_row()]] {
        for format in Format::ALL {
            let content = fs::read(written(folder.path(), format, &rows)).unwrap();
            let table = read_bytes(&content, "rows.txt".as_ref(), None).unwrap();
            assert_eq!(table.rows, rows, "{format}");
        }
    }
}

#[test]
fn a_document_is_valid_json_after_every_row() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.json");
    let mut sink = opened(&path, Format::Json, OnExisting::Refuse).unwrap();
    for count in 0..4 {
        let document: serde_json::Value =
            serde_json::from_slice(&fs::read(&path).unwrap()).expect("valid JSON");
        assert_eq!(document["rows"].as_array().unwrap().len(), count);
        sink.write(&row_of_size(count as u64 + 1)).unwrap();
    }
}

#[test]
fn a_file_that_went_through_a_spreadsheet_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let text = fs::read_to_string(written(folder.path(), Format::Csv, &[skipped_row()])).unwrap();
    // A byte order mark, carriage returns, another order and a further column.
    let mut lines = text.lines();
    let header = lines.next().unwrap();
    let row = lines.next().unwrap();
    let changed = format!("\u{feff}note,{header}\r\nmine,{row}\r\n");
    let read = |text: &str| read_bytes(text.as_bytes(), "rows.csv".as_ref(), None).unwrap();
    let table = read(&changed);
    assert_eq!((table.rows, table.torn), (vec![skipped_row()], None));
    // The mark counts as bytes of the file.
    let torn = read(&format!("{changed}mine,{row}")).torn.unwrap();
    assert_eq!((torn.line, torn.offset), (3, changed.len() as u64));
}

#[test]
fn a_document_may_be_laid_out_in_any_way() {
    let folder = tempfile::tempdir().unwrap();
    let rows = [full_row(), skipped_row()];
    let path = written(folder.path(), Format::Json, &rows);
    let document: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    for text in [
        document.to_string(),
        serde_json::to_string_pretty(&document).unwrap(),
    ] {
        fs::write(&path, text).unwrap();
        assert_eq!(read_file(&path).unwrap().rows, rows);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn any_rows_survive_every_format(rows in prop::collection::vec(any_row(), 1..4)) {
        let folder = tempfile::tempdir().unwrap();
        for format in Format::ALL {
            let table = read_file(&written(folder.path(), format, &rows)).unwrap();
            prop_assert_eq!(&table.rows, &rows, "{}", format);
            prop_assert_eq!(table.torn, None);
        }
    }

    #[test]
    fn no_content_panics(content in any::<Vec<u8>>()) {
        for format in Format::ALL {
            let _ = read_bytes(&content, "rows".as_ref(), Some(format));
        }
    }
}
