//! `sgemm`: C = A @ B + C, fp32, row-major.

mod check;
mod surplus;
mod tiles;

use super::{
    Argument, Bench, Check, Kernel, KernelId, Launch, Library, OperandSpec, Problem, Role,
    SizeKind, Surplus, Variant, stream,
};
use crate::device::{self, DeviceInfo, DeviceKind, Element};
use crate::roofline::work::{self, Work, WorkError};
use gpu_kernels::params::{
    NAIVE_TILE, REGISTER_BLOCK, REGISTER_SHARED_BYTES, REGISTER_TILE, TILED_SHARED_BYTES,
    TILED_TILE,
};

/// The kernel `sgemm`.
///
/// Verified twice, see [`check`](self): exactly on small integers, and on the data that is
/// timed within a probabilistic bound. The error is absolute, per element of C.
pub struct Sgemm;

const CUDA: [Variant; 5] = [
    Variant {
        name: "naive",
        summary: "one thread an element, operands from global memory",
    },
    Variant {
        name: "tiled",
        summary: "32 x 32 tiles through shared memory",
    },
    Variant {
        name: "register",
        summary: "8 x 8 elements a thread in registers, 128 x 128 tiles",
    },
    Variant {
        name: "async",
        summary: "128 x 256 tiles, copies that run beside the arithmetic",
    },
    Variant {
        name: "auto",
        summary: "tile and shares chosen for the shape, tiles cut along k so that no \
                  multiprocessor idles",
    },
];

const CPU: [Variant; 1] = [Variant {
    name: "gemm",
    summary: "the crate `gemm` on every core",
}];

impl Kernel for Sgemm {
    fn id(&self) -> KernelId {
        KernelId::Sgemm
    }

    fn summary(&self) -> &'static str {
        "C = A @ B + C"
    }

    fn size_kind(&self) -> SizeKind {
        SizeKind::Matrix
    }

    fn betas(&self) -> &'static [bool] {
        &[true]
    }

    fn variants(&self, device: DeviceKind) -> &'static [Variant] {
        match device {
            DeviceKind::Cuda | DeviceKind::Vm => &CUDA,
            DeviceKind::Cpu => &CPU,
        }
    }

    fn default_sizes(&self, device: DeviceKind) -> &'static str {
        match device {
            // The fp32 ridge of a data-centre GPU lies near N = 100 to 200; 2360 is the
            // lecture's claim.
            DeviceKind::Cuda | DeviceKind::Vm => "16..2048,2360,4096,8192",
            DeviceKind::Cpu => "16..2048",
        }
    }

    fn quick_sizes(&self, device: DeviceKind) -> &'static str {
        match device {
            DeviceKind::Cuda | DeviceKind::Vm => "64,1024,4096",
            DeviceKind::Cpu => "32,256,1024",
        }
    }

    fn ragged_sizes(&self) -> &'static str {
        "1..5:+1,15..17:+1,31..33:+1,63..65:+1,127..129:+1,255..257:+1,300,513,1000,1025,\
         1x1x4097,1x4097x1,4097x1x1,3x5x7,17x33x65,129x65x257,257x129x31,2x1000x3,1000x3x2,\
         64x2048x512,1030x514x66,4096x64x4096,129x260x33,300x520x1000,640x1024x96"
    }

    fn counted_sizes(&self) -> &'static str {
        "256,129x257x65"
    }

    fn surplus(&self, problem: &Problem, info: &DeviceInfo) -> Surplus {
        surplus::of(problem, info)
    }

    fn work(&self, problem: &Problem, _: &DeviceInfo) -> Result<Work, WorkError> {
        let (m, n, k) = problem.matrix();
        work::sgemm(m, n, k)
    }

    fn operands(&self, problem: &Problem, _: &DeviceInfo) -> Result<Vec<OperandSpec>, WorkError> {
        let (m, n, k) = problem.matrix();
        let operand = |name, role, rows: u64, columns: u64| {
            let elements = rows
                .checked_mul(columns)
                .filter(|&e| e <= u64::MAX / 8)
                .ok_or_else(|| WorkError::Overflow {
                    kernel: "sgemm",
                    what: "elements of an operand",
                    size: problem.size.to_string(),
                })?;
            Ok(OperandSpec {
                name,
                role,
                elements,
                element: Element::F32,
            })
        };
        Ok(vec![
            operand("A", Role::In, m, k)?,
            operand("B", Role::In, k, n)?,
            operand("C", Role::InOut, m, n)?,
        ])
    }

    fn launch(&self, problem: &Problem, info: &DeviceInfo) -> Result<Launch, String> {
        let (m, n, k) = problem.matrix();
        let side = |value: u64| {
            u32::try_from(value)
                .ok()
                .filter(|&v| v <= i32::MAX as u32)
                .ok_or_else(|| format!("a side of {value} is more than the {} it takes", i32::MAX))
        };
        let (m32, n32, k32) = (side(m)?, side(n)?, side(k)?);
        let operands = [
            Argument::Operand(0),
            Argument::Operand(1),
            Argument::Operand(2),
            Argument::U32(m32),
            Argument::U32(n32),
            Argument::U32(k32),
        ];
        if let Some(choice) = choice(problem, info) {
            return pipelined(&choice, &operands);
        }
        let (entry, tile, block, shared_bytes) = match problem.variant {
            "naive" => ("sgemm_naive", NAIVE_TILE, [NAIVE_TILE; 2], 0),
            "register" => (
                "sgemm_register",
                REGISTER_TILE,
                [REGISTER_BLOCK, 1],
                REGISTER_SHARED_BYTES,
            ),
            // The pipelined kernels come here with sides beyond their 32-bit offsets.
            _ => (
                "sgemm_tiled",
                TILED_TILE,
                [TILED_TILE; 2],
                TILED_SHARED_BYTES,
            ),
        };
        let blocks = m.div_ceil(u64::from(tile)) * n.div_ceil(u64::from(tile));
        Ok(Launch {
            entry,
            grid: stream::grid(blocks)?,
            block,
            shared_bytes,
            scratch_bytes: 0,
            arguments: operands.to_vec(),
        })
    }

    fn library(&self) -> Option<Library> {
        Some(Library::Sgemm)
    }

    fn verify(&self, bench: &mut Bench<'_>) -> device::Result<Check> {
        check::verify(bench)
    }
}

/// How a pipelined variant shares out the product, if one fits; `None` for the other variants.
fn choice(problem: &Problem, info: &DeviceInfo) -> Option<tiles::Choice> {
    let (m, n, k) = problem.matrix();
    match problem.variant {
        "async" => tiles::whole([m, n, k], info),
        "auto" => tiles::choose([m, n, k], info),
        _ => None,
    }
}

/// The launch of a pipelined kernel.
fn pipelined(choice: &tiles::Choice, operands: &[Argument]) -> Result<Launch, String> {
    let word = |value: u64| {
        u32::try_from(value)
            .map(Argument::U32)
            .map_err(|_| format!("a share of {value} k tiles is more than a block counts"))
    };
    let schedule = [
        word(choice.waves)?,
        word(choice.share)?,
        word(choice.extra)?,
        Argument::Scratch,
    ];
    Ok(Launch {
        entry: choice.entry,
        grid: stream::grid(choice.grid)?,
        block: [choice.shape.threads(), 1],
        shared_bytes: choice.shape.shared_bytes(),
        scratch_bytes: choice.scratch_bytes(),
        arguments: operands.iter().copied().chain(schedule).collect(),
    })
}
