//! Why rows make no figure.

use crate::roofline::spec::SpecError;

/// Why no figure can be made of the rows. Each message says what would help.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FigureError {
    /// There is not one row.
    #[error("there are no rows: measure some with `rooftrace sweep`")]
    NoRows,
    /// No row was measured.
    #[error(
        "none of the {rows} rows was measured ({skipped} skipped, {failed} failed){}",
        because(.reason)
    )]
    NothingMeasured {
        /// Number of rows.
        rows: usize,
        /// Those with the status `skipped`.
        skipped: usize,
        /// Those with the status `failed`.
        failed: usize,
        /// The first reason given, if one is.
        reason: Option<String>,
    },
    /// The rows come from more than one device.
    #[error(
        "the rows are of {} devices ({}): a roofline belongs to one of them; give the files of \
         one device, or --across-devices to draw them together", devices.len(), devices.join(", ")
    )]
    MixedDevices {
        /// Their names, in the order of the rows.
        devices: Vec<String>,
    },
    /// Rows were measured, but lack what this kind of figure shows.
    #[error("--kind {kind} needs {needs}; {remedy}")]
    Lacks {
        /// The kind of figure.
        kind: &'static str,
        /// What no row has.
        needs: &'static str,
        /// The way to rows that have it.
        remedy: &'static str,
    },
    /// A level of the memory was asked for that has no roof.
    #[error("--levels {level}: {why}; {remedy}")]
    NoLevel {
        /// The level.
        level: &'static str,
        /// Why it has none, for each device.
        why: String,
        /// The way to one.
        remedy: &'static str,
    },
    /// The database of GPUs is faulty; a test excludes it.
    #[error(transparent)]
    Database(#[from] SpecError),
    /// The picture could not be drawn in the format that was asked for.
    #[error("the {format} cannot be drawn: {message}")]
    Draw {
        /// The format.
        format: &'static str,
        /// What the library said.
        message: String,
    },
}

fn because(reason: &Option<String>) -> String {
    reason.as_ref().map_or(String::new(), |reason| {
        format!("; the first says: {reason}")
    })
}
