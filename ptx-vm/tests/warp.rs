//! Control flow, warp-wide instructions, barriers, memory spaces, atomics, calls.

mod common;

use common::{kernel, module, run, run_out};
use ptx_vm::{Memory, Options};

/// Runs `body`, which leaves one word per thread in `%r0`.
fn per_thread(body: &str, threads: u32) -> Vec<u32> {
    let text = kernel(
        ".param .u64 out",
        &format!(
            "ld.param.u64 %d31, [out]; mov.u32 %r31, %tid.x; mul.wide.u32 %d30, %r31, 4;\n\
             add.s64 %d31, %d31, %d30; mov.b32 %r0, 0;\n{body}\nst.global.b32 [%d31], %r0;"
        ),
    );
    run_out(&text, threads, threads as usize)
        .unwrap_or_else(|error| panic!("{error}\n{body}"))
        .0
}

fn lanes(f: impl Fn(u32) -> u32) -> Vec<u32> {
    (0..32).map(f).collect()
}

#[test]
fn special_registers() {
    assert_eq!(per_thread("mov.u32 %r0, %laneid;", 32), lanes(|l| l));
    assert_eq!(per_thread("mov.u32 %r0, %warpid;", 96)[64..], [2; 32]);
    assert_eq!(per_thread("mov.u32 %r0, %ntid.x;", 40), [40; 40]);
    assert_eq!(
        per_thread("mov.u32 %r0, %lanemask_lt;", 32),
        lanes(|l| (1 << l) - 1)
    );
    assert_eq!(
        per_thread("mov.u32 %r0, %lanemask_ge;", 32),
        lanes(|l| u32::MAX << l)
    );
    assert_eq!(per_thread("mov.u32 %r0, %nsmid;", 1), [132]);
    let clock = "mov.u64 %d1, %clock64; mov.u64 %d2, %globaltimer; setp.gt.u64 %p1, %d2, %d1; selp.b32 %r0, 1, 0, %p1;";
    assert_eq!(per_thread(clock, 1), [1]);
}

#[test]
fn grid_and_block_coordinates() {
    let text = kernel(
        ".param .u64 out",
        "ld.param.u64 %d1, [out];
         mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mov.u32 %r3, %tid.z;
         mov.u32 %r4, %ctaid.x; mov.u32 %r5, %ctaid.y; mov.u32 %r6, %ctaid.z;
         mov.u32 %r7, %nctaid.y; mov.u32 %r8, %ntid.y;
         mad.lo.s32 %r9, %r6, %r7, %r5;   // block row
         mad.lo.s32 %r9, %r9, 2, %r4;     // linear block
         mad.lo.s32 %r10, %r3, %r8, %r2;
         mad.lo.s32 %r10, %r10, 4, %r1;   // linear thread
         mad.lo.s32 %r11, %r9, 24, %r10;
         mul.wide.u32 %d2, %r11, 4; add.s64 %d1, %d1, %d2;
         st.global.u32 [%d1], %r11;",
    );
    let module = module(&text);
    let mut memory = Memory::new();
    let n = 2 * 3 * 2 * 24;
    let out = memory.alloc("out", n * 4);
    let report = run(
        &module,
        &mut memory,
        [2, 3, 2],
        [4, 3, 2],
        vec![out.into()],
        &Options::default(),
    )
    .unwrap();
    assert_eq!(
        memory.read_u32(out, n).unwrap(),
        (0..n as u32).collect::<Vec<_>>()
    );
    assert_eq!((report.blocks, report.threads), (12, n as u64));
}

