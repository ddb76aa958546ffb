//! Signals, kills and readers that leave: what was finished is in the file.

use crate::{Place, Ran};
use rooftrace::record::{Row, Status, read_file};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Twelve points of a fifth of a second each.
const LONG: [&str; 11] = [
    "sweep",
    "copy",
    "--sizes",
    "1..12:+1",
    "--device",
    "cpu",
    "--quick",
    "--noise=1e-9",
    "--max-time=0.2",
    "--out",
    "rows.csv",
];

fn start(place: &Place, args: &[&str]) -> Child {
    place
        .program(args)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Waits for `condition`, for at most a minute.
fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < Duration::from_secs(60), "{what} in vain");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The whole rows of a file that may be in the middle of being written.
fn rows_so_far(file: &Path) -> Vec<Row> {
    read_file(file).map(|table| table.rows).unwrap_or_default()
}

fn wait_for_rows(place: &Place, rows: usize) {
    let file = place.path().join("rows.csv");
    wait_until("waited for rows", || rows_so_far(&file).len() >= rows);
}

fn signal(child: &Child, name: &str) {
    let sent = Command::new("sh")
        .args(["-c", &format!("kill -{name} {}", child.id())])
        .status();
    assert!(sent.unwrap().success());
}

/// Continues the sweep and checks that each point has one row, those of before unchanged.
fn complete(place: &Place, before: &[Row]) {
    place.run(LONG.into_iter().chain(["--resume"])).ok();
    let rows = place.rows("rows.csv");
    assert_eq!(rows[..before.len()], *before, "rows were changed");
    let sizes: Vec<u64> = rows.iter().map(|row| row.n).collect();
    assert_eq!(sizes, (1..=12).collect::<Vec<u64>>());
    assert!(rows.iter().all(|row| row.status == Status::Ok));
    assert_eq!(place.files(), ["rows.csv"], "a temporary file is left");
}

/// Whether the program has set up its handler of SIGINT.
fn catches_interrupts(child: &Child) -> bool {
    let status = format!("/proc/{}/status", child.id());
    let status = std::fs::read_to_string(status).unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & (1 << (2 - 1)) != 0)
}

#[test]
fn sigint_and_sigterm_end_with_130_and_resume_continues() {
    for name in ["INT", "TERM"] {
        let place = Place::new();
        let child = start(&place, &LONG);
        wait_for_rows(&place, 2);
        signal(&child, name);
        let sent = Instant::now();
        let ran = Ran::of(child.wait_with_output().unwrap());
        assert!(
            sent.elapsed() < Duration::from_secs(5),
            "did not obey {name}"
        );
        assert_eq!(ran.code, Some(130), "{name}: {}", ran.stderr);
        ran.says(&["interrupted", "rows.csv", "--resume"]);
        let rows = place.rows("rows.csv");
        assert!((2..12).contains(&rows.len()), "{} rows", rows.len());
        complete(&place, &rows);
    }
}

#[test]
fn a_signal_before_the_first_row_leaves_nothing_in_the_way_of_resume() {
    let place = Place::new();
    let child = start(&place, &LONG);
    wait_until("waited for the handler", || catches_interrupts(&child));
    signal(&child, "INT");
    let ran = Ran::of(child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(130), "{}", ran.stderr);
    // The roofs come first, so that no point can be finished yet.
    assert_eq!(rows_so_far(&place.path().join("rows.csv")), []);
    complete(&place, &[]);
}

#[test]
fn a_kill_in_the_middle_loses_no_finished_row() {
    let place = Place::new();
    let mut child = start(&place, &LONG);
    wait_for_rows(&place, 2);
    let before = rows_so_far(&place.path().join("rows.csv"));
    child.kill().unwrap();
    child.wait().unwrap();
    let rows = rows_so_far(&place.path().join("rows.csv"));
    assert_eq!(rows[..before.len()], before);
    assert!(rows.len() < 12);
    complete(&place, &rows);
}

#[test]
fn an_interrupted_sweep_to_stdout_speaks_of_no_file() {
    let place = Place::new();
    let args: Vec<&str> = LONG
        .into_iter()
        .map(|a| if a == "rows.csv" { "-" } else { a })
        .collect();
    let mut child = start(&place, &args);
    let mut reader = BufReader::new(child.stdout.take().unwrap());
    let mut text = String::new();
    for _ in 0..2 {
        reader.read_line(&mut text).unwrap();
    }
    signal(&child, "INT");
    reader.read_to_string(&mut text).unwrap();
    let ran = Ran::of(child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(130), "{}", ran.stderr);
    let ran = ran.says(&["interrupted", "were written"]);
    assert!(!ran.stderr.contains("--resume"), "{}", ran.stderr);
    assert!(text.lines().count() >= 2 && text.ends_with('\n'), "{text}");
}

/// Reads one line of stdout and leaves.
fn read_one_line(child: &mut Child) -> String {
    let mut line = String::new();
    let mut reader = BufReader::with_capacity(16, child.stdout.take().unwrap());
    reader.read_line(&mut line).unwrap();
    line
}

#[test]
fn a_reader_of_the_table_that_leaves_costs_no_row() {
    let place = Place::new();
    let mut args = vec!["sweep", "copy", "--sizes", "1..6:+1", "--out", "rows.csv"];
    args.extend(crate::SHORT);
    let mut child = start(&place, &args);
    assert!(read_one_line(&mut child).starts_with("kernel"));
    Ran::of(child.wait_with_output().unwrap()).ok();
    assert_eq!(place.rows("rows.csv").len(), 6);
}

#[test]
fn a_reader_of_the_rows_that_leaves_is_no_error() {
    for format in ["csv", "jsonl", "json"] {
        let place = Place::new();
        let mut args = vec!["sweep", "copy", "--sizes", "1..40:+1", "--out", "-"];
        args.extend(["--format", format]);
        args.extend(crate::SHORT);
        let mut child = start(&place, &args);
        assert!(read_one_line(&mut child).starts_with(['s', '{']));
        let ran = Ran::of(child.wait_with_output().unwrap()).ok();
        assert!(!ran.stderr.contains("error"), "{}", ran.stderr);
    }
}

#[test]
fn a_reader_of_any_other_command_may_leave_too() {
    let place = Place::new();
    for args in [
        &["ridge"][..],
        &["peaks"],
        &["intensity", "sgemm", "--sizes", "1..4096:+1"],
        &["verify", "copy", "--device", "cpu", "--sizes", "1,2"],
        &["doctor"],
        &["devices"],
        &["--help"],
    ] {
        let mut child = start(&place, args);
        drop(child.stdout.take());
        let ran = Ran::of(child.wait_with_output().unwrap()).ok();
        assert!(!ran.stderr.contains("error"), "{args:?}: {}", ran.stderr);
    }
}

#[test]
fn streams_that_are_closed_are_no_obstacle() {
    let place = Place::new();
    for closed in ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"] {
        let script = format!(
            "exec \"$0\" sweep copy --sizes 8 --device cpu --quick --max-time 0.002 \
             --out rows.csv --force {closed}"
        );
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(script);
        shell.arg(assert_cmd::cargo::cargo_bin!("rooftrace"));
        let output = shell.current_dir(place.path()).output().unwrap();
        Ran::of(output).ok();
        assert_eq!(place.rows("rows.csv").len(), 1, "{closed}");
    }
}
