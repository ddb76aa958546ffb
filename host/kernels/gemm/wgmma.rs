//! The launches of the kernels on `wgmma`.

use super::layout::{C, Layout, pitch, word};
use super::mma;
use super::tiles::{self, Case, Tile};
use crate::device::{DeviceInfo, DeviceKind, Element};
use crate::kernels::{Argument, Launch, Place, Problem, Swizzle, TensorMap, Variant, stream};
use crate::roofline::peak::ComputeCapability;
use gpu_kernels::params::{
    OUT_F32, PANEL_COLUMNS, READS_C, ROW_ELEMENTS, STAGES_C, TENSOR_DEPTH, TENSOR_TF32_DEPTH,
};

/// The only compute capability with `wgmma`.
const WGMMA: ComputeCapability = ComputeCapability::new(9, 0);

/// The ladder of bfloat16 products.
pub const BF16: [Variant; 10] = [
    mma::VARIANT,
    Variant {
        name: "wgmma",
        summary: "128 x 128 tiles on tensor cores; bulk copies and products take turns",
    },
    Variant {
        name: "pipelined",
        summary: "copies of three k tiles run ahead of the products",
    },
    Variant {
        name: "specialised",
        summary: "128 x 256 tiles, a warpgroup that copies for two that multiply, blocks that stay",
    },
    Variant {
        name: "cluster",
        summary: "two blocks share what they fetch of B",
    },
    Variant {
        name: "narrow",
        summary: "the same with 128 x 192 tiles",
    },
    Variant {
        name: "narrow-alone",
        summary: "128 x 192 tiles, blocks that share nothing",
    },
    Variant {
        name: "flat",
        summary: "64 x 128 tiles, eight k tiles ahead, two blocks share B",
    },
    Variant {
        name: "small",
        summary: "64 x 64 tiles, no clusters, four blocks a multiprocessor",
    },
    Variant {
        name: "auto",
        summary: "the tile that a cost model chooses for the shape",
    },
];

/// The ladder of products in TF32.
pub const TF32: [Variant; 3] = [
    Variant {
        name: "transposed",
        summary: "C^T = B^T @ A^T in tiles of 256 x 128 of C, B from registers",
    },
    Variant {
        name: "flat",
        summary: "the same with 128 x 64 tiles, eight k tiles ahead",
    },
    Variant {
        name: "auto",
        summary: "the tile that a cost model chooses for the shape",
    },
];

