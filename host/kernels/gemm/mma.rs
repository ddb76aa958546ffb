//! The step of `gemm-bf16` that every device of compute capability 8.0 or later takes: `mma.sync`.

use super::layout::word;
use crate::device::Element;
use crate::kernels::{Argument, Launch, Problem, Surplus, Variant, stream};
use gpu_kernels::params::{MMA, OUT_F32, READS_C};

/// The variant.
pub(super) const VARIANT: Variant = Variant {
    name: "mma",
    summary: "128 x 256 tiles by mma.sync, four k tiles on their way; on every device",
};

/// The entry whose copies are as wide as the rows of A and B allow.
fn entry(n: u64, k: u64) -> &'static str {
    let both = |unit| n.is_multiple_of(unit) && k.is_multiple_of(unit);
    match (both(8), both(2)) {
        (true, _) => "gemm_bf16_mma",
        (_, true) => "gemm_bf16_mma_even",
        _ => "gemm_bf16_mma_any",
    }
}

/// Tiles of C of all products.
fn tiles(problem: &Problem) -> u64 {
    let (m, n, _) = problem.matrix();
    let of_one = m
        .div_ceil(u64::from(MMA.m))
        .saturating_mul(n.div_ceil(u64::from(MMA.n)));
    of_one.saturating_mul(problem.form.batch)
}

/// The launch.
///
/// # Errors
/// A side or a number of tiles that is too large for it.
pub(super) fn launch(problem: &Problem) -> Result<Launch, String> {
    let (m, n, k) = problem.matrix();
    let flag = |set: bool, flag: u32| if set { flag } else { 0 };
    let flags = flag(problem.form.reads_c, READS_C) | flag(problem.out() == Element::F32, OUT_F32);
    Ok(Launch {
        entry: entry(n, k),
        grid: stream::grid(tiles(problem))?,
        block: [MMA.threads(), 1],
        shared_bytes: MMA.shared_bytes(),
        arguments: vec![
            Argument::Operand(0),
            Argument::Operand(1),
            Argument::Operand(2),
            word("a side", m)?,
            word("a side", n)?,
            word("a side", k)?,
            word("a batch", problem.form.batch)?,
            Argument::U32(flags),
        ],
        ..Launch::PLAIN
    })
}

/// FLOPs beyond the model: zeros that fill up tiles, and C, or 0 in its place, that is added to every
/// sum; in rows of odd length perhaps also to the sum behind the last.
pub(super) fn surplus(problem: &Problem) -> Surplus {
    let (m, n, k) = problem.matrix();
    let batch = problem.form.batch;
    let depth = k.next_multiple_of(u64::from(MMA.k));
    let tile = 2 * u64::from(MMA.m) * u64::from(MMA.n) * depth;
    Surplus {
        padding: tiles(problem) * tile - 2 * batch * m * n * k,
        overhead: batch * m * n,
        avoidable: if n % 2 == 1 { batch * m } else { 0 },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_as_wide_as_both_rows_allow() {
        assert_eq!(entry(64, 8), "gemm_bf16_mma");
        assert_eq!(entry(64, 10), "gemm_bf16_mma_even");
        assert_eq!(entry(12, 64), "gemm_bf16_mma_even");
        assert_eq!(entry(64, 7), "gemm_bf16_mma_any");
        assert_eq!(entry(1, 64), "gemm_bf16_mma_any");
    }
}
