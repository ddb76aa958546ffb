//! Broken kernels: each must be caught with the right diagnosis, at the right place.

mod common;

use common::{fault, kernel, module, run};
use ptx_vm::{Arg, Checks, FaultKind, Launch, Machine, Memory, Module, Options, RunError};

/// The built-in product of two matrices, with one line replaced or removed.
fn product(old: &str, new: &str) -> Result<Vec<f32>, RunError> {
    let text = include_str!("../examples/throughput.ptx");
    assert!(text.contains(old), "the kernel has changed: {old}");
    let module = Module::parse(&text.replacen(old, new, 1)).expect("PTX");
    let n = 32u32;
    let mut memory = Memory::new();
    let values: Vec<f32> = (0..n * n).map(|i| (i % 7) as f32).collect();
    let [x, y] = ["x", "y"].map(|name| memory.alloc_f32(name, &values));
    let z = memory.alloc("z", values.len() * 4);
    let args = vec![x.into(), y.into(), z.into(), n.into()];
    let launch = Launch {
        entry: "product".into(),
        grid: [n / 16, n / 16, 1],
        block: [16, 16, 1],
        cluster: None,
        dependent: false,
        shared_bytes: 0,
        args,
    };
    Machine::default().run(&module, &mut memory, &launch, &Options::default())?;
    Ok(memory.read_f32(z, values.len()).expect("written"))
}

#[test]
fn the_intact_kernel_passes() {
    let got = product("ret;", "ret;").expect("no fault");
    let at = |i: u32, j: u32| ((i * 32 + j) % 7) as f32;
    for (i, j) in [(0, 0), (3, 31), (31, 5)] {
        let expected: f32 = (0..32).map(|k| at(i, k) * at(k, j)).sum();
        assert_eq!(got[(i * 32 + j) as usize], expected);
    }
}

#[test]
fn a_missing_barrier_is_a_race() {
    // The first barrier separates the stores of a tile from its loads.
    let error = product("\tbar.sync 0;\n", "\n").unwrap_err();
    let fault = error.fault().expect("a fault");
    assert_eq!(fault.kind, FaultKind::SharedRace);
    assert_eq!(fault.kernel, "product");
    assert_eq!(fault.text, "ld.shared.f32 %r26, [%r23];");
    let other = fault.other.as_ref().expect("the write");
    assert!(other.text.starts_with("st.shared.f32"), "{other:?}");
    assert_ne!(other.thread, Some(fault.thread));
    // The second separates the loads from the stores of the next tile.
    let error = product("\tbar.sync 0;\n\tadd.s64", "\tadd.s64").unwrap_err();
    let fault = error.fault().expect("a fault");
    assert_eq!(fault.kind, FaultKind::SharedRace);
    assert!(fault.text.starts_with("st.shared.f32"), "{fault}");
    assert!(
        fault.other.as_ref().is_some_and(|o| o.action == "read"),
        "{fault}"
    );
}

#[test]
fn off_by_one_is_out_of_bounds() {
    let error = product(
        "st.global.f32 [%rd8], %r19;",
        "st.global.f32 [%rd8+4], %r19;",
    )
    .unwrap_err();
    let fault = error.fault().expect("a fault");
    assert_eq!(fault.kind, FaultKind::OutOfBounds);
    assert_eq!((fault.block, fault.thread), ([1, 1, 0], [15, 15, 0]));
    assert!(
        fault
            .detail
            .contains("4 bytes at offset 4096 of `z`, which has 4096 bytes"),
        "{fault}"
    );
    let message = fault.to_string();
    assert!(
        message.contains("kernel product") && message.contains("block (1, 1, 0)"),
        "{message}"
    );
}

