//! Why a point lies above its roof: from evidence, never clamped, never without a word.

use crate::record::Cache;
use crate::roofline::model::Bound;
use std::fmt;

/// What the probe of the clock may be off by.
const CLOCK_TOLERANCE: f64 = 0.01;

/// What is known about a point above its roof.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Evidence {
    /// Achieved over roof, above 1.
    pub fraction: f64,
    /// Which roof it is.
    pub bound: Bound,
    /// State of the cache when a launch starts.
    pub cache: Cache,
    /// Bytes counted.
    pub bytes: u64,
    /// Bytes of them that are written.
    pub written: u64,
    /// Bytes of the last-level cache.
    pub cache_bytes: Option<u64>,
    /// Whether the roof was measured by another kernel, there being no datasheet.
    pub measured_roof: bool,
    /// Clock measured along the samples, in Hz.
    pub clock_hz: Option<f64>,
    /// Clock that the peak rates assume, in Hz.
    pub assumed_clock_hz: Option<f64>,
}

/// The explanation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Above {
    /// Bytes that stayed in the cache account for it.
    Cache {
        /// What was known.
        evidence: Evidence,
        /// Bytes that need not have crossed the memory bus.
        kept: u64,
    },
    /// The clock was higher than the peak assumes, by enough.
    Clock {
        /// Measured, in Hz.
        measured: f64,
        /// Assumed, in Hz.
        assumed: f64,
    },
    /// The roof is another kernel's rate, and this one is faster.
    FasterKernel,
    /// Nothing known explains it.
    Unexplained,
}

impl Evidence {
    /// The explanation that the evidence supports.
    pub fn explain(&self) -> Above {
        let kept = self.kept();
        let crossed = self.bytes.saturating_sub(kept) as f64;
        let over_the_bus = self.fraction * crossed / self.bytes.max(1) as f64;
        if self.bound == Bound::Memory && kept > 0 && over_the_bus <= 1.0 {
            return Above::Cache {
                evidence: *self,
                kept,
            };
        }
        if self.measured_roof {
            return Above::FasterKernel;
        }
        match (self.clock_hz, self.assumed_clock_hz) {
            (Some(measured), Some(assumed))
                if self.bound == Bound::Compute
                    && measured > assumed
                    && self.fraction <= measured / assumed * (1.0 + CLOCK_TOLERANCE) =>
            {
                Above::Clock { measured, assumed }
            }
            _ => Above::Unexplained,
        }
    }

    /// Bytes that can have stayed in the cache: between warm launches any of them; after a cold
    /// one those it wrote last.
    fn kept(&self) -> u64 {
        let candidates = match self.cache {
            Cache::Warm => self.bytes,
            Cache::Cold => self.written,
        };
        self.cache_bytes.map_or(0, |cache| candidates.min(cache))
    }
}

impl Above {
    /// Whether something known explains it.
    pub fn is_explained(&self) -> bool {
        !matches!(self, Above::Unexplained)
    }
}

impl fmt::Display for Above {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Above::Cache { evidence, kept } => {
                let how = match evidence.cache {
                    Cache::Warm => "can stay in the last-level cache between launches",
                    Cache::Cold => "were written and can still be in it when the launch ends",
                };
                write!(
                    f,
                    "above the memory roof: of {} bytes {kept} {how} ({} bytes of cache)",
                    evidence.bytes,
                    evidence.cache_bytes.unwrap_or_default()
                )
            }
            Above::Clock { measured, assumed } => write!(
                f,
                "above the roof: the clock was {measured:.4e} Hz, the peak assumes {assumed:.4e} Hz"
            ),
            Above::FasterKernel => f.write_str(
                "above the roof: it was measured by another kernel of this run, and this one is \
                 faster",
            ),
            Above::Unexplained => f.write_str(
                "above the roof, and neither cache nor clock explains it: check the peak rates \
                 (`rooftrace peaks`) and the counted bytes",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A copy of 100 bytes, 50 of them written.
    const COPY: Evidence = Evidence {
        fraction: 1.2,
        bound: Bound::Memory,
        cache: Cache::Cold,
        bytes: 100,
        written: 50,
        cache_bytes: Some(40),
        measured_roof: false,
        clock_hz: None,
        assumed_clock_hz: None,
    };

    #[test]
    fn writes_that_stay_in_the_cache_explain_as_much_as_they_save() {
        // 40 of 100 bytes never cross the bus: up to 1/0.6 of the roof.
        assert!(matches!(COPY.explain(), Above::Cache { kept: 40, .. }));
        let too_fast = Evidence {
            fraction: 1.7,
            ..COPY
        };
        assert_eq!(too_fast.explain(), Above::Unexplained);
        assert!(!too_fast.explain().is_explained());
    }

    #[test]
    fn a_cold_launch_cannot_have_read_from_the_cache() {
        let read_only = Evidence { written: 0, ..COPY };
        assert_eq!(read_only.explain(), Above::Unexplained);
        let warm = Evidence {
            cache: Cache::Warm,
            ..read_only
        };
        assert!(warm.explain().is_explained());
    }

    #[test]
    fn an_unknown_cache_explains_nothing() {
        let unknown = Evidence {
            cache_bytes: None,
            ..COPY
        };
        assert_eq!(unknown.explain(), Above::Unexplained);
    }

    #[test]
    fn the_clock_explains_a_compute_bound_point_and_no_more_than_it_is_higher() {
        let fma = Evidence {
            fraction: 1.05,
            bound: Bound::Compute,
            clock_hz: Some(2.0e9),
            assumed_clock_hz: Some(1.9e9),
            ..COPY
        };
        assert!(matches!(fma.explain(), Above::Clock { .. }));
        let too_fast = Evidence {
            fraction: 1.2,
            ..fma
        };
        assert_eq!(too_fast.explain(), Above::Unexplained);
        let memory_bound = Evidence {
            bound: Bound::Memory,
            cache_bytes: None,
            ..fma
        };
        assert_eq!(memory_bound.explain(), Above::Unexplained);
    }

    #[test]
    fn a_measured_roof_can_be_beaten_by_a_faster_kernel() {
        let faster = Evidence {
            measured_roof: true,
            cache_bytes: None,
            ..COPY
        };
        assert_eq!(faster.explain(), Above::FasterKernel);
    }
}
