//! What a launch did: operations, instructions, bytes, coalescing, bank conflicts.
//!
//! Every count is kept per instruction while the kernel runs and summed at the end, so that a
//! report can be broken down by PTX line.

pub(crate) mod classify;
pub(crate) mod collect;
pub(crate) mod pattern;

/// Bytes of a sector: the unit in which the L1 asks the L2, and the L2 the DRAM.
pub const SECTOR_BYTES: u64 = 32;

/// The arithmetic pipe that an operation uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Pipe {
    /// Half precision, scalar or packed.
    F16,
    /// bfloat16, scalar or packed.
    Bf16,
    /// Single precision.
    F32,
    /// Double precision.
    F64,
    /// Integer arithmetic, logic, shifts.
    Integer,
    /// Tensor cores, half-precision operands.
    TensorF16,
    /// Tensor cores, bfloat16 operands.
    TensorBf16,
    /// Tensor cores, TF32 operands.
    TensorTf32,
    /// Tensor cores, 8-bit floating-point operands.
    TensorFp8,
    /// Tensor cores, double-precision operands.
    TensorF64,
    /// Tensor cores, 8-bit integer operands.
    TensorInt8,
}

/// Operations that one thread does in one instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct FlopRate {
    pub pipe: Option<Pipe>,
    pub operations: u32,
    /// Fused multiply-add among them.
    pub fused: bool,
    /// Computed within the ISA's error bound, not bit-exact.
    pub approximate: bool,
}

/// Classes of instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    /// Floating-point arithmetic.
    Float,
    /// Integer arithmetic, logic and shifts.
    Integer,
    /// Conversions.
    Convert,
    /// Moves, packing, address-space conversions, special registers.
    Move,
    /// Comparisons, selections, predicate logic.
    Compare,
    /// Loads from global or constant memory, generic loads included.
    LoadGlobal,
    /// Stores to global memory, generic stores included.
    StoreGlobal,
    /// Loads from shared memory.
    LoadShared,
    /// Stores to shared memory.
    StoreShared,
    /// Loads and stores of local memory.
    Local,
    /// Loads of kernel parameters.
    Param,
    /// Atomics and reductions in memory.
    Atomic,
    /// Asynchronous copies, their commits and waits.
    Async,
    /// Matrix products on tensor cores and their fragment loads.
    Tensor,
    /// Barriers and fences.
    Barrier,
    /// Shuffles, votes, matches, warp reductions.
    Warp,
    /// Branches, returns and exits.
    Control,
    /// Hints and others without effect.
    Other,
}

/// Operations by precision; a fused multiply-add counts 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flops {
    /// Half-precision operations.
    pub f16: u64,
    /// bfloat16 operations.
    pub bf16: u64,
    /// Single-precision operations.
    pub f32: u64,
    /// Double-precision operations.
    pub f64: u64,
    /// Operations of tensor cores on half-precision operands.
    pub tensor_f16: u64,
    /// Operations of tensor cores on bfloat16 operands.
    pub tensor_bf16: u64,
    /// Operations of tensor cores on TF32 operands.
    pub tensor_tf32: u64,
    /// Operations of tensor cores on 8-bit floating-point operands.
    pub tensor_fp8: u64,
    /// Operations of tensor cores on double-precision operands.
    pub tensor_f64: u64,
    /// Operations of tensor cores on 8-bit integers.
    pub tensor_int8: u64,
    /// Of the above, operations that came from fused multiply-adds.
    pub fused: u64,
    /// Integer operations; not part of [`total`](Self::total).
    pub integer: u64,
    /// Instructions (per thread) whose result is within the ISA's error bound instead of
    /// bit-exact, such as `ex2.approx`.
    pub approximate: u64,
}

impl Flops {
    /// Floating-point operations of all precisions, and those of tensor cores on integers, which
    /// are counted in their place.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.f16
            + self.bf16
            + self.f32
            + self.f64
            + self.tensor_f16
            + self.tensor_bf16
            + self.tensor_tf32
            + self.tensor_fp8
            + self.tensor_f64
            + self.tensor_int8
    }
}

/// Global-memory traffic as the threads asked for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GlobalTraffic {
    /// Bytes loaded, summed over threads; sources of asynchronous copies included.
    pub load_bytes: u64,
    /// Bytes stored, summed over threads.
    pub store_bytes: u64,
    /// Bytes of atomic operands.
    pub atomic_bytes: u64,
    /// Warp-wide load instructions.
    pub load_requests: u64,
    /// Warp-wide store instructions.
    pub store_requests: u64,
    /// Distinct 32-byte sectors, summed over load requests.
    pub load_sectors: u64,
    /// Distinct 32-byte sectors, summed over store requests.
    pub store_sectors: u64,
    /// Distinct 32-byte sectors, summed over atomic requests.
    pub atomic_sectors: u64,
}

/// Shared-memory traffic, without the operands that `wgmma` reads by itself. A wavefront is one pass over the 32 banks of 4 bytes; 8-byte accesses
/// are served in two halves of the warp and 16-byte ones in four quarters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SharedTraffic {
    /// Bytes loaded, summed over threads.
    pub load_bytes: u64,
    /// Bytes stored, summed over threads; destinations of asynchronous copies included.
    pub store_bytes: u64,
    /// Warp-wide instructions.
    pub requests: u64,
    /// Wavefronts needed.
    pub wavefronts: u64,
    /// Wavefronts needed if no two different words of a bank were asked for at once.
    pub ideal_wavefronts: u64,
}

