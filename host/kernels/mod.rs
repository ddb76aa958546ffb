//! The registry: per kernel its work, operands, launch and verification.
//!
//! | module | what it is for |
//! |---|---|
//! | [`problem`] | a kernel, a variant and a size: what is run |
//! | [`size`] | problem sizes and the grammar of `--sizes` |
//! | [`intensity`] | the intensities of `mix` and the grammar of `--intensity` |
//! | `range` | ranges of whole numbers, as both grammars have them |
//! | [`mod@bench`] | the operands of a problem on a device, between guard bands |
//! | [`digest`] | fingerprints of outputs, to compare devices bit for bit |
//! | [`verify`] | references and error bounds |
//! | [`mod@copy`], [`saxpy`], [`triad`], [`fma`], [`mix`], [`sgemm`], [`gemm`] | one kernel each |

pub mod bench;
pub mod copy;
pub mod digest;
pub mod fma;
pub mod gemm;
pub mod intensity;
pub mod mix;
pub mod problem;
mod range;
pub mod saxpy;
pub mod sgemm;
pub mod size;
mod stream;
pub mod triad;
pub mod verify;

pub use bench::{Bench, OperandSpec, Role};
pub use problem::{Data, Form, KernelId, Problem, Size, SizeKind};
pub use verify::Check;

use crate::device::{self, DeviceInfo, DeviceKind, Element, Region};
use crate::roofline::pipe::Pipe;
use crate::roofline::work::{Work, WorkError};

/// Bytes of the widest access of a thread to memory: operands that start on a multiple of it can
/// be read and written that way.
pub const ALIGNMENT: u64 = 16;

/// The launch of a problem on the operands at hand.
///
/// # Errors
/// Why it cannot be launched there.
pub fn launch_on(
    problem: &Problem,
    info: &DeviceInfo,
    operands: &[Region],
) -> Result<Launch, String> {
    let kernel = problem.kernel.kernel();
    if aligned(operands) {
        kernel.launch(problem, info)
    } else {
        kernel.launch_unaligned(problem, info)
    }
}

/// The launches that go before it, in order.
///
/// # Errors
/// Why this size cannot be launched there.
pub fn preparation_on(
    problem: &Problem,
    info: &DeviceInfo,
    operands: &[Region],
) -> Result<Vec<Launch>, String> {
    let kernel = problem.kernel.kernel();
    kernel.preparation(problem, info, aligned(operands))
}

/// Whether all operands start on as many bytes as [`Kernel::launch`] takes.
fn aligned(operands: &[Region]) -> bool {
    // Buffers are aligned to more than that.
    let aligned = |region: &Region| region.offset.is_multiple_of(ALIGNMENT);
    operands.iter().all(aligned)
}

/// One step of a kernel's ladder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Variant {
    /// Name on the command line and in the column `variant`.
    pub name: &'static str,
    /// One line for `--help` and the documentation.
    pub summary: &'static str,
}

/// How a problem is launched on a GPU.
#[derive(Debug, Clone, PartialEq)]
pub struct Launch {
    /// Entry of the PTX.
    pub entry: &'static str,
    /// Blocks of the one-dimensional grid.
    pub grid: u32,
    /// Threads of a block, x and y.
    pub block: [u32; 2],
    /// Neighbouring blocks that run at the same time and reach each other's shared memory, where the
    /// launch says so; 1 where the entry does, or nobody.
    pub cluster: u32,
    /// Whether it may start before the launch in front of it has ended (programmatic dependent launch):
    /// its blocks wait for that end before they read.
    pub dependent: bool,
    /// Dynamic shared memory in bytes.
    pub shared_bytes: u32,
    /// Scratch memory in bytes, whose first use finds zeros.
    pub scratch_bytes: u64,
    /// Parameters in the order of the kernel's signature.
    pub arguments: Vec<Argument>,
}

impl Launch {
    /// What a launch is that says no more: one thread, no clusters, behind the end of the launch in front of
    /// it, no shared or scratch memory, no parameters.
    pub const PLAIN: Launch = Launch {
        entry: "",
        grid: 1,
        block: [1, 1],
        cluster: 1,
        dependent: false,
        shared_bytes: 0,
        scratch_bytes: 0,
        arguments: Vec::new(),
    };
}