#[test]
fn lanes_part_and_meet() {
    // Sum of 1..=lane by a loop with a trip count per lane, then a full-warp vote.
    let body = "
        mov.u32 %r1, %laneid;
        setp.eq.u32 %p1, %r1, 0;
        @%p1 bra done;
    again:
        add.u32 %r0, %r0, %r1;
        add.s32 %r1, %r1, -1;
        setp.ne.s32 %p2, %r1, 0;
        @%p2 bra again;
    done:
        vote.sync.ballot.b32 %r2, 1, -1;
        add.u32 %r0, %r0, %r2;";
    assert_eq!(
        per_thread(body, 32),
        lanes(|l| (l * (l + 1) / 2).wrapping_sub(1))
    );
    // Nested if-else: both sides run, each for its lanes.
    let body = "
        mov.u32 %r1, %laneid; and.b32 %r2, %r1, 1; and.b32 %r3, %r1, 2;
        setp.eq.u32 %p1, %r2, 0; setp.eq.u32 %p2, %r3, 0;
        @%p1 bra even;
        mov.u32 %r0, 10;
        @%p2 bra join;
        mov.u32 %r0, 20;
        bra.uni join;
    even:
        mov.u32 %r0, 30;
        activemask.b32 %r4;
        setp.eq.b32 %p3, %r4, 0x55555555;
        @%p3 add.u32 %r0, %r0, 1;
    join:
        vote.sync.all.pred %p4, 1, -1;
        @%p4 add.u32 %r0, %r0, 100;";
    assert_eq!(
        per_thread(body, 32),
        lanes(|l| match l % 4 {
            0 | 2 => 131,
            1 => 110,
            _ => 120,
        })
    );
}

#[test]
fn indexed_branches() {
    let body = "
        mov.u32 %r1, %laneid; and.b32 %r1, %r1, 3;
    table: .branchtargets zero, one, two, zero;
        brx.idx %r1, table;
    one:
        mov.u32 %r0, 1;
        bra.uni end;
    two:
        mov.u32 %r0, 2;
        bra.uni end;
    zero:
        mov.u32 %r0, 7;
    end:
        vote.sync.any.pred %p4, 1, -1;
        @%p4 add.u32 %r0, %r0, 100;";
    assert_eq!(
        per_thread(body, 32),
        lanes(|l| [107, 101, 102, 107][l as usize % 4])
    );
}

#[test]
fn early_exit_of_some_lanes() {
    let text = kernel(
        ".param .u64 out",
        "ld.param.u64 %d1, [out]; mov.u32 %r1, %tid.x; setp.gt.u32 %p1, %r1, 9; @%p1 exit;
         mul.wide.u32 %d2, %r1, 4; add.s64 %d1, %d1, %d2; st.global.u32 [%d1], %r1;",
    );
    let (out, report) = run_out(&text, 64, 64).unwrap();
    assert_eq!(out[..10], (0..10).collect::<Vec<_>>());
    assert_eq!(out[10..], [0xdead_beef; 54]);
    assert_eq!(report.global.store_bytes, 40);
}

#[test]
fn shuffles_follow_the_isa() {
    let shuffle = |what: &str| {
        per_thread(
            &format!(
                "mov.u32 %r1, %laneid; shfl.sync.{what}, -1; selp.b32 %r3, 1000, 0, %p1; add.u32 %r0, %r2, %r3;"
            ),
            32,
        )
    };
    assert_eq!(shuffle("idx.b32 %r2|%p1, %r1, 5, 31"), lanes(|_| 1005));
    assert_eq!(
        shuffle("bfly.b32 %r2|%p1, %r1, 1, 31"),
        lanes(|l| 1000 + (l ^ 1))
    );
    assert_eq!(
        shuffle("up.b32 %r2|%p1, %r1, 3, 0"),
        lanes(|l| if l >= 3 { 1000 + l - 3 } else { l })
    );
    assert_eq!(
        shuffle("down.b32 %r2|%p1, %r1, 3, 31"),
        lanes(|l| if l < 29 { 1003 + l } else { l })
    );
    // Segments of 8 lanes: the clamp is the last lane of the segment.
    assert_eq!(
        shuffle("down.b32 %r2|%p1, %r1, 3, 0x1807"),
        lanes(|l| if l % 8 < 5 { 1003 + l } else { l })
    );
    assert_eq!(
        shuffle("idx.b32 %r2|%p1, %r1, 9, 0x181f"),
        lanes(|l| 1000 + (l & !7) + 1)
    );
}

