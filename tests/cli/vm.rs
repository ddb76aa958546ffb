//! `--device vm` and `count`: the PTX executed without a GPU.

use crate::Place;
use rooftrace::device::DeviceKind;
use rooftrace::kernels::KernelId;

#[test]
fn the_vm_is_never_a_source_of_timings() {
    let place = Place::new();
    for device in ["vm", "vm:sm_80"] {
        place
            .run(["sweep", "copy", "--device", device, "--out", "rows.csv"])
            .refused(
                2,
                &["--device vm:sm_", "never a source of timings", "verify"],
            );
    }
    assert_eq!(place.files(), [""; 0]);
    place
        .run(["verify", "--device", "vm:sm_70"])
        .refused(2, &["`vm:sm_70` is no device", "vm:sm_80"]);
}

#[test]
fn kernels_are_verified_on_the_vm() {
    let place = Place::new();
    let ran = place
        .run(["verify", "sgemm,fma", "--device", "vm", "--sizes", "33"])
        .ok()
        .says(&["checking PTX VM (sm_90a)"]);
    for part in ["sgemm      tiled           2 passed, 0 failed", "fma "] {
        assert!(ran.stdout.contains(part), "{}", ran.stdout);
    }
}

#[test]
fn mix_is_verified_and_counted_at_several_intensities() {
    let place = Place::new();
    let sizes = "1000@0..9:+2.25,2049@33.75";
    let ran = place
        .run(["verify", "mix", "--device", "vm:sm_80", "--sizes", sizes])
        .ok();
    assert!(ran.stdout.contains("6 passed, 0 failed"), "{}", ran.stdout);
    let counted = place.run(["count", "mix", "--sizes", sizes]).ok();
    let variants = KernelId::Mix.kernel().variants(DeviceKind::Vm);
    assert_eq!(
        counted.stdout.matches("yes").count(),
        6 * variants.len(),
        "{}",
        counted.stdout
    );
    assert!(counted.stdout.contains("2049@33.75"), "{}", counted.stdout);
}

#[test]
fn a_check_of_nothing_is_no_success() {
    let place = Place::new();
    let args = [
        "verify",
        "sgemm",
        "--device",
        "vm",
        "--sizes",
        "16",
        "--batch",
        "99999999999",
    ];
    let ran = place.run(args);
    assert_eq!(ran.code, Some(1));
    ran.says(&["nothing was checked", "--batch"]);
}

#[test]
fn digests_are_those_of_the_bits() {
    let digests = |args: &[&str]| {
        let common = ["verify", "copy,saxpy,fma", "--sizes", "1000", "--digest"];
        let args = common.iter().chain(args).chain(&["--format", "csv", "-q"]);
        let ran = Place::new().run(args).ok();
        let mut lines = csv::Reader::from_reader(ran.stdout.as_bytes());
        let rows = lines.records().map(|row| {
            let row = row.unwrap();
            assert_eq!(&row[8], "true");
            assert_eq!(row[7].len(), 64);
            [0, 1, 2, 6, 7].map(|column| row[column].to_owned())
        });
        rows.collect::<Vec<_>>()
    };
    let [hopper, ampere] = ["vm", "vm:sm_80"].map(|device| digests(&["--device", device]));
    assert_eq!(hopper, ampere);
    // Two variants of either streaming kernel; the default of fma, and one for each number of
    // chains.
    assert_eq!(hopper.len(), 2 + 2 + 6);
    // The variants of a streaming kernel write the same; a copy is exact on the CPU too.
    assert_eq!(hopper[0][4], hopper[1][4]);
    assert_eq!(hopper[2][4], hopper[3][4]);
    assert_eq!(digests(&["--device", "cpu"])[0][4], hopper[0][4]);
    assert_ne!(digests(&["--device", "vm", "--seed", "2"]), hopper);
    Place::new()
        .run(["verify", "--format", "csv"])
        .refused(2, &["--digest"]);
}

