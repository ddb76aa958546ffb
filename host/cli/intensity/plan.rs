//! Arguments of `rooftrace intensity` become a plan: kernel, sizes, storage, pipe.

use super::IntensityArgs;
use crate::cli::render::CommandError;
use crate::kernels::size::{Size, SizeKind, parse_sizes};
use crate::roofline::crossover::{self, Crossover, FftBytes};
use crate::roofline::units::significant;
use crate::roofline::work::{GemmStorage, Storage};
use crate::roofline::{Pipe, Roofline};
use gpu_kernels::params::FMA_CHAINS;

/// A kernel with a work model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Kernel {
    /// b = a
    Copy,
    /// y = a x + y
    Saxpy,
    /// a = b + s c
    Triad,
    /// r = r a + b in registers, fp32: one thread's chains, whatever the device; sizes are steps
    Fma,
    /// y = x through R fused multiply-adds an element, fp32; sizes are N@I with an intensity I
    Mix,
    /// real FFT, fp32: as the lecture counts it and consistently
    Fft,
    /// C = A B + C in fp32 on the CUDA cores
    Sgemm,
    /// a matrix product with any --storage and --out-type
    Gemm,
    /// fp32 storage, TF32 tensor cores
    GemmTf32,
    /// BF16 storage and tensor cores
    GemmBf16,
    /// fp32 storage, BF16 tensor cores
    GemmMixed,
}

impl Kernel {
    /// The kernel's name on the command line.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            Kernel::Copy => "copy",
            Kernel::Saxpy => "saxpy",
            Kernel::Triad => "triad",
            Kernel::Fma => "fma",
            Kernel::Mix => "mix",
            Kernel::Fft => "fft",
            Kernel::Sgemm => "sgemm",
            Kernel::Gemm => "gemm",
            Kernel::GemmTf32 => "gemm-tf32",
            Kernel::GemmBf16 => "gemm-bf16",
            Kernel::GemmMixed => "gemm-mixed",
        }
    }

    /// Whether it is a matrix product.
    #[must_use]
    pub fn is_gemm(self) -> bool {
        !matches!(
            self,
            Kernel::Copy | Kernel::Saxpy | Kernel::Triad | Kernel::Fma | Kernel::Mix | Kernel::Fft
        )
    }

    fn size_kind(self) -> SizeKind {
        match self {
            Kernel::Mix => SizeKind::Mixed,
            kernel if kernel.is_gemm() => SizeKind::Matrix,
            _ => SizeKind::Elements,
        }
    }

    fn default_storage(self) -> Storage {
        if self == Kernel::GemmBf16 {
            Storage::Bf16
        } else {
            Storage::F32
        }
    }

    /// Whether the storage is part of what the kernel is.
    fn fixes_storage(self) -> bool {
        !matches!(
            self,
            Kernel::Copy | Kernel::Saxpy | Kernel::Triad | Kernel::Gemm
        )
    }

    fn pipe(self, storage: Storage) -> Pipe {
        match self {
            Kernel::Sgemm | Kernel::Fma | Kernel::Mix | Kernel::Fft => Pipe::Fp32,
            Kernel::GemmTf32 => Pipe::Tf32,
            Kernel::GemmBf16 | Kernel::GemmMixed => Pipe::Bf16,
            Kernel::Gemm => match storage {
                Storage::F64 => Pipe::Fp64,
                Storage::F32 => Pipe::Fp32,
                Storage::Bf16 => Pipe::Bf16,
                Storage::F16 => Pipe::Fp16,
                Storage::Fp8 => Pipe::Fp8,
                Storage::I8 => Pipe::Int8,
                Storage::Fp4 => Pipe::Fp4,
            },
            Kernel::Copy | Kernel::Saxpy | Kernel::Triad if storage == Storage::F64 => Pipe::Fp64,
            // Narrower element-wise work is computed in fp32 registers.
            Kernel::Copy | Kernel::Saxpy | Kernel::Triad => Pipe::Fp32,
        }
    }
}

/// A size as a work model takes it: elements of a vector kernel in `n`, or a product's three
/// dimensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dimensions {
    pub m: u64,
    pub n: u64,
    pub k: u64,
}

impl From<Size> for Dimensions {
    fn from(size: Size) -> Self {
        match size {
            Size::Elements(n) | Size::Mixed { n, .. } => Dimensions { m: n, n, k: n },
            Size::Matrix { m, n, k } => Dimensions { m, n, k },
        }
    }
}