#[test]
fn reading_what_nobody_wrote() {
    let error = product("st.shared.f32 [%r18], %r22;", "").unwrap_err();
    assert_eq!(
        error.fault().expect("a fault").kind,
        FaultKind::Uninitialized
    );
    let text = kernel(
        ".param .u64 out",
        "ld.param.u64 %d1, [out]; ld.global.u32 %r1, [%d1+8]; add.u32 %r1, %r1, 1;",
    );
    let module = module(&text);
    let mut memory = Memory::new();
    let out = memory.alloc("fresh", 16);
    memory.write(out, &[0; 8]).unwrap();
    let error = run(
        &module,
        &mut memory,
        [1; 3],
        [1; 3],
        vec![out.into()],
        &Options::default(),
    )
    .unwrap_err();
    let fault = error.fault().expect("a fault");
    assert_eq!(
        (fault.kind, fault.address),
        (FaultKind::Uninitialized, Some(out.0 + 8))
    );
    assert!(fault.detail.contains("offset 8 of `fresh`"), "{fault}");
    // Switched off, the bytes read as zero.
    let options = Options {
        checks: Checks::NONE,
        ..Options::default()
    };
    run(
        &module,
        &mut memory,
        [1; 3],
        [1; 3],
        vec![out.into()],
        &options,
    )
    .unwrap();
    let text = kernel(
        ".param .u64 out",
        ".local .align 4 .b8 l[8]; ld.local.u32 %r1, [l+4]; add.u32 %r1, %r1, 1;",
    );
    assert_eq!(fault_kind(&text, 1), FaultKind::Uninitialized);
}

fn fault_kind(text: &str, threads: u32) -> FaultKind {
    fault(text, threads).kind
}

#[test]
fn misaligned_and_stray_addresses() {
    let body = |access: &str| {
        kernel(
            ".param .u64 out",
            &format!("ld.param.u64 %d1, [out];\n{access}"),
        )
    };
    for (access, kind) in [
        ("ld.global.u32 %r1, [%d1+2];", FaultKind::Misaligned),
        (
            "ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%d1+8];",
            FaultKind::Misaligned,
        ),
        (
            "mov.u64 %d1, 0; ld.global.u32 %r1, [%d1];",
            FaultKind::OutOfBounds,
        ),
        ("st.global.u32 [%d1+4096], %r1;", FaultKind::OutOfBounds),
        ("st.global.u32 [%d1+-4], %r1;", FaultKind::OutOfBounds),
        (
            ".shared .align 4 .b8 s[16]; st.shared.u32 [s+16], %r1;",
            FaultKind::OutOfBounds,
        ),
        (
            "mov.u32 %r1, 4096; ld.shared.u32 %r2, [%r1];",
            FaultKind::OutOfBounds,
        ),
        (
            ".local .align 4 .b8 l[16]; mov.u64 %d2, l; st.local.u32 [%d2+16], %r1;",
            FaultKind::OutOfBounds,
        ),
        ("trap;", FaultKind::Trap),
        ("bar.sync 0, 96;", FaultKind::InvalidOperand),
    ] {
        assert_eq!(fault_kind(&body(access), 1), kind, "{access}");
    }
    let text = ".version 8.0\n.target sm_90\n.address_size 64\n.const .align 4 .u32 c = 1;
        .visible .entry k(.param .u64 out) { .reg .b64 %d<3>; mov.u64 %d1, c; cvta.const.u64 %d2, %d1; st.u32 [%d2], 1; ret; }";
    assert_eq!(fault_kind(text, 1), FaultKind::ReadOnly);
}

/// Two stages of `cp.async`; the wait before the first use leaves `wait` groups in flight.
fn two_stages(wait: u32, barrier: &str) -> String {
    kernel(
        ".param .u64 out",
        &format!(
            ".shared .align 16 .b8 s[1024];
             ld.param.u64 %d1, [out]; mov.u32 %r1, %tid.x; mov.u32 %r2, s;
             mad.wide.u32 %d2, %r1, 4, %d1; mad.lo.u32 %r3, %r1, 4, %r2;
             cp.async.ca.shared.global [%r3], [%d2], 4;
             cp.async.commit_group;
             cp.async.ca.shared.global [%r3+256], [%d2+256], 4;
             cp.async.commit_group;
             cp.async.wait_group {wait};
             {barrier}
             xor.b32 %r4, %r1, 63; mad.lo.u32 %r5, %r4, 4, %r2;
             ld.shared.u32 %r6, [%r5];
             cp.async.wait_group 0;
             bar.sync 0;
             ld.shared.u32 %r7, [%r5+256]; add.u32 %r6, %r6, %r7;
             st.global.u32 [%d2+512], %r6;"
        ),
    )
}

