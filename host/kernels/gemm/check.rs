//! Verification of batched matrix products at any size, for any storage and arithmetic.
//!
//! 1. **Exact pass.** Operands are small integers, so that every partial sum is an integer which
//!    the accumulators, and in the end C, hold exactly whatever the order of summation. Where C is
//!    f32 they are -2..=2: a sum of K such products has standard deviation 2 sqrt(K), and 2^24 is
//!    256 of them even at K = 2^30. Where C is bfloat16, exact up to 256, they are -1, 0 or 1, so
//!    few of them not 0 that 256 is at least eight standard deviations. Freivalds' check (R.
//!    Freivalds, "Probabilistic machines can use less running time", 1977) then asks whether
//!    C x = A (B x) + beta C0 x for random x, in integers modulo 2^64. With x uniform over 64 bits
//!    one wrong element of a row, off by d with |d| < 2^25, passes with probability below 2^-39 a
//!    vector.
//! 2. **Pass on the data that is timed.** Up to 2^27 multiply-adds element by element against f64;
//!    above, the same residual in f64 with x of random signs. Inputs are rounded first to what the
//!    multipliers see.
//!
//! **Bound of the second pass.** The sums of a dot product of uniform [-1, 1) data are a random
//! walk with steps of variance 1/9 from C0, |C0| <= 1, to the element's value c: a bridge.
//!
//! - *fp32 cores* round each sum s_k to nearest, which adds an error of variance at most
//!   u^2 s_k^2 / 3. Along a bridge sum_k s_k^2 = K (1 + |c| + c^2) / 3 + K^2 / 54 in expectation,
//!   whatever the order of the summands. An element's error thus has the variance
//!   V(c) = (u^2 / 3) times that, and the bound is `DEVIATIONS` sqrt(V(c)). Summing in blocks or
//!   by halves makes it smaller.
//! - *Tensor cores* add the products of a slice of k (16 for bfloat16, 8 for TF32) and the sum so
//!   far as integers aligned to the largest of them, and cut what lies below: by at most a unit in
//!   the last place of that largest, 2^-22 times its magnitude, for each summand; the cuts all
//!   point one way. No partial sum is larger than |c| + 1 + `BRIDGE` sqrt(K) / 3 (but for the
//!   chance exp(-2 `BRIDGE`^2) = 1e-14), and there are K (1 + 1/8) summands at most: the bound is
//!   2^-22 (9 K / 8) times that magnitude, times one.
//!
//! A C that is bfloat16 is rounded once more, by at most 2^-8 of its value. A residual sums the
//! errors of a row's N elements with random signs, so its bound is the root of the sum of the
//! squares, times `SIGNS` where they are bounds and not deviations (Hoeffding's inequality: the
//! chance is 2 exp(-`SIGNS`^2 / 2) = 3e-14); error and bound are divided by sqrt(N), to read as
//! those of one element. A missing element, tile or k tile shows as an error near sqrt(K)/3.

use crate::device::{Element, Fill, Result};
use crate::kernels::verify::{Reference, UNIT_ROUNDOFF, Worst, elementwise};
use crate::kernels::{Bench, Check, Data};
use gpu_kernels::random::{bits, stream};
use rayon::prelude::*;

/// Standard deviations of the bound of fp32 cores.
///
/// More than a normal distribution would ask for, because the sum of squares along a bridge
/// itself varies from element to element: its tail is that of the Cramer-von Mises statistic,
/// exp(-pi^2 x / 2) for x times 6 times its mean. An error of t standard deviations then has the
/// chance max over x of exp(-pi^2 x / 2 - t^2 / (12 x)) = exp(-pi t / sqrt(6)): at 25 it is
/// below 1.5e-14 an element.
const DEVIATIONS: f64 = 25.0;

/// Largest partial sum of a bridge, over the root of its variance at the end of a free walk.
const BRIDGE: f64 = 4.0;

/// Bound of a sum of bounded errors with random signs, over the root of the sum of their squares.
const SIGNS: f64 = 8.0;

/// Random vectors of Freivalds' check.
const VECTORS: usize = 2;

