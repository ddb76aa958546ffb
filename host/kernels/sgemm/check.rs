//! Verification of matrix products at any size.
//!
//! The rows of a batch are numbered through: row i of product p is row p M + i of all.
//!
//! 1. **Exact pass.** Operands are the integers -2..=2, so every partial sum is an integer; it
//!    stays below 2^24, hence exact in fp32 in any order of summation (a sum of K such products
//!    has standard deviation 2 sqrt(K): 2^24 is 256 of them even at K = 2^30). Freivalds' check
//!    (R. Freivalds, "Probabilistic machines can use less running time", 1977) then asks whether
//!    C x = A (B x) + C0 x for random x, in integers modulo 2^64. With x uniform over 64 bits
//!    one wrong element of a row, off by d with |d| < 2^25, passes with probability below
//!    2^-39 a vector.
//! 2. **Pass on the data that is timed.** Up to 2^27 multiply-adds element by element against f64;
//!    above, the same residual in f64 with x of random signs.
//!
//! **Bound of the second pass.** Rounding the k-th partial sum s_k adds an error of variance at
//! most u^2 s_k^2 / 3 (uniform within half a unit in the last place). For uniform [-1, 1) data
//! the partial sums are a random walk with steps of variance 1/9 from C0, |C0| <= 1, to the
//! element's value c; between its ends such a walk is a bridge, so that
//! sum_k s_k^2 = K (1 + |c| + c^2) / 3 + K^2 / 54 in expectation, whatever the order of the
//! summands. An element's error thus has the variance V(c) = (u^2 / 3) times that, and the bound
//! is [`DEVIATIONS`] sqrt(V(c)). Summing in blocks or by halves makes it smaller. A residual sums
//! the errors of a row's N elements with random signs, so its bound is [`DEVIATIONS`] times the
//! root of the row's sum of V(c); error and bound are divided by sqrt(N), to read as those of one
//! element. A missing element, tile or k tile shows as an error near sqrt(K)/3.

use crate::device::Result;
use crate::kernels::verify::{Reference, UNIT_ROUNDOFF, Worst, elementwise};
use crate::kernels::{Bench, Check, Data};
use gpu_kernels::random::{bits, integer, stream, uniform};
use rayon::prelude::*;

/// Standard deviations of the bound.
///
/// More than a normal distribution would ask for, because the sum of squares along a bridge
/// itself varies from element to element: its tail is that of the Cramer-von Mises statistic,
/// exp(-pi^2 x / 2) for x times 6 times its mean. An error of t standard deviations then has the
/// chance max over x of exp(-pi^2 x / 2 - t^2 / (12 x)) = exp(-pi t / sqrt(6)): at 25 it is
/// below 1.5e-14 an element.
const DEVIATIONS: f64 = 25.0;

/// Random vectors of Freivalds' check.
const VECTORS: usize = 2;

/// Largest number of multiply-adds that is checked element by element.
const ELEMENTWISE_MOST: u64 = 1 << 27;

/// Indices of the operands.
const A: usize = 0;
const B: usize = 1;
const C: usize = 2;

/// Both passes.
///
/// # Errors
/// The device's error.
pub fn verify(bench: &mut Bench<'_>) -> Result<Check> {
    bench.fill(Data::Integers)?;
    bench.run()?;
    if let Err(reason) = bench.check_guards()? {
        return Ok(Check::failed(reason));
    }
    if let Err(reason) = exact_residual(bench)? {
        return Ok(Check::failed(format!("exact pass on integers: {reason}")));
    }

    let data = bench.problem.data;
    bench.fill(data)?;
    bench.run()?;
    let (m, n, k) = bench.problem.matrix();
    let sides = [bench.problem.form.batch, m, n, k];
    if sides.into_iter().fold(1, u64::saturating_mul) <= ELEMENTWISE_MOST {
        let product = reference_product(bench, data);
        return elementwise(bench, C, |i| {
            let value = product[i as usize];
            Reference {
                value,
                bound: DEVIATIONS * variance(k, value, data).sqrt(),
            }
        });
    }
    if let Err(reason) = bench.check_guards()? {
        return Ok(Check::failed(reason));
    }
    Ok(real_residual(bench, data)?.judge("residual of row"))
}

/// Variance of the error of an element with the value `c` after `k` multiply-adds: see the head
/// of this module.
fn variance(k: u64, c: f64, data: Data) -> f64 {
    match data {
        Data::Random => {
            let k = k as f64;
            let squares = k * (1.0 + c.abs() + c * c) / 3.0 + k * k / 54.0;
            UNIT_ROUNDOFF * UNIT_ROUNDOFF / 3.0 * squares
        }
        // Exact in fp32.
        Data::Integers | Data::Zeros => 0.0,
    }
}

/// Element `index` of the stream `seed` under a distribution.
fn element(data: Data, seed: u64, index: u64) -> f32 {
    match data {
        Data::Random => uniform(seed, index),
        Data::Integers => integer(seed, index),
        Data::Zeros => 0.0,
    }
}

