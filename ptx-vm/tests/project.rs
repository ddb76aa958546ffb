//! The kernels that this project ships, as shipped, for both targets: results, checks, counts.

use std::path::Path;

use ptx_vm::{
    Arg, Class, FaultKind, Launch, Machine, Memory, Module, Options, Ptr, Report, RunError,
};

const TARGETS: [&str; 2] = ["sm_80", "sm_90a"];
/// A multiple of every block's work, one that is ragged everywhere, and less than a vector.
const SIZES: [usize; 3] = [4096, 5003, 3];

fn text(target: &str) -> String {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../gpu-kernels/prebuilt/{target}.ptx"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn modules() -> impl Iterator<Item = Module> {
    TARGETS.iter().map(|target| {
        Module::parse(&text(target)).unwrap_or_else(|error| panic!("{target}: {error}"))
    })
}

/// A value in [-1, 1) with few trailing zeros, from a Weyl sequence.
fn value(i: usize, salt: u32) -> f32 {
    let bits = (i as u32)
        .wrapping_mul(0x9e37_79b9)
        .wrapping_add(salt.wrapping_mul(0x85eb_ca6b));
    (bits >> 8) as f32 / (1 << 23) as f32 - 1.0
}

fn values(n: usize, salt: u32) -> Vec<f32> {
    (0..n).map(|i| value(i, salt)).collect()
}

fn run(
    module: &Module,
    memory: &mut Memory,
    entry: &str,
    (grid, block): (u32, [u32; 3]),
    shared_bytes: u32,
    args: Vec<Arg>,
) -> Result<Report, RunError> {
    let launch = Launch {
        entry: entry.into(),
        grid: [grid, 1, 1],
        block,
        cluster: None,
        dependent: false,
        shared_bytes,
        args,
    };
    Machine::default().run(module, memory, &launch, &Options::default())
}

#[test]
fn every_kernel_can_be_run() {
    for module in modules() {
        let mut kernels = 0;
        for kernel in module.kernels() {
            module
                .check(kernel)
                .unwrap_or_else(|error| panic!("{kernel}: {error}"));
            kernels += 1;
        }
        assert!(kernels >= 15);
    }
}

/// Grid and block of a streaming kernel: scalar ones stride, vector ones pass once.
fn streaming(entry: &str, n: usize) -> (u32, [u32; 3]) {
    if entry.ends_with("scalar") {
        (6, [256, 1, 1])
    } else {
        (n.div_ceil(128 * 4).max(1) as u32, [128, 1, 1])
    }
}

/// Checks what every streaming kernel must show: each byte touched once, everything coalesced.
fn check_traffic(report: &Report, n: usize, read: u64, written: u64, flops: u64) {
    let n64 = n as u64;
    assert_eq!(report.flops.total(), flops * n64);
    assert_eq!(report.footprint.read_bytes, 4 * read * n64);
    assert_eq!(report.footprint.written_bytes, 4 * written * n64);
    assert_eq!(report.global.load_bytes, 4 * read * n64);
    if n == SIZES[0] {
        let sectors = (4 * read * n64).div_ceil(32);
        assert_eq!(report.global.load_sectors, sectors, "loads are coalesced");
        assert_eq!(
            report.levels().l2,
            report.levels().dram_read + report.levels().dram_written
        );
    }
}

