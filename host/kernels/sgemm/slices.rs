//! Products narrow on one side, or small: a tile of C by the warps of a block, or of a cluster, each of
//! which takes its own slices of k.

use super::Products;
use super::tiles::{BYTES_PER_CYCLE, FMAS_PER_CYCLE, clusters, resident};
use crate::device::DeviceInfo;
use gpu_kernels::params::SLICED;

/// Blocks that compute a tile together. Eight is the most that every device takes in a cluster.
const PARTS: [u64; 4] = [1, 2, 4, 8];
/// Part of the FMA peak that a multiprocessor with all its blocks reaches.
const EFFICIENCY: f64 = 0.79;
/// How much less it is with fewer of them, as in [`super::tiles::Tile`].
const FILL: f64 = 0.245;
/// Cycles until the first slice has arrived, and from the last FMA to the last store.
const START_CYCLES: f64 = 13_000.0;

/// How the tiles are shared out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Choice {
    /// Blocks.
    pub grid: u64,
    /// Blocks of a cluster, which compute a tile together; 1 for none.
    pub cluster: u32,
    /// Cycles, by the model.
    pub cycles: f64,
}

impl Choice {
    /// Additions of whole tiles: 0 to what each warp has, the warps of a block, and the blocks of
    /// a cluster, to one another.
    pub fn additions(&self) -> u64 {
        let (warps, parts) = (u64::from(SLICED.warps), u64::from(self.cluster));
        let tiles = self.grid / parts;
        tiles * (parts * (2 * warps - 1) + parts - 1)
    }
}

/// The fastest choice, by the model; `None` if the rows of an operand do not start on 16 bytes, if more
/// tiles are to be computed than at a time, or if the device has no such kernel.
pub fn choose(products: Products, info: &DeviceInfo) -> Option<Choice> {
    let [m, n, k] = products.sides;
    let offsets = 4 * (u64::from(SLICED.m) * k).max(u64::from(SLICED.k) * n);
    if !info.has_clusters() || !products.all_vectors() || offsets > u64::from(u32::MAX) {
        return None;
    }
    let per_unit = u64::from(resident(SLICED.blocks_per_sm, SLICED.shared_bytes(), info));
    let units = u64::from(info.units);
    let tiles = m.div_ceil(u64::from(SLICED.m)) * n.div_ceil(u64::from(SLICED.n));
    let tiles = tiles.checked_mul(products.batch)?;
    let slices = k.div_ceil(u64::from(SLICED.k));
    let warps = u64::from(SLICED.warps);
    let parts = PARTS.into_iter();
    let parts = parts.filter(|&parts| parts == 1 || parts * warps <= slices);
    let choices = parts.filter_map(|parts| {
        let blocks = (1..=per_unit).find(|&blocks| clusters(units, blocks, parts) >= tiles)?;
        let of_a_warp = slices.div_ceil(parts * warps);
        Some(Choice {
            grid: tiles * parts,
            cluster: parts as u32,
            cycles: cycles(products, info, [blocks, per_unit], of_a_warp),
        })
    });
    choices.min_by(|a, b| a.cycles.total_cmp(&b.cycles))
}

/// Cycles of a multiprocessor with `blocks` of the `per_unit` that it holds, by a model like that of the
/// tiles, fitted to runs on an H200: only the two together decide.
fn cycles(
    products: Products,
    info: &DeviceInfo,
    [blocks, per_unit]: [u64; 2],
    of_a_warp: u64,
) -> f64 {
    let slice = f64::from(SLICED.m * SLICED.n * SLICED.k);
    let slices = (blocks * u64::from(SLICED.warps) * of_a_warp) as f64;
    let fill = blocks as f64 / per_unit as f64;
    let multiply = slices * slice / FMAS_PER_CYCLE / (EFFICIENCY * fill.powf(FILL));
    let c = products.c_bytes() / (BYTES_PER_CYCLE * f64::from(info.units));
    multiply + START_CYCLES + c
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::sgemm::tiles;
    use crate::kernels::sgemm::tiles::tests::h200;

    fn one(sides: [u64; 3]) -> Products {
        Products {
            sides,
            batch: 1,
            aligned: true,
        }
    }

    #[test]
    fn narrow_products_take_slices_where_they_were_faster() {
        for (sides, slices) in [
            ([4096, 64, 4096], true),
            ([4096, 64, 1024], true),
            ([8192, 32, 2048], true),
            ([1024, 1024, 1024], true),
            ([2048, 128, 4096], true),
            ([256, 256, 256], false),
            ([768, 768, 768], false),
            ([2048, 64, 8192], false),
            ([64, 64, 8192], false),
        ] {
            let tiles = tiles::choose(one(sides), &h200()).unwrap();
            let choice = choose(one(sides), &h200()).unwrap();
            assert_eq!(choice.cycles < tiles.cycles, slices, "{sides:?}");
        }
        assert_eq!(choose(one([4096; 3]), &h200()), None);
    }

    #[test]
    fn a_tile_has_as_many_blocks_as_fill_the_card() {
        let parts = |sides| choose(one(sides), &h200()).map(|choice| (choice.grid, choice.cluster));
        assert_eq!(parts([4096, 64, 4096]), Some((256, 4)));
        assert_eq!(parts([8192, 64, 4096]), Some((256, 2)));
        assert_eq!(parts([1024, 1024, 1024]), Some((256, 1)));
        // Clusters of eight, two blocks on a multiprocessor: 29 fit.
        assert_eq!(parts([2048, 64, 8192]), Some((128, 4)));
    }

    #[test]
    fn rows_off_16_bytes_take_tiles() {
        assert_eq!(choose(one([4096, 64, 4097]), &h200()), None);
        assert_eq!(choose(one([4096, 65, 4096]), &h200()), None);
        let aligned = one([4096, 64, 4096]);
        let moved = Products {
            aligned: false,
            ..aligned
        };
        assert_eq!(choose(moved, &h200()), None);
        let older = DeviceInfo {
            ptx_target: Some("sm_80".to_owned()),
            ..h200()
        };
        assert_eq!(choose(aligned, &older), None);
    }
}
