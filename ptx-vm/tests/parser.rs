//! The parser: positions of errors, refusals that name what is missing, arbitrary input.

mod common;

use common::kernel;
use proptest::prelude::*;
use ptx_vm::{Module, parse};

fn refused(body: &str) -> ptx_vm::ParseError {
    Module::parse(&kernel(".param .u64 out", body))
        .expect("PTX")
        .check("k")
        .expect_err("not supported")
}

#[test]
fn unsupported_instructions_and_modifiers_are_named() {
    for (body, part) in [
        (
            "wmma.store.d.sync.aligned.row.m16n16k16.f32 [%d1], {%r1};",
            "instruction `wmma` is not supported",
        ),
        (
            "tex.1d.v4.f32.s32 {%r1,%r2,%r3,%r4}, [%d1, {%r1}];",
            "instruction `tex`",
        ),
        ("add.v7.s32 %r1, %r2, %r3;", "modifier .v7 is not supported"),
        (
            "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%d1], [%r1], %r2;",
            "modifier .reduce is not supported",
        ),
        (
            "add.s32 %r1, %d2, %r3;",
            "not a register of at most 32 bits",
        ),
        ("add.s64 %d1, %r2, %d3;", "not a 64-bit register"),
        ("add.s32 %r1, %r2;", "takes 3 operands, not 2"),
        (
            "mov.u32 %r1, %pm0;",
            "`%pm0` is not declared, or not a supported special register",
        ),
        ("ld.global.u32 %r1, [%d1, {%r1}];", "tensor addresses"),
        ("bra nowhere;", "`nowhere` is not declared"),
        ("fma.rn.f32 %r1, %r2, %r3;", "4 operands are expected"),
        (
            "cvt.u32.f32 %r1, %r2;",
            "an integer rounding such as .rzi is expected",
        ),
        ("shl.b32 %r1, 5000000000, 1;", "is not a source of 4 bytes"),
        ("call (%r1), %d1, (%r2), proto;", "indirect calls"),
        ("call f;", "function `f` is not defined"),
    ] {
        let error = refused(&format!("mov.u32 %r9, 0;\n{body}"));
        assert!(error.message.contains(part), "{body}: {error}");
        assert_eq!(error.position.line, 8, "{error}");
        assert!(error.text.contains(body.trim_end_matches(';')), "{error}");
    }
}

#[test]
fn syntax_errors_have_positions() {
    for (text, line, column, part) in [
        (
            ".version 8.0\n.target sm_90\n.unknown",
            3,
            1,
            "`.unknown` is not a supported module directive",
        ),
        (".version eight", 1, 10, "a version such as 7.0"),
        (
            ".entry k() {\n  add.s32 %r1 %r2;\n}",
            2,
            15,
            "expected `,` or `;`, found `%r2`",
        ),
        ("/* never", 1, 1, "comment is not closed"),
        (".entry k() {", 1, 13, "found the end of the text"),
        (".global .u32 x = \"", 1, 18, "string is not closed"),
        ("§", 1, 1, "unexpected character '§'"),
    ] {
        let error = parse::parse(text).expect_err(text);
        assert_eq!(
            (error.position.line, error.position.column),
            (line, column),
            "{error}"
        );
        assert!(error.message.contains(part), "{error}");
    }
}

#[test]
fn deep_nesting_is_refused_not_overflowed() {
    for open in ["{", "[a,", "(", "{ add.s32 {"] {
        let text = format!(".entry k() {{ mov.u32 {} ;}}", open.repeat(100_000));
        assert!(parse::parse(&text).is_err());
    }
    assert!(parse::parse(&format!(".entry k() {{ {}", "{".repeat(100_000))).is_err());
    assert!(parse::parse(&format!(".global .u32 x = {}", "{".repeat(100_000))).is_err());
}

#[test]
fn ignored_debug_information_is_skipped() {
    let text = ".version 8.0\n.target sm_90, debug\n.address_size 64\n.file 1 \"a.rs\"
        .visible .entry k(.param .u64 .ptr .global .align 16 x) .maxntid 128 .minnctapersm 2 .pragma \"nounroll\";
        {
            .reg .b32 %r<2>;
            .loc 1 5 3
            mov.u32 %r1, 5;
            .loc 1 6 3, function_name $L__info0, inlined_at 1 7 4
            .pragma \"nounroll\";
            ret;
        }
        .section .debug_abbrev { .b8 1, 17 \n .b32 label }";
    let module = Module::parse(text).unwrap();
    assert_eq!(module.ast().version, (8, 0));
    assert_eq!(
        module.ast().functions[0].directives[0],
        (".maxntid".into(), vec![128])
    );
}

/// Pieces that PTX is made of, so that random sequences get past the first token.
fn piece() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        ".version",
        "8.0",
        ".target",
        "sm_90",
        ".address_size",
        "64",
        ".visible",
        ".entry",
        ".func",
        "k",
        "(",
        ")",
        "{",
        "}",
        "[",
        "]",
        "<",
        ">",
        ",",
        ";",
        ":",
        "@",
        "!",
        "|",
        "+",
        "-",
        "=",
        ".reg",
        ".b32",
        ".b64",
        ".pred",
        "%r",
        "%r1",
        "%p1",
        "%rd1",
        "ld.global.u32",
        "st.shared.v4.f32",
        "add.s32",
        "bra",
        "call",
        "ret",
        "0x",
        "0f3F800000",
        "12345678901234567890123",
        "-1",
        ".shared",
        ".align",
        "16",
        ".b8",
        "x",
        "[4]",
        ".param",
        ".loc",
        ".section",
        "\"t\"",
        "bar.sync",
        "setp.lt.s32",
        "mov.u32",
        ".branchtargets",
        "brx.idx",
        "L:",
        "L",
        "cp.async.wait_group",
        "\n",
        "//c\n",
    ])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_text_never_panics(text in "\\PC{0,200}") {
        let _ = Module::parse(&text);
    }

    #[test]
    fn arbitrary_token_sequences_never_panic(pieces in prop::collection::vec(piece(), 0..120)) {
        let _ = Module::parse(&pieces.join(" "));
        let body = pieces.join(" ");
        let _ = Module::parse(&kernel(".param .u64 x", &body));
    }

    #[test]
    fn damaged_kernels_never_panic(at in 0usize..4000, new in "\\PC{0,3}", cut in 0usize..40) {
        let text = include_str!("../examples/throughput.ptx");
        let at = at % text.len();
        let mut damaged = text[..at].to_string();
        damaged.push_str(&new);
        damaged.push_str(&text[(at + cut).min(text.len())..]);
        let _ = Module::parse(&damaged);
    }
}
