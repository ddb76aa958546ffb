//! Rows as a sweep of an H200 would write them: computed by a simple model of a kernel with a
//! fixed overhead under two roofs, so that every run of the tests has the same.

use rooftrace::record::{Bound, Cache, Row, Status};
use rooftrace::roofline::{Roofline, Work, model};

/// Peak rates of the datasheet, and what a run of it measured.
pub const DATASHEET: Roofline = Roofline {
    peak_flop_per_s: 66.9e12,
    peak_byte_per_s: 4.8e12,
};
const MEASURED: Roofline = Roofline {
    peak_flop_per_s: 61.4e12,
    peak_byte_per_s: 4.33e12,
};

/// Time of a launch that does nothing, s.
const OVERHEAD: f64 = 3.0e-6;

/// A point that takes the overhead and then runs at `reach` of the measured roofs.
#[derive(Clone, Copy)]
pub struct Point {
    pub kernel: &'static str,
    pub variant: &'static str,
    pub n: u64,
    pub cache: Cache,
    pub reach: f64,
}

pub fn row(point: Point) -> Row {
    let n = point.n;
    let (m, k, work) = match point.kernel {
        "copy" => (
            None,
            None,
            Work {
                flops: 0,
                bytes: 8 * n,
            },
        ),
        "saxpy" | "triad" => (
            None,
            None,
            Work {
                flops: 2 * n,
                bytes: 12 * n,
            },
        ),
        "fma" => {
            let threads = 132 * 2048;
            let work = Work {
                flops: 32 * threads * n,
                bytes: 4 * threads,
            };
            (None, None, work)
        }
        _ => {
            let work = Work {
                flops: 2 * n * n * n,
                bytes: 16 * n * n,
            };
            (Some(n), Some(n), work)
        }
    };
    let ideal = (work.flops as f64 / MEASURED.peak_flop_per_s)
        .max(work.bytes as f64 / MEASURED.peak_byte_per_s);
    let seconds = OVERHEAD + ideal / point.reach;
    // Noise falls with the time, as it does on a real device.
    let noise = 0.002 + 0.25 * OVERHEAD / seconds;
    let fraction = DATASHEET.fraction_of_roof(work, seconds);
    Row {
        run_id: "5e01a2b3".to_owned(),
        timestamp_utc: "2026-01-31T12:00:00Z".to_owned(),
        device: "NVIDIA H200".to_owned(),
        device_index: Some(0),
        compute_capability: Some("9.0".to_owned()),
        driver_version: Some("580.65".to_owned()),
        rooftrace_version: "0.1.0".to_owned(),
        git_commit: Some("0123456789abcdef".to_owned()),
        kernel: point.kernel.to_owned(),
        variant: point.variant.to_owned(),
        pipe: Some("fp32".to_owned()),
        storage: Some("f32".to_owned()),
        out_type: Some("f32".to_owned()),
        m,
        n,
        k,
        flops: Some(work.flops),
        bytes: Some(work.bytes),
        intensity_flop_per_byte: Some(work.intensity()),
        cache: point.cache,
        samples: Some(60),
        launches_per_sample: Some(4),
        time_median_s: Some(seconds),
        time_min_s: Some(seconds * (1.0 - 2.0 * noise)),
        time_q1_s: Some(seconds * (1.0 - 0.7 * noise)),
        time_q3_s: Some(seconds * (1.0 + 0.7 * noise)),
        time_ci95_low_s: Some(seconds * (1.0 - noise)),
        time_ci95_high_s: Some(seconds * (1.0 + noise)),
        time_rel_noise: Some(noise),
        converged: Some(true),
        flop_per_s: Some(work.flops as f64 / seconds),
        byte_per_s: Some(work.bytes as f64 / seconds),
        peak_flop_per_s: Some(DATASHEET.peak_flop_per_s),
        peak_byte_per_s: Some(DATASHEET.peak_byte_per_s),
        peak_source: Some("datasheet of H200 SXM".to_owned()),
        measured_peak_flop_per_s: Some(MEASURED.peak_flop_per_s),
        measured_peak_byte_per_s: Some(MEASURED.peak_byte_per_s),
        ridge_flop_per_byte: Some(DATASHEET.ridge()),
        roof_flop_per_s: Some(DATASHEET.roof_at(work.intensity())),
        fraction_of_roof: Some(fraction),
        bound: Some(match DATASHEET.bound(work, seconds) {
            model::Bound::Memory => Bound::Memory,
            model::Bound::Compute => Bound::Compute,
            model::Bound::Latency => Bound::Latency,
        }),
        verified: Some(true),
        status: Status::Ok,
        ..Row::default()
    }
}

/// Powers of two.
pub fn powers(from: u32, to: u32) -> impl Iterator<Item = u64> {
    (from..=to).map(|exponent| 1u64 << exponent)
}

/// A sweep of all kernels, fastest variants.
pub fn sweep() -> Vec<Row> {
    let mut rows = Vec::new();
    let mut add = |kernel, variant, reach, sizes: &mut dyn Iterator<Item = u64>| {
        rows.extend(sizes.map(|n| {
            row(Point {
                kernel,
                variant,
                n,
                cache: Cache::Cold,
                reach,
            })
        }));
    };
    add("copy", "vector", 0.98, &mut powers(16, 28));
    add("saxpy", "vector", 0.97, &mut powers(16, 28));
    add("triad", "vector", 1.0, &mut powers(16, 28));
    add("fma", "chains", 1.0, &mut powers(8, 16));
    add("sgemm", "async", 0.82, &mut powers(5, 14));
    rows
}

