//! What a compute roof belongs to: an execution unit and a precision.
//!
//! A GPU has one arithmetic bandwidth per unit and precision, so "the peak" alone says
//! nothing: every rate in the crate is tied to a [`Pipe`].

use std::fmt;
use std::str::FromStr;

/// The kind of execution unit that does the arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Unit {
    /// The scalar lanes of an SM ("CUDA cores").
    CudaCore,
    /// The matrix units of an SM.
    TensorCore,
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Unit::CudaCore => "CUDA cores",
            Unit::TensorCore => "tensor cores",
        })
    }
}

/// One execution unit at one precision: what a compute roof belongs to.
///
/// Tensor pipes are named by their input precision and accumulate in fp32 (int32 for int8,
/// fp64 for fp64), which matters on GeForce cards: they run fp16 and fp8 with fp16
/// accumulation at twice the rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Pipe {
    /// fp32 on the CUDA cores.
    Fp32,
    /// fp64 on the CUDA cores.
    Fp64,
    /// 32-bit integers on the CUDA cores; its "FLOPs" are integer operations.
    Int32,
    /// fp64 on the tensor cores.
    Fp64Tensor,
    /// TF32 on the tensor cores: fp32 storage, 10-bit mantissa in the multiplier.
    Tf32,
    /// bfloat16 on the tensor cores.
    Bf16,
    /// fp16 on the tensor cores.
    Fp16,
    /// fp8 (E4M3 or E5M2) on the tensor cores.
    Fp8,
    /// 8-bit integers on the tensor cores.
    Int8,
    /// fp4 (E2M1) on the tensor cores.
    Fp4,
}

impl Pipe {
    /// Every pipe, in the order in which tables list them.
    pub const ALL: [Pipe; 10] = [
        Pipe::Fp32,
        Pipe::Fp64,
        Pipe::Int32,
        Pipe::Fp64Tensor,
        Pipe::Tf32,
        Pipe::Bf16,
        Pipe::Fp16,
        Pipe::Fp8,
        Pipe::Int8,
        Pipe::Fp4,
    ];

    /// The identifier used by `--pipe`, by the `pipe` column and by the database.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            Pipe::Fp32 => "fp32",
            Pipe::Fp64 => "fp64",
            Pipe::Int32 => "int32",
            Pipe::Fp64Tensor => "fp64-tensor",
            Pipe::Tf32 => "tf32",
            Pipe::Bf16 => "bf16",
            Pipe::Fp16 => "fp16",
            Pipe::Fp8 => "fp8",
            Pipe::Int8 => "int8",
            Pipe::Fp4 => "fp4",
        }
    }

    /// The execution unit.
    #[must_use]
    pub fn unit(self) -> Unit {
        match self {
            Pipe::Fp32 | Pipe::Fp64 | Pipe::Int32 => Unit::CudaCore,
            _ => Unit::TensorCore,
        }
    }

    /// The precision of the inputs, as datasheets write it.
    #[must_use]
    pub fn precision(self) -> &'static str {
        match self {
            Pipe::Fp32 => "FP32",
            Pipe::Fp64 | Pipe::Fp64Tensor => "FP64",
            Pipe::Int32 => "INT32",
            Pipe::Tf32 => "TF32",
            Pipe::Bf16 => "BF16",
            Pipe::Fp16 => "FP16",
            Pipe::Fp8 => "FP8",
            Pipe::Int8 => "INT8",
            Pipe::Fp4 => "FP4",
        }
    }

    /// The unit of its rates: FLOP/s, or OP/s of an integer pipe.
    #[must_use]
    pub fn rate_unit(self) -> &'static str {
        match self {
            Pipe::Int32 | Pipe::Int8 => "OP/s",
            _ => "FLOP/s",
        }
    }
}

impl fmt::Display for Pipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}

/// A pipe's identifier that is not one of [`Pipe::ALL`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown pipe \"{given}\"; allowed: {}", ids())]
pub struct UnknownPipe {
    /// What was given.
    pub given: String,
}

fn ids() -> String {
    Pipe::ALL.map(Pipe::id).join(", ")
}

impl FromStr for Pipe {
    type Err = UnknownPipe;

    fn from_str(s: &str) -> Result<Self, Self::Err> {
        Pipe::ALL
            .into_iter()
            .find(|p| p.id().eq_ignore_ascii_case(s.trim()))
            .ok_or_else(|| UnknownPipe {
                given: s.to_owned(),
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_identifier_parses_back() {
        for pipe in Pipe::ALL {
            assert_eq!(pipe.id().to_uppercase().parse::<Pipe>(), Ok(pipe));
        }
    }

    #[test]
    fn an_unknown_pipe_is_answered_with_the_allowed_ones() {
        let message = "fp12".parse::<Pipe>().unwrap_err().to_string();
        assert!(
            message.contains("\"fp12\"") && message.contains("fp64-tensor"),
            "{message}"
        );
    }
}
