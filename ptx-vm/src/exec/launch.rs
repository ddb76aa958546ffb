//! Launches: arguments, limits, blocks over cores, the report.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use super::block::Cluster;
use super::cluster::Place;
use super::{MAX_SHARED, warp::Frozen};
use crate::check::{Checks, Fault, RunError};
use crate::count::Report;
use crate::count::collect::Counts;
use crate::lower::Program;
use crate::memory::{Memory, Ptr};
use crate::module::Module;

/// A kernel argument; its size must be that of the parameter.
#[derive(Debug, Clone, PartialEq)]
pub enum Arg {
    /// Address of global memory (8 bytes).
    Ptr(Ptr),
    /// 32-bit integer of either sign.
    U32(u32),
    /// 64-bit integer of either sign.
    U64(u64),
    /// Single-precision number.
    F32(f32),
    /// Double-precision number.
    F64(f64),
    /// Anything else, in memory order: 8- and 16-bit integers, structures.
    Bytes(Vec<u8>),
}

impl Arg {
    fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Ptr(p) => p.0.to_le_bytes().to_vec(),
            Self::U32(x) => x.to_le_bytes().to_vec(),
            Self::U64(x) => x.to_le_bytes().to_vec(),
            Self::F32(x) => x.to_le_bytes().to_vec(),
            Self::F64(x) => x.to_le_bytes().to_vec(),
            Self::Bytes(bytes) => bytes.clone(),
        }
    }
}

macro_rules! arg_from {
    ($($from:ty => $variant:ident),*) => {
        $(impl From<$from> for Arg {
            fn from(value: $from) -> Self {
                Self::$variant(value)
            }
        })*
    };
}
arg_from!(Ptr => Ptr, u32 => U32, u64 => U64, f32 => F32, f64 => F64, Vec<u8> => Bytes);

/// What to launch.
#[derive(Debug, Clone, PartialEq)]
pub struct Launch {
    /// Kernel name.
    pub entry: String,
    /// Blocks per axis.
    pub grid: [u32; 3],
    /// Threads of a block per axis.
    pub block: [u32; 3],
    /// Blocks of a cluster per axis; `None` is what the kernel's `.reqnctapercluster` says, or
    /// no cluster.
    pub cluster: Option<[u32; 3]>,
    /// Whether it may start before the launch in front of it has ended (programmatic dependent
    /// launch): a block that touches global memory before one of its threads has waited for that
    /// (`griddepcontrol.wait`) is faulty, [`FaultKind::GridNotWaited`](crate::FaultKind). That the
    /// others come behind that thread is not checked.
    pub dependent: bool,
    /// Bytes of dynamic shared memory.
    pub shared_bytes: u32,
    /// Arguments in order.
    pub args: Vec<Arg>,
}

/// How a launch is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Checks beyond bounds and alignment.
    pub checks: Checks,
    /// Whether sectors, bank conflicts and footprints are counted; instructions, operations and
    /// requested bytes always are.
    pub traffic: bool,
    /// Whether footprints go on from those of the launch before, instead of starting anew.
    pub continues: bool,
    /// Warp instructions that one block may issue before it is stopped with
    /// [`InstructionLimit`](crate::FaultKind::InstructionLimit): an endless loop is diagnosed
    /// instead of waited for.
    pub max_warp_instructions: u64,
    /// Runs the blocks one after the other, in order: for kernels whose blocks meet in
    /// floating-point atomics, whose results depend on the order.
    pub sequential: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            checks: Checks::ALL,
            traffic: true,
            continues: false,
            max_warp_instructions: 1 << 32,
            sequential: false,
        }
    }
}

/// The device that kernels see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Machine {
    /// Multiprocessors (`%nsmid`); block `i` reports `%smid` `i` modulo this.
    pub sms: u32,
    /// Shared memory that one block may have, in bytes.
    pub max_shared_bytes: u32,
}

impl Default for Machine {
    /// The H200: 132 multiprocessors, 227 KiB of shared memory per block.
    fn default() -> Self {
        Self {
            sms: 132,
            max_shared_bytes: 227 << 10,
        }
    }
}

impl Machine {
    /// Runs a launch to its end.
    ///
    /// # Errors
    /// [`RunError::Launch`] when the launch does not fit the kernel, [`RunError::Unsupported`]
    /// when the kernel uses PTX that is not executed here, [`RunError::Fault`] with the fault of
    /// the block with the lowest index that has one. Memory then holds whatever was written.
    pub fn run(
        &self,
        module: &Module,
        memory: &mut Memory,
        launch: &Launch,
        options: &Options,
    ) -> Result<Report, RunError> {
        let program = match module.program(&launch.entry) {
            None => return Err(refuse(launch, "the module has no such kernel")),
            Some(Err(error)) => return Err(error.clone().into()),
            Some(Ok(program)) => program,
        };
        let shared = self.check(program, launch)?;
        let cluster = cluster(program, launch)?;
        let params = params(program, launch)?;
        module.place(memory);
        if options.traffic && !options.continues {
            memory.forget_touches();
        }
        let frozen = Frozen {
            program,
            memory,
            params: &params,
            launch,
            options,
            sms: self.sms,
            shared_bytes: shared,
            cluster,
            simd: pulp::Arch::new(),
        };
        let counts = run_blocks(module, &frozen)?;
        let blocks = launch.grid.iter().map(|n| u64::from(*n)).product::<u64>();
        let threads = blocks * launch.block.iter().map(|n| u64::from(*n)).product::<u64>();
        let footprints = if options.traffic {
            memory.footprints()
        } else {
            Vec::new()
        };
        Ok(counts.report(&launch.entry, &program.code, threads, footprints))
    }

