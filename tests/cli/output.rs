//! What is said and where: tables, rows, notices, colour, help.

use crate::{Place, SHORT};
use rooftrace::kernels::intensity::{DEFAULT, parse};
use rooftrace::record::{
    Cache, Destination, Envelope, Format, OnExisting, Row, Status, open, read_bytes, read_file,
};
use std::path::Path;

/// A sweep of all six kernels, small.
const ALL: [&str; 7] = [
    "all",
    "--sizes",
    "16,33",
    "--intensity",
    "8",
    "--cache",
    "both",
];

/// The rows are those of `ALL`: each kernel at both sizes, cold and warm, right and timed.
fn assert_all(rows: &[Row]) {
    let kernels: Vec<&str> = rows.iter().map(|row| row.kernel.as_str()).collect();
    let expected = ["copy", "saxpy", "triad", "fma", "mix", "sgemm"].map(|kernel| [kernel; 4]);
    assert_eq!(kernels, expected.concat());
    for (i, row) in rows.iter().enumerate() {
        assert_eq!(row.n, [16, 16, 33, 33][i % 4]);
        assert_eq!(row.cache, [Cache::Cold, Cache::Warm][i % 2]);
        assert_eq!(row.status, Status::Ok, "{:?}", row.reason);
        assert_eq!(row.verified, Some(true));
        assert!(row.time_median_s.unwrap() > 0.0);
        assert!(row.error.unwrap() <= row.error_bound.unwrap());
        assert!(row.samples.unwrap() > 0);
        assert!(!row.device.is_empty() && !row.run_id.is_empty());
        assert_eq!(row.run_id, rows[0].run_id);
        assert_eq!(row.rooftrace_version, env!("CARGO_PKG_VERSION"));
        let (n, m) = (row.n, row.m);
        let (flops, bytes) = match row.kernel.as_str() {
            "copy" => (0, 8 * n),
            "saxpy" | "triad" => (2 * n, 12 * n),
            "mix" => (64 * n, 8 * n),
            // C is read and written.
            "sgemm" => (2 * n.pow(3), 16 * n.pow(2)),
            _ => (row.flops.unwrap(), row.bytes.unwrap()),
        };
        assert_eq!((row.flops, row.bytes), (Some(flops), Some(bytes)));
        assert_eq!(m.is_some(), row.kernel == "sgemm");
        // FMAs of an element.
        if row.kernel == "mix" {
            assert_eq!((row.k, row.intensity_flop_per_byte), (Some(32), Some(8.0)));
        }
        // A place on the roofline, from the roofs measured in this run.
        assert!(row.measured_peak_flop_per_s.unwrap() > 1e6);
        assert!(row.measured_peak_byte_per_s.unwrap() > 1e6);
        assert!(row.fraction_of_roof.unwrap() > 0.0);
        assert!(row.fraction_of_roof.unwrap() <= 1.0 || row.reason.is_some());
    }
}

/// Writes rows in a format, and reads them back.
fn rewritten(rows: &[Row], format: Format, folder: &Path) -> Vec<Row> {
    let path = folder.join(format!("again.{format}"));
    let envelope = Envelope::new("run", Vec::new(), serde_json::Map::new());
    let to = Destination::from_out(&path);
    let mut sink = open(&to, format, OnExisting::Refuse, &envelope).unwrap();
    for row in rows {
        sink.write(row).unwrap();
    }
    sink.finish().unwrap();
    read_file(&path).unwrap().rows
}

#[test]
fn every_format_is_read_back_and_goes_through_every_other() {
    for format in Format::ALL {
        let place = Place::new();
        let file = format!("rows.{format}");
        place.sweep(ALL.into_iter().chain(["--out", &file])).ok();
        let rows = place.rows(&file);
        assert_all(&rows);
        for other in Format::ALL {
            assert_eq!(
                rewritten(&rows, other, place.path()),
                rows,
                "{format} to {other}"
            );
        }
    }
}

#[test]
fn rows_on_stdout_are_the_rows_and_nothing_else() {
    for format in Format::ALL {
        let place = Place::new();
        let name = format.name();
        let args = [
            "triad", "--sizes", "16,1000G", "--out", "-", "--format", name,
        ];
        let ran = place.sweep(args).ok();
        let table = read_bytes(ran.stdout.as_bytes(), "-".as_ref(), Some(format)).unwrap();
        let statuses: Vec<Status> = table.rows.iter().map(|row| row.status).collect();
        assert_eq!(statuses, [Status::Ok, Status::Skipped]);
        assert_eq!(place.files(), [""; 0]);
    }
}

