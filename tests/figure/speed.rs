//! How long a figure takes. The limits are those of a release build; a debug build gets more.

use crate::sample;
use rooftrace::figure::{Options, raster, scene, svg};
use std::time::Instant;

const SLACK: f64 = if cfg!(debug_assertions) { 4.0 } else { 1.0 };

fn seconds(rows: &[rooftrace::record::Row]) -> f64 {
    let start = Instant::now();
    let drawing = scene(rows, &Options::default()).unwrap();
    assert!(svg::document(&drawing).len() > 1000);
    assert!(raster::png(&drawing, 300.0).unwrap().len() > 1000);
    start.elapsed().as_secs_f64()
}

#[test]
fn five_kernels_of_forty_sizes_take_less_than_a_second() {
    let rows = sample::many(40);
    assert_eq!(rows.len(), 200);
    let taken = seconds(&rows);
    assert!(taken < SLACK, "{taken} s");
}

#[test]
fn a_hundred_thousand_rows_take_less_than_five_seconds() {
    let rows = sample::many(20_000);
    assert_eq!(rows.len(), 100_000);
    let taken = seconds(&rows);
    assert!(taken < 5.0 * SLACK, "{taken} s");
}
