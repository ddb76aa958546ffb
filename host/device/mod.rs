//! What a device is: memory for operands, launches, timings, and facts about itself.
//!
//! [`Device`] is the seam between measuring and hardware. [`cuda`] drives an NVIDIA GPU,
//! [`cpu`] the machine's own cores, [`vm`] executes a GPU's PTX without one. Tests put their own devices behind it, to plant faults
//! and to script clocks.

pub mod cpu;
pub mod cuda;
mod select;
pub mod vm;

pub use select::{DeviceChoice, Opened, open};

use crate::kernels::Problem;
use crate::roofline::peak::{Attributes, ComputeCapability};

/// Result of a call to a device.
pub type Result<T> = std::result::Result<T, DeviceError>;

/// Why a device did not do what it was asked.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum DeviceError {
    /// There is no usable device of the kind asked for.
    #[error("{0}")]
    Unavailable(String),
    /// An allocation is larger than what is free.
    #[error("out of memory on {device}: {needed} bytes needed, {free} bytes free")]
    OutOfMemory {
        /// Name of the device.
        device: String,
        /// Bytes asked for.
        needed: u64,
        /// Bytes free.
        free: u64,
    },
    /// This launch cannot run on this device; others can.
    #[error("{0}")]
    Unsupported(String),
    /// A call failed; the device is still usable.
    #[error("{call}: {reason}")]
    Call {
        /// What was called.
        call: &'static str,
        /// What the driver said.
        reason: String,
    },
    /// A call failed in a way that makes every later one fail (a kernel that crashed).
    #[error("{call}: {reason}; the device must be opened again")]
    Lost {
        /// What was called.
        call: &'static str,
        /// What the driver said.
        reason: String,
    },
}

/// The kinds of device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DeviceKind {
    /// The machine's own cores.
    Cpu,
    /// An NVIDIA GPU through the CUDA driver.
    Cuda,
    /// The PTX of a GPU, executed on the machine's cores: launched like [`DeviceKind::Cuda`],
    /// never timed.
    Vm,
}

/// Facts about a device. What is not known is `None`, never 0.
#[derive(Debug, Clone, PartialEq)]
pub struct DeviceInfo {
    /// Kind of the device.
    pub kind: DeviceKind,
    /// Name as the driver or the CPU reports it.
    pub name: String,
    /// Index among the devices of its kind.
    pub index: Option<u32>,
    /// CUDA compute capability.
    pub compute_capability: Option<ComputeCapability>,
    /// Version of the driver.
    pub driver_version: Option<String>,
    /// Bytes of device memory.
    pub memory_bytes: u64,
    /// Bytes of the last-level cache.
    pub cache_bytes: Option<u64>,
    /// Multiprocessors of a GPU, worker threads of a CPU.
    pub units: u32,
    /// What peak rates are derived from, where the driver reports enough of it.
    pub attributes: Option<Attributes>,
    /// Threads that fit on one multiprocessor at a time.
    pub threads_per_unit: Option<u32>,
    /// Largest dynamic shared memory of a block, opted in, in bytes.
    pub shared_bytes_per_block: Option<u32>,
    /// Target of the PTX that runs.
    pub ptx_target: Option<String>,
    /// SHA-256 of that PTX, in hexadecimal.
    pub ptx_sha256: Option<String>,
    /// Where it is from: `compiled`, `prebuilt` or `file`.
    pub ptx_source: Option<String>,
}

/// Shared memory of a block that a GPU keeps for itself, in bytes (CUDA C++ Programming Guide,
/// "Shared Memory" of compute capability 8.x and 9.0).
const RESERVED_SHARED_BYTES: u32 = 1024;
/// Shared memory of a block where the device does not say, in bytes.
const LEAST_SHARED_BYTES: u32 = 48 * 1024;

/// The target whose PTX lets a launch have clusters that the kernel does not ask for.
const TARGET_WITH_CLUSTERS: &str = "sm_90a";

impl DeviceInfo {
    /// Whether a launch may group its blocks into clusters.
    pub fn has_clusters(&self) -> bool {
        self.ptx_target.as_deref() == Some(TARGET_WITH_CLUSTERS)
    }

