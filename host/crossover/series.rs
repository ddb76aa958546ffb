//! Rows of one product become a trace over N.

use crate::device::Throttle;
use crate::record::{Cache, Data, Row, Status};
use crate::roofline::crossover::Point;
use crate::roofline::work::Work;

/// Bytes of a launch that fill a card and are found in no cache: what `--batch auto` asks for.
pub const FULL_BYTES: u64 = 2 << 30;

/// Why a row is not part of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exclusion {
    /// It was not run.
    Skipped,
    /// It ran into an error, or its result was wrong.
    Failed,
    /// Nobody checked its result.
    Unverified,
    /// Heat or an external brake held the card back. A power cap does not exclude: it is a fact of
    /// the card under this load.
    Throttled,
    /// Its operands may have been in the cache.
    Warm,
    /// It was measured under long load, beside the row of the same point that was not.
    SteadyState,
    /// Its data are not random: others draw less power and run faster.
    NotRandom,
    /// Its matrices are not square.
    NotSquare,
    /// It lacks FLOPs, bytes or a time.
    Incomplete,
}

impl Exclusion {
    /// What is said of `count` such rows.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Exclusion::Skipped => "skipped",
            Exclusion::Failed => "failed",
            Exclusion::Unverified => "unverified",
            Exclusion::Throttled => "throttled",
            Exclusion::Warm => "warm",
            Exclusion::SteadyState => "steady state",
            Exclusion::NotRandom => "not on random data",
            Exclusion::NotSquare => "not square",
            Exclusion::Incomplete => "incomplete",
        }
    }
}

/// Why a row is no measurement of a square product from memory; `None` if it is one. The shape of
/// a row without sides is not looked at.
#[must_use]
pub fn exclusion(row: &Row) -> Option<Exclusion> {
    let braked = |reasons: &str| {
        let brakes = [Throttle::Thermal, Throttle::Hardware].map(Throttle::name);
        reasons.split('+').any(|reason| brakes.contains(&reason))
    };
    let positive = |value: Option<f64>| value.is_some_and(|v| v.is_finite() && v > 0.0);
    let counted = |value: Option<u64>| value.is_some_and(|v| v > 0);
    let checks = [
        (row.status == Status::Skipped, Exclusion::Skipped),
        (
            row.status == Status::Failed || row.verified == Some(false),
            Exclusion::Failed,
        ),
        (row.verified.is_none(), Exclusion::Unverified),
        (row.is_steady_state(), Exclusion::SteadyState),
        (row.cache == Cache::Warm, Exclusion::Warm),
        (row.data != Data::Random, Exclusion::NotRandom),
        (
            row.throttle.as_deref().is_some_and(braked),
            Exclusion::Throttled,
        ),
        (
            row.m.is_some_and(|m| m != row.n) || row.k.is_some_and(|k| k != row.n),
            Exclusion::NotSquare,
        ),
        (
            !(counted(row.flops) && counted(row.bytes) && positive(row.time_median_s)),
            Exclusion::Incomplete,
        ),
    ];
    checks
        .into_iter()
        .find(|(found, _)| *found)
        .map(|(_, why)| why)
}

/// The measured sizes of one product, of one kernel and variant on one device.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// The device.
    pub device: String,
    /// Whether that is a GPU.
    pub on_gpu: bool,
    /// The kernel.
    pub kernel: String,
    /// Its variant.
    pub variant: String,
    /// The pipe that computes.
    pub pipe: String,
    /// How A and B are stored.
    pub storage: String,
    /// How the result is stored.
    pub out_type: String,
    /// Whether C is added, and so read.
    pub reads_c: bool,
    /// Bits of N^2 elements of all operands, if a row has the bytes.
    pub bits_per_square: Option<u32>,
    /// What is judged, one point for each size in ascending order: where there are batches, the
    /// largest of each size, and single problems that fill the card by themselves; otherwise
    /// single problems.
    pub trace: Vec<Point>,
    /// Single problems, one point for each size in ascending order.
    pub single: Vec<Point>,
    /// Whether the trace is one of batches.
    pub batched: bool,
    /// Rows that are not part of either, by reason.
    pub excluded: Vec<(Exclusion, usize)>,
    /// Rows that are, though the card's power limit held its clock back.
    pub power_capped: usize,
}

impl Series {
    /// Fewest bytes that a launch of the trace moves.
    #[must_use]
    pub fn least_bytes(&self) -> Option<u64> {
        self.trace.iter().map(|point| point.work.bytes).min()
    }
}

/// What tells series apart: columns that are chosen before measuring.
type Key<'a> = (
    &'a str,
    &'a str,
    &'a str,
    Option<&'a str>,
    Option<&'a str>,
    Option<&'a str>,
    bool,
);

