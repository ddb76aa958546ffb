//! `peaks --device`: measured peaks, on the CPU.

use crate::Place;
use serde_json::Value;

#[test]
fn peaks_of_the_cpu_are_measured() {
    let place = Place::new();
    let out = place.run([
        "peaks",
        "--device",
        "cpu",
        "--quick",
        "--max-time",
        "0.05",
        "--format",
        "json",
    ]);
    assert_eq!(out.code, Some(0), "{}", out.stderr);
    let rows: Value = serde_json::from_str(&out.stdout).unwrap();
    let rows = rows.as_array().unwrap();
    let named: Vec<(&str, &str)> = rows
        .iter()
        .map(|row| {
            (
                row["roof"].as_str().unwrap(),
                row["kernel"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(named[0], ("memory", "triad"));
    assert!(named[1..].contains(&("fp32", "fma")), "{named:?}");
    // Where the system says how large the cache is.
    let cached = std::path::Path::new("/sys/devices/system/cpu/cpu0/cache/index0/size").exists();
    assert_eq!(named.contains(&("cache", "copy")), cached, "{named:?}");
    for row in rows {
        // No computer that runs this reads less than 100 MB/s or computes less than 100 MFLOP/s.
        assert!(row["measured_per_s"].as_f64().unwrap() > 1e8, "{row}");
        assert_eq!(row["datasheet_per_s"], Value::Null);
    }
    assert!(
        out.stderr
            .contains("triad, copy in the cache, and fma on fp32"),
        "{}",
        out.stderr
    );
}

#[test]
fn the_table_says_that_a_cpu_has_no_datasheet() {
    let out = Place::new().run(["peaks", "-d", "cpu", "--quick", "--max-time", "0.05"]);
    let text = out.stdout;
    assert!(
        text.contains("CPU cores") && text.contains("stands alone"),
        "{text}"
    );
}

#[test]
fn what_cannot_be_measured_is_refused() {
    let place = Place::new();
    for (args, code, message) in [
        (
            &["peaks", "--device", "cuda:99"][..],
            3,
            "--device cuda:99: ",
        ),
        (&["peaks", "--device", "vm"], 2, "never a source of timings"),
        (
            &["peaks", "--device", "cpu", "--max-time", "0"],
            2,
            "--max-time 0: ",
        ),
        (
            &["peaks", "--device", "cpu", "--gpu", "H100"],
            2,
            "cannot be used with",
        ),
        (&["peaks", "--quick"], 2, "--device"),
    ] {
        let out = place.run(args);
        let said = &out.stderr;
        assert_eq!(out.code, Some(code), "{args:?}: {said}");
        assert!(said.contains(message), "{args:?}: {said}");
        assert!(out.stdout.is_empty(), "{args:?}");
    }
}