#[test]
fn wrong_wait_counts_and_missing_barriers_of_async_copies() {
    let text = two_stages(1, "bar.sync 0;");
    let module = module(&text);
    let mut memory = Memory::new();
    let out = memory.alloc_u32("out", &(0..256).collect::<Vec<_>>());
    run(
        &module,
        &mut memory,
        [1; 3],
        [64, 1, 1],
        vec![out.into()],
        &Options::default(),
    )
    .unwrap();
    assert_eq!(memory.read_u32(out, 256).unwrap()[128], 63 + 127);

    let late = fault(&two_stages(2, "bar.sync 0;"), 64);
    assert_eq!(late.kind, FaultKind::AsyncNotWaited);
    assert_eq!(late.text, "ld.shared.u32 %r6, [%r5];");
    let other = late.other.expect("the copy");
    assert_eq!(
        (other.action.as_str(), other.text.as_str()),
        ("cp.async", "cp.async.ca.shared.global [%r3], [%d2], 4;")
    );

    // A wait orders the thread's own copies only: others need a barrier as well.
    let unordered = fault(&two_stages(1, ""), 64);
    assert_eq!(unordered.kind, FaultKind::SharedRace, "{unordered}");
    assert_eq!(unordered.text, "ld.shared.u32 %r6, [%r5];");
    assert!(
        unordered
            .other
            .expect("the copy")
            .text
            .starts_with("cp.async")
    );

    // Overwriting a stage that others may still read.
    let text = kernel(
        ".param .u64 out",
        ".shared .align 16 .b8 s[256];
         ld.param.u64 %d1, [out]; mov.u32 %r1, %tid.x; mov.u32 %r2, s; mad.lo.u32 %r3, %r1, 4, %r2;
         st.shared.u32 [%r3], %r1; bar.sync 0;
         xor.b32 %r4, %r1, 32; mad.lo.u32 %r5, %r4, 4, %r2; ld.shared.u32 %r6, [%r5];
         cp.async.ca.shared.global [%r3], [%d1], 4; cp.async.wait_all; add.u32 %r6, %r6, 1;",
    );
    assert_eq!(fault_kind(&text, 64), FaultKind::SharedRace);
}

#[test]
fn divergent_barriers() {
    // Half of a warp takes the barrier.
    let inside = kernel(
        ".param .u64 out",
        "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 16; @!%p1 bra skip;\nbar.sync 0;\nskip:",
    );
    let found = fault(&inside, 32);
    assert_eq!(
        (found.kind, found.text.as_str()),
        (FaultKind::BarrierDivergence, "bar.sync 0;")
    );
    assert!(
        found
            .detail
            .contains("16 of the warp's 32 threads arrive; thread [16, 0, 0] is on another path"),
        "{found}"
    );
    // One warp takes it, the other ends.
    let found = fault(&inside.replace(", 16;", ", 32;"), 64);
    assert_eq!(found.kind, FaultKind::BarrierDivergence);
    assert!(found.other.is_some_and(|o| o.action == "exit"));
    // Threads that left early are missed at the barrier.
    let early = kernel(
        ".param .u64 out",
        "mov.u32 %r1, %tid.x; setp.gt.u32 %p1, %r1, 50; @%p1 exit; bar.sync 0;",
    );
    assert!(fault(&early, 64).detail.contains("has exited"));
    // Two warps wait at different barriers.
    let apart = kernel(
        ".param .u64 out",
        "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 32; @%p1 bra one;\nbar.sync 0;\nbra.uni end;\none:\nbar.sync 1;\nend:",
    );
    let found = fault(&apart, 64);
    assert_eq!(
        (found.kind, found.text.as_str()),
        (FaultKind::Deadlock, "bar.sync 0;")
    );
    assert_eq!(found.other.expect("the other barrier").text, "bar.sync 1;");
}

#[test]
fn warp_masks_and_endless_loops() {
    let half = kernel(
        ".param .u64 out",
        "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 16; @%p1 shfl.sync.idx.b32 %r2, %r1, 0, 31, -1;",
    );
    assert_eq!(fault_kind(&half, 32), FaultKind::WarpMask);
    let outside = kernel(
        ".param .u64 out",
        "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 16; @%p1 shfl.sync.idx.b32 %r2, %r1, 20, 31, 0xffff;",
    );
    let found = fault(&outside, 32);
    assert_eq!(found.kind, FaultKind::WarpMask);
    assert!(found.detail.contains("lane 20"), "{found}");
    let endless = kernel(".param .u64 out", "again:\nbra.uni again;");
    assert_eq!(fault_kind(&endless, 1), FaultKind::InstructionLimit);
}

