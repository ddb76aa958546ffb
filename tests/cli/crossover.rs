//! `crossover`: predictions, rows that confirm, refute or cannot tell, a sweep of its own.

use crate::Place;
use crate::crossing::{Kernel, MIXED, SGEMM};
use rooftrace::record::{
    Cache, Data, Destination, Envelope, Format, OnExisting, Row, Status, open,
};
use serde_json::Value;

/// Writes rows to a file of the place.
fn write(place: &Place, name: &str, rows: &[Row]) {
    let envelope = Envelope::new("5e01a2b3", vec!["rooftrace".to_owned()], Default::default());
    let destination = Destination::from_out(place.path().join(name));
    let mut sink = open(&destination, Format::Csv, OnExisting::Refuse, &envelope).unwrap();
    for row in rows {
        sink.write(row).unwrap();
    }
    sink.finish().unwrap();
}

/// The document that rows of a file are judged to, and the exit code.
fn judged(rows: &[Row], flags: &[&str]) -> (Value, Option<i32>) {
    let place = Place::new();
    write(&place, "rows.csv", rows);
    let args = ["crossover", "all", "--from", "rows.csv", "--format", "json"];
    let ran = place.run(args.iter().chain(flags));
    (serde_json::from_str(&ran.stdout).unwrap(), ran.code)
}

/// The only test of a document.
fn only(document: &Value) -> &Value {
    let tests = document["tests"].as_array().unwrap();
    assert_eq!(tests.len(), 1, "{tests:?}");
    &tests[0]
}

#[track_caller]
fn near(value: &Value, expected: f64, within: f64) {
    let found = value.as_f64().unwrap_or_else(|| panic!("{value}"));
    assert!(
        (found / expected - 1.0).abs() <= within,
        "{found} is not {expected}"
    );
}

fn obstacles(test: &Value) -> Vec<&str> {
    let obstacles = test["obstacles"].as_array().unwrap();
    obstacles
        .iter()
        .map(|o| o["id"].as_str().unwrap())
        .collect()
}

/// What a kernel that reaches these parts of the roofs is judged to.
fn of(memory: f64, compute: f64) -> Value {
    let kernel = Kernel {
        memory,
        compute,
        ..SGEMM
    };
    only(&judged(&kernel.rows(), &[]).0).clone()
}

#[test]
fn a_known_crossing_is_found_and_confirms_the_prediction() {
    for kernel in [SGEMM, MIXED] {
        let (document, code) = judged(&kernel.rows(), &["--fail"]);
        let test = only(&document);
        assert_eq!(
            (test["verdict"].as_str(), code),
            (Some("confirmed"), Some(0))
        );
        let predicted = 8.0 * kernel.peak_flop_per_s / 4.39e12;
        near(&test["predicted_n"]["value"], predicted, 1e-9);
        near(&test["observed_n"]["value"], predicted * 0.88 / 0.92, 0.03);
        near(&test["memory_efficiency"]["value"], 0.92, 0.02);
        near(&test["compute_efficiency"]["value"], 0.88, 0.02);
        near(&test["memory_asymptote"]["slope"], 1.0, 0.05);
        near(&test["knee"]["n"], predicted * 0.88 / 0.92, 0.03);
        assert_eq!(test["batched"], true);
        assert_eq!(test["moved_by"], "compute");
        let low = test["observed_n"]["low"].as_f64().unwrap();
        let high = test["observed_n"]["high"].as_f64().unwrap();
        assert!(low < high && low > 0.8 * predicted && high < 1.1 * predicted);
        // One problem alone needs far more than the crossing.
        let from = test["single"]["plateau_from_n"].as_f64().unwrap();
        assert!(from > 1.1 * predicted, "{from}");
        let claim = test["claim"].as_str().unwrap();
        assert_eq!(claim.contains("the lecture's"), kernel.name == "gemm-mixed");
    }
}

