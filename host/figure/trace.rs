//! Rows that belong together: one trace for each kernel, variant and cache state.

use std::collections::HashMap;

use super::axis::count;
use super::palette::Style;
use crate::kernels::intensity;
use crate::record::{Cache, Row};
use crate::roofline::Pipe;
use crate::roofline::units::{engineering, significant};

/// The rows of a trace, in the order of their size.
#[derive(Clone, Debug)]
pub struct Group<'a> {
    /// What the legend calls it.
    pub name: String,
    /// How it looks.
    pub style: Style,
    /// Its rows, small to large.
    pub rows: Vec<&'a Row>,
}

/// What tells traces apart, in the order in which it is named.
const PARTS: usize = 9;
/// Which of them is the batch.
const BATCH: usize = 5;
/// Which of them is the cache state.
const CACHE: usize = 7;

/// What tells the trace of a row apart, but for the batch.
fn parts(row: &Row) -> [String; PARTS] {
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    [
        row.kernel.clone(),
        row.variant.clone(),
        text(&row.pipe),
        text(&row.storage),
        row.beta
            .map_or(String::new(), |beta| format!("beta {beta}")),
        String::new(),
        format!("{:?} data", row.data).to_lowercase(),
        cache_name(row.cache).to_owned(),
        row.device.clone(),
    ]
}

/// The same, with the batch of a trace of batches. One batch that grows as its products shrink
/// (`--batch auto`) is one trace, `batched`; batches that were measured at the same size are one
/// each.
fn keys(rows: &[&Row]) -> Vec<[String; PARTS]> {
    let side_by_side = |row: &Row, other: &Row| {
        other.batch > 1
            && other.batch != row.batch
            && (other.m, other.n, other.k) == (row.m, row.n, row.k)
    };
    let mut batches: HashMap<[String; PARTS], Vec<&Row>> = HashMap::new();
    for &row in rows.iter().filter(|row| row.batch > 1) {
        batches.entry(parts(row)).or_default().push(row);
    }
    let told_apart = |of_one: &[&Row]| {
        let same = of_one.iter().all(|row| row.batch == of_one[0].batch);
        let mut sizes: HashMap<_, &Row> = HashMap::new();
        same || of_one.iter().any(|row| {
            let first = sizes.entry((row.m, row.n, row.k)).or_insert(row);
            side_by_side(row, first)
        })
    };
    let told_apart: HashMap<&[String; PARTS], bool> = batches
        .iter()
        .map(|(key, of_one)| (key, told_apart(of_one)))
        .collect();
    let key = |row: &&Row| {
        let mut key = parts(row);
        if row.batch > 1 {
            key[BATCH] = match told_apart.get(&key) {
                Some(true) => format!("batch {}", row.batch),
                _ => "batched".to_owned(),
            };
        }
        key
    };
    rows.iter().map(key).collect()
}

/// A part of a trace's key as its name has it: a device by its letter.
fn word(key: &[String; PARTS], part: usize, devices: &[&str]) -> String {
    if part == PARTS - 1 {
        format!("({})", super::letter(devices, &key[part]))
    } else {
        key[part].clone()
    }
}

/// Whether a part of a trace's key is in its name: kernel, variant and batch always; cache state
/// and device where any two traces differ; the others where two of the same variant do.
fn named(keys: &[[String; PARTS]], key: &[String; PARTS], part: usize) -> bool {
    const EVERYWHERE: [usize; 2] = [CACHE, PARTS - 1];
    let differs = keys
        .iter()
        .filter(|other| EVERYWHERE.contains(&part) || other[..2] == key[..2])
        .any(|other| other[part] != key[part]);
    !key[part].is_empty() && (part < 2 || part == BATCH || differs)
}

/// `cold` or `warm`.
#[must_use]
pub fn cache_name(cache: Cache) -> &'static str {
    match cache {
        Cache::Cold => "cold",
        Cache::Warm => "warm",
    }
}

