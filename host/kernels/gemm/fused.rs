//! `gemm-mixed`: the launches that round A and B on the way to the tensor cores, and the choice
//! between these and rounding in memory first.

use super::layout::{A, B, C, word};
use super::tiles::{self, BYTES, Case, TILES, Tile, UNITS};
use super::wgmma::{case, check};
use crate::device::{DeviceInfo, Element};
use crate::kernels::{Argument, Launch, Place, Problem, TensorMap, Variant, stream};
use gpu_kernels::params::{
    FUSED_CROSS, FUSED_DEEP, FUSED_DEPTH, FUSED_FLAT, FUSED_FLAT_CROSS, FUSED_LARGE, FUSED_PAIR, FUSED_SMALL,
    FUSED_SQUARE, FUSED_WIDE, LOADS_A, LOADS_B, OUT_F32, READS_C, STAGES_C,
};

/// f32 in 16 bytes, of which rows are made that bulk copies take.
const UNIT: u64 = 4;

/// The variant that rounds in memory first.
const CONVERT: &str = "convert";
/// The variant that takes what is faster.
const AUTO: &str = "auto";

/// The ladder of `gemm-mixed`.
pub const MIXED: [Variant; 11] = [
    Variant {
        name: CONVERT,
        summary: "A and B are rounded to bfloat16 in memory first, which counts; then as gemm-bf16",
    },
    Variant {
        name: "fused-small",
        summary: "A and B are rounded on the way, in shared memory: 64 x 64 tiles, four blocks a \
                  multiprocessor, any rows",
    },
    Variant {
        name: "fused-deep",
        summary: "the same, two blocks a multiprocessor, more k tiles ahead",
    },
    Variant {
        name: "fused-square",
        summary: "the same with 128 x 128 tiles, two blocks a multiprocessor",
    },
    Variant {
        name: "fused-flat",
        summary: "the same with 64 x 128 tiles",
    },
    Variant {
        name: "fused-large",
        summary: "the same with 128 x 256 tiles",
    },
    Variant {
        name: "fused-wide",
        summary: "the same; two blocks share what they fetch of B",
    },
    Variant {
        name: "fused-pair",
        summary: "the same; two blocks exchange what they round of B",
    },
    Variant {
        name: "fused-cross",
        summary: "the same; four blocks exchange what they round",
    },
    Variant {
        name: "fused-flat-cross",
        summary: "the same with 64 x 128 tiles",
    },
    Variant {
        name: AUTO,
        summary: "what a cost model chooses for the shape",
    },
];

/// The kernels that round on the way, with the constants of their cost (see [`tiles`]); their k tiles
/// are half as deep as those of bfloat16.
pub const FUSED: [Tile; 9] = [
    Tile {
        variant: "fused-small",
        entry: "gemm_fused_small",
        shape: FUSED_SMALL,
        stays: true,
        full: 0.80,
        alone: 0.35,
        around: 0.8,
    },
    Tile {
        variant: "fused-deep",
        entry: "gemm_fused_deep",
        shape: FUSED_DEEP,
        stays: true,
        full: 0.50,
        alone: 0.30,
        around: 0.8,
    },
    Tile {
        variant: "fused-square",
        entry: "gemm_fused_square",
        shape: FUSED_SQUARE,
        stays: true,
        full: 0.80,
        alone: 0.40,
        around: 1.5,
    },
    Tile {
        variant: "fused-flat",
        entry: "gemm_fused_flat",
        shape: FUSED_FLAT,
        stays: true,
        full: 0.35,
        alone: 0.35,
        around: 1.0,
    },
    Tile {
        variant: "fused-large",
        entry: "gemm_fused_large",
        shape: FUSED_LARGE,
        stays: true,
        full: 0.90,
        alone: 0.80,
        around: 2.0,
    },
    Tile {
        variant: "fused-wide",
        entry: "gemm_fused_wide",
        shape: FUSED_WIDE,
        stays: true,
        full: 0.75,
        alone: 0.75,
        around: 2.0,
    },
    Tile {
        variant: "fused-pair",
        entry: "gemm_fused_pair",
        shape: FUSED_PAIR,
        stays: true,
        full: 0.65,
        alone: 0.65,
        around: 2.5,
    },
    Tile {
        variant: "fused-cross",
        entry: "gemm_fused_cross",
        shape: FUSED_CROSS,
        stays: true,
        full: 0.58,
        alone: 0.58,
        around: 2.5,
    },
    Tile {
        variant: "fused-flat-cross",
        entry: "gemm_fused_flat_cross",
        shape: FUSED_FLAT_CROSS,
        stays: true,
        full: 0.30,
        alone: 0.30,
        around: 1.5,
    },
];

