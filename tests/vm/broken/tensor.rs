//! The kernels on `wgmma`, and on bulk tensor copies, broken: their waits, their barriers, what they tell the
//! hardware.
//!
//! The VM tracks no fences: neither `wgmma.fence` nor those between the proxies. That they stand
//! where they must is read off the PTX.

use super::super::cases::{Case, plain};
use super::super::{ptx, verify};
use super::{Excuse, break_each, entries};
use rooftrace::device::cuda::Ptx;
use rooftrace::device::vm::{Target, VmDevice};

/// Kernels whose blocks compute one tile.
const ONE_TILE: &[&str] = &["gemm_bf16_one_stage", "gemm_bf16_pipelined"];

/// Kernels whose blocks stay for several tiles and write C through shared memory.
const STAYING: &[&str] = &[
    "gemm_bf16_flat",
    "gemm_bf16_middle",
    "gemm_bf16_middle_alone",
    "gemm_bf16_small",
    "gemm_bf16_specialised",
    "gemm_bf16_wide",
];

/// Barriers of a block without which nothing goes wrong on the VM.
pub const BARRIERS: &[Excuse] = &[
    Excuse {
        entries: ONE_TILE,
        statements: 3,
        _reason: "who makes the mbarriers comes first there; before the only tile of a block \
                  nothing is in the panel of C, whether C is added or not",
    },
    Excuse {
        entries: &["gemm_tf32_flat", "gemm_tf32_transposed"],
        statements: 1,
        _reason: MAKER_FIRST,
    },
];

/// Barriers of a warp without which nothing goes wrong there.
pub const WARP_BARRIERS: &[Excuse] = &[Excuse {
    entries: &["sgemm_bulk"],
    statements: 1,
    _reason: MAKER_FIRST,
}];

/// Why the barrier behind the making of the mbarriers is not missed.
const MAKER_FIRST: &str = "who makes the mbarriers comes first there";

/// What is said of memory that is used too early.
const TOO_EARLY: [&str; 4] = [
    "asynchronous copy not waited for",
    "data race in shared memory",
    "read of uninitialised memory",
    // A phase that was not waited for is filled twice.
    "1 arrivals at an mbarrier that awaits 0",
];

#[test]
fn a_phase_that_is_not_waited_for_is_noticed() {
    let parts_of_c = [Excuse {
        entries: &["sgemm_bulk"],
        statements: 1,
        _reason: "on the VM copies are complete in turn: who waits for the last part of C has all",
    }];
    for (kernels, least, excuses) in [
        ("gemm_", 12, &[][..]),
        ("sgemm_bulk", 4, &parts_of_c),
        ("sgemm_transposed", 4, &[]),
    ] {
        let found = break_each(
            kernels,
            "mbarrier.try_wait",
            |_| Some("setp.eq.u32 done, 0, 0".to_owned()),
            &TOO_EARLY,
            excuses,
        );
        assert!(found >= least, "{found} waits of {kernels} in all");
    }
}

#[test]
fn a_launch_that_does_not_wait_for_the_copies_before_it_is_noticed() {
    let found = break_each(
        "",
        "griddepcontrol.wait",
        |_| Some("membar.cta".to_owned()),
        &["launch before this one not waited for"],
        &[],
    );
    // Every kernel that reads copies.
    assert_eq!(found, 12);
}

#[test]
fn a_cluster_that_does_not_meet_is_noticed() {
    let found = break_each(
        "gemm_",
        "barrier.cluster.wait",
        |_| Some("membar.cta".to_owned()),
        &[
            "no mbarrier was initialised here",
            "data race in shared memory",
        ],
        &[Excuse {
            entries: &["gemm_bf16_flat", "gemm_bf16_middle", "gemm_bf16_wide"],
            statements: 1,
            _reason: "the last keeps the shared memory of blocks that end, as the VM does anyway",
        }],
    );
    assert!(found >= 3, "{found} waits in all");
}

#[test]
fn products_that_are_not_waited_for_are_noticed() {
    let found = break_each(
        "gemm_",
        "wgmma.wait_group",
        |_| Some("wgmma.wait_group.sync.aligned 7".to_owned()),
        &TOO_EARLY,
        &[Excuse {
            entries: &["gemm_bf16_one_stage"],
            statements: 1,
            _reason: "its loop leaves no product under way for the wait behind it",
        }],
    );
    assert!(found >= 12, "{found} waits in all");
}

