//! Matrix products on tensor cores: C = A @ B + beta C, row-major, one or a batch of them.
//!
//! | module | what it is for |
//! |---|---|
//! | [`kernels`] | `gemm-bf16`, `gemm-tf32`, `gemm-mixed` |
//! | `wgmma` | their launches |
//! | `fused` | the launches of `gemm-mixed` that round on the way |
//! | `tiles` | which tile, by a cost model |
//! | `layout` | where A and B are read: as they lie, or from copies |
//! | `surplus` | FLOPs that they execute beyond 2 M N K |
//! | `mma` | the portable launch of `gemm-bf16` |
//! | [`check`] | verification of a product, also that of `sgemm` |

pub mod check;
mod fused;
pub mod kernels;
pub(super) mod layout;
mod mma;
mod surplus;
mod tiles;
mod wgmma;

use super::{OperandSpec, Problem, Role};
use crate::device::Element;
use crate::roofline::work::{self, GemmShape, GemmStorage, Storage, Work, WorkError};

/// A, B and C of a problem, `storage` being that of A and B.
pub(super) fn operands(problem: &Problem, storage: Element) -> Result<Vec<OperandSpec>, WorkError> {
    let (m, n, k) = problem.matrix();
    let operand = |name, role, rows: u64, columns: u64, element| {
        let elements = rows
            .checked_mul(columns)
            .and_then(|elements| elements.checked_mul(problem.form.batch))
            .filter(|&elements| elements <= u64::MAX / 8)
            .ok_or_else(|| WorkError::Overflow {
                kernel: problem.kernel.name(),
                what: "elements of an operand",
                size: problem.size.to_string(),
            })?;
        Ok(OperandSpec {
            name,
            role,
            elements,
            element,
        })
    };
    let c = if problem.form.reads_c {
        Role::InOut
    } else {
        Role::Out
    };
    Ok(vec![
        operand("A", Role::In, m, k, storage)?,
        operand("B", Role::In, k, n, storage)?,
        operand("C", c, m, n, problem.out())?,
    ])
}

/// FLOPs and bytes of a problem, `storage` being that of A and B.
pub(super) fn work(problem: &Problem, storage: Element) -> Result<Work, WorkError> {
    let (m, n, k) = problem.matrix();
    let batch = problem.form.batch;
    let stored = |element| match element {
        Element::F32 => Storage::F32,
        Element::Bf16 => Storage::Bf16,
    };
    let (input, out) = (stored(storage), stored(problem.out()));
    let storage = GemmStorage {
        a: input,
        b: input,
        c: out,
        out,
        reads_c: problem.form.reads_c,
    };
    work::gemm(GemmShape { m, n, k, batch }, storage)
}