    /// Blocks with `bytes` of shared memory each that one multiprocessor's shared memory holds.
    pub fn blocks_by_shared_memory(&self, bytes: u32) -> u32 {
        let most = self.shared_bytes_per_block.unwrap_or(LEAST_SHARED_BYTES);
        (most + RESERVED_SHARED_BYTES) / (bytes + RESERVED_SHARED_BYTES)
    }
}

/// Memory of a device, valid until [`Device::release_all`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Buffer(pub usize);

/// What an element is stored as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Element {
    /// IEEE binary32.
    #[default]
    F32,
    /// bfloat16: the upper half of a binary32.
    Bf16,
}

impl Element {
    /// Bytes of one.
    pub const fn bytes(self) -> u64 {
        match self {
            Element::F32 => 4,
            Element::Bf16 => 2,
        }
    }

    /// Name in the columns `storage` and `out_type`.
    pub const fn name(self) -> &'static str {
        match self {
            Element::F32 => "f32",
            Element::Bf16 => "bf16",
        }
    }

    /// `value` as it is stored: rounded to nearest, ties to even.
    pub fn round(self, value: f32) -> f32 {
        match self {
            Element::F32 => value,
            Element::Bf16 => widen(narrow(value)),
        }
    }
}

/// The bfloat16 nearest to `value`, ties to even (`cvt.rn.bf16.f32`).
pub fn narrow(value: f32) -> u16 {
    gpu_kernels::random::bf16_bits(value)
}

/// The value of a bfloat16.
pub fn widen(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

/// Consecutive elements of a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Region {
    /// Buffer they lie in.
    pub buffer: Buffer,
    /// Bytes from the start of the buffer to the first element, a multiple of an element's.
    pub offset: u64,
    /// Number of elements.
    pub elements: u64,
    /// What each is stored as.
    pub element: Element,
}

impl Region {
    /// Bytes of its elements.
    pub fn bytes(self) -> u64 {
        self.element.bytes() * self.elements
    }

    /// The `elements` elements from `first` on.
    ///
    /// # Panics
    /// If they are not all part of this region: an error of the caller.
    pub fn slice(self, first: u64, elements: u64) -> Region {
        assert!(
            first + elements <= self.elements,
            "slice of a region past its end"
        );
        Region {
            offset: self.offset + self.element.bytes() * first,
            elements,
            ..self
        }
    }
}

/// What a region is filled with. Where an element is narrower than 32 bits it holds the f32
/// rounded to it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Fill {
    /// The same bits in every element: all 32 of an f32, the upper 16 of a bfloat16.
    Bits(u32),
    /// [`gpu_kernels::random::uniform`] of the seed and the element's index.
    Uniform(u64),
    /// [`gpu_kernels::random::integer`] of the seed and the element's index.
    Integers(u64),
    /// [`gpu_kernels::random::sign`] of the seed, the element's index and `one_in`: one element in
    /// so many is 1 or -1, the others are 0.
    Signs {
        /// The seed.
        seed: u64,
        /// How many elements there are to one that is not 0, on average.
        one_in: u32,
    },
}

impl Fill {
    /// Element `index` of the fill as an f32, not yet rounded to the element's width.
    pub fn value(self, index: u64) -> f32 {
        use gpu_kernels::random::{integer, sign, uniform};
        match self {
            Fill::Bits(bits) => f32::from_bits(bits),
            Fill::Uniform(seed) => uniform(seed, index),
            Fill::Integers(seed) => integer(seed, index),
            Fill::Signs { seed, one_in } => sign(seed, index, one_in),
        }
    }

    /// Element `index` of the fill as it is stored.
    pub fn stored(self, element: Element, index: u64) -> f32 {
        match (self, element) {
            // A pattern is cut, not rounded: it may be a NaN.
            (Fill::Bits(bits), Element::Bf16) => f32::from_bits(bits & 0xffff_0000),
            _ => element.round(self.value(index)),
        }
    }
}

/// State of the last-level cache when a launch starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CacheState {
    /// Swept before every launch: operands come from memory.
    Cold,
    /// As the previous launch left it.
    Warm,
}

