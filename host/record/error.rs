//! What can go wrong with a file of rows.

use std::io;
use std::path::PathBuf;

/// Why rows could not be written or read. Each message names the file, what is
/// wrong with it, and the way out.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// `--out` names a folder.
    #[error("--out `{path}` is a folder: name a file in it, such as `{path}/rows.csv`")]
    Directory {
        /// The folder.
        path: PathBuf,
    },
    /// The folder of `--out` does not exist.
    #[error("cannot write `{path}`: there is no folder `{parent}`; create it, or change --out")]
    NoParent {
        /// The file.
        path: PathBuf,
        /// The missing folder.
        parent: PathBuf,
    },
    /// The output file exists and neither continuing nor replacing was asked for.
    #[error(
        "--out `{path}` exists: --resume continues it, --force replaces it, \
         or name another file"
    )]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// Another process is writing to the file.
    #[error("`{path}` is being written by another process: wait for it, or change --out")]
    InUse {
        /// The file.
        path: PathBuf,
    },
    /// The output file could not be made or opened.
    #[error("cannot write `{path}`: {source}; check its permissions, or change --out")]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// The file system or a quota is full.
    #[error(
        "no space left for `{path}`: its {rows} rows so far are safe; \
         free some space and repeat the command with --resume"
    )]
    DiskFull {
        /// The file.
        path: PathBuf,
        /// Rows in the file, each complete.
        rows: u64,
        /// What the operating system said.
        source: io::Error,
    },
    /// Any other failure to write a row.
    #[error("cannot write to `{path}` after {rows} whole rows: {source}")]
    Write {
        /// The file, or `-` for standard output.
        path: PathBuf,
        /// Rows written before, each complete.
        rows: u64,
        /// What the operating system said.
        source: io::Error,
    },
    /// Whoever read the output has stopped reading: not a failure, see
    /// [`RecordError::is_broken_pipe`].
    #[error("the reader of `{path}` has closed it")]
    BrokenPipe {
        /// The file, or `-` for standard output.
        path: PathBuf,
    },
    /// A row could not be put into the format.
    #[error("a row cannot be written to `{path}`: {message}")]
    Encode {
        /// The file.
        path: PathBuf,
        /// What the encoder said.
        message: String,
    },
    /// `--resume` into something that is no regular file.
    #[error("cannot continue `{path}`: only a regular file can be continued")]
    NotResumable {
        /// Standard output, a pipe or a device.
        path: PathBuf,
    },

    /// The file could not be opened or read.
    #[error("cannot read `{path}`: {source}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// The file holds nothing.
    #[error("`{path}` is empty: expected rows of schema version 1 as CSV, JSON or JSON Lines")]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// Columns of the schema are absent.
    #[error(
        "`{path}` line {line} lacks the columns {}: schema version 1 needs all of its columns, \
         even where they are empty", columns.join(", ")
    )]
    MissingColumns {
        /// The file.
        path: PathBuf,
        /// Line of the header, or of the row that lacks them, counted from 1.
        line: u64,
        /// Their names, in the order of the schema.
        columns: Vec<String>,
    },
    /// Two columns have the same name.
    #[error("`{path}` has the column `{column}` twice: remove one of them")]
    DuplicateColumn {
        /// The file.
        path: PathBuf,
        /// The name.
        column: String,
    },
    /// Columns differ from the schema's where rows are to be appended.
    #[error(
        "cannot continue `{path}`: its columns are not exactly those of schema version 1 \
         in their order; give --out another file"
    )]
    OtherColumns {
        /// The file.
        path: PathBuf,
    },
    /// The file has a schema this version does not know.
    #[error(
        "`{path}` line {line} has schema version `{found}`, and this program knows only 1: \
         use the version of rooftrace that wrote it"
    )]
    SchemaVersion {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: u64,
        /// The version it has.
        found: String,
    },
    /// A value, or the text around it, is not what its column holds.
    #[error("`{path}` line {line}, {place}: {message}")]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: u64,
        /// The column of the row by name, or the position in the line.
        place: String,
        /// What was found and what was expected.
        message: String,
    },
    /// The rows to continue were measured on something else.
    #[error(
        "cannot continue `{path}`: its rows have {what} `{found}` and this run has `{expected}`, \
         so they would not be comparable; give --out another file"
    )]
    OtherRun {
        /// The file.
        path: PathBuf,
        /// The column that differs.
        what: &'static str,
        /// Its value in the file.
        found: String,
        /// Its value in this run.
        expected: String,
    },
}

impl RecordError {
    /// Whether the reader of a pipe has gone, as with `| head`: the program
    /// should then end quietly and with success.
    #[must_use]
    pub fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::BrokenPipe { .. })
    }
}
