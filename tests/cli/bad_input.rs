//! Input that cannot be meant: exit code 2 (3 for a device that is not there), the flag, what
//! was given, what is allowed. Nothing is measured and no file is made.

use crate::Place;

/// Refused before anything happens: no file, not even the folder of results, is left.
#[track_caller]
fn refused(args: &[&str], parts: &[&str]) {
    let place = Place::new();
    let out = ["--out", "rows.csv"];
    let args = ["sweep"].iter().chain(args).chain(&out);
    place.run(args).refused(2, parts);
    assert_eq!(place.files(), [""; 0], "a refusal left files");
}

#[test]
fn sizes_that_are_none() {
    for (given, parts) in [
        ("0", ["`0`", "zero", "smallest size is 1"]),
        ("16,0,32", ["`0`", "zero", "smallest size is 1"]),
        ("0..8", ["`0..8`", "zero", "smallest size is 1"]),
        ("-5", ["`-5`", "not a size", "positive"]),
        ("1e3", ["`1e3`", "only whole numbers", "`1k`"]),
        ("1.5k", ["`1.5k`", "only whole numbers", "`1500`"]),
        ("many", ["`many`", "not a size", "k"]),
        ("", ["--sizes is empty", "at least one", "`1Mi`"]),
        ("  ", ["--sizes is empty", "at least one", "`1Mi`"]),
        ("8,,16", ["`8,,16`", "empty item", "extra comma"]),
        ("8,16,", ["`8,16,`", "empty item", "extra comma"]),
        ("64..16", ["`64..16`", "backwards", "`16..64`"]),
        ("16..64:x1.0", ["`x1.0`", "factor above 1", "`:x1.5`"]),
        ("16..64:x0.5", ["`x0.5`", "factor above 1", "`:x1.5`"]),
        ("16..64:+0", ["`+0`", "at least 1", "`:+128`"]),
        ("16..64:2", ["`2`", "not a step", "`:+128`"]),
    ] {
        for kernel in ["sgemm", "copy"] {
            let parts: Vec<&str> = ["--sizes", kernel].into_iter().chain(parts).collect();
            refused(&[kernel, "--sizes", given], &parts);
            refused(&[kernel, &format!("--sizes={given}")], &parts);
        }
    }
}

#[test]
fn a_flag_without_its_value() {
    let place = Place::new();
    for flag in ["--sizes", "--out", "--device", "--variant", "--spec"] {
        let ran = place.run(["sweep", "sgemm", flag]);
        ran.refused(2, &[flag, "value is required"]);
    }
}

#[test]
fn sizes_of_the_wrong_kind() {
    refused(
        &["copy", "--sizes", "8x8x8"],
        &["--sizes", "`8x8x8`", "matrix size", "`1Mi`"],
    );
    refused(
        &["sgemm", "--sizes", "8x8"],
        &["--sizes", "`8x8`", "2 sides", "`MxNxK`"],
    );
    // One of several kernels that does not take them.
    refused(
        &["sgemm,copy", "--sizes", "8x8x8"],
        &["copy: --sizes", "`8x8x8`"],
    );
}

#[test]
fn sizes_whose_square_or_cube_overflows() {
    for given in ["4G", "2147483648", "3000000000"] {
        refused(
            &["sgemm", "--sizes", given],
            &["--sizes", given, "too large", "at most 2147483647"],
        );
    }
    for given in ["2147483647", "2G", "2147483647x2147483647x1"] {
        refused(
            &["sgemm", "--sizes", given],
            &["--sizes", given, "too large", "M*N*K is at most"],
        );
    }
    refused(
        &["copy", "--sizes", "18446744073709551616"],
        &["--sizes", "18446744073709551616", "too large", "at most"],
    );
    refused(
        &["triad", "--sizes", "18446744073709551615"],
        &["--sizes", "18446744073709551615", "too large", "at most"],
    );
    // 64 bits hold the size, but not its FLOPs.
    refused(
        &["fma", "--device", "cpu", "--sizes", "281474976710656"],
        &["--sizes 281474976710656", "64 bits", "smaller size"],
    );
}

