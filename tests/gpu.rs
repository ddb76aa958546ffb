//! What only a GPU can show: `cargo test --release --test gpu -- --ignored`. The binary is
//! self-contained, so that it can be built on one machine and run on another.

use gpu_kernels::params::Entry;
use rooftrace::device::cuda::{CudaDevice, Ptx};
use rooftrace::device::{
    CacheState, Device, DeviceChoice, DeviceError, DeviceInfo, DeviceKind, open,
};
use rooftrace::kernels::{Bench, Data, Form, KernelId, Problem, Size, SizeKind, Variant};
use rooftrace::measure::Rules;
use rooftrace::record::{Cache, Row, Status};
use rooftrace::roofline::db::Database;
use rooftrace::roofline::peak::ComputeCapability;
use rooftrace::sweep::roofs::{Roofs, peak};
use rooftrace::sweep::{self, Observer, Plan, Point, Stop};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// One test at a time: timings suffer from company, and some tests fill the memory.
static ALONE: Mutex<()> = Mutex::new(());

/// The first GPU, for this test alone.
fn gpu() -> (MutexGuard<'static, ()>, CudaDevice) {
    let guard = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    (guard, CudaDevice::open(0, None).unwrap())
}

fn variants(kernel: KernelId, info: &DeviceInfo) -> Vec<&'static Variant> {
    kernel.kernel().variants_on(info)
}

fn problem(kernel: KernelId, variant: &'static str, size: Size, seed: u64) -> Problem {
    Problem {
        kernel,
        variant,
        size,
        form: Form::default(),
        seed,
        data: Data::Random,
    }
}

/// A size of a kernel that is made of one number: for `mix` with 33 FMAs an element, a turn of its
/// loop and one more.
fn plain(kernel: KernelId, n: u64) -> Size {
    match kernel.kernel().size_kind() {
        SizeKind::Elements => Size::Elements(n),
        SizeKind::Mixed => Size::Mixed { n, fmas: 33 },
        SizeKind::Matrix => cube(n),
    }
}

fn cube(side: u64) -> Size {
    Size::Matrix {
        m: side,
        n: side,
        k: side,
    }
}

/// Verifies a problem; `what` is told when it fails.
fn assert_right(device: &mut dyn Device, problem: &Problem, what: &str) {
    assert_right_at(device, problem, 0, what);
}

/// Verifies a problem on operands that start `offset` elements past an aligned address.
fn assert_right_at(device: &mut dyn Device, problem: &Problem, offset: u64, what: &str) {
    let mut bench = Bench::at(device, problem.clone(), offset).unwrap();
    let check = problem.kernel.kernel().verify(&mut bench).unwrap();
    device.release_all();
    assert_eq!(
        check.failure,
        None,
        "{} {} at {}, {what}",
        problem.kernel.name(),
        problem.variant,
        problem.size
    );
}

/// Verifies every variant of a kernel at every size.
fn assert_all_right(
    device: &mut dyn Device,
    kernel: KernelId,
    sizes: impl IntoIterator<Item = Size>,
    seed: u64,
) {
    let variants = variants(kernel, device.info());
    for size in sizes {
        for variant in &variants {
            let problem = problem(kernel, variant.name, size, seed);
            assert_right(device, &problem, &format!("seed {seed}"));
        }
    }
}

/// Around warps, blocks and tiles, the lecture's size, and one past a power of two.
const SIZES: [u64; 8] = [1, 2, 31, 33, 127, 1000, 2360, 4097];

const MATRIX_KERNELS: [KernelId; 4] = [
    KernelId::Sgemm,
    KernelId::GemmBf16,
    KernelId::GemmTf32,
    KernelId::GemmMixed,
];

const VECTOR_KERNELS: [KernelId; 4] = [
    KernelId::Copy,
    KernelId::Saxpy,
    KernelId::Triad,
    KernelId::Mix,
];

#[test]
#[ignore = "needs a CUDA GPU"]
fn every_kernel_and_variant_is_right_at_the_edges() {
    let (_alone, mut gpu) = gpu();
    for kernel in KernelId::ALL {
        let sizes = SIZES.map(|size| plain(kernel, size));
        assert_all_right(&mut gpu, kernel, sizes, 1);
    }
}

