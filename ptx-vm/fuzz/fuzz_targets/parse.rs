//! Arbitrary text: the parser and the lowering answer with a module or an error.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(module) = ptx_vm::Module::parse(text) {
        for kernel in module.kernels() {
            let _ = module.check(kernel);
        }
    }
});
