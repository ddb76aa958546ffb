//! A kernel, a variant and a size: what is run.

use super::Kernel;
pub use super::size::{Size, SizeKind};
use crate::device::{DeviceInfo, Element, Fill};
pub use crate::record::row::Data;
use crate::roofline::pipe::Pipe;

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
    /// C = A @ B + C, bfloat16 on tensor cores
    GemmBf16,
    /// C = A @ B + C, f32 multiplied in TF32 on tensor cores
    GemmTf32,
    /// C = A @ B + C, f32 multiplied in bfloat16 on tensor cores
    GemmMixed,
}

impl KernelId {
    /// All of them.
    pub const ALL: [KernelId; 9] = [
        KernelId::Copy,
        KernelId::Saxpy,
        KernelId::Triad,
        KernelId::Fma,
        KernelId::Mix,
        KernelId::Sgemm,
        KernelId::GemmBf16,
        KernelId::GemmTf32,
        KernelId::GemmMixed,
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
            KernelId::GemmBf16 => "gemm-bf16",
            KernelId::GemmTf32 => "gemm-tf32",
            KernelId::GemmMixed => "gemm-mixed",
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
    /// What a matrix product is besides its size.
    pub form: Form,
    /// Seed of the operands.
    pub seed: u64,
    /// Distribution of the operands that are timed.
    pub data: Data,
}

/// What a problem is besides its size: which pipe does the arithmetic, and for a matrix product how
/// many there are and what becomes of C.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Form {
    /// Independent products of a launch, each with operands of its own, one behind the other in
    /// memory.
    pub batch: u64,
    /// Whether it is C = A @ B + C, beta = 1, or C = A @ B, beta = 0.
    pub reads_c: bool,
    /// What C is stored as; `None` for the kernel's own choice.
    pub out: Option<Element>,
    /// What does the arithmetic; `None` for the kernel's own choice.
    pub pipe: Option<Pipe>,
}

impl Form {
    /// The forms in which a kernel is verified on a device: every beta with every storage of C, and
    /// a batch; every pipe.
    pub fn of(kernel: &dyn Kernel, device: &DeviceInfo) -> Vec<Form> {
        let mut forms = Vec::new();
        let betas = match kernel.betas() {
            [] => &[true],
            betas => betas,
        };
        for &reads_c in betas {
            for &out in kernel.outputs() {
                forms.extend(kernel.pipes(device).into_iter().map(|pipe| Form {
                    batch: 1,
                    reads_c,
                    out: Some(out),
                    pipe: Some(pipe),
                }));
            }
        }
        if kernel.batches() {
            forms.extend(forms.first().copied().map(|form| Form { batch: 3, ..form }));
        }
        forms
    }
}

impl Default for Form {
    /// One product, C = A @ B + C.
    fn default() -> Self {
        Form {
            batch: 1,
            reads_c: true,
            out: None,
            pipe: None,
        }
    }
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

    /// What does the arithmetic.
    pub fn pipe(&self) -> Pipe {
        let own = self.kernel.kernel().pipe();
        self.form.pipe.unwrap_or(own)
    }

    /// What the output is stored as.
    pub fn out(&self) -> Element {
        let own = self.kernel.kernel().outputs()[0];
        self.form.out.unwrap_or(own)
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
