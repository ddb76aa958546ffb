//! Clusters of blocks: distributed shared memory, their barrier, multicast copies.

mod common;

use common::{kernel, module, run};
use ptx_vm::{
    Arg, Fault, FaultKind, Launch, Machine, Memory, Options, Report, RunError, Swizzle, TensorMap,
};

/// A kernel for clusters of `blocks` blocks in x.
fn clustered(parameters: &str, body: &str, blocks: u32) -> String {
    kernel(parameters, body).replacen(
        ")\n{",
        &format!(") .reqnctapercluster {blocks}, 1, 1\n{{"),
        1,
    )
}

fn words(text: &str, grid: u32, threads: u32, n: usize) -> Result<(Vec<u32>, Report), RunError> {
    let module = module(text);
    let mut memory = Memory::new();
    let out = memory.alloc_u32("out", &vec![0; n]);
    let options = Options {
        max_warp_instructions: 1 << 20,
        ..Options::default()
    };
    let report = run(
        &module,
        &mut memory,
        [grid, 1, 1],
        [threads, 1, 1],
        vec![out.into()],
        &options,
    )?;
    Ok((memory.read_u32(out, n).expect("written"), report))
}

fn fault(text: &str, grid: u32, threads: u32) -> Fault {
    match words(text, grid, threads, 1024) {
        Err(RunError::Fault(fault)) => *fault,
        other => panic!("a fault was expected, not {other:?}"),
    }
}

#[test]
fn special_registers_of_clusters() {
    let text = clustered(
        ".param .u64 out",
        "ld.param.u64 %d1, [out]; mov.u32 %r1, %ctaid.x; mul.wide.u32 %d2, %r1, 20; add.s64 %d1, %d1, %d2;
         mov.u32 %r2, %cluster_ctarank; mov.u32 %r3, %cluster_nctarank; mov.u32 %r4, %clusterid.x; mov.u32 %r5, %nclusterid.x;
         mov.u32 %r6, %cluster_ctaid.x;
         st.global.u32 [%d1], %r2; st.global.u32 [%d1+4], %r3; st.global.u32 [%d1+8], %r4; st.global.u32 [%d1+12], %r5;
         st.global.u32 [%d1+16], %r6;",
        2,
    );
    let (out, report) = words(&text, 6, 1, 30).unwrap();
    for block in 0..6 {
        assert_eq!(
            out[5 * block as usize..][..5],
            [block % 2, 2, block / 2, 3, block % 2]
        );
    }
    assert_eq!((report.blocks, report.threads), (6, 6));
}

/// Each block writes its words, and reads those of the next rank of its cluster of 4.
fn neighbours(first: &str, last: &str) -> String {
    clustered(
        ".param .u64 out",
        &format!(
            ".shared .align 4 .b8 s[256];
             ld.param.u64 %d1, [out]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, s;
             mad.lo.u32 %r4, %r2, 64, %r1; mul.wide.u32 %d2, %r4, 4; add.s64 %d1, %d1, %d2;
             mad.lo.u32 %r5, %r1, 4, %r3; st.shared.u32 [%r5], %r4;
             {first}
             mov.u32 %r6, %cluster_ctarank; add.u32 %r6, %r6, 1; and.b32 %r6, %r6, 3;
             mapa.shared::cluster.u32 %r7, %r5, %r6; ld.shared::cluster.u32 %r8, [%r7];
             getctarank.shared::cluster.u32 %r9, %r7; mad.lo.u32 %r8, %r9, 1000, %r8;
             st.global.u32 [%d1], %r8;
             {last}"
        ),
        4,
    )
}

const SYNC: &str = "barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;";

#[test]
fn blocks_read_each_other_behind_the_cluster_barrier() {
    let (out, _) = words(&neighbours(SYNC, SYNC), 8, 64, 512).unwrap();
    for (at, got) in out.iter().enumerate() {
        let (block, thread) = (at as u32 / 64, at as u32 % 64);
        let peer = block / 4 * 4 + (block + 1) % 4;
        assert_eq!(*got, peer * 64 + thread + 1000 * (peer % 4));
    }
    // The generic address of a peer's word works as well.
    let generic = neighbours(SYNC, SYNC).replace(
        "mapa.shared::cluster.u32 %r7, %r5, %r6; ld.shared::cluster.u32 %r8, [%r7];",
        "mapa.shared::cluster.u32 %r7, %r5, %r6; cvt.u64.u32 %d4, %r5; cvta.shared.u64 %d4, %d4; mapa.u64 %d5, %d4, %r6; ld.u32 %r8, [%d5];",
    );
    assert_eq!(words(&generic, 8, 64, 512).unwrap().0, out);
}

