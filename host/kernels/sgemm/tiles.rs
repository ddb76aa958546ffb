//! Which tiles of C, how many blocks, and which part of the work for each: by a cost model.
//!
//! The model counts cycles of a multiprocessor. Its constants were fitted to runs of every
//! choice on an H200; they need only put the choices in order.

use super::{Products, transposed};
use crate::device::DeviceInfo;
use gpu_kernels::params::{
    Copies, FLAT, NARROW, SCRATCH_COUNTERS, SMALL, SQUARE, TRANSPOSED, TileShape, WIDE, WIDE_ANY,
};

/// A pipelined kernel.
#[derive(Debug, PartialEq)]
pub struct Tile {
    /// Entry and shape where all rows of B and C start on 16 bytes.
    aligned: (&'static str, TileShape),
    /// Entry and shape for any n and any address.
    any: (&'static str, TileShape),
    /// Entries, for either, of clusters that compute a tile together.
    together: Option<[&'static str; 2]>,
    /// Part of the FMA peak that it reaches when every multiprocessor is full, `[aligned, any]`. The second is
    /// relative to tiles whose threads copy, all of which lose about as much there.
    efficiency: [f64; 2],
    /// How much less it is with fewer blocks, which hide less of each other's latencies: the part of
    /// the blocks to this power.
    fill: f64,
}

/// The pipelined kernels, the ones for the largest products first.
pub const TILES: [Tile; 6] = [
    Tile {
        aligned: ("sgemm_transposed", TRANSPOSED),
        any: ("sgemm_transposed_any", TRANSPOSED),
        together: None,
        efficiency: [0.9, 0.96],
        fill: 1.0,
    },
    Tile {
        aligned: ("sgemm_wide", WIDE),
        any: ("sgemm_wide_any", WIDE_ANY),
        together: None,
        efficiency: [0.85; 2],
        fill: 1.0,
    },
    Tile {
        aligned: ("sgemm_flat", FLAT),
        any: ("sgemm_flat_any", FLAT),
        together: Some(["sgemm_flat_together", "sgemm_flat_together_any"]),
        efficiency: [0.724; 2],
        fill: 0.334,
    },
    Tile {
        aligned: ("sgemm_square", SQUARE),
        any: ("sgemm_square_any", SQUARE),
        together: Some(["sgemm_square_together", "sgemm_square_together_any"]),
        efficiency: [0.615; 2],
        fill: 0.189,
    },
    Tile {
        aligned: ("sgemm_narrow", NARROW),
        any: ("sgemm_narrow_any", NARROW),
        together: Some(["sgemm_narrow_together", "sgemm_narrow_together_any"]),
        efficiency: [0.664; 2],
        fill: 0.384,
    },
    Tile {
        aligned: ("sgemm_small", SMALL),
        any: ("sgemm_small_any", SMALL),
        together: Some(["sgemm_small_together", "sgemm_small_together_any"]),
        efficiency: [0.488; 2],
        fill: 0.233,
    },
];

/// FMAs of a multiprocessor in a cycle.
pub const FMAS_PER_CYCLE: f64 = 128.0;
/// Bytes that a multiprocessor's share of the memory system moves in a cycle.
pub const BYTES_PER_CYCLE: f64 = 19.2;
/// Cycles until the first k tile has arrived, and from the last FMA to the last store.
const START_CYCLES: f64 = 12_100.0;
/// Cycles more for each block that starts on a multiprocessor beside others.
const BLOCK_CYCLES: f64 = 655.0;
/// Part of the start and of the time for C that blocks on one multiprocessor don't hide for each
/// other.
const EXPOSED: f64 = 0.2;
/// Cycles of a launch that copies an operand, beyond what the memory takes.
const COPY_CYCLES: f64 = 5000.0;
/// Cycles of a level of the tree that adds up the parts of a tile.
const LEVEL_CYCLES: f64 = 3640.0;
/// Cycles that a cluster takes to add up parts, and more for each of them.
const TOGETHER_CYCLES: f64 = 1670.0;
const PART_CYCLES: f64 = 605.0;
/// Most parts that a tile is cut into on purpose.
const MOST_PARTS: u64 = 16;
/// Blocks of a cluster that compute a tile together. Eight is the most that every device takes.
const TOGETHER: [u64; 3] = [2, 4, 8];
/// Multiprocessors of the groups (GPCs) that a cluster lies within (NVIDIA, "H100 Tensor Core GPU
/// Architecture": up to 18 each).
const GROUP: u64 = 18;
/// How much longer blocks take that share a multiprocessor and take one tile after the other, than new
/// ones for each: they run in step, and don't hide each other's beginnings and ends.
const IN_STEP: f64 = 1.05;

/// How the product is shared out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Choice {
    /// Entry of the PTX.
    pub entry: &'static str,
    /// Its tile.
    pub shape: TileShape,
    /// Blocks.
    pub grid: u64,
    /// Whole tiles of each block.
    pub waves: u64,
    /// k tiles of each block's share of the rest.
    pub share: u64,
    /// Blocks, of the grid or of a cluster, that take one k tile more.
    pub extra: u64,
    /// Blocks of a cluster, which compute a tile together and share its k tiles; 1 for none.
    pub cluster: u32,
    /// Cycles, by the model.
    pub cycles: f64,
}

impl Choice {
    /// Whether A, and a B that bulk copies do not take as it lies, are copied first.
    pub fn copies_first(&self) -> bool {
        self.shape.copies == Copies::Bulk
    }

    /// Scratch memory of the parts of tiles: the counters, and two partial sums a block if tiles are cut.
    pub fn parts_bytes(&self) -> u64 {
        if self.cluster > 1 || self.share == 0 && self.extra == 0 {
            return 0;
        }
        let tile = u64::from(self.shape.m) * u64::from(self.shape.n);
        4 * (u64::from(SCRATCH_COUNTERS) + 2 * self.grid * tile)
    }
}

impl Choice {
    /// Additions of whole tiles that sharing tiles costs: 0 to each part of a tile that several
    /// blocks share, and the parts to one another.
    pub fn additions(&self, depth: u64) -> u64 {
        if self.cluster > 1 {
            let parts = u64::from(self.cluster);
            return self.grid / parts * (2 * parts - 1);
        }
        let rest = self.grid * self.share + self.extra;
        let long = self.extra * (self.share + 1);
        let block_of = |k_tile: u64| match k_tile < long {
            true => k_tile / (self.share + 1),
            false => self.extra + (k_tile - long) / self.share,
        };
        (0..rest / depth)
            .map(|tile| 1 + block_of(tile * depth + depth - 1) - block_of(tile * depth))
            .filter(|&parts| parts > 1)
            .map(|parts| 2 * parts - 1)
            .sum()
    }
}

/// Blocks of an entry that a multiprocessor holds: those that its registers leave room for, if
/// their shared memory fits.
pub fn resident(blocks_per_sm: u32, shared_bytes: u32, info: &DeviceInfo) -> u32 {
    blocks_per_sm.min(info.blocks_by_shared_memory(shared_bytes))
}

/// How a launch of blocks that come and go fills a device.
#[derive(Debug, Clone, Copy)]
pub struct Filling {
    /// Blocks of the multiprocessor that gets the most.
    pub blocks: u64,
    /// Part of the blocks that it holds, of those that it could.
    pub fill: f64,
    /// How often it is filled.
    pub rounds: f64,
}

impl Filling {
    /// Of `grid` blocks on `units` multiprocessors, of which each holds `per_unit`.
    pub fn of(grid: u64, units: u64, per_unit: u64) -> Self {
        let blocks = grid.div_ceil(units);
        Filling {
            blocks,
            fill: blocks.min(per_unit) as f64 / per_unit as f64,
            rounds: blocks.div_ceil(per_unit) as f64,
        }
    }
}

/// Clusters of `parts` blocks that all groups of `units` multiprocessors together hold, with so many blocks
/// on each.
pub fn clusters(units: u64, blocks: u64, parts: u64) -> u64 {
    units * (GROUP * blocks / parts) / GROUP
}

/// The products of a launch on a device, for one tile.
struct Case<'a> {
    tile: &'a Tile,
    entry: &'static str,
    shape: TileShape,
    /// Part of the FMA peak.
    efficiency: f64,
    products: Products,
    units: u64,
    /// Blocks that a multiprocessor holds.
    per_unit: u64,
    /// The entry for clusters, if the device has any.
    together: Option<&'static str>,
}

impl<'a> Case<'a> {
    /// `None` if the tile does not fit on the device, its 32-bit offsets not in the matrices, or copies of
    /// operands not in memory.
    fn new(tile: &'a Tile, products: Products, info: &DeviceInfo) -> Option<Self> {
        let [m, n, k] = products.sides;
        let off = usize::from(!products.vectors(n));
        let (entry, shape) = [tile.aligned, tile.any][off];
        let together = tile.together.map(|entries| entries[off]);
        let per_unit = resident(shape.blocks_per_sm, shape.shared_bytes(), info);
        let tiles = m.div_ceil(u64::from(shape.m)) * n.div_ceil(u64::from(shape.n));
        let tiles = tiles.checked_mul(products.batch)?;
        let reaches = match shape.copies {
            Copies::Threads => {
                4 * (u64::from(shape.m) * k).max(u64::from(shape.k) * n) <= u64::from(u32::MAX)
            }
            Copies::Bulk => transposed::fits(products, info),
        };
        let fits = per_unit > 0 && reaches && tiles <= i32::MAX as u64;
        fits.then_some(Case {
            tile,
            entry,
            shape,
            efficiency: tile.efficiency[off],
            products,
            units: u64::from(info.units),
            per_unit: u64::from(per_unit),
            together: together.filter(|_| info.has_clusters()),
        })
    }