#[test]
#[ignore = "needs a CUDA GPU"]
fn products_with_three_different_sides_are_right() {
    let (_alone, mut gpu) = gpu();
    let sides = [1, 2, 31, 33, 127, 1000];
    let mut sizes = Vec::new();
    for m in sides {
        for n in sides {
            for k in sides {
                if m != n && n != k && m != k {
                    sizes.push(Size::Matrix { m, n, k });
                }
            }
        }
    }
    sizes.extend(
        [
            (2360, 4097, 33),
            (33, 2360, 4097),
            (4097, 127, 2360),
            (1, 1_000_003, 1),
            (1_000_003, 1, 2),
            (1, 2, 1_000_003),
        ]
        .map(|(m, n, k)| Size::Matrix { m, n, k }),
    );
    assert_all_right(&mut gpu, KernelId::Sgemm, sizes, 2);
}

#[test]
#[ignore = "needs a CUDA GPU"]
fn products_on_tensor_cores_are_right_in_every_form() {
    let (_alone, mut gpu) = gpu();
    // Rows of whole 16-byte units, of even and of odd length; less than a tile, and many.
    let sizes = [
        (1, 1, 1),
        (64, 64, 64),
        (66, 34, 70),
        (129, 65, 71),
        (200, 136, 264),
        (257, 193, 31),
        (520, 1000, 300),
        (2360, 2360, 2360),
    ];
    for kernel in MATRIX_KERNELS {
        for form in Form::of(kernel.kernel(), gpu.info()) {
            for (m, n, k) in sizes {
                for variant in variants(kernel, gpu.info()) {
                    let size = Size::Matrix { m, n, k };
                    let problem = Problem {
                        form,
                        ..problem(kernel, variant.name, size, 6)
                    };
                    assert_right(&mut gpu, &problem, &format!("{form:?}"));
                }
            }
        }
    }
}

#[test]
#[ignore = "needs a CUDA GPU"]
fn batches_are_right_at_every_alignment() {
    let (_alone, mut gpu) = gpu();
    // Sides around the teams and tiles, odd ones among them: every other product is then off 16
    // bytes wherever the first one starts.
    let sizes = [
        (16, 16, 16),
        (15, 13, 17),
        (32, 32, 32),
        (20, 28, 36),
        (33, 31, 65),
        (64, 64, 64),
        (63, 61, 200),
        (65, 130, 40),
        (128, 128, 128),
        (1, 1, 1),
        (257, 129, 31),
    ];
    for (m, n, k) in sizes {
        for batch in [1, 2, 7, 1000] {
            for offset in [0, 1, 2] {
                for variant in variants(KernelId::Sgemm, gpu.info()) {
                    let problem = Problem {
                        form: Form {
                            batch,
                            ..Form::default()
                        },
                        ..problem(KernelId::Sgemm, variant.name, Size::Matrix { m, n, k }, 5)
                    };
                    let what = format!("batch {batch}, offset {offset}");
                    assert_right_at(&mut gpu, &problem, offset, &what);
                }
            }
        }
    }
}

/// Sizes picked anew in every run; `ROOFTRACE_TEST_SEED` picks those of a run that failed.
struct Pick {
    seed: u64,
    drawn: u64,
}

impl Pick {
    fn new() -> Self {
        let seed = match std::env::var("ROOFTRACE_TEST_SEED") {
            Ok(seed) => seed.parse().expect("ROOFTRACE_TEST_SEED is a number"),
            Err(_) => std::time::SystemTime::now()
                .duration_since(std::time::UNIX_EPOCH)
                .unwrap()
                .as_nanos() as u64,
        };
        Pick { seed, drawn: 0 }
    }

    /// A number from 1 to `most`.
    fn up_to(&mut self, most: u64) -> u64 {
        self.drawn += 1;
        1 + gpu_kernels::random::bits(self.seed, self.drawn) % most
    }
}

#[test]
#[ignore = "needs a CUDA GPU"]
fn products_of_random_sizes_are_right() {
    let (_alone, mut gpu) = gpu();
    let mut pick = Pick::new();
    let seed = pick.seed;
    let squares: Vec<Size> = (0..12).map(|_| cube(pick.up_to(5000))).collect();
    let others: Vec<Size> = (0..12)
        .map(|_| Size::Matrix {
            m: pick.up_to(5000),
            n: pick.up_to(5000),
            k: pick.up_to(5000),
        })
        .collect();
    for kernel in MATRIX_KERNELS {
        assert_all_right(&mut gpu, kernel, squares.iter().copied(), seed);
        assert_all_right(&mut gpu, kernel, others.iter().copied(), seed);
    }
}

