//! The roofs that the rows' runs measured.

use super::series;
use crate::kernels::KernelId;
use crate::record::Row;
use crate::roofline::crossover::{Estimate, MeasuredRoofs};
use crate::roofline::model::Interval;

/// Relative uncertainty of a measured roof, either way.
///
/// Rows have the roof and not its interval. A measurement ends when the half-width of its median's
/// interval is below 0.5 %; the roofs of five runs on one H200 lie within 0.3 % of each other.
pub const UNCERTAINTY: f64 = 0.005;

/// The roofs of a pipe and of the memory that runs on `device` measured: of several runs the
/// median, and an interval that holds all of them. `None` if either was not measured.
///
/// The pipe's roof is what the columns of its rows say, or the best of its rows of the kernel
/// `fma`, whichever is higher: a roof is the highest rate that was seen.
#[must_use]
pub fn measured(rows: &[&Row], device: &str, pipe: &str) -> Option<MeasuredRoofs> {
    let of_device = || rows.iter().copied().filter(|row| row.device == device);
    let of_pipe = || of_device().filter(|row| row.pipe.as_deref() == Some(pipe));
    let stated = of_runs(of_pipe(), |row| row.measured_peak_flop_per_s);
    let peak_kernel = of_pipe()
        .filter(|row| row.kernel == KernelId::Fma.name() && series::exclusion(row).is_none());
    let shown = of_runs(peak_kernel, |row| row.flop_per_s);
    let flop_per_s = match (stated, shown) {
        (Some(stated), Some(shown)) if shown.value > stated.value => shown,
        (stated, shown) => stated.or(shown)?,
    };
    Some(MeasuredRoofs {
        flop_per_s,
        byte_per_s: of_runs(of_device(), |row| row.measured_peak_byte_per_s)?,
    })
}

/// The highest rate of each run, and of those the median.
fn of_runs<'a>(
    rows: impl Iterator<Item = &'a Row>,
    rate: impl Fn(&Row) -> Option<f64>,
) -> Option<Estimate> {
    let mut runs: Vec<(&str, f64)> = Vec::new();
    for row in rows {
        let Some(rate) = rate(row).filter(|rate| rate.is_finite() && *rate > 0.0) else {
            continue;
        };
        match runs.iter_mut().find(|(run, _)| *run == row.run_id) {
            Some((_, best)) => *best = best.max(rate),
            None => runs.push((&row.run_id, rate)),
        }
    }
    runs.sort_by(|a, b| a.1.total_cmp(&b.1));
    let (least, most) = (runs.first()?.1, runs.last()?.1);
    Some(Estimate {
        value: (runs[(runs.len() - 1) / 2].1 + runs[runs.len() / 2].1) / 2.0,
        interval: Interval {
            low: (1.0 - UNCERTAINTY) * least,
            high: (1.0 + UNCERTAINTY) * most,
        },
    })
}
