//! The roofline: two roofs, the ridge point between them, and where a kernel lies.
//!
//! Williams, Waterman, Patterson, "Roofline: an insightful visual performance model for
//! multicore architectures", CACM 52(4), 2009: attainable FLOP/s =
//! min(peak FLOP/s, intensity x peak byte/s).

use std::fmt;

use super::work::Work;

/// Below this fraction of *both* roofs a kernel counts as latency-bound.
///
/// A convention, not a law: one decade, so that such a point lies visibly under the roofs of
/// a log-log chart. Kernels limited by a badly used pipe seldom fall so low (a scalar copy
/// reaches 60 % of the bandwidth); launches too small to fill the device do.
pub const LATENCY_BOUND_FRACTION: f64 = 0.1;

/// A rate that cannot be a roof.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{what} is {given}; a roof must be a finite number above 0 in {unit}")]
pub struct ModelError {
    /// Which rate.
    pub what: &'static str,
    /// Its value.
    pub given: f64,
    /// Its unit.
    pub unit: &'static str,
}

/// The roofline of one pipe and one memory level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Roofline {
    /// Height of the compute roof, FLOP/s.
    pub peak_flop_per_s: f64,
    /// Slope of the memory roof, byte/s.
    pub peak_byte_per_s: f64,
}

/// What limits a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bound {
    /// Left of the ridge point: bytes take longer than arithmetic.
    Memory,
    /// At the ridge point or right of it.
    Compute,
    /// Below [`LATENCY_BOUND_FRACTION`] of both roofs: neither of them explains the time.
    Latency,
}

impl Bound {
    /// The word of the `bound` column.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            Bound::Memory => "memory",
            Bound::Compute => "compute",
            Bound::Latency => "latency",
        }
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}

/// A closed interval, such as a confidence interval of a rate, in the rate's unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Roofline {
    /// A roofline of two peak rates, FLOP/s and byte/s.
    ///
    /// # Errors
    /// [`ModelError`] unless both are finite and above 0.
    pub fn new(peak_flop_per_s: f64, peak_byte_per_s: f64) -> Result<Self, ModelError> {
        check("the peak arithmetic rate", peak_flop_per_s, "FLOP/s")?;
        check("the peak memory bandwidth", peak_byte_per_s, "byte/s")?;
        Ok(Roofline {
            peak_flop_per_s,
            peak_byte_per_s,
        })
    }

    /// The ridge point, FLOP/byte: peak FLOP/s over peak byte/s.
    #[must_use]
    pub fn ridge(&self) -> f64 {
        self.peak_flop_per_s / self.peak_byte_per_s
    }

    /// The attainable rate, FLOP/s, at an intensity in FLOP/byte.
    #[must_use]
    pub fn roof_at(&self, intensity: f64) -> f64 {
        (intensity * self.peak_byte_per_s).min(self.peak_flop_per_s)
    }

    /// The side of the ridge point on which an intensity lies, FLOP/byte. The ridge point
    /// itself is compute-bound: there the arithmetic takes as long as the bytes.
    #[must_use]
    pub fn side(&self, intensity: f64) -> Bound {
        if intensity < self.ridge() {
            Bound::Memory
        } else {
            Bound::Compute
        }
    }

    /// The shortest time of a piece of work, s: the longer of arithmetic and traffic.
    #[must_use]
    pub fn time(&self, work: Work) -> f64 {
        let arithmetic = work.flops as f64 / self.peak_flop_per_s;
        arithmetic.max(work.bytes as f64 / self.peak_byte_per_s)
    }

    /// The fraction of the roof that was reached in `seconds`, not clamped: above 1 it says
    /// that a byte, a FLOP or a clock was counted wrongly, or that data came from a cache.
    ///
    /// Work without FLOPs is placed by bytes alone (bytes/s over peak byte/s), which is what
    /// the ratio of times gives for it.
    #[must_use]
    pub fn fraction_of_roof(&self, work: Work, seconds: f64) -> f64 {
        self.time(work) / seconds
    }

    /// What bounds work that took `seconds`. See [`LATENCY_BOUND_FRACTION`].
    #[must_use]
    pub fn bound(&self, work: Work, seconds: f64) -> Bound {
        if self.fraction_of_roof(work, seconds) < LATENCY_BOUND_FRACTION {
            // fraction_of_roof is the larger of the two fractions of peak, so both are small.
            return Bound::Latency;
        }
        self.side(work.intensity())
    }

    /// FLOPs that work could still add without taking longer: how far it lies left of the
    /// ridge point. Negative right of it.
    #[must_use]
    pub fn free_flops(&self, work: Work) -> f64 {
        work.bytes as f64 * self.ridge() - work.flops as f64
    }

    /// The ridge point's interval, FLOP/byte, from intervals of both roofs (FLOP/s, byte/s).
    ///
    /// Its ends are the extreme quotients, so it holds whatever the dependence of the two
    /// measurements; from two 95 % intervals it covers at least 90 % (Bonferroni).
    ///
    /// # Errors
    /// [`ModelError`] if an end is not a finite number above 0 or the ends are exchanged.
    pub fn ridge_interval(flops: Interval, bytes: Interval) -> Result<Interval, ModelError> {
        for (what, i, unit) in [
            ("an end of the arithmetic rate's interval", flops, "FLOP/s"),
            ("an end of the bandwidth's interval", bytes, "byte/s"),
        ] {
            check(what, i.low, unit)?;
            check(what, i.high, unit)?;
            if i.low > i.high {
                let what = "the lower end, which is above the upper one,";
                return Err(ModelError {
                    what,
                    given: i.low,
                    unit,
                });
            }
        }
        Ok(Interval {
            low: flops.low / bytes.high,
            high: flops.high / bytes.low,
        })
    }
}