#[test]
fn copy_saxpy_and_triad() {
    for module in modules() {
        for n in SIZES {
            for variant in ["scalar", "vector"] {
                let mut memory = Memory::new();
                let (x, y) = (values(n, 1), values(n, 2));
                let [a, b] = [memory.alloc_f32("a", &x), memory.alloc_f32("b", &y)];
                let out = memory.alloc("out", 4 * n);
                let size = Arg::U64(n as u64);

                let entry = format!("copy_{variant}");
                let args = vec![a.into(), out.into(), size.clone()];
                let report =
                    run(&module, &mut memory, &entry, streaming(&entry, n), 0, args).unwrap();
                assert_eq!(memory.read_f32(out, n).unwrap(), x);
                check_traffic(&report, n, 1, 1, 0);

                let entry = format!("triad_{variant}");
                let args = vec![out.into(), a.into(), b.into(), size.clone(), 3f32.into()];
                let report =
                    run(&module, &mut memory, &entry, streaming(&entry, n), 0, args).unwrap();
                let expected: Vec<f32> = x
                    .iter()
                    .zip(&y)
                    .map(|(x, y)| 3f32.mul_add(*y, *x))
                    .collect();
                assert_eq!(memory.read_f32(out, n).unwrap(), expected);
                check_traffic(&report, n, 2, 1, 2);

                let entry = format!("saxpy_{variant}");
                let args = vec![a.into(), b.into(), size, 1.7f32.into()];
                let report =
                    run(&module, &mut memory, &entry, streaming(&entry, n), 0, args).unwrap();
                let expected: Vec<f32> = x
                    .iter()
                    .zip(&y)
                    .map(|(x, y)| 1.7f32.mul_add(*x, *y))
                    .collect();
                assert_eq!(memory.read_f32(b, n).unwrap(), expected);
                check_traffic(&report, n, 2, 1, 2);
                assert_eq!(report.intensity(), Some(1.0 / 6.0));
            }
        }
    }
}

#[test]
fn one_thread_past_the_end_is_caught() {
    let module = Module::parse(&text("sm_80")).unwrap();
    let mut memory = Memory::new();
    let n = 4096;
    let a = memory.alloc_f32("a", &values(n, 1));
    let out = memory.alloc("out", 4 * n);
    let args = vec![a.into(), out.into(), Arg::U64(n as u64 + 1)];
    let error = run(
        &module,
        &mut memory,
        "copy_scalar",
        (6, [256, 1, 1]),
        0,
        args,
    )
    .unwrap_err();
    let fault = error.fault().unwrap();
    assert_eq!(fault.kind, FaultKind::OutOfBounds);
    assert!(fault.detail.contains("offset 16384 of `a`"), "{fault}");
}

/// Operands of a product and its result, every element a chain of fused multiply-adds from C.
struct Product {
    memory: Memory,
    args: Vec<Arg>,
    c: Ptr,
    expected: Vec<f32>,
}

fn product(m: usize, n: usize, k: usize) -> Product {
    let (x, y, z) = (values(m * k, 1), values(k * n, 2), values(m * n, 3));
    let expected = (0..m * n)
        .map(|at| {
            let (i, j) = (at / n, at % n);
            (0..k).fold(z[at], |sum, p| x[i * k + p].mul_add(y[p * n + j], sum))
        })
        .collect();
    let mut memory = Memory::new();
    let [a, b, c] =
        [("a", &x), ("b", &y), ("c", &z)].map(|(name, data)| memory.alloc_f32(name, data));
    let args = vec![
        a.into(),
        b.into(),
        c.into(),
        (m as u32).into(),
        (n as u32).into(),
        (k as u32).into(),
    ];
    Product {
        memory,
        args,
        c,
        expected,
    }
}

#[test]
fn sgemm_is_exact_and_its_counts_are_the_model() {
    for module in modules() {
        for (entry, tile, shared) in [("sgemm_naive", 16, 0), ("sgemm_tiled", 32, 8192)] {
            for (m, n, k) in [(64, 64, 64), (45, 67, 33), (1, 1, 1), (33, 1, 40)] {
                let mut p = product(m, n, k);
                let grid = (m.div_ceil(tile) * n.div_ceil(tile)) as u32;
                let shape = (grid, [tile as u32, tile as u32, 1]);
                let report = run(&module, &mut p.memory, entry, shape, shared, p.args).unwrap();
                let got = p.memory.read_f32(p.c, m * n).unwrap();
                let differ = got
                    .iter()
                    .zip(&p.expected)
                    .filter(|(a, b)| a.to_bits() != b.to_bits())
                    .count();
                assert_eq!(differ, 0, "{entry} {m}x{n}x{k}");
                let model = 2 * (m * n * k) as u64;
                assert_eq!(
                    report.unique_bytes(),
                    4 * (m * k + k * n + 2 * m * n) as u64
                );
                if m == 64 || entry == "sgemm_naive" {
                    assert_eq!(report.flops.f32, model);
                } else {
                    assert!(report.flops.f32 > model, "padding is counted");
                }
                if m == 64 {
                    assert_eq!(report.intensity(), Some(64.0 / 8.0));
                    assert_eq!(report.shared.conflicts(), 0);
                }
            }
        }
    }
}