#[test]
fn votes_matches_and_reductions() {
    assert_eq!(
        per_thread(
            "mov.u32 %r1, %laneid; setp.lt.u32 %p1, %r1, 4; vote.sync.ballot.b32 %r0, %p1, -1;",
            32
        ),
        [15; 32]
    );
    assert_eq!(
        per_thread(
            "mov.u32 %r1, %laneid; setp.lt.u32 %p1, %r1, 4; vote.sync.uni.pred %p2, %p1, -1; selp.b32 %r0, 1, 0, %p2;",
            32
        ),
        [0; 32]
    );
    assert_eq!(
        per_thread(
            "mov.u32 %r1, %laneid; shr.u32 %r1, %r1, 4; match.any.sync.b32 %r0, %r1, -1;",
            32
        )[..16],
        [0xffff; 16]
    );
    assert_eq!(
        per_thread("match.all.sync.b32 %r0|%p1, 5, -1;", 32),
        [u32::MAX; 32]
    );
    assert_eq!(
        per_thread("mov.u32 %r1, %laneid; redux.sync.add.u32 %r0, %r1, -1;", 32),
        [496; 32]
    );
    assert_eq!(
        per_thread(
            "mov.u32 %r1, %laneid; neg.s32 %r1, %r1; redux.sync.min.s32 %r0, %r1, -1;",
            32
        ),
        [-31i32 as u32; 32]
    );
    assert_eq!(
        per_thread("elect.sync _|%p1, -1; selp.b32 %r0, 1, 0, %p1;", 32),
        lanes(|l| u32::from(l == 0))
    );
}

#[test]
fn barriers_and_shared_memory() {
    // Reverses 128 words through shared memory.
    let body = "
        .shared .align 4 .b8 buffer[512];
        mov.u32 %r1, buffer; mad.lo.u32 %r2, %r31, 4, %r1;
        st.shared.u32 [%r2], %r31;
        bar.sync 0;
        sub.u32 %r3, 127, %r31; mad.lo.u32 %r2, %r3, 4, %r1;
        ld.shared.u32 %r0, [%r2];";
    assert_eq!(per_thread(body, 128), (0..128).rev().collect::<Vec<_>>());
    let votes = "setp.lt.u32 %p1, %r31, 40; barrier.red.popc.u32 %r0, 0, %p1;";
    assert_eq!(per_thread(votes, 64), [40; 64]);
    let votes = "setp.lt.u32 %p1, %r31, 40; bar.red.or.pred %p2, 0, %p1; selp.b32 %r0, 1, 0, %p2;";
    assert_eq!(per_thread(votes, 64), [1; 64]);
    // Producer and consumer: warp 0 arrives, warp 1 waits for both.
    let body = "
        .shared .align 4 .b8 buffer[128];
        mov.u32 %r5, %laneid; mov.u32 %r1, buffer; mad.lo.u32 %r2, %r5, 4, %r1;
        setp.lt.u32 %p1, %r31, 32;
        @!%p1 bra consume;
        st.shared.u32 [%r2], %r31;
        barrier.cta.arrive.aligned 1, 64;
        bra.uni end;
    consume:
        barrier.cta.sync.aligned 1, 64;
        ld.shared.u32 %r0, [%r2];
    end:";
    assert_eq!(per_thread(body, 64)[32..], (0..32).collect::<Vec<_>>());
    // Lanes of one warp exchange through shared memory with a warp barrier.
    let body = "
        .shared .align 4 .b8 buffer[128];
        mov.u32 %r1, buffer; mad.lo.u32 %r2, %r31, 4, %r1;
        st.shared.u32 [%r2], %r31; bar.warp.sync -1; xor.b32 %r3, %r31, 1; mad.lo.u32 %r2, %r3, 4, %r1; ld.shared.u32 %r0, [%r2];";
    assert_eq!(per_thread(body, 32), lanes(|l| l ^ 1));
}

