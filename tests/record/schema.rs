//! The published JSON Schema describes what the writers write.

use std::fs;

use jsonschema::Validator;
use rooftrace::record::{Format, Row};
use serde_json::{Value, json};

use crate::sample::{full_row, skipped_row, written};

const SCHEMA: &str = include_str!("../../docs/schema/rooftrace-row-v1.schema.json");

fn schema() -> Value {
    serde_json::from_str(SCHEMA).unwrap()
}

fn row_validator() -> Validator {
    let row = json!({ "$ref": "#/$defs/row", "$defs": schema()["$defs"] });
    jsonschema::validator_for(&row).unwrap()
}

#[test]
fn its_properties_are_the_columns_and_all_are_required() {
    let row = &schema()["$defs"]["row"];
    let names: Vec<&str> = row["properties"]
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    assert_eq!(names, Row::COLUMNS);
    assert_eq!(row["required"], json!(Row::COLUMNS));
}

#[test]
fn it_is_a_valid_schema() {
    assert!(jsonschema::meta::is_valid(&schema()));
}

#[test]
fn a_written_document_and_its_lines_are_valid() {
    let folder = tempfile::tempdir().unwrap();
    let rows = [full_row(), skipped_row()];
    let document = fs::read(written(folder.path(), Format::Json, &rows)).unwrap();
    let document: Value = serde_json::from_slice(&document).unwrap();
    jsonschema::validate(&schema(), &document).unwrap();
    let lines = fs::read_to_string(written(folder.path(), Format::Jsonl, &rows)).unwrap();
    for line in lines.lines() {
        row_validator()
            .validate(&serde_json::from_str(line).unwrap())
            .unwrap();
    }
}

#[test]
fn what_no_writer_writes_is_invalid() {
    let validator = row_validator();
    let good = serde_json::to_value(full_row()).unwrap();
    assert!(validator.is_valid(&good));
    for (column, value) in [
        ("schema_version", json!(2)),
        ("status", json!("good")),
        ("bound", json!("disk")),
        ("n", Value::Null),
        ("m", json!(1.5)),
        ("flops", json!(-1)),
        ("time_median_s", json!("1.0")),
        ("verified", json!(1)),
        ("note", json!("mine")),
    ] {
        let mut row = good.clone();
        row[column] = value.clone();
        assert!(!validator.is_valid(&row), "{column} = {value}");
    }
    for column in Row::COLUMNS {
        let mut row = good.clone();
        row.as_object_mut().unwrap().remove(*column);
        assert!(!validator.is_valid(&row), "without {column}");
    }
}

#[test]
fn every_optional_column_may_be_null() {
    let row = serde_json::to_value(skipped_row()).unwrap();
    for column in Row::COLUMNS {
        if row[*column].is_null() {
            let types = &schema()["$defs"]["row"]["properties"][*column];
            let listed = types["type"]
                .as_array()
                .or(types["enum"].as_array())
                .unwrap();
            let null = if types["enum"].is_array() {
                Value::Null
            } else {
                json!("null")
            };
            assert!(listed.contains(&null), "{column}");
        }
    }
}