#[test]
fn counts_are_printed_beside_the_model() {
    let place = Place::new();
    let ran = place
        .run([
            "count", "saxpy", "sgemm", "--sizes", "64", "--format", "csv",
        ])
        .ok();
    let mut lines = csv::Reader::from_reader(ran.stdout.as_bytes());
    let header = lines.headers().unwrap().clone();
    let column = |name: &str| header.iter().position(|column| column == name).unwrap();
    let rows: Vec<csv::StringRecord> = lines.records().map(Result::unwrap).collect();
    assert!(rows.len() >= 4);
    for row in &rows {
        assert_eq!(&row[column("agrees")], "true");
        assert_eq!(row[column("unique_bytes")], row[column("model_bytes")]);
        let intensity: f64 = row[column("model_intensity_flop_per_byte")]
            .parse()
            .unwrap();
        let expected = if &row[0] == "saxpy" { 1.0 / 6.0 } else { 8.0 };
        assert_eq!(intensity, expected);
    }
    let table = place.run(["count", "copy", "--sizes", "1000"]).ok().stdout;
    assert!(
        table.contains("Agrees") && table.contains("8,000"),
        "{table}"
    );
}

#[test]
fn products_on_tensor_cores_are_counted_with_what_prepares_them() {
    let place = Place::new();
    for (kernel, variants, target) in [
        ("gemm-bf16", 10, "sm_90a"),
        ("gemm-tf32", 3, "sm_90a"),
        // Two of them round A and B first: reading them is part of the kernel.
        ("gemm-mixed", 7, "sm_90a"),
        ("gemm-bf16", 1, "sm_80"),
    ] {
        let args = ["count", kernel, "--sizes", "33x70x65", "--target", target];
        let counted = place.run(args).ok();
        assert_eq!(counted.stdout.matches("yes").count(), variants, "{kernel}");
    }
}

#[test]
fn kernels_that_a_device_has_no_variant_of_are_named() {
    let place = Place::new();
    for args in [["verify", "gemm-bf16"], ["sweep", "gemm-bf16"]] {
        let args = args.iter().chain(&["--device", "cpu"]);
        let parts = ["gemm-bf16 needs tensor cores", "--device cuda"];
        place.run(args).refused(2, &parts);
    }
    // `auto` says why it took the CPU.
    for args in [
        &["verify", "gemm-bf16"][..],
        &["sweep", "gemm-tf32"],
        &["sweep", "sgemm", "--variant", "async"],
    ] {
        let mut program = place.program(args);
        // GPUs that there are, are hidden.
        let output = program.env("CUDA_VISIBLE_DEVICES", "").output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("No GPU was found"), "{said}");
    }
    let args = [
        "verify",
        "copy,gemm-tf32",
        "--device",
        "cpu",
        "--sizes",
        "8",
    ];
    let noted = ["not checked", "no variant runs here: gemm-tf32"];
    let ran = place.run(args).ok().says(&noted);
    assert!(ran.stdout.contains("copy") && !ran.stdout.contains("gemm"));
    let args = [
        "verify",
        "gemm-bf16",
        "--device",
        "vm:sm_80",
        "--sizes",
        "33",
    ];
    let ran = place.run(args).ok();
    assert_eq!(ran.stdout.lines().count(), 1, "{}", ran.stdout);
    assert!(ran.stdout.contains("gemm-bf16  mma "), "{}", ran.stdout);
}

#[test]
fn what_cannot_be_counted_is_refused() {
    let place = Place::new();
    for (args, parts) in [
        (
            vec!["sgem"],
            vec!["unknown kernel", "did you mean \"sgemm\"?"],
        ),
        (
            vec!["copy", "--variant", "tiled"],
            vec!["--variant", "scalar, vector, all"],
        ),
        (
            vec!["sgemm", "--variant", "transposed", "--target", "sm_80"],
            vec!["transposed of sgemm needs", "9.0", "is 8.0", "async, auto"],
        ),
        (vec!["copy", "--sizes", "0"], vec!["copy", "zero"]),
        (
            vec!["copy", "--sizes", "1G"],
            vec!["copy scalar at 1000000000", "out of memory"],
        ),
        (vec!["copy", "--target", "sm_70"], vec!["--target", "sm_80"]),
        (
            vec!["gemm-tf32", "--target", "sm_80"],
            vec!["gemm-tf32 needs wgmma", "9.0", "--variant mma"],
        ),
    ] {
        let args = ["count"].into_iter().chain(args);
        place.run(args).refused(2, &parts);
    }
}

#[test]
fn what_was_counted_before_a_size_that_does_not_fit_is_printed() {
    let sizes = ["copy", "--variant", "vector", "--sizes", "1000,1G"];
    let args = ["count"]
        .into_iter()
        .chain(sizes)
        .chain(["--format", "csv"]);
    let ran = Place::new().run(args);
    assert_eq!(ran.stdout.lines().count(), 2, "{}", ran.stdout);
    ran.says(&[
        "copy vector at 1000000000",
        "out of memory",
        "smaller --sizes",
    ]);
}
