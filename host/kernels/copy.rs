//! `copy`: b = a.

use super::verify::{Reference, elementwise};
use super::{
    Argument, Bench, Check, Kernel, KernelId, Launch, Library, OperandSpec, Problem, Role,
    SizeKind, Variant, stream,
};
use crate::device::{self, DeviceInfo, DeviceKind, Element};
use crate::roofline::work::{self, Storage, Work, WorkError};
use gpu_kernels::params::COPY_VECTORS;
use gpu_kernels::random::uniform;

/// The kernel `copy`.
///
/// Verified element by element; the bound is 0.
pub struct Copy;

impl Kernel for Copy {
    fn id(&self) -> KernelId {
        KernelId::Copy
    }

    fn summary(&self) -> &'static str {
        "b = a"
    }

    fn size_kind(&self) -> SizeKind {
        SizeKind::Elements
    }

    fn variants(&self, device: DeviceKind) -> &'static [Variant] {
        stream::variants(device)
    }

    fn default_sizes(&self, device: DeviceKind) -> &'static str {
        stream::default_sizes(device)
    }

    fn quick_sizes(&self, device: DeviceKind) -> &'static str {
        stream::quick_sizes(device)
    }

    fn ragged_sizes(&self) -> &'static str {
        stream::RAGGED_SIZES
    }

    fn counted_sizes(&self) -> &'static str {
        stream::COUNTED_SIZES
    }

    fn work(&self, problem: &Problem, _: &DeviceInfo) -> Result<Work, WorkError> {
        work::copy(problem.elements(), Storage::F32)
    }

    fn operands(&self, problem: &Problem, _: &DeviceInfo) -> Result<Vec<OperandSpec>, WorkError> {
        let elements = problem.elements();
        Ok(vec![
            OperandSpec {
                name: "a",
                role: Role::In,
                elements,
                element: Element::F32,
            },
            OperandSpec {
                name: "b",
                role: Role::Out,
                elements,
                element: Element::F32,
            },
        ])
    }

    fn launch(&self, problem: &Problem, _: &DeviceInfo) -> Result<Launch, String> {
        stream::launch(
            problem,
            ["copy_scalar", "copy_vector"],
            COPY_VECTORS,
            vec![
                Argument::Operand(0),
                Argument::Operand(1),
                Argument::U64(problem.elements()),
            ],
        )
    }

    fn library(&self) -> Option<Library> {
        Some(Library::Copy)
    }

    fn verify(&self, bench: &mut Bench<'_>) -> device::Result<Check> {
        // Random whatever is timed: a copy of zeros can't be told from cleared memory.
        bench.fill(super::Data::Random)?;
        bench.run()?;
        let seed = bench.problem.operand_seed(0);
        elementwise(bench, 1, |i| Reference {
            value: f64::from(uniform(seed, i)),
            bound: 0.0,
        })
    }
}
