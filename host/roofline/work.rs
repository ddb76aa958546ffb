//! Work models: how many FLOPs a kernel performs and how many bytes it must move.
//!
//! Bytes are those that cross between device memory and the SMs when every input is read
//! once and every output written once; whatever is reused from a cache or shared memory
//! counts once. A fused multiply-add is two FLOPs.

pub use super::storage::Storage;

/// FLOPs and bytes of one launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// Floating-point operations (operations, for integer pipes).
    pub flops: u64,
    /// Bytes read from and written to device memory.
    pub bytes: u64,
}

impl Work {
    /// Arithmetic intensity, FLOP/byte. Work that moves no byte has an infinite one; work
    /// that does nothing has 0.
    #[must_use]
    pub fn intensity(self) -> f64 {
        if self.flops == 0 {
            0.0
        } else {
            self.flops as f64 / self.bytes as f64
        }
    }
}

/// Why a size makes no work.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WorkError {
    /// A count does not fit into 64 bits.
    #[error("{what} of {kernel} exceed 64 bits at {size}; give a smaller size")]
    Overflow {
        /// The kernel.
        kernel: &'static str,
        /// What overflowed: "FLOPs" or "bytes".
        what: &'static str,
        /// The size that was given.
        size: String,
    },
    /// A dimension is 0.
    #[error("{dimension} of {kernel} is 0; a size starts at 1")]
    Zero {
        /// The kernel.
        kernel: &'static str,
        /// The dimension.
        dimension: &'static str,
    },
    /// A transform's length for which the FLOP count does not hold.
    #[error(
        "fft of length {n}: (5/2) N log2 N counts a radix-2 transform; N must be a power of \
         two from 2, such as {nearest}"
    )]
    NotPowerOfTwo {
        /// The length given.
        n: u64,
        /// The nearest power of two below.
        nearest: u64,
    },
}

/// Shape of a (batched) matrix product: A is m x k, B is k x n, C and the result m x n.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GemmShape {
    /// Rows of A and of the result.
    pub m: u64,
    /// Columns of B and of the result.
    pub n: u64,
    /// Columns of A, rows of B.
    pub k: u64,
    /// Independent products of that shape.
    pub batch: u64,
}

impl GemmShape {
    /// One square product of side `n`.
    #[must_use]
    pub fn square(n: u64) -> Self {
        GemmShape {
            m: n,
            n,
            k: n,
            batch: 1,
        }
    }
}

/// How a matrix product's operands are stored, and whether C is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GemmStorage {
    /// A.
    pub a: Storage,
    /// B.
    pub b: Storage,
    /// C; read only if `beta` is 1.
    pub c: Storage,
    /// The result.
    pub out: Storage,
    /// Whether C is added (beta = 1) and therefore read.
    pub reads_c: bool,
}

impl GemmStorage {
    /// All four matrices stored alike.
    #[must_use]
    pub fn uniform(storage: Storage, reads_c: bool) -> Self {
        GemmStorage {
            a: storage,
            b: storage,
            c: storage,
            out: storage,
            reads_c,
        }
    }

    /// Bits per N^2 elements of a square product: 128 for fp32 with C read.
    #[must_use]
    pub fn bits_per_square(self) -> u32 {
        let c = if self.reads_c { self.c.bits() } else { 0 };
        self.a.bits() + self.b.bits() + c + self.out.bits()
    }
}

/// copy, b = a: no FLOPs, each element read once and written once.
///
/// # Errors
/// [`WorkError`] if `n` is 0 or the bytes exceed 64 bits.
pub fn copy(n: u64, storage: Storage) -> Result<Work, WorkError> {
    vector("copy", n, 0, 2, storage)
}

/// SAXPY, y = a x + y: 2N FLOPs, reads x and y, writes y.
///
/// # Errors
/// [`WorkError`] if `n` is 0 or a count exceeds 64 bits.
pub fn saxpy(n: u64, storage: Storage) -> Result<Work, WorkError> {
    vector("saxpy", n, 2, 3, storage)
}

/// STREAM triad, a = b + s c: 2N FLOPs, three arrays.
///
/// # Errors
/// [`WorkError`] if `n` is 0 or a count exceeds 64 bits.
pub fn triad(n: u64, storage: Storage) -> Result<Work, WorkError> {
    vector("triad", n, 2, 3, storage)
}

