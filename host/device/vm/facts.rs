//! The GPU that kernels are told they run on.

use crate::device::{DeviceInfo, DeviceKind};
use crate::roofline::peak::ComputeCapability;

/// Memory that operands may take, in bytes. The VM keeps half as much again to know what was
/// written and what was touched, so that it all stays below 2 GiB.
const MEMORY_BYTES: u64 = 1 << 30;

/// Which embedded PTX runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Target {
    /// Compute capability 8.0, and what runs on every later one.
    #[value(name = "sm_80")]
    Sm80,
    /// Compute capability 9.0.
    #[value(name = "sm_90a")]
    Sm90a,
}

impl Target {
    /// All of them.
    pub const ALL: [Target; 2] = [Target::Sm80, Target::Sm90a];

    /// The `.target` of the PTX.
    pub fn name(self) -> &'static str {
        match self {
            Target::Sm80 => "sm_80",
            Target::Sm90a => "sm_90a",
        }
    }

    /// The compute capability whose PTX it is.
    pub fn compute_capability(self) -> ComputeCapability {
        match self {
            Target::Sm80 => ComputeCapability::new(8, 0),
            Target::Sm90a => ComputeCapability::new(9, 0),
        }
    }
}

/// An A100 or an H200 as far as launches depend on it: multiprocessors and shared memory (CUDA
/// C++ Programming Guide, "Technical specifications per compute capability"; NVIDIA's whitepapers
/// for the number of multiprocessors). A product that is shared out over the multiprocessors is so
/// as on that card, and its sums are taken in the same order.
pub fn describe(target: Target) -> DeviceInfo {
    let (units, shared_kib) = match target {
        Target::Sm80 => (108, 163),
        Target::Sm90a => (132, 227),
    };
    DeviceInfo {
        kind: DeviceKind::Vm,
        name: format!("PTX VM ({})", target.name()),
        index: None,
        compute_capability: Some(target.compute_capability()),
        driver_version: None,
        memory_bytes: MEMORY_BYTES,
        cache_bytes: None,
        units,
        attributes: None,
        threads_per_unit: Some(2048),
        shared_bytes_per_block: Some(shared_kib << 10),
        ptx_sha256: None,
        ptx_target: Some(target.name().to_owned()),
        ptx_source: None,
    }
}
