//! `gemm-bf16`, `gemm-tf32` and `gemm-mixed`.

use super::check::{self, Arithmetic, Unit};
use super::layout::{Copying, Layout};
use super::{fused, mma, operands, surplus, wgmma, work};
use crate::device::{self, DeviceInfo, DeviceKind, Element};
use crate::kernels::{
    Bench, Check, Kernel, KernelId, Launch, Library, OperandSpec, Problem, SizeKind, Surplus,
    Variant,
};
use crate::roofline::pipe::Pipe;
use crate::roofline::work::{Work, WorkError};

/// A matrix product on tensor cores.
pub struct Gemm {
    id: KernelId,
    summary: &'static str,
    pipe: Pipe,
    /// What A and B are stored as, and what the tensor cores read.
    storage: Element,
    read: Element,
    outputs: &'static [Element],
    ladder: &'static [Variant],
    library: Library,
    /// What the multipliers see of a stored element.
    seen: fn(f32) -> f32,
}

/// bfloat16 in, f32 sums, bfloat16 or f32 out.
pub const BF16: Gemm = Gemm {
    id: KernelId::GemmBf16,
    summary: "C = A @ B + C in bfloat16 on tensor cores",
    pipe: Pipe::Bf16,
    storage: Element::Bf16,
    read: Element::Bf16,
    outputs: &[Element::Bf16, Element::F32],
    ladder: &wgmma::BF16,
    library: Library::GemmBf16,
    seen: |value| value,
};

/// f32 in and out, multiplied in TF32: the lower 13 bits of an input are cut off.
pub const TF32: Gemm = Gemm {
    id: KernelId::GemmTf32,
    summary: "C = A @ B + C in f32, multiplied in TF32 on tensor cores",
    pipe: Pipe::Tf32,
    storage: Element::F32,
    read: Element::F32,
    outputs: &[Element::F32],
    ladder: &wgmma::TF32,
    library: Library::GemmTf32,
    seen: |value| f32::from_bits(value.to_bits() & !0x1fff),
};

/// f32 in memory, rounded to bfloat16 on the way to the tensor cores: the lecture's case.
pub const MIXED: Gemm = Gemm {
    id: KernelId::GemmMixed,
    summary: "C = A @ B + C in f32, multiplied in bfloat16 on tensor cores",
    pipe: Pipe::Bf16,
    storage: Element::F32,
    read: Element::Bf16,
    outputs: &[Element::F32],
    ladder: &fused::MIXED,
    library: Library::GemmMixed,
    seen: |value| Element::Bf16.round(value),
};

impl Gemm {
    fn layout(&self, problem: &Problem) -> Layout {
        let copying = match problem.variant {
            fused::CONVERT => Copying::InTurn,
            _ => Copying::Overlapped,
        };
        Layout::new(problem, [self.storage, self.read], copying)
    }

    /// Whether a problem's operands are rounded on the way, not in memory first.
    fn fuses(&self, problem: &Problem, info: &DeviceInfo) -> bool {
        self.id == KernelId::GemmMixed && fused::takes(problem, info)
    }
}

/// Whether a problem takes the portable launch.
fn is_mma(problem: &Problem) -> bool {
    problem.variant == mma::VARIANT.name
}

impl Kernel for Gemm {
    fn id(&self) -> KernelId {
        self.id
    }

    fn summary(&self) -> &'static str {
        self.summary
    }

    fn pipe(&self) -> Pipe {
        self.pipe
    }

    fn storage(&self) -> Element {
        self.storage
    }

    fn outputs(&self) -> &'static [Element] {
        self.outputs
    }

    fn betas(&self) -> &'static [bool] {
        &[true, false]
    }

    fn batches(&self) -> bool {
        true
    }

    fn size_kind(&self) -> SizeKind {
        SizeKind::Matrix
    }

    fn variants(&self, device: DeviceKind) -> &'static [Variant] {
        wgmma::variants(device, self.ladder)
    }

    fn runs_on(&self, variant: &Variant, device: &DeviceInfo) -> bool {
        *variant == mma::VARIANT || wgmma::runs_on(device)
    }

    fn default_sizes(&self, _: DeviceKind) -> &'static str {
        "256..16384,2360,12288"
    }

    fn quick_sizes(&self, _: DeviceKind) -> &'static str {
        "256,2048,8192"
    }

    fn ragged_sizes(&self) -> &'static str {
        "1,7,8,63..65:+1,127..129:+1,255..257:+1,1000,1x1x4096,1x4096x1,4096x1x1,3x5x7,\
         64x64x1000,129x65x257,257x193x31,2x1000x3,300x520x1000,1000x200x8"
    }

    fn counted_sizes(&self) -> &'static str {
        "256,129x200x72"
    }

    fn work(&self, problem: &Problem, _: &DeviceInfo) -> Result<Work, WorkError> {
        work(problem, self.storage)
    }

    fn operands(&self, problem: &Problem, _: &DeviceInfo) -> Result<Vec<OperandSpec>, WorkError> {
        operands(problem, self.storage)
    }

    fn surplus(&self, problem: &Problem, info: &DeviceInfo) -> Surplus {
        match (is_mma(problem), self.read) {
            (true, _) => mma::surplus(problem),
            (false, Element::Bf16) if self.fuses(problem, info) => surplus::fused(problem, info),
            (false, Element::Bf16) => surplus::bf16(problem, info),
            (false, Element::F32) => surplus::tf32(problem, info),
        }
    }

    fn preparation(
        &self,
        problem: &Problem,
        info: &DeviceInfo,
        _: bool,
    ) -> Result<Vec<Launch>, String> {
        if is_mma(problem) || self.fuses(problem, info) {
            return Ok(Vec::new());
        }
        self.layout(problem).copies(info)
    }

    fn launch(&self, problem: &Problem, info: &DeviceInfo) -> Result<Launch, String> {
        if is_mma(problem) {
            return mma::launch(problem);
        }
        if self.fuses(problem, info) {
            return fused::launch(problem, info);
        }
        let layout = self.layout(problem);
        match self.read {
            Element::Bf16 => wgmma::bf16(problem, info, &layout),
            Element::F32 => wgmma::tf32(problem, info, &layout),
        }
    }

    fn library(&self) -> Option<Library> {
        Some(self.library)
    }

    fn verify(&self, bench: &mut Bench<'_>) -> device::Result<Check> {
        let arithmetic = Arithmetic {
            unit: Unit::Tensor,
            seen: self.seen,
        };
        check::verify(bench, arithmetic)
    }
}
