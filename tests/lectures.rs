//! Every number of the two lectures, through the public library, at the printed precision.
//!
//! The lectures are "Compute bound, memory bound and arithmetic intensity" and "Bandwidths and
//! peak rate" of a course on GPU performance.

use rooftrace::roofline::crossover::{self, Crossover, FftBytes};
use rooftrace::roofline::llm::{Model, Speculation, Step};
use rooftrace::roofline::peak::{self, Attributes, ComputeCapability};
use rooftrace::roofline::units::{GIB, TIB, binary_excess, engineering, rounded, significant};
use rooftrace::roofline::work::{self, GemmStorage, Storage};
use rooftrace::roofline::{Bound, Database, Gpu, Pipe, Roofline};

fn gpu(name: &str) -> Gpu {
    Database::builtin().unwrap().find(name).unwrap().clone()
}

fn roof(flop_per_s: f64, byte_per_s: f64) -> Roofline {
    Roofline::new(flop_per_s, byte_per_s).unwrap()
}

/// `value` printed with `decimals` decimals, which is how the lectures give it.
fn printed(value: f64, decimals: usize) -> String {
    format!("{value:.decimals$}")
}

fn sgemm_crossover(storage: Storage, roofline: Roofline) -> (String, u64) {
    match crossover::gemm(GemmStorage::uniform(storage, true), &roofline) {
        Crossover::At { n, next } => (printed(n, 1), next),
        other => panic!("no crossover: {other:?}"),
    }
}

const H100_BANDWIDTH: f64 = 3.35e12;
const H200_BANDWIDTH: f64 = 4.8e12;

// Ridge points.

#[test]
fn ridge_table_has_the_lectures_rates_and_prints_its_ridge_points() {
    let rows = [
        ("A100 80GB SXM", Pipe::Bf16, 312e12, "HBM2e", 2.0e12, 156.0),
        ("H100 SXM", Pipe::Bf16, 989e12, "HBM3", 3.35e12, 295.0),
        ("B200", Pipe::Bf16, 2250e12, "HBM3e", 8.0e12, 281.0),
        ("H100 SXM", Pipe::Fp8, 1979e12, "HBM3", 3.35e12, 591.0),
        ("B200", Pipe::Fp8, 4500e12, "HBM3e", 8.0e12, 562.0),
        ("B200", Pipe::Fp4, 9000e12, "HBM3e", 8.0e12, 1125.0),
    ];
    for (name, pipe, flops, memory, bytes, ridge) in rows {
        let gpu = gpu(name);
        let lecture = gpu.lecture_roofline(pipe).unwrap();
        assert_eq!(lecture, roof(flops, bytes), "{name} {pipe}");
        assert_eq!(rounded(lecture.ridge()), ridge, "{name} {pipe}");
        assert_eq!(
            f64::from(gpu.peaks[&pipe].lecture_ridge[0]),
            ridge,
            "{name} {pipe}"
        );
        assert_eq!(gpu.memory.as_deref(), Some(memory));
    }
}

#[test]
fn h100_fp32_ridge_is_19_97() {
    let lecture = gpu("H100 SXM").lecture_roofline(Pipe::Fp32).unwrap();
    assert_eq!(lecture, roof(66.9e12, 3.35e12));
    assert_eq!(printed(lecture.ridge(), 2), "19.97");
}

#[test]
fn h100_fp8_ridge_is_590_7_where_the_lectures_print_591_and_592() {
    let h100 = gpu("H100 SXM");
    assert_eq!(
        printed(h100.lecture_roofline(Pipe::Fp8).unwrap().ridge(), 1),
        "590.7"
    );
    assert_eq!(
        printed(h100.roofline(Pipe::Fp8).unwrap().ridge(), 1),
        "590.7"
    );
    assert_eq!(h100.peaks[&Pipe::Fp8].lecture_ridge, [591, 592]);
}

#[test]
fn datasheet_values_are_kept_beside_the_lectures_rounded_ones() {
    assert_eq!(
        gpu("A100").roofline(Pipe::Bf16).unwrap(),
        roof(312e12, 2.039e12)
    );
    assert_eq!(
        gpu("H100").roofline(Pipe::Bf16).unwrap(),
        roof(989.4e12, 3.35e12)
    );
    assert_eq!(
        gpu("H200").roofline(Pipe::Bf16).unwrap(),
        roof(989.4e12, 4.8e12)
    );
}

