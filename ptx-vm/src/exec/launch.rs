//! Launches: arguments, limits, blocks over cores, the report.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use super::block::Block;
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
        let params = params(program, launch)?;
        module.place(memory);
        memory.forget_touches();
        let frozen = Frozen {
            program,
            memory,
            params: &params,
            launch,
            options,
            sms: self.sms,
            shared_bytes: shared,
            simd: pulp::Arch::new(),
        };
        let counts = run_blocks(module, &frozen)?;
        let blocks = launch.grid.iter().map(|n| u64::from(*n)).product::<u64>();
        let threads = blocks * launch.block.iter().map(|n| u64::from(*n)).product::<u64>();
        Ok(counts.report(&launch.entry, &program.code, threads, memory.footprints()))
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
        if let Some(max) = program.max_threads.filter(|max| threads > u64::from(*max)) {
            return fail(format!(
                "a block has {threads} threads, .maxntid allows {max}"
            ));
        }
        if let Some(required) = program.required_block.filter(|r| *r != launch.block) {
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

/// Runs all blocks. Blocks below the first faulty one always run, so that the fault reported
/// does not depend on the number of cores.
fn run_blocks(module: &Module, frozen: &Frozen<'_>) -> Result<Counts, RunError> {
    let [x, y, z] = frozen.launch.grid.map(u64::from);
    let code = frozen.program.code.len();
    let first_fault = AtomicU64::new(u64::MAX);
    let fault: Mutex<Option<Box<Fault>>> = Mutex::new(None);
    let run = |(mut block, mut counts): (Block, Counts), index: u64| {
        if index < first_fault.load(Ordering::Relaxed) {
            let id = [index % x, index / x % y, index / (x * y)].map(|n| n as u32);
            counts.blocks += 1;
            if let Err(found) = block.run(module, frozen, &mut counts, id, index) {
                let mut fault = fault.lock().unwrap_or_else(PoisonError::into_inner);
                if index < first_fault.fetch_min(index, Ordering::Relaxed) {
                    *fault = Some(found);
                }
            }
        }
        (block, counts)
    };
    let start = || (Block::default(), Counts::new(code));
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