/// Largest number of multiply-adds that is checked element by element.
const ELEMENTWISE_MOST: u64 = 1 << 27;

/// Indices of the operands.
const A: usize = 0;
const B: usize = 1;
const C: usize = 2;

/// What multiplies and adds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Fused multiply-adds of f32.
    Fp32,
    /// Tensor cores that sum in f32.
    Tensor,
}

/// What happens to the numbers on their way from A and B to C.
#[derive(Debug, Clone, Copy)]
pub struct Arithmetic {
    /// What multiplies and adds.
    pub unit: Unit,
    /// What the multipliers see of an element of A or B that is stored as it is given.
    pub seen: fn(f32) -> f32,
}

/// A product that is being checked.
struct Case {
    m: u64,
    n: u64,
    k: u64,
    batch: u64,
    reads_c: bool,
    arithmetic: Arithmetic,
    /// What A and B, and what C is stored as.
    storage: Element,
    out: Element,
    seeds: [u64; 3],
}

/// Both passes.
///
/// # Errors
/// The device's error.
pub fn verify(bench: &mut Bench<'_>, arithmetic: Arithmetic) -> Result<Check> {
    let (m, n, k) = bench.problem.matrix();
    let form = bench.problem.form;
    let case = Case {
        m,
        n,
        k,
        batch: form.batch,
        reads_c: form.reads_c,
        arithmetic,
        storage: bench.problem.kernel.kernel().storage(),
        out: bench.problem.out(),
        seeds: [A, B, C].map(|operand| bench.problem.operand_seed(operand)),
    };
    let exact = case.exact_fills();
    bench.fill_with(exact)?;
    bench.run()?;
    if let Err(reason) = bench.check_guards()? {
        return Ok(Check::failed(reason));
    }
    if let Err(reason) = case.exact_residual(bench, exact)? {
        return Ok(Check::failed(format!("exact pass on integers: {reason}")));
    }

    let data = bench.problem.data;
    let fills = [A, B, C].map(|operand| bench.problem.fill(data, operand));
    bench.fill_with(fills)?;
    bench.run()?;
    let volume = [m, n, k, case.batch]
        .iter()
        .fold(1u64, |product, &side| product.saturating_mul(side));
    if volume <= ELEMENTWISE_MOST {
        let product = case.reference(fills);
        return elementwise(bench, C, |i| {
            let value = product[i as usize];
            let bound = case.bound(value, data);
            Reference { value, bound }
        });
    }
    if let Err(reason) = bench.check_guards()? {
        return Ok(Check::failed(reason));
    }
    Ok(case
        .real_residual(bench, fills, data)?
        .judge("residual of row"))
}

impl Case {
    /// Operands of the exact pass.
    fn exact_fills(&self) -> [Fill; 3] {
        self.seeds.map(|seed| match self.out {
            Element::F32 => Fill::Integers(seed),
            // A sum of K products, one in one_in^2 of which is 1 or -1: deviation sqrt(K) / one_in,
            // at most 32.
            Element::Bf16 => Fill::Signs {
                seed,
                one_in: ((self.k as f64).sqrt() / 32.0).ceil().max(2.0) as u32,
            },
        })
    }

    /// Bound of the error of an element whose value is `c`.
    fn bound(&self, c: f64, data: Data) -> f64 {
        let sums = match (data, self.arithmetic.unit) {
            // Exact in the accumulators.
            (Data::Integers | Data::Zeros, _) => 0.0,
            (Data::Random, Unit::Fp32) => DEVIATIONS * self.variance(c).sqrt(),
            (Data::Random, Unit::Tensor) => {
                let k = self.k as f64;
                let largest = c.abs() + 1.0 + BRIDGE * (k / 9.0).sqrt();
                4.0 * UNIT_ROUNDOFF * (9.0 * k / 8.0).max(1.0) * largest
            }
        };
        let stored = match self.out {
            Element::F32 => 0.0,
            Element::Bf16 => (c.abs() + sums) / 256.0,
        };
        sums + stored
    }

