//! The same command, five times in a row on one GPU: what its rows state must hold between them.
//!
//! The files are measurements (`results/*/repeat/`), made by the command in the README beside
//! them. Replacing them checks the claim again.

use rooftrace::record::compare::DEFAULT_THRESHOLD;
use rooftrace::record::{PointKey, Row, Status, Verdict, compare, read_file};
use std::path::{Path, PathBuf};

/// Runs that the claim is about.
const RUNS: usize = 5;
/// Part of the points at which it must hold.
const PART: f64 = 0.95;
/// Medians nearer than this are the same, whatever their intervals.
const NEAR: f64 = 0.01;

/// The rows of each run in a folder of repeated runs.
fn runs(folder: &Path) -> Vec<Vec<Row>> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "csv"))
        .collect();
    files.sort();
    files
        .iter()
        .map(|file| read_file(file).unwrap().rows)
        .collect()
}

/// All folders of repeated runs.
fn repeated() -> Vec<PathBuf> {
    let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("results");
    std::fs::read_dir(results)
        .unwrap()
        .map(|entry| entry.unwrap().path().join("repeat"))
        .filter(|folder| folder.is_dir())
        .collect()
}

/// Median, and the interval that a row states today: early ones state that of their samples.
fn stated(row: &Row) -> (f64, f64, f64) {
    let (low, high) = row.sampling_interval().unwrap();
    let beyond = row.between_processes_s();
    (row.time_median_s.unwrap(), low - beyond, high + beyond)
}

/// Whether each median lies in the interval that the other row states, or both are near.
fn agree(one: &Row, other: &Row) -> bool {
    let ((a, a_low, a_high), (b, b_low, b_high)) = (stated(one), stated(other));
    let near = (a - b).abs() < NEAR * a.min(b);
    near || ((a_low..=a_high).contains(&b) && (b_low..=b_high).contains(&a))
}

#[test]
fn five_runs_agree_within_the_intervals_that_they_state() {
    let folders = repeated();
    assert!(!folders.is_empty(), "no repeated runs to check");
    for folder in folders {
        let runs = runs(&folder);
        assert_eq!(runs.len(), RUNS, "{}", folder.display());
        let mut apart = Vec::new();
        for row in &runs[0] {
            let key = PointKey::of(row);
            let found: Vec<&Row> = runs
                .iter()
                .flat_map(|rows| rows.iter().filter(|row| PointKey::of(row) == key))
                .collect();
            assert_eq!(found.len(), RUNS, "{key:?}");
            assert!(found.iter().all(|row| row.status == Status::Ok), "{key:?}");
            let all = found
                .iter()
                .all(|one| found.iter().all(|other| agree(one, other)));
            if !all {
                let medians: Vec<f64> = found.iter().filter_map(|row| row.time_median_s).collect();
                apart.push(format!("{} {}: {medians:?}", row.kernel, row.n));
            }
        }
        let points = runs[0].len();
        assert!(runs.iter().all(|rows| rows.len() == points));
        assert!(
            apart.len() as f64 <= (1.0 - PART) * points as f64,
            "{}: {} of {points} points differ by more than they state: {apart:#?}",
            folder.display(),
            apart.len()
        );
    }
}

#[test]
fn no_run_is_called_slower_than_another() {
    for folder in repeated() {
        let runs = runs(&folder);
        for (old_run, old) in runs.iter().enumerate() {
            for (new_run, new) in runs.iter().enumerate() {
                let points = compare(old, new, DEFAULT_THRESHOLD, false).unwrap();
                assert_eq!(points.len(), old.len());
                for point in points {
                    assert!(
                        !point.verdict.is_regression() && point.verdict != Verdict::OnlyOld,
                        "{}: run {} against run {}: {point:?}",
                        folder.display(),
                        new_run + 1,
                        old_run + 1
                    );
                }
            }
        }
    }
}