#[test]
fn bf16_ridge_rises_from_a100_to_h100_and_dips_at_b200() {
    let ridge = |name| gpu(name).roofline(Pipe::Bf16).unwrap().ridge();
    assert!(ridge("A100") < ridge("B200") && ridge("B200") < ridge("H100"));
}

#[test]
fn left_of_the_ridge_is_memory_bound_and_right_of_it_compute_bound() {
    let h100 = roof(989e12, H100_BANDWIDTH);
    assert_eq!(h100.side(295.0), Bound::Memory);
    assert_eq!(h100.side(296.0), Bound::Compute);
}

// Peak rates.

#[test]
fn h100_fp32_is_33792_flops_per_cycle_and_66_9_tflops() {
    let h100 = Attributes {
        compute_capability: ComputeCapability::new(9, 0),
        sms: 132,
        sm_clock_hz: 1.98e9,
        memory_bus_bits: Some(5120),
        memory_clock_hz: Some(2.619e9),
    };
    let fp32 = peak::fp32_peak(&h100).unwrap();
    assert_eq!(fp32.value / 1.98e9, 33_792.0);
    assert_eq!(printed(fp32.value / 1e12, 1), "66.9");
    assert_eq!(
        printed(peak::memory_peak(&h100).unwrap().value / 1e12, 2),
        "3.35"
    );
}

#[test]
fn h100_bf16_read_backwards_is_499500_per_cycle_3784_per_sm_1892_fma() {
    let seen = peak::read_backwards(989e12, 132, 1.98e9);
    // The lecture prints four digits of 499,495.
    assert_eq!((seen.flops_per_cycle / 100.0).round() * 100.0, 499_500.0);
    assert_eq!(seen.flops_per_sm_cycle.round(), 3784.0);
    assert_eq!(seen.fmas_per_sm_cycle.round(), 1892.0);
}

#[test]
fn the_hardware_does_4096_at_1_83_ghz() {
    let hopper = ComputeCapability::new(9, 0);
    let hardware = peak::tensor_flops_per_sm_cycle(hopper, Pipe::Bf16).unwrap();
    assert_eq!(hardware, 4096.0);
    assert_eq!(
        printed(peak::implied_clock(989.4e12, 132, hardware) / 1e9, 2),
        "1.83"
    );
    assert_eq!(printed(132.0 * 4096.0 * 1.83e9 / 1e12, 1), "989.4");
    let text = peak::explain_backwards(Pipe::Bf16, 989e12, 132, 1.98e9, hardware);
    for figure in ["3,784", "4,096", "1.98 GHz", "1.83 GHz"] {
        assert!(text.contains(figure), "{text}");
    }
}

#[test]
fn tensor_to_cuda_core_ratio_is_15_on_h100_and_about_100_at_the_best_precision() {
    assert_eq!(
        rounded(gpu("H100").ratio(Pipe::Bf16, Pipe::Fp32).unwrap()),
        15.0
    );
    let best = gpu("B200").ratio(Pipe::Fp4, Pipe::Fp32).unwrap();
    assert!((80.0..150.0).contains(&best), "{best}");
}

#[test]
fn each_halving_of_precision_about_doubles_the_rate() {
    let ladders = [
        ("A100", &[Pipe::Tf32, Pipe::Bf16, Pipe::Int8][..]),
        ("H100", &[Pipe::Tf32, Pipe::Bf16, Pipe::Fp8]),
        ("B200", &[Pipe::Tf32, Pipe::Bf16, Pipe::Fp8, Pipe::Fp4]),
    ];
    for (name, ladder) in ladders {
        for pair in ladder.windows(2) {
            let ratio = gpu(name).ratio(pair[1], pair[0]).unwrap();
            assert!((1.9..2.1).contains(&ratio), "{name} {}: {ratio}", pair[1]);
        }
    }
}

#[test]
fn sparse_figures_are_not_dense_figures() {
    let peak = &gpu("H100").peaks[&Pipe::Bf16];
    assert_eq!(peak.sparse_flop_per_s, Some(1978.9e12));
    assert_eq!(peak.dense_flop_per_s, 989.4e12);
}