#[test]
fn loads_and_stores_of_every_width() {
    let text = kernel(
        ".param .u64 out",
        "ld.param.u64 %d1, [out];
         mov.u32 %r1, 0x80f1; st.global.u32 [%d1], %r1;
         ld.global.u8 %r2, [%d1]; st.global.u32 [%d1+4], %r2;
         ld.global.s8 %r2, [%d1]; st.global.u32 [%d1+8], %r2;
         ld.global.s16 %r2, [%d1]; st.global.u32 [%d1+12], %r2;
         ld.global.u16 %h2, [%d1]; cvt.u32.u16 %r2, %h2; st.global.u32 [%d1+16], %r2;
         ld.global.s8 %h2, [%d1]; cvt.u32.u16 %r2, %h2; st.global.u32 [%d1+20], %r2;
         st.global.u8 [%d1+25], %r1; st.global.u16 [%d1+26], %h2;
         mov.u64 %d2, 0x1122334455667788; st.global.u64 [%d1+32], %d2;
         ld.global.v2.u32 {%r3, %r4}, [%d1+32]; st.global.v2.u32 [%d1+40], {%r4, %r3};
         ld.global.nc.v4.u32 {%r3, %r4, %r5, %r6}, [%d1+32];
         st.global.v4.u32 [%d1+48], {%r6, %r5, %r4, %r3};
         ld.global.v2.u64 {%d3, %d4}, [%d1+32]; xor.b64 %d3, %d3, %d4; st.global.u64 [%d1+64], %d3;
         ld.global.v4.u8 {%r3, %r4, %r5, %r6}, [%d1+32]; st.global.u32 [%d1+72], %r6;
         ld.global.L1::no_allocate.L2::128B.u32 %r3, [%d1]; st.global.cs.u32 [%d1+76], %r3;",
    );
    let (out, _) = run_out(&text, 1, 20).unwrap();
    let words = [
        0x80f1,
        0xf1,
        0xffff_fff1,
        0xffff_80f1,
        0x80f1,
        0xfff1,
        0xfff1_f1ef,
        0xdead_beef,
        0x5566_7788,
        0x1122_3344,
        0x1122_3344,
        0x5566_7788,
        0x5566_7788,
        0x1122_3344,
        0x1122_3344,
        0x5566_7788,
        0x5566_7788 ^ 0x1122_3344,
        0x1122_3344 ^ 0x5566_7788,
        0x55,
        0x80f1,
    ];
    assert_eq!(out, words);
}

#[test]
fn generic_addresses_reach_every_space() {
    let body = "
        .shared .align 8 .b8 s[256];
        .local .align 8 .b8 l[16];
        mov.u64 %d1, s; cvta.shared.u64 %d1, %d1; mad.wide.u32 %d1, %r31, 4, %d1;
        st.u32 [%d1], %r31; ld.u32 %r1, [%d1];
        mov.u64 %d2, l; cvta.local.u64 %d3, %d2;
        st.local.u32 [%d2+4], %r1; ld.u32 %r2, [%d3+4];
        st.u32 [%d31], %r2; ld.u32 %r0, [%d31];
        cvta.to.shared.u64 %d4, %d1; ld.shared.u32 %r3, [%d4]; add.u32 %r0, %r0, %r3;
        isspacep.shared %p1, %d1; @%p1 add.u32 %r0, %r0, 100;
        isspacep.global %p1, %d31; @%p1 add.u32 %r0, %r0, 1000;
        isspacep.local %p1, %d1; @%p1 add.u32 %r0, %r0, 10000;";
    assert_eq!(per_thread(body, 32), lanes(|l| 1100 + 2 * l));
    // One instruction whose lanes go to two spaces.
    let body = "
        .shared .align 8 .b8 s[256];
        mov.u64 %d1, s; cvta.shared.u64 %d1, %d1; mad.wide.u32 %d1, %r31, 4, %d1;
        and.b32 %r1, %r31, 1; setp.eq.u32 %p1, %r1, 0; selp.b64 %d2, %d1, %d31, %p1;
        st.u32 [%d2], %r31; ld.u32 %r0, [%d2];";
    assert_eq!(per_thread(body, 32), lanes(|l| l));
}