#[test]
#[ignore = "needs a CUDA GPU"]
fn vectors_of_ragged_and_random_lengths_are_right() {
    let (_alone, mut gpu) = gpu();
    let mut pick = Pick::new();
    let seed = pick.seed;
    // Around vectors of 4, blocks of 128 and 256 threads, and the grid of the scalar form.
    let mut sizes: Vec<u64> = [4, 128, 256, 512, 1024, 2048, 4096, 1 << 20, 1 << 22]
        .into_iter()
        .flat_map(|edge| (edge - 3)..=(edge + 3))
        .collect();
    sizes.extend((0..20).map(|_| pick.up_to(5000)));
    sizes.extend((0..10).map(|_| pick.up_to(50_000_000)));
    for kernel in VECTOR_KERNELS {
        let sizes = sizes.iter().map(|&n| plain(kernel, n));
        assert_all_right(&mut gpu, kernel, sizes, seed);
    }
    let steps: Vec<u64> = (1..=35).chain((0..10).map(|_| pick.up_to(5000))).collect();
    let steps = steps.into_iter().map(Size::Elements);
    assert_all_right(&mut gpu, KernelId::Fma, steps, seed);
    // Every part of the rest of mix's loop, whole blocks and a ragged one.
    let mixed = (0..=70).chain([127, 500, 1023, 1024]);
    let mixed = mixed.map(|fmas| Size::Mixed {
        n: 3 * 1024 + 1 + pick.up_to(1000),
        fmas,
    });
    assert_all_right(&mut gpu, KernelId::Mix, mixed, seed);
}

#[test]
#[ignore = "needs a CUDA GPU"]
fn vectors_past_32_bits_of_bytes_are_right() {
    let (_alone, mut gpu) = gpu();
    // 2^30 + 1 elements: byte offsets past 2^32.
    let elements = (1 << 30) + 1;
    if gpu.free_bytes().unwrap() > 3 * 4 * elements + (1 << 30) {
        for kernel in VECTOR_KERNELS {
            assert_all_right(&mut gpu, kernel, [plain(kernel, elements)], 3);
        }
    }
}

#[test]
#[ignore = "needs a CUDA GPU"]
fn the_ptx_for_the_oldest_gpu_is_right_on_this_one() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let oldest = Ptx::embedded(ComputeCapability::new(8, 0)).unwrap();
    let mut gpu = CudaDevice::open(0, Some(oldest.clone())).unwrap();
    assert_eq!(gpu.info().ptx_sha256, Some(oldest.sha256()));
    for kernel in KernelId::ALL {
        let size = match kernel.kernel().size_kind() {
            SizeKind::Matrix => cube(333),
            _ => plain(kernel, 100_003),
        };
        for variant in variants(kernel, gpu.info()) {
            let problem = problem(kernel, variant.name, size, 4);
            let launch = kernel.kernel().launch(&problem, gpu.info()).unwrap();
            // Others are for this GPU alone.
            if Entry::of("sm_80").any(|entry| entry.name == launch.entry) {
                assert_right(&mut gpu, &problem, "PTX for sm_80");
            }
        }
    }
}

/// The median of some samples, in seconds.
fn median_s(gpu: &mut CudaDevice, problem: &Problem, cache: CacheState) -> f64 {
    let mut bench = Bench::new(gpu, problem.clone()).unwrap();
    bench.fill(Data::Random).unwrap();
    let operands = bench.operands().to_vec();
    // The first load and compile, and let the clocks rise.
    gpu.time(problem, &operands, cache, 4, 20).unwrap();
    let mut times = gpu.time(problem, &operands, cache, 4, 21).unwrap();
    gpu.release_all();
    assert_eq!(times.len(), 21);
    assert!(
        times.iter().all(|&time| time > 0.0 && time < 10.0),
        "{times:?}"
    );
    times.sort_by(f64::total_cmp);
    times[10]
}

