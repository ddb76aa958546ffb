//! One measured size of a square matrix product.

use crate::roofline::work::Work;

/// A launch of square products of one size, and the time that it took.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Side of the matrices.
    pub n: u64,
    /// Independent products in the launch.
    pub batch: u64,
    /// FLOPs and bytes of the launch.
    pub work: Work,
    /// Time of the launch, s.
    pub seconds: f64,
}

impl Point {
    /// Achieved rate of operations, FLOP/s.
    #[must_use]
    pub fn flop_per_s(&self) -> f64 {
        self.work.flops as f64 / self.seconds
    }

    /// Achieved rate of compulsory traffic, byte/s.
    #[must_use]
    pub fn byte_per_s(&self) -> f64 {
        self.work.bytes as f64 / self.seconds
    }
}

/// The median of values, none of them NaN; of an even number the mean of the middle two. `None`
/// of no values.
pub(super) fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        odd if odd % 2 == 1 => Some(values[middle]),
        _ => Some((values[middle - 1] + values[middle]) / 2.0),
    }
}

#[cfg(test)]
pub(super) mod model {
    //! Points of a kernel whose asymptotes are known.

    use super::Point;
    use crate::roofline::work::Work;

    /// A kernel on a card: what the fit has to find again.
    #[derive(Clone, Copy, Debug)]
    pub struct Kernel {
        /// Bytes a second far left.
        pub byte_per_s: f64,
        /// FLOPs a second far right.
        pub flop_per_s: f64,
        /// Sharpness of the knee; times add up at 1.
        pub sharpness: f64,
    }

    /// Bytes of N^2 elements of all operands: fp32 with C read.
    pub const BITS: u32 = 128;

    impl Kernel {
        /// Its crossover.
        pub fn crossover(&self) -> f64 {
            self.flop_per_s / self.byte_per_s * f64::from(BITS) / 16.0
        }

        /// The point at a side, its time multiplied by `factor`.
        pub fn at(&self, n: u64, factor: f64) -> Point {
            let work = Work {
                flops: 2 * n * n * n,
                bytes: u64::from(BITS) / 8 * n * n,
            };
            let memory = work.bytes as f64 / self.byte_per_s;
            let compute = work.flops as f64 / self.flop_per_s;
            let p = self.sharpness;
            let largest = memory.max(compute);
            let sum = (memory / largest).powf(p) + (compute / largest).powf(p);
            Point {
                n,
                batch: 1,
                work,
                seconds: factor * largest * sum.powf(1.0 / p),
            }
        }

        /// Points at all of these sides, without noise.
        pub fn trace(&self, sides: &[u64]) -> Vec<Point> {
            sides.iter().map(|&n| self.at(n, 1.0)).collect()
        }
    }

    /// Sides like those of a measured trace: four an octave.
    pub fn sides(from: f64, to: f64) -> Vec<u64> {
        let mut sides = Vec::new();
        let mut n = from;
        while n <= to {
            sides.push(n.round() as u64);
            n *= 2f64.powf(0.25);
        }
        sides.dedup();
        sides
    }
}

#[cfg(test)]
mod tests {
    use super::median;

    #[test]
    fn the_median_is_the_middle() {
        assert_eq!(median(vec![]), None);
        assert_eq!(median(vec![3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), Some(2.5));
    }
}