#[test]
fn a_missing_or_relaxed_cluster_barrier_is_a_race() {
    let missing = fault(&neighbours("bar.sync 0;", ""), 8, 64);
    assert_eq!(missing.kind, FaultKind::SharedRace, "{missing}");
    let relaxed = SYNC.replace("arrive.release", "arrive.relaxed");
    let unordered = fault(&neighbours(&relaxed, ""), 8, 64);
    assert_eq!(unordered.kind, FaultKind::SharedRace, "{unordered}");
    let alone = "barrier.cluster.wait.acquire.aligned;";
    assert_eq!(
        fault(&neighbours(alone, ""), 4, 64).kind,
        FaultKind::InvalidOperand
    );
    // One block that waits for an mbarrier of its own instead of arriving.
    let stuck = neighbours(
        "mov.u32 %r10, %cluster_ctarank; setp.eq.u32 %p1, %r10, 2; @%p1 mbarrier.init.shared.b64 [s], 1;
         never: @%p1 mbarrier.try_wait.parity.shared.b64 %p2, [s], 0;
         @%p1 bra never;
         barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;",
        "",
    );
    assert_eq!(
        fault(
            &stuck.replace("[s]", "[m]").replace(
                ".shared .align 4 .b8 s[256];",
                ".shared .align 4 .b8 s[256]; .shared .b64 m;"
            ),
            4,
            1
        )
        .kind,
        FaultKind::Deadlock
    );
    let outside = fault(
        &neighbours(
            "mov.u32 %r6, 4; mapa.shared::cluster.u32 %r7, %r5, %r6;",
            "",
        ),
        4,
        64,
    );
    assert!(
        outside.detail.contains("rank 4 in a cluster of 4"),
        "{outside}"
    );
}

#[test]
fn multicast_copies_reach_every_block_of_the_mask() {
    // Rank 0 copies one row to both blocks; each waits at its own mbarrier, then rank 1 tells
    // rank 0 through its mbarrier that it is done.
    let text = clustered(
        ".param .u64 map, .param .u64 out",
        ".shared .align 128 .b8 s[128]; .shared .align 8 .b64 full; .shared .align 8 .b64 done;
         ld.param.u64 %d1, [map]; ld.param.u64 %d2, [out]; mov.u32 %r1, %tid.x; mov.u32 %r2, %cluster_ctarank;
         mov.u32 %r3, s; mov.u32 %r4, full; mov.u32 %r5, done; mov.u32 %r6, 0; mov.u16 %h1, 3;
         setp.eq.u32 %p1, %r1, 0; setp.eq.and.u32 %p2, %r2, 0, %p1;
         @%p1 mbarrier.init.shared.b64 [%r4], 1; @%p1 mbarrier.init.shared.b64 [%r5], 1;
         @%p1 fence.mbarrier_init.release.cluster;
         barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
         @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [%r4], 128;
         @%p2 cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r3], [%d1, {%r6}], [%r4], %h1;
         wait:
         mbarrier.try_wait.parity.shared.b64 %p3, [%r4], 0;
         @!%p3 bra wait;
         mad.lo.u32 %r7, %r1, 4, %r3; ld.shared.u32 %r8, [%r7];
         mad.lo.u32 %r9, %r2, 32, %r1; mul.wide.u32 %d3, %r9, 4; add.s64 %d3, %d2, %d3; st.global.u32 [%d3], %r8;
         mapa.shared::cluster.u32 %r10, %r5, 0;
         setp.eq.and.u32 %p4, %r2, 1, %p1;
         @%p4 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r10];
         setp.ne.u32 %p5, %r2, 0;
         @%p5 bra end;
         tell:
         mbarrier.try_wait.parity.acquire.cluster.shared.b64 %p3, [%r5], 0;
         @!%p3 bra tell;
         end:",
        2,
    );
    let module = module(&text);
    let mut memory = Memory::new();
    let base = memory.alloc_u32("row", &(100..132).collect::<Vec<_>>());
    let map = TensorMap {
        base,
        element_bytes: 4,
        sizes: vec![32],
        strides: vec![],
        box_sizes: vec![32],
        swizzle: Swizzle::None,
    };
    let map = map.alloc(&mut memory, "map").unwrap();
    let out = memory.alloc("out", 256);
    let args: Vec<Arg> = vec![map.into(), out.into()];
    let report = run(
        &module,
        &mut memory,
        [2, 1, 1],
        [32, 1, 1],
        args,
        &Options::default(),
    )
    .unwrap_or_else(|error| panic!("{error}"));
    let got = memory.read_u32(out, 64).unwrap();
    assert_eq!(got[..32], (100..132).collect::<Vec<_>>());
    assert_eq!(got[32..], got[..32]);
    // Read once from global memory, written twice to shared memory.
    assert_eq!(report.global.load_bytes, 128);
}

#[test]
fn clusters_divide_the_grid() {
    let module = module(&clustered(".param .u64 out", "", 2));
    let mut memory = Memory::new();
    let out = memory.alloc("out", 4);
    let mut launch = |grid: u32, cluster| {
        let launch = Launch {
            entry: "k".into(),
            grid: [grid, 1, 1],
            block: [32, 1, 1],
            cluster,
            dependent: false,
            shared_bytes: 0,
            args: vec![out.into()],
        };
        Machine::default()
            .run(&module, &mut memory, &launch, &Options::default())
            .map_err(|e| e.to_string())
    };
    assert!(launch(4, None).is_ok());
    assert!(launch(4, Some([2, 1, 1])).is_ok());
    assert!(launch(3, None).unwrap_err().contains("divide the grid"));
    assert!(
        launch(4, Some([4, 1, 1]))
            .unwrap_err()
            .contains(".reqnctapercluster demands")
    );
}