    /// Variance of the error of an element whose value is `c` on fp32 cores.
    fn variance(&self, c: f64) -> f64 {
        let k = self.k as f64;
        let squares = k * (1.0 + c.abs() + c * c) / 3.0 + k * k / 54.0;
        UNIT_ROUNDOFF * UNIT_ROUNDOFF / 3.0 * squares
    }

    /// Factor between the root of the sum of squared bounds and the bound of a residual.
    fn residual_factor(&self) -> f64 {
        match (self.arithmetic.unit, self.out) {
            // The bound is one of deviations: they add up as they are.
            (Unit::Fp32, Element::F32) => 1.0,
            _ => SIGNS,
        }
    }

    /// What the multipliers see of element `index` of A or B.
    fn input(&self, fill: Fill, index: u64) -> f32 {
        (self.arithmetic.seen)(fill.stored(self.storage, index))
    }

    /// Element `index` of what is added to the product.
    fn addend(&self, fill: Fill, index: u64) -> f32 {
        match self.reads_c {
            true => fill.stored(self.out, index),
            false => 0.0,
        }
    }

    /// A @ B + beta C0 in f64, row-major, one matrix behind the other.
    fn reference(&self, fills: [Fill; 3]) -> Vec<f64> {
        let list = |elements: u64, element: &(dyn Fn(u64) -> f32 + Sync)| -> Vec<f64> {
            (0..elements)
                .into_par_iter()
                .map(|i| f64::from(element(i)))
                .collect()
        };
        let (m, n, k) = (self.m as usize, self.n as usize, self.k as usize);
        let a = list(self.batch * self.m * self.k, &|i| self.input(fills[A], i));
        let b = list(self.batch * self.k * self.n, &|i| self.input(fills[B], i));
        let mut c = list(self.batch * self.m * self.n, &|i| self.addend(fills[C], i));
        c.par_chunks_mut(n).enumerate().for_each(|(row, sums)| {
            let b = &b[row / m * k * n..][..k * n];
            for (factor, b_row) in a[row * k..][..k].iter().zip(b.chunks(n)) {
                for (sum, &value) in sums.iter_mut().zip(b_row) {
                    *sum += factor * value;
                }
            }
        });
        c
    }

    /// A (B x) + beta C0 x, one entry a row of the stacked matrices.
    fn expected<T: Number>(
        &self,
        fills: [Fill; 3],
        number: impl Fn(f32) -> T + Sync,
        x: &[Vectors<T>],
    ) -> Vec<Vectors<T>> {
        let zeros = |rows: u64| vec![[T::ZERO; VECTORS]; rows as usize];
        // Rows of B of every product, side by side with the rows of x they meet.
        let bx = times(
            zeros(self.batch * self.k),
            |i| number(self.input(fills[B], i)),
            |_| x,
        );
        let (m, k) = (self.m as usize, self.k as usize);
        let abx = times(
            zeros(self.batch * self.m),
            |i| number(self.input(fills[A], i)),
            |row| &bx[row / m * k..][..k],
        );
        if !self.reads_c {
            return abx;
        }
        times(abx, |i| number(self.addend(fills[C], i)), |_| x)
    }

    /// Random bits for the vectors of the check; the stream differs from those of the operands.
    fn vectors<T: Send>(
        &self,
        bench: &Bench<'_>,
        from_bits: impl Fn(u64) -> T + Sync,
    ) -> Vec<Vectors<T>> {
        let seeds: [u64; VECTORS] =
            std::array::from_fn(|v| stream(bench.problem.seed, (C + 1 + v) as u64));
        (0..self.n)
            .into_par_iter()
            .map(|j| std::array::from_fn(|v| from_bits(bits(seeds[v], j))))
            .collect()
    }