#[test]
fn module_variables_keep_their_values() {
    let text = ".version 8.0\n.target sm_90\n.address_size 64
        .const .align 4 .b8 table[8] = {1, 0, 0, 0, 2, 0, 0, 0};
        .global .align 4 .u32 counter = 5;
        .global .align 8 .f64 values[2] = {0d3FF0000000000000, 2.5};
        .visible .entry k(.param .u64 out) {
            .reg .b32 %r<4>; .reg .b64 %d<4>; .reg .f64 %f<2>;
            ld.param.u64 %d1, [out];
            ld.const.u32 %r1, [table+4]; st.global.u32 [%d1], %r1;
            atom.global.add.u32 %r2, [counter], 1; st.global.u32 [%d1+4], %r2;
            ld.global.f64 %f1, [values+8]; st.global.f64 [%d1+8], %f1;
            ret;
        }";
    let module = module(text);
    let mut memory = Memory::new();
    let out = memory.alloc("out", 16);
    for launch in 0..2 {
        run(
            &module,
            &mut memory,
            [1; 3],
            [1; 3],
            vec![out.into()],
            &Options::default(),
        )
        .unwrap();
        assert_eq!(
            memory.read_u32(out, 4).unwrap(),
            [2, 5 + launch, 0, 0x4004_0000]
        );
    }
    assert_eq!(
        memory
            .read_u32(module.variable("counter").unwrap(), 1)
            .unwrap(),
        [7]
    );
}

#[test]
fn atomics_add_up() {
    let text = kernel(
        ".param .u64 out",
        ".shared .align 8 .b8 s[8];
         ld.param.u64 %d1, [out]; mov.u32 %r1, %tid.x; mov.u32 %r9, s;
         setp.eq.u32 %p1, %r1, 0; @%p1 st.shared.u32 [%r9], 0; bar.sync 0;
         atom.shared.add.u32 %r2, [%r9], %r1; red.global.add.u32 [%d1], %r1;
         atom.global.max.s32 %r3, [%d1+4], %r1; atom.global.min.u32 %r3, [%d1+8], %r1;
         atom.global.or.b32 %r3, [%d1+12], %r1; red.global.xor.b32 [%d1+16], %r1;
         atom.global.inc.u32 %r3, [%d1+20], 9; atom.global.dec.u32 %r3, [%d1+24], 9;
         atom.global.cas.b32 %r3, [%d1+28], 3735928559, %r1;
         mov.b32 %r4, 0f3F800000; red.global.add.f32 [%d1+32], %r4;
         cvt.u64.u32 %d3, %r1; atom.global.add.u64 %d2, [%d1+40], %d3;
         atom.global.and.b32 %r3, [%d1+48], 240; atom.global.exch.b32 %r3, [%d1+52], 77;
         bar.sync 0; @!%p1 ret; ld.shared.u32 %r5, [%r9]; st.global.u32 [%d1+36], %r5;",
    );
    let module = module(&text);
    let mut memory = Memory::new();
    let mut start = [0u32; 14];
    start[1] = -5i32 as u32;
    start[2] = 3;
    start[7] = 0xdead_beef;
    start[12] = 0xfff;
    let out = memory.alloc_u32("out", &start);
    run(
        &module,
        &mut memory,
        [1; 3],
        [64, 1, 1],
        vec![out.into()],
        &Options::default(),
    )
    .unwrap();
    let sum = 64 * 63 / 2;
    let got = memory.read_u32(out, 14).unwrap();
    // 64 increments modulo 10, 64 decrements from 0 modulo 10.
    assert_eq!(
        got,
        [
            sum,
            63,
            0,
            63,
            0,
            4,
            6,
            0,
            64f32.to_bits(),
            sum,
            sum,
            0,
            0xf0,
            77
        ]
    );
}

