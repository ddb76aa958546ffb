//! `fma`: nothing but multiply-adds, the roof of one pipe.
//!
//! | module | what it is for |
//! |---|---|
//! | `chain` | the closed form of a chain of fused multiply-adds and the bound on its error |
//! | `double` | fp64: sums of chains, numbers that are stored as two f32 |
//! | [`ilp`] | variants with few chains and few warps, and what each makes of a multiprocessor |
//! | `product` | the product that tensor cores compute again and again |

mod chain;
mod double;
pub mod ilp;
mod product;

pub use chain::Chain;
pub(crate) use ilp::Shape;

use super::verify::{Reference, UNIT_ROUNDOFF, elementwise};
use super::{
    Argument, Bench, Check, Data, Kernel, KernelId, Launch, OperandSpec, Problem, Role, SizeKind,
    Surplus, Variant,
};
use crate::device::{self, DeviceInfo, DeviceKind, Element};
use crate::roofline::peak::ComputeCapability;
use crate::roofline::pipe::Pipe;
use crate::roofline::work::{self, Storage, Work, WorkError};
use gpu_kernels::operands::{Format, PEAK_BLOCK, PeakTile};
use gpu_kernels::params::{FMA_F64_BLOCKS_PER_SM, FMA_F64_CHAINS};
use gpu_kernels::random::uniform;
use product::{Product, filled};

/// The kernel `fma`. Its size is the number of steps of every chain, or, on tensor cores, of matrix
/// instructions that each accumulator takes part in.
///
/// Each thread stores the sum of its chains, which is verified against their closed form ([`Chain`])
/// in f64, within [`bound`]; products against the sum of their slices in f64, first on small integers, where they
/// are exact, then on random values.
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

/// The compute capability whose tensor cores are fed by `wgmma` alone at their full rate.
const WGMMA: ComputeCapability = ComputeCapability::new(9, 0);

/// How the peak of a pipe is measured on a device.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Method {
    /// Chains of fp32 multiply-adds.
    Chains(Shape),
    /// Chains of fp64 multiply-adds.
    DoubleChains,
    /// A product on tensor cores.
    Product {
        entry: &'static str,
        tile: PeakTile,
        /// Whether it is `wgmma`, whose accumulators can restart.
        wgmma: bool,
    },
}

impl Method {
    /// `None` where there is no kernel for the pipe. Only fp32 has several variants.
    fn of(pipe: Pipe, variant: &str, info: &DeviceInfo) -> Option<Self> {
        if pipe == Pipe::Fp32 {
            return Some(Method::Chains(Shape::of(variant, info)));
        }
        if info.kind == DeviceKind::Cpu {
            return None;
        }
        if pipe == Pipe::Fp64 {
            return Some(Method::DoubleChains);
        }
        let wgmma = info.compute_capability == Some(WGMMA);
        let product = |entry, tile| Method::Product { entry, tile, wgmma };
        let narrow = |format, [fast, portable]: [&'static str; 2]| match wgmma {
            true => product(fast, PeakTile::wgmma(format)),
            false => product(portable, PeakTile::mma(format)),
        };
        match pipe {
            Pipe::Bf16 => Some(narrow(Format::Bf16, ["fma_wgmma_bf16", "fma_mma_bf16"])),
            Pipe::Fp16 => Some(narrow(Format::F16, ["fma_wgmma_f16", "fma_mma_f16"])),
            Pipe::Tf32 => Some(narrow(Format::Tf32, ["fma_wgmma_tf32", "fma_mma_tf32"])),
            Pipe::Int8 => Some(narrow(Format::S8, ["fma_wgmma_s8", "fma_mma_s8"])),
            Pipe::Fp8 if wgmma => Some(product("fma_wgmma_e4m3", PeakTile::wgmma(Format::E4m3))),
            Pipe::Fp64Tensor => Some(match wgmma {
                true => Method::Product {
                    entry: "fma_mma_f64_wide",
                    tile: PeakTile::wide_double(),
                    wgmma: false,
                },
                false => product("fma_mma_f64", PeakTile::double()),
            }),
            _ => None,
        }
    }

    /// The method of a problem, which was planned with a pipe that the device has.
    fn for_problem(problem: &Problem, info: &DeviceInfo) -> Result<Self, String> {
        let pipe = problem.pipe();
        Method::of(pipe, problem.variant, info)
            .ok_or_else(|| format!("fma has no kernel for {pipe} on {}", info.name))
    }