fn check(what: &'static str, given: f64, unit: &'static str) -> Result<(), ModelError> {
    if given.is_finite() && given > 0.0 {
        Ok(())
    } else {
        Err(ModelError { what, given, unit })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOF: Roofline = Roofline {
        peak_flop_per_s: 100.0,
        peak_byte_per_s: 10.0,
    };

    #[test]
    fn roof_is_the_lower_of_slope_and_height() {
        assert_eq!(ROOF.ridge(), 10.0);
        assert_eq!(ROOF.roof_at(5.0), 50.0);
        assert_eq!(ROOF.roof_at(10.0), 100.0);
        assert_eq!(ROOF.roof_at(20.0), 100.0);
    }

    #[test]
    fn the_ridge_point_itself_is_compute_bound() {
        assert_eq!(ROOF.side(9.999), Bound::Memory);
        assert_eq!(ROOF.side(10.0), Bound::Compute);
    }

    #[test]
    fn work_without_flops_is_placed_by_bytes_alone() {
        let copy = Work {
            flops: 0,
            bytes: 50,
        };
        assert_eq!(ROOF.fraction_of_roof(copy, 10.0), 0.5);
        assert_eq!(ROOF.bound(copy, 10.0), Bound::Memory);
    }

    #[test]
    fn fractions_are_of_the_roof_at_the_works_own_intensity() {
        let left = Work {
            flops: 50,
            bytes: 10,
        };
        assert_eq!(ROOF.fraction_of_roof(left, 2.0), 0.5);
        let right = Work {
            flops: 1000,
            bytes: 10,
        };
        assert_eq!(ROOF.fraction_of_roof(right, 12.5), 0.8);
        assert_eq!(ROOF.fraction_of_roof(right, 5.0), 2.0, "not clamped");
    }

    #[test]
    fn a_point_far_below_both_roofs_is_latency_bound() {
        let left = Work {
            flops: 50,
            bytes: 10,
        };
        let right = Work {
            flops: 1000,
            bytes: 10,
        };
        assert_eq!(ROOF.bound(left, 9.9), Bound::Memory);
        assert_eq!(ROOF.bound(left, 10.1), Bound::Latency);
        assert_eq!(ROOF.bound(right, 99.0), Bound::Compute);
        assert_eq!(ROOF.bound(right, 101.0), Bound::Latency);
    }

    #[test]
    fn free_flops_are_the_distance_to_the_ridge_point() {
        assert_eq!(
            ROOF.free_flops(Work {
                flops: 50,
                bytes: 10
            }),
            50.0
        );
        assert_eq!(
            ROOF.free_flops(Work {
                flops: 150,
                bytes: 10
            }),
            -50.0
        );
    }

    #[test]
    fn the_ridge_interval_takes_the_extreme_quotients() {
        let i = Roofline::ridge_interval(
            Interval {
                low: 90.0,
                high: 110.0,
            },
            Interval {
                low: 9.0,
                high: 11.0,
            },
        );
        let i = i.unwrap();
        assert!((i.low - 90.0 / 11.0).abs() < 1e-12 && (i.high - 110.0 / 9.0).abs() < 1e-12);
        let exchanged = Interval {
            low: 2.0,
            high: 1.0,
        };
        assert!(Roofline::ridge_interval(exchanged, i).is_err());
        assert!(
            Roofline::ridge_interval(
                i,
                Interval {
                    low: 0.0,
                    high: 1.0
                }
            )
            .is_err()
        );
    }

    #[test]
    fn rates_that_are_no_roofs_are_refused() {
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(Roofline::new(bad, 1.0).is_err());
            let message = Roofline::new(1.0, bad).unwrap_err().to_string();
            assert!(message.contains("memory bandwidth") && message.contains("byte/s"));
        }
    }
}