    /// The exact pass: every element an integer that C holds exactly, and residual 0 modulo 2^64.
    fn exact_residual(
        &self,
        bench: &mut Bench<'_>,
        fills: [Fill; 3],
    ) -> Result<std::result::Result<(), String>> {
        let (limit, name) = match self.out {
            Element::F32 => ((1u32 << 24) as f32, "2^24"),
            Element::Bf16 => (256.0, "256"),
        };
        let x = self.vectors(bench, |bits| bits as i64);
        let expected = self.expected(fills, |value| value as i64, &x);
        let n = self.n;
        bench.inspect(C, n, |first, piece| {
            let first_row = first / n;
            piece
                .par_chunks(n as usize)
                .enumerate()
                .try_for_each(|(i, values)| {
                    let row = first_row + i as u64;
                    let mut sums = [0i64; VECTORS];
                    for (column, (&value, x)) in values.iter().zip(&x).enumerate() {
                        if value.is_nan() || value.abs() > limit || value.fract() != 0.0 {
                            return Err(format!(
                                "element ({row}, {column}) is {value:e}, not an integer up to {name}"
                            ));
                        }
                        sums = accumulate(sums, value as i64, x);
                    }
                    if sums == expected[row as usize] {
                        Ok(())
                    } else {
                        Err(format!("row {row} is wrong (Freivalds' residual is not 0)"))
                    }
                })
        })
    }

    /// The second pass above [`ELEMENTWISE_MOST`]: the row whose residual comes nearest to its
    /// bound.
    fn real_residual(&self, bench: &mut Bench<'_>, fills: [Fill; 3], data: Data) -> Result<Worst> {
        let x = self.vectors(bench, |bits| if bits & 1 == 0 { 1.0 } else { -1.0 });
        let expected = self.expected(fills, f64::from, &x);
        let n = self.n;
        let scale = 1.0 / (n as f64).sqrt();
        let mut worst = Worst::NONE;
        let inspected = bench.inspect(C, n, |first, piece| {
            let first_row = first / n;
            let rows = piece.par_chunks(n as usize).enumerate().map(|(i, values)| {
                let row = first_row + i as u64;
                let (mut sums, mut spread) = ([0f64; VECTORS], 0.0);
                for (&value, x) in values.iter().zip(&x) {
                    let value = f64::from(value);
                    sums = accumulate(sums, value, x);
                    spread += self.bound(value, data).powi(2);
                }
                let bound = scale * self.residual_factor() * spread.sqrt();
                let residuals = sums.iter().zip(&expected[row as usize]);
                residuals.fold(Worst::NONE, |worst, (sum, expected)| {
                    let value = scale * expected;
                    worst.or(Worst::of(scale * sum, Reference { value, bound }, row))
                })
            });
            worst = worst.or(rows.reduce(|| Worst::NONE, Worst::or));
            Ok(())
        })?;
        debug_assert!(inspected.is_ok(), "this inspection never stops early");
        Ok(worst)
    }
}

/// Numbers in which a residual is taken.
trait Number: Copy + Send + Sync {
    /// Zero.
    const ZERO: Self;
    /// `self + a * b`.
    fn plus_product(self, a: Self, b: Self) -> Self;
}

/// Integers modulo 2^64.
impl Number for i64 {
    const ZERO: Self = 0;
    fn plus_product(self, a: Self, b: Self) -> Self {
        self.wrapping_add(a.wrapping_mul(b))
    }
}

impl Number for f64 {
    const ZERO: Self = 0.0;
    fn plus_product(self, a: Self, b: Self) -> Self {
        self + a * b
    }
}

/// The same element of every vector of the check.
type Vectors<T> = [T; VECTORS];

/// `sums + element * x`, for every vector.
fn accumulate<T: Number>(sums: Vectors<T>, element: T, x: &Vectors<T>) -> Vectors<T> {
    std::array::from_fn(|v| sums[v].plus_product(element, x[v]))
}

/// `start + M x`: the matrix, whose element i is `element(i)`, is never stored; row r meets the
/// vectors `x(r)`.
fn times<'x, T: Number + 'x>(
    start: Vec<Vectors<T>>,
    element: impl Fn(u64) -> T + Sync,
    x: impl Fn(usize) -> &'x [Vectors<T>] + Sync,
) -> Vec<Vectors<T>> {
    start
        .into_par_iter()
        .enumerate()
        .map(|(row, start)| {
            let x = x(row);
            let first = row as u64 * x.len() as u64;
            (first..)
                .zip(x)
                .fold(start, |sums, (i, x)| accumulate(sums, element(i), x))
        })
        .collect()
}