/// Groups rows into traces, in the order in which the rows have them first. Traces that differ
/// in the cache state alone share colour and shape: the warm one is hollow.
#[must_use]
pub fn groups<'a>(rows: &[&'a Row]) -> Vec<Group<'a>> {
    let devices = super::select::devices(rows.iter().copied());
    let mut order: Vec<([String; PARTS], Vec<&Row>)> = Vec::new();
    let mut places: HashMap<[String; PARTS], usize> = HashMap::new();
    for (row, key) in rows.iter().zip(keys(rows)) {
        let place = *places.entry(key.clone()).or_insert_with(|| {
            order.push((key, Vec::new()));
            order.len() - 1
        });
        order[place].1.push(row);
    }
    let keys: Vec<[String; PARTS]> = order.iter().map(|(key, _)| key.clone()).collect();
    let mut looks: HashMap<[String; PARTS], usize> = HashMap::new();
    order
        .into_iter()
        .map(|(key, mut rows)| {
            rows.sort_by_key(|row| (extent(row), row.m, row.n, row.k, row.batch));
            let words = (0..PARTS).filter(|part| named(&keys, &key, *part));
            let name = words
                .map(|part| word(&key, part, &devices))
                .collect::<Vec<_>>()
                .join(" ");
            let mut look = key.clone();
            look[CACHE].clear();
            let next = looks.len();
            let index = *looks.entry(look).or_insert(next);
            let hollow = rows.first().is_some_and(|row| row.cache == Cache::Warm);
            Group {
                name,
                style: Style {
                    index,
                    hollow,
                    dashed: hollow,
                },
                rows,
            }
        })
        .collect()
}

/// Number of multiply-adds of a product, or elements, by which sizes are ordered.
fn extent(row: &Row) -> u128 {
    let side = |side: Option<u64>| u128::from(side.unwrap_or(1));
    side(row.m)
        .saturating_mul(u128::from(row.n))
        .saturating_mul(side(row.k))
}

/// N as a number: the elements of a vector kernel, the side of a square GEMM, for another GEMM
/// the side of the cube of the same volume.
#[must_use]
pub fn size(row: &Row) -> f64 {
    match (row.m, row.k) {
        (Some(m), Some(k)) if m == row.n && k == row.n => row.n as f64,
        (Some(m), Some(k)) => (m as f64 * row.n as f64 * k as f64).cbrt(),
        _ => row.n as f64,
    }
}

/// N as a person writes it: `64Mi` elements, `64Mi@8` at 8 FLOP/byte, a side of `4096`,
/// `4096×64×4096`.
#[must_use]
pub fn size_label(row: &Row) -> String {
    match (row.m, row.k) {
        (Some(m), Some(k)) if m == row.n && k == row.n => row.n.to_string(),
        (Some(m), Some(k)) => format!("{m}×{}×{k}", row.n),
        (None, Some(fmas)) => format!("{}@{}", count(row.n), intensity::of(fmas)),
        _ => count(row.n),
    }
}

/// What stands beside a point on the roofline: N, without the intensity, which is its place.
#[must_use]
pub fn n_label(row: &Row) -> String {
    match (row.m, row.k) {
        (None, Some(_)) => count(row.n),
        _ => size_label(row),
    }
}

/// The size and, of a batch, how many products: `64, batch 32768`.
#[must_use]
pub fn full_size_label(row: &Row) -> String {
    match row.batch {
        0 | 1 => size_label(row),
        batch => format!("{}, batch {batch}", size_label(row)),
    }
}

/// Operations a second, if the kernel has operations.
#[must_use]
pub fn flop_rate(row: &Row) -> Option<f64> {
    row.flop_per_s
        .filter(|rate| *rate > 0.0 && row.flops != Some(0))
}

/// The unit of [`flop_rate`]: integer pipes count operations.
#[must_use]
pub fn rate_unit(row: &Row) -> &'static str {
    let pipe = row.pipe.as_deref().and_then(|pipe| pipe.parse().ok());
    pipe.map_or("FLOP/s", Pipe::rate_unit)
}

/// The interval of a rate that belongs to the 95 % interval of the time.
#[must_use]
pub fn rate_interval(row: &Row, rate: f64) -> Option<(f64, f64)> {
    let median = row.time_median_s?;
    let (low, high) = (row.time_ci95_low_s?, row.time_ci95_high_s?);
    (low > 0.0 && high >= low).then(|| (rate * median / high, rate * median / low))
}

