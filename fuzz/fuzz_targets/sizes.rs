//! No text makes the size grammar panic, and what it takes prints back to itself.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rooftrace::kernels::size::{Size, SizeKind, parse_sizes};

fuzz_target!(|text: &str| {
    for kind in [SizeKind::Elements, SizeKind::Matrix, SizeKind::Mixed] {
        if let Ok(sizes) = parse_sizes(text, kind) {
            let printed: Vec<String> = sizes.iter().map(Size::to_string).collect();
            assert_eq!(parse_sizes(&printed.join(","), kind), Ok(sizes));
        }
    }
});