/// The ladder on a kind of device.
pub fn variants(kind: DeviceKind, ladder: &'static [Variant]) -> &'static [Variant] {
    match kind {
        DeviceKind::Cuda | DeviceKind::Vm => ladder,
        DeviceKind::Cpu => &[],
    }
}

/// Whether a device has `wgmma`.
pub fn runs_on(info: &DeviceInfo) -> bool {
    info.compute_capability == Some(WGMMA)
}

/// The launch of a product of bfloat16.
///
/// # Errors
/// Why it cannot be launched on the device.
pub fn bf16(problem: &Problem, info: &DeviceInfo, layout: &Layout) -> Result<Launch, String> {
    check(problem, info)?;
    let case = case(problem, info);
    let tile = tile(problem, &tiles::BF16, &case);
    let shape = tile.shape;
    let (m, n, _) = problem.matrix();
    let staged = staged(problem);
    let c_map = Argument::TensorMap(staged.then_some(TensorMap {
        matrix: Place::Operand(C),
        element: Element::Bf16,
        columns: n,
        rows: m,
        batch: case.batch,
        box_columns: PANEL_COLUMNS,
        box_rows: 64,
        swizzle: Swizzle::Bytes128,
    }));
    Ok(Launch {
        entry: tile.entry,
        grid: stream::grid(tile.grid(&case))?,
        block: [shape.threads(), 1],
        dependent: layout.overlaps(),
        shared_bytes: shape.shared_bytes(),
        scratch_bytes: layout.scratch_bytes,
        arguments: arguments(
            problem,
            [
                layout.map(0, shape.m()),
                layout.map(1, TENSOR_DEPTH / shape.cluster),
                c_map,
            ],
            if staged { STAGES_C } else { 0 },
        )?,
        ..Launch::PLAIN
    })
}

/// The launch of a product of f32 in TF32.
///
/// # Errors
/// Why it cannot be launched on the device.
pub fn tf32(problem: &Problem, info: &DeviceInfo, layout: &Layout) -> Result<Launch, String> {
    check(problem, info)?;
    let case = transposed_case(problem, info);
    let tile = tile(problem, &tiles::TF32, &case);
    let shape = tile.shape;
    Ok(Launch {
        entry: tile.entry,
        grid: stream::grid(tile.grid(&case))?,
        block: [shape.threads(), 1],
        dependent: layout.overlaps(),
        shared_bytes: shape.shared_bytes(),
        scratch_bytes: layout.scratch_bytes,
        arguments: arguments(
            problem,
            [
                layout.map(0, shape.n),
                layout.map(1, TENSOR_TF32_DEPTH),
                Argument::TensorMap(None),
            ],
            0,
        )?,
        ..Launch::PLAIN
    })
}

/// Says what a device without `wgmma` lacks.
pub fn check(problem: &Problem, info: &DeviceInfo) -> Result<(), String> {
    if runs_on(info) {
        return Ok(());
    }
    let found = info
        .compute_capability
        .map_or_else(|| "no GPU".to_owned(), |found| found.to_string());
    Err(format!(
        "{} {} needs wgmma, which compute capability 9.0 has; this device is {found}",
        problem.kernel.name(),
        problem.variant,
    ))
}

/// The parameters, in the order of the kernels' signature.
fn arguments(
    problem: &Problem,
    maps: [Argument; 3],
    more_flags: u32,
) -> Result<Vec<Argument>, String> {
    let (m, n, k) = problem.matrix();
    let flag = |set: bool, flag: u32| if set { flag } else { 0 };
    let flags = flag(problem.form.reads_c, READS_C)
        | flag(problem.out() == Element::F32, OUT_F32)
        | more_flags;
    let [a, b, c] = maps;
    Ok(vec![
        a,
        b,
        c,
        Argument::Operand(C),
        word("a side", m)?,
        word("a side", n)?,
        word("a side", k)?,
        word("a batch", problem.form.batch)?,
        Argument::U32(flags),
    ])
}

/// Whether C is written through shared memory: as bfloat16, in rows of whole 16-byte units.
pub fn staged(problem: &Problem) -> bool {
    let (_, n, _) = problem.matrix();
    problem.out() == Element::Bf16 && n.is_multiple_of(ROW_ELEMENTS)
}

/// What the tile of a problem in bfloat16 is chosen by.
pub fn case(problem: &Problem, info: &DeviceInfo) -> Case {
    let (m, n, k) = problem.matrix();
    let stored = problem.kernel.kernel().storage();
    let bytes = |columns| Element::Bf16.bytes() * pitch(columns, [stored, Element::Bf16]);
    Case {
        m,
        n,
        k,
        batch: problem.form.batch,
        element: Element::Bf16.bytes(),
        pitches: [bytes(k), bytes(n)],
        units: u64::from(info.units),
    }
}

/// What the tile of a problem in TF32 is chosen by.
pub fn transposed_case(problem: &Problem, info: &DeviceInfo) -> Case {
    let (m, n, k) = problem.matrix();
    let bytes = |columns| Element::F32.bytes() * pitch(columns, [Element::F32; 2]);
    Case {
        m: n,
        n: m,
        element: Element::F32.bytes(),
        pitches: [bytes(n), bytes(k)],
        ..case(problem, info)
    }
}

/// The tile of `all` that a problem's variant is, or that is chosen.
pub fn tile(problem: &Problem, all: &[Tile], case: &Case) -> Tile {
    let named = all.iter().find(|tile| tile.variant == problem.variant);
    named.copied().unwrap_or_else(|| tiles::choose(all, case))
}
