//! FLOPs of matrix products beyond 2 M N K.

use super::{Choice, Products, choice};
use crate::device::DeviceInfo;
use crate::kernels::{Problem, Surplus};
use gpu_kernels::params::{BULK, ProductShape, REGISTER_DEPTH, REGISTER_TILE, SLICED, TILED_TILE};

/// What a variant executes beyond the model.
///
/// `naive` multiplies nothing but elements of the matrices. The others fill their tiles up with
/// zeros and multiply them too. `naive` and `tiled` start their sums from C; the others start from
/// 0 and add C at the end, one FLOP an element. Where blocks share a tile, 0 is added to each of its
/// parts, and the parts are added up. Teams add 0 to C before and to the sums behind the product.
pub fn of(problem: &Problem, info: &DeviceInfo) -> Surplus {
    let products = Products::of(problem, true);
    let (batch, [m, n, k]) = (products.batch, products.sides);
    let padding = |[tile_m, tile_n, tile_k]: [u32; 3]| {
        let padded = |side: u64, tile: u32| side.next_multiple_of(tile.into());
        2 * batch * (padded(m, tile_m) * padded(n, tile_n) * padded(k, tile_k) - m * n * k)
    };
    match choice(problem.variant, products, info) {
        Some(Choice::Tiles(choice)) => {
            let shape = choice.shape;
            let area = u64::from(shape.m) * u64::from(shape.n);
            let covered = m.next_multiple_of(shape.m.into()) * n.next_multiple_of(shape.n.into());
            let depth = k.div_ceil(shape.k.into());
            return Surplus {
                padding: padding([shape.m, shape.n, shape.k]),
                overhead: batch * m * n + area * choice.additions(depth),
                // Adding to elements outside C, before it is decided what is stored.
                avoidable: batch * (covered - m * n),
            };
        }
        Some(Choice::Slices(choice)) => {
            let area = u64::from(SLICED.m) * u64::from(SLICED.n);
            return Surplus {
                padding: padding([SLICED.m, SLICED.n, SLICED.k]),
                overhead: batch * m * n + area * choice.additions(),
                avoidable: 0,
            };
        }
        Some(Choice::Bulk(_)) => {
            return Surplus {
                padding: padding([BULK.m(), BULK.n(), BULK.k()]),
                overhead: batch * m * n,
                avoidable: 0,
            };
        }
        Some(Choice::Teams(choice)) => {
            let ProductShape {
                m: rows,
                n: columns,
                ..
            } = choice.shape;
            let covered = m.next_multiple_of(rows.into()) * n.next_multiple_of(columns.into());
            return Surplus {
                padding: padding([rows, columns, 1]),
                overhead: 2 * batch * m * n,
                avoidable: 2 * batch * (covered - m * n),
            };
        }
        None => {}
    }
    match problem.variant {
        "naive" => Surplus::default(),
        "register" => Surplus {
            padding: padding([REGISTER_TILE, REGISTER_TILE, REGISTER_DEPTH]),
            overhead: batch * m * n,
            avoidable: 0,
        },
        _ => Surplus {
            padding: padding([TILED_TILE; 3]),
            overhead: 0,
            avoidable: 0,
        },
    }
}
