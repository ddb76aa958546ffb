//! Writing rows one by one, in any format.

use std::io;
use std::path::Path;

use super::csv::CsvSink;
use super::destination::{self, Destination, OnExisting};
use super::envelope::Envelope;
use super::error::RecordError;
use super::format::Format;
use super::json::{JsonSink, JsonlSink};
use super::output::{Output, Store};
use super::row::Row;
use super::{csv, json, read};

/// Takes rows one by one. A row that was taken is out of the process: killing
/// it loses none.
pub trait RowSink: Send {
    /// Writes one row.
    ///
    /// # Errors
    /// [`RecordError`], after which a file still holds all rows before, whole.
    /// [`RecordError::is_broken_pipe`] tells a reader that has gone.
    fn write(&mut self, row: &Row) -> Result<(), RecordError>;

    /// Ends the output, waits until a file is on the disk, and returns the
    /// number of rows this sink has written.
    ///
    /// # Errors
    /// [`RecordError`], as for [`RowSink::write`].
    fn finish(self: Box<Self>) -> Result<u64, RecordError>;
}

/// Opens a destination for rows.
///
/// A new file gets its name only when its header is written, so that a start
/// that fails leaves nothing behind and destroys nothing. A file to continue
/// must hold rows of this schema; a torn end is cut off, and a JSON document
/// keeps its envelope.
///
/// # Errors
/// What [`Destination::check`] finds; [`RecordError::InUse`] while another
/// process writes to the file; for a file to continue whatever reading it can
/// give, and [`RecordError::OtherColumns`] if a CSV file has its columns in
/// another order or has more of them.
pub fn open(
    destination: &Destination,
    format: Format,
    on_existing: OnExisting,
    envelope: &Envelope,
) -> Result<Box<dyn RowSink>, RecordError> {
    destination.check(on_existing)?;
    let path = destination.path();
    let header = header(format, envelope, path)?;
    let stream: Option<Box<dyn io::Write + Send>> = match destination {
        Destination::Stdout => Some(Box::new(io::stdout())),
        Destination::File(path) => destination::open_stream(path)?,
    };
    if let Some(stream) = stream {
        let output = Output::stream(stream, path, &header, closing(format))?;
        return Ok(sink(format, output));
    }
    if on_existing == OnExisting::Append && path.metadata().is_ok_and(|found| found.len() > 0) {
        return Ok(sink(format, reopen(path, format)?));
    }
    // An empty file has nothing to lose: it is continued by beginning it.
    let replace = on_existing != OnExisting::Refuse;
    let content = [&header, closing(format)].concat();
    let file = destination::create(path, &content, replace)?;
    let output = Output::file(file, path, header.len() as u64, 0, closing(format));
    Ok(sink(format, output))
}

/// Continues the rows of an existing file.
fn reopen(path: &Path, format: Format) -> Result<Output, RecordError> {
    let mut file = destination::open_existing(path)?;
    let content = read::read_all(&mut file, path)?;
    let table = match format {
        Format::Csv => {
            csv::require_own_columns(&content, path)?;
            csv::parse(&content, path)?
        }
        Format::Jsonl => json::parse_jsonl(&content, path)?,
        // `file` stays open, and so locked, until the new one has its name.
        Format::Json => return rewrite_document(&content, path),
    };
    let rows = table.rows.len() as u64;
    let failed = |source| destination::write_failure(path, rows, source);
    let mut end = content.len() as u64;
    if let Some(torn) = table.torn {
        end = torn.offset;
        file.set_len(end).map_err(failed)?;
    } else if content.last() != Some(&b'\n') {
        // The last line is whole but was never ended, as an editor may leave it.
        file.write_at(end, b"\n").map_err(failed)?;
        end += 1;
    }
    Ok(Output::file(file, path, end, rows, closing(format)))
}

/// Continues a document by writing it anew: its rows may be laid out in any
/// way, so that the place of the next one is not known.
fn rewrite_document(content: &[u8], path: &Path) -> Result<Output, RecordError> {
    let (envelope, table) = json::parse(content, path)?;
    let begun = json::document(&envelope, &table.rows, path)?;
    let rows = table.rows.len() as u64;
    let whole = [&begun, json::CLOSING].concat();
    let file = destination::create(path, &whole, true).map_err(|error| match error {
        // The old document stays, with its rows.
        RecordError::DiskFull { path, source, .. } => RecordError::DiskFull { path, rows, source },
        other => other,
    })?;
    Ok(Output::file(
        file,
        path,
        begun.len() as u64,
        rows,
        json::CLOSING,
    ))
}

/// What comes before the first row.
fn header(format: Format, envelope: &Envelope, path: &Path) -> Result<Vec<u8>, RecordError> {
    match format {
        Format::Csv => Ok(csv::header()),
        Format::Json => json::document(envelope, &[], path),
        Format::Jsonl => Ok(Vec::new()),
    }
}

/// What comes after the last row.
fn closing(format: Format) -> &'static [u8] {
    match format {
        Format::Json => json::CLOSING,
        Format::Csv | Format::Jsonl => b"",
    }
}

fn sink(format: Format, output: Output) -> Box<dyn RowSink> {
    match format {
        Format::Csv => Box::new(CsvSink::new(output)),
        Format::Json => Box::new(JsonSink::new(output)),
        Format::Jsonl => Box::new(JsonlSink::new(output)),
    }
}
