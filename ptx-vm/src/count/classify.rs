//! What an instruction counts as: decided once, when the kernel is lowered.

use super::{Class, FlopRate, Pipe};
use crate::ir::{Bin, Fp, HalfFormat, Inst, MatrixTy, Space, Tri};

/// Class and operations of an instruction.
pub(crate) fn classify(inst: &Inst) -> (Class, FlopRate) {
    let none = FlopRate::default();
    let integer = |operations| FlopRate {
        pipe: Some(Pipe::Integer),
        operations,
        ..none
    };
    match inst {
        Inst::F32 { op, mode, .. } => {
            let rate = float(*op, Pipe::F32, 1);
            (
                Class::Float,
                FlopRate {
                    approximate: mode.approx,
                    ..rate
                },
            )
        }
        Inst::F64 { op, .. } => (Class::Float, float(*op, Pipe::F64, 1)),
        Inst::Half {
            op, format, packed, ..
        } => {
            let pipe = if *format == HalfFormat::F16 {
                Pipe::F16
            } else {
                Pipe::Bf16
            };
            (Class::Float, float(*op, pipe, 1 + u32::from(*packed)))
        }
        Inst::Tri32 {
            op: Tri::Mad | Tri::MadHiU | Tri::MadHiS | Tri::Mad24U | Tri::Mad24S,
            ..
        }
        | Inst::Mad16 { .. }
        | Inst::Mad64 { .. }
        | Inst::Wide16 { c: Some(_), .. }
        | Inst::Wide32 { c: Some(_), .. } => (Class::Integer, integer(2)),
        Inst::Tri32 {
            op: Tri::Dp4a { .. },
            ..
        } => (Class::Integer, integer(8)),
        Inst::Bin32 {
            op: Bin::And | Bin::Or | Bin::Xor,
            ..
        }
        | Inst::Bin16 { .. }
        | Inst::Bin32 { .. }
        | Inst::Bin64 { .. }
        | Inst::Shift64 { .. }
        | Inst::Un32 { .. }
        | Inst::Un64 { .. }
        | Inst::Tri32 { .. }
        | Inst::Wide16 { .. }
        | Inst::Wide32 { .. }
        | Inst::Bfe64 { .. }
        | Inst::Bfi32 { .. }
        | Inst::Bfi64 { .. }
        | Inst::Carry32 { .. }
        | Inst::Carry64 { .. } => (Class::Integer, integer(1)),
        Inst::Convert { .. } | Inst::ConvertPair { .. } => (Class::Convert, none),
        Inst::Mov32 { .. }
        | Inst::Mov64 { .. }
        | Inst::Pack64 { .. }
        | Inst::Unpack64 { .. }
        | Inst::Pack32 { .. }
        | Inst::Unpack32 { .. }
        | Inst::Pack64x4 { .. }
        | Inst::Unpack64x4 { .. }
        | Inst::Cvta { .. }
        | Inst::Dynamic { .. } => (Class::Move, none),
        Inst::MovP { .. }
        | Inst::LogicP { .. }
        | Inst::TestP { .. }
        | Inst::Setp32 { .. }
        | Inst::Setp64 { .. }
        | Inst::SetFrom { .. }
        | Inst::Selp32 { .. }
        | Inst::Selp64 { .. }
        | Inst::Slct { .. }
        | Inst::IsSpace { .. } => (Class::Compare, none),
        Inst::Load(access) => {
            let class = match access.space {
                Space::Shared => Class::LoadShared,
                Space::Local => Class::Local,
                Space::Param => Class::Param,
                _ => Class::LoadGlobal,
            };
            (class, none)
        }
        Inst::Store(access) => {
            let class = match access.space {
                Space::Shared => Class::StoreShared,
                Space::Local => Class::Local,
                _ => Class::StoreGlobal,
            };
            (class, none)
        }
        Inst::Atomic(_) => (Class::Atomic, none),
        Inst::AsyncCopy { .. } | Inst::AsyncCommit | Inst::AsyncWait { .. } => (Class::Async, none),
        Inst::Mma(mma) => (
            Class::Tensor,
            tensor(tensor_pipe(mma.ty), 2 * 16 * 8 * mma.k / 32),
        ),
        Inst::MmaDouble(mma) => (
            Class::Tensor,
            FlopRate {
                approximate: false,
                ..tensor(Pipe::TensorF64, 2 * mma.m * 8 * mma.k / 32)
            },
        ),
        Inst::Wgmma(wgmma) => (
            Class::Tensor,
            tensor(tensor_pipe(wgmma.ty), 2 * 64 * wgmma.n * wgmma.k / 128),
        ),
        Inst::WgmmaCommit | Inst::WgmmaWait { .. } | Inst::Matrix { .. } => (Class::Tensor, none),
        Inst::Bulk(_) | Inst::BulkCommit | Inst::BulkWait { .. } => (Class::Async, none),
        Inst::MapAddress { .. } | Inst::AddressRank { .. } => (Class::Move, none),
        Inst::ClusterArrive { .. } | Inst::ClusterWait => (Class::Barrier, none),
        Inst::Mbarrier { .. } | Inst::MbarrierWait { .. } => (Class::Barrier, none),
        Inst::Barrier { .. } | Inst::WarpBarrier { .. } | Inst::Fence | Inst::GridWait => {
            (Class::Barrier, none)
        }
        Inst::Shuffle { .. }
        | Inst::Vote { .. }
        | Inst::Match { .. }
        | Inst::Redux { .. }
        | Inst::Elect { .. } => (Class::Warp, none),
        Inst::Branch { .. } | Inst::Indexed { .. } | Inst::Exit | Inst::Trap => {
            (Class::Control, none)
        }
        Inst::Nop => (Class::Other, none),
    }
}

/// Negation, absolute value, minimum and maximum are no floating-point operations in the
/// roofline's sense; division and roots count one.
fn float(op: Fp, pipe: Pipe, lanes: u32) -> FlopRate {
    let operations = match op {
        Fp::Fma => 2,
        Fp::Neg | Fp::Abs | Fp::CopySign | Fp::Min { .. } | Fp::Max { .. } => 0,
        _ => 1,
    };
    FlopRate {
        pipe: Some(pipe),
        operations: operations * lanes,
        fused: op == Fp::Fma,
        approximate: false,
    }
}

fn tensor_pipe(ty: MatrixTy) -> Pipe {
    match ty {
        MatrixTy::F16 => Pipe::TensorF16,
        MatrixTy::Bf16 => Pipe::TensorBf16,
        MatrixTy::Tf32 => Pipe::TensorTf32,
        MatrixTy::E4m3 => Pipe::TensorFp8,
        MatrixTy::S8 => Pipe::TensorInt8,
    }
}

/// A matrix product, of which each thread is given its share.
fn tensor(pipe: Pipe, operations: u32) -> FlopRate {
    FlopRate {
        pipe: Some(pipe),
        operations,
        fused: true,
        // Sums of integers are exact.
        approximate: pipe != Pipe::TensorInt8,
    }
}

/// Whether an instruction may access shared memory in units smaller than 4 bytes.
pub(crate) fn narrow_shared(inst: &Inst) -> bool {
    match inst {
        Inst::Load(access) | Inst::Store(access) => {
            access.bytes < 4 && matches!(access.space, Space::Shared | Space::Generic)
        }
        _ => false,
    }
}
