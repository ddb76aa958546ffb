//! Predicts where a kernel crosses the ridge point.
//!
//! A square matrix product performs 2N^3 FLOPs over (bits / 8) N^2 bytes, where `bits` adds
//! the widths of A, B, the result and, if it is read, C. Its intensity is 16 N / bits, so it
//! reaches the ridge point at N* = ridge x bits / 16: eight times the ridge point in fp32
//! with C read, six times without, four and three times in 16-bit storage.

use crate::roofline::model::Roofline;
use crate::roofline::pipe::Pipe;
use crate::roofline::work::{GemmStorage, Storage};

/// Where a kernel crosses the ridge point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Crossover {
    /// At a size.
    At {
        /// The real number N*.
        n: f64,
        /// The smallest admissible integer size at or above it.
        next: u64,
    },
    /// At a size of more than 2^63: only its logarithm is of use.
    BeyondReach {
        /// log2 N*.
        log2_n: f64,
    },
    /// Nowhere: the intensity does not grow with the size.
    Never {
        /// The intensity at every size, FLOP/byte.
        intensity: f64,
    },
    /// Everywhere: the intensity does not grow with the size and is not below the ridge point.
    Always {
        /// The intensity at every size, FLOP/byte.
        intensity: f64,
    },
}

/// The crossover of a square matrix product. The batch does not matter.
#[must_use]
pub fn gemm(storage: GemmStorage, roofline: &Roofline) -> Crossover {
    let n = roofline.ridge() * f64::from(storage.bits_per_square()) / 16.0;
    match integer_at_or_above(n) {
        Some(next) => Crossover::At { n, next },
        None => Crossover::BeyondReach { log2_n: n.log2() },
    }
}

/// Which bytes an FFT's model counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FftBytes {
    /// 16N, as the lecture prints: those of a complex transform.
    Lecture,
    /// 8N: those of a real transform.
    Consistent,
}

/// The crossover of a real fp32 FFT: (5/32) log2 N, or (5/16) log2 N, meets the ridge point.
///
/// `next` is a power of two, as the FLOP count asks for one.
#[must_use]
pub fn fft(bytes: FftBytes, roofline: &Roofline) -> Crossover {
    let per_octave = match bytes {
        FftBytes::Lecture => 5.0 / 32.0,
        FftBytes::Consistent => 5.0 / 16.0,
    };
    let log2_n = roofline.ridge() / per_octave;
    // 63: the last power of two that a u64 holds.
    if log2_n > 63.0 {
        return Crossover::BeyondReach { log2_n };
    }
    Crossover::At {
        n: log2_n.exp2(),
        next: 1 << (log2_n.ceil() as u32).max(1),
    }
}

/// The crossover of a kernel whose intensity (FLOP/byte) is the same at every size.
#[must_use]
pub fn constant(intensity: f64, roofline: &Roofline) -> Crossover {
    if intensity < roofline.ridge() {
        Crossover::Never { intensity }
    } else {
        Crossover::Always { intensity }
    }
}

fn integer_at_or_above(n: f64) -> Option<u64> {
    // 2^53: above it a float no longer tells neighbouring integers apart.
    (n <= 9_007_199_254_740_992.0).then(|| n.ceil().max(1.0) as u64)
}

/// One claim about a crossover: what it assumes, and what could test it.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// What the claim combines.
    pub label: &'static str,
    /// The pipe whose roof is assumed.
    pub pipe: Pipe,
    /// How the matrices are stored and whether C is read.
    pub storage: GemmStorage,
    /// What has to hold for the claim.
    pub assumption: &'static str,
    /// The kernel that can test it.
    pub tested_by: &'static str,
}

impl Claim {
    /// The claim's crossover on a roofline, which should be that of [`Claim::pipe`].
    #[must_use]
    pub fn on(&self, roofline: &Roofline) -> Crossover {
        gemm(self.storage, roofline)
    }
}

