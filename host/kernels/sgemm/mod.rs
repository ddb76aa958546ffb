//! `sgemm`: C = A @ B + C, fp32, row-major.

mod check;

use super::{
    Argument, Bench, Check, Kernel, KernelId, Launch, OperandSpec, Problem, Role, SizeKind,
    Variant, stream,
};
use crate::device::{self, DeviceInfo, DeviceKind};
use crate::roofline::work::{self, Work, WorkError};
use gpu_kernels::params::{NAIVE_TILE, TILED_SHARED_BYTES, TILED_TILE};

/// The kernel `sgemm`.
///
/// Verified twice, see [`check`](self): exactly on small integers, and on the data that is
/// timed within a probabilistic bound. The error is absolute, per element of C.
pub struct Sgemm;

const CUDA: [Variant; 2] = [
    Variant {
        name: "naive",
        summary: "one thread an element, operands from global memory",
    },
    Variant {
        name: "tiled",
        summary: "32 x 32 tiles through shared memory",
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

    fn variants(&self, device: DeviceKind) -> &'static [Variant] {
        match device {
            DeviceKind::Cuda => &CUDA,
            DeviceKind::Cpu => &CPU,
        }
    }

    fn default_sizes(&self, device: DeviceKind) -> &'static str {
        match device {
            // The fp32 ridge of a data-centre GPU lies near N = 100 to 200; 2360 is the
            // lecture's claim.
            DeviceKind::Cuda => "16..2048,2360,4096,8192",
            DeviceKind::Cpu => "16..2048",
        }
    }

    fn quick_sizes(&self, device: DeviceKind) -> &'static str {
        match device {
            DeviceKind::Cuda => "64,1024,4096",
            DeviceKind::Cpu => "32,256,1024",
        }
    }

    fn ragged_sizes(&self) -> &'static str {
        "1..5:+1,15..17:+1,31..33:+1,63..65:+1,127..129:+1,255,257,1000,1025,\
         1x1x4097,1x4097x1,4097x1x1,3x5x7,17x33x65,129x65x257,257x129x31,2x1000x3,1000x3x2,\
         64x2048x512,1030x514x66"
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
            })
        };
        Ok(vec![
            operand("A", Role::In, m, k)?,
            operand("B", Role::In, k, n)?,
            operand("C", Role::InOut, m, n)?,
        ])
    }

    fn launch(&self, problem: &Problem, _: &DeviceInfo) -> Result<Launch, String> {
        let (m, n, k) = problem.matrix();
        let side = |value: u64| {
            u32::try_from(value)
                .ok()
                .filter(|&v| v <= i32::MAX as u32)
                .ok_or_else(|| format!("a side of {value} is more than the {} it takes", i32::MAX))
        };
        let (m32, n32, k32) = (side(m)?, side(n)?, side(k)?);
        let (entry, tile, shared_bytes) = match problem.variant {
            "naive" => ("sgemm_naive", NAIVE_TILE, 0),
            _ => ("sgemm_tiled", TILED_TILE, TILED_SHARED_BYTES),
        };
        let blocks = m.div_ceil(u64::from(tile)) * n.div_ceil(u64::from(tile));
        Ok(Launch {
            entry,
            grid: stream::grid(blocks)?,
            block: [tile, tile],
            shared_bytes,
            arguments: vec![
                Argument::Operand(0),
                Argument::Operand(1),
                Argument::Operand(2),
                Argument::U32(m32),
                Argument::U32(n32),
                Argument::U32(k32),
            ],
        })
    }

    fn verify(&self, bench: &mut Bench<'_>) -> device::Result<Check> {
        check::verify(bench)
    }
}
