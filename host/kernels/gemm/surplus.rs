//! FLOPs of matrix products on `wgmma` beyond 2 M N K.
//!
//! An instruction multiplies 64 rows by all columns of the tile, whether they are elements of the
//! matrices or the zeros that fill tiles up; so does every k tile, to its end. Sums start from 0,
//! and C is added when they are written; where C is neither read nor written in whole panels,
//! mostly 0 in its place.

use super::wgmma::{case, staged, tile, transposed_case};
use super::{fused, tiles};
use crate::device::{DeviceInfo, Element};
use crate::kernels::{Problem, Surplus};
use gpu_kernels::params::{FUSED_DEPTH, TENSOR_DEPTH, TENSOR_TF32_DEPTH, TensorTile};

/// Of a product of bfloat16, on a device.
pub fn bf16(problem: &Problem, info: &DeviceInfo) -> Surplus {
    let shape = tile(problem, &tiles::BF16, &case(problem, info)).shape;
    of_tiles(problem, &shape, TENSOR_DEPTH, staged(problem))
}

/// Of a product of f32 that is rounded to bfloat16 on the way, on a device.
pub fn fused(problem: &Problem, info: &DeviceInfo) -> Surplus {
    let shape = fused::tile(problem, &case(problem, info)).shape;
    // Only what is stored is added to.
    of_tiles(problem, &shape, FUSED_DEPTH, false)
}

/// Of a product in tiles of a shape, with k tiles `depth` deep; C is written in whole panels or not.
fn of_tiles(problem: &Problem, shape: &TensorTile, depth: u32, panels: bool) -> Surplus {
    let (m, n, _) = problem.matrix();
    let rows = m.next_multiple_of(u64::from(shape.m() * shape.cluster));
    let columns = n.next_multiple_of(u64::from(shape.n));
    let mut surplus = Surplus {
        padding: padding(problem, [rows, columns, u64::from(depth)]),
        overhead: problem.form.batch * m * n,
        avoidable: 0,
    };
    if panels && !problem.form.reads_c {
        surplus.overhead = 0;
    } else if panels {
        // They are added to, and clipped when they are copied to C.
        surplus.padding += problem.form.batch * (rows * columns - m * n);
    } else if n % 2 == 1 && problem.out() == Element::F32 && !problem.form.reads_c {
        // Elements are written one by one, and nothing is added.
        surplus.overhead = 0;
    }
    surplus
}

/// Of a product of f32 in TF32, on a device.
pub fn tf32(problem: &Problem, info: &DeviceInfo) -> Surplus {
    let (m, n, _) = problem.matrix();
    // The tile is one of the transposed product.
    let shape = tile(problem, &tiles::TF32, &transposed_case(problem, info)).shape;
    let rows = m.next_multiple_of(u64::from(shape.n));
    let columns = n.next_multiple_of(u64::from(shape.m()));
    Surplus {
        padding: padding(problem, [rows, columns, u64::from(TENSOR_TF32_DEPTH)]),
        overhead: problem.form.batch * m * n,
        avoidable: 0,
    }
}

/// FLOPs of the products on zeros, where tiles cover `rows` and `columns` of C and k tiles are
/// `depth` deep.
fn padding(problem: &Problem, [rows, columns, depth]: [u64; 3]) -> u64 {
    let (m, n, k) = problem.matrix();
    2 * problem.form.batch * (rows * columns * k.next_multiple_of(depth) - m * n * k)
}
