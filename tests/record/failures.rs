//! Each failure names the file, the place, and the way out; none loses data.

use std::fs;
use std::path::Path;

use rooftrace::record::{Destination, Format, OnExisting, RecordError, Row, read_bytes, read_file};

use crate::sample::{full_row, opened, skipped_row, written};

fn refusal(path: &Path, on_existing: OnExisting) -> RecordError {
    opened(path, Format::Csv, on_existing)
        .err()
        .expect("a refusal")
}

#[test]
fn an_existing_file_is_kept_unless_replacing_it_was_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path(), Format::Csv, &[full_row()]);
    let before = fs::read(&path).unwrap();
    let message = refusal(&path, OnExisting::Refuse).to_string();
    assert!(
        message.contains("--resume") && message.contains("--force"),
        "{message}"
    );
    assert_eq!(fs::read(&path).unwrap(), before);
    opened(&path, Format::Csv, OnExisting::Replace)
        .unwrap()
        .finish()
        .unwrap();
    assert!(read_file(&path).unwrap().rows.is_empty());
}

#[test]
fn a_folder_or_a_missing_folder_is_refused_and_nothing_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let error = refusal(folder.path(), OnExisting::Replace);
    assert!(matches!(error, RecordError::Directory { .. }), "{error}");
    let error = refusal(&folder.path().join("no/rows.csv"), OnExisting::Refuse);
    assert!(matches!(error, RecordError::NoParent { .. }), "{error}");
    assert!(error.to_string().contains("no`"), "{error}");
    let error = refusal(&folder.path().join("no/rows.csv"), OnExisting::Append);
    assert!(matches!(error, RecordError::NoParent { .. }), "{error}");
    let early = Destination::from_out(folder.path().join("no/rows.csv"));
    let error = early.check(OnExisting::Replace).unwrap_err();
    assert!(matches!(error, RecordError::NoParent { .. }), "{error}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn no_temporary_file_stays_behind() {
    let folder = tempfile::tempdir().unwrap();
    written(folder.path(), Format::Json, &[full_row()]);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn one_file_has_one_writer() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.csv");
    let first = opened(&path, Format::Csv, OnExisting::Refuse).unwrap();
    let error = refusal(&path, OnExisting::Append);
    assert!(matches!(error, RecordError::InUse { .. }), "{error}");
    drop(first);
    opened(&path, Format::Csv, OnExisting::Append).unwrap();
}

#[cfg(unix)]
#[test]
fn results_are_as_readable_as_any_new_file() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let plain = folder.path().join("plain");
    fs::write(&plain, "").unwrap();
    let path = written(folder.path(), Format::Csv, &[]);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
    assert_eq!(mode(&path), mode(&plain));
}

#[cfg(unix)]
#[test]
fn a_symbolic_link_stays_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path(), Format::Csv, &[]);
    let link = folder.path().join("link.csv");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    let mut sink = opened(&link, Format::Csv, OnExisting::Replace).unwrap();
    sink.write(&full_row()).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(read_file(&path).unwrap().rows.len(), 1);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_device_is_named() {
    let error = refusal(Path::new("/dev/full"), OnExisting::Refuse);
    assert!(
        matches!(error, RecordError::Write { rows: 0, .. }),
        "{error}"
    );
    assert!(error.to_string().contains("/dev/full"), "{error}");
    let error = refusal(Path::new("/dev/full"), OnExisting::Append);
    assert!(matches!(error, RecordError::NotResumable { .. }), "{error}");
    let mut sink = opened(Path::new("/dev/null"), Format::Json, OnExisting::Refuse).unwrap();
    sink.write(&full_row()).unwrap();
    assert_eq!(sink.finish().unwrap(), 1);
}

#[test]
fn the_default_file_is_named_after_kernel_device_and_time() {
    let destination = Destination::default_for(
        "sgemm",
        "Example GPU (80 GB)/SXM",
        "20260131T120000Z",
        Format::Csv,
    );
    let expected = "results/local/sgemm-example-gpu-80-gb-sxm-20260131t120000z.csv";
    assert_eq!(destination.path(), Path::new(expected));
    assert!(
        destination.check(OnExisting::Refuse).is_ok(),
        "the default folder can be made"
    );
    assert_eq!(Destination::from_out("-"), Destination::Stdout);
}

/// The error of reading `content`, which must hold each of `parts`.
fn unreadable(content: &str, format: Format, parts: &[&str]) {
    let error = read_bytes(content.as_bytes(), "rows.txt".as_ref(), Some(format))
        .expect_err("this cannot be read");
    let message = error.to_string();
    for part in ["rows.txt"].iter().chain(parts) {
        assert!(message.contains(part), "no `{part}` in: {message}");
    }
}

