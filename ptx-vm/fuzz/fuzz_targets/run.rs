//! Arbitrary kernel bodies: the machine answers with a report or an error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ptx_vm::{Launch, Machine, Memory, Module, Options};

fuzz_target!(|body: &str| {
    let text = format!(
        ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 x) {{\n\
         .reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<9>; .reg .b64 %d<9>;\n\
         .shared .align 16 .b8 s[256];\nld.param.u64 %d1, [x];\n{body}\n}}"
    );
    let Ok(module) = Module::parse(&text) else { return };
    let mut memory = Memory::new();
    let x = memory.alloc_u32("x", &[7; 64]);
    let launch =
        Launch { entry: "k".into(), grid: [2, 1, 1], block: [48, 1, 1], cluster: None, dependent: false, shared_bytes: 64, args: vec![x.into()] };
    let options = Options { max_warp_instructions: 2000, ..Options::default() };
    let _ = Machine::default().run(&module, &mut memory, &launch, &options);
});
