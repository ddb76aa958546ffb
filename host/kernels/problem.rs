//! A kernel, a variant and a size: what is run.

pub use super::size::{Size, SizeKind};
use crate::device::Fill;
pub use crate::record::row::Data;

/// The kernels, in the order of `sweep all`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum KernelId {
    /// b = a
    Copy,
    /// y = alpha * x + y
    Saxpy,
    /// a = b + scalar * c
    Triad,
    /// chains of fused multiply-adds in registers
    Fma,
    /// y = x through a number of fused multiply-adds
    Mix,
    /// C = A @ B + C
    Sgemm,
}

impl KernelId {
    /// All of them.
    pub const ALL: [KernelId; 6] = [
        KernelId::Copy,
        KernelId::Saxpy,
        KernelId::Triad,
        KernelId::Fma,
        KernelId::Mix,
        KernelId::Sgemm,
    ];

    /// Name on the command line and in the column `kernel`.
    pub fn name(self) -> &'static str {
        match self {
            KernelId::Copy => "copy",
            KernelId::Saxpy => "saxpy",
            KernelId::Triad => "triad",
            KernelId::Fma => "fma",
            KernelId::Mix => "mix",
            KernelId::Sgemm => "sgemm",
        }
    }
}

/// Scalar of SAXPY and triad: not representable in few bits, below 1 so that y stays bounded
/// over thousands of launches.
pub const SCALAR: f32 = 0.400_390_63;

/// What is run.
#[derive(Debug, Clone, PartialEq)]
pub struct Problem {
    /// Kernel.
    pub kernel: KernelId,
    /// Name of one of its variants on the device.
    pub variant: &'static str,
    /// Elements, with FMAs of each for `mix`, or the three sides of a matrix product.
    pub size: Size,
    /// Seed of the operands.
    pub seed: u64,
    /// Distribution of the operands that are timed.
    pub data: Data,
}

/// Stands for the variant where the vendor's library is run instead of a kernel.
const BASELINE: &str = "baseline";

impl Problem {
    /// The same problem, to be run with the vendor's library.
    pub fn baseline(&self) -> Problem {
        Problem {
            variant: BASELINE,
            ..self.clone()
        }
    }

    /// Whether the vendor's library runs it.
    pub fn is_baseline(&self) -> bool {
        self.variant == BASELINE
    }

    /// Elements of a vector kernel.
    ///
    /// # Panics
    /// On a matrix problem: the plan gives every kernel sizes of its own kind.
    pub fn elements(&self) -> u64 {
        match self.size {
            Size::Elements(n) | Size::Mixed { n, .. } => n,
            Size::Matrix { .. } => unreachable!("a vector kernel was planned with a matrix size"),
        }
    }

    /// Fused multiply-adds of each element, where a size has a number of them; otherwise none.
    pub fn fmas(&self) -> u64 {
        match self.size {
            Size::Mixed { fmas, .. } => fmas,
            Size::Elements(_) | Size::Matrix { .. } => 0,
        }
    }

    /// M, N and K of a matrix product.
    ///
    /// # Panics
    /// On a vector problem: the plan gives every kernel sizes of its own kind.
    pub fn matrix(&self) -> (u64, u64, u64) {
        match self.size {
            Size::Matrix { m, n, k } => (m, n, k),
            Size::Elements(_) | Size::Mixed { .. } => {
                unreachable!("a matrix kernel was planned with a vector size")
            }
        }
    }

    /// Seed of the operand with index `operand`.
    pub fn operand_seed(&self, operand: usize) -> u64 {
        gpu_kernels::random::stream(self.seed, operand as u64)
    }

    /// How the operand with index `operand` is filled.
    pub fn fill(&self, data: Data, operand: usize) -> Fill {
        match data {
            Data::Random => Fill::Uniform(self.operand_seed(operand)),
            Data::Integers => Fill::Integers(self.operand_seed(operand)),
            Data::Zeros => Fill::Bits(0),
        }
    }
}
