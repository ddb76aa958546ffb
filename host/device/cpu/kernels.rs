//! The kernels on all cores.

use super::CpuDevice;
use super::chains::{Chains, Mix};
use crate::device::{DeviceError, Region, Result};
use crate::kernels::problem::SCALAR;
use crate::kernels::{KernelId, Problem};
use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use pulp::Arch;
use rayon::prelude::*;

/// Runs a problem once.
pub(super) fn run(device: &mut CpuDevice, problem: &Problem, operands: &[Region]) -> Result<()> {
    let workers = device.info.units as usize;
    match problem.kernel {
        KernelId::Copy => {
            let [a, b] = device.operands(operands)?;
            let part = part(a.len(), workers);
            b.par_chunks_mut(part)
                .zip(a.par_chunks(part))
                .for_each(|(b, a)| b.copy_from_slice(a));
        }
        KernelId::Saxpy => {
            let [x, y] = device.operands(operands)?;
            let part = part(x.len(), workers);
            let arch = Arch::new();
            y.par_chunks_mut(part)
                .zip(x.par_chunks(part))
                .for_each(|(y, x)| {
                    arch.dispatch(
                        #[inline(always)]
                        || {
                            for (y, x) in y.iter_mut().zip(x) {
                                *y = x.mul_add(SCALAR, *y);
                            }
                        },
                    );
                });
        }
        KernelId::Triad => {
            let [a, b, c] = device.operands(operands)?;
            let part = part(a.len(), workers);
            let arch = Arch::new();
            let parts = a
                .par_chunks_mut(part)
                .zip(b.par_chunks(part))
                .zip(c.par_chunks(part));
            parts.for_each(|((a, b), c)| {
                arch.dispatch(
                    #[inline(always)]
                    || {
                        for ((a, b), c) in a.iter_mut().zip(b).zip(c) {
                            *a = c.mul_add(SCALAR, *b);
                        }
                    },
                );
            });
        }
        KernelId::Fma => {
            let [out] = device.operands(operands)?;
            let part = part(out.len(), workers);
            let (seed, steps) = (problem.operand_seed(0), problem.elements());
            out.par_chunks_mut(part)
                .enumerate()
                .for_each(|(index, out)| {
                    let first = (index * part) as u64;
                    Arch::new().dispatch(Chains {
                        out,
                        first,
                        seed,
                        steps,
                    });
                });
        }
        KernelId::Mix => {
            let [x, y] = device.operands(operands)?;
            let part = part(x.len(), workers);
            let steps = problem.fmas();
            y.par_chunks_mut(part)
                .zip(x.par_chunks(part))
                .for_each(|(to, from)| Arch::new().dispatch(Mix { from, to, steps }));
        }
        KernelId::Sgemm => {
            let [a, b, c] = device.operands(operands)?;
            let (m, n, k) = problem.matrix();
            let sides = [m as usize, n as usize, k as usize];
            if problem.form.batch == 1 {
                let all = match workers {
                    1 => Par::Seq,
                    _ => Par::rayon(workers),
                };
                add_product(a, b, c, sides, all);
            } else {
                let [m, n, k] = sides;
                c.par_chunks_mut(m * n)
                    .zip(a.par_chunks(m * k))
                    .zip(b.par_chunks(k * n))
                    .for_each(|((c, a), b)| add_product(a, b, c, sides, Par::Seq));
            }
        }
        KernelId::GemmBf16 | KernelId::GemmTf32 | KernelId::GemmMixed => {
            return Err(DeviceError::Unsupported(format!(
                "{} needs tensor cores, and a CPU has none",
                problem.kernel.name()
            )));
        }
    }
    Ok(())
}

/// C = A @ B + C, row-major, with sides m, n, k.
fn add_product(a: &[f32], b: &[f32], c: &mut [f32], [m, n, k]: [usize; 3], par: Par) {
    matmul(
        MatMut::from_row_major_slice_mut(c, m, n),
        Accum::Add,
        MatRef::from_row_major_slice(a, m, k),
        MatRef::from_row_major_slice(b, k, n),
        1.0,
        par,
    );
}

/// Elements of each worker's part.
fn part(elements: usize, workers: usize) -> usize {
    elements.div_ceil(workers.max(1)).max(1)
}