/// A parameter of a kernel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Argument {
    /// Address of the operand with this index.
    Operand(usize),
    /// Address of the scratch memory.
    Scratch,
    /// An encoded tensor map; none for one that is not looked at.
    TensorMap(Option<TensorMap>),
    /// A 32-bit unsigned integer.
    U32(u32),
    /// A 64-bit unsigned integer.
    U64(u64),
    /// A single-precision number.
    F32(f32),
}

/// What a bulk tensor copy moves: a box of a row-major matrix, one of a batch of such matrices
/// that lie one behind the other (CUDA driver API, `cuTensorMapEncodeTiled`).
///
/// Rows are 16-byte aligned. Elements outside the matrix are read as 0 and not written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TensorMap {
    /// Where the matrices lie.
    pub matrix: Place,
    /// What an element is stored as.
    pub element: Element,
    /// Elements of a row.
    pub columns: u64,
    /// Rows.
    pub rows: u64,
    /// Matrices.
    pub batch: u64,
    /// Columns of the box, at most 256.
    pub box_columns: u32,
    /// Rows of the box, at most 256.
    pub box_rows: u32,
    /// How the box lies in shared memory.
    pub swizzle: Swizzle,
}

/// How the 16-byte pieces of a box's rows change places in shared memory, from row to row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Swizzle {
    /// Not at all.
    None,
    /// Within 64 bytes, which is the most that a row then has.
    Bytes64,
    /// Within 128 bytes, which is the most that a row then has.
    Bytes128,
}

/// Where a matrix lies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Place {
    /// The operand with this index.
    Operand(usize),
    /// The scratch memory, so many bytes from its start.
    Scratch(u64),
}

/// FLOPs that a launch on a GPU executes beyond its work model: what [`crate::count`] must find.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Surplus {
    /// On elements that are not part of the problem: zeros that fill up tiles.
    pub padding: u64,
    /// On elements of the problem, where the model has none: preparing operands, adding sums up.
    pub overhead: u64,
    /// On padding whose result nobody uses, at most: the compiler decides how much of it is left.
    pub avoidable: u64,
}

/// The vendor's implementation of what a kernel computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Library {
    /// The driver's copy within the memory of the device.
    Copy,
    /// cuBLAS's saxpy.
    Saxpy,
    /// cuBLAS's sgemm.
    Sgemm,
    /// cuBLAS's `gemmEx` on bfloat16.
    GemmBf16,
    /// cuBLAS's `gemmEx` on f32, multiplied in TF32.
    GemmTf32,
    /// cuBLAS's `gemmEx` on f32, multiplied in bfloat16.
    GemmMixed,
}

impl Library {
    /// The column `baseline`; `cublas` is that library with its version.
    pub fn column(self, cublas: &str) -> String {
        match self {
            Library::Copy => "cuMemcpyDtoDAsync".to_owned(),
            _ => cublas.to_owned(),
        }
    }
}

/// What the program knows about one kernel.
pub trait Kernel: Sync {
    /// Its identity.
    fn id(&self) -> KernelId;

    /// What it computes, as a formula.
    fn summary(&self) -> &'static str;

    /// The pipe that does its arithmetic unless another is asked for.
    fn pipe(&self) -> Pipe {
        Pipe::Fp32
    }

    /// The pipes that can do it on a device.
    fn pipes(&self, _device: &DeviceInfo) -> Vec<Pipe> {
        vec![self.pipe()]
    }

