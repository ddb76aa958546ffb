//! PTX in the manner of NVIDIA's compiler runs, or says what is missing.

use ptx_vm::{Launch, Machine, Memory, Module, Options};

const TEXT: &str = include_str!("nvcc_style.ptx");

#[test]
fn it_runs() {
    let module = Module::parse(TEXT).unwrap();
    assert_eq!(module.kernels().collect::<Vec<_>>(), ["block_sum", "shout"]);
    let mut memory = Memory::new();
    let x = memory.alloc_f32("x", &(0..200).map(|i| i as f32).collect::<Vec<_>>());
    let sum = memory.alloc("sum", 4);
    let launch = Launch {
        entry: "block_sum".into(),
        grid: [1; 3],
        block: [64, 1, 1],
        cluster: None,
        shared_bytes: 0,
        args: vec![x.into(), sum.into(), 200u32.into()],
    };
    Machine::default()
        .run(&module, &mut memory, &launch, &Options::default())
        .unwrap();
    assert_eq!(memory.read_f32(sum, 1).unwrap(), [2.0 * 199.0 * 100.0]);
}

#[test]
fn or_says_what_is_missing() {
    let error = Module::parse(TEXT).unwrap().check("shout").unwrap_err();
    assert_eq!(
        error.message,
        "function `vprintf` is not defined in this module"
    );
    assert_eq!(error.text, "call.uni (retval0),");
}