    /// Tiles of all products.
    fn tiles(&self) -> u64 {
        let [m, n, _] = self.products.sides;
        m.div_ceil(u64::from(self.shape.m))
            * n.div_ceil(u64::from(self.shape.n))
            * self.products.batch
    }

    /// k tiles of one tile.
    fn depth(&self) -> u64 {
        self.products.sides[2].div_ceil(u64::from(self.shape.k))
    }

    /// Every block one whole tile.
    fn whole(&self) -> Choice {
        self.choice(self.tiles(), 1, 0)
    }

    /// One wave of blocks, which take whole tiles and share what is left; and each tile cut
    /// into the same number of parts. No more blocks than run at a time, and no cut tiles
    /// without a counter.
    fn shared(&self) -> impl Iterator<Item = Choice> {
        let (tiles, depth) = (self.tiles(), self.depth());
        let most = self.units * self.per_unit;
        let waves = (tiles / most).saturating_sub(1);
        let rest = (tiles - waves * most) * depth;
        let stream = (most.min(rest), waves, rest);
        let parts = (2..=MOST_PARTS.min(depth))
            .map(move |parts| (tiles * parts, 0, tiles * depth))
            .take_while(move |&(grid, _, _)| grid <= most);
        [stream]
            .into_iter()
            .chain(parts)
            .filter(|&(grid, _, rest)| {
                grid <= u64::from(SCRATCH_COUNTERS) && rest <= u64::from(u32::MAX)
            })
            .map(|(grid, waves, rest)| self.choice(grid, waves, rest))
    }

