//! Chains of fused multiply-adds in vector registers: `fma` and `mix`.

use gpu_kernels::params::{FMA_ADDEND, FMA_CHAINS, FMA_MULTIPLIER};
use gpu_kernels::random::uniform;
use pulp::{Simd, WithSimd};

/// The chains of `fma`, as `fma_chains` computes them on a GPU.
pub(super) struct Chains<'a> {
    /// One sum for each simulated thread.
    pub(super) out: &'a mut [f32],
    /// Index of the first of these threads.
    pub(super) first: u64,
    pub(super) seed: u64,
    pub(super) steps: u64,
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
        let loose = if wide::<S>() {
            in_place::<S, 16>(simd, vectors, self.steps)
        } else {
            in_place::<S, 8>(simd, vectors, self.steps)
        };
        in_place::<S, 1>(simd, loose, self.steps);
        for r in rest {
            *r = scalar(*r, self.steps);
        }
        for (out, chains) in self.out.iter_mut().zip(chains.chunks(CHAINS)) {
            *out = chains.iter().sum();
        }
    }
}

/// A part of `mix`: every element read, taken through a chain, and written.
pub(super) struct Mix<'a> {
    pub(super) from: &'a [f32],
    /// As long as `from`.
    pub(super) to: &'a mut [f32],
    /// FMAs of each element.
    pub(super) steps: u64,
}

impl WithSimd for Mix<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (from, from_rest) = S::as_simd_f32s(self.from);
        let (to, to_rest) = S::as_mut_simd_f32s(self.to);
        let (from, to) = if wide::<S>() {
            between::<S, 16>(simd, from, to, self.steps)
        } else {
            between::<S, 8>(simd, from, to, self.steps)
        };
        between::<S, 1>(simd, from, to, self.steps);
        for (to, from) in to_rest.iter_mut().zip(from_rest) {
            *to = scalar(*from, self.steps);
        }
    }
}

/// Whether there are registers for sixteen vectors at a time. An FMA takes four cycles and two
/// start in each: eight in flight. With 32 registers twice as many fit, which hides more.
#[inline(always)]
fn wide<S: Simd>() -> bool {
    S::F32_LANES >= 16
}

/// Runs `V` vectors of chains at a time; returns the vectors that are left over.
#[inline(always)]
fn in_place<S: Simd, const V: usize>(
    simd: S,
    vectors: &mut [S::f32s],
    steps: u64,
) -> &mut [S::f32s] {
    let (blocks, loose) = vectors.as_chunks_mut::<V>();
    for block in blocks {
        *block = in_registers(simd, *block, steps);
    }
    loose
}

/// Runs `V` vectors of chains at a time from one array to another; returns those left over.
#[inline(always)]
fn between<'a, S: Simd, const V: usize>(
    simd: S,
    from: &'a [S::f32s],
    to: &'a mut [S::f32s],
    steps: u64,
) -> (&'a [S::f32s], &'a mut [S::f32s]) {
    let (from, from_loose) = from.as_chunks::<V>();
    let (to, to_loose) = to.as_chunks_mut::<V>();
    for (to, from) in to.iter_mut().zip(from) {
        *to = in_registers(simd, *from, steps);
    }
    (from_loose, to_loose)
}

/// `steps` FMAs on every element of `V` vectors.
#[inline(always)]
fn in_registers<S: Simd, const V: usize>(simd: S, mut r: [S::f32s; V], steps: u64) -> [S::f32s; V] {
    let (multiplier, addend) = (simd.splat_f32s(FMA_MULTIPLIER), simd.splat_f32s(FMA_ADDEND));
    for _ in 0..steps {
        for r in &mut r {
            *r = simd.mul_add_f32s(*r, multiplier, addend);
        }
    }
    r
}

/// `steps` FMAs on one element.
#[inline(always)]
fn scalar(mut r: f32, steps: u64) -> f32 {
    for _ in 0..steps {
        r = r.mul_add(FMA_MULTIPLIER, FMA_ADDEND);
    }
    r
}
