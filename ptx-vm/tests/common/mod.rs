//! Short ways to run hand-written PTX.
#![allow(dead_code)]

use ptx_vm::{Arg, Fault, Launch, Machine, Memory, Module, Options, Report, RunError};

/// A module with one kernel; if the environment variable `PTXAS` names NVIDIA's assembler, it
/// must accept the text too, so that tests do not exercise PTX that does not exist.
pub fn module(source: &str) -> Module {
    if let Ok(ptxas) = std::env::var("PTXAS") {
        assemble(&ptxas, source);
    }
    Module::parse(source).unwrap_or_else(|error| panic!("{error}\n{source}"))
}

fn assemble(ptxas: &str, source: &str) {
    use std::hash::{BuildHasher, RandomState};
    let name = format!("ptx-vm-{:016x}.ptx", RandomState::new().hash_one(source));
    let path = std::env::temp_dir().join(name);
    std::fs::write(&path, source).expect("a temporary file");
    let arch = if source.contains("sm_90a") {
        "sm_90a"
    } else if source.contains("sm_90") {
        "sm_90"
    } else {
        "sm_80"
    };
    let output = std::process::Command::new(ptxas)
        .arg(format!("-arch={arch}"))
        .args(["-o", "/dev/null"])
        .arg(&path)
        .output()
        .expect("ptxas runs");
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{errors}\n{source}");
    std::fs::remove_file(&path).expect("the temporary file");
}

/// A module header and a kernel `k` with the given parameters and body; registers of every kind
/// are declared.
pub fn kernel(parameters: &str, body: &str) -> String {
    format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k({parameters})\n{{\n\
         .reg .pred %p<10>; .reg .b16 %h<20>; .reg .b32 %r<40>; .reg .b64 %d<40>;\n{body}\nret;\n}}\n"
    )
}

/// Launches kernel `k` of `module`.
pub fn run(
    module: &Module,
    memory: &mut Memory,
    grid: [u32; 3],
    block: [u32; 3],
    args: Vec<Arg>,
    options: &Options,
) -> Result<Report, RunError> {
    let launch = Launch {
        entry: "k".into(),
        grid,
        block,
        cluster: None,
        dependent: false,
        shared_bytes: 0,
        args,
    };
    Machine::default().run(module, memory, &launch, options)
}

/// Runs kernel text with one parameter `out`, an array of `words` words, on `threads` threads.
pub fn run_out(text: &str, threads: u32, words: usize) -> Result<(Vec<u32>, Report), RunError> {
    let module = module(text);
    let mut memory = Memory::new();
    let out = memory.alloc_u32("out", &vec![0xdead_beef; words]);
    let report = run(
        &module,
        &mut memory,
        [1; 3],
        [threads, 1, 1],
        vec![out.into()],
        &Options::default(),
    )?;
    Ok((memory.read_u32(out, words).expect("written"), report))
}

/// Runs kernel text as [`run_out`] does, which must end in a fault.
pub fn fault(text: &str, threads: u32) -> Fault {
    let module = module(text);
    let mut memory = Memory::new();
    let out = memory.alloc_u32("out", &vec![0; 1024]);
    let args = vec![out.into()];
    let options = Options {
        max_warp_instructions: 1 << 20,
        ..Options::default()
    };
    match run(
        &module,
        &mut memory,
        [1; 3],
        [threads, 1, 1],
        args,
        &options,
    ) {
        Err(RunError::Fault(fault)) => *fault,
        other => panic!("a fault was expected, not {other:?}"),
    }
}

/// Evaluates `body`, which computes `%r0` from `%r1`, `%r2`, `%r3`, for each row of operands.
pub fn eval32(body: &str, rows: &[[u32; 3]]) -> Vec<u32> {
    let text = kernel(
        ".param .u64 in, .param .u64 out",
        &format!(
            "ld.param.u64 %d30, [in]; ld.param.u64 %d31, [out];\n\
             mov.u32 %r30, %tid.x; mul.wide.u32 %d32, %r30, 12; add.s64 %d30, %d30, %d32;\n\
             mul.wide.u32 %d32, %r30, 4; add.s64 %d31, %d31, %d32;\n\
             ld.global.b32 %r1, [%d30]; ld.global.b32 %r2, [%d30+4]; ld.global.b32 %r3, [%d30+8];\n\
             mov.b32 %r0, 0;\n{body}\nst.global.b32 [%d31], %r0;"
        ),
    );
    let module = module(&text);
    let mut memory = Memory::new();
    let input = memory.alloc_u32("in", rows.as_flattened());
    let out = memory.alloc("out", rows.len() * 4);
    let args = vec![input.into(), out.into()];
    run(
        &module,
        &mut memory,
        [1; 3],
        [rows.len() as u32, 1, 1],
        args,
        &Options::default(),
    )
    .unwrap_or_else(|error| panic!("{error}\n{body}"));
    memory.read_u32(out, rows.len()).expect("written")
}

/// Evaluates `body`, which computes `%d0` from `%d1`, `%d2`, `%d3`.
pub fn eval64(body: &str, row: [u64; 3]) -> u64 {
    let text = kernel(
        ".param .u64 a, .param .u64 b, .param .u64 c, .param .u64 out",
        &format!(
            "ld.param.u64 %d1, [a]; ld.param.u64 %d2, [b]; ld.param.u64 %d3, [c]; ld.param.u64 %d31, [out];\n\
             mov.b64 %d0, 0;\n{body}\nst.global.b64 [%d31], %d0;"
        ),
    );
    let module = module(&text);
    let mut memory = Memory::new();
    let out = memory.alloc("out", 8);
    let mut args: Vec<Arg> = row.map(Arg::from).to_vec();
    args.push(out.into());
    run(
        &module,
        &mut memory,
        [1; 3],
        [1; 3],
        args,
        &Options::default(),
    )
    .unwrap_or_else(|error| panic!("{error}\n{body}"));
    let mut bytes = [0; 8];
    memory.read(out, &mut bytes).expect("written");
    u64::from_le_bytes(bytes)
}

/// Checks rows of (instruction, operands, expected result) on 32-bit registers.
pub fn check32(rows: &[(&str, [u32; 3], u32)]) {
    for (body, operands, expected) in rows {
        let got = eval32(body, &[*operands])[0];
        assert_eq!(
            got, *expected,
            "{body} on {operands:x?}: got {got:#x}, expected {expected:#x}"
        );
    }
}

/// Checks rows of (instruction, operands, expected result) on 64-bit registers.
pub fn check64(rows: &[(&str, [u64; 3], u64)]) {
    for (body, operands, expected) in rows {
        let got = eval64(body, *operands);
        assert_eq!(
            got, *expected,
            "{body} on {operands:x?}: got {got:#x}, expected {expected:#x}"
        );
    }
}

/// Bits of an f32.
pub fn f(x: f32) -> u32 {
    x.to_bits()
}

/// Bits of an f64.
pub fn d(x: f64) -> u64 {
    x.to_bits()
}
