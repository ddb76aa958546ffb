//! Rows as comma-separated values.
//!
//! After RFC 4180 with quotes where a field needs them, and with lines ended by
//! a line feed alone: with the carriage return of the RFC, line-based tools
//! would find it in the last column. Reading takes either.

use std::path::Path;

use csv::{ByteRecord, ErrorKind, Reader, ReaderBuilder, StringRecord, WriterBuilder};

use super::error::RecordError;
use super::output::Output;
use super::read::{Table, Torn};
use super::row::{Row, SCHEMA_VERSION};
use super::write::RowSink;

pub(super) struct CsvSink {
    output: Output,
}

impl CsvSink {
    pub(super) fn new(output: Output) -> Self {
        Self { output }
    }
}

impl RowSink for CsvSink {
    fn write(&mut self, row: &Row) -> Result<(), RecordError> {
        let line = line(row).map_err(|message| RecordError::Encode {
            path: self.output.path().to_path_buf(),
            message,
        })?;
        self.output.row(&line)
    }

    fn finish(self: Box<Self>) -> Result<u64, RecordError> {
        self.output.finish()
    }
}

/// The header line.
pub(super) fn header() -> Vec<u8> {
    // No name of a column needs quoting.
    format!("{}\n", Row::COLUMNS.join(",")).into_bytes()
}

fn line(row: &Row) -> Result<Vec<u8>, String> {
    let mut writer = WriterBuilder::new()
        .has_headers(false)
        .from_writer(Vec::new());
    writer.serialize(row).map_err(|error| error.to_string())?;
    writer.into_inner().map_err(|error| error.to_string())
}

/// Reads a whole file.
pub(super) fn parse(content: &[u8], path: &Path) -> Result<Table, RecordError> {
    let mut reader = reader(content);
    let header = read_header(&mut reader, path)?;
    let version = header.iter().position(|name| name == "schema_version");
    let mut table = Table::default();
    let mut record = ByteRecord::new();
    loop {
        if !reader
            .read_byte_record(&mut record)
            .map_err(|error| malformed(error, path))?
        {
            break;
        }
        let (line, offset) = start_of(&record, content);
        let end = usize::try_from(reader.position().byte()).unwrap_or(usize::MAX);
        let is_last = content
            .get(end..)
            .unwrap_or_default()
            .iter()
            .all(|byte| matches!(byte, b'\r' | b'\n'));
        let ended = content.last() == Some(&b'\n');
        // A number cut short is still a number, so that a last line without its
        // end cannot be trusted whatever it holds.
        if is_last && (!ended || record.len() < header.len()) {
            table.torn = Some(Torn { line, offset });
            break;
        }
        // Before the columns, which another version may have others of.
        if let Some(found) = version.and_then(|at| record.get(at)) {
            require_version(found, line, path)?;
        }
        require_columns(&header, path)?;
        table.rows.push(row(&record, &header, line, path)?);
    }
    require_columns(&header, path)?;
    Ok(table)
}

/// Line and offset of the first character of a record. The reader's position
/// is before the line feed of a CRLF, and before blank lines.
fn start_of(record: &ByteRecord, content: &[u8]) -> (u64, u64) {
    let (mut line, mut offset) = record
        .position()
        .map_or((1, 0), |position| (position.line(), position.byte()));
    let rest = usize::try_from(offset)
        .ok()
        .and_then(|offset| content.get(offset..));
    for byte in rest
        .unwrap_or_default()
        .iter()
        .take_while(|byte| matches!(byte, b'\r' | b'\n'))
    {
        line += u64::from(*byte == b'\n');
        offset += 1;
    }
    (line, offset)
}

/// Refuses a file to be continued whose lines would not fit its header.
pub(super) fn require_own_columns(content: &[u8], path: &Path) -> Result<(), RecordError> {
    let mut reader = reader(content);
    let header = read_header(&mut reader, path)?;
    if header.iter().eq(Row::COLUMNS.iter().copied()) {
        Ok(())
    } else {
        Err(RecordError::OtherColumns {
            path: path.to_path_buf(),
        })
    }
}

