//! Batches of small products: which team of threads computes a whole one, or a tile of one.

use super::Products;
use super::tiles::{FMAS_PER_CYCLE, Filling, resident};
use crate::device::DeviceInfo;
use gpu_kernels::params::{PRODUCT_16, PRODUCT_32, PRODUCT_64, ProductShape};

/// A kernel whose teams compute whole products.
#[derive(Debug, PartialEq)]
struct Team {
    /// Entry where all rows start on 16 bytes.
    aligned: &'static str,
    /// Entry for any sides and any address.
    any: &'static str,
    shape: ProductShape,
    /// Part of the FMA peak that it reaches when every multiprocessor is full, as in
    /// [`super::tiles::TILES`].
    efficiency: f64,
}

/// The kernels, the one for the smallest products first.
const TEAMS: [Team; 3] = [
    Team {
        aligned: "sgemm_product_16",
        any: "sgemm_product_16_any",
        shape: PRODUCT_16,
        efficiency: 0.40,
    },
    Team {
        aligned: "sgemm_product_32",
        any: "sgemm_product_32_any",
        shape: PRODUCT_32,
        efficiency: 0.60,
    },
    Team {
        aligned: "sgemm_product_64",
        any: "sgemm_product_64_any",
        shape: PRODUCT_64,
        efficiency: 0.73,
    },
];

/// How a batch is shared out: each team one tile, which is a whole product where it fits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Choice {
    /// Entry of the PTX.
    pub entry: &'static str,
    /// Its team.
    pub shape: ProductShape,
    /// Blocks.
    pub grid: u64,
    /// Cycles, by the model.
    pub cycles: f64,
}

/// Bytes that a multiprocessor's share of the memory system moves in a cycle.
const BYTES_PER_CYCLE: f64 = 18.0;
/// Cycles until the operands have arrived, and from the last FMA to the last store.
const START_CYCLES: f64 = 4000.0;
/// Part of these, and of the time for C, that blocks on one multiprocessor don't hide for each other.
const EXPOSED: f64 = 0.35;
/// Part of a team's speed that is left where k is deeper than its shared memory: on an H200 its 36
/// TFLOP/s at N = 128 are 0.89 of what the tiles reach.
const IN_PARTS: f64 = 0.75;

/// The smallest team that a product fits, or the largest, with several tiles a product; `None` for
/// a single product, which teams would leave the card empty with.
pub fn choose(products: Products, info: &DeviceInfo) -> Option<Choice> {
    if products.batch < 2 {
        return None;
    }
    let [m, n, _] = products.sides;
    let fits = |team: &&Team| m <= u64::from(team.shape.m) && n <= u64::from(team.shape.n);
    let team = TEAMS.iter().find(fits).or(TEAMS.last())?;
    let shape = team.shape;
    let entry = match products.all_vectors() {
        true => team.aligned,
        false => team.any,
    };
    let per_unit = resident(shape.blocks_per_sm, shape.shared_bytes(), info);
    let tiles = m.div_ceil(u64::from(shape.m)) * n.div_ceil(u64::from(shape.n));
    let tiles = tiles
        .checked_mul(products.batch)
        .filter(|&tiles| tiles <= u64::from(u32::MAX) && per_unit > 0)?;
    let grid = tiles.div_ceil(u64::from(shape.products));
    Some(Choice {
        entry,
        shape,
        grid,
        cycles: cycles(
            shape,
            team.efficiency,
            products,
            grid,
            u64::from(per_unit),
            info,
        ),
    })
}

/// Cycles until the last multiprocessor is done, by a model like that of the tiles: only the two
/// together decide.
fn cycles(
    shape: ProductShape,
    efficiency: f64,
    products: Products,
    grid: u64,
    per_unit: u64,
    info: &DeviceInfo,
) -> f64 {
    let units = u64::from(info.units);
    let fmas = u64::from(shape.m * shape.n) * products.sides[2];
    let Filling {
        blocks,
        fill,
        rounds,
    } = Filling::of(grid, units, per_unit);
    let of_unit = (blocks * u64::from(shape.products)) as f64 * fmas as f64;
    // A product in several parts waits for each.
    let parts = if products.sides[2] > u64::from(shape.k) {
        IN_PARTS
    } else {
        1.0
    };
    let efficiency = efficiency * parts;
    let multiply = of_unit / FMAS_PER_CYCLE / (efficiency * fill.sqrt());
    let bandwidth = BYTES_PER_CYCLE * units as f64;
    multiply + EXPOSED * (START_CYCLES * rounds + products.c_bytes() / bandwidth)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::sgemm::tiles;
    use crate::kernels::sgemm::tiles::tests::h200;

    fn batch(sides: [u64; 3], batch: u64) -> Products {
        Products {
            sides,
            batch,
            aligned: true,
        }
    }

    #[test]
    fn a_product_takes_the_smallest_team_that_it_fits() {
        let entry = |sides| choose(batch(sides, 1000), &h200()).map(|choice| choice.entry);
        assert_eq!(entry([8, 16, 16]), Some("sgemm_product_16"));
        assert_eq!(entry([17, 16, 16]), Some("sgemm_product_32"));
        assert_eq!(entry([64, 64, 64]), Some("sgemm_product_64"));
        assert_eq!(entry([64, 64, 63]), Some("sgemm_product_64_any"));
        assert_eq!(entry([64, 68, 64]), Some("sgemm_product_64"));
        assert_eq!(choose(batch([16; 3], 1), &h200()), None);
    }

    /// As measured on an H200: teams win up to 64, tiles from 128 on.
    #[test]
    fn products_of_several_tiles_are_left_to_the_pipelined_ones() {
        for (n, teams) in [
            (16, true),
            (32, true),
            (64, true),
            (128, false),
            (256, false),
        ] {
            let products = batch([n; 3], (1 << 33) / (16 * n * n));
            let tiles = tiles::choose(products, &h200()).unwrap();
            let team = choose(products, &h200()).unwrap();
            assert_eq!(team.cycles < tiles.cycles, teams, "{n}");
        }
    }

    #[test]
    fn a_few_deep_products_are_left_to_tiles_that_are_cut() {
        let few = batch([64, 64, 4096], 2);
        let cut = tiles::choose(few, &h200()).unwrap();
        assert!(choose(few, &h200()).unwrap().cycles > cut.cycles);
        let many = batch([64, 64, 64], 32_768);
        let tiled = tiles::choose(many, &h200()).unwrap();
        assert!(choose(many, &h200()).unwrap().cycles < tiled.cycles);
        let large = batch([1024; 3], 128);
        let tiled = tiles::choose(large, &h200()).unwrap();
        assert!(choose(large, &h200()).unwrap().cycles > tiled.cycles);
    }
}
