//! The work models against counts made by hand, and their failures.

use super::*;
use proptest::prelude::*;

#[test]
fn gemm_counts_a_rectangle_by_hand() {
    // A 2x4, B 4x3, result 2x3: 24 FMAs; 8 + 12 elements in, 6 out, 6 more if C is read.
    let shape = GemmShape {
        m: 2,
        n: 3,
        k: 4,
        batch: 1,
    };
    let f32_with_c = gemm(shape, GemmStorage::uniform(Storage::F32, true)).unwrap();
    assert_eq!(
        f32_with_c,
        Work {
            flops: 48,
            bytes: 4 * (8 + 12 + 6 + 6)
        }
    );
    let f32_without = gemm(shape, GemmStorage::uniform(Storage::F32, false)).unwrap();
    assert_eq!(f32_without.bytes, 4 * (8 + 12 + 6));
    assert_eq!(sgemm(2, 3, 4).unwrap(), f32_with_c);
    let mixed = GemmStorage {
        a: Storage::Bf16,
        b: Storage::Fp8,
        c: Storage::F16,
        out: Storage::F32,
        reads_c: true,
    };
    assert_eq!(
        gemm(shape, mixed).unwrap().bytes,
        2 * 8 + 12 + 2 * 6 + 4 * 6
    );
    let batched = gemm(GemmShape { batch: 7, ..shape }, mixed).unwrap();
    assert_eq!(
        batched,
        Work {
            flops: 7 * 48,
            bytes: 7 * 64
        }
    );
}

#[test]
fn half_bytes_are_rounded_up_over_the_whole_array() {
    assert_eq!(copy(3, Storage::Fp4).unwrap().bytes, 3);
    let one = gemm(
        GemmShape::square(1),
        GemmStorage::uniform(Storage::Fp4, false),
    )
    .unwrap();
    assert_eq!(one.bytes, 2, "three elements of four bits");
}

#[test]
fn fma_stores_one_result_per_thread() {
    assert_eq!(
        fma(100, 16, 1000).unwrap(),
        Work {
            flops: 3_200_000,
            bytes: 400
        }
    );
}

#[test]
fn vector_kernels_follow_their_storage() {
    assert_eq!(
        copy(10, Storage::F32).unwrap(),
        Work {
            flops: 0,
            bytes: 80
        }
    );
    assert_eq!(
        saxpy(10, Storage::F64).unwrap(),
        Work {
            flops: 20,
            bytes: 240
        }
    );
    assert_eq!(
        triad(10, Storage::Bf16).unwrap(),
        Work {
            flops: 20,
            bytes: 60
        }
    );
}

#[test]
fn overflow_says_what_overflowed() {
    let error = sgemm(1 << 22, 1 << 22, 1 << 22).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("FLOPs of gemm exceed 64 bits at 4194304x"),
        "{error}"
    );
    let error = copy(u64::MAX / 4, Storage::F32).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("bytes of copy exceed 64 bits"),
        "{error}"
    );
    assert!(
        fma(1 << 40, 1 << 20, 1 << 10)
            .unwrap_err()
            .to_string()
            .starts_with("FLOPs of fma")
    );
}

#[test]
fn zero_dimensions_are_named() {
    assert_eq!(
        sgemm(4, 4, 0).unwrap_err(),
        WorkError::Zero {
            kernel: "gemm",
            dimension: "k"
        }
    );
    assert!(saxpy(0, Storage::F32).is_err() && fft(0).is_err() && fma(1, 0, 1).is_err());
}

#[test]
fn fft_lengths_must_be_powers_of_two() {
    let error = fft(1000).unwrap_err();
    assert_eq!(
        error,
        WorkError::NotPowerOfTwo {
            n: 1000,
            nearest: 512
        }
    );
    assert_eq!(
        fft_lecture(1).unwrap_err(),
        WorkError::NotPowerOfTwo { n: 1, nearest: 2 }
    );
    assert!(fft(2).is_ok());
}

#[test]
fn intensity_of_nothing_is_zero_and_never_nan() {
    assert_eq!(Work { flops: 0, bytes: 0 }.intensity(), 0.0);
    assert_eq!(Work { flops: 1, bytes: 0 }.intensity(), f64::INFINITY);
}

proptest! {
    /// The counts agree with arithmetic in 128 bits wherever they fit, and fail elsewhere.
    #[test]
    fn gemm_agrees_with_wide_arithmetic(
        m in 1u64..1 << 24, n in 1u64..1 << 24, k in 1u64..1 << 24, batch in 1u64..1 << 10,
    ) {
        let wide = |x: u64| u128::from(x);
        let flops = 2 * wide(m) * wide(n) * wide(k) * wide(batch);
        let bytes = 4 * (wide(m) * wide(k) + wide(k) * wide(n) + 2 * wide(m) * wide(n)) * wide(batch);
        let work = gemm(GemmShape { m, n, k, batch }, GemmStorage::uniform(Storage::F32, true));
        match work {
            Ok(w) => {
                prop_assert_eq!(wide(w.flops), flops);
                prop_assert_eq!(wide(w.bytes), bytes);
            }
            // Bits are counted before bytes, so three bits of headroom are given up.
            Err(_) => prop_assert!(flops >= 1 << 64 || bytes * 8 >= 1 << 64),
        }
    }
}