#[test]
fn intensities_that_mix_cannot_have() {
    for (given, parts) in [
        ("0.3", ["`0.3`", "multiple of 1/4", "0.25 and 0.5"]),
        ("512", ["`512`", "too large", "at most 256"]),
        ("-1", ["`-1`", "not an intensity", "`0.25..256:x2`"]),
        ("0..8:x2", ["`0..8:x2`", "up from 0", "`0,0.25..8`"]),
        ("8..1", ["`8..1`", "backwards", "`1..8`"]),
        ("1..8:3", ["`3`", "not a step", "`:xF`"]),
        ("1,,2", ["`1,,2`", "empty item", "extra comma"]),
        ("", ["no intensity is given", "`8`", "`0.25..256:x2`"]),
    ] {
        refused(
            &["mix", "--device", "cpu", "--intensity", given],
            &[&["--intensity"], parts.as_slice()].concat(),
        );
    }
    refused(
        &["copy,sgemm", "--intensity", "8"],
        &["--intensity 8", "copy, sgemm", "only mix", "leave it out"],
    );
    refused(
        &["mix", "--sizes", "1Mi@4", "--intensity", "8"],
        &["--sizes 1Mi@4", "of its own", "leave out --intensity 8"],
    );
    refused(
        &["copy", "--sizes", "1Mi@4"],
        &["`1Mi@4`", "only mix", "write `1Mi`"],
    );
    refused(
        &["mix", "--sizes", "1Mi@0.1"],
        &["`1Mi@0.1`", "multiple of 1/4", "0 and 0.25"],
    );
}

#[test]
fn names_that_are_nearly_right() {
    for (given, meant) in [("sgem", "sgemm"), ("Saxpy", "saxpy"), ("tirad", "triad")] {
        let suggestion = format!("did you mean \"{meant}\"?");
        let given = format!("\"{given}\"");
        let parts = ["kernel", &given, &suggestion, "copy, saxpy, triad, fma"];
        refused(&[given.trim_matches('"')], &parts);
        refused(&["copy", given.trim_matches('"')], &parts);
    }
    refused(
        &["matmul-of-doom"],
        &["\"matmul-of-doom\"", "Allowed: copy"],
    );
    refused(&["copy,,triad"], &["empty kernel name", "allowed: copy"]);
    let place = Place::new();
    place.run(["sweep"]).refused(2, &["<KERNEL>", "required"]);
    place.run(["swep", "sgemm"]).refused(2, &["swep", "sweep"]);
    place
        .run(["sweep", "sgemm", "--szies", "8"])
        .refused(2, &["--szies", "--sizes"]);
}

#[test]
fn variants_that_are_nearly_right_or_of_the_other_device() {
    refused(
        &["sgemm", "--device", "cpu", "--variant", "gemn"],
        &[
            "--variant",
            "\"gemn\"",
            "did you mean \"gemm\"?",
            "gemm, all",
        ],
    );
    refused(
        &["sgemm", "--device", "cpu", "--variant", "tiled"],
        &["--variant", "\"tiled\"", "on a CPU", "Allowed: gemm, all"],
    );
    // One of several kernels that does not have it.
    refused(
        &["copy,fma", "--device", "cpu", "--variant", "parallel"],
        &["--variant", "fma", "\"parallel\"", "Allowed: simd, all"],
    );
}

#[test]
fn devices_that_are_none() {
    for given in [
        "nonsense", "gpu", "cuda:", "cuda:x", "cuda:-1", "cpu:0", "CUDA",
    ] {
        refused(
            &["sgemm", "--device", given],
            &["--device", given, "allowed: auto, cpu, cuda, cuda:I"],
        );
    }
}

