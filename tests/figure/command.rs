//! `plot`, `report`, `completions`, `man` as commands.

use crate::{csv, sample};
use assert_cmd::Command;
use predicates::prelude::*;
use predicates::str::contains;
use rooftrace::record::Row;
use std::fs;

fn rooftrace() -> Command {
    let mut command = Command::cargo_bin("rooftrace").unwrap();
    command
        .env("LANG", "C.UTF-8")
        .env_remove("LC_ALL")
        .env_remove("NO_COLOR");
    command
}

#[test]
fn each_extension_gives_its_format() {
    let folder = tempfile::tempdir().unwrap();
    let rows = csv(folder.path(), "rows.csv", &sample::ladder());
    for (name, start) in [
        ("a.svg", &b"<?xml"[..]),
        ("a.png", b"\x89PNG"),
        ("a.pdf", b"%PDF-"),
        ("a.tex", b"% Needs"),
        ("A.SVG", b"<?xml"),
    ] {
        for kind in ["roofline", "throughput", "speedup", "ladder", "crossover"] {
            let out = folder.path().join(name);
            rooftrace()
                .arg("plot")
                .arg(&rows)
                .args(["--kind", kind, "-o"])
                .arg(&out)
                .assert()
                .success();
            assert!(fs::read(&out).unwrap().starts_with(start), "{name} {kind}");
        }
    }
}

#[test]
fn the_picture_has_the_width_that_was_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let rows = csv(folder.path(), "rows.csv", &sample::sweep());
    let out = folder.path().join("a.png");
    rooftrace()
        .arg("plot")
        .arg(&rows)
        .args(["--width", "7in", "--dpi", "100", "-o"])
        .arg(&out)
        .assert()
        .success();
    let png = fs::read(&out).unwrap();
    assert_eq!(u32::from_be_bytes(png[16..20].try_into().unwrap()), 700);
}

#[test]
fn a_pdf_has_its_size_and_embeds_the_typeface() {
    let folder = tempfile::tempdir().unwrap();
    let rows = csv(folder.path(), "rows.csv", &sample::sweep());
    let out = folder.path().join("a.pdf");
    rooftrace()
        .arg("plot")
        .arg(&rows)
        .arg("-o")
        .arg(&out)
        .assert()
        .success();
    let pdf = fs::read(&out).unwrap();
    let text = String::from_utf8_lossy(&pdf);
    assert!(
        text.contains("/FontFile2") && text.contains("+LiberationSans"),
        "no font embedded"
    );
    assert!(text.contains("/ToUnicode"), "text cannot be searched");
    let sized = text.contains("/MediaBox [0 0 252 ") || text.contains("/MediaBox[0 0 252 ");
    assert!(sized, "not 3.5 inches wide");
}

#[test]
fn an_svg_carries_the_typeface_when_asked() {
    let folder = tempfile::tempdir().unwrap();
    let rows = csv(folder.path(), "rows.csv", &sample::sweep());
    let out = folder.path().join("a.svg");
    let plot = |flag: &[&str]| {
        let mut command = rooftrace();
        command
            .arg("plot")
            .arg(&rows)
            .arg("-o")
            .arg(&out)
            .args(flag);
        command.assert().success();
        fs::read_to_string(&out).unwrap()
    };
    assert!(!plot(&[]).contains("@font-face"));
    let svg = plot(&["--embed-fonts"]);
    let typeface = svg.find("@font-face").unwrap();
    assert!(typeface > svg.find("<svg").unwrap() && typeface < svg.find("<path").unwrap());
    assert_eq!(svg.matches("font/ttf;base64,AAEAAAA").count(), 2);
}

#[test]
fn a_dash_writes_to_stdout() {
    let folder = tempfile::tempdir().unwrap();
    let rows = csv(folder.path(), "rows.csv", &sample::sweep());
    rooftrace()
        .arg("plot")
        .arg(&rows)
        .args(["-o", "-"])
        .assert()
        .success()
        .stdout(contains("</svg>"));
    let png = rooftrace()
        .arg("plot")
        .arg(&rows)
        .args(["-o", "-", "--format", "png"])
        .assert()
        .success();
    assert!(png.get_output().stdout.starts_with(b"\x89PNG"));
}