    /// Each tile by a cluster, no more blocks than run at a time.
    fn together(&self) -> impl Iterator<Item = Choice> {
        let (tiles, depth) = (self.tiles(), self.depth());
        let each = |entry| TOGETHER.map(|parts| (entry, parts));
        let sizes = self.together.into_iter().flat_map(each);
        let sizes = sizes.filter(move |&(_, parts)| parts <= depth);
        sizes.filter_map(move |(entry, parts)| {
            let blocks =
                (1..=self.per_unit).find(|&blocks| clusters(self.units, blocks, parts) >= tiles)?;
            let cycles = self.cycles(blocks, depth.div_ceil(parts), 1);
            Some(Choice {
                entry,
                shape: self.shape,
                grid: tiles * parts,
                waves: 0,
                share: depth / parts,
                extra: depth % parts,
                cluster: parts as u32,
                cycles: cycles + TOGETHER_CYCLES + PART_CYCLES * parts as f64,
            })
        })
    }

    fn choice(&self, grid: u64, waves: u64, rest: u64) -> Choice {
        let (share, extra) = (rest / grid, rest % grid);
        let (blocks, depth) = (grid.div_ceil(self.units), self.depth());
        let k_tiles = waves * depth + rest.div_ceil(grid);
        let mut cycles = self.cycles(blocks, k_tiles, waves + u64::from(rest > 0));
        if self.per_unit > 1 && waves > 0 && (waves > 1 || rest > 0) {
            cycles *= IN_STEP;
        }
        if rest > 0 && !rest.is_multiple_of(grid * depth) {
            // Every share boundary inside a tile makes one part more; parts are written and
            // read once.
            let parts = grid + (rest / depth).min(grid);
            let of_a_tile = (grid * depth).div_ceil(rest).max(2);
            let levels = f64::from(of_a_tile.next_power_of_two().ilog2());
            let area = f64::from(self.shape.m) * f64::from(self.shape.n);
            cycles += LEVEL_CYCLES * levels;
            cycles += 8.0 * area * parts as f64 / (BYTES_PER_CYCLE * self.units as f64);
        }
        Choice {
            entry: self.entry,
            shape: self.shape,
            grid,
            waves,
            share,
            extra,
            cluster: 1,
            cycles,
        }
    }

