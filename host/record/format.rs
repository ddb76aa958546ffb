//! The formats rows are written in.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

/// How rows are laid out in a file. `docs/schema/rooftrace-row-v1.schema.json`
/// describes both forms of JSON.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// Comma-separated values after RFC 4180, in UTF-8, with a header.
    #[default]
    Csv,
    /// One document: the envelope of the run with all its rows.
    Json,
    /// JSON Lines: one row a line, without an envelope.
    Jsonl,
}

impl Format {
    /// All formats, in the order `--format` lists them.
    pub const ALL: [Self; 3] = [Self::Csv, Self::Json, Self::Jsonl];

    /// Name of the format, which is also its file name extension.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Json => "json",
            Self::Jsonl => "jsonl",
        }
    }

    /// The format a file name ends in, if it is one of them.
    #[must_use]
    pub fn of_path(path: &Path) -> Option<Self> {
        path.extension()?
            .to_str()?
            .to_ascii_lowercase()
            .parse()
            .ok()
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that is no format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a format: allowed are csv, json and jsonl")]
pub struct UnknownFormat(String);

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|format| format.name() == name)
            .ok_or_else(|| UnknownFormat(name.to_owned()))
    }
}