/// The claims that the lecture's rule leads to, its own first; each with C read and without.
#[must_use]
pub fn claims() -> Vec<Claim> {
    let bf16_in_f32_out = |reads_c| GemmStorage {
        a: Storage::Bf16,
        b: Storage::Bf16,
        c: Storage::F32,
        out: Storage::F32,
        reads_c,
    };
    let mut claims = Vec::new();
    for reads_c in [true, false] {
        let f32_storage = GemmStorage::uniform(Storage::F32, reads_c);
        claims.extend([
            Claim {
                label: "fp32 storage, BF16 tensor cores (the lecture's)",
                pipe: Pipe::Bf16,
                storage: f32_storage,
                assumption: "operands are stored in fp32 and rounded to bf16 on the way to the \
                             tensor cores, at no cost",
                tested_by: "gemm-mixed",
            },
            Claim {
                label: "fp32 storage, fp32 CUDA cores",
                pipe: Pipe::Fp32,
                storage: f32_storage,
                assumption: "every matrix crosses the memory bus once: tiles are reused on chip",
                tested_by: "sgemm",
            },
            Claim {
                label: "BF16 storage, BF16 tensor cores",
                pipe: Pipe::Bf16,
                storage: GemmStorage::uniform(Storage::Bf16, reads_c),
                assumption: "the result is rounded to bf16 before it is stored",
                tested_by: "gemm-bf16",
            },
            Claim {
                label: "BF16 inputs, fp32 result, BF16 tensor cores",
                pipe: Pipe::Bf16,
                storage: bf16_in_f32_out(reads_c),
                assumption: "the result is stored as it is accumulated, in fp32",
                tested_by: "gemm-bf16",
            },
            Claim {
                label: "fp32 storage, TF32 tensor cores",
                pipe: Pipe::Tf32,
                storage: f32_storage,
                assumption: "the multiplier sees 10 mantissa bits of each fp32 operand",
                tested_by: "gemm-tf32",
            },
        ]);
    }
    claims
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roofline::work;

    fn roof(ridge: f64) -> Roofline {
        Roofline {
            peak_flop_per_s: ridge * 1e12,
            peak_byte_per_s: 1e12,
        }
    }

    #[test]
    fn the_formula_agrees_with_the_work_model_on_both_sides() {
        let roofline = roof(19.97);
        for claim in claims() {
            let Crossover::At { next, .. } = claim.on(&roofline) else {
                panic!("{claim:?}")
            };
            let at = |n| {
                work::gemm(work::GemmShape::square(n), claim.storage)
                    .unwrap()
                    .intensity()
            };
            assert!(at(next) >= 19.97, "{}", claim.label);
            assert!(at(next - 1) < 19.97, "{}", claim.label);
        }
    }

    #[test]
    fn a_whole_crossover_is_its_own_next_integer() {
        let storage = GemmStorage::uniform(Storage::F32, true);
        assert_eq!(
            gemm(storage, &roof(295.0)),
            Crossover::At {
                n: 2360.0,
                next: 2360
            }
        );
    }

    #[test]
    fn not_reading_c_lowers_the_crossover_by_a_quarter() {
        let with = GemmStorage::uniform(Storage::F32, true);
        let without = GemmStorage::uniform(Storage::F32, false);
        assert_eq!(
            (with.bits_per_square(), without.bits_per_square()),
            (128, 96)
        );
        assert_eq!(
            gemm(without, &roof(295.0)),
            Crossover::At {
                n: 1770.0,
                next: 1770
            }
        );
    }

    #[test]
    fn fft_crosses_at_a_power_of_two_or_beyond_reach() {
        assert_eq!(
            fft(FftBytes::Consistent, &roof(3.2)),
            Crossover::At {
                n: (3.2f64 * 16.0 / 5.0).exp2(),
                next: 2048
            }
        );
        let Crossover::BeyondReach { log2_n } = fft(FftBytes::Lecture, &roof(20.0)) else {
            panic!("an fft would need 2^128 elements")
        };
        assert!((log2_n - 128.0).abs() < 1e-9);
    }

    #[test]
    fn kernels_of_constant_intensity_never_cross() {
        assert_eq!(
            constant(1.0 / 6.0, &roof(20.0)),
            Crossover::Never {
                intensity: 1.0 / 6.0
            }
        );
        assert_eq!(
            constant(32.0, &roof(20.0)),
            Crossover::Always { intensity: 32.0 }
        );
    }

    #[test]
    fn absurd_ridge_points_are_not_cast_into_nonsense() {
        let storage = GemmStorage::uniform(Storage::F32, true);
        assert!(matches!(
            gemm(storage, &roof(1e30)),
            Crossover::BeyondReach { .. }
        ));
        assert_eq!(
            gemm(storage, &roof(1e-9)),
            Crossover::At { n: 8e-9, next: 1 }
        );
    }
}