#[test]
fn the_terminal_gets_braille_or_ascii_and_no_colour_through_a_pipe() {
    let folder = tempfile::tempdir().unwrap();
    let rows = csv(folder.path(), "rows.csv", &sample::sweep());
    let plot = || {
        let mut command = rooftrace();
        command.arg("plot").arg(&rows).arg("--terminal");
        command
    };
    let braille = || {
        predicate::function(|text: &str| {
            text.chars().any(|c| ('\u{2801}'..='\u{28ff}').contains(&c))
        })
    };
    plot()
        .assert()
        .success()
        .stdout(braille().and(contains("\u{1b}").not()));
    let ascii = plot().env("LANG", "C").assert().success();
    assert!(ascii.get_output().stdout.is_ascii());
    plot()
        .arg("--ascii")
        .assert()
        .success()
        .stdout(braille().not());
    plot()
        .args(["--color", "always"])
        .assert()
        .success()
        .stdout(contains("\u{1b}[38;5;"));
    plot()
        .args(["--kind", "ladder"])
        .assert()
        .code(2)
        .stderr(contains("--terminal draws rooflines only"));
}

#[test]
fn mixed_devices_need_the_flag() {
    let folder = tempfile::tempdir().unwrap();
    let one = csv(folder.path(), "one.csv", &sample::sweep());
    let other = csv(
        folder.path(),
        "two.csv",
        &sample::on_device(&sample::sweep(), "NVIDIA H100"),
    );
    let out = folder.path().join("a.svg");
    let plot = || {
        let mut command = rooftrace();
        command.arg("plot").args([&one, &other]).arg("-o").arg(&out);
        command
    };
    plot()
        .assert()
        .code(2)
        .stderr(contains("2 devices (NVIDIA H200, NVIDIA H100)").and(contains("--across-devices")));
    assert!(!out.exists());
    plot().arg("--across-devices").assert().success();
    assert!(
        fs::read_to_string(&out)
            .unwrap()
            .contains("B: 3.35 TB/s datasheet")
    );
}

#[test]
fn bad_files_are_named_with_what_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let good = csv(folder.path(), "good.csv", &sample::sweep());
    let text = fs::read_to_string(&good).unwrap();
    let skipped = Row {
        reason: Some("needs 8 TiB".to_owned()),
        ..Row::default()
    };
    csv(folder.path(), "skipped.csv", &[skipped]);
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("empty.csv", "");
    write(
        "header.csv",
        &format!("{}\r\n", text.lines().next().unwrap()),
    );
    write("columns.csv", &text.replacen("time_median_s", "time_s", 1));
    write("schema.csv", &text.replacen("\n1,", "\n2,", 1));
    for (name, message) in [
        ("empty.csv", "is empty"),
        ("header.csv", "there are no rows"),
        ("columns.csv", "lacks the columns time_median_s"),
        ("schema.csv", "schema version `2`"),
        (
            "skipped.csv",
            "(1 skipped, 0 failed); the first says: needs 8 TiB",
        ),
        ("missing.csv", "cannot read"),
    ] {
        for command in ["plot", "report"] {
            let out = folder
                .path()
                .join(if command == "plot" { "a.svg" } else { "a.html" });
            rooftrace()
                .arg(command)
                .arg(folder.path().join(name))
                .arg("-o")
                .arg(&out)
                .assert()
                .code(2)
                .stderr(contains(message));
            assert!(!out.exists(), "{command} {name}");
        }
    }
}

#[test]
fn what_is_not_shown_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let mut rows = sample::sweep();
    rows.push(Row {
        device: rows[0].device.clone(),
        ..Row::default()
    });
    let rows = csv(folder.path(), "rows.csv", &rows);
    let out = folder.path().join("a.svg");
    rooftrace()
        .arg("plot")
        .arg(&rows)
        .arg("-o")
        .arg(&out)
        .assert()
        .success()
        .stderr(contains("1 of 59 rows are not shown (1 skipped, 0 failed)"));
}

