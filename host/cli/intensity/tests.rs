//! The command's output and its answers to bad input.

use super::*;
use clap::Parser;

#[derive(Parser)]
struct Cli {
    #[command(flatten)]
    args: IntensityArgs,
}

fn call(line: &str) -> Result<String, String> {
    let words = std::iter::once("intensity").chain(line.split_whitespace());
    let cli = Cli::try_parse_from(words).map_err(|e| e.to_string())?;
    let mut out = Vec::new();
    run(&cli.args, &mut out).map_err(|e| e.to_string())?;
    Ok(String::from_utf8(out).unwrap())
}

/// The named column of each CSV row.
fn column(line: &str, name: &str) -> Vec<String> {
    let text = call(&format!("{line} --format csv")).unwrap();
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let index = reader
        .headers()
        .unwrap()
        .iter()
        .position(|h| h == name)
        .unwrap();
    reader
        .records()
        .map(|r| r.unwrap()[index].to_owned())
        .collect()
}

#[test]
fn sgemm_on_h100_bf16_crosses_between_2361_and_2363() {
    let line = "sgemm --sizes 2362,2363 --gpu H100 --pipe bf16";
    assert_eq!(column(line, "bound"), ["memory", "compute"]);
    assert_eq!(
        column(line, "intensity_flop_per_byte"),
        ["295.25", "295.375"]
    );
    assert!(
        call(line)
            .unwrap()
            .contains("from N = 2362.7, so from 2363"),
        "{:?}",
        call(line)
    );
}

#[test]
fn the_default_pipe_is_the_kernels_own() {
    let pipe = |line: &str| column(&format!("{line} --sizes 64 --gpu H100"), "pipe");
    assert_eq!(pipe("sgemm"), ["fp32"]);
    assert_eq!(pipe("gemm-tf32"), ["tf32"]);
    assert_eq!(pipe("gemm-mixed"), ["bf16"]);
    assert_eq!(pipe("gemm --storage fp8"), ["fp8"]);
    assert_eq!(pipe("saxpy --storage f64"), ["fp64"]);
}

#[test]
fn storage_out_type_and_beta_reach_the_byte_count() {
    let bytes = |line: &str| column(&format!("{line} --sizes 10x20x30"), "bytes");
    assert_eq!(bytes("gemm"), [(4 * (300 + 600 + 2 * 200)).to_string()]);
    assert_eq!(
        bytes("gemm --beta 0"),
        [(4 * (300 + 600 + 200)).to_string()]
    );
    assert_eq!(
        bytes("gemm-bf16"),
        [(2 * (300 + 600 + 2 * 200)).to_string()]
    );
    let mixed = "gemm-bf16 --out-type f32 --beta 0";
    assert_eq!(bytes(mixed), [(2 * (300 + 600) + 4 * 200).to_string()]);
}

#[test]
fn mix_has_the_intensity_that_its_size_names() {
    let line = "mix --sizes 1Mi@0,1Mi@13.75,1Mi@14 --gpu H200";
    assert_eq!(column(line, "flops")[1], ((2 * 55) << 20).to_string());
    assert_eq!(column(line, "bytes")[1], (8 << 20).to_string());
    assert_eq!(
        column(line, "intensity_flop_per_byte"),
        ["0", "13.75", "14"]
    );
    assert_eq!(column(line, "bound"), ["memory", "memory", "compute"]);
    let text = call(line).unwrap();
    assert!(
        text.contains("from 55.75 FMAs an element, so from 56"),
        "{text}"
    );
    // Without an intensity, at each of those that are swept.
    assert!(column("mix --sizes 64", "flops").len() > 10);
}

#[test]
fn fma_is_counted_for_one_thread() {
    let line = "fma --sizes 1,2,1000 --gpu H200";
    assert_eq!(column(line, "flops"), ["32", "64", "32000"]);
    assert_eq!(column(line, "bytes"), ["4", "4", "4"]);
    assert_eq!(column(line, "bound"), ["memory", "compute", "compute"]);
    let text = call(line).unwrap();
    assert!(
        text.contains("fma (a thread)") && text.contains("so from 2."),
        "{text}"
    );
}

#[test]
fn a_batch_multiplies_work_and_leaves_the_intensity() {
    for kernel in ["sgemm", "gemm", "gemm-bf16", "gemm-tf32", "gemm-mixed"] {
        let one = format!("{kernel} --sizes 64,32x48x16");
        let many = format!("{one} --batch 100");
        for name in ["flops", "bytes"] {
            let hundredfold: Vec<String> = column(&one, name)
                .iter()
                .map(|count| format!("{count}00"))
                .collect();
            assert_eq!(column(&many, name), hundredfold, "{kernel} {name}");
        }
        let intensity = |line| column(line, "intensity_flop_per_byte");
        assert_eq!(intensity(&one), intensity(&many));
        assert_eq!(column(&many, "batch"), ["100", "100"]);
        assert!(call(&many).unwrap().contains("Batch"));
        assert!(!call(&one).unwrap().contains("Batch"));
    }
    let explained = call("sgemm --sizes 1000 --batch 10 --explain").unwrap();
    for part in ["10 x (2MNK) = 20,000,000,000", "120 MB"] {
        assert!(explained.contains(part), "{part} in\n{explained}");
    }
    let error = call("mix --sizes 64 --batch 2").unwrap_err();
    assert!(
        error.contains("--batch") && error.contains("sgemm"),
        "{error}"
    );
    assert!(
        call("sgemm --sizes 64 --batch 0")
            .unwrap_err()
            .contains("--batch")
    );
}

