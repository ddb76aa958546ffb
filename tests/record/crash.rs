//! A killed writer loses nothing it had written, and a reader may leave.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use rooftrace::record::{Destination, Format, OnExisting, open, read_file};

use crate::sample::{envelope, opened, row_of_size};

/// Set for the copy of this program that is to be killed.
const FILE: &str = "ROOFTRACE_TEST_WRITE_UNTIL_KILLED";
const ROWS_BEFORE_THE_KILL: usize = 50;

/// The part of the child: does nothing unless the test below runs it.
#[test]
fn write_until_killed() {
    let Some(path) = std::env::var_os(FILE).map(PathBuf::from) else {
        return;
    };
    let format = Format::of_path(&path).unwrap();
    let mut sink = opened(&path, format, OnExisting::Refuse).unwrap();
    for n in 1.. {
        sink.write(&row_of_size(n)).unwrap();
        writeln!(std::io::stdout(), "\nwritten {n}").unwrap();
    }
}

#[test]
fn a_killed_writer_leaves_every_row_it_had_written() {
    let folder = tempfile::tempdir().unwrap();
    for format in Format::ALL {
        let path = folder.path().join(format!("rows.{format}"));
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "crash::write_until_killed", "--nocapture"])
            .env(FILE, &path)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.as_mut().unwrap())
            .lines()
            .map_while(Result::ok);
        let told = lines
            .filter_map(|line| line.strip_prefix("written ")?.parse::<u64>().ok())
            .nth(ROWS_BEFORE_THE_KILL - 1)
            .expect("the child writes rows");
        child.kill().unwrap();
        child.wait().unwrap();
        let rows = read_file(&path).unwrap().rows;
        assert!(
            rows.len() as u64 >= told,
            "{format}: {} rows of {told}",
            rows.len()
        );
        assert!(
            rows.iter().zip(1..).all(|(row, n)| *row == row_of_size(n)),
            "{format}"
        );
    }
}

/// Set for the copy of this program whose reader leaves.
const PIPE: &str = "ROOFTRACE_TEST_WRITE_TO_STDOUT";
const TOLD_APART: &str = "the reader has gone";

/// The part of the child: does nothing unless the test below runs it.
#[test]
fn write_until_nobody_reads() {
    let Some(format) = std::env::var(PIPE)
        .ok()
        .and_then(|format| format.parse().ok())
    else {
        return;
    };
    // The reader may leave as early as the header.
    let error = match open(
        &Destination::Stdout,
        format,
        OnExisting::Refuse,
        &envelope(),
    ) {
        Ok(mut sink) => (1..)
            .find_map(|n| sink.write(&row_of_size(n)).err())
            .unwrap(),
        Err(error) => error,
    };
    if error.is_broken_pipe() {
        writeln!(std::io::stderr(), "{TOLD_APART}").unwrap();
    }
}

#[test]
fn a_reader_that_stops_reading_is_told_apart_from_a_failure() {
    for format in Format::ALL {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "crash::write_until_nobody_reads", "--nocapture"])
            .env(PIPE, format.name())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let reader = BufReader::new(child.stdout.take().unwrap());
        assert!(
            reader
                .lines()
                .map_while(Result::ok)
                .any(|line| line.contains("sgemm"))
        );
        let told = child.wait_with_output().unwrap().stderr;
        assert!(
            String::from_utf8_lossy(&told).contains(TOLD_APART),
            "{format}"
        );
    }
}