    /// Cycles of the multiprocessor with the most blocks, `blocks`, each of which multiplies `k_tiles`
    /// in `tiles` tiles or parts of some, if it adds up none.
    fn cycles(&self, blocks: u64, k_tiles: u64, tiles: u64) -> f64 {
        let shape = self.shape;
        let area = f64::from(shape.m) * f64::from(shape.n);
        let k_tile = area * f64::from(shape.k) / FMAS_PER_CYCLE;
        let resident = blocks.min(self.per_unit) as f64;
        let fill = resident / self.per_unit as f64;
        let efficiency = self.efficiency * fill.powf(self.tile.fill);
        let multiply = (blocks * k_tiles) as f64 * k_tile / efficiency;
        let rounds = (blocks.div_ceil(self.per_unit) * tiles) as f64;
        let c = self.products.c_bytes() / (BYTES_PER_CYCLE * self.units as f64);
        let exposed = if self.per_unit > 1 { EXPOSED } else { 1.0 };
        let copies = match shape.copies {
            Copies::Threads => 0.0,
            Copies::Bulk => transposed::copied(self.products)
                .map(|bytes| {
                    COPY_CYCLES + 2.0 * bytes as f64 / (BYTES_PER_CYCLE * self.units as f64)
                })
                .sum(),
        };
        copies + multiply + exposed * (START_CYCLES * rounds + c) + BLOCK_CYCLES * resident
    }
}

/// The fastest choice, by the model; `None` if no tile fits.
pub fn choose(products: Products, info: &DeviceInfo) -> Option<Choice> {
    fastest(&TILES, products, info)
}

/// The fastest choice from an A that has been transposed; `None` if the device has no such kernel, or the copy
/// does not fit.
pub fn transposed(products: Products, info: &DeviceInfo) -> Option<Choice> {
    let tile = TILES
        .iter()
        .position(|tile| tile.aligned.1.copies == Copies::Bulk)?;
    fastest(&TILES[tile..=tile], products, info)
}

/// The fastest of some tiles, and of the ways to share them out.
fn fastest(tiles: &[Tile], products: Products, info: &DeviceInfo) -> Option<Choice> {
    tiles
        .iter()
        .filter_map(|tile| Case::new(tile, products, info))
        .flat_map(|case| {
            let shared: Vec<Choice> = case.shared().chain(case.together()).collect();
            shared.into_iter().chain([case.whole()])
        })
        .min_by(|a, b| a.cycles.total_cmp(&b.cycles))
}

/// One whole tile of the largest shape that fits for each block, of operands as they lie.
pub fn whole(products: Products, info: &DeviceInfo) -> Option<Choice> {
    TILES
        .iter()
        .filter(|tile| tile.aligned.1.copies == Copies::Threads)
        .find_map(|tile| Case::new(tile, products, info))
        .map(|case| case.whole())
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::device::DeviceKind;

    /// An H200 as far as the model looks at it.
    pub fn h200() -> DeviceInfo {
        DeviceInfo {
            kind: DeviceKind::Cuda,
            name: "NVIDIA H200".to_owned(),
            index: Some(0),
            compute_capability: None,
            driver_version: None,
            memory_bytes: 141 << 30,
            cache_bytes: None,
            units: 132,
            attributes: None,
            threads_per_unit: Some(2048),
            shared_bytes_per_block: Some(227 * 1024),
            ptx_sha256: None,
            ptx_target: Some("sm_90a".to_owned()),
            ptx_source: None,
        }
    }

    /// One product on aligned operands.
    fn one(sides: [u64; 3]) -> Products {
        Products {
            sides,
            batch: 1,
            aligned: true,
        }
    }

    /// All k tiles that a choice hands out.
    fn handed_out(choice: &Choice, depth: u64) -> u64 {
        let cluster = u64::from(choice.cluster);
        if cluster > 1 {
            return choice.grid / cluster * (cluster * choice.share + choice.extra);
        }
        choice.grid * (choice.waves * depth + choice.share) + choice.extra
    }

    #[test]
    fn every_k_tile_is_handed_out_once() {
        for sides in [
            [1, 1, 1],
            [256, 256, 256],
            [1000, 1000, 1000],
            [2359, 2359, 2359],
            [4096, 64, 4096],
            [64, 8192, 512],
            [8192, 8192, 64],
            [16384, 16384, 16384],
        ] {
            for (tile, batch) in TILES.iter().flat_map(|tile| [(tile, 1), (tile, 7)]) {
                let products = Products {
                    batch,
                    ..one(sides)
                };
                let case = Case::new(tile, products, &h200()).unwrap();
                for choice in case.shared().chain(case.together()).chain([case.whole()]) {
                    assert_eq!(
                        handed_out(&choice, case.depth()),
                        case.tiles() * case.depth(),
                        "{products:?} {choice:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn the_choices_are_those_that_were_fastest() {
        let entry = |m, n, k| choose(one([m, n, k]), &h200()).unwrap().entry;
        assert_eq!(entry(256, 256, 256), "sgemm_square_together");
        assert_eq!(entry(512, 512, 512), "sgemm_square_together");
        assert_eq!(entry(1000, 1000, 1000), "sgemm_flat_together");
        assert_eq!(entry(1024, 1024, 1024), "sgemm_flat_together");
        assert_eq!(entry(1536, 1536, 1536), "sgemm_wide");
        assert_eq!(entry(1792, 1792, 1792), "sgemm_transposed");
        assert_eq!(entry(2359, 2359, 2359), "sgemm_transposed_any");
        assert_eq!(entry(4096, 4096, 4096), "sgemm_transposed");
        assert_eq!(entry(4097, 4097, 4097), "sgemm_transposed_any");
        assert_eq!(entry(4096, 4096, 256), "sgemm_flat");
        assert_eq!(entry(1537, 1537, 1537), "sgemm_flat_any");
        assert_eq!(entry(1601, 1601, 1601), "sgemm_transposed_any");
        assert_eq!(entry(1793, 1793, 1793), "sgemm_transposed_any");
        assert_eq!(entry(2047, 2047, 2047), "sgemm_transposed_any");
        assert_eq!(entry(8192, 8192, 64), "sgemm_flat");
        assert_eq!(entry(4096, 64, 4096), "sgemm_square_together");
        assert_eq!(entry(64, 8192, 512), "sgemm_flat_together");
        let together = |m, n, k| choose(one([m, n, k]), &h200()).unwrap().cluster;
        assert_eq!(together(512, 512, 512), 4);
        assert_eq!(together(4096, 64, 4096), 8);
        assert_eq!(together(4096, 4096, 4096), 1);
        // One wave of whole tiles that fills the card leaves nothing to share.
        let choice = choose(one([2048; 3]), &h200()).unwrap();
        assert_eq!(
            (choice.entry, choice.grid, choice.share),
            ("sgemm_transposed", 128, 0)
        );
    }

    #[test]
    fn operands_off_16_bytes_take_an_entry_for_any_address() {
        let products = Products {
            aligned: false,
            ..one([4096; 3])
        };
        let entry = |info: &DeviceInfo| choose(products, info).unwrap().entry;
        assert_eq!(entry(&h200()), "sgemm_transposed_any");
        let older = DeviceInfo {
            ptx_target: Some("sm_80".to_owned()),
            ..h200()
        };
        assert_eq!(entry(&older), "sgemm_wide_any");
    }

    #[test]
    fn nothing_is_copied_where_there_is_no_room() {
        let small = DeviceInfo {
            memory_bytes: 3 * 4 * 16384 * 16384,
            ..h200()
        };
        assert_eq!(transposed(one([16384; 3]), &small), None);
        assert_eq!(choose(one([16384; 3]), &small).unwrap().entry, "sgemm_wide");
        let larger = DeviceInfo {
            memory_bytes: 5 * 4 * 16384 * 16384,
            ..h200()
        };
        assert!(transposed(one([16384; 3]), &larger).is_some());
    }

    #[test]
    fn a_batch_that_fills_the_card_is_not_cut() {
        let products = Products {
            batch: 4096,
            ..one([128; 3])
        };
        let choice = choose(products, &h200()).unwrap();
        assert_eq!(
            (choice.entry, choice.grid, choice.share),
            ("sgemm_flat", 8192, 0)
        );
    }

    #[test]
    fn a_card_with_less_shared_memory_takes_a_smaller_tile() {
        let info = DeviceInfo {
            shared_bytes_per_block: Some(99 * 1024),
            ..h200()
        };
        let entry = choose(one([4096; 3]), &info).unwrap().entry;
        assert!(
            !["sgemm_wide", "sgemm_transposed"].contains(&entry),
            "{entry}"
        );
        assert_eq!(whole(one([4096; 3]), &info).unwrap().entry, "sgemm_flat");
    }

    #[test]
    fn matrices_past_32_bit_offsets_are_refused() {
        assert_eq!(choose(one([128, 4, 1 << 30]), &h200()), None);
    }
}