/// A @ B + C0 in f64, row-major, product by product.
fn reference_product(bench: &Bench<'_>, data: Data) -> Vec<f64> {
    let (m, n, k) = bench.problem.matrix();
    let operand = |index: usize, elements: u64| -> Vec<f64> {
        let seed = bench.problem.operand_seed(index);
        (0..bench.problem.form.batch * elements)
            .into_par_iter()
            .map(|i| f64::from(element(data, seed, i)))
            .collect()
    };
    let (a, b) = (operand(A, m * k), operand(B, k * n));
    let mut c = operand(C, m * n);
    let (m, n, k) = (m as usize, n as usize, k as usize);
    c.par_chunks_mut(n)
        .zip(a.par_chunks(k))
        .enumerate()
        .for_each(|(i, (row, a_row))| {
            let b = &b[i / m * (k * n)..];
            for (factor, b_row) in a_row.iter().zip(b.chunks(n)) {
                for (sum, &value) in row.iter_mut().zip(b_row) {
                    *sum += factor * value;
                }
            }
        });
    c
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

/// `start + M x` for the matrices M of a batch, `rows` rows each, whose element i is `element(i)`
/// and never stored; `x(p)` is the vector of product p.
fn times<'x, T: Number + 'x>(
    start: Vec<Vectors<T>>,
    rows: u64,
    element: impl Fn(u64) -> T + Sync,
    x: impl Fn(usize) -> &'x [Vectors<T>] + Sync,
) -> Vec<Vectors<T>> {
    start
        .into_par_iter()
        .enumerate()
        .map(|(row, start)| {
            let x = x(row / rows as usize);
            let first = row as u64 * x.len() as u64;
            (first..)
                .zip(x)
                .fold(start, |sums, (i, x)| accumulate(sums, element(i), x))
        })
        .collect()
}

/// A (B x) + C0 x, one entry a row of C; all products have the same x.
fn expected<T: Number>(
    bench: &Bench<'_>,
    element: impl Fn(u64, u64) -> T + Sync,
    x: &[Vectors<T>],
) -> Vec<Vectors<T>> {
    let (m, _, k) = bench.problem.matrix();
    let [seed_a, seed_b, seed_c] = [A, B, C].map(|operand| bench.problem.operand_seed(operand));
    let batch = bench.problem.form.batch;
    let zeros = |rows: u64| vec![[T::ZERO; VECTORS]; (batch * rows) as usize];
    let bx = times(zeros(k), k, |i| element(seed_b, i), |_| x);
    let deep = k as usize;
    let of_product = |product: usize| &bx[product * deep..(product + 1) * deep];
    let abx = times(zeros(m), m, |i| element(seed_a, i), of_product);
    times(abx, m, |i| element(seed_c, i), |_| x)
}

/// Random bits for the vectors of the check; the stream differs from those of the operands.
fn vectors<T: Send>(bench: &Bench<'_>, from_bits: impl Fn(u64) -> T + Sync) -> Vec<Vectors<T>> {
    let (_, n, _) = bench.problem.matrix();
    let seeds: [u64; VECTORS] =
        std::array::from_fn(|v| stream(bench.problem.seed, (C + 1 + v) as u64));
    (0..n)
        .into_par_iter()
        .map(|j| std::array::from_fn(|v| from_bits(bits(seeds[v], j))))
        .collect()
}

/// The exact pass: every element an integer below 2^24, and residual 0 modulo 2^64.
fn exact_residual(bench: &mut Bench<'_>) -> Result<std::result::Result<(), String>> {
    const LIMIT: f32 = (1u32 << 24) as f32;
    let (_, n, _) = bench.problem.matrix();
    let x = vectors(bench, |bits| bits as i64);
    let expected = expected(bench, |seed, i| integer(seed, i) as i64, &x);
    bench.inspect(C, n, |first, piece| {
        let first_row = first / n;
        piece
            .par_chunks(n as usize)
            .enumerate()
            .try_for_each(|(i, values)| {
                let row = first_row + i as u64;
                let mut sums = [0i64; VECTORS];
                for (column, (&value, x)) in values.iter().zip(&x).enumerate() {
                    if value.is_nan() || value.abs() >= LIMIT || value.fract() != 0.0 {
                        return Err(format!(
                            "element ({row}, {column}) is {value:e}, not an integer below 2^24"
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
fn real_residual(bench: &mut Bench<'_>, data: Data) -> Result<Worst> {
    let (_, n, k) = bench.problem.matrix();
    let x = vectors(bench, |bits| if bits & 1 == 0 { 1.0 } else { -1.0 });
    let expected = expected(bench, |seed, i| f64::from(element(data, seed, i)), &x);
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
                spread += variance(k, value, data);
            }
            let bound = scale * DEVIATIONS * spread.sqrt();
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