#[test]
fn a_device_that_is_not_there_is_exit_code_3_with_the_way_out() {
    let place = Place::new();
    let args = ["sweep", "sgemm", "--device", "cuda:9", "--out", "rows.csv"];
    let ran = place.run(args).refused(3, &["cuda:9"]);
    // Without a driver, or with fewer GPUs than that.
    let ways = ["--device cpu", "there are: "];
    assert!(
        ways.iter().any(|way| ran.stderr.contains(way)),
        "{}",
        ran.stderr
    );
    place
        .run(["verify", "--device", "cuda:9"])
        .refused(3, &["cuda:9"]);
    assert_eq!(place.files(), [""; 0], "a refusal left files");
}

#[test]
fn numbers_out_of_range() {
    for (flag, given, parts) in [
        ("--min-time", "0", ["seconds", "above 0"]),
        ("--max-time", "0", ["seconds", "above 0"]),
        ("--max-time", "inf", ["seconds", "above 0"]),
        ("--min-time", "NaN", ["seconds", "above 0"]),
        ("--noise", "0", ["fraction", "above 0"]),
        ("--noise", "low", ["low", "invalid"]),
        ("--seed", "1.5", ["1.5", "invalid"]),
        (
            "--seed",
            "18446744073709551616",
            ["18446744073709551616", "too large"],
        ),
        ("--cache", "lukewarm", ["lukewarm", "cold, warm, both"]),
        ("--data", "ones", ["ones", "random, integers, zeros"]),
        ("--format", "xml", ["xml", "csv"]),
    ] {
        let parts: Vec<&str> = [flag].into_iter().chain(parts).collect();
        refused(&["copy", &format!("{flag}={given}")], &parts);
    }
    refused(
        &[
            "copy",
            "--device",
            "cpu",
            "--min-time",
            "2",
            "--max-time",
            "1",
        ],
        &["--min-time 2", "--max-time 1", "raise", "lower"],
    );
}

#[test]
fn flags_that_contradict_each_other() {
    refused(&["copy", "--resume", "--force"], &["--resume", "--force"]);
    refused(&["copy", "-q", "-v"], &["--quiet", "--verbose"]);
    let place = Place::new();
    for flag in ["--resume", "--force"] {
        place.run(["sweep", "copy", flag]).refused(2, &["--out"]);
    }
    let ran = place.run(["sweep", "copy", "--out", "-", "--resume"]);
    ran.refused(2, &["`-`", "only a regular file"]);
}

#[test]
fn ptx_that_is_none() {
    let place = Place::new();
    place.write("notes.ptx", "this is no PTX\n");
    for (file, parts) in [
        ("missing.ptx", ["--ptx missing.ptx", "give a file of PTX"]),
        ("notes.ptx", ["no .target line", "give a file of PTX"]),
        (".", ["--ptx .", "give a file of PTX"]),
    ] {
        let ran = place.run(["sweep", "copy", "--ptx", file, "--out", "rows.csv"]);
        ran.refused(2, &parts);
    }
    place.write(
        "good.ptx",
        ".version 7.0\n.target sm_80\n.address_size 64\n",
    );
    let ran = place.run(["sweep", "copy", "--ptx", "good.ptx", "--device", "cpu"]);
    ran.refused(3, &["--ptx needs a GPU", "leave it out"]);
    assert_eq!(place.files(), ["good.ptx", "notes.ptx"]);
}

/// A GPU file that is right.
const SPEC: &str = "\
[[gpu]]
name = \"Example 1\"
sms = 10
boost_clock_hz = 1.5e9
memory_bandwidth_byte_per_s = 1e12
source = \"a test\"
[gpu.peaks]
fp32 = { dense = 1e13 }
";

