//! The kernels on all cores.

use super::CpuDevice;
use crate::device::{Region, Result};
use crate::kernels::problem::SCALAR;
use crate::kernels::{KernelId, Problem};
use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use gpu_kernels::params::{FMA_ADDEND, FMA_CHAINS, FMA_MULTIPLIER};
use gpu_kernels::random::uniform;
use pulp::{Arch, Simd, WithSimd};
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

/// Chains of fused multiply-adds, as `fma_chains` computes them on a GPU.
struct Chains<'a> {
    /// One sum for each simulated thread.
    out: &'a mut [f32],
    /// Index of the first of these threads.
    first: u64,
    seed: u64,
    steps: u64,
}

impl WithSimd for Chains<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        const CHAINS: usize = FMA_CHAINS as usize;
        let mut chains: Vec<f32> = (0..self.out.len() * CHAINS)
            .map(|chain| uniform(self.seed, self.first * CHAINS as u64 + chain as u64))
            .collect();
        let (vectors, rest) = S::as_mut_simd_f32s(&mut chains);
        // An FMA takes four cycles and two start in each: eight in flight. With 32 registers
        // twice as many fit, which hides more.
        let loose = if S::F32_LANES >= 16 {
            in_registers::<S, 16>(simd, vectors, self.steps)
        } else {
            in_registers::<S, 8>(simd, vectors, self.steps)
        };
        in_registers::<S, 1>(simd, loose, self.steps);
        for r in rest {
            for _ in 0..self.steps {
                *r = r.mul_add(FMA_MULTIPLIER, FMA_ADDEND);
            }
        }
        for (out, chains) in self.out.iter_mut().zip(chains.chunks(CHAINS)) {
            *out = chains.iter().sum();
        }
    }
}

/// Runs `V` vectors of chains at a time in registers; returns the vectors that are left over.
#[inline(always)]
fn in_registers<S: Simd, const V: usize>(
    simd: S,
    vectors: &mut [S::f32s],
    steps: u64,
) -> &mut [S::f32s] {
    let (multiplier, addend) = (simd.splat_f32s(FMA_MULTIPLIER), simd.splat_f32s(FMA_ADDEND));
    let (blocks, loose) = vectors.as_chunks_mut::<V>();
    for block in blocks {
        let mut r = *block;
        for _ in 0..steps {
            for r in &mut r {
                *r = simd.mul_add_f32s(*r, multiplier, addend);
            }
        }
        *block = r;
    }
    loose
}