#[test]
fn a_gpu_without_a_datasheet_is_drawn_and_the_nearest_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let unknown = |row: Row| Row {
        device: "NVIDIA H200 NVL 141GB".to_owned(),
        peak_flop_per_s: None,
        peak_byte_per_s: None,
        peak_source: None,
        ..row
    };
    let rows: Vec<Row> = sample::sweep().into_iter().map(unknown).collect();
    let plot = |rows: &[Row]| {
        let rows = csv(folder.path(), "rows.csv", rows);
        let mut command = rooftrace();
        command.arg("plot").arg(&rows).args(["-o", "-"]);
        command.assert().success()
    };
    plot(&rows)
        .stderr(contains(
            "no datasheet roofs for `NVIDIA H200 NVL 141GB`: it is not in the database of GPUs, \
             where the nearest are H200",
        ))
        .stdout(contains("FP32 61.4 TFLOP/s measured"));
    // Nothing is said of a known GPU, nor of a CPU, which has no datasheet anyway.
    plot(&sample::sweep()).stderr("");
    let cpu = |row: &Row| Row {
        compute_capability: None,
        ..row.clone()
    };
    plot(&rows.iter().map(cpu).collect::<Vec<_>>()).stderr("");
}

#[test]
fn a_file_that_was_cut_short_gives_its_whole_rows() {
    let folder = tempfile::tempdir().unwrap();
    let rows = csv(folder.path(), "rows.csv", &sample::sweep());
    let text = fs::read(&rows).unwrap();
    fs::write(&rows, &text[..text.len() - 20]).unwrap();
    let out = folder.path().join("a.svg");
    rooftrace()
        .arg("plot")
        .arg(&rows)
        .arg("-o")
        .arg(&out)
        .assert()
        .success()
        .stderr(contains("57 whole rows are used"));
}

#[test]
fn bad_outputs_are_refused_before_a_file_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    for (out, message) in [
        (at("a.jpeg"), "no picture format has the extension .jpeg"),
        (at("a.svgz"), "did you mean .svg?"),
        (at("a"), "has no extension"),
        (at("no/a.svg"), "there is no folder"),
        (folder.path().to_path_buf(), ""),
    ] {
        rooftrace()
            .args(["plot", "missing.csv", "-o"])
            .arg(&out)
            .assert()
            .code(2)
            .stderr(contains(message));
    }
    rooftrace()
        .args(["plot", "missing.csv"])
        .assert()
        .code(2)
        .stderr(contains("--out"));
    rooftrace()
        .args(["plot", "missing.csv", "-o", "a.svg", "--width", "3.5"])
        .assert()
        .code(2)
        .stderr(contains("in, cm, mm or pt"));
    rooftrace()
        .args(["report", "missing.csv", "-o"])
        .arg(at("a.pdf"))
        .assert()
        .code(2)
        .stderr(contains(".html"));
}

#[test]
fn rows_are_never_replaced_by_their_picture() {
    let folder = tempfile::tempdir().unwrap();
    let rows = csv(folder.path(), "rows.csv", &sample::sweep());
    let before = std::fs::read(&rows).unwrap();
    for args in [&["plot", "--format", "svg"][..], &["report"]] {
        rooftrace()
            .args(args)
            .arg(&rows)
            .arg("-o")
            .arg(folder.path().join(".").join("rows.csv"))
            .assert()
            .code(2)
            .stderr(contains("one of the files that are read"));
    }
    assert_eq!(std::fs::read(&rows).unwrap(), before);
}

/// However far above the axes a value lies, it is drawn at their edge.
#[test]
fn absurd_values_are_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let mut sweep = sample::sweep();
    let row = sweep
        .iter_mut()
        .find(|row| row.flop_per_s.is_some())
        .unwrap();
    (row.flop_per_s, row.byte_per_s) = (Some(1e100), Some(1e100));
    let rows = csv(folder.path(), "rows.csv", &sweep);
    for kind in ["roofline", "throughput"] {
        rooftrace()
            .arg("plot")
            .arg(&rows)
            .args(["--kind", kind, "-o"])
            .arg(folder.path().join("a.svg"))
            .assert()
            .success();
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let rows = csv(folder.path(), "rows.csv", &sample::sweep());
    rooftrace()
        .arg("plot")
        .arg(&rows)
        .args(["-o", "/dev/full", "--format", "svg"])
        .assert()
        .code(2)
        .stderr(contains("cannot write `/dev/full`"));
}

