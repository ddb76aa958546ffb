//! A killed writer loses nothing it had written.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use rooftrace::record::{Format, OnExisting, read_file};

use crate::sample::{opened, row_of_size};

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