    /// The method of a problem whose work is counted before it is known whether it can be run.
    fn or_default(problem: &Problem, info: &DeviceInfo) -> Self {
        let fp32 = Method::Chains(Shape::of(problem.variant, info));
        Method::for_problem(problem, info).unwrap_or(fp32)
    }

    /// Threads of the launch.
    fn threads(self, info: &DeviceInfo) -> u64 {
        let blocks = match self {
            Method::Chains(shape) => return shape.threads(),
            Method::DoubleChains => FMA_F64_BLOCKS_PER_SM,
            Method::Product { tile, .. } => tile.blocks_per_sm,
        };
        // All blocks do the same work, so that on the VM more would show nothing.
        let blocks = match info.kind {
            DeviceKind::Vm => 1,
            _ => u64::from(info.units) * u64::from(blocks),
        };
        blocks * u64::from(PEAK_BLOCK)
    }

    /// Elements that a thread stores.
    fn stored(self) -> u64 {
        match self {
            Method::DoubleChains => 2,
            Method::Product { tile, .. } if tile.format == Format::F64 => 2,
            _ => 1,
        }
    }

    /// Blocks of the launch.
    fn blocks(self, info: &DeviceInfo) -> u64 {
        self.threads(info) / u64::from(PEAK_BLOCK)
    }
}

/// Whether the accumulators restart: random sums stay as small as those of a matrix product, and
/// those of few bits stay exact; other integers grow, so that every step leaves its trace.
fn restarts(tile: &PeakTile, wgmma: bool, data: Data) -> bool {
    wgmma
        && match tile.format {
            Format::E4m3 => true,
            Format::S8 => false,
            _ => data != Data::Integers,
        }
}

/// The product of a problem.
fn product(problem: &Problem, tile: PeakTile, wgmma: bool) -> Product {
    Product {
        tile,
        data: problem.data,
        seed: problem.operand_seed(0),
        steps: problem.elements(),
        restarts: restarts(&tile, wgmma, problem.data),
    }
}

impl Kernel for Fma {
    fn id(&self) -> KernelId {
        KernelId::Fma
    }