#[test]
fn races_within_a_warp_and_with_atomics() {
    let body = |tail: &str| {
        kernel(
            ".param .u64 out",
            &format!(
                ".shared .align 8 .b8 s[512]; mov.u32 %r1, %tid.x; mov.u32 %r2, s; mad.lo.u32 %r3, %r1, 4, %r2;\n{tail}"
            ),
        )
    };
    // Without a warp barrier lanes are not ordered (independent thread scheduling).
    assert_eq!(
        fault_kind(
            &body("st.shared.u32 [%r3], %r1;\nld.shared.u32 %r4, [%r2+4]; add.u32 %r4, %r4, 1;"),
            32
        ),
        FaultKind::SharedRace
    );
    // Different values to one place.
    assert_eq!(
        fault_kind(&body("st.shared.u32 [%r2], %r1;"), 32),
        FaultKind::SharedRace
    );
    // The same value from all lanes of one instruction is none.
    let same = module(&body("st.shared.u32 [%r2], 5;"));
    let mut memory = Memory::new();
    let out = memory.alloc("out", 4);
    run(
        &same,
        &mut memory,
        [1; 3],
        [32, 1, 1],
        vec![out.into()],
        &Options::default(),
    )
    .unwrap();
    // A plain store against another warp's atomic.
    let text = body(
        "setp.lt.u32 %p1, %r1, 32; @%p1 st.shared.u32 [%r2], 0;\n@!%p1 atom.shared.add.u32 %r5, [%r2], 1;",
    );
    assert_eq!(fault_kind(&text, 64), FaultKind::SharedRace);
    // Ordered accesses are none, be the memory written before or not.
    let ordered = body(
        "st.volatile.shared.u32 [%r2], %r1; ld.volatile.shared.u32 %r4, [%r2]; ld.relaxed.cta.shared.u32 %r5, [%r2]; add.u32 %r4, %r4, %r5;",
    );
    run(
        &module(&ordered),
        &mut memory,
        [1; 3],
        [64, 1, 1],
        vec![out.into()],
        &Options::default(),
    )
    .unwrap();
    // Bytes of one word are separate places.
    let bytes = body(
        "add.u32 %r4, %r2, %r1; st.shared.u8 [%r4], %r1;\nbar.warp.sync -1;\nld.shared.u8 %r5, [%r4];",
    );
    let bytes = module(&bytes);
    run(
        &bytes,
        &mut memory,
        [1; 3],
        [32, 1, 1],
        vec![out.into()],
        &Options::default(),
    )
    .unwrap();
}

#[test]
fn loading_ahead_is_no_fault_until_the_value_is_used() {
    let body = |tail: &str| {
        kernel(
            ".param .u64 out",
            &format!(
                ".shared .align 8 .b8 s[512]; ld.param.u64 %d1, [out]; mov.u32 %r1, %tid.x; mov.u32 %r2, s;
                 setp.eq.u32 %p1, %r1, 0;\n{tail}"
            ),
        )
    };
    let passes = |tail: &str| {
        let module = module(&body(tail));
        let mut memory = Memory::new();
        let out = memory.alloc("out", 256);
        run(
            &module,
            &mut memory,
            [1; 3],
            [64, 1, 1],
            vec![out.into()],
            &Options::default(),
        )
        .map(|_| ())
    };
    // Never used; dropped by a move that is overwritten; not selected.
    for tail in [
        "ld.shared.u32 %r3, [%r2];",
        "ld.shared.u32 %r3, [%r2]; mov.u32 %r4, %r3; mov.u32 %r3, 0; mov.u32 %r4, 1; add.u32 %r5, %r3, %r4;",
        "ld.global.u32 %r3, [%d1+252]; setp.ne.u32 %p2, %r1, %r1; selp.b32 %r4, %r3, %r1, %p2;",
        "@%p1 ld.shared.u32 %r3, [%r2]; @!%p1 mov.u32 %r3, 0; @!%p1 add.u32 %r4, %r3, 1;",
    ] {
        passes(tail).unwrap_or_else(|error| panic!("{tail}: {error}"));
    }
    // Used after a move: the load is named, and the use.
    let tail = "ld.shared.u32 %r3, [%r2];\nmov.u32 %r4, %r3;\nadd.u32 %r5, %r4, 1;";
    let found = fault(&body(tail), 64);
    assert_eq!(
        (found.kind, found.text.as_str()),
        (FaultKind::Uninitialized, "ld.shared.u32 %r3, [%r2];")
    );
    assert!(
        found
            .detail
            .contains(&format!("used at PTX line {}", found.line + 2)),
        "{found}"
    );
    // Bounds are checked whether the value is used or not.
    assert_eq!(
        fault_kind(&body("ld.shared.u32 %r3, [%r2+512];"), 64),
        FaultKind::OutOfBounds
    );
}

