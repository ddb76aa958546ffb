//! Sweeps that are interrupted or killed, on the CPU, through the command line.
#![cfg(unix)]

use rooftrace::record::read_file;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const SIZES: &str = "1Ki..16Ki:+1Ki";
const POINTS: usize = 16;

/// `sweep copy` on the CPU, each point about a tenth of a second.
fn sweep(out: &Path, flags: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rooftrace"));
    command
        .args(["sweep", "copy", "--device", "cpu", "--sizes", SIZES])
        .args(["--min-time", "0.1", "--max-time", "0.1", "--out"])
        .arg(out)
        .args(flags)
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    command
}

fn rows(out: &Path) -> usize {
    read_file(out).map_or(0, |table| table.rows.len())
}

/// Waits until the file has some rows, but not all.
fn until_some_rows(child: &mut Child, out: &Path) {
    let start = Instant::now();
    while rows(out) < 2 {
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        assert!(start.elapsed() < Duration::from_secs(120), "no rows");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Continues the file, and requires every point once.
fn require_complete_after_resuming(out: &Path) {
    let status = sweep(out, &["--resume"]).status().unwrap();
    assert!(status.success(), "{status}");
    let table = read_file(out).unwrap();
    let sizes: Vec<u64> = table.rows.iter().map(|row| row.n).collect();
    let expected: Vec<u64> = (1..=POINTS as u64).map(|n| n << 10).collect();
    assert_eq!(sizes, expected);
    assert!(table.torn.is_none());
}

#[test]
fn a_signal_ends_a_sweep_with_its_rows_safe() {
    for (signal, format) in [("-INT", "csv"), ("-TERM", "json")] {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join(format!("rows.{format}"));
        let mut child = sweep(&out, &[]).spawn().unwrap();
        until_some_rows(&mut child, &out);
        let pid = child.id().to_string();
        assert!(
            Command::new("kill")
                .args([signal, &pid])
                .status()
                .unwrap()
                .success()
        );
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130), "{signal}");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains("--resume"), "{said}");
        let finished = rows(&out);
        assert!((2..POINTS).contains(&finished), "{finished}");
        require_complete_after_resuming(&out);
    }
}

#[test]
fn a_killed_sweep_loses_the_point_in_progress_and_no_more() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("rows.csv");
    let mut child = sweep(&out, &[]).spawn().unwrap();
    until_some_rows(&mut child, &out);
    let before = rows(&out);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(rows(&out) >= before);
    require_complete_after_resuming(&out);
}
