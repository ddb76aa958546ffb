//! Variants with few chains and few warps: where the latency of an FMA shows, and where the rate
//! at which a scheduler issues them.
//!
//! A warp scheduler starts one warp-wide FMA a cycle at most, and an FMA can read the result of
//! another only after its latency. With C chains a thread and W warps a scheduler there are C x W
//! independent FMAs at a time, so that one takes max(1, latency / (C x W)) cycles of a scheduler.

use crate::device::{DeviceInfo, DeviceKind};
use crate::kernels::Variant;
use gpu_kernels::params::{
    FMA_BLOCK, FMA_BLOCKS_PER_SM, FMA_CHAINS, FMA_ILP_BLOCK, SCHEDULERS_PER_SM, WARP,
};

/// Threads of one warp on each scheduler of a multiprocessor.
const ONE_WARP_EACH: u32 = SCHEDULERS_PER_SM * WARP;

/// Simulated threads of each worker of a CPU.
const CPU_THREADS_PER_UNIT: u32 = 1024;

/// Blocks of the default variant on the VM. All threads do the same work, so that more would show
/// nothing.
const VM_BLOCKS: u32 = 2;

/// A variant by its independent chains a thread and its warps a scheduler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell {
    /// Name and summary.
    pub variant: Variant,
    /// Entry of the PTX.
    entry: &'static str,
    /// Independent chains of each thread.
    pub chains: u32,
    /// Warps of each scheduler.
    pub warps: u32,
}

/// Writes one cell for each pair of chains and warps.
macro_rules! cells {
    ($($chains:literal x $warps:literal),* $(,)?) => {
        [$(Cell {
            variant: Variant {
                name: concat!("ilp", $chains, "w", $warps),
                summary: concat!("chains a thread: ", $chains, ", warps a scheduler: ", $warps),
            },
            entry: concat!("fma_ilp_", $chains),
            chains: $chains,
            warps: $warps,
        }),*]
    };
}

/// The variants beside the default one.
#[rustfmt::skip]
pub const CELLS: [Cell; 25] = cells![
    1 x 1, 1 x 2, 1 x 4, 1 x 8, 1 x 16,
    2 x 1, 2 x 2, 2 x 4, 2 x 8, 2 x 16,
    4 x 1, 4 x 2, 4 x 4, 4 x 8, 4 x 16,
    8 x 1, 8 x 2, 8 x 4, 8 x 8, 8 x 16,
    16 x 1, 16 x 2, 16 x 4, 16 x 8, 16 x 16,
];

/// The default: the roof.
const CHAINS: Variant = Variant {
    name: "chains",
    summary: "16 independent chains a thread, every multiprocessor full",
};

/// Variants on a GPU.
pub(super) const CUDA: [Variant; CELLS.len() + 1] = {
    let mut all = [CHAINS; CELLS.len() + 1];
    let mut i = 0;
    while i < CELLS.len() {
        all[i] = CELLS[i].variant;
        i += 1;
    }
    all
};

/// Numbers of chains in [`CELLS`].
const CHAIN_COUNTS: usize = 5;

/// Variants on the VM: each entry once, as the number of warps changes nothing there.
pub(super) const VM: [Variant; CHAIN_COUNTS + 1] = {
    let mut all = [CHAINS; CHAIN_COUNTS + 1];
    let (mut i, mut found) = (0, 0);
    while i < CELLS.len() {
        if CELLS[i].warps == 1 {
            all[found] = CELLS[i].variant;
            found += 1;
        }
        i += 1;
    }
    assert!(found == CHAIN_COUNTS);
    all
};

/// How a variant of `fma` fills a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    /// Entry of the PTX.
    pub(super) entry: &'static str,
    /// Blocks, or workers of a CPU.
    pub(super) grid: u32,
    /// Threads of a block, or simulated threads of a worker.
    pub(super) block: u32,
    chains: u32,
    /// Warps of each scheduler of a multiprocessor.
    pub(crate) warps: u32,
}

impl Shape {
    /// The shape of a variant; that of the default for every name that is none of [`CELLS`].
    pub(crate) fn of(variant: &str, info: &DeviceInfo) -> Shape {
        match CELLS.iter().find(|cell| cell.variant.name == variant) {
            Some(cell) => Shape::of_cell(cell, info),
            None => Shape::of_default(info),
        }
    }

    /// As few blocks on each multiprocessor as there can be, so that each has the same number.
    fn of_cell(cell: &Cell, info: &DeviceInfo) -> Shape {
        let threads = cell.warps * ONE_WARP_EACH;
        let block = threads.min(FMA_ILP_BLOCK);
        let units = match info.kind {
            DeviceKind::Cuda | DeviceKind::Cpu => info.units,
            DeviceKind::Vm => 1,
        };
        Shape {
            entry: cell.entry,
            grid: units * threads / block,
            block,
            chains: cell.chains,
            warps: cell.warps,
        }
    }

