//! Every way in which a GPU file can be wrong is answered with file, line, field and range.

use super::*;
use proptest::prelude::*;

const GOOD: &str = r#"
[[gpu]]
name = "X1"
compute_capability = "9.0"
sms = 10
memory_bandwidth_byte_per_s = 1e12
source = "a document"
[gpu.peaks]
fp32 = { dense = 1e13 }
bf16 = { dense = 1e14, sparse = 2e14 }
"#;

fn fault(from: &str, to: &str) -> SpecError {
    assert!(GOOD.contains(from), "{from} is not in the document");
    parse(&GOOD.replace(from, to), "my.toml").unwrap_err()
}

#[test]
fn a_small_file_is_read() {
    let gpus = parse(GOOD, "my.toml").unwrap();
    assert_eq!(gpus.len(), 1);
    assert_eq!(gpus[0].sms, Some(10));
    assert_eq!(gpus[0].tdp_w, None);
    assert_eq!(gpus[0].peaks[&Pipe::Bf16].sparse_flop_per_s, Some(2e14));
}

#[test]
fn a_forgotten_prefix_names_file_line_field_and_range() {
    let e = fault("= 1e12", "= 3.35");
    assert_eq!((e.file.as_str(), e.line), ("my.toml", 6));
    assert_eq!(e.field, "gpu \"X1\".memory_bandwidth_byte_per_s");
    assert!(e.problem.starts_with("3.35 is out of range"), "{e}");
    assert_eq!(e.allowed, "a number of byte/s from 1e9 to 1e15");
}

#[test]
fn zero_negative_infinite_and_nan_are_not_rates() {
    for bad in ["0", "0.0", "-1e12", "inf", "nan", "1e400", "0x10"] {
        assert_eq!(fault("= 1e12", &format!("= {bad}")).line, 6, "{bad}");
    }
}

#[test]
fn a_misspelt_field_is_not_a_missing_one() {
    let e = fault("sms =", "smms =");
    assert_eq!((e.line, e.field.as_str()), (5, "gpu \"X1\".smms"));
    assert!(e.allowed.contains("fp32_cores_per_sm"), "{e}");
    assert_eq!(
        fault("sparse =", "spare =").field,
        "gpu \"X1\".peaks.bf16.spare"
    );
    assert_eq!(fault("[[gpu]]", "extra = 1\n[[gpu]]").field, "extra");
}

#[test]
fn wrong_types_say_which_type_was_given() {
    let e = fault("sms = 10", "sms = \"ten\"");
    assert!(e.problem.contains("\"ten\" is of type string"), "{e}");
    assert!(fault("sms = 10", "sms = 10.5").problem.contains("float"));
    assert_eq!(
        fault("\"9.0\"", "9.0").field,
        "gpu \"X1\".compute_capability"
    );
    assert_eq!(fault("\"9.0\"", "\"nine\"").line, 4);
    assert_eq!(fault("fp32 = { dense = 1e13 }", "fp32 = 1e13").line, 9);
    assert_eq!(fault("name = \"X1\"", "name = 1").field, "gpu.name");
}

#[test]
fn integers_out_of_range_are_refused() {
    for bad in ["0", "-4", "100001", "99999999999999999999999"] {
        assert_eq!(fault("sms = 10", &format!("sms = {bad}")).line, 5, "{bad}");
    }
}

#[test]
fn an_unknown_pipe_lists_the_pipes() {
    let e = fault("bf16 =", "bf17 =");
    assert_eq!((e.line, e.field.as_str()), (10, "gpu \"X1\".peaks.bf17"));
    assert!(e.allowed.contains("bf16"), "{e}");
}

#[test]
fn exchanged_sparse_and_dense_rates_are_refused() {
    let e = fault("sparse = 2e14", "sparse = 5e13");
    assert!(e.problem.contains("exchanged"), "{e}");
}

#[test]
fn a_gpu_needs_a_name_a_source_and_a_dense_rate() {
    assert_eq!(fault("name = \"X1\"", "").field, "gpu.name");
    assert_eq!(
        fault("source = \"a document\"", "").field,
        "gpu \"X1\".source"
    );
    assert_eq!(fault("\"a document\"", "\" \"").field, "gpu \"X1\".source");
    assert_eq!(
        fault("dense = 1e14, ", "").field,
        "gpu \"X1\".peaks.bf16.dense"
    );
}

#[test]
fn a_file_that_is_no_toml_or_empty_is_refused() {
    let e = parse("[[gpu]]\nname = \"X1\nsms = 4\n", "my.toml").unwrap_err();
    assert_eq!((e.line, e.field.as_str()), (2, "TOML syntax"));
    assert!(parse("", "my.toml").unwrap_err().problem.contains("no GPU"));
    assert_eq!(parse("gpu = 3", "my.toml").unwrap_err().field, "gpu");
}

#[test]
fn a_name_may_occur_once_in_a_file() {
    let twice = format!("{GOOD}{}", GOOD.replace("X1", "x1"));
    assert!(
        parse(&twice, "my.toml")
            .unwrap_err()
            .problem
            .contains("occurs twice")
    );
}

proptest! {
    /// Whatever happens to a file, it is read or answered with a line of it; no panic.
    #[test]
    fn a_damaged_file_is_read_or_refused_with_one_of_its_lines(
        at in 0usize..GOOD.len(), cut in 0usize..12, put in "[\\PC\n\"=\\[\\]{}]{0,6}",
    ) {
        let end = (at + cut).min(GOOD.len());
        let damaged = format!("{}{put}{}", &GOOD[..at], &GOOD[end..]);
        if let Err(e) = parse(&damaged, "my.toml") {
            prop_assert!(e.line >= 1 && e.line <= damaged.lines().count() + 1, "{e}");
            prop_assert!(!e.field.is_empty() && !e.allowed.is_empty(), "{e}");
        }
    }
}
