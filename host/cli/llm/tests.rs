//! The command's defaults are the lecture's example; bad input is answered.

use super::*;
use clap::Parser;

#[derive(Parser)]
struct Cli {
    #[command(flatten)]
    args: LlmArgs,
}

fn call(line: &str) -> Result<String, String> {
    let words = std::iter::once("llm").chain(line.split_whitespace());
    let cli = Cli::try_parse_from(words).map_err(|e| e.to_string())?;
    let mut out = Vec::new();
    run(&cli.args, &mut out).map_err(|e| e.to_string())?;
    Ok(String::from_utf8(out).unwrap())
}

fn rows(line: &str) -> Vec<serde_json::Value> {
    let text = call(&format!("{line} --format json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn the_defaults_are_the_lectures_example_to_the_digit() {
    let text = call("").unwrap();
    for line in [
        "Weights: 5e11 parameters x 2 B = 1 TB;",
        "1 PFLOP/s, 10 TB/s, ridge point 100 FLOP/byte",
        "Decode at batch 1: 100 ms a step (memory 100 ms, arithmetic 1 ms), 1 FLOP/byte: \
         memory-bound; 10 tokens/s",
        "Bandwidth needed to be compute-bound at batch 1: 1 PB/s",
        "compute-bound from a batch of 100; until then throughput grows with the batch at \
         constant latency",
        "so it is compute-bound.",
    ] {
        assert!(text.contains(line), "{line} in\n{text}");
    }
}

#[test]
fn the_rows_show_throughput_against_batch_around_the_ridge() {
    let rows = rows("--batch 3");
    let of = |batch: u64| {
        rows.iter()
            .find(|r| r["phase"] == "decode" && r["batch"] == batch)
            .unwrap_or_else(|| panic!("no batch {batch}"))
    };
    assert_eq!(
        (&of(1)["token_per_s"], &of(1)["time_s"]),
        (&10.0.into(), &0.1.into())
    );
    assert_eq!(of(64)["time_s"], 0.1);
    assert_eq!(
        (&of(3)["bound"], &of(100)["bound"]),
        (&"memory".into(), &"compute".into())
    );
    assert_eq!(of(128)["token_per_s"], of(100)["token_per_s"]);
    assert_eq!(of(3)["compute_bound_from_byte_per_s"], 1e15 / 3.0);
}

#[test]
fn the_rows_compare_weight_formats_and_prefill() {
    let rows = rows("--batch 7");
    let time = |width: f64| {
        let found = rows
            .iter()
            .find(|r| r["bytes_per_parameter"] == width && r["batch"] == 7);
        found.unwrap()["time_s"].as_f64().unwrap()
    };
    assert_eq!((time(2.0), time(1.0), time(0.5)), (0.1, 0.05, 0.025));
    let prefill = rows.iter().find(|r| r["phase"] == "prefill").unwrap();
    assert_eq!(
        (&prefill["bound"], &prefill["intensity_flop_per_byte"]),
        (&"compute".into(), &(7.0 * 2048.0).into())
    );
}

#[test]
fn a_gpu_gives_the_roofline_and_explicit_rates_override_it() {
    let text = call("--gpu H100 --parameters 70G").unwrap();
    assert!(
        text.contains("Roofline (H100 SXM, BF16 tensor cores): 989.4 TFLOP/s"),
        "{text}"
    );
    assert!(
        text.contains("140 GB of weights and cache against 80 GiB, so 2 GPUs"),
        "{text}"
    );
    let text = call("--gpu A100 --pipe fp8 --flops 1P").unwrap();
    assert!(
        text.contains("1 PFLOP/s, 2.039 TB/s"),
        "A100 has no fp8 rate: {text}"
    );
    let text = call("--gpu H100 --pipe fp8 --bandwidth 2T").unwrap();
    assert!(
        text.contains("with the rates given): 1.979 PFLOP/s, 2 TB/s"),
        "{text}"
    );
}

#[test]
fn a_cache_is_counted_when_the_attention_is_described() {
    let attention = "--layers 80 --heads 64 --kv-heads 8 --head-dim 128";
    let text = call(&format!("--parameters 70G {attention} --context 100k")).unwrap_err();
    assert!(
        text.contains("--context"),
        "tokens are whole numbers: {text}"
    );
    let text = call(&format!("--parameters 70G {attention} --context 100000")).unwrap();
    assert!(text.contains("KV cache: 327.7 kB a token"), "{text}");
    assert!(text.contains("memory-bound at every batch"), "{text}");
}

#[test]
fn recomputation_and_speculation_are_priced() {
    let pays = |flops: &str| {
        call(&format!("--recompute-flops {flops} --stored-bytes 1G"))
            .unwrap()
            .contains("so it pays")
    };
    assert!(pays("199G") && !pays("201G"));
    let text = call("--draft 3 --acceptance 0.5").unwrap();
    assert!(
        text.contains("1.875 expected") && text.contains("18.75 tokens/s"),
        "{text}"
    );
}

#[test]
fn bad_input_names_the_flag_and_what_is_allowed() {
    for (line, parts) in [
        (
            "--parameters 0",
            &["--parameters: the number of parameters is 0", "from 1"][..],
        ),
        ("--parameters many", &["--parameters", "many", "70G"]),
        ("--parameters 5GG", &["--parameters", "5GG", "70G"]),
        (
            "--parameters 1e300",
            &["--parameters: the number of parameters is", "1e18"],
        ),
        ("--parameters=-1", &["--parameters", "from 0"]),
        (
            "--bytes-per-parameter 0",
            &["--bytes-per-parameter: bytes per parameter is 0", "0.5"],
        ),
        ("--batch 0", &["--batch: the batch is 0", "1 or more"]),
        ("--prompt 0", &["--prompt: the prompt is 0", "1 or more"]),
        ("--bandwidth 0", &["--bandwidth", "above 0"]),
        ("--flops 0", &["--flops", "above 0"]),
        ("--flops inf", &["--flops", "inf"]),
        ("--context 10", &["--layers"]),
        ("--layers 80", &["--heads", "--head-dim"]),
        (
            "--layers 8 --heads 6 --kv-heads 4 --head-dim 64",
            &["--kv-heads", "divisor"],
        ),
        (
            "--layers 8 --heads 6 --kv-heads 0 --head-dim 64",
            &["--kv-heads", "0"],
        ),
        (
            "--layers 8 --heads 8 --head-dim 64 --kv-bytes 0",
            &["--kv-bytes: bytes per cached element is 0", "above 0"],
        ),
        ("--draft 3", &["--acceptance"]),
        (
            "--draft 3 --acceptance 1.5",
            &["--acceptance: the acceptance rate is 1.5", "0 to 1"],
        ),
        ("--recompute-flops 1", &["--stored-bytes"]),
        ("--pipe bf16", &["--gpu"]),
        (
            "--gpu V100 --pipe fp8",
            &["--pipe", "V100 SXM2 has no fp8 rate"],
        ),
    ] {
        let message = call(line).unwrap_err();
        for part in parts {
            assert!(message.contains(part), "{line}: {part} in {message}");
        }
    }
}