#[test]
fn float_rates_exceed_integer_rates_on_most_gpus() {
    let database = Database::builtin().unwrap();
    let known = |g: &&Gpu| g.peaks.contains_key(&Pipe::Int32);
    let (all, faster) = database
        .gpus()
        .iter()
        .filter(known)
        .fold((0, 0), |(n, f), g| {
            (
                n + 1,
                f + usize::from(g.ratio(Pipe::Fp32, Pipe::Int32).unwrap() > 1.0),
            )
        });
    assert!(2 * faster > all, "{faster} of {all}");
}

// Units.

#[test]
fn tb_is_decimal_gib_is_binary_and_mixing_them_costs_7_or_10_percent() {
    assert_eq!(engineering(1e12, "B/s"), "1 TB/s");
    assert_eq!((GIB, TIB), (1 << 30, 1 << 40));
    assert_eq!(printed(binary_excess(3) * 100.0, 0), "7");
    assert_eq!(printed(binary_excess(4) * 100.0, 0), "10");
}

// Work models.

const N: u64 = 1 << 20;

#[test]
fn copy_has_no_flops_and_8n_bytes() {
    let work = work::copy(N, Storage::F32).unwrap();
    assert_eq!((work.flops, work.bytes, work.intensity()), (0, 8 * N, 0.0));
    assert_eq!(work::COPY.growth, "");
}

#[test]
fn saxpy_and_triad_have_one_sixth() {
    for (work, formulas) in [
        (work::saxpy(N, Storage::F32).unwrap(), work::SAXPY),
        (work::triad(N, Storage::F32).unwrap(), work::TRIAD),
    ] {
        assert_eq!((work.flops, work.bytes), (2 * N, 12 * N));
        assert_eq!(work.intensity(), 1.0 / 6.0);
        assert!(formulas.growth.starts_with("O(1)"));
    }
    assert_eq!(work::SAXPY.growth, "O(1): memory-bound always");
}

#[test]
fn fft_as_the_lecture_prints_it_has_5_32_log2_n() {
    let work = work::fft_lecture(N).unwrap();
    assert_eq!((work.flops, work.bytes), (5 * N / 2 * 20, 16 * N));
    assert_eq!(work.intensity(), 5.0 / 32.0 * 20.0);
    assert_eq!(work::FFT_LECTURE.growth, "O(log N)");
}

#[test]
fn a_real_fft_counted_consistently_has_5_16_log2_n() {
    let work = work::fft(N).unwrap();
    assert_eq!(work.bytes, 8 * N);
    assert_eq!(work.intensity(), 5.0 / 16.0 * 20.0);
}

#[test]
fn sgemm_has_2n3_flops_16n2_bytes_and_n_over_8() {
    let work = work::sgemm(4096, 4096, 4096).unwrap();
    assert_eq!(
        (work.flops, work.bytes),
        (2 * 4096u64.pow(3), 16 * 4096u64.pow(2))
    );
    assert_eq!(work.intensity(), 512.0);
    assert_eq!(work::SGEMM.growth, "O(N)");
}

// The crossover claim.

#[test]
fn h100_crossover_is_2360_with_the_rounded_ridge() {
    assert_eq!(
        sgemm_crossover(Storage::F32, roof(295.0, 1.0)),
        ("2360.0".into(), 2360)
    );
}

#[test]
fn h100_crossover_is_2361_8_unrounded_and_2362_7_with_989_4() {
    let of = |flops| sgemm_crossover(Storage::F32, roof(flops, H100_BANDWIDTH));
    assert_eq!(of(989e12), ("2361.8".into(), 2362));
    assert_eq!(of(989.4e12), ("2362.7".into(), 2363));
}

#[test]
fn h100_crossover_on_fp32_cuda_cores_is_159_8() {
    let of = sgemm_crossover(Storage::F32, roof(66.9e12, H100_BANDWIDTH));
    assert_eq!(of, ("159.8".into(), 160));
}

#[test]
fn h100_crossover_with_bf16_storage_is_about_1181() {
    // The course's notes have 1181.0: the exact figures are 1180.9 and 1181.4, on either side.
    let of = |flops| sgemm_crossover(Storage::Bf16, roof(flops, H100_BANDWIDTH));
    assert_eq!(of(989e12), ("1180.9".into(), 1181));
    assert_eq!(of(989.4e12), ("1181.4".into(), 1182));
}

