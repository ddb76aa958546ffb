//! Tables for people, CSV and JSON for programs, of the commands that only compute.
//!
//! A [`Sheet`] holds each figure once as a value in SI base units and once as text. CSV and
//! JSON carry every column under its machine name; the table shows those with a heading.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{Cell as TableCell, CellAlignment, Table};
use serde_json::{Map, Value};

use crate::kernels::size::SizeError;
use crate::roofline::db::{Database, LoadError, LookupError};
use crate::roofline::llm::{Input, LlmError};
use crate::roofline::model::ModelError;
use crate::roofline::units::engineering;
use crate::roofline::work::WorkError;

/// How results are written to stdout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// A table for people.
    #[default]
    Table,
    /// CSV (RFC 4180 with LF), SI base units, empty where unknown.
    Csv,
    /// A JSON array of objects with the CSV's names, null where unknown.
    Json,
}

/// The flags that every computing command takes.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Common {
    /// TOML file that adds GPUs or overrides figures, in the format of the embedded database
    #[arg(long, value_name = "FILE")]
    pub spec: Option<PathBuf>,
    /// How to write the result
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
}

impl Common {
    /// The database, with the `--spec` file if one was given.
    ///
    /// # Errors
    /// [`CommandError::Load`] if the file cannot be read or is faulty.
    pub fn database(&self) -> Result<Database, CommandError> {
        Ok(Database::load(self.spec.as_deref().map(Path::new))?)
    }
}