/// That which takes rows of any length: threads load the elements themselves, and wait for them.
pub const FUSED_ANY: Tile = Tile {
    entry: "gemm_fused_any",
    full: 4.0,
    alone: 2.0,
    ..FUSED[0]
};

/// Microseconds of a launch that rounds a matrix in memory, besides its bytes.
const CONVERSION: f64 = 4.5;

/// Whether a problem's operands are rounded on the way, not in memory first.
pub fn takes(problem: &Problem, info: &DeviceInfo) -> bool {
    match problem.variant {
        CONVERT => false,
        AUTO => {
            let case = case(problem, info);
            let fused = tile(problem, &case).microseconds(&case);
            fused < microseconds_in_memory(&case)
        }
        _ => true,
    }
}

/// Microseconds by the model where A and B are rounded in memory first.
fn microseconds_in_memory(case: &Case) -> f64 {
    let [m, n, k, batch] = [case.m, case.n, case.k, case.batch].map(|side| side as f64);
    // Four bytes of an element are read, two are written.
    let bytes = 6.0 * batch * (m * k + k * n);
    let conversions = 2.0 * CONVERSION + bytes / (BYTES * case.units as f64 / UNITS);
    conversions + tiles::choose(&TILES, case).microseconds(case)
}

/// Whether bulk copies take the rows of A, and of B.
fn copied(problem: &Problem) -> [bool; 2] {
    let (_, n, k) = problem.matrix();
    [k, n].map(|columns| columns.is_multiple_of(UNIT))
}

/// Whether C is read through shared memory, by bulk copies.
fn stages_c(problem: &Problem) -> bool {
    let (_, n, _) = problem.matrix();
    problem.form.reads_c && n.is_multiple_of(UNIT)
}

/// The tile of a problem's variant.
pub fn tile(problem: &Problem, case: &Case) -> Tile {
    if copied(problem) != [true; 2] {
        return FUSED_ANY;
    }
    FUSED
        .into_iter()
        .find(|tile| tile.variant == problem.variant)
        .unwrap_or_else(|| tiles::choose(&FUSED, case))
}

/// The launch.
///
/// # Errors
/// Why it cannot be launched on the device.
pub fn launch(problem: &Problem, info: &DeviceInfo) -> Result<Launch, String> {
    check(problem, info)?;
    let case = case(problem, info);
    let tile = tile(problem, &case);
    let shape = tile.shape;
    let (m, n, k) = problem.matrix();
    let copied = copied(problem);
    let map = |operand, [rows, columns]: [u64; 2], box_rows| TensorMap {
        matrix: Place::Operand(operand),
        element: Element::F32,
        columns,
        rows,
        batch: case.batch,
        box_columns: FUSED_DEPTH,
        box_rows,
    };
    let map = |operand, sides, box_rows, copied: bool| {
        Argument::TensorMap(copied.then_some(map(operand, sides, box_rows)))
    };
    let [a_parts, _] = shape.parts();
    let stages_c = stages_c(problem);
    let flag = |set: bool, flag: u32| if set { flag } else { 0 };
    let flags = flag(problem.form.reads_c, READS_C)
        | OUT_F32
        | flag(stages_c, STAGES_C)
        | flag(!copied[A], LOADS_A)
        | flag(!copied[B], LOADS_B);
    Ok(Launch {
        entry: tile.entry,
        grid: stream::grid(tile.grid(&case))?,
        block: [shape.threads(), 1],
        shared_bytes: shape.shared_bytes(),
        scratch_bytes: 0,
        arguments: vec![
            map(A, [m, k], shape.m() / a_parts, copied[A]),
            map(B, [k, n], FUSED_DEPTH / shape.cluster_rows(), copied[B]),
            map(C, [m, n], shape.m(), stages_c),
            Argument::Operand(A),
            Argument::Operand(B),
            Argument::Operand(C),
            word("a side", m)?,
            word("a side", n)?,
            word("a side", k)?,
            word("a batch", problem.form.batch)?,
            Argument::U32(flags),
        ],
    })
}