#[test]
fn panels_of_c_that_are_not_waited_for_are_noticed() {
    let found = break_each(
        "gemm_",
        "cp.async.bulk.wait_group",
        |_| Some("membar.cta".to_owned()),
        &TOO_EARLY,
        &[
            Excuse {
                entries: ONE_TILE,
                statements: 3,
                _reason: "the first waits for nothing, whether C is added or not; the last keeps \
                          shared memory, as below",
            },
            Excuse {
                entries: STAYING,
                statements: 1,
                _reason: "the last keeps the shared memory of a block that ends, as the VM does \
                          anyway: it moves bytes when a copy starts",
            },
        ],
    );
    assert!(found >= 12, "{found} waits in all");
}

#[test]
fn a_stage_that_is_not_given_back_is_a_deadlock() {
    let found = break_each(
        "gemm_",
        "mbarrier.arrive.shared",
        |_| Some("membar.cta".to_owned()),
        &["deadlock"],
        &[],
    );
    assert!(found >= 6, "{found} arrivals in all");
}

#[test]
fn bytes_that_are_not_what_was_announced_are_a_deadlock() {
    let found = break_each(
        "",
        "mbarrier.arrive.expect_tx",
        |text| Some(format!("{}, 16", text.rsplit_once(',')?.0)),
        &["deadlock"],
        &[],
    );
    assert!(found >= 16, "{found} announcements in all");
}

/// Verifies the launches of every kernel of bfloat16 on `wgmma` with its text changed: what is said
/// of the first that fails.
fn wrong(change: impl Fn(&str) -> String) -> Vec<String> {
    let module = ptx(Target::Sm90a);
    let entries = entries(&module.text);
    let all = plain(Target::Sm90a);
    let broken = entries.iter().filter(|entry| {
        entry.name.starts_with("gemm_bf16_") && entry.text.contains("wgmma.mma_async")
    });
    broken
        .map(|entry| {
            let changed = change(entry.text);
            assert_ne!(changed, entry.text, "{}", entry.name);
            let ptx = Ptx {
                text: module.text.replace(entry.text, &changed),
                ..ptx(Target::Sm90a)
            };
            let mut cases = all.iter().filter(|case| case.launch().entry == entry.name);
            let failure = cases.find_map(|case: &Case| {
                let mut device = VmDevice::with(case.info.clone(), ptx.clone()).unwrap();
                verify(&mut device, case).failure
            });
            failure.unwrap_or_else(|| panic!("{} passes", entry.name))
        })
        .collect()
}

#[test]
fn operands_that_are_read_along_the_other_side_are_noticed() {
    // The last flag is that of B, which lies across k.
    let found = wrong(|text| text.replace("accumulate, 1, 1, 0, 1;", "accumulate, 1, 1, 0, 0;"));
    for found in found {
        assert!(found.contains("read of uninitialised memory"), "{found}");
    }
}

#[test]
fn a_descriptor_with_a_wrong_step_is_noticed() {
    // From one atom of eight rows to the next it is 1024 bytes.
    let upper = |stride: u64| (1 << 62 | (stride >> 4) << 32).to_string();
    let found = wrong(|text| text.replace(&upper(1024), &upper(512)));
    for found in found {
        let parts = ["residual is not 0", "read of uninitialised memory"];
        assert!(parts.iter().any(|part| found.contains(part)), "{found}");
    }
}

#[test]
fn fences_stand_before_what_they_order() {
    let module = ptx(Target::Sm90a);
    for entry in entries(&module.text) {
        // What threads store reaches a bulk copy behind a fence only.
        let mut stored = false;
        let mut fenced = false;
        for line in entry.text.lines().map(str::trim) {
            if line.starts_with("stmatrix") {
                (stored, fenced) = (true, false);
            } else if line.starts_with("fence.proxy.async") {
                fenced = true;
            } else if line.starts_with("cp.async.bulk.tensor.3d.global") {
                assert!(stored && fenced, "{}: {line}", entry.name);
            }
        }
        // What threads round reaches products behind a fence only.
        let mut unfenced = false;
        for line in entry.text.lines().map(str::trim) {
            if line.starts_with("st.shared.v2") {
                unfenced = true;
            } else if line.starts_with("fence.proxy.async") {
                unfenced = false;
            } else if line.contains("wgmma.mma_async") {
                assert!(!unfenced, "{}: {line}", entry.name);
            }
        }
        // Products read registers and what was stored behind a fence only.
        if let Some(first) = entry.text.find("wgmma.mma_async") {
            assert!(
                entry.text[..first].contains("wgmma.fence"),
                "{}",
                entry.name
            );
        }
    }
}
