//! `gemm-bf16`: C = A @ B + beta C, bfloat16 in, f32 sums, bfloat16 or f32 out.

use super::check::{Arithmetic, Unit};
use super::tiles::{self, Case, TILES, Tile};
use super::{check, mma, operands, work};
use crate::device::{self, DeviceInfo, DeviceKind, Element};
use crate::kernels::{
    Argument, Bench, Check, Kernel, KernelId, Launch, Library, OperandSpec, Place, Problem,
    SizeKind, Surplus, TensorMap, Variant, stream,
};
use crate::roofline::peak::ComputeCapability;
use crate::roofline::pipe::Pipe;
use crate::roofline::work::{Work, WorkError};
use gpu_kernels::params::{
    OUT_F32, PANEL_COLUMNS, READS_C, ROW_ELEMENTS, SCRATCH_COUNTERS, STAGES_C, SUPPORT_BLOCK,
    TENSOR_DEPTH,
};

/// The kernel `gemm-bf16`.
pub struct GemmBf16;

const CUDA: [Variant; 9] = [
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
        name: "flat",
        summary: "64 x 128 tiles, no clusters, two blocks a multiprocessor",
    },
    Variant {
        name: "small",
        summary: "64 x 64 tiles, no clusters, five blocks a multiprocessor",
    },
    Variant {
        name: "auto",
        summary: "the tile that a cost model chooses for the shape",
    },
];

/// Inputs, which are bfloat16 already, multiply exactly.
const ARITHMETIC: Arithmetic = Arithmetic {
    unit: Unit::Tensor,
    seen: |value| value,
};

/// The only compute capability with `wgmma`.
const WGMMA: ComputeCapability = ComputeCapability::new(9, 0);

/// Indices of the operands.
const A: usize = 0;
const B: usize = 1;
const C: usize = 2;

impl Kernel for GemmBf16 {
    fn id(&self) -> KernelId {
        KernelId::GemmBf16
    }