#[test]
fn pipelined_tiles_whole_and_cut() {
    // Entry, rows and columns of its tile, depth of a k tile, threads, shared memory.
    let entries = [
        ("sgemm_small", (32, 64, 32), 128, 51_200),
        ("sgemm_small_any", (32, 64, 32), 128, 51_200),
        ("sgemm_square_any", (64, 64, 32), 128, 50_688),
    ];
    for module in modules() {
        for (entry, (rows, columns, depth), threads, shared) in entries {
            let (m, n, k) = if entry.ends_with("any") {
                (45, 67, 97)
            } else {
                (45, 68, 97)
            };
            let tiles = (usize::div_ceil(m, rows) * usize::div_ceil(n, columns)) as u32;
            let k_tiles = tiles * usize::div_ceil(k, depth) as u32;
            // One whole tile a block, and shares that cut the tiles.
            for (grid, waves, rest) in [(tiles, 1u32, 0u32), (3, 0, k_tiles)] {
                let mut p = product(m, n, k);
                let words = 8192 + 2 * grid as usize * rows * columns;
                let scratch = p.memory.alloc_f32("scratch", &vec![0.0; words]);
                p.args.extend([
                    waves.into(),
                    (rest / grid).into(),
                    (rest % grid).into(),
                    scratch.into(),
                ]);
                let shape = (grid, [threads, 1, 1]);
                run(&module, &mut p.memory, entry, shape, shared, p.args).unwrap();
                let got = p.memory.read_f32(p.c, m * n).unwrap();
                for (at, (got, expected)) in got.iter().zip(&p.expected).enumerate() {
                    let error = (got - expected).abs();
                    assert!(error < 1e-4, "{entry} {at}: {got} for {expected}");
                }
            }
        }
    }
}

#[test]
fn fma_chains_count_two_operations_each() {
    for module in modules() {
        let mut memory = Memory::new();
        let out = memory.alloc("out", 4 * 512);
        let steps = 37u32;
        let args = vec![out.into(), steps.into(), Arg::U64(7)];
        let report = run(
            &module,
            &mut memory,
            "fma_chains",
            (2, [256, 1, 1]),
            0,
            args,
        )
        .unwrap();
        assert_eq!(report.flops.fused, 2 * 16 * u64::from(steps) * 512);
        assert!(
            memory
                .read_f32(out, 512)
                .unwrap()
                .iter()
                .all(|x| x.is_finite())
        );
    }
}

#[test]
fn fma_chains_of_every_number() {
    for module in modules() {
        for chains in [1u64, 2, 4, 8, 16] {
            let mut memory = Memory::new();
            let out = memory.alloc("out", 4 * 128);
            // A turn of the unrolled loop and a rest.
            let steps = 517u32;
            let args = vec![out.into(), steps.into(), Arg::U64(7)];
            let entry = format!("fma_ilp_{chains}");
            let report = run(&module, &mut memory, &entry, (1, [128, 1, 1]), 0, args).unwrap();
            assert_eq!(report.flops.fused, 2 * chains * u64::from(steps) * 128);
            // Chains tend to 1/2 from both sides, and no two threads have the same.
            let sums = memory.read_f32(out, 128).unwrap();
            assert!(sums.iter().all(|sum| sum.abs() <= chains as f32));
            assert!(sums.windows(2).all(|pair| pair[0] != pair[1]));
        }
    }
}

/// What `mix` makes of a value.
fn mixed(x: f32, fmas: u32) -> f32 {
    const MULTIPLIER: f32 = 1.0 - 1.0 / 2048.0;
    const ADDEND: f32 = 1.0 / 4096.0;
    (0..fmas).fold(x, |r, _| r.mul_add(MULTIPLIER, ADDEND))
}

/// Runs `mix` on `n` elements, `skip` elements into both arrays.
fn run_mix(module: &Module, n: usize, skip: usize, fmas: u32) -> (Report, Vec<f32>, Vec<f32>) {
    let values = values(n + skip, 1);
    let mut memory = Memory::new();
    let x = memory.alloc_f32("x", &values);
    let y = memory.alloc_f32("y", &vec![9.0; n + skip]);
    let offset = 4 * skip as u64;
    let args = vec![
        x.offset(offset).into(),
        y.offset(offset).into(),
        Arg::U64(n as u64),
        fmas.into(),
    ];
    let shape = (n.div_ceil(1024) as u32, [128, 1, 1]);
    let report = run(module, &mut memory, "mix_vector", shape, 0, args).unwrap();
    let got = memory.read_f32(y, n + skip).unwrap();
    let expected = values.iter().enumerate();
    let expected = expected.map(|(i, x)| if i < skip { 9.0 } else { mixed(*x, fmas) });
    (report, got, expected.collect())
}

