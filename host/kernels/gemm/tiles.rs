//! Which tile, by a cost model in cycles of a multiprocessor. Its constants were fitted to runs of
//! every choice on an H200; they need only put the choices in order.

use gpu_kernels::params::{
    ONE_STAGE, PIPELINED, SPECIALISED, TENSOR_DEPTH, TENSOR_FLAT, TENSOR_MIDDLE, TENSOR_SMALL,
    TENSOR_WIDE, TensorTile,
};

/// A kernel with its tile.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tile {
    /// Variant that is this tile and no other.
    pub variant: &'static str,
    /// Entry of the PTX.
    pub entry: &'static str,
    /// Its shape.
    pub shape: TensorTile,
    /// Whether blocks stay for several tiles.
    pub stays: bool,
    /// Part of the tensor cores' peak that it reaches between its first and its last k tile, every
    /// multiprocessor full.
    efficiency: f64,
}

/// The kernels, in the order of the ladder.
pub const TILES: [Tile; 7] = [
    Tile {
        variant: "wgmma",
        entry: "gemm_bf16_one_stage",
        shape: ONE_STAGE,
        stays: false,
        efficiency: 0.35,
    },
    Tile {
        variant: "pipelined",
        entry: "gemm_bf16_pipelined",
        shape: PIPELINED,
        stays: false,
        efficiency: 0.65,
    },
    Tile {
        variant: "specialised",
        entry: "gemm_bf16_specialised",
        shape: SPECIALISED,
        stays: true,
        efficiency: 0.80,
    },
    Tile {
        variant: "cluster",
        entry: "gemm_bf16_wide",
        shape: TENSOR_WIDE,
        stays: true,
        efficiency: 0.90,
    },
    Tile {
        variant: "narrow",
        entry: "gemm_bf16_middle",
        shape: TENSOR_MIDDLE,
        stays: true,
        efficiency: 0.84,
    },
    Tile {
        variant: "flat",
        entry: "gemm_bf16_flat",
        shape: TENSOR_FLAT,
        stays: true,
        efficiency: 0.60,
    },
    Tile {
        variant: "small",
        entry: "gemm_bf16_small",
        shape: TENSOR_SMALL,
        stays: true,
        efficiency: 0.45,
    },
];

/// Multiply-adds of a multiprocessor's tensor cores in a cycle.
const MACS_PER_CYCLE: f64 = 4096.0;
/// Cycles from a block's start to its first product, and from its last to its end.
const START_CYCLES: f64 = 3000.0;
/// Cycles to write a row of 64 columns of C, for each of the rows of a tile.
const WRITE_CYCLES: f64 = 4.0;
/// Bytes of C, A and B that a multiprocessor's share of the memory moves in a cycle.
const BYTES_PER_CYCLE: f64 = 18.0;

/// A product, and the device that it runs on.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    /// Rows of C.
    pub m: u64,
    /// Columns of C.
    pub n: u64,
    /// Length of the dot products.
    pub k: u64,
    /// Products.
    pub batch: u64,
    /// Multiprocessors.
    pub units: u64,
}

impl Tile {
    /// Tiles of all products, those of a cluster counted as one.
    fn tiles(&self, case: &Case) -> u64 {
        let rows = u64::from(self.shape.m() * self.shape.cluster);
        case.m
            .div_ceil(rows)
            .saturating_mul(case.n.div_ceil(u64::from(self.shape.n)))
            .saturating_mul(case.batch)
    }

    /// Blocks of the launch.
    pub fn grid(&self, case: &Case) -> u64 {
        let cluster = u64::from(self.shape.cluster);
        let tiles = self.tiles(case);
        let resident = case.units * u64::from(self.shape.blocks_per_sm) / cluster;
        cluster
            * if self.stays {
                tiles.min(resident.max(1))
            } else {
                tiles
            }
    }

    /// Cycles of the launch, by the model.
    fn cycles(&self, case: &Case) -> f64 {
        let blocks = u64::from(self.shape.blocks_per_sm);
        let resident = (case.units * blocks / u64::from(self.shape.cluster)).max(1);
        // Blocks that share a multiprocessor share its tensor cores.
        let waves = self.tiles(case).div_ceil(resident) as f64;
        let sharing = self.tiles(case).min(resident) as f64 / resident as f64 * blocks as f64;
        let depth = case.k.div_ceil(u64::from(TENSOR_DEPTH)) as f64;
        let macs = f64::from(self.shape.m() * self.shape.n * TENSOR_DEPTH);
        let step = macs / (MACS_PER_CYCLE / 4.0 * self.efficiency) * sharing.max(1.0);
        let write = WRITE_CYCLES * f64::from(self.shape.m() * self.shape.n / 64);
        let bytes = 2.0
            * (case.m * case.k + case.k * case.n + 2 * case.m * case.n) as f64
            * case.batch as f64;
        let memory = bytes / (BYTES_PER_CYCLE * case.units as f64);
        START_CYCLES + (waves * (depth * step + write)).max(memory)
    }
}

/// The tile that takes the least time.
pub fn choose(case: &Case) -> Tile {
    let mut best = TILES[0];
    for tile in TILES {
        if tile.cycles(case) < best.cycles(case) {
            best = tile;
        }
    }
    best
}