/// A point in one line, for the pointer.
#[must_use]
pub fn tip(name: &str, row: &Row) -> String {
    let mut text = format!("{name}, N = {}", full_size_label(row));
    let mut add = |part: String| {
        text.push_str("; ");
        text.push_str(&part);
    };
    if row.batch > 1 {
        add(format!("batch {}", row.batch));
    }
    if let Some(rate) = flop_rate(row) {
        add(engineering(rate, rate_unit(row)));
    }
    if let Some(rate) = row.byte_per_s {
        add(engineering(rate, "B/s"));
    }
    if let Some(fraction) = row.fraction_of_roof {
        add(format!(
            "{} % of the roof",
            significant(100.0 * fraction, 3)
        ));
    }
    if let Some(seconds) = row.time_median_s {
        add(engineering(seconds, "s"));
    }
    if let (Some(median), Some(low), Some(high)) =
        (row.time_median_s, row.time_ci95_low_s, row.time_ci95_high_s)
        && median > 0.0
    {
        let half = (high - low) / 2.0 / median;
        add(format!("± {} %", significant(100.0 * half, 2)));
    }
    if let Some(intensity) = row.intensity_flop_per_byte {
        add(format!("{} FLOP/byte", significant(intensity, 4)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(kernel: &str, n: u64, cache: Cache) -> Row {
        Row {
            kernel: kernel.to_owned(),
            variant: "v".to_owned(),
            n,
            cache,
            ..Row::default()
        }
    }

    #[test]
    fn only_what_differs_is_named() {
        let rows = [row("copy", 1, Cache::Cold), row("triad", 1, Cache::Cold)];
        let groups = groups(&rows.iter().collect::<Vec<_>>());
        let names: Vec<&str> = groups.iter().map(|g| g.name.as_str()).collect();
        assert_eq!(names, ["copy v", "triad v"]);
    }

    #[test]
    fn batches_are_traces_of_their_own() {
        let of = |n, batch| Row {
            batch,
            ..row("sgemm", n, Cache::Cold)
        };
        let names = |rows: &[Row]| -> Vec<(String, usize)> {
            groups(&rows.iter().collect::<Vec<_>>())
                .into_iter()
                .map(|group| (group.name, group.rows.len()))
                .collect()
        };
        let named = |names: &[(&str, usize)]| -> Vec<(String, usize)> {
            names
                .iter()
                .map(|&(name, rows)| (name.to_owned(), rows))
                .collect()
        };
        // As many products as fill the card, beside single ones.
        let auto = [of(64, 1), of(128, 1), of(64, 400), of(128, 100)];
        assert_eq!(
            names(&auto),
            named(&[("sgemm v", 2), ("sgemm v batched", 2)])
        );
        let fixed = [of(64, 8), of(128, 8)];
        assert_eq!(names(&fixed), named(&[("sgemm v batch 8", 2)]));
        let both = [of(64, 8), of(128, 8), of(64, 9)];
        assert_eq!(
            names(&both),
            named(&[("sgemm v batch 8", 2), ("sgemm v batch 9", 1)])
        );
        assert_eq!(full_size_label(&of(64, 400)), "64, batch 400");
    }

    #[test]
    fn cold_and_warm_share_the_look_and_warm_is_hollow() {
        let rows = [row("copy", 2, Cache::Cold), row("copy", 1, Cache::Warm)];
        let groups = groups(&rows.iter().collect::<Vec<_>>());
        assert_eq!(groups[0].name, "copy v cold");
        assert_eq!(groups[1].name, "copy v warm");
        assert_eq!(groups[0].style.colour(), groups[1].style.colour());
        assert!(!groups[0].style.hollow && groups[1].style.hollow);
    }

    #[test]
    fn the_points_of_mix_are_one_trace_in_the_order_of_their_intensity() {
        let at = |fmas| Row {
            k: Some(fmas),
            ..row("mix", 1 << 24, Cache::Cold)
        };
        let rows = [at(32), at(0), at(1)];
        let groups = groups(&rows.iter().collect::<Vec<_>>());
        assert_eq!(groups.len(), 1);
        let labels: Vec<String> = groups[0].rows.iter().map(|row| size_label(row)).collect();
        assert_eq!(labels, ["16Mi@0", "16Mi@0.25", "16Mi@8"]);
        assert_eq!(n_label(&rows[0]), "16Mi");
    }

    #[test]
    fn sizes_are_sorted() {
        let rows = [30, 10, 20].map(|n| row("copy", n, Cache::Cold));
        let groups = groups(&rows.iter().collect::<Vec<_>>());
        assert_eq!(
            groups[0].rows.iter().map(|r| r.n).collect::<Vec<_>>(),
            [10, 20, 30]
        );
    }
}
