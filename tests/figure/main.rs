//! Figures: what they say, how they look, what they refuse.

mod command;
mod crossing;
mod golden;
mod layout;
mod page;
mod sample;
mod speed;
mod terminal;

use std::path::{Path, PathBuf};

use rooftrace::record::{Destination, Envelope, Format, OnExisting, Row, open};

/// Writes rows to a new CSV file of the folder.
pub fn csv(folder: &Path, name: &str, rows: &[Row]) -> PathBuf {
    let path = folder.join(name);
    let envelope = Envelope::new("5e01a2b3", vec!["rooftrace".to_owned()], Default::default());
    let destination = Destination::from_out(&path);
    let mut sink = open(&destination, Format::Csv, OnExisting::Replace, &envelope).unwrap();
    for row in rows {
        sink.write(row).unwrap();
    }
    sink.finish().unwrap();
    path
}