/// A reader that leaves rows of any length to us. It passes over the byte order
/// mark that spreadsheets write.
fn reader(content: &[u8]) -> Reader<&[u8]> {
    ReaderBuilder::new().flexible(true).from_reader(content)
}

fn read_header(reader: &mut Reader<&[u8]>, path: &Path) -> Result<StringRecord, RecordError> {
    let header = reader
        .headers()
        .map_err(|error| malformed(error, path))?
        .clone();
    let twice = |(at, name): &(usize, &str)| header.iter().take(*at).any(|other| other == *name);
    match header.iter().enumerate().find(twice) {
        Some((_, column)) => Err(RecordError::DuplicateColumn {
            path: path.to_path_buf(),
            column: column.to_owned(),
        }),
        None => Ok(header),
    }
}

fn require_columns(header: &StringRecord, path: &Path) -> Result<(), RecordError> {
    let missing: Vec<String> = Row::COLUMNS
        .iter()
        .filter(|column| !header.iter().any(|name| name == **column))
        .map(ToString::to_string)
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(RecordError::MissingColumns {
        path: path.to_path_buf(),
        line: 1,
        columns: missing,
    })
}

fn require_version(found: &[u8], line: u64, path: &Path) -> Result<(), RecordError> {
    if found == SCHEMA_VERSION.to_string().as_bytes() {
        return Ok(());
    }
    Err(RecordError::SchemaVersion {
        path: path.to_path_buf(),
        line,
        found: String::from_utf8_lossy(found).into_owned(),
    })
}

fn row(
    record: &ByteRecord,
    header: &StringRecord,
    line: u64,
    path: &Path,
) -> Result<Row, RecordError> {
    let refused = |place: String, message: String| RecordError::Malformed {
        path: path.to_path_buf(),
        line,
        place,
        message,
    };
    if record.len() != header.len() {
        let message = format!(
            "it has {} fields where the header has {}",
            record.len(),
            header.len()
        );
        return Err(refused("the whole row".to_owned(), message));
    }
    let column = |field: usize| format!("column `{}`", header.get(field).unwrap_or("?"));
    let record = StringRecord::from_byte_record(record.clone())
        .map_err(|error| refused(column(error.utf8_error().field()), "not UTF-8".to_owned()))?;
    record
        .deserialize(Some(header))
        .map_err(|error| match culprit(&record, header) {
            Some((field, value, why)) => refused(column(field), format!("`{value}`: {why}")),
            None => malformed(error, path),
        })
}

/// The first field that is refused even in an otherwise good row, its value,
/// and why. The error of the whole row does not always know its field.
fn culprit<'a>(
    record: &'a StringRecord,
    header: &StringRecord,
) -> Option<(usize, &'a str, String)> {
    let good = line(&Row::default()).ok()?;
    let good = ReaderBuilder::new()
        .has_headers(false)
        .from_reader(&good[..])
        .records()
        .next();
    let good = good?.ok()?;
    let good: Vec<&str> = header
        .iter()
        .map(|name| Row::COLUMNS.iter().position(|column| *column == name))
        .map(|at| at.and_then(|at| good.get(at)).unwrap_or_default())
        .collect();
    record.iter().enumerate().find_map(|(field, value)| {
        let mut fields = good.clone();
        fields[field] = value;
        match StringRecord::from(fields)
            .deserialize::<Row>(Some(header))
            .err()?
            .into_kind()
        {
            ErrorKind::Deserialize { err, .. } => Some((field, value, err.kind().to_string())),
            _ => None,
        }
    })
}

/// An error of the CSV text itself.
fn malformed(error: csv::Error, path: &Path) -> RecordError {
    let line = error.position().map_or(1, csv::Position::line);
    RecordError::Malformed {
        path: path.to_path_buf(),
        line,
        place: "the whole line".to_owned(),
        message: error.to_string(),
    }
}
