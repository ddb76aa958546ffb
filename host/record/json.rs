//! Rows as a JSON document and as JSON Lines.
//!
//! A document has one row a line, although JSON does not ask for it: so the
//! rows of a document that was cut short can still be told apart.

use std::path::Path;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::envelope::Envelope;
use super::error::RecordError;
use super::output::Output;
use super::read::{Table, Torn};
use super::row::{Row, SCHEMA_VERSION};
use super::write::RowSink;

/// What follows the last row of a document.
pub(super) const CLOSING: &[u8] = b"\n]\n}\n";

/// What the rows of a document follow. The line break and the two blanks keep a
/// member of the same name deeper in the envelope from passing for it.
const ROWS: &str = "\n  \"rows\": [";

pub(super) struct JsonSink {
    output: Output,
}

impl JsonSink {
    pub(super) fn new(output: Output) -> Self {
        Self { output }
    }
}

impl RowSink for JsonSink {
    fn write(&mut self, row: &Row) -> Result<(), RecordError> {
        let separator = if self.output.is_empty() { "\n" } else { ",\n" };
        let text = encode(row, self.output.path())?;
        self.output.row(format!("{separator}{text}").as_bytes())
    }

    fn finish(self: Box<Self>) -> Result<u64, RecordError> {
        self.output.finish()
    }
}

pub(super) struct JsonlSink {
    output: Output,
}

impl JsonlSink {
    pub(super) fn new(output: Output) -> Self {
        Self { output }
    }
}

impl RowSink for JsonlSink {
    fn write(&mut self, row: &Row) -> Result<(), RecordError> {
        let text = encode(row, self.output.path())?;
        self.output.row(format!("{text}\n").as_bytes())
    }

    fn finish(self: Box<Self>) -> Result<u64, RecordError> {
        self.output.finish()
    }
}

fn encode(row: &Row, path: &Path) -> Result<String, RecordError> {
    serde_json::to_string(row).map_err(|error| not_encoded(&error, path))
}

fn not_encoded(error: &serde_json::Error, path: &Path) -> RecordError {
    RecordError::Encode {
        path: path.to_path_buf(),
        message: error.to_string(),
    }
}

/// A document up to its last row, without [`CLOSING`].
pub(super) fn document(
    envelope: &Envelope,
    rows: &[Row],
    path: &Path,
) -> Result<Vec<u8>, RecordError> {
    let members = serde_json::to_string_pretty(envelope).map_err(|e| not_encoded(&e, path))?;
    // The envelope is an object with members, so that it ends in "\n}".
    let members = members.trim_end_matches(['\n', '}']);
    let mut text = format!("{members},{ROWS}");
    for (index, row) in rows.iter().enumerate() {
        text.push_str(if index == 0 { "\n" } else { ",\n" });
        text.push_str(&encode(row, path)?);
    }
    Ok(text.into_bytes())
}

/// Reads a whole document. One that was cut short gives its whole rows.
pub(super) fn parse(content: &[u8], path: &Path) -> Result<(Envelope, Table), RecordError> {
    #[derive(Deserialize)]
    struct Document<'a> {
        schema_version: Value,
        #[serde(borrow)]
        rows: Vec<&'a RawValue>,
    }

    let text = text_of(content, path)?;
    let document: Document = match serde_json::from_str(text) {
        Ok(document) => document,
        Err(error) if ends_at(&error, text) => return recover(text, &error, path),
        Err(error) => return Err(malformed(&error, 1, path)),
    };
    require_version(&document.schema_version, 1, path)?;
    let envelope = serde_json::from_str(text).map_err(|error| malformed(&error, 1, path))?;
    let mut table = Table::default();
    let (mut line, mut counted) = (1, 0);
    for raw in document.rows {
        // The raw value borrows from the text: its place there gives its line.
        let offset = raw.get().as_ptr() as usize - text.as_ptr() as usize;
        line += newlines(&text[counted..offset]);
        counted = offset;
        table.rows.push(parse_row(raw.get(), line, path)?);
    }
    Ok((envelope, table))
}

/// Whether the text is good up to its end. A number that was cut short is an
/// error of its own for the parser, at the last character.
fn ends_at(error: &serde_json::Error, text: &str) -> bool {
    let text = text.trim_end();
    let last_line = text.rsplit('\n').next().unwrap_or_default();
    let at_last_character =
        error.line() as u64 == 1 + newlines(text) && error.column() + 1 >= last_line.len();
    error.is_eof() || at_last_character
}