#[test]
fn a_corrupted_spec_is_told_with_file_line_and_field() {
    let place = Place::new();
    let with = |from: &str, to: &str| {
        assert!(SPEC.contains(from), "{from}");
        SPEC.replace(from, to)
    };
    let cases = [
        (String::new(), "gpu.toml:1", "no GPU in the file"),
        (with("[[gpu]]", "[[gpu]"), "gpu.toml:1", "TOML syntax"),
        (
            with("\"Example 1\"", "\"Example 1"),
            "gpu.toml:2",
            "TOML syntax",
        ),
        (with("= 10", "= ten"), "gpu.toml:3", "TOML syntax"),
        (with("= 10", "= \"10\""), "gpu.toml:3", "sms"),
        (with("= 10", "= -10"), "gpu.toml:3", "-10"),
        (with("= 10", "= 0"), "gpu.toml:3", "sms"),
        // A forgotten prefix.
        (with("1.5e9", "1.5"), "gpu.toml:4", "boost_clock_hz"),
        (
            with("1e12", "inf"),
            "gpu.toml:5",
            "memory_bandwidth_byte_per_s",
        ),
        (
            with("1e12", "nan"),
            "gpu.toml:5",
            "memory_bandwidth_byte_per_s",
        ),
        (
            with("boost_clock_hz", "boost_clock"),
            "gpu.toml:4",
            "boost_clock",
        ),
        (
            with("sms = 10", "sms = 10\nsms = 11"),
            "gpu.toml:4",
            "TOML syntax",
        ),
        (with("dense", "dence"), "gpu.toml:8", "dense: is missing"),
        (with("fp32", "fp31"), "gpu.toml:8", "fp31"),
        (with("name = \"Example 1\"\n", ""), "gpu.toml:1", "name"),
        (with("source = \"a test\"\n", ""), "gpu.toml:1", "source"),
        ("\u{0}\u{1}\u{2}".to_owned(), "gpu.toml:1", "TOML syntax"),
    ];
    for (text, line, part) in cases {
        place.write("gpu.toml", &text);
        for command in [
            &["sweep", "copy", "--device", "cpu", "--out", "rows.csv"][..],
            &["peaks"],
            &["ridge"],
        ] {
            let args = command.iter().chain(&["--spec", "gpu.toml"]);
            place
                .run(args)
                .refused(2, &["--spec", line, part, "allowed:"]);
        }
    }
    std::fs::write(place.path().join("gpu.toml"), b"name = \"\xff\xfe\"\n").unwrap();
    place
        .run(["peaks", "--spec", "gpu.toml"])
        .refused(2, &["--spec", "gpu.toml", "UTF-8"]);
    for missing in ["missing.toml", "."] {
        place
            .run(["sweep", "copy", "--spec", missing])
            .refused(2, &["--spec", missing, "TOML file of [[gpu]] tables"]);
    }
    assert_eq!(place.files(), ["gpu.toml"], "a refusal left files");
    // The file was refused for its faults, not for being one.
    place.write("gpu.toml", SPEC);
    let ran = place.run(["peaks", "--spec", "gpu.toml"]).ok();
    assert!(ran.stdout.contains("Example 1"), "{}", ran.stdout);
}

#[test]
fn computing_commands_refuse_as_well() {
    let place = Place::new();
    for (args, parts) in [
        (&["peaks", "--gpu", "H1000"][..], ["--gpu", "H1000"]),
        (&["ridge", "--gpu", "nothing"], ["--gpu", "nothing"]),
        (&["ridge", "--pipe", "fp33"], ["--pipe", "fp33"]),
        (&["intensity", "sgem"], ["sgem", "sgemm"]),
        (&["intensity", "sgemm", "--sizes", "0"], ["--sizes", "zero"]),
        (
            &["intensity", "copy", "--sizes", "1e3"],
            ["--sizes", "`1k`"],
        ),
        (
            &["llm", "--parameters", "0"],
            ["--parameters: the number of parameters is 0", "from 1"],
        ),
        (&["verify", "sgem"], ["\"sgem\"", "did you mean \"sgemm\"?"]),
        (&["verify", "copy", "--sizes", "0"], ["--sizes", "zero"]),
        (
            &["verify", "--device", "nonsense"],
            ["--device", "nonsense"],
        ),
    ] {
        place.run(args).refused(2, &parts);
    }
}
