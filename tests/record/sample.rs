//! Rows to write and read back.

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use rooftrace::record::{
    Bound, Cache, Data, Destination, Envelope, Format, OnExisting, RecordError, Row, RowSink,
    SCHEMA_VERSION, Status, open,
};

/// A measured point of a matrix multiplication, with every column filled in.
pub fn full_row() -> Row {
    let some = |text: &str| Some(text.to_owned());
    Row {
        schema_version: SCHEMA_VERSION,
        run_id: "0123abcd".to_owned(),
        timestamp_utc: "2026-01-31T12:00:00Z".to_owned(),
        host: some("node7"),
        device: "Example GPU, 80 GB".to_owned(),
        device_index: Some(0),
        compute_capability: some("9.0"),
        driver_version: some("580.65"),
        rooftrace_version: "0.1.0".to_owned(),
        git_commit: some("abcdef0123"),
        ptx_sha256: some("00ff"),
        ptx_source: some("compiled"),
        kernel: "sgemm".to_owned(),
        variant: "tiled".to_owned(),
        pipe: some("fp32"),
        storage: some("f32"),
        out_type: some("f32"),
        beta: Some(0.5),
        m: Some(64),
        n: 128,
        k: Some(256),
        batch: 2,
        flops: Some(8_388_608),
        bytes: Some(458_752),
        intensity_flop_per_byte: Some(18.285_714_285_714_285),
        data: Data::Random,
        seed: u64::MAX,
        grid: some("2x4x1"),
        block: some("256x1x1"),
        registers: Some(96),
        shared_bytes: Some(16_384),
        occupancy: Some(0.625),
        cache: Cache::Warm,
        samples: Some(20),
        launches_per_sample: Some(8),
        time_median_s: Some(1.25e-5),
        time_min_s: Some(1.2e-5),
        time_q1_s: Some(1.23e-5),
        time_q3_s: Some(1.27e-5),
        time_ci95_low_s: Some(1.24e-5),
        time_ci95_high_s: Some(1.26e-5),
        time_rel_noise: Some(0.008),
        converged: Some(true),
        sm_clock_hz: Some(1.98e9),
        power_w: Some(310.5),
        temperature_c: Some(41.0),
        throttle: some("none"),
        flop_per_s: Some(6.710_886_4e11),
        byte_per_s: Some(3.670_016e10),
        peak_flop_per_s: Some(6.7e13),
        peak_byte_per_s: Some(3.35e12),
        peak_source: some("datasheet"),
        measured_peak_flop_per_s: Some(6.1e13),
        measured_peak_byte_per_s: Some(3.0e12),
        ridge_flop_per_byte: Some(20.0),
        roof_flop_per_s: Some(6.125_714_285_714_286e13),
        fraction_of_roof: Some(0.010_955_274),
        bound: Some(Bound::Latency),
        verified: Some(true),
        error: Some(1.0e-7),
        error_bound: Some(1.0e-5),
        status: Status::Ok,
        reason: some("arrays fit in L2; \"warm\"\nby intent"),
        baseline: some("cublas"),
        baseline_time_median_s: Some(1.0e-5),
        speedup: Some(0.8),
    }
}

/// A point that could not run: everything optional unknown.
pub fn skipped_row() -> Row {
    Row {
        run_id: "0123abcd".to_owned(),
        timestamp_utc: "2026-01-31T12:00:01Z".to_owned(),
        device: "Example GPU, 80 GB".to_owned(),
        rooftrace_version: "0.1.0".to_owned(),
        kernel: "copy".to_owned(),
        variant: "vector".to_owned(),
        n: 1 << 40,
        seed: 7,
        reason: Some("needs 8 TiB of memory".to_owned()),
        ..Row::default()
    }
}

/// A row that differs from others by its size.
pub fn row_of_size(n: u64) -> Row {
    Row { n, ..full_row() }
}

pub fn envelope() -> Envelope {
    let mut environment = serde_json::Map::new();
    environment.insert("cpu_cores".to_owned(), 16.into());
    environment.insert("governor".to_owned(), serde_json::Value::Null);
    let command = ["rooftrace", "sweep", "sgemm", "--sizes", "\"rows\": ["];
    let mut envelope = Envelope::new("0123abcd", command.map(str::to_owned).to_vec(), environment);
    // Snapshots must not change with the version of the package.
    envelope.version = "0.1.0".to_owned();
    envelope
}