/// The fastest variant of copy at a size.
fn copy(elements: u64) -> Problem {
    let variants = KernelId::Copy.kernel().variants(DeviceKind::Cuda);
    let variant = variants.last().unwrap().name;
    problem(KernelId::Copy, variant, Size::Elements(elements), 5)
}

#[test]
#[ignore = "needs a CUDA GPU"]
fn a_warm_cache_is_faster_where_the_arrays_fit_and_only_there() {
    let (_alone, mut gpu) = gpu();
    let l2 = gpu.info().cache_bytes.unwrap();
    // Both arrays together take an eighth of the L2.
    let inside = copy(l2 / 64);
    let cold = median_s(&mut gpu, &inside, CacheState::Cold);
    let warm = median_s(&mut gpu, &inside, CacheState::Warm);
    assert!(
        warm < 0.9 * cold,
        "inside the L2: warm {warm:e} s, cold {cold:e} s"
    );
    // And here 40 times the L2.
    let outside = copy(5 * l2);
    let cold = median_s(&mut gpu, &outside, CacheState::Cold);
    let warm = median_s(&mut gpu, &outside, CacheState::Warm);
    let ratio = warm / cold;
    assert!(
        (0.9..1.1).contains(&ratio),
        "outside the L2: warm over cold is {ratio}"
    );
}

#[test]
#[ignore = "needs a CUDA GPU"]
fn time_grows_with_the_work_and_no_rate_is_beyond_the_memory() {
    let (_alone, mut gpu) = gpu();
    let l2 = gpu.info().cache_bytes.unwrap();
    let (single, double) = (copy(5 * l2), copy(10 * l2));
    let one = median_s(&mut gpu, &single, CacheState::Cold);
    let two = median_s(&mut gpu, &double, CacheState::Cold);
    let growth = two / one;
    assert!(
        (1.8..2.2).contains(&growth),
        "twice the work takes {growth} times as long"
    );
    let rate = (8 * 10 * l2) as f64 / two;
    let database = Database::builtin().unwrap();
    if let Some(known) = database.find_by_driver_name(&gpu.info().name) {
        let peak = known.memory_bandwidth_byte_per_s.unwrap();
        assert!(
            rate < 1.02 * peak,
            "{rate:e} byte/s is beyond the datasheet's {peak:e}"
        );
        assert!(
            rate > 0.5 * peak,
            "{rate:e} byte/s is less than half of {peak:e}"
        );
    }
}

/// A peak kernel is right on every pipe, takes time in proportion to its steps, and comes near what
/// the pipe is made for: more than half of the datasheet's dense rate, and not more than clocks
/// above those that it assumes can explain.
#[test]
#[ignore = "needs a CUDA GPU"]
fn every_pipe_has_a_peak_kernel_that_is_right_and_fast() {
    let (_alone, mut gpu) = gpu();
    let info = gpu.info().clone();
    let database = Database::builtin().unwrap();
    let fma = KernelId::Fma.kernel();
    for pipe in fma.pipes(&info) {
        let at = |steps| Problem {
            form: Form {
                pipe: Some(pipe),
                ..Form::default()
            },
            ..problem(KernelId::Fma, "chains", Size::Elements(steps), 3)
        };
        for steps in [1, 3, 4, 5, 1000, 1 << 16] {
            assert_right(&mut gpu, &at(steps), pipe.id());
        }
        let (half, whole) = (at(1 << 15), at(1 << 16));
        let short = median_s(&mut gpu, &half, CacheState::Warm);
        let long = median_s(&mut gpu, &whole, CacheState::Warm);
        assert!(
            (1.9..2.1).contains(&(long / short)),
            "{pipe}: {short} s, {long} s"
        );
        if let Some((roofline, source)) = peak(&database, &info, pipe) {
            let flops = fma.work(&whole, &info).unwrap().flops as f64;
            let part = flops / long / roofline.peak_flop_per_s;
            assert!((0.5..1.15).contains(&part), "{pipe}: {part} of {source}");
        }
    }
}

