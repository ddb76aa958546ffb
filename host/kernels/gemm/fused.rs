//! The launches of `gemm-mixed` that round A and B on the way to the tensor cores.

use super::layout::{A, B, C, word};
use super::tiles::{self, Case, FUSED, FUSED_ANY, Tile};
use super::wgmma::{case, check};
use crate::device::{DeviceInfo, Element};
use crate::kernels::{Argument, Launch, Place, Problem, TensorMap, Variant, stream};
use gpu_kernels::params::{FUSED_DEPTH, LOADS_A, LOADS_B, OUT_F32, READS_C};

/// f32 in 16 bytes, of which rows are made that bulk copies take.
const UNIT: u64 = 4;

/// The ladder of `gemm-mixed`.
pub const MIXED: [Variant; 7] = [
    Variant {
        name: "convert",
        summary: "A and B are rounded to bfloat16 in memory first, which counts; then as gemm-bf16",
    },
    Variant {
        name: "fused-small",
        summary: "A and B are rounded in shared memory, on the way",
    },
    Variant {
        name: "fused-square",
        summary: "A and B are rounded in shared memory, on the way",
    },
    Variant {
        name: "fused-flat",
        summary: "A and B are rounded in shared memory, on the way",
    },
    Variant {
        name: "fused-large",
        summary: "A and B are rounded in shared memory, on the way",
    },
    Variant {
        name: "fused-wide",
        summary: "A and B are rounded in shared memory, on the way",
    },
    Variant {
        name: "fused",
        summary: "A and B are rounded in shared memory, on the way",
    },
];

/// Whether a problem is launched so.
pub fn takes(problem: &Problem, _: &DeviceInfo) -> bool {
    problem.variant.starts_with("fused")
}

/// Whether bulk copies take the rows of A, and of B.
fn copied(problem: &Problem) -> [bool; 2] {
    let (_, n, k) = problem.matrix();
    [k, n].map(|columns| columns.is_multiple_of(UNIT))
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
    let maps = [
        map(A, [m, k], shape.m()),
        map(B, [k, n], FUSED_DEPTH / shape.cluster),
    ];
    let map = |operand: usize| Argument::TensorMap(copied[operand].then_some(maps[operand]));
    let flag = |set: bool, flag: u32| if set { flag } else { 0 };
    let flags = flag(problem.form.reads_c, READS_C)
        | OUT_F32
        | flag(!copied[A], LOADS_A)
        | flag(!copied[B], LOADS_B);
    Ok(Launch {
        entry: tile.entry,
        grid: stream::grid(tile.grid(&case))?,
        block: [shape.threads(), 1],
        shared_bytes: shape.shared_bytes(),
        scratch_bytes: 0,
        arguments: vec![
            map(A),
            map(B),
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