    fn summary(&self) -> &'static str {
        "r = r * a + b in registers, or D = D + A @ B on tensor cores"
    }

    fn pipes(&self, device: &DeviceInfo) -> Vec<Pipe> {
        Pipe::ALL
            .into_iter()
            .filter(|pipe| Method::of(*pipe, "", device).is_some())
            .collect()
    }

    fn operand_type(&self, problem: &Problem, device: &DeviceInfo) -> &'static str {
        let storage = match Method::for_problem(problem, device) {
            Err(_) | Ok(Method::Chains(_)) => Storage::F32,
            Ok(Method::DoubleChains) => Storage::F64,
            Ok(Method::Product { tile, .. }) => match tile.format {
                Format::Bf16 => Storage::Bf16,
                Format::F16 => Storage::F16,
                Format::Tf32 => Storage::F32,
                Format::E4m3 => Storage::Fp8,
                Format::S8 => Storage::I8,
                Format::F64 => Storage::F64,
            },
        };
        storage.id()
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
        let Ok(method) = Method::for_problem(problem, device) else {
            return Surplus::default();
        };
        let overhead = match method {
            // Each chain is scaled once at its start and added once at its end.
            Method::Chains(shape) => 2 * shape.chains(),
            Method::DoubleChains => 2 * u64::from(FMA_F64_CHAINS),
            Method::Product { tile, wgmma, .. } => {
                // Random values are scaled once; accumulators are added once. Integers are counted
                // only where tensor cores multiply them.
                let sums = u64::from(tile.sums());
                let filled = u64::from(tile.filled(wgmma));
                match tile.format {
                    Format::S8 => 0,
                    _ => sums + filled,
                }
            }
        };
        Surplus {
            padding: 0,
            // A second f32 is what the first leaves.
            overhead: method.threads(device) * (overhead + method.stored() - 1),
            avoidable: 0,
        }
    }

    fn work(&self, problem: &Problem, device: &DeviceInfo) -> Result<Work, WorkError> {
        let steps = problem.elements();
        match Method::or_default(problem, device) {
            Method::Chains(shape) => work::fma(shape.threads(), shape.chains(), steps),
            method @ Method::DoubleChains => {
                let per_step = 2 * method.threads(device) * u64::from(FMA_F64_CHAINS);
                work::peak(per_step, steps, method.threads(device) * method.stored())
            }
            method @ Method::Product { tile, .. } => {
                let [m, n, k] = [tile.m(), tile.n, tile.k].map(u64::from);
                let per_step = method.blocks(device) * 2 * m * n * k;
                work::peak(per_step, steps, method.threads(device) * method.stored())
            }
        }
    }

    fn operands(
        &self,
        problem: &Problem,
        device: &DeviceInfo,
    ) -> Result<Vec<OperandSpec>, WorkError> {
        let method = Method::or_default(problem, device);
        Ok(vec![OperandSpec {
            name: "out",
            role: Role::Out,
            elements: method.threads(device) * method.stored(),
            element: Element::F32,
        }])
    }

    fn launch(&self, problem: &Problem, device: &DeviceInfo) -> Result<Launch, String> {
        let method = Method::for_problem(problem, device)?;
        let steps = u32::try_from(problem.elements())
            .map_err(|_| format!("fma takes at most {} steps", u32::MAX))?;
        let mut arguments = vec![
            Argument::Operand(0),
            Argument::U32(steps),
            Argument::U64(problem.operand_seed(0)),
        ];
        let (entry, block, shared_bytes) = match method {
            Method::Chains(shape) => {
                shape.check(device)?;
                (shape.entry, shape.block, 0)
            }
            Method::DoubleChains => ("fma_chains_f64", PEAK_BLOCK, 0),
            Method::Product { entry, tile, wgmma } => {
                arguments.push(Argument::U32(filled(problem.data)));
                if wgmma {
                    let restarts = restarts(&tile, wgmma, problem.data);
                    arguments.push(Argument::U32(restarts.into()));
                }
                (entry, PEAK_BLOCK, tile.shared_bytes)
            }
        };
        Ok(Launch {
            entry,
            grid: (method.threads(device) / u64::from(block)) as u32,
            block: [block, 1],
            shared_bytes,
            arguments,
            ..Launch::PLAIN
        })
    }

    fn verify(&self, bench: &mut Bench<'_>) -> device::Result<Check> {
        let method = Method::for_problem(&bench.problem, bench.info())
            .map_err(device::DeviceError::Unsupported)?;
        let (seed, steps) = (bench.problem.operand_seed(0), bench.problem.elements());
        match method {
            Method::Chains(shape) => {
                run(bench)?;
                elementwise(bench, 0, |t| Reference {
                    value: reference(seed, t, shape.chains(), steps),
                    bound: bound(shape.chains(), steps),
                })
            }
            Method::DoubleChains => {
                run(bench)?;
                double::check(bench, |t| double::chains(seed, t, steps))
            }
            Method::Product { tile, wgmma, .. } => {
                let timed = bench.problem.data;
                let mut outcome = Ok(Check::failed("no pass was made".to_owned()));
                for data in [Data::Integers, Data::Random] {
                    bench.problem.data = data;
                    outcome = check_product(bench, tile, wgmma);
                    if !outcome.as_ref().is_ok_and(Check::passed) {
                        break;
                    }
                }
                bench.problem.data = timed;
                outcome
            }
        }
    }
}

/// Poisons the output and runs the problem.
fn run(bench: &mut Bench<'_>) -> device::Result<()> {
    bench.fill(Data::Random)?;
    bench.run()
}

/// Runs a product and checks what every thread stored. All blocks compute the same.
fn check_product(bench: &mut Bench<'_>, tile: PeakTile, wgmma: bool) -> device::Result<Check> {
    run(bench)?;
    let references = product(&bench.problem, tile, wgmma).references();
    let of = |t: u64| references[t as usize % references.len()];
    let check = match tile.format {
        Format::F64 => double::check(bench, of),
        _ => elementwise(bench, 0, of),
    }?;
    let data = bench.problem.data;
    Ok(Check {
        failure: check
            .failure
            .map(|reason| format!("pass on {} operands: {reason}", data_name(data))),
        ..check
    })
}

fn data_name(data: Data) -> &'static str {
    match data {
        Data::Random => "random",
        Data::Integers => "integer",
        Data::Zeros => "zero",
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
