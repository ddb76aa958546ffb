//! `gemm-mixed`: the launches that round A and B on the way to the tensor cores, and the choice
//! between these and rounding in memory first.

use super::layout::{A, B, C, word};
use super::tiles::{self, BYTES, Case, LAUNCH, Tile, UNITS};
use super::wgmma::{case, check};
use crate::device::{DeviceInfo, Element};
use crate::kernels::{Argument, Launch, Place, Problem, Swizzle, TensorMap, Variant, stream};
use gpu_kernels::params::{
    FUSED_DEEP, FUSED_DEPTH, FUSED_LARGE, FUSED_SMALL, FUSED_SQUARE, LOADS_A, LOADS_B, OUT_F32,
    READS_C, STAGES_C,
};

/// f32 in 16 bytes, of which rows are made that bulk copies take.
const UNIT: u64 = 4;

/// The variant that rounds in memory first.
pub const CONVERT: &str = "convert";
/// The same by one launch, the product's begun while it ends.
const CONVERT_PDL: &str = "convert-pdl";
/// The variant that takes what is faster.
const AUTO: &str = "auto";

/// The ladder of `gemm-mixed`.
pub const MIXED: [Variant; 7] = [
    Variant {
        name: CONVERT,
        summary: "A and B are rounded to bfloat16 in memory first, which counts, by a launch each; \
                  then as gemm-bf16",
    },
    Variant {
        name: CONVERT_PDL,
        summary: "the same by one launch; the product's first blocks start while its last ones run \
                  (programmatic dependent launch)",
    },
    Variant {
        name: "fused-small",
        summary: "A and B are rounded in shared memory, on the way to the tensor cores: 64 x 64 \
                  tiles, four blocks a multiprocessor",
    },
    Variant {
        name: "fused-deep",
        summary: "the same, five k tiles ahead, two blocks a multiprocessor",
    },
    Variant {
        name: "fused-square",
        summary: "the same with 128 x 128 tiles",
    },
    Variant {
        name: "fused-large",
        summary: "the same with 128 x 256 tiles, three k tiles ahead, one block a multiprocessor",
    },
    Variant {
        name: AUTO,
        summary: "what a cost model chooses for the shape",
    },
];

/// The kernels that round on the way; their k tiles are half as deep as those of bfloat16. The constants
/// are those of [`microseconds`].
pub const FUSED: [Tile; 4] = [
    Tile {
        variant: "fused-small",
        entry: "gemm_fused_small",
        shape: FUSED_SMALL,
        stays: true,
        full: 0.85,
        alone: 0.40,
        around: 1.6,
    },
    Tile {
        variant: "fused-deep",
        entry: "gemm_fused_deep",
        shape: FUSED_DEEP,
        stays: true,
        full: 0.46,
        alone: 0.33,
        around: 1.6,
    },
    Tile {
        variant: "fused-square",
        entry: "gemm_fused_square",
        shape: FUSED_SQUARE,
        stays: true,
        full: 1.0,
        alone: 0.64,
        around: 1.5,
    },
    Tile {
        variant: "fused-large",
        entry: "gemm_fused_large",
        shape: FUSED_LARGE,
        stays: true,
        full: 0.75,
        alone: 0.75,
        around: 3.0,
    },
];

/// That which takes rows of any length: threads load the elements themselves, and wait for them.
const ANY: Tile = Tile {
    entry: "gemm_fused_any",
    full: 4.0,
    alone: 2.0,
    ..FUSED[0]
};

/// Microseconds of the launch that rounds A and B in memory, besides their bytes, as far as the product's
/// does not overlap with it.
const CONVERSION: f64 = 1.9;
/// Microseconds that the threads of that product wait for C, if they add it.
const ADDED_C: f64 = 0.8;

/// Whether a problem's operands are rounded on the way, not in memory first.
pub fn takes(problem: &Problem, info: &DeviceInfo) -> bool {
    match problem.variant {
        CONVERT | CONVERT_PDL => false,
        AUTO => {
            let case = case(problem, info);
            let in_memory = microseconds_in_memory(&case, problem.form.reads_c);
            microseconds(&tile(problem, &case), &case) < in_memory
        }
        _ => true,
    }
}