#[test]
fn the_flag_decides_the_format_and_then_the_name_of_the_file() {
    let place = Place::new();
    let args = [
        "copy", "--sizes", "4", "--out", "rows.csv", "--format", "jsonl",
    ];
    place.sweep(args).ok();
    assert!(place.read("rows.csv").starts_with('{'));
    place
        .sweep(["copy", "--sizes", "4", "--out", "rows.json"])
        .ok();
    let table = read_file(&place.path().join("rows.json")).unwrap();
    let envelope = table.envelope.expect("a document says how it was made");
    assert!(format!("{envelope:?}").contains("rows.json"));
}

#[test]
fn without_out_the_rows_go_to_the_folder_of_results() {
    let place = Place::new();
    let ran = place.sweep(["copy", "--sizes", "4"]).ok();
    let entries: Vec<_> = std::fs::read_dir(place.path().join("results/local"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let [file] = &entries[..] else {
        panic!("{entries:?}");
    };
    assert!(
        file.starts_with("copy-") && file.ends_with(".csv"),
        "{file}"
    );
    assert_eq!(place.rows(&format!("results/local/{file}")).len(), 1);
    ran.says(&["1 row", file]);
}

#[test]
fn the_table_has_a_line_for_each_row() {
    let place = Place::new();
    let ran = place
        .sweep(["sgemm", "--sizes", "16,7x5x3,1M", "--out", "rows.csv"])
        .ok();
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(lines.len(), 4, "{}", ran.stdout);
    assert!(lines[0].starts_with("kernel") && lines[0].contains("FLOP/s"));
    assert!(lines[1].contains(" 16 ") && lines[1].ends_with(" ok"));
    assert!(lines[2].contains(" 7x5x3 ") && lines[2].ends_with(" ok"));
    assert!(lines[3].contains("skipped: needs 12000000024576 bytes"));
    assert_eq!(place.rows("rows.csv")[1].m, Some(7));
}

#[test]
fn quiet_says_nothing_and_verbose_tells_where_the_time_went() {
    let place = Place::new();
    let args = ["copy", "--sizes", "4", "--out", "rows.csv", "--force"];
    let quiet = place.sweep(args.into_iter().chain(["-q"])).ok();
    assert_eq!((quiet.stdout.as_str(), quiet.stderr.as_str()), ("", ""));
    assert_eq!(place.rows("rows.csv").len(), 1);

    let normal = place.sweep(args).ok();
    assert!(!normal.stderr.contains("time: "), "{}", normal.stderr);

    let verbose = place.sweep(args.into_iter().chain(["-v"])).ok();
    let line = verbose
        .stderr
        .lines()
        .find(|line| line.starts_with("time: "));
    let line = line.unwrap_or_else(|| panic!("no budget in {}", verbose.stderr));
    for part in ["measuring ", "roofs ", "verifying ", "rest ", " %)"] {
        assert!(line.contains(part), "no `{part}` in {line}");
    }
    // The parts add up to the total, as printed.
    let seconds: Vec<f64> = line
        .split(" s")
        .filter_map(|part| part.rsplit(' ').next()?.parse().ok())
        .collect();
    let [total, parts @ ..] = &seconds[..] else {
        panic!("{line}");
    };
    assert_eq!(parts.len(), 4, "{line}");
    let difference = (total - parts.iter().sum::<f64>()).abs();
    // Five numbers, each rounded by at most 0.05.
    assert!(difference <= 0.25 + 1e-9, "off by {difference}: {line}");
}

#[test]
fn quiet_still_says_what_went_wrong() {
    let place = Place::new();
    place
        .sweep(["copy", "--sizes", "0", "-q"])
        .refused(2, &["--sizes"]);
}

#[test]
fn a_cpu_is_announced_when_no_gpu_was_asked_for_and_found() {
    let place = Place::new();
    let args = [
        "sweep", "copy", "--sizes", "4", "--out", "rows.csv", "--quick",
    ];
    let ran = place.run(args).ok();
    // With a GPU there is nothing to announce.
    if place.rows("rows.csv")[0].compute_capability.is_none() {
        let said: Vec<&str> = ran.stderr.lines().collect();
        let line = said
            .iter()
            .find(|line| line.starts_with("measuring the CPU"));
        let line = line.unwrap_or_else(|| panic!("{}", ran.stderr));
        assert!(line.contains("because no GPU was found: "), "{line}");
    }
    // Who asks for the CPU needs no announcement.
    let ran = place
        .sweep(["copy", "--sizes", "4", "--out", "more.csv"])
        .ok();
    assert!(!ran.stderr.contains("no GPU"), "{}", ran.stderr);
}

#[test]
fn progress_is_for_terminals_only() {
    let place = Place::new();
    let ran = place
        .sweep(["copy", "--sizes", "4,5,6", "--out", "rows.csv"])
        .ok();
    assert_eq!(ran.stderr, "3 rows in rows.csv\n");
}

const ESCAPE: char = '\u{1b}';

#[test]
fn colour_is_as_asked_for_help_and_errors_too() {
    let place = Place::new();
    let error = ["sweep", "copy", "--sizes", "0"];
    let usage = ["sweep", "--no-such-flag"];
    let help = ["sweep", "--help"];
    for args in [&error[..], &usage, &help] {
        let said = |extra: &[&str]| {
            let ran = place.run(args.iter().chain(extra));
            (ran.stdout + &ran.stderr).contains(ESCAPE)
        };
        // Neither stream is a terminal here.
        assert!(!said(&[]), "{args:?}");
        assert!(!said(&["--color", "auto"]), "{args:?}");
        assert!(!said(&["--color", "never"]), "{args:?}");
        assert!(said(&["--color", "always"]), "{args:?}");
        assert!(said(&["--color=always"]), "{args:?}");
        let output = place.program(args).env("NO_COLOR", "1").output().unwrap();
        assert!(!output.stdout.contains(&(ESCAPE as u8)));
        assert!(!output.stderr.contains(&(ESCAPE as u8)));
    }
    let ran = place.run(["ridge", "--color", "sometimes"]);
    ran.refused(2, &["--color", "sometimes", "auto, always, never"]);
}

#[test]
fn data_on_stdout_is_never_coloured() {
    let place = Place::new();
    for args in [
        &["ridge", "--format", "csv"][..],
        &["ridge", "--format", "json"],
    ] {
        let ran = place.run(args.iter().chain(&["--color", "always"])).ok();
        assert!(!ran.stdout.contains(ESCAPE), "{}", ran.stdout);
    }
    let mut program = place.program(["sweep", "copy", "--sizes", "4", "--out", "-"]);
    let output = program
        .args(SHORT)
        .args(["--color", "always"])
        .output()
        .unwrap();
    let ran = crate::Ran::of(output).ok();
    assert!(!ran.stdout.contains(ESCAPE), "{}", ran.stdout);
}

#[test]
fn doctor_and_devices_tell_what_is_here() {
    let place = Place::new();
    let doctor = place.run(["doctor"]).ok();
    for part in ["program", "sm_80", "sm_90a", "sha256", "cpu", "threads"] {
        assert!(
            doctor.stdout.contains(part),
            "no `{part}`: {}",
            doctor.stdout
        );
    }
    for line in doctor
        .stdout
        .lines()
        .filter(|line| line.starts_with("missing"))
    {
        let after = doctor.stdout.split_once(line).unwrap().1;
        assert!(
            after.trim_start().starts_with("fix: "),
            "no fix for: {line}"
        );
    }
    let devices = place.run(["devices"]).ok();
    assert!(devices.stdout.contains("cpu"), "{}", devices.stdout);
}

#[test]
fn verify_passes_here_and_says_how_near_the_bound_it_was() {
    let place = Place::new();
    let args = [
        "verify",
        "all",
        "--device",
        "cpu",
        "--sizes",
        "1,2,31,33,127",
    ];
    let ran = place.run(args).ok();
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(lines.len(), 6, "{}", ran.stdout);
    let intensities = parse(DEFAULT).unwrap().len();
    for line in lines {
        let checks = match line.split(' ').next() {
            Some("mix") => 5 * intensities,
            // Alone, and in a batch.
            Some("sgemm") => 5 * 2,
            _ => 5,
        };
        assert!(
            line.contains(&format!(" {checks} passed, 0 failed")),
            "{line}"
        );
    }
}
