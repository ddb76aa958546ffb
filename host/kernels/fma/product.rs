//! The product that a tensor core's peak kernel computes: references and error bounds.
//!
//! Step s adds slice s mod S of A @ B, where S is the number of slices, to the accumulators. Where
//! they restart, they hold the last turn over the slices alone.
//!
//! **When a sum is exact.** The products are multiples of a unit: 1 for integers, 1/256 for the
//! random values of E4M3. While the absolute values of all summands together stay below 2^(f+1)
//! units, where f is the number of fraction bits that accumulators keep, every partial sum is
//! exact whatever the order, and the bound is 0. Sums of signed bytes wrap around, which is exact
//! too: only the lower 24 bits are stored and compared.
//!
//! **Otherwise** a step aligns its k products and the accumulator to the largest of them, cuts off
//! what lies below 2^-f of it, once each and once more at its end: by at most (k + 2) 2^-f times
//! the magnitude of the sum so far, which after s of n steps is at most (s + S - 1) / n of P, the
//! sum of the absolute values of all summands. Over n steps that is at most
//! (k + 2) 2^-f P (n / 2 + S).

use super::double::{TWO_F32, UNIT_ROUNDOFF_F64};
use crate::kernels::Data;
use crate::kernels::verify::{Reference, UNIT_ROUNDOFF};
use gpu_kernels::operands::{Format, PEAK_BLOCK, PeakTile, double};
use gpu_kernels::operands::{INTEGERS, RANDOM, ZEROS};
use gpu_kernels::random::stream;
use rayon::prelude::*;

/// A product as it is launched.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Product {
    pub tile: PeakTile,
    pub data: Data,
    pub seed: u64,
    pub steps: u64,
    /// Whether the accumulators restart with each turn over the slices.
    pub restarts: bool,
}

/// How the kernel is told what its operands are.
pub(super) fn filled(data: Data) -> u32 {
    match data {
        Data::Random => RANDOM,
        Data::Integers => INTEGERS,
        Data::Zeros => ZEROS,
    }
}

/// An accumulator: its value, its error, and the sum of the absolute values of its summands.
#[derive(Clone, Copy)]
struct Sum {
    value: f64,
    bound: f64,
    absolute: f64,
}

impl Product {
    /// How often each slice is part of the accumulators at the end.
    fn times(&self) -> Vec<u64> {
        let slices = u64::from(self.tile.slices);
        let (turns, rest) = (self.steps / slices, self.steps % slices);
        (0..slices)
            .map(|slice| match (self.restarts, rest) {
                (true, 0) => 1,
                (true, _) => u64::from(slice < rest),
                (false, _) => turns + u64::from(slice < rest),
            })
            .collect()
    }

    /// Fraction bits that accumulators keep.
    ///
    /// 14 bits of sums of E4M3 on Hopper: DeepSeek-AI, "DeepSeek-V3 technical report", 2024,
    /// section 3.3.2.
    fn fraction_bits(&self) -> i32 {
        match self.tile.format {
            Format::E4m3 => 13,
            Format::F64 => 52,
            _ => 23,
        }
    }

    /// What all products are multiples of; `None` if sums need not be exact.
    fn unit(&self) -> Option<f64> {
        match (self.data, self.tile.format) {
            (Data::Random, Format::E4m3) => Some(1.0 / 256.0),
            (Data::Random, Format::S8) | (Data::Integers | Data::Zeros, _) => Some(1.0),
            (Data::Random, _) => None,
        }
    }

    /// `lines` rows of A, or columns of B, along k.
    fn lines(&self, operand: u64, lines: u32) -> Vec<f64> {
        let (seed, data) = (stream(self.seed, operand), filled(self.data));
        (0..u64::from(lines * self.tile.depth()))
            .map(|index| match self.tile.format {
                Format::F64 => double(data, seed, index),
                format => f64::from(format.value(data, seed, index)),
            })
            .collect()
    }

    /// Every accumulator of a block, row by row.
    fn sums(&self) -> Vec<Sum> {
        let tile = &self.tile;
        let (depth, k) = (tile.depth() as usize, tile.k as usize);
        let times = self.times();
        let steps = times.iter().sum::<u64>() as f64;
        let cut = f64::from(tile.k + 2)
            * (-f64::from(self.fraction_bits())).exp2()
            * (steps / 2.0 + f64::from(tile.slices));
        // What this computation rounds itself.
        let own = (depth as f64 + 2.0) * UNIT_ROUNDOFF_F64;
        let whole = f64::from(self.fraction_bits() + 1).exp2();
        let (a, b) = (self.lines(0, tile.m()), self.lines(1, tile.n));
        let sum = |row: &[f64], column: &[f64]| {
            let (mut value, mut absolute) = (0.0, 0.0);
            for (slice, &times) in times.iter().enumerate() {
                let part = slice * k..(slice + 1) * k;
                for (x, y) in row[part.clone()].iter().zip(&column[part]) {
                    value += times as f64 * x * y;
                    absolute += times as f64 * (x * y).abs();
                }
            }
            let exact = tile.format == Format::S8
                || self.unit().is_some_and(|unit| absolute < whole * unit);
            Sum {
                value,
                bound: if exact { 0.0 } else { (cut + own) * absolute },
                absolute,
            }
        };
        a.par_chunks(depth)
            .flat_map_iter(|row| b.chunks(depth).map(move |column| (row, column)))
            .map(|(row, column)| sum(row, column))
            .collect()
    }