#[test]
fn h100_crossover_in_dense_tf32_is_1181_4() {
    let of = sgemm_crossover(Storage::F32, roof(494.7e12, H100_BANDWIDTH));
    assert_eq!(of, ("1181.4".into(), 1182));
}

#[test]
fn h200_crossovers_are_1648_3_111_5_824_2_824_5() {
    let of = |storage, flops| sgemm_crossover(storage, roof(flops, H200_BANDWIDTH));
    assert_eq!(of(Storage::F32, 989e12), ("1648.3".into(), 1649));
    assert_eq!(of(Storage::F32, 66.9e12), ("111.5".into(), 112));
    assert_eq!(of(Storage::Bf16, 989e12), ("824.2".into(), 825));
    assert_eq!(of(Storage::F32, 494.7e12), ("824.5".into(), 825));
    let lecture = gpu("H200").lecture_roofline(Pipe::Bf16).unwrap();
    assert_eq!(lecture, roof(989e12, H200_BANDWIDTH));
}

#[test]
fn saxpy_and_an_fft_of_any_size_stay_memory_bound_on_h100() {
    let fp32 = gpu("H100").roofline(Pipe::Fp32).unwrap();
    assert!(matches!(
        crossover::constant(1.0 / 6.0, &fp32),
        Crossover::Never { .. }
    ));
    let fft = crossover::fft(FftBytes::Lecture, &fp32);
    assert!(matches!(fft, Crossover::BeyondReach { log2_n } if log2_n > 127.0));
}

// The measurement.

#[test]
fn a_gib_copy_at_3040_gb_per_s_is_90_7_percent() {
    let work = work::copy(256 << 20, Storage::F32).unwrap();
    assert_eq!(work.bytes, 2 * GIB);
    let h100 = gpu("H100").roofline(Pipe::Fp32).unwrap();
    let seconds = work.bytes as f64 / 3040e9;
    assert_eq!(
        printed(h100.fraction_of_roof(work, seconds) * 100.0, 1),
        "90.7"
    );
}

// The language model.

const LLM_ROOF: Roofline = Roofline {
    peak_flop_per_s: 1e15,
    peak_byte_per_s: 10e12,
};

fn llm(batch: u64) -> Step {
    let model = Model::dense(500e9, 2.0);
    model
        .decode(batch, 0, Speculation::NONE, &LLM_ROOF)
        .unwrap()
}

#[test]
fn llm_has_1_tb_of_weights_and_1_tflop_a_token() {
    assert_eq!((llm(1).bytes, llm(1).flops), (1e12, 1e12));
}

#[test]
fn llm_takes_100_ms_a_token_and_1_ms_of_arithmetic() {
    assert_eq!(engineering(llm(1).seconds(), "s"), "100 ms");
    assert_eq!(engineering(llm(1).arithmetic_s, "s"), "1 ms");
}

#[test]
fn llm_has_an_intensity_of_the_batch() {
    for batch in [1, 2, 64] {
        assert_eq!(llm(batch).intensity(), batch as f64);
    }
}

#[test]
fn llm_would_need_1_pb_per_s_to_be_compute_bound() {
    assert_eq!(
        engineering(llm(1).compute_bound_byte_per_s(), "B/s"),
        "1 PB/s"
    );
}

#[test]
fn llm_ridge_is_100_and_so_is_the_ridge_batch() {
    assert_eq!(LLM_ROOF.ridge(), 100.0);
    let model = Model::dense(500e9, 2.0);
    assert_eq!(
        model.ridge_batch(0, Speculation::NONE, &LLM_ROOF),
        Some(100.0)
    );
}

#[test]
fn llm_throughput_grows_linearly_at_constant_latency_until_the_ridge_batch() {
    for batch in [1, 10, 99] {
        assert_eq!(llm(batch).seconds(), llm(1).seconds());
        let gain = llm(batch).tokens_per_s() / llm(1).tokens_per_s();
        assert_eq!(significant(gain, 6), batch.to_string());
    }
    assert!(llm(101).seconds() > llm(1).seconds());
}

#[test]
fn prefill_is_compute_bound_and_single_batch_decode_memory_bound() {
    let model = Model::dense(500e9, 2.0);
    assert_eq!(
        model.prefill(1, 2048, &LLM_ROOF).unwrap().bound(),
        Bound::Compute
    );
    assert_eq!(llm(1).bound(), Bound::Memory);
}