    /// What it multiplies on a problem's pipe, the column `storage`.
    fn operand_type(&self, _problem: &Problem, _device: &DeviceInfo) -> &'static str {
        self.storage().name()
    }

    /// What its inputs are stored as.
    fn storage(&self) -> Element {
        Element::F32
    }

    /// What its output can be stored as, its own choice first. Never empty.
    fn outputs(&self) -> &'static [Element] {
        &[Element::F32]
    }

    /// For a matrix product: whether it reads C (beta = 1) or not (beta = 0), its own choice
    /// first. Empty for other kernels.
    fn betas(&self) -> &'static [bool] {
        &[]
    }

    /// Whether a launch takes more than one problem.
    fn batches(&self) -> bool {
        false
    }

    /// What a size of it counts.
    fn size_kind(&self) -> SizeKind;

    /// Its variants on a kind of device, from the lecture's form to the fastest; the last is
    /// the default. Empty where no device of the kind runs it.
    fn variants(&self, device: DeviceKind) -> &'static [Variant];

    /// Whether a variant runs on a device of the kinds that it is listed for.
    fn runs_on(&self, _variant: &Variant, _device: &DeviceInfo) -> bool {
        true
    }

    /// The variants that run on a device, in the order of [`Kernel::variants`].
    fn variants_on(&self, device: &DeviceInfo) -> Vec<&'static Variant> {
        let all = self.variants(device.kind).iter();
        all.filter(|variant| self.runs_on(variant, device))
            .collect()
    }

    /// The variants that run on a device's pipe: on another than its own a kernel has one, which
    /// goes by the name of the default.
    fn variants_on_pipe(&self, pipe: Pipe, device: &DeviceInfo) -> Vec<&'static Variant> {
        let mut all = self.variants_on(device);
        if pipe != self.pipe() {
            all.drain(..all.len().saturating_sub(1));
        }
        all
    }

    /// Sizes swept when none are given, in the grammar of `--sizes`.
    fn default_sizes(&self, device: DeviceKind) -> &'static str;

    /// Sizes swept under `--quick`.
    fn quick_sizes(&self, device: DeviceKind) -> &'static str;

    /// Sizes at which edges show, for [`crate::cli::verify`]: around tiles, vectors and blocks.
    fn ragged_sizes(&self) -> &'static str;

    /// Sizes counted when none are given, in the grammar of `--sizes`: several blocks' worth, cheap
    /// to execute, one a multiple of every tile and one of none.
    fn counted_sizes(&self) -> &'static str;

    /// FLOPs that a launch executes beyond [`Kernel::work`]. None unless the kernel says so.
    fn surplus(&self, _problem: &Problem, _device: &DeviceInfo) -> Surplus {
        Surplus::default()
    }

    /// FLOPs and bytes of one launch.
    ///
    /// # Errors
    /// A count that does not fit in 64 bits.
    fn work(&self, problem: &Problem, device: &DeviceInfo) -> Result<Work, WorkError>;

    /// Operands in the order of the launch's arguments.
    ///
    /// # Errors
    /// A count that does not fit in 64 bits.
    fn operands(
        &self,
        problem: &Problem,
        device: &DeviceInfo,
    ) -> Result<Vec<OperandSpec>, WorkError>;

    /// The launch on a GPU.
    ///
    /// # Errors
    /// Why this size cannot be launched there.
    fn launch(&self, problem: &Problem, device: &DeviceInfo) -> Result<Launch, String>;

    /// The launch where an operand starts anywhere, not only on [`ALIGNMENT`] bytes.
    ///
    /// # Errors
    /// Why this size cannot be launched there: by default, because the kernel has no such launch.
    fn launch_unaligned(&self, _: &Problem, _: &DeviceInfo) -> Result<Launch, String> {
        Err(format!(
            "{} takes operands that start on {ALIGNMENT} bytes; place them on a multiple of it",
            self.id().name()
        ))
    }

    /// Launches that go before [`Kernel::launch`], or if the operands are not `aligned`,
    /// [`Kernel::launch_unaligned`], in order, and count as part of the kernel: what prepares its operands in
    /// the scratch memory, which all of them share.
    ///
    /// # Errors
    /// Why this size cannot be launched there.
    fn preparation(
        &self,
        _problem: &Problem,
        _device: &DeviceInfo,
        _aligned: bool,
    ) -> Result<Vec<Launch>, String> {
        Ok(Vec::new())
    }

    /// What the kernel is compared with on a GPU under `--baseline cublas`.
    fn library(&self) -> Option<Library> {
        None
    }

    /// Runs the problem on fresh operands and checks the device's output.
    ///
    /// # Errors
    /// The device's error. A wrong result is no error: it is a [`Check`] that failed.
    fn verify(&self, bench: &mut Bench<'_>) -> device::Result<Check>;
}

impl KernelId {
    /// The kernel's entry in the registry.
    pub fn kernel(self) -> &'static dyn Kernel {
        match self {
            KernelId::Copy => &copy::Copy,
            KernelId::Saxpy => &saxpy::Saxpy,
            KernelId::Triad => &triad::Triad,
            KernelId::Fma => &fma::Fma,
            KernelId::Mix => &mix::Mix,
            KernelId::Sgemm => &sgemm::Sgemm,
            KernelId::GemmBf16 => &gemm::kernels::BF16,
            KernelId::GemmTf32 => &gemm::kernels::TF32,
            KernelId::GemmMixed => &gemm::kernels::MIXED,
        }
    }
}