#[test]
fn levels_that_have_no_roof_are_refused_with_the_way_to_one() {
    let folder = tempfile::tempdir().unwrap();
    let rows = |name: &str, rows: &[Row]| csv(folder.path(), name, rows);
    let (cold, warm) = (
        rows("cold.csv", &sample::sweep()),
        rows("warm.csv", &sample::levels()),
    );
    let plot = |rows: &std::path::Path, flags: &[&str]| {
        let mut command = rooftrace();
        command.arg("plot").arg(rows).args(["-o", "-"]).args(flags);
        command.assert()
    };
    plot(&cold, &["--levels", "dram,l2"]).code(2).stderr(
        contains("--levels l2: no row of copy, saxpy, triad on NVIDIA H200 was measured warm")
            .and(contains("rooftrace sweep copy --cache warm")),
    );
    plot(&warm, &["--levels", "l3"])
        .code(2)
        .stderr(contains("dram").and(contains("l2")));
    plot(&warm, &["--levels", "l2", "--kind", "ladder"])
        .code(2)
        .stderr(contains("--levels is for --kind roofline and throughput"));
    let roof = || contains(">L2 6.");
    plot(&warm, &[]).success().stdout(roof());
    plot(&warm, &["--levels", "dram"])
        .success()
        .stdout(roof().not());
    plot(&warm, &["--levels", "l2"])
        .success()
        .stdout(roof().and(contains("4.8/4.33").not()));
}

#[test]
fn a_report_without_an_output_is_text() {
    let folder = tempfile::tempdir().unwrap();
    let rows = csv(folder.path(), "rows.csv", &sample::sweep());
    rooftrace()
        .arg("report")
        .arg(&rows)
        .assert()
        .success()
        .stdout(
            contains("NVIDIA H200: 58 points measured")
                .and(contains("Compute roof FP32 61.4 TFLOP/s measured"))
                .and(contains("sgemm async: best at N = 16384"))
                .and(contains("<").not()),
        );
}

#[test]
fn kinds_say_what_they_need() {
    let folder = tempfile::tempdir().unwrap();
    let rows = csv(folder.path(), "rows.csv", &sample::sweep());
    let out = folder.path().join("a.svg");
    rooftrace()
        .arg("plot")
        .arg(&rows)
        .args(["--kind", "speedup", "-o"])
        .arg(&out)
        .assert()
        .code(2)
        .stderr(
            contains("--kind speedup needs rows with a baseline")
                .and(contains("--baseline cublas")),
        );
}

#[test]
fn a_crossover_needs_matrix_products() {
    let folder = tempfile::tempdir().unwrap();
    let vectors: Vec<Row> = sample::sweep()
        .into_iter()
        .filter(|row| row.kernel != "sgemm")
        .collect();
    let rows = csv(folder.path(), "rows.csv", &vectors);
    rooftrace()
        .arg("plot")
        .arg(&rows)
        .args(["--kind", "crossover", "-o"])
        .arg(folder.path().join("a.svg"))
        .assert()
        .code(2)
        .stderr(
            contains("--kind crossover needs rows of square matrix products")
                .and(contains("rooftrace crossover sgemm --device cuda")),
        );
}

#[test]
fn completions_know_every_command() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let mut check = rooftrace().args(["completions", shell]).assert().success();
        for command in ["sweep", "ridge", "plot", "report", "completions"] {
            check = check.stdout(contains(command));
        }
    }
}

#[test]
fn manual_pages_cover_the_program_and_each_command() {
    rooftrace()
        .arg("man")
        .assert()
        .success()
        .stdout(contains(".TH rooftrace 1").and(contains("SUBCOMMANDS")));
    let folder = tempfile::tempdir().unwrap();
    rooftrace()
        .args(["man", "--out"])
        .arg(folder.path())
        .assert()
        .success();
    let plot = fs::read_to_string(folder.path().join("rooftrace-plot.1")).unwrap();
    assert!(
        plot.contains("across\\-devices") && plot.contains("rooftrace\\-plot"),
        "{plot}"
    );
    rooftrace()
        .args(["man", "--out", "missing"])
        .assert()
        .code(2)
        .stderr(contains("is no folder"));
}

#[test]
fn help_has_two_examples() {
    for command in ["plot", "report", "completions", "man"] {
        let help = rooftrace().args([command, "--help"]).assert().success();
        let text = String::from_utf8(help.get_output().stdout.clone()).unwrap();
        let (_, examples) = text.split_once("Examples:").expect(command);
        assert!(
            examples.matches(&format!("rooftrace {command}")).count() >= 2,
            "{text}"
        );
    }
}