#[test]
fn launches_that_do_not_fit() {
    let text = ".version 8.0\n.target sm_90\n.address_size 64
        .visible .entry k(.param .u64 a, .param .u32 b) .maxntid 64, 1, 1 { ret; }";
    let module = Module::parse(text).unwrap();
    let mut memory = Memory::new();
    let a = memory.alloc("a", 4);
    let good: Vec<Arg> = vec![a.into(), 5u32.into()];
    let mut launch = |entry: &str, block: u32, shared_bytes, args: &[Arg]| {
        let launch = Launch {
            entry: entry.into(),
            grid: [1; 3],
            block: [block, 1, 1],
            cluster: None,
            dependent: false,
            shared_bytes,
            args: args.to_vec(),
        };
        Machine::default()
            .run(&module, &mut memory, &launch, &Options::default())
            .map_err(|error| error.to_string())
    };
    assert!(launch("k", 64, 0, &good).is_ok());
    for (result, part) in [
        (launch("j", 64, 0, &good), "no such kernel"),
        (launch("k", 128, 0, &good), ".maxntid allows 64"),
        (launch("k", 2000, 0, &good), "1 to 1024"),
        (launch("k", 64, 1 << 20, &good), "shared memory"),
        (launch("k", 64, 0, &good[..1]), "1 arguments for 2"),
        (
            launch("k", 64, 0, &[a.into(), 5u64.into()]),
            "argument of 8 bytes for b, which has 4",
        ),
    ] {
        let message = result.unwrap_err();
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn the_lowest_faulty_block_is_reported() {
    let text = kernel(
        ".param .u64 out",
        "mov.u32 %r1, %ctaid.x; setp.gt.u32 %p1, %r1, 20; @%p1 trap;",
    );
    let module = module(&text);
    for _ in 0..20 {
        let mut memory = Memory::new();
        let out = memory.alloc("out", 4);
        let error = run(
            &module,
            &mut memory,
            [500, 1, 1],
            [32, 1, 1],
            vec![out.into()],
            &Options::default(),
        );
        assert_eq!(error.unwrap_err().fault().unwrap().block, [21, 0, 0]);
    }
}

#[test]
fn a_launch_that_may_start_early_waits_for_the_one_before() {
    let fault_of = |dependent: bool, body: &str| {
        let start = "ld.param.u64 %d1, [out]; mov.u32 %r1, %tid.x;";
        let module = module(&kernel(".param .u64 out", &format!("{start}\n{body}")));
        let mut memory = Memory::new();
        let out = memory.alloc_u32("out", &[7; 64]);
        let launch = Launch {
            entry: "k".into(),
            grid: [2, 1, 1],
            block: [64, 1, 1],
            cluster: None,
            dependent,
            shared_bytes: 0,
            args: vec![out.into()],
        };
        let ran = Machine::default().run(&module, &mut memory, &launch, &Options::default());
        ran.err()
            .map(|error| error.fault().expect("a fault").clone())
    };
    let read = "ld.global.u32 %r2, [%d1];";
    // A thread waits, the block's barrier stands between.
    let waits =
        "setp.ne.u32 %p1, %r1, 0; @%p1 bra behind; griddepcontrol.wait; behind: bar.sync 0;";
    assert_eq!(fault_of(false, read), None);
    assert_eq!(
        fault_of(
            true,
            &format!("griddepcontrol.launch_dependents; {waits} {read}")
        ),
        None
    );
    let fault = fault_of(
        true,
        &format!("griddepcontrol.launch_dependents;\n{read}\n{waits}"),
    )
    .unwrap();
    assert_eq!(fault.kind, FaultKind::GridNotWaited);
    assert_eq!(fault.text, read);
    assert!(fault.detail.contains("griddepcontrol.wait"), "{fault}");
}

#[test]
fn griddepcontrol_says_what_it_takes() {
    let text = ".version 8.0\n.target sm_90\n.address_size 64
        .visible .entry k() { griddepcontrol.start; ret; }";
    let error = Module::parse(text).unwrap().check("k").unwrap_err();
    let message = error.to_string();
    assert!(message.contains(".wait, .launch_dependents"), "{message}");
}