#[test]
fn async_copies_fill_with_zeros_and_become_visible() {
    let text = kernel(
        ".param .u64 out",
        ".shared .align 16 .b8 s[64];
         ld.param.u64 %d1, [out]; mov.u32 %r1, s;
         cp.async.ca.shared.global [%r1], [%d1], 4;
         cp.async.ca.shared.global [%r1+8], [%d1+8], 8, 4;
         cp.async.commit_group;
         cp.async.cg.shared.global.L2::128B [%r1+16], [%d1+16], 16;
         cp.async.cg.shared.global [%r1+32], [%d1+16], 16, 0;
         cp.async.commit_group;
         cp.async.wait_group 1;
         ld.shared.u32 %r2, [%r1]; ld.shared.v2.u32 {%r3, %r4}, [%r1+8];
         cp.async.wait_all;
         ld.shared.v4.u32 {%r5, %r6, %r7, %r8}, [%r1+16]; ld.shared.v4.u32 {%r9, %r10, %r11, %r12}, [%r1+32];
         st.global.v4.u32 [%d1+32], {%r2, %r3, %r4, %r5}; st.global.v4.u32 [%d1+48], {%r8, %r9, %r10, %r12};",
    );
    let module = module(&text);
    let mut memory = Memory::new();
    let out = memory.alloc_u32("out", &(1..17).collect::<Vec<_>>());
    let report = run(
        &module,
        &mut memory,
        [1; 3],
        [1; 3],
        vec![out.into()],
        &Options::default(),
    )
    .unwrap();
    assert_eq!(
        memory.read_u32(out, 16).unwrap()[8..],
        [1, 3, 0, 5, 8, 0, 0, 0]
    );
    assert_eq!(report.global.load_bytes, 4 + 4 + 16);
}

#[test]
fn cache_hints_change_nothing() {
    let text = kernel(
        ".param .u64 out",
        ".shared .align 16 .b8 s[16]; ld.param.u64 %d1, [out]; mov.u32 %r5, s;
         createpolicy.fractional.L2::evict_first.b64 %d2, 1.0;
         st.global.L2::cache_hint.u32 [%d1], 7, %d2; ld.global.L2::cache_hint.u32 %r1, [%d1], %d2;
         prefetch.global.L2 [%d1];
         cp.async.cg.shared.global.L2::cache_hint [%r5], [%d1], 16, %d2; cp.async.wait_all;
         ld.shared.u32 %r2, [%r5]; add.u32 %r1, %r1, %r2;
         st.global.L1::no_allocate.u32 [%d1+4], %r1;",
    );
    assert_eq!(run_out(&text, 1, 4).unwrap().0[..2], [7, 14]);
}

#[test]
fn functions_are_inlined() {
    let text = ".version 8.0\n.target sm_90\n.address_size 64
        .func (.param .b32 result) twice(.param .b32 x, .param .align 8 .b8 pair[16])
        {
            .reg .b32 %r<4>; .reg .pred %p;
            ld.param.b32 %r1, [x]; ld.param.b32 %r3, [pair+8];
            setp.gt.u32 %p, %r1, 20; @%p bra big;
            add.u32 %r2, %r1, %r1; add.u32 %r2, %r2, %r3;
            st.param.b32 [result], %r2;
            ret;
        big:
            st.param.b32 [result], %r1;
            ret;
        }
        .visible .entry k(.param .u64 out) {
            .reg .b32 %r<4>; .reg .b64 %d<4>;
            ld.param.u64 %d1, [out]; mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, 4; add.s64 %d1, %d1, %d2;
            { .param .b32 p0; .param .align 8 .b8 p1[16]; .param .b32 q;
              st.param.b32 [p0], %r1; st.param.b32 [p1+8], 1000;
              call.uni (q), twice, (p0, p1);
              ld.param.b32 %r2, [q]; }
            { .param .b32 p0; .param .align 8 .b8 p1[16]; .param .b32 q;
              st.param.b32 [p0], %r2; st.param.b32 [p1+8], 1;
              call.uni (q), twice, (p0, p1);
              ld.param.b32 %r2, [q]; }
            st.global.u32 [%d1], %r2;
            ret;
        }";
    let (out, _) = run_out(text, 32, 32).unwrap();
    let twice = |x: u32, y: u32| if x > 20 { x } else { 2 * x + y };
    assert_eq!(out, lanes(|l| twice(twice(l, 1000), 1)));
}