fn key(row: &Row) -> Key<'_> {
    (
        &row.device,
        &row.kernel,
        &row.variant,
        row.pipe.as_deref(),
        row.storage.as_deref(),
        row.out_type.as_deref(),
        row.beta.is_some_and(|beta| beta != 0.0),
    )
}

/// The series among rows of these kernels, in the order of their first rows. Rows of other
/// kernels, and vector kernels, are none.
#[must_use]
pub fn of(rows: &[&Row], kernels: &[&str]) -> Vec<Series> {
    let mut groups: Vec<(Key<'_>, Vec<&Row>)> = Vec::new();
    let products = rows
        .iter()
        .filter(|row| row.m.is_some() && kernels.contains(&row.kernel.as_str()));
    for row in products {
        let key = key(row);
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, of_key)) => of_key.push(row),
            None => groups.push((key, vec![row])),
        }
    }
    groups.into_iter().map(|(_, rows)| series(&rows)).collect()
}

fn series(rows: &[&Row]) -> Series {
    let mut excluded: Vec<(Exclusion, usize)> = Vec::new();
    let mut points = Vec::new();
    let mut power_capped = 0;
    for row in rows {
        match (exclusion(row), point(row)) {
            (None, Some(point)) => {
                points.push(point);
                power_capped += usize::from(row.throttle.as_deref().is_some_and(|reasons| {
                    reasons
                        .split('+')
                        .any(|reason| reason == Throttle::PowerCap.name())
                }));
            }
            (why, _) => {
                let why = why.unwrap_or(Exclusion::Incomplete);
                match excluded.iter_mut().find(|(known, _)| *known == why) {
                    Some((_, count)) => *count += 1,
                    None => excluded.push((why, 1)),
                }
            }
        }
    }
    let batched = points.iter().any(|point| point.batch > 1);
    let of_trace = |point: &Point| !batched || point.batch > 1 || point.work.bytes >= FULL_BYTES;
    let first = rows[0];
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    Series {
        device: first.device.clone(),
        on_gpu: first.compute_capability.is_some(),
        kernel: first.kernel.clone(),
        variant: first.variant.clone(),
        pipe: text(&first.pipe),
        storage: text(&first.storage),
        out_type: text(&first.out_type),
        reads_c: key(first).6,
        bits_per_square: rows.iter().find_map(|row| bits_per_square(row)),
        trace: by_size(points.iter().filter(|point| of_trace(point))),
        single: by_size(points.iter().filter(|point| point.batch == 1)),
        batched,
        excluded,
        power_capped,
    }
}

/// Bits of all operands for N^2 elements, from the work model's count for a square product.
fn bits_per_square(row: &Row) -> Option<u32> {
    let square = row.m == Some(row.n) && row.k == Some(row.n);
    let squares = row.n as f64 * row.n as f64 * row.batch as f64;
    let bits = 8.0 * row.bytes.filter(|_| square)? as f64 / squares;
    // Sixteen bytes an element of each of four matrices at most.
    (0.5..=512.5).contains(&bits).then(|| bits.round() as u32)
}

fn point(row: &Row) -> Option<Point> {
    Some(Point {
        n: row.n,
        batch: row.batch.max(1),
        work: Work {
            flops: row.flops?,
            bytes: row.bytes?,
        },
        seconds: row.time_median_s?,
    })
}

