//! `fma`: chains of fused multiply-adds in registers, the roof of the fp32 units.
//!
//! | module | what it is for |
//! |---|---|
//! | `chain` | the closed form of a chain and the bound on its error |
//! | [`ilp`] | variants with few chains and few warps, and what each makes of a multiprocessor |

mod chain;
pub mod ilp;

pub use chain::Chain;
pub(crate) use ilp::Shape;

use super::verify::{Reference, UNIT_ROUNDOFF, elementwise};
use super::{
    Argument, Bench, Check, Kernel, KernelId, Launch, OperandSpec, Problem, Role, SizeKind,
    Surplus, Variant,
};
use crate::device::{self, DeviceInfo, DeviceKind, Element};
use crate::roofline::work::{self, Work, WorkError};
use gpu_kernels::random::uniform;

/// The kernel `fma`. Its size is the number of steps of every chain.
///
/// Each thread stores the sum of its chains, which is verified against their closed form
/// ([`Chain`]) in f64, within [`bound`].
pub struct Fma;

const CPU: [Variant; 1] = [Variant {
    name: "simd",
    summary: "independent chains in the widest vectors, every core",
}];

/// Bound on the error of the sum of a thread's `chains` chains after `steps` steps: that of each,
/// and at most u times C(C+1)/2 for the sum of C numbers of at most 1 in magnitude.
pub fn bound(chains: u64, steps: u64) -> f64 {
    let count = chains as f64;
    count * Chain::of(steps).bound() + UNIT_ROUNDOFF * count * (count + 1.0) / 2.0
}

/// What thread `t` of a launch with `chains` chains a thread stores after `steps` steps.
pub fn reference(seed: u64, t: u64, chains: u64, steps: u64) -> f64 {
    let chain = Chain::of(steps);
    (0..chains)
        .map(|c| chain.end(f64::from(uniform(seed, t * chains + c))))
        .sum()
}

impl Kernel for Fma {
    fn id(&self) -> KernelId {
        KernelId::Fma
    }

    fn summary(&self) -> &'static str {
        "r = r * a + b in registers"
    }

    fn size_kind(&self) -> SizeKind {
        SizeKind::Elements
    }

    fn variants(&self, device: DeviceKind) -> &'static [Variant] {
        match device {
            DeviceKind::Cuda => &ilp::CUDA,
            DeviceKind::Vm => &ilp::VM,
            DeviceKind::Cpu => &CPU,
        }
    }

    fn default_sizes(&self, device: DeviceKind) -> &'static str {
        match device {
            DeviceKind::Cuda | DeviceKind::Vm => "64..64Ki:x4",
            DeviceKind::Cpu => "64..16Ki:x4",
        }
    }

    fn quick_sizes(&self, device: DeviceKind) -> &'static str {
        match device {
            DeviceKind::Cuda | DeviceKind::Vm => "64Ki",
            DeviceKind::Cpu => "16Ki",
        }
    }

    fn ragged_sizes(&self) -> &'static str {
        // Around the unrolled loop.
        "1,2,15,16,17,31,33,256,1000,4097"
    }

    fn counted_sizes(&self) -> &'static str {
        // Whole turns of the unrolled loop, and one with a rest.
        "256,1000"
    }

    fn surplus(&self, problem: &Problem, device: &DeviceInfo) -> Surplus {
        let shape = Shape::of(problem.variant, device);
        Surplus {
            padding: 0,
            // Each chain is scaled once at its start and added once at its end.
            overhead: shape.threads() * 2 * shape.chains(),
            avoidable: 0,
        }
    }

    fn work(&self, problem: &Problem, device: &DeviceInfo) -> Result<Work, WorkError> {
        let shape = Shape::of(problem.variant, device);
        work::fma(shape.threads(), shape.chains(), problem.elements())
    }

    fn operands(
        &self,
        problem: &Problem,
        device: &DeviceInfo,
    ) -> Result<Vec<OperandSpec>, WorkError> {
        Ok(vec![OperandSpec {
            name: "out",
            role: Role::Out,
            elements: Shape::of(problem.variant, device).threads(),
            element: Element::F32,
        }])
    }

    fn launch(&self, problem: &Problem, device: &DeviceInfo) -> Result<Launch, String> {
        let steps = u32::try_from(problem.elements())
            .map_err(|_| format!("fma takes at most {} steps", u32::MAX))?;
        let shape = Shape::of(problem.variant, device);
        shape.check(device)?;
        Ok(Launch {
            entry: shape.entry,
            grid: shape.grid,
            block: [shape.block, 1],
            shared_bytes: 0,
            scratch_bytes: 0,
            arguments: vec![
                Argument::Operand(0),
                Argument::U32(steps),
                Argument::U64(problem.operand_seed(0)),
            ],
        })
    }

    fn verify(&self, bench: &mut Bench<'_>) -> device::Result<Check> {
        bench.fill(super::Data::Random)?;
        bench.run()?;
        let (seed, steps) = (bench.problem.operand_seed(0), bench.problem.elements());
        let chains = Shape::of(bench.problem.variant, bench.device.info()).chains();
        elementwise(bench, 0, |t| Reference {
            value: reference(seed, t, chains, steps),
            bound: bound(chains, steps),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpu_kernels::params::{FMA_ADDEND, FMA_MULTIPLIER};

    /// The chains of one thread, step by step in f32, as the kernel computes them.
    fn step_by_step(seed: u64, t: u64, chains: u64, steps: u64) -> f32 {
        let mut sum = 0f32;
        for c in 0..chains {
            let mut r = uniform(seed, t * chains + c);
            for _ in 0..steps {
                r = r.mul_add(FMA_MULTIPLIER, FMA_ADDEND);
            }
            sum += r;
        }
        sum
    }

    #[test]
    fn the_closed_form_is_the_sum_of_the_chains() {
        for chains in [1, 2, 4, 8, 16] {
            for (t, steps) in [(0, 0), (1, 1), (2, 15), (3, 16), (4, 1000), (5, 20_000)] {
                let computed = f64::from(step_by_step(9, t, chains, steps));
                let difference = (computed - reference(9, t, chains, steps)).abs();
                assert!(
                    difference <= bound(chains, steps),
                    "{chains} chains, {steps} steps: {difference} > {}",
                    bound(chains, steps)
                );
            }
        }
    }

    #[test]
    fn the_bound_catches_one_missing_step_while_the_chains_move() {
        for chains in [1, 16] {
            for steps in [1, 16, 64, 256] {
                let missing = (0..100)
                    .map(|t| {
                        let computed = f64::from(step_by_step(9, t, chains, steps - 1));
                        (computed - reference(9, t, chains, steps)).abs()
                    })
                    .fold(0.0, f64::max);
                assert!(
                    missing > bound(chains, steps),
                    "{chains} chains, {steps} steps: {missing} <= {}",
                    bound(chains, steps)
                );
            }
        }
    }
}
