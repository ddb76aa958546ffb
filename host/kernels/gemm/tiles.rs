//! Which tile, by a cost model. Its constants are microseconds, fitted to runs of every tile on an
//! H200 at sides from 64 to 8192, single and in batches; they need only put the choices in order.

use gpu_kernels::params::{
    ONE_STAGE, PIPELINED, SPECIALISED, TENSOR_FLAT, TENSOR_MIDDLE, TENSOR_MIDDLE_ALONE,
    TENSOR_SMALL, TENSOR_TF32, TENSOR_TF32_FLAT, TENSOR_WIDE, TensorTile,
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
    /// Microseconds of a k tile in every block of a full multiprocessor.
    pub(super) full: f64,
    /// Microseconds of a k tile in a block that has a multiprocessor to itself.
    pub(super) alone: f64,
    /// Microseconds to begin and to write a tile, of which there is one a block at a time.
    pub(super) around: f64,
}

/// The kernels of bfloat16, in the order of the ladder.
pub const BF16: [Tile; 8] = [
    Tile {
        variant: "wgmma",
        entry: "gemm_bf16_one_stage",
        shape: ONE_STAGE,
        stays: false,
        full: 1.18,
        alone: 0.9,
        around: 2.1,
    },
    Tile {
        variant: "pipelined",
        entry: "gemm_bf16_pipelined",
        shape: PIPELINED,
        stays: false,
        full: 0.78,
        alone: 0.45,
        around: 2.1,
    },
    Tile {
        variant: "specialised",
        entry: "gemm_bf16_specialised",
        shape: SPECIALISED,
        stays: true,
        full: 0.68,
        alone: 0.68,
        around: 1.5,
    },
    Tile {
        variant: "cluster",
        entry: "gemm_bf16_wide",
        shape: TENSOR_WIDE,
        stays: true,
        full: 0.69,
        alone: 0.69,
        around: 1.7,
    },
    Tile {
        variant: "narrow",
        entry: "gemm_bf16_middle",
        shape: TENSOR_MIDDLE,
        stays: true,
        full: 0.52,
        alone: 0.52,
        around: 1.5,
    },
    Tile {
        variant: "narrow-alone",
        entry: "gemm_bf16_middle_alone",
        shape: TENSOR_MIDDLE_ALONE,
        stays: true,
        full: 0.52,
        alone: 0.52,
        around: 1.6,
    },
    Tile {
        variant: "flat",
        entry: "gemm_bf16_flat",
        shape: TENSOR_FLAT,
        stays: true,
        full: 0.30,
        alone: 0.30,
        around: 1.0,
    },
    Tile {
        variant: "small",
        entry: "gemm_bf16_small",
        shape: TENSOR_SMALL,
        stays: true,
        full: 0.72,
        alone: 0.50,
        around: 0.8,
    },
];

/// The kernels of TF32. What is said of the second follows from that of the same shape in bfloat16,
/// whose k tiles have as many bytes and take as many cycles.
pub const TF32: [Tile; 2] = [
    Tile {
        variant: "transposed",
        entry: "gemm_tf32_transposed",
        shape: TENSOR_TF32,
        stays: true,
        full: 0.72,
        alone: 0.72,
        around: 2.5,
    },
    Tile {
        variant: "flat",
        entry: "gemm_tf32_flat",
        shape: TENSOR_TF32_FLAT,
        stays: true,
        full: 0.32,
        alone: 0.32,
        around: 1.5,
    },
];

/// Bytes along k of a k tile.
const DEPTH_BYTES: u64 = 128;
/// Microseconds of a launch besides.
pub(super) const LAUNCH: f64 = 5.0;
/// Bytes that all multiprocessors together move in a microsecond.
pub(super) const BYTES: f64 = 4.2e6;
/// Multiprocessors of the device that the constants are from.
pub(super) const UNITS: f64 = 132.0;

/// Bytes that a multiprocessor takes from the L2 in a microsecond when all do.
const L2_BYTES: f64 = 111e3;
/// Bytes of a line of the L2, and of a row of a box.
const LINE: u64 = 128;

/// A product, and the device that it runs on.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    /// Rows of C, or columns if the transposed product is computed.
    pub m: u64,
    /// Columns of C, or rows.
    pub n: u64,
    /// Length of the dot products.
    pub k: u64,
    /// Products.
    pub batch: u64,
    /// Bytes of an element.
    pub element: u64,
    /// Bytes from one row to the next of the operand whose rows are those of C, and of the other.
    pub pitches: [u64; 2],
    /// Multiprocessors.
    pub units: u64,
}

impl Tile {
    /// Tiles of all products, those of a cluster counted as one.
    pub(super) fn tiles(&self, case: &Case) -> u64 {
        let rows = u64::from(self.shape.m() * self.shape.cluster);
        case.m
            .div_ceil(rows)
            .saturating_mul(case.n.div_ceil(u64::from(self.shape.n)))
            .saturating_mul(case.batch)
    }

    /// Clusters that are on the device at a time.
    pub(super) fn resident(&self, case: &Case) -> u64 {
        let blocks = case.units * u64::from(self.shape.blocks_per_sm);
        (blocks / u64::from(self.shape.cluster)).max(1)
    }

    /// Blocks of the launch.
    pub fn grid(&self, case: &Case) -> u64 {
        let tiles = self.tiles(case);
        let clusters = match self.stays {
            true => tiles.min(self.resident(case)),
            false => tiles,
        };
        clusters * u64::from(self.shape.cluster)
    }