pub fn opened(
    path: &Path,
    format: Format,
    on_existing: OnExisting,
) -> Result<Box<dyn RowSink>, RecordError> {
    open(
        &Destination::from_out(path),
        format,
        on_existing,
        &envelope(),
    )
}

/// Writes `rows` to a new file of `folder`.
pub fn written(folder: &Path, format: Format, rows: &[Row]) -> PathBuf {
    let path = folder.join(format!("rows.{format}"));
    let mut sink = opened(&path, format, OnExisting::Replace).unwrap();
    for row in rows {
        sink.write(row).unwrap();
    }
    assert_eq!(sink.finish().unwrap(), rows.len() as u64);
    path
}

/// Any finite number, of any magnitude.
fn number() -> impl Strategy<Value = Option<f64>> {
    let finite = any::<f64>().prop_filter("finite", |number| number.is_finite());
    prop::option::of(finite)
}

/// Any text that CSV can tell from an unknown one.
fn text() -> impl Strategy<Value = Option<String>> {
    let known = prop_oneof![any::<String>(), "[a,\"\r\n;]{1,8}"];
    prop::option::of(known.prop_filter("not empty", |text| !text.is_empty()))
}

/// A row with anything a program could put into it.
pub fn any_row() -> impl Strategy<Value = Row> {
    let texts = prop::collection::vec(text(), 14);
    let numbers = prop::collection::vec(number(), 29);
    let integers = prop::collection::vec(any::<Option<u64>>(), 6);
    let terms = (0..3usize, 0..2usize, 0..3usize, 0..4usize);
    (
        texts,
        numbers,
        integers,
        terms,
        any::<[u64; 3]>(),
        any::<[Option<bool>; 2]>(),
    )
        .prop_map(|(texts, numbers, integers, terms, known, flags)| {
            let mut texts = texts.into_iter();
            let mut numbers = numbers.into_iter();
            let mut integers = integers.into_iter();
            let mut text = || texts.next().unwrap();
            let mut number = || numbers.next().unwrap();
            let mut integer = || integers.next().unwrap();
            Row {
                host: text(),
                compute_capability: text(),
                driver_version: text(),
                git_commit: text(),
                ptx_sha256: text(),
                ptx_source: text(),
                pipe: text(),
                storage: text(),
                out_type: text(),
                beta: number(),
                m: integer(),
                n: known[0],
                k: integer(),
                batch: known[1],
                flops: integer(),
                bytes: integer(),
                intensity_flop_per_byte: number(),
                data: [Data::Random, Data::Integers, Data::Zeros][terms.0],
                seed: known[2],
                grid: text(),
                block: text(),
                occupancy: number(),
                cache: [Cache::Cold, Cache::Warm][terms.1],
                samples: integer(),
                launches_per_sample: integer(),
                time_median_s: number(),
                time_min_s: number(),
                time_q1_s: number(),
                time_q3_s: number(),
                time_ci95_low_s: number(),
                time_ci95_high_s: number(),
                time_rel_noise: number(),
                converged: flags[0],
                sm_clock_hz: number(),
                power_w: number(),
                temperature_c: number(),
                throttle: text(),
                flop_per_s: number(),
                byte_per_s: number(),
                peak_flop_per_s: number(),
                peak_byte_per_s: number(),
                measured_peak_flop_per_s: number(),
                measured_peak_byte_per_s: number(),
                ridge_flop_per_byte: number(),
                roof_flop_per_s: number(),
                fraction_of_roof: number(),
                bound: [
                    None,
                    Some(Bound::Memory),
                    Some(Bound::Compute),
                    Some(Bound::Latency),
                ][terms.3],
                verified: flags[1],
                error: number(),
                error_bound: number(),
                status: [Status::Ok, Status::Skipped, Status::Failed][terms.2],
                reason: text(),
                baseline: text(),
                baseline_time_median_s: number(),
                speedup: number(),
                ..Row::default()
            }
        })
}
