//! Where rows cannot go, and what is lost then: nothing.

use crate::{Place, SHORT};
use rooftrace::record::Status;
use std::path::Path;
use std::process::Command;

#[test]
fn a_folder_is_no_file() {
    let place = Place::new();
    for folder in [".", ".."] {
        place
            .sweep(["copy", "--sizes", "8", "--out", folder])
            .refused(2, &["--out", folder, "is a folder", "rows.csv"]);
    }
    assert_eq!(place.files(), [""; 0]);
}

#[test]
fn a_missing_folder_is_named_and_not_made() {
    let place = Place::new();
    place
        .sweep(["copy", "--sizes", "8", "--out", "no/such/rows.csv"])
        .refused(2, &["no/such/rows.csv", "no folder `no/such`", "--out"]);
    assert_eq!(place.files(), [""; 0]);
}

#[test]
fn a_path_through_a_file_cannot_be_written() {
    let place = Place::new();
    place.write("notes", "mine\n");
    for resume in [&[][..], &["--resume"], &["--force"]] {
        let args = ["copy", "--sizes", "8", "--out", "notes/rows.csv"];
        place
            .sweep(args.into_iter().chain(resume.iter().copied()))
            .refused(2, &["notes/rows.csv", "`notes`", "--out"]);
    }
    assert_eq!(place.read("notes"), "mine\n");
}

#[test]
fn a_file_system_that_takes_no_files_is_told() {
    // Nobody can make a file there, root neither.
    let place = Place::new();
    place
        .sweep(["copy", "--sizes", "8", "--out", "/proc/rows.csv"])
        .refused(2, &["cannot write `/proc/rows.csv`", "--out"]);
}

#[test]
fn a_file_that_cannot_be_written_is_told_before_anything_is_measured() {
    let place = Place::new();
    let measured = |out: &str| {
        place
            .sweep(["copy", "--sizes", "8", "-v", "--out", out])
            .stderr
            .contains("measured roofs")
    };
    assert!(measured("rows.csv"), "the sign that something was measured");
    assert!(!measured("/proc/rows.csv"));

    // The file that another run is writing, continued.
    let taken = std::fs::File::open(place.path().join("rows.csv")).unwrap();
    taken.lock().unwrap();
    let ran = place.sweep([
        "copy", "--sizes", "16", "-v", "--out", "rows.csv", "--resume",
    ]);
    assert!(!ran.stderr.contains("measured roofs"), "{}", ran.stderr);
    ran.refused(2, &["rows.csv"]);
    drop(taken);

    // Nothing is left of the attempt, and a probe changes no file.
    assert_eq!(place.files(), ["rows.csv"]);
    assert_eq!(place.rows("rows.csv").len(), 1);
}

#[test]
fn an_existing_file_is_kept_without_force_and_replaced_with_it() {
    let place = Place::new();
    place.write("rows.csv", "mine\n");
    let args = ["copy", "--sizes", "8", "--out", "rows.csv"];
    place
        .sweep(args)
        .refused(2, &["--out `rows.csv` exists", "--resume", "--force"]);
    assert_eq!(place.read("rows.csv"), "mine\n");
    place.sweep(args.into_iter().chain(["--force"])).ok();
    assert_eq!(place.rows("rows.csv").len(), 1);
    assert_eq!(place.files(), ["rows.csv"]);
}

#[test]
fn force_destroys_nothing_when_the_sweep_cannot_start() {
    let place = Place::new();
    place.write("rows.csv", "mine\n");
    for args in [
        &["copy", "--device", "cuda:9"][..],
        &["copy", "--device", "cpu", "--variant", "no-such"],
        &["copy", "--sizes", "0"],
        &["copy", "--spec", "missing.toml"],
    ] {
        let args = ["sweep"].iter().chain(args);
        let ran = place.run(args.chain(&["--out", "rows.csv", "--force"]));
        assert_ne!(ran.code, Some(0));
        assert_eq!(place.read("rows.csv"), "mine\n");
    }
    assert_eq!(place.files(), ["rows.csv"], "a temporary file is left");
}

#[test]
fn a_full_device_is_told() {
    let place = Place::new();
    place
        .sweep(["copy", "--sizes", "8", "--out", "/dev/full"])
        .refused(2, &["/dev/full"]);
    let mut program = place.program(["sweep", "copy", "--sizes", "8", "--out", "-"]);
    let full = std::fs::File::create("/dev/full").unwrap();
    let output = program.args(SHORT).stdout(full).output().unwrap();
    crate::Ran::of(output).refused(2, &["`-`", "No space left"]);
    let full = std::fs::File::create("/dev/full").unwrap();
    let output = place.program(["ridge"]).stdout(full).output().unwrap();
    crate::Ran::of(output).refused(2, &["stdout", "No space left"]);
}

#[test]
fn a_table_that_cannot_be_shown_costs_no_row() {
    let place = Place::new();
    let mut program = place.program(["sweep", "copy", "--sizes", "8", "--out", "rows.csv"]);
    let full = std::fs::File::create("/dev/full").unwrap();
    let output = program.args(SHORT).stdout(full).output().unwrap();
    crate::Ran::of(output).ok();
    assert_eq!(place.rows("rows.csv").len(), 1);
}