/// Checked arguments.
pub struct Plan {
    pub kernel: Kernel,
    pub sizes: Vec<Size>,
    pub storage: GemmStorage,
    /// Independent products a launch; 1 for other kernels.
    pub batch: u64,
    /// The pipe that the kernel computes on by itself.
    pub pipe: Pipe,
}

impl Plan {
    pub fn new(args: &IntensityArgs) -> Result<Plan, CommandError> {
        let kernel = args.kernel;
        let gemm = kernel.is_gemm();
        let sizes = parse_sizes(&args.sizes, kernel.size_kind())?;
        for (name, given) in [
            ("--batch", args.batch.is_some()),
            ("--beta", args.beta.is_some()),
            ("--out-type", args.out_type.is_some()),
        ] {
            if given && !gemm {
                let problem = format!("given for {}, which is no matrix product", kernel.id());
                return Err(flag(name, problem, "sgemm and the gemm kernels"));
            }
        }
        let own = kernel.default_storage();
        let storage = args.storage.unwrap_or(own);
        if kernel.fixes_storage() && storage != own {
            let problem = format!(
                "\"{storage}\" given for {}, which stores {own}",
                kernel.id()
            );
            let allowed = if gemm {
                format!("{own}, or the kernel gemm")
            } else {
                own.to_string()
            };
            return Err(flag("--storage", problem, &allowed));
        }
        let out = args.out_type.unwrap_or(storage);
        if kernel == Kernel::Sgemm && out != own {
            let problem = format!("\"{out}\" given for sgemm, whose result is f32");
            return Err(flag("--out-type", problem, "f32, or the kernel gemm"));
        }
        let reads_c = gemm && args.beta != Some(0);
        let storage = GemmStorage {
            a: storage,
            b: storage,
            c: out,
            out,
            reads_c,
        };
        Ok(Plan {
            kernel,
            sizes,
            pipe: kernel.pipe(storage.a),
            batch: args.batch.unwrap_or(1),
            storage,
        })
    }

    /// Where the kernel crosses the ridge point, in words.
    pub fn crossover_text(&self, roofline: &Roofline) -> String {
        if let Kernel::Fma | Kernel::Mix = self.kernel {
            return self.crossover_of_chains(roofline);
        }
        let (what, found) = match self.kernel {
            Kernel::Copy => ("copy", crossover::constant(0.0, roofline)),
            Kernel::Saxpy | Kernel::Triad => {
                // 2N FLOPs over three arrays.
                let bytes = 3.0 * f64::from(self.storage.a.bits()) / 8.0;
                (self.kernel.id(), crossover::constant(2.0 / bytes, roofline))
            }
            Kernel::Fft => ("a real FFT", crossover::fft(FftBytes::Consistent, roofline)),
            _ => ("a square product", crossover::gemm(self.storage, roofline)),
        };
        match found {
            Crossover::At { n, next } => format!(
                "Predicted crossover: {what} is compute-bound from N = {n:.1}, so from {next}."
            ),
            Crossover::BeyondReach { log2_n } => {
                let power = significant(log2_n, 4);
                format!("Predicted crossover: {what} would need N = 2^{power}: memory-bound.")
            }
            Crossover::Never { intensity } => format!(
                "Predicted crossover: none, {what} has {} FLOP/byte at every size: memory-bound.",
                significant(intensity, 4)
            ),
            Crossover::Always { intensity } => format!(
                "Predicted crossover: none, {what} has {} FLOP/byte at every size: compute-bound.",
                significant(intensity, 4)
            ),
        }
    }

    /// The same for kernels whose intensity is in proportion to the FMAs of a thread or an element.
    fn crossover_of_chains(&self, roofline: &Roofline) -> String {
        let (what, count, per_fma) = match self.kernel {
            Kernel::Mix => ("mix", "FMAs an element", 0.25),
            _ => ("fma", "steps", f64::from(FMA_CHAINS) / 2.0),
        };
        let least = roofline.ridge() / per_fma;
        format!(
            "Predicted crossover: {what} is compute-bound from {} {count}, so from {}.",
            significant(least, 4),
            least.ceil().max(1.0)
        )
    }
}

fn flag(flag: &'static str, problem: String, allowed: &str) -> CommandError {
    CommandError::Flag {
        flag,
        problem,
        allowed: allowed.to_owned(),
    }
}