#[test]
fn unequal_efficiencies_refute_and_fail_only_when_asked() {
    let kernel = Kernel {
        memory: 0.95,
        compute: 0.7,
        ..SGEMM
    };
    let (document, code) = judged(&kernel.rows(), &[]);
    let test = only(&document);
    assert_eq!((test["verdict"].as_str(), code), (Some("refuted"), Some(0)));
    near(&test["ratio"]["value"], 0.7 / 0.95, 0.03);
    assert_eq!(test["moved_by"], "compute");

    let place = Place::new();
    write(&place, "rows.csv", &kernel.rows());
    let ran = place.run(["crossover", "sgemm", "--from", "rows.csv", "--fail"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.stdout.contains("refuted: observed over predicted"));
    ran.says(&["error: ", "refuted for sgemm auto"]);
}

#[test]
fn nothing_to_judge_is_no_success_where_failure_was_asked_for() {
    let place = Place::new();
    write(&place, "rows.csv", &MIXED.rows());
    let args = ["crossover", "gemm-bf16", "--from", "rows.csv"];
    assert_eq!(place.run(args).code, Some(0));
    let ran = place.run(args.iter().chain(&["--fail"]));
    ran.refused(2, &["--fail", "no row is of gemm-bf16", "--from"]);
}

#[test]
fn a_kernel_at_30_percent_of_a_roof_is_not_testable() {
    let test = of(0.9, 0.3);
    assert_eq!(test["verdict"], "not testable");
    assert_eq!(obstacles(&test), ["far-below-roof"]);
    near(&test["compute_efficiency"]["value"], 0.3, 0.02);
    // Nor does it fail.
    let kernel = Kernel {
        compute: 0.3,
        ..SGEMM
    };
    assert_eq!(judged(&kernel.rows(), &["--fail"]).1, Some(0));
}

#[test]
fn without_points_on_a_side_the_side_is_named() {
    let right: Vec<Row> = SGEMM.rows().into_iter().filter(|r| r.n > 100).collect();
    let test = only(&judged(&right, &[]).0).clone();
    assert_eq!(obstacles(&test), ["few-sizes"]);
    let words = test["words"].as_str().unwrap();
    assert!(
        words.contains("0 sizes lie an octave or more left"),
        "{words}"
    );
    assert_eq!(test["memory_efficiency"], Value::Null);
    near(&test["compute_efficiency"]["value"], 0.88, 0.02);
}

#[test]
fn single_problems_alone_are_judged_with_their_limits_said() {
    let single: Vec<Row> = SGEMM.rows().into_iter().filter(|r| r.batch == 1).collect();
    let place = Place::new();
    write(&place, "rows.csv", &single);
    let ran = place.run(["crossover", "sgemm", "--from", "rows.csv"]).ok();
    for part in [
        "Verdict      not testable: the memory side reaches",
        "no batches: a single small problem is bound by latency",
        "less than the 2.147 GB",
        "Where does plain fp32 SGEMM cross? H200 predicts N >= 122 (measured)",
        "H200 predicts N >= 1648",
    ] {
        assert!(ran.stdout.contains(part), "{part} is not in {}", ran.stdout);
    }
}

/// Rows that are no measurements must not move the crossing, however good they look.
#[test]
fn what_is_left_out_is_counted_and_changes_nothing() {
    let rows = SGEMM.rows();
    let clean = only(&judged(&rows, &[]).0).clone();
    let mut spoiled = rows.clone();
    let tempting: Vec<&Row> = rows.iter().filter(|row| row.batch > 1).collect();
    type Change = fn(&mut Row);
    let changes: [(&str, Change); 6] = [
        ("failed", |row| row.status = Status::Failed),
        ("unverified", |row| row.verified = None),
        ("throttled", |row| row.throttle = Some("thermal".to_owned())),
        ("warm", |row| row.cache = Cache::Warm),
        ("not on random data", |row| row.data = Data::Zeros),
        ("steady state", |row| row.converged = None),
    ];
    for (i, (_, change)) in changes.iter().enumerate() {
        let mut row = tempting[i].clone();
        row.time_median_s = row.time_median_s.map(|seconds| seconds / 3.0);
        // A larger batch would otherwise be preferred.
        row.batch *= 2;
        change(&mut row);
        spoiled.push(row);
    }
    let spoiled = only(&judged(&spoiled, &[]).0).clone();
    assert_eq!(spoiled["observed_n"], clean["observed_n"]);
    assert_eq!(spoiled["trace"], clean["trace"]);
    let left_out = spoiled["rows_left_out"].as_array().unwrap();
    assert_eq!(left_out.len(), changes.len());
    for (reason, _) in changes {
        let counted = left_out
            .iter()
            .any(|o| o["reason"] == reason && o["rows"] == 1);
        assert!(counted, "{reason}: {left_out:?}");
    }
    assert_eq!(clean["rows_left_out"], Value::Array(Vec::new()));
}

#[test]
fn tuned_outliers_do_not_turn_a_verdict() {
    let kernel = Kernel {
        memory: 0.95,
        compute: 0.7,
        ..SGEMM
    };
    let mut rows = kernel.rows();
    let mut batched: Vec<&mut Row> = rows.iter_mut().filter(|row| row.batch > 1).collect();
    let count = batched.len();
    // Fast enough to bring the mean of either side to where the prediction wants it.
    for i in [1, count - 2, count - 4] {
        batched[i].time_median_s = batched[i].time_median_s.map(|seconds| seconds / 4.0);
    }
    let (document, code) = judged(&rows, &["--fail"]);
    assert_eq!(
        (only(&document)["verdict"].as_str(), code),
        (Some("refuted"), Some(1))
    );
}

#[test]
fn the_tensor_roof_may_come_from_a_sweep_of_fma() {
    // The product's own rows know another pipe's roof: its rate shows that it is none.
    let mut rows = MIXED.rows();
    for row in &mut rows {
        row.measured_peak_flop_per_s = Some(66.4e12);
    }
    let test = only(&judged(&rows, &[]).0).clone();
    // By that roof the crossing would lie far left, where there are few sizes too.
    assert_eq!(obstacles(&test), ["few-sizes", "above-roof"]);
    rows.push(Row {
        kernel: "fma".to_owned(),
        n: 65536,
        m: None,
        k: None,
        flop_per_s: Some(800e12),
        ..rows[0].clone()
    });
    let test = only(&judged(&rows, &[]).0).clone();
    assert_eq!(test["verdict"], "confirmed");
    near(&test["measured_roofs"]["flop_per_s"]["value"], 800e12, 1e-9);
}

#[test]
fn the_same_rows_have_the_same_numbers_in_any_order() {
    let mut rows = SGEMM.rows();
    let first = judged(&rows, &[]).0;
    rows.reverse();
    assert_eq!(judged(&rows, &[]).0, first);
}

#[test]
fn a_csv_has_a_line_for_each_test() {
    let place = Place::new();
    let rows = [SGEMM.rows(), MIXED.rows()].concat();
    write(&place, "rows.csv", &rows);
    let args = [
        "crossover",
        "sgemm",
        "--from",
        "rows.csv",
        "--format",
        "csv",
    ];
    let ran = place.run(args).ok();
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(lines.len(), 3);
    assert!(lines[0].starts_with("kernel,variant,device,pipe,"));
    assert!(lines[1].starts_with("sgemm,auto,NVIDIA H200,fp32,f32,f32,true,confirmed,"));
    assert!(lines[2].starts_with("gemm-mixed,auto,NVIDIA H200,bf16,"));
}

#[test]
fn without_rows_it_predicts_as_it_always_did() {
    let place = Place::new();
    let ran = place.run(["crossover", "sgemm", "--gpu", "h100", "--format", "json"]);
    let predictions: Value = serde_json::from_str(&ran.ok().stdout).unwrap();
    let lecture = &predictions.as_array().unwrap()[..2];
    assert_eq!(lecture[0]["n_next"], 2360);
    near(&lecture[1]["n"], 2361.8, 1e-4);
    let ran = place.run(["crossover", "sgemm"]).ok();
    assert!(ran.stdout.contains("H100 SXM predicts N >= 160"));
    assert!(ran.stdout.contains("H100 SXM predicts N >= 2360"));
}

/// A real sweep: a CPU has no batches, so that it is judged on what it has.
#[test]
fn a_cpu_is_measured_and_judged() {
    let place = Place::new();
    let measuring = [
        "crossover",
        "sgemm",
        "--device",
        "cpu",
        "--quick",
        "--max-time",
        "0.002",
        "--sizes",
        "32,64",
        "--out",
        "rows.csv",
        "--format",
        "json",
    ];
    let noted = ["not measured: gemm-mixed", "no tensor cores"];
    let ran = place.run(measuring).ok().says(&noted);
    let measured: Value = serde_json::from_str(&ran.stdout).unwrap();
    let test = only(&measured);
    assert_eq!(test["verdict"], "not testable");
    // Judged by batches that fill the memory system, beside single problems.
    assert_eq!(test["batched"], true);
    assert_eq!(test["claim"], Value::Null);
    for trace in ["trace", "single_trace"] {
        assert_eq!(test[trace].as_array().unwrap().len(), 2, "{trace}");
    }
    assert_eq!(place.rows("rows.csv").len(), 4);

    // Judged again from the file: the same numbers.
    let again = place.run([
        "crossover",
        "sgemm",
        "--from",
        "rows.csv",
        "--format",
        "json",
    ]);
    assert_eq!(again.ok().stdout, ran.stdout);
    // And not measured again over it.
    place.run(measuring).refused(2, &["rows.csv", "exists"]);
}

#[test]
fn bad_input_is_refused() {
    let place = Place::new();
    write(&place, "rows.csv", &SGEMM.rows());
    let mut other = SGEMM.rows();
    for row in &mut other {
        row.device = "NVIDIA A100-SXM4-80GB".to_owned();
    }
    write(&place, "other.csv", &other);
    let mut copy = SGEMM.rows();
    for row in &mut copy {
        row.kernel = "copy".to_owned();
        row.measured_peak_byte_per_s = None;
    }
    write(&place, "copy.csv", &copy);
    for (args, parts) in [
        (&["segmm"][..], &["segmm", "did you mean \"sgemm\""][..]),
        (&["sgemm", "--gpu", "h1000"], &["--gpu", "h1000"]),
        (&["sgemm", "--from", "none.csv"], &["none.csv"]),
        (
            &["sgemm", "--from", "rows.csv", "other.csv"],
            &["2 devices", "NVIDIA H200", "A100", "one device"],
        ),
        (
            &["sgemm", "--gpu", "h100", "--from", "rows.csv"],
            &["rows are of NVIDIA H200", "H100 SXM", "--gpu"],
        ),
        (
            &["sgemm", "--from", "copy.csv"],
            &["no row is of gemm-mixed or sgemm", "measured roofs"],
        ),
        (&["sgemm", "--fail"], &["--from", "--device"]),
        (
            &["sgemm", "--device", "cpu", "--from", "rows.csv"],
            &["cannot be used with"],
        ),
        (
            &["sgemm", "--device", "cpu", "--gpu", "h100"],
            &["cannot be used with"],
        ),
        (&["sgemm", "--sizes", "64"], &["--device"]),
        (&["sgemm", "--device", "cpu", "--sizes", "0"], &["zero"]),
        (
            &["sgemm", "--device", "cpu", "--variant", "none"],
            &["--variant", "none", "gemm"],
        ),
        (
            &["sgemm", "--device", "cpu", "--out", "-"],
            &["--out -", "name a file"],
        ),
        (&["sgemm", "--device", "vm"], &["--device vm", "timing"]),
        (
            &["gemm-bf16", "--device", "cpu"],
            &["gemm-bf16 needs tensor cores", "--device cuda"],
        ),
        (&["sgemm", "--out", "x.csv"], &["--device"]),
    ] {
        let ran = place.run(["crossover"].iter().chain(args));
        ran.refused(2, parts);
    }
}