    /// Checks the shape of the launch; returns the bytes of shared memory.
    fn check(&self, program: &Program, launch: &Launch) -> Result<u32, RunError> {
        let threads = launch.block.iter().map(|n| u64::from(*n)).product::<u64>();
        let fail = |message: String| Err(refuse(launch, message));
        if !(1..=1024).contains(&threads) {
            return fail(format!(
                "a block of {:?} has {threads} threads; 1 to 1024 are possible",
                launch.block
            ));
        }
        if launch.grid.contains(&0) {
            return fail(format!("the grid {:?} is empty", launch.grid));
        }
        if let Some(max) = program
            .bounds
            .max_threads
            .filter(|max| threads > u64::from(*max))
        {
            return fail(format!(
                "a block has {threads} threads, .maxntid allows {max}"
            ));
        }
        if let Some(required) = program.bounds.block.filter(|r| *r != launch.block) {
            return fail(format!(
                "the block is {:?}, .reqntid demands {required:?}",
                launch.block
            ));
        }
        let bytes = u64::from(program.dynamic_shared) + u64::from(launch.shared_bytes);
        match u32::try_from(bytes) {
            Ok(bytes) if bytes <= self.max_shared_bytes.min(MAX_SHARED) => Ok(bytes),
            _ => fail(format!(
                "{bytes} bytes of shared memory, {} are possible",
                self.max_shared_bytes
            )),
        }
    }
}

fn refuse(launch: &Launch, message: impl Into<String>) -> RunError {
    RunError::Launch {
        entry: launch.entry.clone(),
        message: message.into(),
    }
}

/// Lays the arguments out as the kernel's parameters.
fn params(program: &Program, launch: &Launch) -> Result<Vec<u8>, RunError> {
    if program.parameters.len() != launch.args.len() {
        let (wanted, given) = (program.parameters.len(), launch.args.len());
        return Err(refuse(
            launch,
            format!("{given} arguments for {wanted} parameters"),
        ));
    }
    let mut out = vec![0; program.parameter_bytes as usize];
    for (parameter, arg) in program.parameters.iter().zip(&launch.args) {
        let bytes = arg.bytes();
        if bytes.len() != parameter.bytes as usize {
            let (given, wanted, name) = (bytes.len(), parameter.bytes, &parameter.name);
            return Err(refuse(
                launch,
                format!("argument of {given} bytes for {name}, which has {wanted}"),
            ));
        }
        out[parameter.offset as usize..][..bytes.len()].copy_from_slice(&bytes);
    }
    Ok(out)
}

/// The shape of the launch's clusters.
fn cluster(program: &Program, launch: &Launch) -> Result<[u32; 3], RunError> {
    let shape = match (launch.cluster, program.bounds.cluster) {
        (Some(given), Some(required)) if given != required => {
            let message = format!("clusters of {given:?}, .reqnctapercluster demands {required:?}");
            return Err(refuse(launch, message));
        }
        (given, required) => given.or(required).unwrap_or([1; 3]),
    };
    let blocks = shape.iter().map(|n| u64::from(*n)).product::<u64>();
    let fits = launch
        .grid
        .iter()
        .zip(&shape)
        .all(|(grid, n)| *n > 0 && grid.is_multiple_of(*n));
    if !(1..=16).contains(&blocks) || !fits {
        let message = format!(
            "clusters of {shape:?} in a grid of {:?}: 1 to 16 blocks that divide the grid are possible",
            launch.grid
        );
        return Err(refuse(launch, message));
    }
    Ok(shape)
}

/// Runs all clusters. Clusters below the first faulty one always run, so that the fault reported
/// does not depend on the number of cores.
fn run_blocks(module: &Module, frozen: &Frozen<'_>) -> Result<Counts, RunError> {
    let grid = frozen.launch.grid.map(u64::from);
    let shape = frozen.cluster.map(u64::from);
    let [x, y, z] = [0, 1, 2].map(|axis| grid[axis] / shape[axis]);
    let code = frozen.program.code.len();
    let first_fault = AtomicU64::new(u64::MAX);
    let fault: Mutex<Option<Box<Fault>>> = Mutex::new(None);
    let run = |(mut cluster, mut counts): (Cluster, Counts), index: u64| {
        if index < first_fault.load(Ordering::Relaxed) {
            let places = places([index % x, index / x % y, index / (x * y)], shape, grid);
            counts.blocks += places.len() as u64;
            if let Err(found) = cluster.run(module, frozen, &mut counts, &places) {
                let mut fault = fault.lock().unwrap_or_else(PoisonError::into_inner);
                if index < first_fault.fetch_min(index, Ordering::Relaxed) {
                    *fault = Some(found);
                }
            }
        }
        (cluster, counts)
    };
    let start = || (Cluster::default(), Counts::new(code));
    let counts = if frozen.options.sequential {
        (0..x * y * z).fold(start(), run).1
    } else {
        (0..x * y * z)
            .into_par_iter()
            .fold(start, run)
            .map(|(_, counts)| counts)
            .reduce(|| Counts::new(code), |a, b| a.merge(&b))
    };
    match fault.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(fault) => Err(fault.into()),
        None => Ok(counts),
    }
}

/// The blocks of cluster `at`, by rank: x runs fastest.
fn places(at: [u64; 3], shape: [u64; 3], grid: [u64; 3]) -> Vec<Place> {
    (0..shape.iter().product())
        .map(|rank: u64| {
            let [x, y] = [shape[0], shape[1]];
            let inside = [rank % x, rank / x % y, rank / (x * y)];
            let block = [0, 1, 2].map(|axis| at[axis] * shape[axis] + inside[axis]);
            Place {
                block: block.map(|n| n as u32),
                rank: rank as u32,
                index: block[0] + grid[0] * (block[1] + grid[1] * block[2]),
            }
        })
        .collect()
}