#[test]
fn mix_is_exact_in_result_and_count_for_every_number_of_fmas() {
    for module in modules() {
        let n = 2048 + 5;
        for fmas in (0..=66).chain([95, 96, 127, 1023, 1024]) {
            let (report, got, expected) = run_mix(&module, n, 0, fmas);
            assert_eq!(got, expected, "{fmas} FMAs");
            assert_eq!(report.flops.total(), 2 * u64::from(fmas) * n as u64);
            assert_eq!(report.unique_bytes(), 8 * n as u64);
        }
    }
}

#[test]
fn mix_is_right_at_every_alignment_and_at_the_edges_of_vectors_and_blocks() {
    for module in modules() {
        for skip in 0..=4 {
            for n in [1, 3, 4, 127, 1023, 1024, 1025, 2049] {
                let (report, got, expected) = run_mix(&module, n, skip, 3);
                assert_eq!(got, expected, "{n} elements, {skip} into the array");
                assert_eq!(report.flops.total(), 6 * n as u64);
                // Whole aligned blocks go by vectors, eight warps' loads for each; others don't.
                let vectors = if skip % 4 == 0 { n / 1024 } else { 0 };
                let elements = (n - 1024 * vectors).div_ceil(32);
                let requests = 8 * vectors + elements;
                assert_eq!(report.global.load_requests, requests as u64, "{n}, {skip}");
            }
        }
    }
}

/// What `mix_ring` has in its 2048-element sets, and how they are shared out.
struct Sets {
    grid: u32,
    span: u32,
}

/// Runs `mix_ring` on `n` elements, `skip` elements into both arrays.
fn run_ring(module: &Module, n: usize, skip: usize, fmas: u32, sets: &Sets) -> (Report, bool) {
    let values = values(n + skip, 1);
    let mut memory = Memory::new();
    let x = memory.alloc_f32("x", &values);
    let y = memory.alloc_f32("y", &vec![9.0; n + skip]);
    let offset = 4 * skip as u64;
    let args = vec![
        x.offset(offset).into(),
        y.offset(offset).into(),
        Arg::U64(n as u64),
        fmas.into(),
        sets.span.into(),
    ];
    let shape = (sets.grid, [128, 1, 1]);
    let report = run(module, &mut memory, "mix_ring", shape, 16 << 10, args).unwrap();
    let got = memory.read_f32(y, n + skip).unwrap();
    let expected = values.iter().enumerate();
    let expected = expected.map(|(i, x)| if i < skip { 9.0 } else { mixed(*x, fmas) });
    (report, got.into_iter().eq(expected))
}

#[test]
fn the_ring_is_exact_for_every_number_of_fmas_and_of_sets() {
    for module in modules() {
        // One block goes around its ring as far as each place in it, and further.
        for sets in 0..=7 {
            let n = 2048 * sets as usize + 5;
            let fmas = [0, 1, 31, 32, 77, 1024][sets as usize % 6];
            let alone = Sets {
                grid: 1,
                span: sets,
            };
            let (report, right) = run_ring(&module, n, 0, fmas, &alone);
            assert!(right, "{sets} sets, {fmas} FMAs");
            assert_eq!(report.flops.total(), 2 * u64::from(fmas) * n as u64);
            assert_eq!(report.unique_bytes(), 8 * n as u64);
        }
        for fmas in (0..=66).chain([95, 96, 127]) {
            let alone = Sets { grid: 1, span: 1 };
            let (report, right) = run_ring(&module, 2048, 0, fmas, &alone);
            assert!(right, "{fmas} FMAs");
            assert_eq!(report.flops.total(), 2 * u64::from(fmas) * 2048);
        }
    }
}

