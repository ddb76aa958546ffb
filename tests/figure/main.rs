//! Figures: what they say, how they look, what they refuse.

mod sample;

use std::path::Path;
use rooftrace::record::{Destination, Envelope, Format, OnExisting, Row, open};

/// Writes rows to a new CSV file.
pub fn write_csv(path: &Path, rows: &[Row]) {
    let envelope = Envelope::new("5e01a2b3", vec!["rooftrace".to_owned()], Default::default());
    let mut sink = open(&Destination::from_out(path), Format::Csv, OnExisting::Replace, &envelope).unwrap();
    for row in rows {
        sink.write(row).unwrap();
    }
    sink.finish().unwrap();
}

#[test]
fn tmp() {
    write_csv(Path::new("/tmp/fig/sweep.csv"), &sample::sweep());
    write_csv(Path::new("/tmp/fig/ladder.csv"), &sample::ladder());
}
