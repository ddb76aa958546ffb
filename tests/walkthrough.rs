//! Runs every command of `docs/lectures.md` and compares what it prints, so that the page cannot
//! go stale. `TRYCMD=overwrite cargo test --test walkthrough` writes what they print into it.

use rooftrace::roofline::units::significant;

#[test]
fn the_lectures_page_shows_what_its_commands_print() {
    trycmd::TestCases::new()
        .env("NO_COLOR", "1")
        .case("docs/lectures.md");
}

/// The page names every number that the lectures print and the commands must reproduce.
#[test]
fn the_lectures_page_has_every_number_of_the_lectures() {
    let page = include_str!("../docs/lectures.md");
    let numbers = [
        "19.97",
        "156",
        "295",
        "281",
        "591 / 592",
        "590.7",
        "562",
        "1125",
        "33,792",
        "66.9 TFLOP/s",
        "3,784",
        "1,892",
        "4,096",
        "1.83 GHz",
        "2360",
        "2361.8",
        "2362.7",
        "159.8",
        "1180.9",
        "1181.4",
        "1648.3",
        "111.5",
        "824.2",
        "824.5",
        "0.1667",
        "(5/32) log2 N",
        "(5/16) log2 N",
        "N/8",
        "3040 GB/s",
        "90.7 %",
        "100 ms",
        "1 ms",
        "1 PB/s",
        "7 %",
        "10 %",
    ];
    let missing: Vec<&str> = numbers
        .into_iter()
        .filter(|number| !page.contains(number))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
    assert!(
        page.contains(&significant(5.0 / 32.0 * 20.0, 4)),
        "the FFT at 1Mi"
    );
}
