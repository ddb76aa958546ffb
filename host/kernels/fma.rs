//! `fma`: chains of fused multiply-adds in registers, the roof of the fp32 units.

use super::verify::{Reference, UNIT_ROUNDOFF, elementwise};
use super::{
    Argument, Bench, Check, Kernel, KernelId, Launch, OperandSpec, Problem, Role, SizeKind,
    Surplus, Variant,
};
use crate::device::{self, DeviceInfo, DeviceKind, Element};
use crate::roofline::work::{self, Work, WorkError};
use gpu_kernels::params::{FMA_ADDEND, FMA_BLOCK, FMA_BLOCKS_PER_SM, FMA_CHAINS, FMA_MULTIPLIER};
use gpu_kernels::random::uniform;

/// The kernel `fma`. Its size is the number of steps of every chain.
///
/// Each thread stores the sum of its chains, which is verified against the closed form
/// r_n = a^n r_0 + b (1 - a^n) / (1 - a) in f64, within [`bound`].
pub struct Fma;

const CUDA: [Variant; 1] = [Variant {
    name: "chains",
    summary: "16 independent chains a thread, every multiprocessor full",
}];

const CPU: [Variant; 1] = [Variant {
    name: "simd",
    summary: "independent chains in the widest vectors, every core",
}];

/// Threads of the launch, each with [`FMA_CHAINS`] chains: one wave that fills a GPU; on a CPU
/// enough for every core; on the VM a few blocks.
pub fn threads(info: &DeviceInfo) -> u64 {
    match info.kind {
        DeviceKind::Cuda => {
            let fit = info
                .threads_per_unit
                .map_or(FMA_BLOCKS_PER_SM, |most| most / FMA_BLOCK);
            u64::from(info.units)
                * u64::from(fit.clamp(1, FMA_BLOCKS_PER_SM))
                * u64::from(FMA_BLOCK)
        }
        DeviceKind::Cpu => u64::from(info.units) * CPU_THREADS_PER_UNIT,
        DeviceKind::Vm => VM_THREADS,
    }
}

/// Simulated threads of each worker of a CPU.
pub const CPU_THREADS_PER_UNIT: u64 = 1024;

/// Threads on the VM: two blocks. All threads do the same work, so that more would show nothing.
pub const VM_THREADS: u64 = 2 * FMA_BLOCK as u64;

/// Bound on the error of the sum of a thread's chains after `steps` steps.
///
/// A step rounds once, by at most u times the value, which stays below 1; older errors shrink
/// by the multiplier a with each step, so a chain's error is at most u (1 - a^n) / (1 - a).
/// The sum of the chains, each at most 1 in magnitude, adds at most u times C(C+1)/2.
pub fn bound(steps: u64) -> f64 {
    let (a, chains) = (f64::from(FMA_MULTIPLIER), f64::from(FMA_CHAINS));
    let per_chain = (1.0 - a.powf(steps as f64)) / (1.0 - a);
    UNIT_ROUNDOFF * (chains * per_chain + chains * (chains + 1.0) / 2.0)
}

/// What thread `t` stores after `steps` steps.
pub fn reference(seed: u64, t: u64, steps: u64) -> f64 {
    let (a, b) = (f64::from(FMA_MULTIPLIER), f64::from(FMA_ADDEND));
    let chains = u64::from(FMA_CHAINS);
    let decay = a.powf(steps as f64);
    let start: f64 = (0..chains)
        .map(|c| f64::from(uniform(seed, t * chains + c)))
        .sum();
    decay * start + chains as f64 * b * (1.0 - decay) / (1.0 - a)
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
            DeviceKind::Cuda | DeviceKind::Vm => &CUDA,
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

    fn surplus(&self, _: &Problem, device: &DeviceInfo) -> Surplus {
        Surplus {
            padding: 0,
            // Each chain is scaled once at its start and added once at its end.
            overhead: threads(device) * 2 * u64::from(FMA_CHAINS),
            avoidable: 0,
        }
    }

    fn work(&self, problem: &Problem, device: &DeviceInfo) -> Result<Work, WorkError> {
        work::fma(threads(device), u64::from(FMA_CHAINS), problem.elements())
    }

    fn operands(&self, _: &Problem, device: &DeviceInfo) -> Result<Vec<OperandSpec>, WorkError> {
        Ok(vec![OperandSpec {
            name: "out",
            role: Role::Out,
            elements: threads(device),
            element: Element::F32,
        }])
    }

    fn launch(&self, problem: &Problem, device: &DeviceInfo) -> Result<Launch, String> {
        let steps = u32::try_from(problem.elements())
            .map_err(|_| format!("fma takes at most {} steps", u32::MAX))?;
        Ok(Launch {
            entry: "fma_chains",
            grid: (threads(device) / u64::from(FMA_BLOCK)) as u32,
            block: [FMA_BLOCK, 1],
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
        elementwise(bench, 0, |t| Reference {
            value: reference(seed, t, steps),
            bound: bound(steps),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The chains of one thread, step by step in f32, as the kernel computes them.
    fn step_by_step(seed: u64, t: u64, steps: u64) -> f32 {
        let chains = u64::from(FMA_CHAINS);
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
    fn the_closed_form_is_the_chain() {
        for (t, steps) in [(0, 0), (1, 1), (2, 15), (3, 16), (4, 1000), (5, 20_000)] {
            let difference = (f64::from(step_by_step(9, t, steps)) - reference(9, t, steps)).abs();
            assert!(
                difference <= bound(steps),
                "{steps} steps: {difference} > {}",
                bound(steps)
            );
        }
    }

    #[test]
    fn the_bound_catches_one_missing_step_while_the_chains_move() {
        for steps in [1, 16, 64, 256] {
            let missing = (0..100)
                .map(|t| (f64::from(step_by_step(9, t, steps - 1)) - reference(9, t, steps)).abs())
                .fold(0.0, f64::max);
            assert!(
                missing > bound(steps),
                "{steps} steps: {missing} <= {}",
                bound(steps)
            );
        }
    }
}