/// A loop of fused multiply-adds without memory traffic: `threads` x `chains` x `steps` FMAs,
/// one fp32 result stored per thread.
///
/// # Errors
/// [`WorkError`] if an argument is 0 or a count exceeds 64 bits.
pub fn fma(threads: u64, chains: u64, steps: u64) -> Result<Work, WorkError> {
    let count = Count {
        kernel: "fma",
        size: format!("{threads} x {chains} x {steps}"),
    };
    count.nonzero(&[("threads", threads), ("chains", chains), ("steps", steps)])?;
    Ok(Work {
        flops: count.product("FLOPs", &[2, threads, chains, steps])?,
        bytes: count.product("bytes", &[4, threads])?,
    })
}

/// A peak kernel: `per_step` operations in each of `steps` steps, and `stored` fp32 results.
///
/// # Errors
/// [`WorkError`] if an argument is 0 or a count exceeds 64 bits.
pub fn peak(per_step: u64, steps: u64, stored: u64) -> Result<Work, WorkError> {
    let count = Count {
        kernel: "fma",
        size: format!("{per_step} x {steps}"),
    };
    count.nonzero(&[
        ("operations", per_step),
        ("steps", steps),
        ("results", stored),
    ])?;
    Ok(Work {
        flops: count.product("FLOPs", &[per_step, steps])?,
        bytes: count.product("bytes", &[4, stored])?,
    })
}

/// Mix, y = x through `fmas` fused multiply-adds on each of `n` elements in fp32: 2 x `fmas` x N
/// FLOPs over 8N bytes.
///
/// # Errors
/// [`WorkError`] if `n` is 0 or a count exceeds 64 bits.
pub fn mix(n: u64, fmas: u64) -> Result<Work, WorkError> {
    let count = Count {
        kernel: "mix",
        size: format!("N = {n} with {fmas} FMAs each"),
    };
    count.nonzero(&[("N", n)])?;
    Ok(Work {
        flops: count.product("FLOPs", &[2, fmas, n])?,
        bytes: count.product("bytes", &[8, n])?,
    })
}

/// Real fp32 FFT as the lecture prints it: (5/2) N log2 N FLOPs over 16N bytes.
///
/// The bytes are those of a *complex* transform; [`fft`] has those of a real one.
///
/// # Errors
/// [`WorkError`] unless `n` is a power of two from 2 whose counts fit 64 bits.
pub fn fft_lecture(n: u64) -> Result<Work, WorkError> {
    fft_with(n, 16)
}

/// Real fp32 FFT, consistently: N real floats in and N/2 complex ones out are 8N bytes.
///
/// # Errors
/// [`WorkError`] unless `n` is a power of two from 2 whose counts fit 64 bits.
pub fn fft(n: u64) -> Result<Work, WorkError> {
    fft_with(n, 8)
}

/// SGEMM, C = A B + C in fp32: 2MNK FLOPs, 4(MK + KN + 2MN) bytes.
///
/// # Errors
/// [`WorkError`] if a dimension is 0 or a count exceeds 64 bits.
pub fn sgemm(m: u64, n: u64, k: u64) -> Result<Work, WorkError> {
    let shape = GemmShape { m, n, k, batch: 1 };
    gemm(shape, GemmStorage::uniform(Storage::F32, true))
}

/// A batch of matrix products: 2MNK FLOPs each; A, B and, with beta = 1, C are read once, the
/// result is written once.
///
/// Scaling by alpha or beta is not counted: it is O(N^2) and vanishes beside 2N^3.
///
/// # Errors
/// [`WorkError`] if a dimension is 0 or a count exceeds 64 bits.
pub fn gemm(shape: GemmShape, storage: GemmStorage) -> Result<Work, WorkError> {
    let GemmShape { m, n, k, batch } = shape;
    let count = Count {
        kernel: "gemm",
        size: format!("{m}x{n}x{k}, batch {batch}"),
    };
    count.nonzero(&[("m", m), ("n", n), ("k", k), ("batch", batch)])?;
    let c_bits = if storage.reads_c { storage.c.bits() } else { 0 };
    let out_bits = u64::from(c_bits + storage.out.bits());
    let bits = [
        count.product("bytes", &[u64::from(storage.a.bits()), m, k])?,
        count.product("bytes", &[u64::from(storage.b.bits()), k, n])?,
        count.product("bytes", &[out_bits, m, n])?,
    ];
    let per_product = count.sum("bytes", &bits)?;
    Ok(Work {
        flops: count.product("FLOPs", &[2, m, n, k, batch])?,
        bytes: count.product("bytes", &[per_product, batch])?.div_ceil(8),
    })
}