#[test]
fn the_ring_is_right_however_its_sets_are_shared_out() {
    for module in modules() {
        for sets in [1u32, 4, 5, 6, 7, 12] {
            let n = 2048 * sets as usize + 1;
            for (skip, span) in [(0, 1), (0, 4), (4, 3), (3, 4)] {
                let share = &Sets {
                    grid: sets.div_ceil(span),
                    span,
                };
                let (report, right) = run_ring(&module, n, skip, 2, share);
                assert!(right, "{sets} sets, {skip} into the arrays");
                assert_eq!(report.unique_bytes(), 8 * n as u64);
                // Four copies of 16 bytes a thread and set where the arrays are aligned.
                let vectors = if skip % 4 == 0 { sets } else { 0 };
                let rest = (n - 2048 * vectors as usize).div_ceil(32);
                let requests = 16 * vectors as usize + rest;
                assert_eq!(
                    report.global.load_requests, requests as u64,
                    "{sets}, {skip}"
                );
            }
        }
    }
}

#[test]
fn support_kernels() {
    for module in modules() {
        let mut memory = Memory::new();
        let n = 3000;
        let out = memory.alloc("out", 4 * n);
        let size = Arg::U64(n as u64);
        let shape = (3, [256, 1, 1]);
        run(
            &module,
            &mut memory,
            "fill_bits",
            shape,
            0,
            vec![out.into(), size.clone(), 0u32.into()],
        )
        .unwrap();
        assert_eq!(memory.read_u32(out, n).unwrap(), vec![0; n]);
        let sink = memory.alloc("sink", 4);
        run(
            &module,
            &mut memory,
            "l2_sweep_read",
            shape,
            0,
            vec![out.into(), size.clone(), sink.into()],
        )
        .unwrap();
        assert!(memory.read_u32(sink, 1).is_err(), "nothing is written");
        run(
            &module,
            &mut memory,
            "l2_sweep_write",
            shape,
            0,
            vec![out.into(), size.clone()],
        )
        .unwrap();
        assert_eq!(memory.read_u32(out, n).unwrap()[8], 9);
        for (entry, bound) in [("fill_uniform", 1.0), ("fill_integers", 2.0)] {
            run(
                &module,
                &mut memory,
                entry,
                shape,
                0,
                vec![out.into(), size.clone(), Arg::U64(42)],
            )
            .unwrap();
            let filled = memory.read_f32(out, n).unwrap();
            assert!(filled.iter().all(|x| x.abs() <= bound), "{entry}");
            assert!(
                filled.iter().any(|x| *x < 0.0) && filled.iter().any(|x| *x > 0.0),
                "{entry}"
            );
        }
        let probe = memory.alloc("probe", 16);
        run(
            &module,
            &mut memory,
            "clock_probe",
            (1, [1, 1, 1]),
            0,
            vec![probe.into(), Arg::U64(100)],
        )
        .unwrap();
        assert!(memory.read_u32(probe, 4).unwrap()[2] >= 100);
    }
}

#[test]
fn reports_break_down_by_class_and_line() {
    let module = Module::parse(&text("sm_80")).unwrap();
    let mut p = product(64, 64, 64);
    let report = run(
        &module,
        &mut p.memory,
        "sgemm_tiled",
        (4, [32, 32, 1]),
        8192,
        p.args,
    )
    .unwrap();
    let of = |class| {
        report
            .classes
            .iter()
            .find(|(c, _)| *c == class)
            .map_or(0, |(_, n)| *n)
    };
    // One FMA needs two shared loads; every thread stores its two elements once per tile.
    assert_eq!(of(Class::Float), 64 * 64 * 64);
    assert_eq!(of(Class::LoadShared), 2 * 64 * 64 * 64);
    assert_eq!(of(Class::StoreShared), 2 * 64 * 64 * 2);
    assert_eq!(of(Class::Barrier), 64 * 64 * 2 * 2);
    assert_eq!(
        report.classes.iter().map(|(_, n)| n).sum::<u64>(),
        report.thread_instructions
    );
    assert_eq!(
        report.lines.iter().map(|l| l.threads).sum::<u64>(),
        report.thread_instructions
    );
    assert!(report.lines.iter().all(|l| !module.line(l.line).is_empty()));
    assert_eq!(
        report
            .footprints
            .iter()
            .map(|f| f.name.as_str())
            .collect::<Vec<_>>(),
        ["a", "b", "c"]
    );
}