/// How a launch looks on the device.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LaunchFacts {
    /// Blocks of the grid, `x` joined: `4096` or `32x32`.
    pub grid: Option<String>,
    /// Threads of a block, `x` joined: `256` or `32x32`.
    pub block: Option<String>,
    /// Registers of a thread.
    pub registers: Option<u32>,
    /// Shared memory of a block in bytes, static and dynamic.
    pub shared_bytes: Option<u64>,
    /// Resident threads over the most that fit, 0 to 1.
    pub occupancy: Option<f64>,
}

/// The state of a device at one moment. What is not known is `None`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Telemetry {
    /// Core clock in Hz, measured by cycles over nanoseconds.
    pub clock_hz: Option<f64>,
    /// Power draw in watts.
    pub power_w: Option<f64>,
    /// Temperature in degrees Celsius.
    pub temperature_c: Option<f64>,
    /// Why the clock is held back; empty if it is not.
    pub throttle: Option<Vec<Throttle>>,
}

/// A reason for which a device holds its clock back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Throttle {
    /// The power limit: a fact of the card.
    PowerCap,
    /// Temperature: passes when the card has cooled.
    Thermal,
    /// The power supply or another external brake.
    Hardware,
}

impl Throttle {
    /// Name in the column `throttle`.
    pub fn name(self) -> &'static str {
        match self {
            Throttle::PowerCap => "power-cap",
            Throttle::Thermal => "thermal",
            Throttle::Hardware => "hardware",
        }
    }
}

/// Memory for operands, launches, timings.
///
/// Operands are given in the order of [`crate::kernels::Kernel::operands`].
pub trait Device {
    /// Facts about the device.
    fn info(&self) -> &DeviceInfo;

    /// Bytes that can be allocated now.
    ///
    /// # Errors
    /// The driver does not answer.
    fn free_bytes(&mut self) -> Result<u64>;

    /// Allocates `bytes` bytes, aligned to 256; what they hold is undefined.
    ///
    /// # Errors
    /// [`DeviceError::OutOfMemory`], or the driver's error.
    fn alloc(&mut self, bytes: u64) -> Result<Buffer>;

    /// Frees every buffer.
    fn release_all(&mut self);

    /// Fills a region.
    ///
    /// # Errors
    /// The driver's error.
    fn fill(&mut self, region: Region, fill: Fill) -> Result<()>;

    /// Copies from the region to `to`, whose length is that of the region; narrower elements are
    /// widened, which is exact.
    ///
    /// # Errors
    /// The driver's error.
    fn read(&mut self, region: Region, to: &mut [f32]) -> Result<()>;

    /// Copies `from`, whose length is that of the region, to the region; for narrower elements
    /// each is rounded to nearest.
    ///
    /// # Errors
    /// The driver's error.
    fn write(&mut self, region: Region, from: &[f32]) -> Result<()>;

    /// How the launch of `problem` looks on this device.
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`] if it cannot be launched here.
    fn launch_facts(&mut self, problem: &Problem) -> Result<LaunchFacts>;

    /// Runs `problem` once and waits for its end.
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`], or the driver's error.
    fn run(&mut self, problem: &Problem, operands: &[Region]) -> Result<()>;

    /// Takes `samples` samples of `launches` launches each; returns for every sample the
    /// seconds of one launch.
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`], or the driver's error.
    fn time(
        &mut self,
        problem: &Problem,
        operands: &[Region],
        cache: CacheState,
        launches: u32,
        samples: u32,
    ) -> Result<Vec<f64>>;

    /// Opens the library that [`Problem::baseline`] is run with, and names it.
    ///
    /// # Errors
    /// [`DeviceError::Unavailable`] says why it cannot be used and how that is mended.
    fn open_baseline(&mut self) -> Result<String> {
        Err(DeviceError::Unavailable(format!(
            "--baseline cublas needs an NVIDIA GPU, and {} is measured; leave it out, or name the \
             GPU with --device cuda",
            self.info().name
        )))
    }

    /// Clock, power, temperature and throttle reasons now; `None` where unknown.
    ///
    /// # Errors
    /// The driver's error in measuring the clock.
    fn telemetry(&mut self) -> Result<Telemetry>;

    /// Process numbers of others that compute on the device; none where the driver does not
    /// tell.
    fn neighbours(&mut self) -> Vec<u32> {
        Vec::new()
    }
}