    fn summary(&self) -> &'static str {
        "C = A @ B + C in bfloat16 on tensor cores"
    }

    fn pipe(&self) -> Pipe {
        Pipe::Bf16
    }

    fn storage(&self) -> Element {
        Element::Bf16
    }

    fn outputs(&self) -> &'static [Element] {
        &[Element::Bf16, Element::F32]
    }

    fn betas(&self) -> &'static [bool] {
        &[true, false]
    }

    fn batches(&self) -> bool {
        true
    }

    fn size_kind(&self) -> SizeKind {
        SizeKind::Matrix
    }

    fn variants(&self, device: DeviceKind) -> &'static [Variant] {
        match device {
            DeviceKind::Cuda | DeviceKind::Vm => &CUDA,
            DeviceKind::Cpu => &[],
        }
    }

    fn runs_on(&self, variant: &Variant, device: &DeviceInfo) -> bool {
        *variant == mma::VARIANT || device.compute_capability == Some(WGMMA)
    }

    fn default_sizes(&self, _: DeviceKind) -> &'static str {
        "256..16384,2360,12288"
    }

    fn quick_sizes(&self, _: DeviceKind) -> &'static str {
        "256,2048,8192"
    }

    fn ragged_sizes(&self) -> &'static str {
        "1,7,8,63..65:+1,127..129:+1,255..257:+1,1000,1x1x4096,1x4096x1,4096x1x1,3x5x7,\
         64x64x1000,129x65x257,257x193x31,2x1000x3,300x520x1000,1000x200x8"
    }

    fn counted_sizes(&self) -> &'static str {
        "256,129x200x72"
    }

    fn work(&self, problem: &Problem, _: &DeviceInfo) -> Result<Work, WorkError> {
        work(problem, Element::Bf16)
    }

    fn operands(&self, problem: &Problem, _: &DeviceInfo) -> Result<Vec<OperandSpec>, WorkError> {
        operands(problem, Element::Bf16)
    }

    fn surplus(&self, problem: &Problem, _: &DeviceInfo) -> Surplus {
        match problem.variant == mma::VARIANT.name {
            true => mma::surplus(problem),
            false => Surplus::default(),
        }
    }

    fn preparation(&self, problem: &Problem, info: &DeviceInfo) -> Result<Vec<Launch>, String> {
        if problem.variant == mma::VARIANT.name {
            return Ok(Vec::new());
        }
        let scratch_bytes = layout(problem).end;
        let (m, n, k) = problem.matrix();
        let batch = problem.form.batch;
        let mut launches = Vec::new();
        for (operand, rows, columns, place) in [
            (A, batch * m, k, layout(problem).a),
            (B, batch * k, n, layout(problem).b),
        ] {
            let Place::Scratch(offset) = place else {
                continue;
            };
            let pitch = padded(columns);
            let blocks = (rows * pitch).div_ceil(u64::from(SUPPORT_BLOCK) * ROW_ELEMENTS);
            launches.push(Launch {
                entry: "pad_rows_16",
                grid: stream::grid(blocks.min(u64::from(info.units) * 16))?,
                block: [SUPPORT_BLOCK, 1],
                shared_bytes: 0,
                scratch_bytes,
                arguments: vec![
                    Argument::Operand(operand),
                    Argument::Scratch,
                    Argument::U64(offset),
                    Argument::U64(rows),
                    Argument::U32(columns as u32),
                    Argument::U32(pitch as u32),
                ],
            });
        }
        Ok(launches)
    }

    fn launch(&self, problem: &Problem, info: &DeviceInfo) -> Result<Launch, String> {
        if problem.variant == mma::VARIANT.name {
            return mma::launch(problem);
        }
        if info.compute_capability != Some(WGMMA) {
            return Err(format!(
                "gemm-bf16 {} needs wgmma, which compute capability 9.0 has; this device is {}",
                problem.variant,
                info.compute_capability
                    .map_or_else(|| "no GPU".to_owned(), |found| found.to_string())
            ));
        }
        let (m, n, k) = problem.matrix();
        let batch = problem.form.batch;
        let word = |what: &str, value: u64| {
            u32::try_from(value)
                .ok()
                .filter(|&word| word <= i32::MAX as u32)
                .map(Argument::U32)
                .ok_or_else(|| format!("{what} of {value} is more than the {} it takes", i32::MAX))
        };
        let case = Case {
            m,
            n,
            k,
            batch,
            units: u64::from(info.units),
        };
        let tile = tile(problem, &case);
        let shape = tile.shape;
        let place = layout(problem);
        let map = |matrix, rows, columns: u64, box_rows| {
            let columns = match matrix {
                Place::Operand(_) => columns,
                Place::Scratch(_) => padded(columns),
            };
            Argument::TensorMap(TensorMap {
                matrix,
                element: Element::Bf16,
                columns,
                rows,
                batch,
                box_columns: PANEL_COLUMNS,
                box_rows,
            })
        };
        let out = problem.out();
        let staged = out == Element::Bf16 && n.is_multiple_of(ROW_ELEMENTS);
        let flag = |set: bool, flag: u32| if set { flag } else { 0 };
        let flags = flag(problem.form.reads_c, READS_C)
            | flag(out == Element::F32, OUT_F32)
            | flag(staged, STAGES_C);
        Ok(Launch {
            entry: tile.entry,
            grid: stream::grid(tile.grid(&case))?,
            block: [shape.threads(), 1],
            shared_bytes: shape.shared_bytes(),
            scratch_bytes: place.end,
            arguments: vec![
                map(place.a, m, k, shape.m()),
                map(place.b, k, n, TENSOR_DEPTH / shape.cluster),
                match staged {
                    true => map(Place::Operand(C), m, n, 64),
                    // Never looked at.
                    false => Argument::U64(0),
                },
                Argument::Operand(C),
                word("a side", m)?,
                word("a side", n)?,
                word("a side", k)?,
                word("a batch", batch)?,
                Argument::U32(flags),
            ],
        })
    }

    fn library(&self) -> Option<Library> {
        Some(Library::GemmBf16)
    }

    fn verify(&self, bench: &mut Bench<'_>) -> device::Result<Check> {
        check::verify(bench, ARITHMETIC)
    }
}

/// The tile of a problem's variant.
fn tile(problem: &Problem, case: &Case) -> Tile {
    TILES
        .into_iter()
        .find(|tile| tile.variant == problem.variant)
        .unwrap_or_else(|| tiles::choose(case))
}

/// Columns of a row that starts at a multiple of 16 bytes again.
fn padded(columns: u64) -> u64 {
    columns.next_multiple_of(ROW_ELEMENTS)
}

/// Where A and B are read from, and where the scratch memory ends.
struct Layout {
    a: Place,
    b: Place,
    end: u64,
}

/// Bulk copies take rows of whole 16-byte units: others are copied to the scratch memory first,
/// each row padded with zeros.
fn layout(problem: &Problem) -> Layout {
    let (m, n, k) = problem.matrix();
    let batch = problem.form.batch;
    let mut end = 0;
    let mut place = |operand, rows: u64, columns: u64| {
        if columns.is_multiple_of(ROW_ELEMENTS) {
            return Place::Operand(operand);
        }
        // What is counted there is left alone.
        let start = end.max(4 * u64::from(SCRATCH_COUNTERS));
        end = start + (rows * padded(columns) * 2).next_multiple_of(256);
        Place::Scratch(start)
    };
    let (a, b) = (place(A, batch * m, k), place(B, batch * k, n));
    Layout { a, b, end }
}