/// One point for each size: of several batches the largest, of several measurements of it the
/// median. Sizes that were measured more often would otherwise count more often.
fn by_size<'a>(points: impl Iterator<Item = &'a Point>) -> Vec<Point> {
    let mut points: Vec<Point> = points.copied().collect();
    points.sort_by(|a, b| {
        (a.n, b.batch)
            .cmp(&(b.n, a.batch))
            .then(a.seconds.total_cmp(&b.seconds))
    });
    let of_size = points.chunk_by(|a, b| a.n == b.n);
    let merged = of_size.map(|same| {
        let largest = same.iter().filter(|point| point.batch == same[0].batch);
        let largest: Vec<&Point> = largest.collect();
        // In ascending order of time: the middle one, of two the slower.
        *largest[largest.len() / 2]
    });
    merged.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(n: u64, batch: u64, seconds: f64) -> Row {
        Row {
            kernel: "sgemm".to_owned(),
            variant: "auto".to_owned(),
            device: "NVIDIA H200".to_owned(),
            pipe: Some("fp32".to_owned()),
            storage: Some("f32".to_owned()),
            out_type: Some("f32".to_owned()),
            beta: Some(1.0),
            m: Some(n),
            n,
            k: Some(n),
            batch,
            flops: Some(2 * n * n * n * batch),
            bytes: Some(16 * n * n * batch),
            time_median_s: Some(seconds),
            converged: Some(true),
            verified: Some(true),
            status: Status::Ok,
            ..Row::default()
        }
    }

    fn only(rows: &[Row]) -> Series {
        let rows: Vec<&Row> = rows.iter().collect();
        let mut found = of(&rows, &["sgemm"]);
        assert_eq!(found.len(), 1);
        found.remove(0)
    }

    #[test]
    fn what_is_no_measurement_is_left_out_and_counted() {
        let good = row(64, 1, 1e-5);
        let spoil = |change: &dyn Fn(&mut Row)| {
            let mut row = good.clone();
            change(&mut row);
            row
        };
        let cases: [(Row, Exclusion); 12] = [
            (spoil(&|r| r.status = Status::Skipped), Exclusion::Skipped),
            (spoil(&|r| r.status = Status::Failed), Exclusion::Failed),
            (spoil(&|r| r.verified = Some(false)), Exclusion::Failed),
            (spoil(&|r| r.verified = None), Exclusion::Unverified),
            (spoil(&|r| r.converged = None), Exclusion::SteadyState),
            (spoil(&|r| r.cache = Cache::Warm), Exclusion::Warm),
            (spoil(&|r| r.data = Data::Zeros), Exclusion::NotRandom),
            (
                spoil(&|r| r.throttle = Some("power-cap+thermal".to_owned())),
                Exclusion::Throttled,
            ),
            (
                spoil(&|r| r.throttle = Some("hardware".to_owned())),
                Exclusion::Throttled,
            ),
            (spoil(&|r| r.k = Some(65)), Exclusion::NotSquare),
            (
                spoil(&|r| r.time_median_s = Some(0.0)),
                Exclusion::Incomplete,
            ),
            (spoil(&|r| r.bytes = None), Exclusion::Incomplete),
        ];
        for (bad, why) in &cases {
            assert_eq!(exclusion(bad), Some(*why));
        }
        let mut rows: Vec<Row> = cases.iter().map(|(row, _)| row.clone()).collect();
        rows.push(good.clone());
        rows.push(spoil(&|r| r.throttle = Some("power-cap".to_owned())));
        let series = only(&rows);
        let counted: usize = series.excluded.iter().map(|(_, count)| count).sum();
        assert_eq!(counted, cases.len());
        assert!(series.excluded.contains(&(Exclusion::Throttled, 2)));
        assert_eq!(series.power_capped, 1);
        assert_eq!(series.trace.len(), 1);
    }

    #[test]
    fn batches_are_the_trace_and_single_problems_stand_beside_it() {
        let rows = [
            row(256, 2048, 1e-3),
            row(64, 1, 1e-5),
            row(64, 32768, 2e-3),
            row(64, 4, 3e-5),
            row(16384, 1, 0.2),
        ];
        let series = only(&rows);
        assert!(series.batched);
        let trace: Vec<(u64, u64)> = series.trace.iter().map(|p| (p.n, p.batch)).collect();
        // 16384 fills the card by itself: 4 GiB.
        assert_eq!(trace, [(64, 32768), (256, 2048), (16384, 1)]);
        let single: Vec<u64> = series.single.iter().map(|p| p.n).collect();
        assert_eq!(single, [64, 16384]);
        assert_eq!(series.bits_per_square, Some(128));
        assert_eq!(series.least_bytes(), Some(16 * 64 * 64 * 32768));
    }

    #[test]
    fn without_batches_single_problems_are_judged() {
        let series = only(&[row(64, 1, 1e-5), row(32, 1, 5e-6)]);
        assert!(!series.batched);
        assert_eq!(series.trace, series.single);
        assert_eq!(series.trace[0].n, 32);
    }

    #[test]
    fn several_runs_of_a_size_are_one_point() {
        let series = only(&[row(64, 1, 3e-5), row(64, 1, 1e-5), row(64, 1, 2e-5)]);
        assert_eq!(series.trace.len(), 1);
        assert_eq!(series.trace[0].seconds, 2e-5);
    }

    #[test]
    fn variants_devices_and_storages_are_apart() {
        let mut rows = vec![row(64, 1, 1e-5); 5];
        rows[1].variant = "naive".to_owned();
        rows[2].device = "other".to_owned();
        rows[3].beta = Some(0.0);
        rows[4].kernel = "copy".to_owned();
        let rows: Vec<&Row> = rows.iter().collect();
        let found = of(&rows, &["sgemm", "gemm-mixed"]);
        assert_eq!(found.len(), 4);
        assert!(found[0].reads_c && !found[3].reads_c);
    }
}