impl SharedTraffic {
    /// Wavefronts caused by bank conflicts.
    #[must_use]
    pub fn conflicts(&self) -> u64 {
        self.wavefronts - self.ideal_wavefronts
    }
}

/// Distinct bytes of one allocation that a launch touched.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Footprint {
    /// Name of the allocation; empty in the sum over all.
    pub name: String,
    /// Bytes read at least once.
    pub read_bytes: u64,
    /// Bytes written at least once.
    pub written_bytes: u64,
    /// 32-byte sectors with at least one byte read.
    pub read_sectors: u64,
    /// 32-byte sectors with at least one byte written.
    pub written_sectors: u64,
}

/// Bytes per memory level with an L2 that holds everything it has seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Levels {
    /// Between registers and the memory system, global accesses only.
    pub requested: u64,
    /// Between the SMs and the L2, without an L1: sectors of all requests.
    pub l2: u64,
    /// From DRAM: each sector read once, except those that the kernel wrote first are counted too
    /// (the launch does not record which came first).
    pub dram_read: u64,
    /// To DRAM: each written sector once.
    pub dram_written: u64,
}

/// Counts of one PTX instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineCount {
    /// PTX line, from 1.
    pub line: u32,
    /// Class of the instruction.
    pub class: Class,
    /// Warps that issued it.
    pub warps: u64,
    /// Threads that executed it: predicated-off threads are not counted.
    pub threads: u64,
    /// Sectors (global accesses) or wavefronts (shared accesses).
    pub transactions: u64,
}

/// What a launch did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Report {
    /// Kernel name.
    pub kernel: String,
    /// Blocks run.
    pub blocks: u64,
    /// Threads run.
    pub threads: u64,
    /// Instructions executed, summed over threads.
    pub thread_instructions: u64,
    /// Instructions issued, summed over warps.
    pub warp_instructions: u64,
    /// Operations by precision.
    pub flops: Flops,
    /// Thread instructions by class, classes with none left out.
    pub classes: Vec<(Class, u64)>,
    /// Global-memory traffic.
    pub global: GlobalTraffic,
    /// Shared-memory traffic.
    pub shared: SharedTraffic,
    /// Distinct bytes over all allocations: the compulsory traffic.
    pub footprint: Footprint,
    /// Distinct bytes by allocation, in address order; untouched allocations left out.
    pub footprints: Vec<Footprint>,
    /// Counts by instruction, in code order.
    pub lines: Vec<LineCount>,
}

/// Adds up fields of the same name.
macro_rules! add {
    ($to:expr, $from:expr; $($field:ident),* $(,)?) => {
        $($to.$field += $from.$field;)*
    };
}

impl Report {
    /// The work of this launch and of one `before` it as that of one: instructions, operations and
    /// traffic as it was asked for. Name and lines stay those of this launch, and so do the
    /// footprints, which have what both touched if this one was run with
    /// [`Options::continues`](crate::Options).
    #[must_use]
    pub fn after(mut self, before: &Report) -> Report {
        add!(self, before; blocks, threads, thread_instructions, warp_instructions);
        add!(self.flops, before.flops;
            f16, bf16, f32, f64, tensor_f16, tensor_bf16, tensor_tf32, tensor_fp8, tensor_f64,
            tensor_int8, fused, integer, approximate);
        add!(self.global, before.global;
            load_bytes, store_bytes, atomic_bytes, load_requests, store_requests, load_sectors,
            store_sectors, atomic_sectors);
        add!(self.shared, before.shared;
            load_bytes, store_bytes, requests, wavefronts, ideal_wavefronts);
        let mut classes: std::collections::BTreeMap<Class, u64> =
            self.classes.into_iter().collect();
        for (class, threads) in &before.classes {
            *classes.entry(*class).or_default() += threads;
        }
        self.classes = classes.into_iter().collect();
        self
    }

    /// Bytes per memory level under the perfect-L2 model.
    #[must_use]
    pub fn levels(&self) -> Levels {
        let g = &self.global;
        Levels {
            requested: g.load_bytes + g.store_bytes + g.atomic_bytes,
            l2: (g.load_sectors + g.store_sectors + g.atomic_sectors) * SECTOR_BYTES,
            dram_read: self.footprint.read_sectors * SECTOR_BYTES,
            dram_written: self.footprint.written_sectors * SECTOR_BYTES,
        }
    }

    /// Distinct bytes read plus distinct bytes written.
    #[must_use]
    pub fn unique_bytes(&self) -> u64 {
        self.footprint.read_bytes + self.footprint.written_bytes
    }

    /// Arithmetic intensity from counted work: FLOP per unique byte; `None` without traffic.
    #[must_use]
    pub fn intensity(&self) -> Option<f64> {
        let bytes = self.unique_bytes();
        (bytes > 0).then(|| self.flops.total() as f64 / bytes as f64)
    }

    /// Mean number of sectors per warp-wide global load; 4 is perfect for 4-byte accesses, 16
    /// for 16-byte ones. `None` without loads.
    #[must_use]
    pub fn sectors_per_load(&self) -> Option<f64> {
        let g = &self.global;
        (g.load_requests > 0).then(|| g.load_sectors as f64 / g.load_requests as f64)
    }
}
