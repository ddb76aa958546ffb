//! Where a single problem comes near the rate that it keeps.
//!
//! One product alone has too few tiles for the card until N is large: near the ridge point it is
//! bound by latency and occupancy, by neither roof. Its trace says from where it is not.

use super::point::{Point, median};

/// How near the plateau counts as on it.
pub const NEAR: f64 = 0.1;

/// Fewest points that make a plateau.
const LEAST_POINTS: usize = 3;

/// The plateau of a trace.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plateau {
    /// Its height, FLOP/s: the median over the largest octave of N.
    pub flop_per_s: f64,
    /// The largest side that was measured.
    pub largest: u64,
    /// The least side from which no point is more than [`NEAR`] below it. `None` if that is
    /// within the octave that it was taken from: the trace is still rising.
    pub from: Option<u64>,
}

/// The plateau of a trace. `None` with fewer than 3 points in the largest octave.
#[must_use]
pub fn plateau(points: &[Point]) -> Option<Plateau> {
    let mut points = points.to_vec();
    points.sort_by_key(|point| point.n);
    let largest = points.last()?.n;
    let top = points.iter().filter(|point| 2 * point.n >= largest);
    let rates: Vec<f64> = top.map(Point::flop_per_s).collect();
    if rates.len() < LEAST_POINTS {
        return None;
    }
    let height = median(rates)?;
    let near = |point: &&Point| point.flop_per_s() >= (1.0 - NEAR) * height;
    let from = points.iter().rev().take_while(near).last();
    Some(Plateau {
        flop_per_s: height,
        largest,
        from: from.map(|point| point.n).filter(|n| 2 * n < largest),
    })
}

#[cfg(test)]
mod tests {
    use super::super::point::model::{Kernel, sides};
    use super::*;

    /// A single problem: an overhead, then its FLOPs.
    fn rising(overhead: f64) -> Vec<Point> {
        let kernel = Kernel {
            byte_per_s: 4e12,
            flop_per_s: 50e12,
            sharpness: 40.0,
        };
        let mut points = kernel.trace(&sides(16.0, 4096.0));
        points
            .iter_mut()
            .for_each(|point| point.seconds += overhead);
        points
    }

    #[test]
    fn the_first_size_that_stays_near_is_found() {
        let points = rising(5e-6);
        let found = plateau(&points).unwrap();
        // 5e-6 is a tenth of 2 N^3 / 50e12 + 5e-6 at N = 1040, and the plateau is half a percent
        // below 50 TFLOP/s itself.
        assert_eq!(found.from, Some(1024));
        assert!(found.flop_per_s > 49e12);
        let mut dipping = points.clone();
        let dip = dipping.iter_mut().find(|point| point.n == 1448).unwrap();
        dip.seconds *= 1.2;
        assert_eq!(
            plateau(&dipping).unwrap().from,
            Some(1722),
            "stays, not reaches"
        );
    }

    #[test]
    fn a_trace_that_still_rises_has_none() {
        assert_eq!(plateau(&rising(1e-3)).unwrap().from, None);
        assert_eq!(plateau(&rising(5e-6)[..2]), None);
        assert_eq!(plateau(&[]), None);
    }
}
