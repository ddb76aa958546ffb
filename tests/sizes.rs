//! The size grammar of `--sizes`, by example and by property.

use proptest::prelude::*;
use rooftrace::kernels::intensity;
use rooftrace::kernels::size::{MAX_SIZES, Size, SizeError, SizeKind, at_intensities, parse_sizes};

fn elements(text: &str) -> Vec<u64> {
    parse_sizes(text, SizeKind::Elements)
        .unwrap()
        .into_iter()
        .map(|size| match size {
            Size::Elements(n) => n,
            Size::Matrix { .. } | Size::Mixed { .. } => panic!("{text}: not for this kernel"),
        })
        .collect()
}

fn refusal(text: &str) -> SizeError {
    match parse_sizes(text, SizeKind::Elements) {
        Err(error) => error,
        Ok(sizes) => panic!("`{text}` was taken as {sizes:?}"),
    }
}

#[test]
fn single_sizes_take_decimal_and_binary_suffixes() {
    assert_eq!(
        elements("7,1k,1M,2G,1Ki,1Mi,2Gi"),
        [
            7,
            1_000,
            1_000_000,
            2_000_000_000,
            1 << 10,
            1 << 20,
            2 << 30
        ]
    );
}

#[test]
fn a_plain_range_doubles_and_ends_on_its_end() {
    assert_eq!(elements("1..8"), [1, 2, 4, 8]);
    assert_eq!(elements("3..20"), [3, 6, 12, 20]);
    assert_eq!(elements("1Ki..4Ki"), [1024, 2048, 4096]);
    assert_eq!(elements("5..5"), [5]);
}

#[test]
fn a_geometric_range_rounds_powers_of_its_start() {
    // 100 * 1.5^i = 100, 150, 225, 337.5, 506.25, 759.4: rounding each value
    // from the one before would give 507 for the fifth.
    assert_eq!(elements("100..600:x1.5"), [100, 150, 225, 338, 506, 600]);
    assert_eq!(elements("1..1000:x10"), [1, 10, 100, 1000]);
    // A factor too small to move an integer still ends, without repetitions.
    assert_eq!(elements("1..5:x1.0000000001"), [1, 2, 3, 4, 5]);
    assert_eq!(elements("1..64:x2"), elements("1..64"));
}

#[test]
fn a_linear_range_clips_its_last_step() {
    assert_eq!(elements("10..20:+5"), [10, 15, 20]);
    assert_eq!(elements("1k..2k:+300"), [1000, 1300, 1600, 1900, 2000]);
    assert_eq!(elements("1..3:+1Gi"), [1, 3]);
}

#[test]
fn order_is_kept_and_repetitions_are_dropped() {
    assert_eq!(elements("8, 1..4 ,2,1000,1k"), [8, 1, 2, 4, 1000]);
}

#[test]
fn a_matrix_kernel_takes_sides_and_products() {
    let sizes = parse_sizes("64,1kx2Kix3,64x64x64", SizeKind::Matrix).unwrap();
    assert_eq!(
        sizes,
        [
            Size::Matrix {
                m: 64,
                n: 64,
                k: 64
            },
            Size::Matrix {
                m: 1000,
                n: 2048,
                k: 3
            }
        ]
    );
    assert_eq!(sizes[0].to_string(), "64");
    assert_eq!(sizes[1].to_string(), "1000x2048x3");
}

/// Elements and FMAs of each.
fn mixed(text: &str) -> Vec<(u64, u64)> {
    parse_sizes(text, SizeKind::Mixed)
        .unwrap()
        .into_iter()
        .map(|size| match size {
            Size::Mixed { n, fmas } => (n, fmas),
            Size::Elements(_) | Size::Matrix { .. } => panic!("{text}: no number of FMAs"),
        })
        .collect()
}

#[test]
fn an_intensity_stands_behind_the_elements() {
    assert_eq!(mixed("1Ki@0.25, 7@0"), [(1024, 1), (7, 0)]);
    assert_eq!(mixed("1..2@1..4:x4"), [(1, 4), (1, 16), (2, 4), (2, 16)]);
    assert_eq!(mixed("9@8,9@8"), [(9, 32)]);
    let own = intensity::parse(intensity::DEFAULT).unwrap();
    let expected: Vec<(u64, u64)> = own.into_iter().map(|fmas| (100, fmas)).collect();
    assert_eq!(mixed("100"), expected);
    assert_eq!(Size::Mixed { n: 100, fmas: 33 }.to_string(), "100@8.25");
}

#[test]
fn other_intensities_replace_those_of_every_length() {
    let sizes = parse_sizes("100@8,7@2,100@4", SizeKind::Mixed).unwrap();
    let at = |n, fmas| Size::Mixed { n, fmas };
    assert_eq!(
        at_intensities(&sizes, &[3, 1]),
        [at(100, 3), at(100, 1), at(7, 3), at(7, 1)]
    );
}

#[test]
fn an_intensity_in_the_wrong_place_is_refused() {
    for (text, kind, advice) in [
        ("1Mi@8", SizeKind::Elements, "write `1Mi`"),
        ("64@8", SizeKind::Matrix, "write `64`"),
        (
            "1Mi@0.3",
            SizeKind::Mixed,
            "nearest allowed are 0.25 and 0.5",
        ),
        ("1Mi@", SizeKind::Mixed, "write at least one"),
        ("@8", SizeKind::Mixed, "a size is missing"),
        ("64x64x64@8", SizeKind::Mixed, "vectors"),
        ("0@8", SizeKind::Mixed, "smallest size is 1"),
        ("8@1@2", SizeKind::Mixed, "`1@2`"),
        ("1..10k:+1@0..256:+1", SizeKind::Mixed, "larger step"),
    ] {
        let message = parse_sizes(text, kind).unwrap_err().to_string();
        assert!(message.contains(advice), "`{text}`: {message}");
        assert!(message.contains("--sizes"), "`{text}`: {message}");
    }
}

