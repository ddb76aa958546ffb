//! What a JSON document says about the run around its rows.

use serde::{Deserialize, Serialize};

use super::row::SCHEMA_VERSION;

/// The members of a JSON document before `rows`.
///
/// A resumed document keeps the envelope of the run that began it; each row has
/// the `run_id` and the versions of the run that measured it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Envelope {
    /// Version of the row schema.
    pub schema_version: u32,
    /// Name of the program that wrote the document.
    pub tool: String,
    /// Its version.
    pub version: String,
    /// The command line, one argument an element, the program first.
    pub command_line: Vec<String>,
    /// What may matter about the machine and is no column: names and values of
    /// any kind, `null` where unknown.
    pub environment: serde_json::Map<String, serde_json::Value>,
    /// Identifies the run, as the column of the same name.
    pub run_id: String,
}

impl Envelope {
    /// The envelope of a run of this version of the program.
    #[must_use]
    pub fn new(
        run_id: impl Into<String>,
        command_line: Vec<String>,
        environment: serde_json::Map<String, serde_json::Value>,
    ) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            tool: env!("CARGO_PKG_NAME").to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            command_line,
            environment,
            run_id: run_id.into(),
        }
    }
}