#[test]
#[ignore = "needs a CUDA GPU"]
fn mix_lies_below_the_measured_roofs_by_little() {
    /// Farther than this factor from the ridge point a launch has one limit; nearer it has two,
    /// which can't overlap entirely.
    const ABOUT_THE_RIDGE: f64 = 1.5;
    let (_alone, mut gpu) = gpu();
    const N: u64 = 1 << 28;
    let info = gpu.info().clone();
    let fastest = |kernel: KernelId| variants(kernel, &info).last().unwrap().name;
    let mut seconds = |kernel, size| {
        let problem = problem(kernel, fastest(kernel), size, 8);
        let work = kernel.kernel().work(&problem, gpu.info()).unwrap();
        (work, median_s(&mut gpu, &problem, CacheState::Cold))
    };
    let (work, time) = seconds(KernelId::Fma, Size::Elements(1 << 16));
    let peak = work.flops as f64 / time;
    let (work, time) = seconds(KernelId::Copy, Size::Elements(N));
    let bandwidth = work.bytes as f64 / time;
    let ridge = peak / bandwidth;
    // Every factor of 2, and more about the ridge of today's GPUs.
    let fmas = (0..=10).map(|power| 1 << power);
    for fmas in fmas.chain([40, 48, 56, 80, 96]) {
        let (work, time) = seconds(KernelId::Mix, Size::Mixed { n: N, fmas });
        let intensity = work.intensity();
        let fraction = work.flops as f64 / time / peak.min(bandwidth * intensity);
        let distance = (intensity / ridge).max(ridge / intensity);
        let least = if distance > ABOUT_THE_RIDGE {
            0.92
        } else {
            0.80
        };
        assert!(
            fraction >= least,
            "{intensity} FLOP/byte: {fraction:.3} of the roof, the ridge is at {ridge:.1}"
        );
    }
}

/// Keeps the rows.
#[derive(Default)]
struct Rows(Vec<Row>);

impl Observer for Rows {
    fn point(&mut self, _: usize, _: &Point) {}
    fn roofs(&mut self, _: &Roofs) -> Result<(), Stop> {
        Ok(())
    }
    fn neighbours(&mut self, _: &[u32]) {}
    fn no_steady_state(&mut self, _: &Row) {}
    fn row(&mut self, row: &Row) -> Result<(), Stop> {
        self.0.push(row.clone());
        Ok(())
    }
    fn has(&self, _: &Row) -> bool {
        false
    }
    fn go_on(&self) -> bool {
        true
    }
}

#[test]
#[ignore = "needs a CUDA GPU"]
fn a_sweep_fills_in_the_columns_of_a_gpu() {
    let (_alone, mut gpu) = gpu();
    let mut points = Vec::new();
    for kernel in KernelId::ALL {
        for variant in variants(kernel, gpu.info()) {
            let size = match kernel.kernel().size_kind() {
                SizeKind::Matrix => cube(512),
                _ => plain(kernel, 1 << 20),
            };
            // More than fits on any GPU.
            let too_large = match kernel.kernel().size_kind() {
                _ if kernel == KernelId::Fma => None,
                SizeKind::Matrix => Some(cube(1 << 20)),
                _ => Some(plain(kernel, 1 << 42)),
            };
            for size in [Some(size), too_large].into_iter().flatten() {
                points.push(Point {
                    problem: problem(kernel, variant.name, size, 6),
                    cache: Cache::Cold,
                });
            }
        }
    }
    let plan = Plan {
        run_id: "run".to_owned(),
        points,
        rules: Rules::quick(DeviceKind::Cuda),
        sustained_s: None,
        baseline: None,
        seed: 6,
        database: Database::builtin().unwrap(),
    };
    let mut rows = Rows::default();
    let outcome = sweep::run(&plan, &mut gpu, &mut rows).unwrap();
    assert_eq!(outcome.failed, 0);
    assert_eq!(rows.0.len(), plan.points.len());
    for row in &rows.0 {
        let place = format!("{} {} at {}", row.kernel, row.variant, row.n);
        assert_eq!(row.ptx_sha256, gpu.info().ptx_sha256, "{place}");
        assert!(row.driver_version.is_some(), "{place}");
        assert!(row.compute_capability.is_some(), "{place}");
        if row.bytes.unwrap() > gpu.info().memory_bytes {
            assert_eq!(row.status, Status::Skipped, "{place}");
            assert!(row.reason.as_ref().unwrap().contains("bytes"), "{place}");
            continue;
        }
        assert_eq!(row.status, Status::Ok, "{place}: {:?}", row.reason);
        assert_eq!(row.verified, Some(true), "{place}");
        assert!(row.grid.is_some() && row.block.is_some(), "{place}");
        assert!(
            row.registers.is_some_and(|registers| registers > 0),
            "{place}"
        );
        let occupancy = row.occupancy.unwrap();
        assert!(occupancy > 0.0 && occupancy <= 1.0, "{place}: {occupancy}");
        assert!(row.time_median_s.unwrap() > 0.0, "{place}");
        assert!(row.measured_peak_flop_per_s.unwrap() > 1e12, "{place}");
        assert!(row.measured_peak_byte_per_s.unwrap() > 1e11, "{place}");
        // A clock that was measured is a credible one.
        if let Some(clock) = row.sm_clock_hz {
            assert!((1e8..5e9).contains(&clock), "{place}: {clock}");
        }
    }
}