/// Microseconds of a launch of a kernel that rounds on the way, by a model whose constants are of an
/// H200: the k tiles of each wave of tiles, which take longer the more blocks the busiest
/// multiprocessor has, and the bytes, which overlap with them but not wholly.
fn microseconds(tile: &Tile, case: &Case) -> f64 {
    let (tiles, resident) = (tile.tiles(case), tile.resident(case));
    let depth = case.k.div_ceil(u64::from(FUSED_DEPTH)) as f64;
    let most = u64::from(tile.shape.blocks_per_sm);
    let wave = |tiles: u64| {
        let beside = tiles.div_ceil(case.units.max(1)).clamp(1, most) - 1;
        let crowd = beside as f64 / (most - 1).max(1) as f64;
        depth * (tile.alone + crowd * (tile.full - tile.alone)) + tile.around
    };
    let last = match tiles % resident {
        0 => 0.0,
        left => wave(left),
    };
    let waves = (tiles / resident) as f64 * wave(resident) + last;
    let [m, n, k, batch] = [case.m, case.n, case.k, case.batch].map(|side| side as f64);
    let bytes = 4.0 * batch * (m * k + k * n + m * n);
    LAUNCH + waves.hypot(memory(bytes, case))
}

/// Microseconds by the model where A and B are rounded in memory first.
fn microseconds_in_memory(case: &Case, reads_c: bool) -> f64 {
    let [m, n, k, batch] = [case.m, case.n, case.k, case.batch].map(|side| side as f64);
    // Four bytes of an element are read, two are written.
    let conversions = CONVERSION + memory(6.0 * batch * (m * k + k * n), case);
    let added = if reads_c { ADDED_C } else { 0.0 };
    conversions + added + tiles::choose(&tiles::BF16, case).microseconds(case)
}

/// Microseconds in which memory moves so many bytes.
fn memory(bytes: f64, case: &Case) -> f64 {
    bytes / (BYTES * case.units as f64 / UNITS)
}

/// Whether bulk copies take the rows of A, and of B.
fn copied(problem: &Problem) -> [bool; 2] {
    let (_, n, k) = problem.matrix();
    [k, n].map(|columns| columns.is_multiple_of(UNIT))
}

/// The tile that takes the least time.
fn choose(case: &Case) -> Tile {
    let mut best = FUSED[0];
    for tile in FUSED {
        if microseconds(&tile, case) < microseconds(&best, case) {
            best = tile;
        }
    }
    best
}

/// Whether C is read through shared memory, by bulk copies.
fn stages_c(problem: &Problem) -> bool {
    let (_, n, _) = problem.matrix();
    problem.form.reads_c && n.is_multiple_of(UNIT)
}

/// The tile of a problem's variant.
pub fn tile(problem: &Problem, case: &Case) -> Tile {
    if copied(problem) != [true; 2] {
        return ANY;
    }
    FUSED
        .into_iter()
        .find(|tile| tile.variant == problem.variant)
        .unwrap_or_else(|| choose(case))
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
        swizzle: Swizzle::Bytes128,
    };
    let map = |operand, sides, box_rows, copied: bool| {
        Argument::TensorMap(copied.then_some(map(operand, sides, box_rows)))
    };
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
        arguments: vec![
            map(A, [m, k], shape.m(), copied[A]),
            map(B, [k, n], FUSED_DEPTH, copied[B]),
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
        ..Launch::PLAIN
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a cost model chooses, as measured on an H200: the fastest or within a tenth of it.
    #[test]
    fn the_choice_is_the_fastest_or_near_it() {
        let measured: [(u64, u64, bool, &[&str]); 13] = [
            (64, 1, true, &["fused-small", "fused-deep"]),
            (128, 1, true, &["fused-small", "fused-deep"]),
            (128, 1, false, &["fused-small", "fused-deep"]),
            (256, 1, true, &["fused-small", "fused-deep"]),
            (256, 1, false, &["fused-small", "fused-deep", CONVERT_PDL]),
            (512, 1, true, &["fused-deep", CONVERT_PDL]),
            (512, 1, false, &[CONVERT_PDL]),
            (1024, 1, true, &[CONVERT_PDL]),
            (2048, 1, true, &[CONVERT_PDL]),
            (64, 32_768, true, &["fused-small"]),
            (128, 8_192, true, &["fused-square"]),
            (256, 2_048, true, &["fused-square", "fused-large"]),
            (512, 512, true, &["fused-large"]),
        ];
        for (n, batch, reads_c, fastest) in measured {
            let case = Case {
                m: n,
                n,
                k: n,
                batch,
                element: 2,
                pitches: [2 * n; 2],
                units: 132,
            };
            let tile = choose(&case);
            let fused = microseconds(&tile, &case) < microseconds_in_memory(&case, reads_c);
            let chosen = if fused { tile.variant } else { CONVERT_PDL };
            assert!(
                fastest.contains(&chosen),
                "{n}, {batch}, {reads_c}: {chosen}"
            );
        }
    }
}
