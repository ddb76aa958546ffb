//! `compare` and `verify --counters` through the command line.

use assert_cmd::Command;
use predicates::prelude::*;
use rooftrace::record::{Destination, Envelope, Format, OnExisting, Row, Status, open};
use std::path::{Path, PathBuf};

fn rooftrace() -> Command {
    Command::new(env!("CARGO_BIN_EXE_rooftrace"))
}

/// A file with one measured point.
fn file(folder: &Path, name: &str, device: &str, median: f64) -> PathBuf {
    let path = folder.join(name);
    let envelope = Envelope::new("test", Vec::new(), serde_json::Map::new());
    let destination = Destination::from_out(&path);
    let mut sink = open(&destination, Format::Csv, OnExisting::Refuse, &envelope).unwrap();
    let row = Row {
        device: device.to_owned(),
        kernel: "triad".to_owned(),
        variant: "vector".to_owned(),
        n: 1024,
        status: Status::Ok,
        converged: Some(true),
        time_median_s: Some(median),
        time_ci95_low_s: Some(0.999 * median),
        time_ci95_high_s: Some(1.001 * median),
        ..Row::default()
    };
    sink.write(&row).unwrap();
    sink.finish().unwrap();
    path
}

#[test]
fn compare_exits_with_1_on_a_regression_alone() {
    let folder = tempfile::tempdir().unwrap();
    let old = file(folder.path(), "old.csv", "card", 1e-3);
    let slower = file(folder.path(), "slower.csv", "card", 1.1e-3);
    let compare = |old: &Path, new: &Path, flags: &[&str]| {
        let mut command = rooftrace();
        command.arg("compare").arg(old).arg(new).args(flags);
        command.assert()
    };
    compare(&old, &old, &[])
        .code(0)
        .stdout(predicate::str::contains("same"));
    compare(&old, &slower, &[])
        .code(1)
        .stdout(predicate::str::contains("slower").and(predicate::str::contains("+10.0 %")))
        .stderr(predicate::str::contains("1 of 1 points regressed"));
    compare(&slower, &old, &[])
        .code(0)
        .stdout(predicate::str::contains("faster"));
    compare(&old, &slower, &["--threshold", "0.2"]).code(0);
    compare(&old, &slower, &["--threshold", "-1"])
        .code(2)
        .stderr(predicate::str::contains("--threshold"));
    compare(&old, &folder.path().join("none.csv"), &[])
        .code(2)
        .stderr(predicate::str::contains("none.csv"));
}

#[test]
fn compare_writes_csv_and_json_for_programs() {
    let folder = tempfile::tempdir().unwrap();
    let old = file(folder.path(), "old.csv", "card", 1e-3);
    let new = file(folder.path(), "new.csv", "card", 0.5e-3);
    let run = |format: &str| {
        let mut command = rooftrace();
        command
            .args(["compare", "--format", format])
            .arg(&old)
            .arg(&new);
        let output = command.assert().code(0).get_output().stdout.clone();
        String::from_utf8(output).unwrap()
    };
    let json: serde_json::Value = serde_json::from_str(&run("json")).unwrap();
    assert_eq!(json[0]["verdict"], "faster");
    assert_eq!(json[0]["time_ratio"], 0.5);
    assert_eq!(json[0]["cycles_ratio"], serde_json::Value::Null);
    let csv = run("csv");
    assert!(
        csv.starts_with("kernel,variant,m,n,k,batch,cache,"),
        "{csv}"
    );
    assert_eq!(csv.lines().count(), 2);
}

#[test]
fn compare_refuses_files_from_two_devices_unless_asked() {
    let folder = tempfile::tempdir().unwrap();
    let old = file(folder.path(), "old.csv", "card A", 1e-3);
    let new = file(folder.path(), "new.csv", "card B", 1e-3);
    let mut command = rooftrace();
    command.arg("compare").arg(&old).arg(&new);
    command.assert().code(2).stderr(
        predicate::str::contains("card A")
            .and(predicate::str::contains("card B"))
            .and(predicate::str::contains("--across-devices")),
    );
    let mut command = rooftrace();
    command
        .args(["compare", "--across-devices"])
        .arg(&old)
        .arg(&new);
    command.assert().code(0);
}

#[test]
fn counters_without_ncu_exit_with_3_and_name_it() {
    let nowhere = tempfile::tempdir().unwrap();
    rooftrace()
        .args(["verify", "--counters"])
        .env("PATH", nowhere.path())
        .assert()
        .code(3)
        .stderr(predicate::str::contains("ncu").and(predicate::str::contains("PATH")));
}

#[test]
fn the_ridge_and_both_roofs_have_intervals_in_the_json_document() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("rows.json");
    rooftrace()
        .args(["sweep", "copy", "--device", "cpu", "--sizes", "1Ki", "-v"])
        .args(["--min-time", "0.05", "--max-time", "3", "--out"])
        .arg(&out)
        .assert()
        .code(0)
        .stderr(
            predicate::str::contains("measured roofs: fma ").and(predicate::str::contains(" to ")),
        );
    let text = std::fs::read_to_string(&out).unwrap();
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    let measured = &document["environment"]["roofs"]["pipes"]["fp32"]["measured"];
    for roof in ["flop_per_s", "byte_per_s", "ridge_flop_per_byte"] {
        let figure = |name: &str| measured[roof][name].as_f64().unwrap();
        let (low, median, high) = (figure("low"), figure("median"), figure("high"));
        assert!(
            0.0 < low && low <= median && median <= high,
            "{roof}: {measured}"
        );
    }
    let schema = include_str!("../docs/schema/rooftrace-row-v1.schema.json");
    let schema: serde_json::Value = serde_json::from_str(schema).unwrap();
    assert!(jsonschema::is_valid(&schema, &document));
}