#[test]
#[ignore = "needs a CUDA GPU"]
fn a_gpu_that_is_not_there_is_refused_with_those_that_are() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let Err(DeviceError::Unavailable(reason)) = open(DeviceChoice::Cuda(999), None) else {
        panic!("cuda:999 was opened");
    };
    assert!(reason.contains("there is no cuda:999"), "{reason}");
    assert!(reason.contains("cuda:0 ("), "{reason}");
}

/// Opens the GPU with a PTX that it must refuse; returns why.
fn refused(text: String) -> String {
    let ptx = Ptx {
        target: "sm_80".to_owned(),
        origin: "file".to_owned(),
        text,
    };
    match CudaDevice::open(0, Some(ptx)) {
        Err(DeviceError::Unavailable(reason)) => reason,
        Err(error) => panic!("refused as {error:?}"),
        Ok(_) => panic!("corrupted PTX was loaded"),
    }
}

#[test]
#[ignore = "needs a CUDA GPU"]
fn corrupted_ptx_is_refused_with_the_drivers_words_and_harms_nothing() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let good = Ptx::embedded(ComputeCapability::new(8, 0)).unwrap().text;
    let half = good[..good.len() / 2].to_owned();
    let misspelt = good.replacen("fma.rn.f32", "fmma.rn.f32", 1);
    let newer = good.replacen(".target sm_80", ".target sm_999", 1);
    let binary = format!("{}\u{1}\u{2}\u{3}", &good[..good.len() / 3]);
    for text in [half, misspelt, newer, binary, "no PTX at all".to_owned()] {
        let reason = refused(text);
        assert!(reason.contains("does not take the PTX"), "{reason}");
        assert!(reason.contains("CUDA_ERROR"), "{reason}");
    }
    assert!(refused(format!("{good}\0")).contains("NUL"));
    let mut gpu = CudaDevice::open(0, None).unwrap();
    assert_all_right(&mut gpu, KernelId::Copy, [Size::Elements(1000)], 7);
}

#[test]
#[ignore = "needs a CUDA GPU"]
fn ptx_without_an_entry_says_so_at_the_launch() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut ptx = Ptx::embedded(ComputeCapability::new(8, 0)).unwrap();
    ptx.text = ptx.text.replace("copy_vector", "copy_vektor");
    ptx.origin = "file".to_owned();
    let mut gpu = CudaDevice::open(0, Some(ptx)).unwrap();
    let Err(DeviceError::Unsupported(reason)) = gpu.launch_facts(&copy(1000)) else {
        panic!("an entry that is not there was found");
    };
    assert!(
        reason.contains("`copy_vector`") && reason.contains("--ptx"),
        "{reason}"
    );
}

#[test]
#[ignore = "needs a CUDA GPU"]
fn memory_that_runs_out_is_told_and_given_back() {
    let (_alone, mut gpu) = gpu();
    let free = gpu.free_bytes().unwrap();
    let total = gpu.info().memory_bytes;
    match gpu.alloc(2 * total) {
        Err(DeviceError::OutOfMemory { needed, free, .. }) => {
            assert_eq!(needed, 2 * total);
            assert!(free <= total);
        }
        other => panic!("twice the memory was given: {other:?}"),
    }
    gpu.alloc(free / 2).unwrap();
    assert!(gpu.free_bytes().unwrap() <= free - free / 2);
    gpu.release_all();
    // The driver may keep a little.
    assert!(gpu.free_bytes().unwrap() + (64 << 20) >= free);
}
