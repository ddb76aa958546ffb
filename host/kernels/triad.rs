//! `triad`: a = b + scalar * c.

use super::problem::SCALAR;
use super::saxpy::reference;
use super::verify::elementwise;
use super::{
    Argument, Bench, Check, Kernel, KernelId, Launch, OperandSpec, Problem, Role, SizeKind,
    Variant, stream,
};
use crate::device::{self, DeviceInfo, DeviceKind, Element};
use crate::roofline::work::{self, Storage, Work, WorkError};
use gpu_kernels::params::TRIAD_VECTORS;
use gpu_kernels::random::uniform;

/// The kernel `triad`, STREAM's.
///
/// Verified element by element, with the bound of [`reference()`].
pub struct Triad;

impl Kernel for Triad {
    fn id(&self) -> KernelId {
        KernelId::Triad
    }

    fn summary(&self) -> &'static str {
        "a = b + scalar * c"
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
        work::triad(problem.elements(), Storage::F32)
    }

    fn operands(&self, problem: &Problem, _: &DeviceInfo) -> Result<Vec<OperandSpec>, WorkError> {
        let elements = problem.elements();
        Ok(vec![
            OperandSpec {
                name: "a",
                role: Role::Out,
                elements,
                element: Element::F32,
            },
            OperandSpec {
                name: "b",
                role: Role::In,
                elements,
                element: Element::F32,
            },
            OperandSpec {
                name: "c",
                role: Role::In,
                elements,
                element: Element::F32,
            },
        ])
    }

    fn launch(&self, problem: &Problem, _: &DeviceInfo) -> Result<Launch, String> {
        stream::launch(
            problem,
            ["triad_scalar", "triad_vector"],
            TRIAD_VECTORS,
            vec![
                Argument::Operand(0),
                Argument::Operand(1),
                Argument::Operand(2),
                Argument::U64(problem.elements()),
                Argument::F32(SCALAR),
            ],
        )
    }

    fn verify(&self, bench: &mut Bench<'_>) -> device::Result<Check> {
        bench.fill(super::Data::Random)?;
        bench.run()?;
        let (b, c) = (bench.problem.operand_seed(1), bench.problem.operand_seed(2));
        elementwise(bench, 0, |i| reference(uniform(c, i), uniform(b, i)))
    }
}