/// Reads what is whole of a document that ends too early. It must be laid out
/// as this module does it: of another layout no row could be told to be whole.
fn recover(
    text: &str,
    error: &serde_json::Error,
    path: &Path,
) -> Result<(Envelope, Table), RecordError> {
    let (members, _) = text
        .split_once(ROWS)
        .filter(|(_, rows)| rows.is_empty() || rows.starts_with('\n'))
        .ok_or_else(|| malformed(error, 1, path))?;
    let begun = members.len() + ROWS.len();
    let envelope: Envelope = serde_json::from_str(&format!("{}]}}", &text[..begun]))
        .map_err(|error| malformed(&error, 1, path))?;
    require_version(&envelope.schema_version.into(), 1, path)?;
    let mut table = parse_lines(
        &text[begun..],
        1 + newlines(&text[..begun]),
        begun,
        true,
        path,
    )?;
    if table.torn.is_none() {
        // It ends between two rows: only the closing is lost.
        let line = 1 + newlines(text.trim_end());
        table.torn = Some(Torn {
            line,
            offset: text.len() as u64,
        });
    }
    Ok((envelope, table))
}

/// Reads JSON Lines.
pub(super) fn parse_jsonl(content: &[u8], path: &Path) -> Result<Table, RecordError> {
    let text = text_of(content, path)?;
    let mut table = parse_lines(text, 1, 0, false, path)?;
    // Part of a character at the end was cut off before the text was read.
    if text.len() < content.len() && table.torn.is_none() {
        let line = 1 + newlines(text);
        table.torn = Some(Torn {
            line,
            offset: text.len() as u64,
        });
    }
    Ok(table)
}

/// Reads one row a line from `text`, which begins in line `line` of its file at
/// byte `offset`. The last line, and no other, may be torn. In an `array` lines
/// end in a comma, and a bracket ends the rows.
fn parse_lines(
    text: &str,
    mut line: u64,
    mut offset: usize,
    array: bool,
    path: &Path,
) -> Result<Table, RecordError> {
    let end = offset + text.trim_end().len();
    let mut table = Table::default();
    for piece in text.split_inclusive('\n') {
        let mut row = piece.trim();
        if array {
            row = row.strip_suffix(',').unwrap_or(row);
        }
        let is_last = offset + piece.len() >= end;
        match row {
            "" => {}
            "]" | "}" if array => {}
            _ => match parse_row(row, line, path) {
                Ok(row) => table.rows.push(row),
                Err(_) if is_last && (array || !piece.ends_with('\n')) => {
                    table.torn = Some(Torn {
                        line,
                        offset: offset as u64,
                    });
                    break;
                }
                Err(error) => return Err(error),
            },
        }
        offset += piece.len();
        line += 1;
    }
    Ok(table)
}

/// Reads one row from the text of a JSON object that begins in line `line`.
fn parse_row(text: &str, line: u64, path: &Path) -> Result<Row, RecordError> {
    let members: Map<String, Value> =
        serde_json::from_str(text).map_err(|error| malformed(&error, line, path))?;
    if let Some(version) = members.get("schema_version") {
        require_version(version, line, path)?;
    }
    let columns: Vec<String> = Row::COLUMNS
        .iter()
        .filter(|column| !members.contains_key(**column))
        .map(ToString::to_string)
        .collect();
    if !columns.is_empty() {
        return Err(RecordError::MissingColumns {
            path: path.to_path_buf(),
            line,
            columns,
        });
    }
    serde_path_to_error::deserialize(Value::Object(members)).map_err(|error| {
        RecordError::Malformed {
            path: path.to_path_buf(),
            line,
            place: format!("column `{}`", error.path()),
            message: error.inner().to_string(),
        }
    })
}

fn require_version(found: &Value, line: u64, path: &Path) -> Result<(), RecordError> {
    if found.as_u64() == Some(u64::from(SCHEMA_VERSION)) {
        return Ok(());
    }
    Err(RecordError::SchemaVersion {
        path: path.to_path_buf(),
        line,
        found: found.to_string(),
    })
}

/// The content as text, without a character that was cut short at its end.
fn text_of<'a>(content: &'a [u8], path: &Path) -> Result<&'a str, RecordError> {
    match std::str::from_utf8(content) {
        Ok(text) => Ok(text),
        Err(error) => {
            let (valid, _) = content.split_at(error.valid_up_to());
            let text = std::str::from_utf8(valid).unwrap_or_default();
            if error.error_len().is_none() {
                return Ok(text);
            }
            Err(RecordError::Malformed {
                path: path.to_path_buf(),
                line: 1 + newlines(text),
                place: "the whole line".to_owned(),
                message: "not UTF-8".to_owned(),
            })
        }
    }
}

fn newlines(text: &str) -> u64 {
    text.bytes().filter(|byte| *byte == b'\n').count() as u64
}

/// An error of the JSON text itself, in text that begins in line `line`.
fn malformed(error: &serde_json::Error, line: u64, path: &Path) -> RecordError {
    let message = error.to_string();
    // The position is told once, relative to the file.
    let message = message
        .rsplit_once(" at line ")
        .map_or(message.as_str(), |(what, _)| what);
    RecordError::Malformed {
        path: path.to_path_buf(),
        line: line + (error.line() as u64).saturating_sub(1),
        place: format!("character {}", error.column()),
        message: message.to_owned(),
    }
}