    /// Bytes of the lines of the L2 that a block reads for a k tile.
    fn fetched(&self, case: &Case) -> f64 {
        let [rows, columns] = case.pitches.map(lines);
        f64::from(self.shape.a_bytes()) * rows
            + f64::from(self.shape.b_bytes() / self.shape.cluster) * columns
    }

    /// Microseconds of the launch, by the model: those of its waves of tiles and those of its
    /// bytes, which overlap but not wholly.
    pub fn microseconds(&self, case: &Case) -> f64 {
        let (tiles, resident) = (self.tiles(case), self.resident(case));
        let blocks = tiles
            .min(resident)
            .saturating_mul(u64::from(self.shape.cluster));
        // Of the multiprocessor that has the most.
        let share = blocks.div_ceil(case.units) as f64 / f64::from(self.shape.blocks_per_sm);
        let depth = case.k.div_ceil(DEPTH_BYTES / case.element) as f64;
        let beside = blocks.div_ceil(case.units) as f64;
        let step = self.alone.max(self.full * share);
        let step = step.max(beside * self.fetched(case) / L2_BYTES);
        let waves = tiles.div_ceil(resident) as f64 * (depth * step + self.around);
        let [m, n, k, batch] = [case.m, case.n, case.k, case.batch].map(|side| side as f64);
        let bytes = case.element as f64 * batch * (m * k + k * n + 2.0 * m * n);
        let memory = bytes / (BYTES * case.units as f64 / UNITS);
        LAUNCH + waves.hypot(memory)
    }
}

/// Lines that a line's worth of a row lies in, on average over the rows, `pitch` bytes apart.
fn lines(pitch: u64) -> f64 {
    let step = 1 << pitch.trailing_zeros().min(LINE.trailing_zeros());
    2.0 - step as f64 / LINE as f64
}

/// The tile of `all` that takes the least time.
pub fn choose(all: &[Tile], case: &Case) -> Tile {
    let mut best = all[0];
    for &tile in all {
        if tile.microseconds(case) < best.microseconds(case) {
            best = tile;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::super::fused::FUSED;
    use super::*;

    /// The fastest tiles of an H200, as measured: the choice must be one of them.
    #[test]
    fn the_choice_is_the_fastest_or_near_it() {
        let bf16: [(u64, u64, &[&str]); 17] = [
            (256, 1, &["flat", "small", "pipelined"]),
            (1000, 1, &["flat"]),
            (1280, 1, &["pipelined", "flat"]),
            (1536, 1, &["narrow", "narrow-alone"]),
            (1792, 1, &["cluster", "specialised", "pipelined"]),
            (2048, 1, &["specialised", "pipelined"]),
            (2360, 1, &["narrow"]),
            (4096, 1, &["specialised"]),
            (8192, 1, &["specialised"]),
            (64, 65_536, &["small"]),
            (128, 16_384, &["pipelined", "flat"]),
            (256, 4_096, &["cluster", "specialised"]),
            (192, 7_282, &["narrow", "flat"]),
            (320, 2_622, &["narrow-alone"]),
            (384, 1_821, &["narrow-alone"]),
            (576, 810, &["narrow-alone"]),
            (768, 456, &["specialised", "cluster", "narrow-alone"]),
        ];
        let tf32: [(u64, u64, &[&str]); 3] = [
            (2048, 1, &["transposed"]),
            (4096, 1, &["transposed"]),
            (8192, 1, &["transposed"]),
        ];
        for (tiles, element, measured) in [(&BF16[..], 2, &bf16[..]), (&TF32, 4, &tf32)] {
            for &(n, batch, fastest) in measured {
                let chosen = choose(tiles, &square(n, batch, element)).variant;
                assert!(fastest.contains(&chosen), "{n}, {batch}: {chosen}");
            }
        }
    }

    #[test]
    fn products_with_few_large_tiles_take_small_ones() {
        // 32 of 256 x 128, 128 of 128 x 64, on 132 multiprocessors.
        assert_eq!(choose(&TF32, &square(1024, 1, 4)).variant, "flat");
    }

    fn square(n: u64, batch: u64, element: u64) -> Case {
        Case {
            m: n,
            n,
            k: n,
            batch,
            element,
            pitches: [n * element; 2],
            units: 132,
        }
    }

    #[test]
    fn rows_that_start_elsewhere_lie_in_more_lines() {
        for (pitch, expected) in [
            (256, 1.0),
            (8192, 1.0),
            (192, 1.5),
            (16, 1.875),
            (4720, 1.875),
        ] {
            assert_eq!(lines(pitch), expected, "{pitch}");
        }
    }

    #[test]
    fn a_grid_is_whole_clusters_and_no_larger_than_the_device_holds() {
        for tile in BF16.into_iter().chain(TF32).chain(FUSED) {
            let cluster = u64::from(tile.shape.cluster);
            for n in [1, 64, 1000, 4097] {
                let case = square(n, 1, 2);
                let grid = tile.grid(&case);
                assert!(grid > 0 && grid.is_multiple_of(cluster), "{}", tile.variant);
                let resident = 132 * u64::from(tile.shape.blocks_per_sm);
                assert!(!tile.stays || grid <= resident, "{}", tile.variant);
            }
        }
    }
}
