//! No content makes the readers panic, and a torn row lies within its file.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use rooftrace::record::{Format, read_bytes};

fuzz_target!(|content: &[u8]| {
    for format in [Format::Json, Format::Jsonl] {
        let Ok(table) = read_bytes(content, Path::new("rows"), Some(format)) else { continue };
        assert!(table.torn.is_none_or(|torn| torn.offset as usize <= content.len()));
    }
});