    /// One wave that fills a GPU; on a CPU enough for every core; on the VM a few blocks.
    fn of_default(info: &DeviceInfo) -> Shape {
        let fit = info
            .threads_per_unit
            .map_or(FMA_BLOCKS_PER_SM, |most| most / FMA_BLOCK)
            .clamp(1, FMA_BLOCKS_PER_SM);
        let (grid, block) = match info.kind {
            DeviceKind::Cuda => (info.units * fit, FMA_BLOCK),
            DeviceKind::Cpu => (info.units, CPU_THREADS_PER_UNIT),
            DeviceKind::Vm => (VM_BLOCKS, FMA_BLOCK),
        };
        Shape {
            entry: "fma_chains",
            grid,
            block,
            chains: FMA_CHAINS,
            warps: fit * FMA_BLOCK / ONE_WARP_EACH,
        }
    }

    /// Threads of the launch.
    pub(crate) fn threads(&self) -> u64 {
        u64::from(self.grid) * u64::from(self.block)
    }

    /// Independent chains of each thread.
    pub(crate) fn chains(&self) -> u64 {
        u64::from(self.chains)
    }

    /// Whether all warps are resident at a time: a block that waits for another would be timed as
    /// if it ran beside it.
    ///
    /// # Errors
    /// More threads than a multiprocessor holds.
    pub(super) fn check(&self, info: &DeviceInfo) -> Result<(), String> {
        let threads = self.warps * ONE_WARP_EACH;
        match info.threads_per_unit {
            Some(most) if info.kind != DeviceKind::Cpu && threads > most => Err(format!(
                "{} warps a scheduler are {threads} threads on each multiprocessor, and {} holds \
                 {most}; take a variant with fewer warps",
                self.warps, info.name
            )),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::vm::{Target, describe};

    fn h200() -> DeviceInfo {
        DeviceInfo {
            kind: DeviceKind::Cuda,
            ..describe(Target::Sm90a)
        }
    }

    #[test]
    fn names_say_chains_and_warps_and_each_pair_is_there_once() {
        let counts = [1, 2, 4, 8, 16];
        let pairs = counts
            .iter()
            .flat_map(|c| counts.iter().map(move |w| (*c, *w)));
        let expected: Vec<(u32, u32)> = pairs.collect();
        let found: Vec<(u32, u32)> = CELLS.iter().map(|c| (c.chains, c.warps)).collect();
        assert_eq!(found, expected);
        for cell in &CELLS {
            let name = format!("ilp{}w{}", cell.chains, cell.warps);
            assert_eq!(cell.variant.name, name);
            assert_eq!(cell.entry, format!("fma_ilp_{}", cell.chains));
        }
        assert_eq!(CUDA.last(), Some(&CHAINS));
        assert_eq!(VM.last(), Some(&CHAINS));
    }

    #[test]
    fn every_scheduler_has_its_warps() {
        for cell in &CELLS {
            let shape = Shape::of(cell.variant.name, &h200());
            let warps = shape.threads() / u64::from(WARP);
            assert_eq!(
                warps,
                u64::from(132 * 4 * cell.warps),
                "{}",
                cell.variant.name
            );
            assert!(shape.block <= FMA_ILP_BLOCK && shape.grid.is_multiple_of(132));
            assert_eq!(shape.check(&h200()), Ok(()));
        }
    }

    #[test]
    fn the_default_fills_the_device() {
        let shape = Shape::of("chains", &h200());
        assert_eq!((shape.grid, shape.block, shape.warps), (132 * 8, 256, 16));
        let smaller = DeviceInfo {
            threads_per_unit: Some(1536),
            ..h200()
        };
        let shape = Shape::of("chains", &smaller);
        assert_eq!((shape.grid, shape.warps), (132 * 6, 12));
    }

    #[test]
    fn warps_that_are_not_resident_together_are_refused() {
        let smaller = DeviceInfo {
            threads_per_unit: Some(1536),
            ..h200()
        };
        let refused = Shape::of("ilp1w16", &smaller).check(&smaller).unwrap_err();
        assert!(refused.contains("2048 threads"), "{refused}");
        assert!(refused.contains("holds 1536"), "{refused}");
        assert_eq!(Shape::of("ilp1w8", &smaller).check(&smaller), Ok(()));
        // The default takes what fits.
        assert_eq!(Shape::of("chains", &smaller).check(&smaller), Ok(()));
    }
}