#[test]
fn each_refusal_says_what_was_given_what_is_allowed_and_the_fix() {
    for (text, given, advice) in [
        ("", "empty", "at least one size"),
        ("1,,2", "`1,,2`", "remove the extra comma"),
        ("1,", "`1,`", "remove the extra comma"),
        ("0", "`0`", "smallest size is 1"),
        ("0..4", "`0..4`", "smallest size is 1"),
        ("-4", "`-4`", "positive"),
        ("1-8", "`1-8`", "`A..B`"),
        ("1e3", "`1e3`", "whole numbers"),
        ("1.5k", "`1.5k`", "whole numbers"),
        ("4K", "`4K`", "`4Ki`"),
        ("4kB", "`4kB`", "powers of 1024"),
        ("4Ti", "`4Ti`", "powers of 1024"),
        ("many", "`many`", "`4Ki`"),
        ("max", "`max`", "`4Ki`"),
        ("8..2", "`8..2`", "`2..8`"),
        ("1..", "`1..`", "missing"),
        ("..8", "`..8`", "missing"),
        ("1..=8", "`=8`", "`A..B`"),
        ("1...8", "`.8`", "whole numbers"),
        ("1..8:x1.0", "`x1.0`", "above 1"),
        ("1..8:x0.5", "`x0.5`", "above 1"),
        ("1..8:xinf", "`xinf`", "above 1"),
        ("1..8:x1e1", "`x1e1`", "above 1"),
        ("1..8:x", "`x`", "above 1"),
        ("1..8:+0", "`+0`", "at least 1"),
        ("1..8:2", "`2`", "`:xF`"),
        ("99999999999999999999", "`99999999999999999999`", "at most"),
        (
            "18446744073709551615k",
            "`18446744073709551615k`",
            "at most",
        ),
        ("1..18446744073709551615", "18446744073709551615", "at most"),
        ("300000G", "300000000000000", "at most 281474976710656"),
        ("1kx1kx1k", "`1kx1kx1k`", "vectors"),
        ("1..1M:+1", "`1..1M:+1`", "larger step"),
        ("4\u{b5}", "`4\u{b5}`", "suffix"),
    ] {
        let message = refusal(text).to_string();
        assert!(message.contains(given), "`{text}`: {message}");
        assert!(message.contains(advice), "`{text}`: {message}");
        assert!(message.contains("--sizes"), "`{text}`: {message}");
    }
}

#[test]
fn a_product_has_three_sides_and_countable_work() {
    for (text, advice) in [
        ("64x64", "2 sides"),
        ("1x2x3x4", "4 sides"),
        ("8x0x8", "smallest size is 1"),
        ("8xx8", "missing"),
        ("2Gix1x1", "a side is at most"),
        ("2Mi", "M*N*K is at most"),
        ("1x1x1..4", "suffix"),
    ] {
        let message = parse_sizes(text, SizeKind::Matrix).unwrap_err().to_string();
        assert!(message.contains(advice), "`{text}`: {message}");
    }
}

#[test]
fn the_number_of_sizes_is_limited_over_the_whole_list() {
    let exactly = format!("1..{MAX_SIZES}:+1");
    assert_eq!(elements(&exactly).len(), MAX_SIZES);
    assert!(matches!(
        refusal(&format!("{exactly},100k")),
        SizeError::TooMany { .. }
    ));
}

/// Text made of the grammar's own characters reaches much deeper than
/// arbitrary text does.
fn near_misses() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "[0-9kMGix.:+, -]{0,24}",
        "[0-9]{1,3}@[0-9.:+x, -]{0,16}",
        "[0-9]{1,20}\\.\\.[0-9]{1,20}:x1\\.0*[0-9]"
    ]
}

proptest! {
    #[test]
    fn no_text_panics(text in near_misses()) {
        let _ = parse_sizes(&text, SizeKind::Elements);
        let _ = parse_sizes(&text, SizeKind::Matrix);
        let _ = parse_sizes(&text, SizeKind::Mixed);
    }

    #[test]
    fn what_was_parsed_prints_and_parses_back(text in near_misses()) {
        for kind in [SizeKind::Elements, SizeKind::Matrix, SizeKind::Mixed] {
            if let Ok(sizes) = parse_sizes(&text, kind) {
                let printed: Vec<String> = sizes.iter().map(Size::to_string).collect();
                prop_assert_eq!(parse_sizes(&printed.join(","), kind).unwrap(), sizes);
            }
        }
    }

    #[test]
    fn a_range_ascends_strictly_between_its_ends(
        start in 1u64..1 << 40,
        length in 0u64..1 << 40,
        factor in 1.01f64..16.0,
        steps in 1u64..500,
    ) {
        let end = start + length;
        let step = length / steps + 1;
        for text in [
            format!("{start}..{end}"),
            format!("{start}..{end}:x{factor}"),
            format!("{start}..{end}:+{step}"),
        ] {
            let sizes = elements(&text);
            prop_assert_eq!(sizes[0], start);
            prop_assert_eq!(sizes[sizes.len() - 1], end);
            prop_assert!(sizes.windows(2).all(|pair| pair[0] < pair[1]), "{}", text);
        }
    }

    #[test]
    fn suffixes_multiply(number in 1u64..1000) {
        for (suffix, factor) in
            [("k", 1000), ("M", 1_000_000), ("Ki", 1 << 10), ("Mi", 1 << 20), ("Gi", 1 << 30)]
        {
            prop_assert_eq!(elements(&format!("{number}{suffix}")), [number * factor]);
        }
    }
}
