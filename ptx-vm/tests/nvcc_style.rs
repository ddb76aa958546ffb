//! PTX in the manner of other compilers runs, or says what is missing.

mod common;

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
        dependent: false,
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

/// Triton puts braces around single registers, and spaces around what else there is.
#[test]
fn a_single_register_in_braces_is_a_vector_of_one() {
    let body = "ld.param.u64 %d1, [ x + 0 ];
        @%p1 bra DONE;
        ld.global.b32 { %r1 }, [ %d1 + 0 ];
        ld.global.b16 { %h1 }, [ %d1 + 4 ];
        cvt.u32.u16 %r2, %h1;
        add.u32 %r3, %r1, %r2;
        st.global.b32 [ %d1 + 8 ], { %r3 };
        DONE:";
    let body = format!("setp.ne.u32 %p1, 0, 0;\n{body}");
    let module = common::module(&common::kernel(".param .u64 x", &body));
    let mut memory = Memory::new();
    let x = memory.alloc_u32("x", &[40, 2, 0]);
    let options = Options::default();
    common::run(
        &module,
        &mut memory,
        [1; 3],
        [1; 3],
        vec![x.into()],
        &options,
    )
    .unwrap();
    assert_eq!(memory.read_u32(x, 3).unwrap(), [40, 2, 42]);

    let two = common::kernel(".param .u64 x", "ld.global.b32 { %r1, %r2 }, [ %d1 ];");
    let error = Module::parse(&two).unwrap().check("k").unwrap_err();
    assert_eq!(
        error.message,
        "`ld.global.b32`: the vector has another length"
    );
}