fn vector(
    kernel: &'static str,
    n: u64,
    flops: u64,
    arrays: u64,
    storage: Storage,
) -> Result<Work, WorkError> {
    let count = Count {
        kernel,
        size: format!("N = {n}"),
    };
    count.nonzero(&[("N", n)])?;
    Ok(Work {
        flops: count.product("FLOPs", &[flops, n])?,
        bytes: count
            .product("bytes", &[arrays, u64::from(storage.bits()), n])?
            .div_ceil(8),
    })
}

fn fft_with(n: u64, bytes_per_element: u64) -> Result<Work, WorkError> {
    let count = Count {
        kernel: "fft",
        size: format!("N = {n}"),
    };
    count.nonzero(&[("N", n)])?;
    if n < 2 || !n.is_power_of_two() {
        let nearest = if n < 2 { 2 } else { 1 << n.ilog2() };
        return Err(WorkError::NotPowerOfTwo { n, nearest });
    }
    Ok(Work {
        // N is even, so halving it first keeps the count exact.
        flops: count.product("FLOPs", &[5, n / 2, u64::from(n.ilog2())])?,
        bytes: count.product("bytes", &[bytes_per_element, n])?,
    })
}

/// Checked arithmetic that knows what it counts.
struct Count {
    kernel: &'static str,
    size: String,
}

impl Count {
    fn nonzero(&self, dimensions: &[(&'static str, u64)]) -> Result<(), WorkError> {
        match dimensions.iter().find(|(_, value)| *value == 0) {
            Some((dimension, _)) => Err(WorkError::Zero {
                kernel: self.kernel,
                dimension,
            }),
            None => Ok(()),
        }
    }

    fn product(&self, what: &'static str, factors: &[u64]) -> Result<u64, WorkError> {
        let product = factors.iter().try_fold(1u64, |p, f| p.checked_mul(*f));
        product.ok_or_else(|| self.overflow(what))
    }

    fn sum(&self, what: &'static str, terms: &[u64]) -> Result<u64, WorkError> {
        terms
            .iter()
            .try_fold(0u64, |s, t| s.checked_add(*t))
            .ok_or_else(|| self.overflow(what))
    }

    fn overflow(&self, what: &'static str) -> WorkError {
        WorkError::Overflow {
            kernel: self.kernel,
            what,
            size: self.size.clone(),
        }
    }
}

/// A kernel's work model as formulas, for `--explain` and for documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Formulas {
    /// FLOPs.
    pub flops: &'static str,
    /// Bytes.
    pub bytes: &'static str,
    /// Intensity, FLOP/byte.
    pub intensity: &'static str,
    /// How the intensity grows with the size; empty for a kernel without FLOPs.
    pub growth: &'static str,
}

/// copy in fp32.
pub const COPY: Formulas = Formulas {
    flops: "0",
    bytes: "8N",
    intensity: "0",
    growth: "",
};
/// SAXPY in fp32.
pub const SAXPY: Formulas = Formulas {
    flops: "2N",
    bytes: "12N",
    intensity: "1/6",
    growth: "O(1): memory-bound always",
};
/// STREAM triad in fp32.
pub const TRIAD: Formulas = Formulas {
    flops: "2N",
    bytes: "12N",
    intensity: "1/6",
    growth: "O(1)",
};
/// Real fp32 FFT as the lecture prints it.
pub const FFT_LECTURE: Formulas = Formulas {
    flops: "(5/2) N log2 N",
    bytes: "16N",
    intensity: "(5/32) log2 N",
    growth: "O(log N)",
};
/// Real fp32 FFT with a real transform's bytes.
pub const FFT: Formulas = Formulas {
    flops: "(5/2) N log2 N",
    bytes: "8N",
    intensity: "(5/16) log2 N",
    growth: "O(log N)",
};
/// `mix`, R fused multiply-adds an element.
pub const MIX: Formulas = Formulas {
    flops: "2RN",
    bytes: "8N",
    intensity: "R/4",
    growth: "O(R): chosen, whatever N",
};
/// FMA loop.
pub const FMA: Formulas = Formulas {
    flops: "2 x threads x chains x steps",
    bytes: "4 x threads",
    intensity: "chains x steps / 2",
    growth: "O(steps)",
};
/// SGEMM.
pub const SGEMM: Formulas = Formulas {
    flops: "2MNK",
    bytes: "4(MK + KN + 2MN)",
    intensity: "N/8 if square",
    growth: "O(N)",
};

#[cfg(test)]
#[path = "work_tests.rs"]
mod tests;
