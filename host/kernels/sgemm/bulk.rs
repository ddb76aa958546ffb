//! Batches of products: a tile of C by a block of one warp whose stages bulk tensor copies fill.

use super::Products;
use super::tiles::{BYTES_PER_CYCLE, FMAS_PER_CYCLE, Filling, resident};
use crate::device::{DeviceInfo, Element};
use crate::kernels::{Argument, Place, Swizzle, TensorMap};
use gpu_kernels::params::{BULK, SCHEDULERS_PER_SM};

/// Part of the FMA peak of a scheduler that two warps reach, and one.
const EFFICIENCY: f64 = 0.79;
const ALONE: f64 = 0.70;
/// Cycles until the first slice has arrived, and from the last FMA to the last store.
const START_CYCLES: f64 = 10_000.0;
/// Part of these behind the first blocks, and of the time for C, that blocks on one multiprocessor don't hide
/// for each other.
const EXPOSED: f64 = 0.19;

/// How the tiles are shared out: one for each block.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Choice {
    /// Blocks.
    pub grid: u64,
    /// Cycles, by the model.
    pub cycles: f64,
}

/// A block for each tile; `None` if the rows of an operand do not start on 16 bytes, or if the device has no
/// such kernel.
pub fn choose(products: Products, info: &DeviceInfo) -> Option<Choice> {
    let [m, n, k] = products.sides;
    let per_unit = u64::from(resident(BULK.blocks_per_sm, BULK.shared_bytes(), info));
    let tiles = m.div_ceil(u64::from(BULK.m())) * n.div_ceil(u64::from(BULK.n()));
    let grid = tiles.checked_mul(products.batch)?;
    // Coordinates and sides of a tensor map are 32-bit numbers, and its strides 40-bit ones.
    let fits = grid <= i32::MAX as u64 && 4 * m.max(k) * n.max(k) < 1 << 40;
    // The target with clusters is the one with bulk tensor copies.
    if !info.has_clusters() || !products.all_vectors() || per_unit == 0 || !fits {
        return None;
    }
    Some(Choice {
        grid,
        cycles: cycles(products, info, grid, per_unit),
    })
}

/// Cycles until the last multiprocessor is done, by a model like that of the tiles, fitted to runs on an
/// H200: only the two together decide.
fn cycles(products: Products, info: &DeviceInfo, grid: u64, per_unit: u64) -> f64 {
    let units = u64::from(info.units);
    let slice = f64::from(BULK.m() * BULK.n() * BULK.k());
    let slices = products.sides[2].div_ceil(u64::from(BULK.k())) as f64;
    let Filling { blocks, rounds, .. } = Filling::of(grid, units, per_unit);
    // Blocks that all start together wait for the scheduler that has the most of them.
    let warps = match blocks <= per_unit {
        true => blocks.div_ceil(u64::from(SCHEDULERS_PER_SM)) as f64,
        false => blocks as f64 / f64::from(SCHEDULERS_PER_SM),
    };
    let efficiency = if warps > 1.0 { EFFICIENCY } else { ALONE };
    let per_scheduler = FMAS_PER_CYCLE / SCHEDULERS_PER_SM as f64;
    let multiply = warps * slices * slice / (per_scheduler * efficiency);
    let c = products.c_bytes() / (BYTES_PER_CYCLE * units as f64);
    multiply + START_CYCLES + EXPOSED * (START_CYCLES * (rounds - 1.0) + c)
}

/// The tensor maps of A, B and C.
pub fn maps(products: Products) -> [Argument; 3] {
    let [m, n, k] = products.sides;
    let map = |operand, [rows, columns]: [u64; 2], [box_rows, box_columns]: [u32; 2], swizzle| {
        Argument::TensorMap(Some(TensorMap {
            matrix: Place::Operand(operand),
            element: Element::F32,
            columns,
            rows,
            batch: products.batch,
            box_columns,
            box_rows,
            swizzle,
        }))
    };
    [
        map(0, [m, k], [BULK.m(), BULK.k()], Swizzle::Bytes64),
        map(1, [k, n], [BULK.k(), BULK.n()], Swizzle::None),
        map(2, [m, n], [BULK.m(), BULK.c_box], Swizzle::None),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::sgemm::tiles::tests::h200;
    use crate::kernels::sgemm::{Choice as Any, choice};

    fn batch(sides: [u64; 3], batch: u64) -> Products {
        Products {
            sides,
            batch,
            aligned: true,
        }
    }

    fn taken(products: Products, info: &DeviceInfo) -> bool {
        matches!(choice("auto", products, info), Some(Any::Bulk(_)))
    }

    #[test]
    fn batches_take_it_where_it_was_faster() {
        for (sides, count, bulk) in [
            ([128, 128, 128], 12288, true),
            ([128, 128, 256], 6000, true),
            ([256, 256, 256], 2048, true),
            ([512, 512, 512], 512, true),
            ([512, 512, 512], 8, true),
            ([256, 256, 256], 50, true),
            ([1024, 1024, 1024], 8, false),
            ([128, 128, 128], 8, false),
            ([8192, 8192, 64], 1, true),
            ([1024, 1024, 1024], 1000, false),
            ([64, 64, 64], 32768, true),
            ([48, 48, 48], 58254, true),
            ([36, 36, 36], 90000, true),
            ([60, 20, 64], 60000, true),
            ([96, 96, 96], 14563, true),
            ([192, 192, 192], 3640, true),
            ([64, 64, 256], 16384, true),
            ([768, 768, 768], 150, true),
            ([32, 32, 32], 131_072, false),
            ([2048, 2048, 2048], 1, false),
            ([4096, 4096, 4096], 1, false),
            ([8192, 8192, 8192], 1, false),
            ([16384, 16384, 16384], 1, false),
        ] {
            let products = batch(sides, count);
            assert_eq!(taken(products, &h200()), bulk, "{products:?}");
        }
    }

    #[test]
    fn rows_off_16_bytes_take_tiles() {
        assert_eq!(choose(batch([128, 128, 127], 8192), &h200()), None);
        assert_eq!(choose(batch([128, 127, 128], 8192), &h200()), None);
        let aligned = batch([127, 128, 128], 8192);
        assert_eq!(choose(aligned, &h200()).unwrap().grid, 32_768);
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
