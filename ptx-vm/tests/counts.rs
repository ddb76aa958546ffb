//! Counters of kernels whose traffic is known.

mod common;

use common::{kernel, module, run};
use ptx_vm::{Checks, Memory, Options, Report};

/// Runs `body` on `threads` threads of `blocks` blocks; `%d1` is an array of 65536 words, `%r1`
/// the thread, `%r2` the block, `s` 8 KiB of shared memory.
fn count(body: &str, blocks: u32, threads: u32) -> Report {
    let text = kernel(
        ".param .u64 x",
        &format!(
            ".shared .align 16 .b8 s[8192]; ld.param.u64 %d1, [x]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x;
             mov.u32 %r3, s;\n{body}"
        ),
    );
    let module = module(&text);
    let mut memory = Memory::new();
    let x = memory.alloc_u32("x", &vec![1; 65536]);
    let options = Options {
        checks: Checks {
            races: false,
            uninitialized: false,
            ..Checks::ALL
        },
        ..Options::default()
    };
    run(
        &module,
        &mut memory,
        [blocks, 1, 1],
        [threads, 1, 1],
        vec![x.into()],
        &options,
    )
    .unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn sectors_follow_the_stride() {
    for (stride, per_load) in [
        (4, 4.0),
        (8, 8.0),
        (16, 16.0),
        (32, 32.0),
        (128, 32.0),
        (0, 1.0),
    ] {
        let report = count(
            &format!("mad.wide.u32 %d2, %r1, {stride}, %d1; ld.global.u32 %r4, [%d2];"),
            1,
            64,
        );
        assert_eq!(report.sectors_per_load(), Some(per_load), "stride {stride}");
        assert_eq!(report.global.load_bytes, 256);
        let unique = if stride == 0 { 4 } else { 256 };
        assert_eq!(report.unique_bytes(), unique);
        assert_eq!(report.levels().l2, 32 * 2 * per_load as u64);
    }
    let wide = count(
        "mad.wide.u32 %d2, %r1, 16, %d1; ld.global.v4.u32 {%r4, %r5, %r6, %r7}, [%d2];",
        1,
        32,
    );
    assert_eq!(
        (wide.global.load_bytes, wide.sectors_per_load()),
        (512, Some(16.0))
    );
}

#[test]
fn dram_traffic_is_the_footprint() {
    // Every block reads the same 1 KiB, and writes 4 bytes of its own in a sector of its own.
    let report = count(
        "mad.wide.u32 %d2, %r1, 4, %d1; ld.global.u32 %r4, [%d2];
         setp.eq.u32 %p1, %r1, 0; mad.wide.u32 %d3, %r2, 32, %d1; @%p1 st.global.u32 [%d3+4096], %r4;",
        10,
        256,
    );
    let levels = report.levels();
    assert_eq!((levels.dram_read, levels.dram_written), (1024, 320));
    assert_eq!(
        (levels.l2, levels.requested),
        (10 * (1024 + 32), 10 * (1024 + 4))
    );
    assert_eq!(
        (report.footprint.read_bytes, report.footprint.written_bytes),
        (1024, 40)
    );
    assert_eq!(report.footprints[0].name, "x");
}

#[test]
fn bank_conflicts_of_a_transposition() {
    let access = |pitch: u32| {
        // Lane l writes word (l, warp) of a tile with rows of `pitch` words.
        count(
            &format!(
                "mad.lo.u32 %r5, %r1, {}, %r3; st.shared.u32 [%r5], %r1;",
                pitch * 4
            ),
            1,
            32,
        )
    };
    assert_eq!(access(32).shared.conflicts(), 31);
    assert_eq!(access(33).shared.conflicts(), 0);
    assert_eq!(access(2).shared.conflicts(), 1);
    assert_eq!(access(33).shared.store_bytes, 128);
    let vectors = count(
        "mad.lo.u32 %r5, %r1, 16, %r3; ld.shared.v4.u32 {%r6, %r7, %r8, %r9}, [%r5];",
        1,
        32,
    );
    assert_eq!(
        (vectors.shared.wavefronts, vectors.shared.ideal_wavefronts),
        (4, 4)
    );
}

#[test]
fn operations_by_precision_without_predicated_threads() {
    let report = count(
        "setp.lt.u32 %p1, %r1, 10;
         @%p1 fma.rn.f32 %r4, %r4, %r4, %r4; add.rn.f32 %r4, %r4, %r4;
         fma.rn.f64 %d2, %d2, %d2, %d2; fma.rn.f16x2 %r4, %r4, %r4, %r4; fma.rn.bf16x2 %r4, %r4, %r4, %r4;
         min.f32 %r4, %r4, %r4; ex2.approx.f32 %r4, %r4;",
        1,
        32,
    );
    let flops = report.flops;
    assert_eq!(
        (flops.f32, flops.f64, flops.f16, flops.bf16),
        (2 * 10 + 32 + 32, 64, 128, 128)
    );
    assert_eq!((flops.fused, flops.approximate), (20 + 64 + 128 + 128, 32));
    assert_eq!(flops.total(), 84 + 64 + 256);
    assert_eq!(report.intensity(), None);
}

#[test]
fn counting_traffic_can_be_switched_off() {
    let text = kernel(
        ".param .u64 x",
        "ld.param.u64 %d1, [x]; mov.u32 %r1, %tid.x; mad.wide.u32 %d2, %r1, 4, %d1; ld.global.u32 %r4, [%d2];",
    );
    let module = module(&text);
    let mut memory = Memory::new();
    let x = memory.alloc_u32("x", &[1; 64]);
    let options = Options {
        traffic: false,
        ..Options::default()
    };
    let report = run(
        &module,
        &mut memory,
        [1; 3],
        [64, 1, 1],
        vec![x.into()],
        &options,
    )
    .unwrap();
    assert_eq!(
        (
            report.global.load_bytes,
            report.global.load_sectors,
            report.unique_bytes()
        ),
        (256, 0, 0)
    );
    assert_eq!(report.thread_instructions, 64 * 5);
}

#[test]
fn launches_that_belong_together_are_counted_together() {
    // y[i] = x[i] + x[i].
    let text = kernel(
        ".param .u64 x, .param .u64 y",
        "ld.param.u64 %d1, [x]; ld.param.u64 %d2, [y]; mov.u32 %r1, %tid.x;
         mad.wide.u32 %d3, %r1, 4, %d1; ld.global.f32 %r4, [%d3]; add.f32 %r4, %r4, %r4;
         mad.wide.u32 %d4, %r1, 4, %d2; st.global.f32 [%d4], %r4;",
    );
    let module = module(&text);
    let mut memory = Memory::new();
    let x = memory.alloc_f32("x", &[1.0; 96]);
    let y = memory.alloc("y", 384);
    let mut launch = |start: u64, continues| {
        let options = Options {
            continues,
            ..Options::default()
        };
        let args = vec![x.offset(start).into(), y.offset(start).into()];
        run(&module, &mut memory, [1; 3], [64, 1, 1], args, &options).unwrap()
    };
    let first = launch(0, false);
    assert_eq!(first.unique_bytes(), 2 * 256);
    // Half of what the second touches the first has touched.
    let second = launch(128, true);
    let both = second.clone().after(&first);
    assert_eq!(both.unique_bytes(), 2 * 384);
    assert_eq!(both.flops.f32, 128);
    assert_eq!(both.global.load_bytes, 2 * 256);
    assert_eq!((both.blocks, both.threads), (2, 128));
    assert_eq!(
        both.thread_instructions,
        first.thread_instructions + second.thread_instructions
    );
    let instructions = both.classes.iter().map(|(_, threads)| threads);
    assert_eq!(instructions.sum::<u64>(), both.thread_instructions);
    // Another that does not continue starts anew.
    assert_eq!(launch(0, false).unique_bytes(), 2 * 256);
}