/// Why a computing command failed. All but [`CommandError::Io`] are usage errors.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// `--spec` could not be used.
    #[error("--spec: {0}")]
    Load(#[from] LoadError),
    /// `--gpu` or `--pipe` names what the database does not have.
    #[error("{flag}: {0}", flag = flag_of(.0))]
    Lookup(#[from] LookupError),
    /// A roof is no roof.
    #[error("{0}")]
    Model(#[from] ModelError),
    /// A size makes no work.
    #[error("--sizes: {0}")]
    Work(#[from] WorkError),
    /// A size is not in the grammar.
    #[error(transparent)]
    Size(#[from] SizeError),
    /// A language model's figure is out of range.
    #[error("{flag}: {0}", flag = flag_of_input(.0.what))]
    Llm(#[from] LlmError),
    /// A flag's value or a combination of flags means nothing.
    #[error("{flag}: {problem}; allowed: {allowed}")]
    Flag {
        /// The flag.
        flag: &'static str,
        /// What was given and what is wrong with it.
        problem: String,
        /// What is allowed.
        allowed: String,
    },
    /// The result could not be written.
    #[error("cannot write the result: {0}")]
    Io(#[from] io::Error),
}

fn flag_of(error: &LookupError) -> &'static str {
    match error {
        LookupError::NoPeak { .. } => "--pipe",
        _ => "--gpu",
    }
}

/// The flag of `llm` that gives an input of its model.
fn flag_of_input(input: Input) -> &'static str {
    match input {
        Input::Parameters => "--parameters",
        Input::BytesPerParameter => "--bytes-per-parameter",
        Input::DequantiseFlops => "--dequant-flops",
        Input::KvBytes => "--kv-bytes",
        Input::Batch => "--batch",
        Input::Prompt => "--prompt",
        Input::Acceptance => "--acceptance",
    }
}

/// One figure: its value for programs and its text for people.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    value: Value,
    shown: String,
}

impl Cell {
    /// A text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Cell {
        let shown = text.into();
        Cell {
            value: Value::String(shown.clone()),
            shown,
        }
    }

    /// A number in SI base units and how people read it.
    #[must_use]
    pub fn number(value: f64, shown: impl Into<String>) -> Cell {
        Cell {
            value: Value::from(value),
            shown: shown.into(),
        }
    }

    /// A number shown in engineering notation.
    #[must_use]
    pub fn quantity(value: f64, unit: &str) -> Cell {
        Cell::number(value, engineering(value, unit))
    }

    /// A whole number and how people read it.
    #[must_use]
    pub fn whole(value: u64, shown: impl Into<String>) -> Cell {
        Cell {
            value: Value::from(value),
            shown: shown.into(),
        }
    }

    /// A whole number of either sign and how people read it.
    #[must_use]
    pub fn signed(value: i64, shown: impl Into<String>) -> Cell {
        Cell {
            value: Value::from(value),
            shown: shown.into(),
        }
    }

    /// A truth value.
    #[must_use]
    pub fn flag(value: bool) -> Cell {
        Cell {
            value: Value::Bool(value),
            shown: if value { "yes" } else { "no" }.to_owned(),
        }
    }

    /// What is not known: empty, never 0.
    #[must_use]
    pub fn missing() -> Cell {
        Cell {
            value: Value::Null,
            shown: String::new(),
        }
    }

    /// `Some` through `cell`, `None` as missing.
    #[must_use]
    pub fn maybe<T>(value: Option<T>, cell: impl FnOnce(T) -> Cell) -> Cell {
        value.map_or_else(Cell::missing, cell)
    }

    fn csv(&self) -> String {
        match &self.value {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            // Display of f64 is the shortest text that reads back, without an exponent.
            Value::Number(n) if n.is_f64() => n.as_f64().unwrap_or_default().to_string(),
            other => other.to_string(),
        }
    }
}

/// A column: its machine name, and its heading if the table shows it.
pub type Column = (&'static str, Option<&'static str>);

/// Rows under columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Sheet {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
}

impl Sheet {
    /// A sheet without rows.
    #[must_use]
    pub fn new(columns: Vec<Column>) -> Sheet {
        Sheet {
            columns,
            rows: Vec::new(),
        }
    }

    /// Adds a row with one cell for each column.
    pub fn push(&mut self, row: Vec<Cell>) {
        debug_assert_eq!(
            row.len(),
            self.columns.len(),
            "a row has a cell for each column"
        );
        self.rows.push(row);
    }

    /// Whether it has no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Writes the sheet.
    ///
    /// # Errors
    /// What `out` returns.
    pub fn write(&self, format: Format, out: &mut dyn Write) -> io::Result<()> {
        match format {
            Format::Table => self.write_table(out),
            Format::Csv => self.write_csv(out),
            Format::Json => self.write_json(out),
        }
    }

    fn write_table(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut table = Table::new();
        table.load_style(UTF8_FULL_CONDENSED);
        table.set_header(self.columns.iter().filter_map(|c| c.1));
        for row in &self.rows {
            let shown = self
                .columns
                .iter()
                .zip(row)
                .filter(|(column, _)| column.1.is_some());
            table.add_row(shown.map(|(_, cell)| {
                let align = match cell.value {
                    Value::Number(_) => CellAlignment::Right,
                    _ => CellAlignment::Left,
                };
                TableCell::new(&cell.shown).set_alignment(align)
            }));
        }
        writeln!(out, "{table}")
    }

    fn write_csv(&self, out: &mut dyn Write) -> io::Result<()> {
        // LF, as in the files of rows: CRLF would leave a CR in the last column of line tools.
        let mut writer = csv::Writer::from_writer(out);
        writer.write_record(self.columns.iter().map(|c| c.0))?;
        for row in &self.rows {
            writer.write_record(row.iter().map(Cell::csv))?;
        }
        writer.flush()
    }

    /// Every row as an object with the columns' machine names.
    #[must_use]
    pub fn objects(&self) -> Vec<Map<String, Value>> {
        let object = |row: &Vec<Cell>| {
            let names = self.columns.iter().map(|c| c.0.to_owned());
            names
                .zip(row.iter().map(|cell| cell.value.clone()))
                .collect()
        };
        self.rows.iter().map(object).collect()
    }

    fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        serde_json::to_writer_pretty(&mut *out, &self.objects())?;
        writeln!(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sheet() -> Sheet {
        let mut sheet = Sheet::new(vec![
            ("name", Some("Name")),
            ("rate_flop_per_s", Some("Rate")),
            ("count", None),
            ("known", Some("Known")),
        ]);
        let name = Cell::text("a, \"b\"");
        sheet.push(vec![
            name,
            Cell::quantity(989.4e12, "FLOP/s"),
            Cell::missing(),
            Cell::flag(true),
        ]);
        sheet
    }

    fn written(format: Format) -> String {
        let mut out = Vec::new();
        sheet().write(format, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn csv_is_quoted_unrounded_and_empty_where_unknown() {
        assert_eq!(
            written(Format::Csv),
            "name,rate_flop_per_s,count,known\n\"a, \"\"b\"\"\",989400000000000,,true\n"
        );
    }

    #[test]
    fn json_has_the_same_names_and_null_where_unknown() {
        let value: Value = serde_json::from_str(&written(Format::Json)).unwrap();
        let expected = serde_json::json!([{
            "name": "a, \"b\"", "rate_flop_per_s": 989.4e12, "count": null, "known": true
        }]);
        assert_eq!(value, expected);
    }

    #[test]
    fn the_table_shows_headed_columns_in_engineering_notation() {
        let table = written(Format::Table);
        assert!(
            table.contains("989.4 TFLOP/s") && table.contains("Known"),
            "{table}"
        );
        assert!(!table.contains("count"), "{table}");
    }
}