/// A good CSV of two rows with one field of the second row replaced.
fn csv_with(column: &str, value: &str) -> String {
    let at = Row::COLUMNS
        .iter()
        .position(|name| *name == column)
        .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path(), Format::Csv, &[skipped_row(), skipped_row()]);
    let text = fs::read_to_string(path).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    // The device is the only field with a comma.
    let row = lines[2].replace("\"Example GPU, 80 GB\"", "GPU");
    let mut fields: Vec<&str> = row.split(',').collect();
    fields[at] = value;
    format!("{}\n{}\n{}\n", lines[0], lines[1], fields.join(","))
}

#[test]
fn csv_errors_name_line_and_column() {
    for (column, value) in [
        ("n", "1e3"),
        ("n", ""),
        ("m", "-1"),
        ("time_median_s", "fast"),
        ("time_median_s", "NaN"),
        ("error", "inf"),
        ("converged", "yes"),
        ("status", "good"),
        ("cache", "Cold"),
        ("bound", "disk"),
    ] {
        let place = format!("column `{column}`");
        let text = csv_with(column, value);
        unreadable(&text, Format::Csv, &["line 3", &place]);
        unreadable(
            &text.replace('\n', "\r\n"),
            Format::Csv,
            &["line 3", &place],
        );
        unreadable(
            &text.replace('\n', "\n\n"),
            Format::Csv,
            &["line 5", &place],
        );
    }
    assert!(read_bytes(csv_with("m", "").as_bytes(), "x".as_ref(), None).is_ok());
}

#[test]
fn another_schema_version_is_told_before_its_other_columns() {
    unreadable(
        &csv_with("schema_version", "2"),
        Format::Csv,
        &["line 3", "`2`"],
    );
    unreadable(
        "schema_version,new\n2,x\n",
        Format::Csv,
        &["line 2", "`2`", "version"],
    );
    unreadable(
        "{\"schema_version\":2}\n",
        Format::Jsonl,
        &["line 1", "`2`", "version"],
    );
    unreadable(
        "{\"schema_version\":\"1\",\"rows\":[]}",
        Format::Json,
        &["`\"1\"`"],
    );
}

#[test]
fn a_file_without_the_columns_says_which_it_lacks() {
    let missing = ["line 1", "lacks", "run_id", "speedup"];
    unreadable("a,b\n1,2\n", Format::Csv, &missing);
    unreadable("{\"schema_version\":1}\n", Format::Jsonl, &missing);
    let header = Row::COLUMNS.join(",");
    let one_short = header.replace(",seed", "");
    unreadable(
        &format!("{one_short}\n"),
        Format::Csv,
        &["lacks the columns seed:"],
    );
    unreadable(
        &format!("{header},seed\n"),
        Format::Csv,
        &["`seed`", "twice"],
    );
}

#[test]
fn a_row_of_another_length_is_refused_in_the_middle_of_a_file() {
    let good = csv_with("m", "");
    let lines: Vec<&str> = good.lines().collect();
    let text = format!("{}\n1,2\n{}\n", lines[0], lines[1]);
    unreadable(&text, Format::Csv, &["line 2", "2 fields", "66"]);
}

#[test]
fn text_that_is_no_rows_at_all_is_refused() {
    for format in Format::ALL {
        unreadable("", format, &["empty"]);
        unreadable("\n  \n", format, &["empty"]);
    }
    unreadable("hello\n", Format::Json, &["line 1"]);
    unreadable("{\"schema_version\":1}", Format::Json, &["rows"]);
    unreadable("[1,\n2}\n", Format::Json, &["line"]);
    let latin1 = [Row::COLUMNS.join(",").as_bytes(), b"\n\xe9"].concat();
    assert_eq!(
        read_bytes(&latin1, "x".as_ref(), None)
            .unwrap()
            .torn
            .unwrap()
            .line,
        2
    );
}

#[test]
fn json_errors_name_line_and_column() {
    let folder = tempfile::tempdir().unwrap();
    let rows = [skipped_row(), skipped_row(), skipped_row()];
    for (format, line) in [(Format::Json, 19), (Format::Jsonl, 2)] {
        let text = fs::read_to_string(written(folder.path(), format, &rows)).unwrap();
        let second = text.match_indices("\"cache\":\"cold\"").nth(1).unwrap().0;
        for (value, place) in [
            ("\"cache\":\"hot\"", "column `cache`"),
            ("\"cache\":cold", "character"),
            ("\"cash\":\"cold\"", "lacks the columns cache:"),
        ] {
            let mut changed = text.clone();
            changed.replace_range(second..second + "\"cache\":\"cold\"".len(), value);
            unreadable(&changed, format, &[&format!("line {line}"), place]);
        }
    }
}
