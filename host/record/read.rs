//! Reading rows back, from any of the formats.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::envelope::Envelope;
use super::error::RecordError;
use super::format::Format;
use super::row::Row;
use super::{csv, json};

/// The rows of a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// The rows, in the order of the file.
    pub rows: Vec<Row>,
    /// What a JSON document says about its run; `None` for other formats.
    pub envelope: Option<Envelope>,
    /// Where the file was cut short, if it was; the rows before are whole. A
    /// reader should tell its user.
    pub torn: Option<Torn>,
}

/// The incomplete end of a file whose writer was killed or out of space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Torn {
    /// Line of the incomplete row, counted from 1.
    pub line: u64,
    /// Where it begins: number of bytes before it.
    pub offset: u64,
}

/// Reads a file, in the format of its extension or, where that is none of
/// them, of its content.
///
/// Columns that are not of the schema are ignored, and their order is free, so
/// that a file which went through a spreadsheet can be read. Missing columns
/// and other schema versions are errors.
///
/// # Errors
/// [`RecordError`] names the file, the line and the column.
pub fn read_file(path: &Path) -> Result<Table, RecordError> {
    let mut file = File::open(path).map_err(|source| RecordError::Unreadable {
        path: path.to_path_buf(),
        source,
    })?;
    let content = read_all(&mut file, path)?;
    read_bytes(&content, path, Format::of_path(path))
}

/// Reads the content of a file named `path`, which is used in errors only.
/// Without a format, the content decides.
///
/// # Errors
/// As for [`read_file`].
pub fn read_bytes(
    content: &[u8],
    path: &Path,
    format: Option<Format>,
) -> Result<Table, RecordError> {
    if content.iter().all(u8::is_ascii_whitespace) {
        return Err(RecordError::Empty {
            path: path.to_path_buf(),
        });
    }
    match format.unwrap_or_else(|| format_of(content)) {
        Format::Csv => csv::parse(content, path),
        Format::Jsonl => json::parse_jsonl(content, path),
        Format::Json => {
            let (envelope, table) = json::parse(content, path)?;
            Ok(Table {
                envelope: Some(envelope),
                ..table
            })
        }
    }
}

pub(super) fn read_all(from: &mut impl Read, path: &Path) -> Result<Vec<u8>, RecordError> {
    let mut content = Vec::new();
    from.read_to_end(&mut content)
        .map_err(|source| RecordError::Unreadable {
            path: path.to_path_buf(),
            source,
        })?;
    Ok(content)
}

/// Only JSON begins with a brace, and only JSON Lines has all of an object in
/// its first line, or another object after it.
fn format_of(content: &[u8]) -> Format {
    let content = content.trim_ascii();
    if content.first() != Some(&b'{') {
        return Format::Csv;
    }
    let first = content
        .split(|byte| *byte == b'\n')
        .next()
        .unwrap_or_default();
    match serde_json::from_slice::<serde_json::Value>(first) {
        Ok(value) if value.get("rows").is_none() => Format::Jsonl,
        _ => Format::Json,
    }
}
