//! No content makes the reader panic, and what comes before a torn row reads
//! the same without it.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use rooftrace::record::{Format, read_bytes};

fuzz_target!(|content: &[u8]| {
    let path = Path::new("rows.csv");
    let Ok(table) = read_bytes(content, path, Some(Format::Csv)) else { return };
    let Some(torn) = table.torn else { return };
    let whole = read_bytes(&content[..torn.offset as usize], path, Some(Format::Csv));
    assert_eq!(whole.expect("the whole rows can be read").rows, table.rows);
});
