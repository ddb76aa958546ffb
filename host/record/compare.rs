//! Two files of rows, point by point: faster, slower, the same, or not to be told.
//!
//! A regression must show in time *and* in cycles. Time alone also changes when the card's clock
//! does, which says nothing about the program; cycles alone change for a kernel that waits for
//! memory whenever the clock does.
//!
//! **Decision.** With F the threshold, a quantity is *more* if the lower end of its new 95 %
//! interval lies above the upper end of the old one by more than the factor 1 + F, *less* if the
//! reverse holds. Then
//!
//! | time | cycles | verdict |
//! |---|---|---|
//! | more | more, or a clock unknown | slower |
//! | less | less, or a clock unknown | faster |
//! | more or less | otherwise | ambiguous: the clock drifted |
//! | neither | the medians differ by at most the factor 1 + F, or by what two processes may | the same |
//! | neither | the medians differ by more | ambiguous: the intervals do not part |
//!
//! These are the intervals of the samples ([`Row::sampling_interval`]). On a GPU two of them must
//! in addition part by [`Row::between_processes_s`]: by so much the time of a launch differs from
//! one process to another. Rows state their interval with that on either side; between two rows
//! it counts once, whether they state it or are older.
//!
//! Exchanging the files exchanges faster and slower, and a file compared with itself is the
//! same throughout.

use super::resume::PointKey;
use super::row::{Row, Status};
use std::collections::{BTreeSet, HashMap};

/// Smallest relative change that counts, unless another is given: the medians of two sweeps of
/// one program on one card stay well within it.
pub const DEFAULT_THRESHOLD: f64 = 0.02;

/// What became of a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// More time and more cycles.
    Slower,
    /// Less time and fewer cycles.
    Faster,
    /// No change beyond the threshold.
    Same,
    /// The evidence does not decide; [`Comparison::reason`] says why.
    Ambiguous,
    /// It was measured, and now fails.
    Broken,
    /// It failed or was skipped before, and is measured now.
    Mended,
    /// Measured in neither file.
    NotMeasured,
    /// Only the old file has it, or only there it was not skipped.
    OnlyOld,
    /// Only the new file has it.
    OnlyNew,
}

impl Verdict {
    /// Its name in every output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Slower => "slower",
            Verdict::Faster => "faster",
            Verdict::Same => "same",
            Verdict::Ambiguous => "ambiguous",
            Verdict::Broken => "broken",
            Verdict::Mended => "mended",
            Verdict::NotMeasured => "not measured",
            Verdict::OnlyOld => "only old",
            Verdict::OnlyNew => "only new",
        }
    }

    /// Whether it is a regression.
    #[must_use]
    pub fn is_regression(self) -> bool {
        matches!(self, Verdict::Slower | Verdict::Broken)
    }
}

/// One point of the two files.
#[derive(Debug, Clone)]
pub struct Comparison<'a> {
    /// Its row in the old file.
    pub old: Option<&'a Row>,
    /// Its row in the new file.
    pub new: Option<&'a Row>,
    /// What became of it.
    pub verdict: Verdict,
    /// New median time over the old one.
    pub time_ratio: Option<f64>,
    /// The same of cycles: time times the measured clock.
    pub cycles_ratio: Option<f64>,
    /// What decided, where it is not plain from the figures.
    pub reason: Option<String>,
}

impl Comparison<'_> {
    /// The row that names the point: the new one where there is one.
    #[must_use]
    pub fn row(&self) -> Option<&Row> {
        self.new.or(self.old)
    }
}

/// Why two files are not compared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CompareError {
    /// They are from different devices.
    #[error(
        "the files are from different devices ({}; {}): times do not compare; \
         give --across-devices to see them side by side", .old.join(", "), .new.join(", ")
    )]
    Devices {
        /// Devices of the old file.
        old: Vec<String>,
        /// Devices of the new file.
        new: Vec<String>,
    },
}

/// Compares two files' rows, in the order of the old file, points that only the new one has last.
///
/// Points are matched by their work: [`PointKey`] without the seed. Of several rows of one point
/// in a file the last measured one counts.
///
/// # Errors
/// [`CompareError::Devices`] unless `across_devices`.
pub fn compare<'a>(
    old: &'a [Row],
    new: &'a [Row],
    threshold: f64,
    across_devices: bool,
) -> Result<Vec<Comparison<'a>>, CompareError> {
    let devices =
        |rows: &[Row]| -> BTreeSet<String> { rows.iter().map(|row| row.device.clone()).collect() };
    let (old_devices, new_devices) = (devices(old), devices(new));
    if old_devices != new_devices && !across_devices {
        return Err(CompareError::Devices {
            old: old_devices.into_iter().collect(),
            new: new_devices.into_iter().collect(),
        });
    }
    let (old_order, old_rows) = by_work(old);
    let (new_order, new_rows) = by_work(new);
    let only_new = new_order.iter().filter(|key| !old_rows.contains_key(key));
    Ok(old_order
        .iter()
        .chain(only_new)
        .map(|key| {
            point(
                old_rows.get(key).copied(),
                new_rows.get(key).copied(),
                threshold,
            )
        })
        .collect())
}