/// A ladder of variants of SGEMM with a baseline, and copy cold and warm.
pub fn ladder() -> Vec<Row> {
    let mut rows = Vec::new();
    for (variant, reach) in [
        ("naive", 0.09),
        ("tiled", 0.17),
        ("register", 0.71),
        ("async", 0.82),
    ] {
        for n in powers(7, 13) {
            let mut row = row(Point {
                kernel: "sgemm",
                variant,
                n,
                cache: Cache::Cold,
                reach,
            });
            // The library: the same model of a kernel, a little nearer to the roof.
            let library = row.time_median_s.unwrap() - OVERHEAD;
            let baseline = OVERHEAD + library * reach / 0.86;
            row.baseline = Some("cublas".to_owned());
            row.baseline_time_median_s = Some(baseline);
            row.speedup = Some(baseline / row.time_median_s.unwrap());
            rows.push(row);
        }
    }
    for cache in [Cache::Cold, Cache::Warm] {
        for (variant, reach) in [("scalar", 0.93), ("vector", 0.98)] {
            for n in powers(16, 27) {
                let warm = cache == Cache::Warm && n < 1 << 22;
                let mut row = row(Point {
                    kernel: "copy",
                    variant,
                    n,
                    cache,
                    reach: if warm { 1.6 * reach } else { reach },
                });
                if warm {
                    row.reason = Some("the operands stay in the last-level cache".to_owned());
                }
                rows.push(row);
            }
        }
    }
    rows
}

/// As many kernels as there are, with `sizes` sizes each.
pub fn many(sizes: u64) -> Vec<Row> {
    let mut rows = Vec::new();
    for (kernel, variant, least) in [
        ("copy", "vector", 1 << 16),
        ("saxpy", "vector", 1 << 16),
        ("triad", "vector", 1 << 16),
        ("fma", "chains", 1 << 6),
        ("sgemm", "async", 1 << 5),
    ] {
        for i in 0..sizes {
            // Eight octaves, whatever the number of sizes.
            let n = (f64::from(least) * 2f64.powf(8.0 * i as f64 / sizes as f64)) as u64;
            rows.push(row(Point {
                kernel,
                variant,
                n,
                cache: Cache::Cold,
                reach: 0.8 + 0.1 * (i % 3) as f64,
            }));
        }
    }
    rows
}

/// Products on each of these pipes, at the rates of an H200's datasheet and 90 % of them measured.
pub fn pipes(pipes: &[&str]) -> Vec<Row> {
    let mut rows = Vec::new();
    for pipe in pipes {
        let peak = match *pipe {
            "fp64" => 33.5e12,
            "fp32" | "fp64-tensor" => 66.9e12,
            "tf32" => 494.7e12,
            "bf16" | "fp16" => 989.4e12,
            _ => 1979e12,
        };
        for n in powers(7, 14) {
            let row = row(Point {
                kernel: "sgemm",
                variant: "auto",
                n,
                cache: Cache::Cold,
                reach: 0.8,
            });
            // The same launch under a higher roof.
            let work = row.flops.unwrap_or_default() as f64;
            let seconds =
                OVERHEAD + (work / (0.7 * peak)).max(row.bytes.unwrap_or_default() as f64 / 4e12);
            rows.push(Row {
                kernel: format!("gemm-{pipe}"),
                pipe: Some((*pipe).to_owned()),
                time_median_s: Some(seconds),
                time_ci95_low_s: Some(0.999 * seconds),
                time_ci95_high_s: Some(1.001 * seconds),
                flop_per_s: Some(work / seconds),
                byte_per_s: row.bytes.map(|bytes| bytes as f64 / seconds),
                peak_flop_per_s: Some(peak),
                measured_peak_flop_per_s: Some(0.9 * peak),
                ..row
            });
        }
    }
    rows
}

/// The same rows of another device.
pub fn on_device(rows: &[Row], device: &str) -> Vec<Row> {
    let renamed = |row: &Row| Row {
        device: device.to_owned(),
        peak_byte_per_s: Some(3.35e12),
        measured_peak_byte_per_s: Some(3.0e12),
        ..row.clone()
    };
    rows.iter().map(renamed).collect()
}

/// The streams again, warm: out of the L2 as long as they fit in it, and then as fast as cold.
fn warm() -> Vec<Row> {
    let mut rows = Vec::new();
    for (kernel, bytes) in [("copy", 8), ("triad", 12)] {
        for n in powers(16, 26) {
            let row = row(Point {
                kernel,
                variant: "vector",
                n,
                cache: Cache::Warm,
                reach: 0.98,
            });
            let bytes = bytes * n;
            let rate = if bytes <= 60 << 20 { 6.9e12 } else { 4.2e12 };
            let seconds = 0.6e-6 + bytes as f64 / rate;
            rows.push(Row {
                time_median_s: Some(seconds),
                time_ci95_low_s: Some(0.999 * seconds),
                time_ci95_high_s: Some(1.001 * seconds),
                flop_per_s: row.flops.map(|flops| flops as f64 / seconds),
                byte_per_s: Some(bytes as f64 / seconds),
                ..row
            });
        }
    }
    rows
}

/// The sweep of all kernels with the streams cold and warm: a roof of the memory and one of the L2.
pub fn levels() -> Vec<Row> {
    [sweep(), warm()].concat()
}
