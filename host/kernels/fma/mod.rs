//! `fma`: nothing but multiply-adds, the roof of one pipe.
//!
//! | module | what it is for |
//! |---|---|
//! | `chains` | chains of fused multiply-adds: fp32, fp64 |
//! | `product` | the product that tensor cores compute again and again |

mod chains;
mod product;

pub use chains::{bound, reference};

use super::verify::{Reference, Worst, elementwise};
use super::{
    Argument, Bench, Check, Data, Kernel, KernelId, Launch, OperandSpec, Problem, Role, SizeKind,
    Surplus, Variant,
};
use crate::device::{self, DeviceInfo, DeviceKind, Element};
use crate::roofline::peak::ComputeCapability;
use crate::roofline::pipe::Pipe;
use crate::roofline::work::{self, Storage, Work, WorkError};
use gpu_kernels::operands::{Format, PEAK_BLOCK, PeakTile};
use gpu_kernels::params::{
    FMA_BLOCK, FMA_BLOCKS_PER_SM, FMA_CHAINS, FMA_F64_BLOCKS_PER_SM, FMA_F64_CHAINS,
};
use product::{Product, filled};

/// The kernel `fma`. Its size is the number of steps of every chain, or, on tensor cores, of matrix
/// instructions that each accumulator takes part in.
///
/// Chains are verified against the closed form r_n = a^n r_0 + b (1 - a^n) / (1 - a) in f64, within
/// [`bound`]; products against the sum of their slices in f64, first on small integers, where they
/// are exact, then on random values.
pub struct Fma;

const CUDA: [Variant; 1] = [Variant {
    name: "chains",
    summary: "independent chains of multiply-adds or of matrix instructions, every multiprocessor full",
}];

const CPU: [Variant; 1] = [Variant {
    name: "simd",
    summary: "independent chains in the widest vectors, every core",
}];

/// Threads of the fp32 launch, each with [`FMA_CHAINS`] chains: one wave that fills a GPU; on a CPU
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

/// The compute capability whose tensor cores are fed by `wgmma` alone at their full rate.
const WGMMA: ComputeCapability = ComputeCapability::new(9, 0);

/// How the peak of a pipe is measured on a device.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Method {
    /// Chains of fp32 multiply-adds.
    Chains,
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
    /// `None` where there is no kernel for the pipe.
    fn of(pipe: Pipe, info: &DeviceInfo) -> Option<Self> {
        if pipe == Pipe::Fp32 {
            return Some(Method::Chains);
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
        Method::of(pipe, info)
            .ok_or_else(|| format!("fma has no kernel for {pipe} on {}", info.name))
    }

    /// Threads of the launch.
    fn threads(self, info: &DeviceInfo) -> u64 {
        let blocks = match self {
            Method::Chains => return threads(info),
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
            .filter(|pipe| Method::of(*pipe, device).is_some())
            .collect()
    }

    fn operand_type(&self, problem: &Problem, device: &DeviceInfo) -> &'static str {
        match Method::of(problem.pipe(), device) {
            None | Some(Method::Chains) => Storage::F32.id(),
            Some(Method::DoubleChains) => Storage::F64.id(),
            Some(Method::Product { tile, .. }) => match tile.format {
                Format::Bf16 => Storage::Bf16.id(),
                Format::F16 => Storage::F16.id(),
                Format::Tf32 => Storage::F32.id(),
                Format::E4m3 => Storage::Fp8.id(),
                Format::S8 => Storage::I8.id(),
                Format::F64 => Storage::F64.id(),
            },
        }
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

    fn surplus(&self, problem: &Problem, device: &DeviceInfo) -> Surplus {
        let Ok(method) = Method::for_problem(problem, device) else {
            return Surplus::default();
        };
        let overhead = match method {
            // Each chain is scaled once at its start and added once at its end.
            Method::Chains => 2 * u64::from(FMA_CHAINS),
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
        match Method::of(problem.pipe(), device).unwrap_or(Method::Chains) {
            Method::Chains => work::fma(threads(device), u64::from(FMA_CHAINS), steps),
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
        let method = Method::of(problem.pipe(), device).unwrap_or(Method::Chains);
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
            Method::Chains => ("fma_chains", FMA_BLOCK, 0),
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
            scratch_bytes: 0,
            arguments,
        })
    }

    fn verify(&self, bench: &mut Bench<'_>) -> device::Result<Check> {
        let method = Method::for_problem(&bench.problem, bench.info())
            .map_err(device::DeviceError::Unsupported)?;
        let (seed, steps) = (bench.problem.operand_seed(0), bench.problem.elements());
        match method {
            Method::Chains => {
                run(bench)?;
                elementwise(bench, 0, |t| Reference {
                    value: reference(seed, t, steps),
                    bound: bound(steps),
                })
            }
            Method::DoubleChains => {
                run(bench)?;
                in_pairs(bench, |t| chains::double(seed, t, steps))
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
        Format::F64 => in_pairs(bench, of),
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

/// Checks an output of doubles that are stored as two f32 each, and the guard bands.
fn in_pairs(bench: &mut Bench<'_>, reference: impl Fn(u64) -> Reference) -> device::Result<Check> {
    if let Err(reason) = bench.check_guards()? {
        return Ok(Check::failed(reason));
    }
    let mut worst = Worst::NONE;
    let outcome = bench.inspect(0, 2, |first, piece| {
        for (pair, halves) in piece.chunks_exact(2).enumerate() {
            let t = first / 2 + pair as u64;
            let value = f64::from(halves[0]) + f64::from(halves[1]);
            worst = worst.or(Worst::of(value, reference(t), t));
        }
        Ok(())
    })?;
    Ok(match outcome {
        Err(reason) => Check::failed(reason),
        Ok(()) => worst.judge("pair"),
    })
}
