//! `saxpy`: y = alpha * x + y.

use super::problem::SCALAR;
use super::verify::{Reference, UNIT_ROUNDOFF, elementwise};
use super::{
    Argument, Bench, Check, Kernel, KernelId, Launch, Library, OperandSpec, Problem, Role,
    SizeKind, Variant, stream,
};
use crate::device::{self, DeviceInfo, DeviceKind, Element};
use crate::roofline::work::{self, Storage, Work, WorkError};
use gpu_kernels::params::SAXPY_VECTORS;
use gpu_kernels::random::uniform;

/// The kernel `saxpy`.
///
/// Verified element by element; see [`reference()`] for the bound.
pub struct Saxpy;

/// `addend + SCALAR * factor` in f64, with the bound of its error.
///
/// Fused, the sum is rounded once, by at most u of its magnitude; not fused, the product is
/// rounded before. Together that is at most 2u (|SCALAR factor| + |addend|).
pub fn reference(factor: f32, addend: f32) -> Reference {
    let product = f64::from(SCALAR) * f64::from(factor);
    let addend = f64::from(addend);
    Reference {
        value: product + addend,
        bound: 2.0 * UNIT_ROUNDOFF * (product.abs() + addend.abs()),
    }
}

impl Kernel for Saxpy {
    fn id(&self) -> KernelId {
        KernelId::Saxpy
    }

    fn summary(&self) -> &'static str {
        "y = alpha * x + y"
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
        work::saxpy(problem.elements(), Storage::F32)
    }

    fn operands(&self, problem: &Problem, _: &DeviceInfo) -> Result<Vec<OperandSpec>, WorkError> {
        let elements = problem.elements();
        Ok(vec![
            OperandSpec {
                name: "x",
                role: Role::In,
                elements,
                element: Element::F32,
            },
            OperandSpec {
                name: "y",
                role: Role::InOut,
                elements,
                element: Element::F32,
            },
        ])
    }

    fn launch(&self, problem: &Problem, _: &DeviceInfo) -> Result<Launch, String> {
        stream::launch(
            problem,
            ["saxpy_scalar", "saxpy_vector"],
            SAXPY_VECTORS,
            vec![
                Argument::Operand(0),
                Argument::Operand(1),
                Argument::U64(problem.elements()),
                Argument::F32(SCALAR),
            ],
        )
    }

    fn library(&self) -> Option<Library> {
        Some(Library::Saxpy)
    }

    fn verify(&self, bench: &mut Bench<'_>) -> device::Result<Check> {
        bench.fill(super::Data::Random)?;
        bench.run()?;
        let (x, y) = (bench.problem.operand_seed(0), bench.problem.operand_seed(1));
        elementwise(bench, 1, |i| reference(uniform(x, i), uniform(y, i)))
    }
}