    /// What each thread of a block stores.
    pub fn references(&self) -> Vec<Reference> {
        let sums = self.sums();
        let columns = self.tile.n;
        (0..PEAK_BLOCK)
            .map(|thread| {
                let mine = (0..self.tile.sums()).map(|index| {
                    let (row, column) = self.tile.place(thread, index);
                    sums[(row * columns + column) as usize]
                });
                self.stored(mine)
            })
            .collect()
    }

    /// What a thread with these accumulators stores: their sum in f64 as one f32 or two, or the
    /// lower 24 bits of the integer.
    fn stored(&self, sums: impl Iterator<Item = Sum>) -> Reference {
        let mut total = Sum {
            value: 0.0,
            bound: 0.0,
            absolute: 0.0,
        };
        let mut count = 0.0;
        for sum in sums {
            total.value += sum.value;
            total.bound += sum.bound;
            total.absolute += sum.absolute;
            count += 1.0;
        }
        if self.tile.format == Format::S8 {
            return Reference {
                value: f64::from(total.value as i64 as i32 & 0xff_ffff),
                bound: 0.0,
            };
        }
        let unit = self.unit();
        let fits = |bits: i32| unit.is_some_and(|u| total.absolute < f64::from(bits).exp2() * u);
        let added = match fits(53) {
            true => 0.0,
            false => count * UNIT_ROUNDOFF_F64 * total.absolute,
        };
        let stored = match self.tile.format {
            Format::F64 if fits(48) => 0.0,
            Format::F64 => TWO_F32 * total.value.abs(),
            _ if unit.is_some_and(|u| total.value.abs() < 24f64.exp2() * u) => 0.0,
            _ => UNIT_ROUNDOFF * total.value.abs(),
        };
        Reference {
            value: total.value,
            bound: total.bound + added + stored,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn product(tile: PeakTile, data: Data, steps: u64) -> Product {
        Product {
            tile,
            data,
            seed: 11,
            steps,
            restarts: false,
        }
    }

    #[test]
    fn slices_take_turns_and_restarts_keep_the_last_turn() {
        let tile = PeakTile::wgmma(Format::Bf16);
        let times = |steps, restarts| {
            Product {
                restarts,
                ..product(tile, Data::Random, steps)
            }
            .times()
        };
        assert_eq!(times(9, false), [3, 2, 2, 2]);
        assert_eq!(times(9, true), [1, 0, 0, 0]);
        assert_eq!(times(8, true), [1, 1, 1, 1]);
        assert_eq!(times(2, false), [1, 1, 0, 0]);
    }

    #[test]
    fn small_integers_are_exact_and_one_step_shows() {
        for format in [Format::Bf16, Format::F16, Format::Tf32, Format::S8] {
            for tile in [PeakTile::wgmma(format), PeakTile::mma(format)] {
                let after = |steps| product(tile, Data::Integers, steps).references();
                let (here, before) = (after(1 << 14), after((1 << 14) - 1));
                assert!(here.iter().all(|reference| reference.bound == 0.0));
                let differ = here.iter().zip(&before).filter(|(x, y)| x.value != y.value);
                assert!(differ.count() > 240, "{format:?}");
            }
        }
        for tile in [PeakTile::double(), PeakTile::wide_double()] {
            let all = product(tile, Data::Integers, 1 << 16).references();
            assert!(all.iter().all(|reference| reference.bound == 0.0));
        }
    }

    #[test]
    fn random_values_of_eight_bits_are_exact_where_the_sums_restart() {
        let restarting = Product {
            restarts: true,
            ..product(PeakTile::wgmma(Format::E4m3), Data::Random, 1000)
        };
        let all = restarting.references();
        assert!(all.iter().all(|reference| reference.bound == 0.0));
        assert!(all.iter().any(|reference| reference.value.abs() > 8.0));
    }

    #[test]
    fn the_bound_of_random_values_catches_a_slice_that_is_missing() {
        for format in [Format::Bf16, Format::F16, Format::Tf32] {
            let after = |steps| {
                Product {
                    restarts: true,
                    ..product(PeakTile::wgmma(format), Data::Random, steps)
                }
                .references()
            };
            let (here, short) = (after(1000), after(999));
            let caught = here
                .iter()
                .zip(&short)
                .filter(|(x, y)| (x.value - y.value).abs() > x.bound + y.bound);
            assert!(caught.count() > 200, "{format:?}");
        }
    }

    #[test]
    fn sums_of_bytes_wrap_around() {
        let all = product(PeakTile::mma(Format::S8), Data::Random, 1 << 20).references();
        assert!(all.iter().all(|reference| {
            (0.0..16_777_216.0).contains(&reference.value) && reference.bound == 0.0
        }));
    }
}