#[test]
fn an_fft_is_printed_as_the_lecture_has_it_and_consistently() {
    let line = "fft --sizes 1Mi";
    assert_eq!(column(line, "intensity_flop_per_byte"), ["3.125", "6.25"]);
    assert_eq!(column(line, "bytes_model"), ["lecture", "consistent"]);
}

#[test]
fn growth_and_empty_columns_of_a_vector_kernel() {
    assert_eq!(
        column("saxpy --sizes 1k", "growth"),
        ["O(1): memory-bound always"]
    );
    assert_eq!(column("copy --sizes 1k", "m"), [""]);
    assert_eq!(column("copy --sizes 1k", "ridge_flop_per_byte"), [""]);
}

#[test]
fn sizes_double_and_include_both_ends() {
    assert_eq!(
        column("copy --sizes 1k..5k", "n"),
        ["1000", "2000", "4000", "5000"]
    );
    assert_eq!(column("copy --sizes 1Ki,2Mi", "n"), ["1024", "2097152"]);
}

#[test]
fn explain_shows_the_classic_mistakes() {
    let copy = call("copy --sizes 256Mi --explain").unwrap();
    for part in [
        "8N = 2,147,483,648",
        "each element counted once",
        "1.074 GB",
        "TB against TiB",
    ] {
        assert!(copy.contains(part), "{part} in\n{copy}");
    }
    assert!(!copy.contains("FMA counted once"));
    let sgemm = call("sgemm --sizes 1000 --explain --gpu H100").unwrap();
    for part in [
        "FMA counted once",
        "1 GFLOP",
        "62.5",
        "reading C forgotten",
        "3.05 TiB/s",
    ] {
        assert!(sgemm.contains(part), "{part} in\n{sgemm}");
    }
    let other = call("gemm --storage bf16 --out-type f32 --beta 0 --sizes 8 --explain").unwrap();
    assert!(other.contains("2 (MK + KN) + 4 x MN = 512"), "{other}");
    assert!(other.contains("N/4 if square"), "{other}");
}

#[test]
fn bad_input_names_flag_value_and_what_is_allowed() {
    for (line, parts) in [
        ("copy --sizes 12q", &["--sizes", "12q"][..]),
        ("copy --sizes 0", &["--sizes", "0"]),
        ("copy --sizes 99999999999G", &["--sizes", "99999999999G"]),
        ("copy --sizes 8..4", &["--sizes", "8..4"]),
        ("copy --sizes 2x3x4", &["--sizes", "2x3x4"]),
        ("sgemm --sizes 2x3", &["--sizes", "2x3", "MxNxK"]),
        (
            "copy --sizes 8 --beta 1",
            &["--beta", "copy", "no matrix product"],
        ),
        ("sgemm --sizes 8 --beta 2", &["--beta", "2 is not in 0..=1"]),
        (
            "sgemm --sizes 8 --storage bf16",
            &["--storage", "stores f32", "the kernel gemm"],
        ),
        ("sgemm --sizes 8 --out-type bf16", &["--out-type", "f32"]),
        (
            "gemm --sizes 8 --storage f31",
            &["--storage", "f31", "allowed: f64"],
        ),
        ("sgemm --sizes 8 --pipe bf16", &["--gpu"]),
        (
            "sgemm --sizes 8 --gpu H100 --pipe bf1",
            &["--pipe", "bf1", "allowed: fp32"],
        ),
        (
            "sgemm --sizes 8 --gpu H1000",
            &["--gpu", "H1000", "nearest"],
        ),
        ("sgemm --sizes 4Mi", &["--sizes", "4Mi", "too large"]),
        ("fft --sizes 1000", &["--sizes", "power of two", "512"]),
        (
            "sgemm --sizes 8 --explain --format csv",
            &["--explain", "--format table"],
        ),
        ("sgem --sizes 8", &["sgem", "sgemm"]),
    ] {
        let message = call(line).unwrap_err();
        for part in parts {
            assert!(message.contains(part), "{line}: {part} in {message}");
        }
    }
}

#[test]
fn the_bandwidth_of_the_l2_stands_beside_that_of_the_memory_where_it_is_known() {
    let text = call("saxpy --sizes 1Mi --gpu A100").unwrap();
    assert!(
        text.contains(
            "Reads that the L2 serves: 7.219 TB/s, ridge point 2.701 FLOP/byte \
             (5120 bytes per cycle x 1.41e9 Hz = 7.2192e12 byte/s)."
        ),
        "{text}"
    );
    assert!(!call("saxpy --sizes 1Mi --gpu H100").unwrap().contains("L2"));
    let rate = |gpu: &str| {
        column(
            &format!("saxpy --sizes 1Mi --gpu {gpu}"),
            "l2_read_byte_per_s",
        )
    };
    assert_eq!(rate("A100")[0].parse::<f64>(), Ok(7.2192e12));
    assert_eq!(rate("H100"), [""]);
}