/// The rows of a file by their work, and the works in the file's order.
fn by_work(rows: &[Row]) -> (Vec<PointKey>, HashMap<PointKey, &Row>) {
    let mut order = Vec::new();
    let mut found: HashMap<PointKey, &Row> = HashMap::new();
    for row in rows {
        let key = PointKey::of(row).without_seed();
        match found.get(&key) {
            None => order.push(key.clone()),
            Some(before) if before.status == Status::Ok && row.status != Status::Ok => continue,
            Some(_) => {}
        }
        found.insert(key, row);
    }
    (order, found)
}

/// Compares one point.
fn point<'a>(old: Option<&'a Row>, new: Option<&'a Row>, threshold: f64) -> Comparison<'a> {
    let plain = |verdict, reason| Comparison {
        old,
        new,
        verdict,
        time_ratio: None,
        cycles_ratio: None,
        reason,
    };
    let (before, after) = match (old, new) {
        (Some(before), Some(after)) => (before, after),
        (Some(_), None) => return plain(Verdict::OnlyOld, None),
        (None, _) => return plain(Verdict::OnlyNew, None),
    };
    let times = (Times::of(before), Times::of(after));
    let (Some(old_time), Some(new_time)) = times else {
        let (verdict, row) = match (times.0.is_some(), after.status) {
            (true, Status::Failed) => (Verdict::Broken, after),
            (true, _) => (Verdict::OnlyOld, after),
            (false, Status::Ok) if times.1.is_some() => (Verdict::Mended, before),
            (false, _) => (Verdict::NotMeasured, after),
        };
        return plain(verdict, row.reason.clone());
    };
    let cycles = old_time.cycles(before).zip(new_time.cycles(after));
    let (verdict, reason) = decide((old_time, new_time), cycles, threshold);
    Comparison {
        verdict,
        time_ratio: Some(new_time.median / old_time.median),
        cycles_ratio: cycles.map(|(old, new)| new.median / old.median),
        reason,
        ..plain(verdict, None)
    }
}

/// A median and the interval of its samples, in seconds or cycles.
#[derive(Debug, Clone, Copy)]
struct Times {
    median: f64,
    interval: Option<(f64, f64)>,
    /// By how much another process may find more or less.
    beyond: f64,
}

impl Times {
    /// The time of a measured row.
    fn of(row: &Row) -> Option<Self> {
        let median = row.time_median_s.filter(|&median| median > 0.0)?;
        (row.status == Status::Ok).then_some(Times {
            median,
            interval: row.sampling_interval(),
            beyond: row.between_processes_s(),
        })
    }

    /// The same in cycles, where the clock is known.
    fn cycles(self, row: &Row) -> Option<Self> {
        let clock = row.sm_clock_hz.filter(|&clock| clock > 0.0)?;
        Some(Times {
            median: self.median * clock,
            interval: self.interval.map(|(low, high)| (low * clock, high * clock)),
            beyond: self.beyond * clock,
        })
    }

    /// Whether this lies above `other` by more than the threshold and by more than two processes
    /// may differ, intervals and all. Without an interval (below 6 samples) nothing can be said.
    fn above(self, other: Times, threshold: f64) -> bool {
        match (self.interval, other.interval) {
            (Some((low, _)), Some((_, high))) => {
                low > high * (1.0 + threshold) + self.beyond.max(other.beyond)
            }
            _ => false,
        }
    }

    /// Whether the medians differ by at most the threshold, or by what two processes may.
    fn near(self, other: Times, threshold: f64) -> bool {
        let (less, more) = if self.median < other.median {
            (self.median, other.median)
        } else {
            (other.median, self.median)
        };
        more <= less * (1.0 + threshold) || more - less <= self.beyond.max(other.beyond)
    }
}

/// The table at the head of this module.
fn decide(
    (old, new): (Times, Times),
    cycles: Option<(Times, Times)>,
    threshold: f64,
) -> (Verdict, Option<String>) {
    let drifted = || {
        let (old_cycles, new_cycles) = cycles?;
        let clock = (new_cycles.median / new.median) / (old_cycles.median / old.median);
        Some(format!(
            "in cycles there is no such change: the clock was {:.1} % {}",
            100.0 * (clock - 1.0).abs(),
            if clock < 1.0 { "lower" } else { "higher" }
        ))
    };
    let confirmed =
        |more: bool| cycles.is_none_or(|(old, new)| parted(old, new, threshold) == Some(more));
    match parted(old, new, threshold) {
        Some(true) if confirmed(true) => (Verdict::Slower, None),
        Some(false) if confirmed(false) => (Verdict::Faster, None),
        Some(_) => (Verdict::Ambiguous, drifted()),
        None if new.near(old, threshold) => (Verdict::Same, None),
        None if old.interval.is_none() || new.interval.is_none() => (
            Verdict::Ambiguous,
            Some("too few samples for an interval".to_owned()),
        ),
        None => (
            Verdict::Ambiguous,
            Some("the intervals do not part by the threshold".to_owned()),
        ),
    }
}

/// Whether the new quantity is more (`true`) or less than the old one, if either.
fn parted(old: Times, new: Times, threshold: f64) -> Option<bool> {
    if new.above(old, threshold) {
        Some(true)
    } else if old.above(new, threshold) {
        Some(false)
    } else {
        None
    }
}