/// A file system of its own, of a given size, while the value lives.
struct SmallDisk<'a> {
    at: &'a Path,
}

impl<'a> SmallDisk<'a> {
    /// `None` where file systems cannot be mounted.
    fn mount(at: &'a Path, size: &str) -> Option<Self> {
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={size}"), "rows"])
            .arg(at)
            .output();
        let mounted = mounted.is_ok_and(|output| output.status.success());
        mounted.then_some(SmallDisk { at })
    }

    fn resize(&self, size: &str) {
        let resized = Command::new("mount")
            .args(["-o", &format!("remount,size={size}")])
            .arg(self.at)
            .status();
        assert!(resized.unwrap().success());
    }
}

impl Drop for SmallDisk<'_> {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg(self.at).status();
        assert!(unmounted.is_ok_and(|status| status.success()));
    }
}

/// Says why a test checks nothing here.
#[allow(clippy::print_stderr, reason = "a test that is skipped must be seen")]
fn skipped(why: &str) {
    eprintln!("SKIPPED: {why}");
}

#[test]
fn a_full_disk_keeps_the_rows_and_resume_completes_them() {
    for format in ["csv", "jsonl", "json"] {
        let place = Place::new();
        let folder = place.path().join("disk");
        std::fs::create_dir(&folder).unwrap();
        let Some(disk) = SmallDisk::mount(&folder, "4k") else {
            return skipped("this user cannot mount a small file system to fill");
        };
        let file = format!("disk/rows.{format}");
        let args = ["copy", "--sizes", "1..12:+1", "--out", &file];
        let ran = place.sweep(args);
        assert_eq!(ran.code, Some(2), "{}", ran.stderr);
        let ran = ran.says(&["no space left", &file, "are safe", "--resume"]);
        let before = place.rows(&file);
        assert!(!before.is_empty() && before.len() < 12, "{}", before.len());
        let told = format!("its {} rows", before.len());
        assert!(ran.stderr.contains(&told), "no `{told}`: {}", ran.stderr);

        disk.resize("1m");
        place.sweep(args.into_iter().chain(["--resume"])).ok();
        let rows = place.rows(&file);
        assert_eq!(rows[..before.len()], before, "rows were changed");
        let sizes: Vec<u64> = rows.iter().map(|row| row.n).collect();
        assert_eq!(sizes, (1..=12).collect::<Vec<u64>>());
        assert!(rows.iter().all(|row| row.status == Status::Ok));
    }
}

#[test]
fn a_disk_that_is_full_from_the_start_gets_no_file() {
    let place = Place::new();
    let folder = place.path().join("disk");
    std::fs::create_dir(&folder).unwrap();
    let Some(_disk) = SmallDisk::mount(&folder, "4k") else {
        return skipped("this user cannot mount a small file system to fill");
    };
    std::fs::write(folder.join("filler"), [0; 4096]).unwrap();
    place
        .sweep(["copy", "--sizes", "8", "--out", "disk/rows.csv"])
        .refused(2, &["no space left", "disk/rows.csv"]);
    let left = std::fs::read_dir(&folder).unwrap();
    assert_eq!(left.count(), 1, "half a file is left");
}

#[test]
fn sizes_past_the_memory_are_skipped_with_the_bytes_and_the_sweep_goes_on() {
    let place = Place::new();
    place
        .sweep(["copy", "--sizes", "8,1000G,16", "--out", "rows.csv"])
        .ok()
        .says(&["1 point", "skipped"]);
    let rows = place.rows("rows.csv");
    let statuses: Vec<Status> = rows.iter().map(|row| row.status).collect();
    assert_eq!(statuses, [Status::Ok, Status::Skipped, Status::Ok]);
    let reason = rows[1].reason.as_ref().unwrap();
    // Two arrays of 4 bytes an element, and their guard bands.
    let needed = 8_000_000_000_000u64 + 2 * 2 * 1024 * 4;
    assert!(reason.contains(&format!("{needed} bytes")), "{reason}");
    let free = reason.split(' ').rev().nth(2).unwrap();
    let free: u64 = free.parse().unwrap_or_else(|_| panic!("{reason}"));
    assert!(free > 0 && free < needed, "{reason}");
    assert_eq!(rows[1].n, 1_000_000_000_000);
    assert_eq!(rows[1].time_median_s, None);
    // Bytes near the end of 64 bits must not wrap around and seem to fit.
    place
        .sweep(["sgemm", "--sizes", "1M,4", "--out", "product.csv"])
        .ok();
    let rows = place.rows("product.csv");
    assert_eq!(rows[0].status, Status::Skipped);
    assert_eq!(rows[1].status, Status::Ok);
    let reason = rows[0].reason.as_ref().unwrap();
    assert!(reason.contains("12000000024576 bytes"), "{reason}");
}
