//! Runs every command of `docs/lectures.md` and compares what it prints, so that the page cannot
//! go stale. `TRYCMD=overwrite cargo test --test walkthrough` writes what they print into it.

use rooftrace::roofline::units::significant;

#[test]
fn the_lectures_page_shows_what_its_commands_print() {
    trycmd::TestCases::new()
        .env("NO_COLOR", "1")
        // Of rooflines in letters.
        .env("LC_ALL", "C.UTF-8")
        .case("docs/lectures.md");
}

/// The table of the profiler's figures is that of the committed counters.
#[test]
fn the_lectures_page_has_the_counters_of_the_results() {
    let page = include_str!("../docs/lectures.md");
    let counters = include_str!("../results/2026-11-30-h200/counters.csv");
    let mut reader = csv::Reader::from_reader(counters.as_bytes());
    let column = |name: &str| {
        let headers = counters.lines().next().unwrap();
        headers
            .split(',')
            .position(|header| header == name)
            .unwrap()
    };
    let [dram, sm] = ["dram_fraction_of_peak", "sm_fraction_of_peak"].map(column);
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    for (kernel, variant) in [
        ("copy", "scalar"),
        ("copy", "vector"),
        ("triad", "vector"),
        ("fma", "chains"),
    ] {
        // The longest launch.
        let of = rows
            .iter()
            .filter(|row| (&row[0], &row[1]) == (kernel, variant));
        let row = of.max_by_key(|row| row[2].parse::<u64>().unwrap()).unwrap();
        let percent = |column: usize| 100.0 * row[column].parse::<f64>().unwrap();
        let line = format!(
            "| {kernel} {variant} | {:.1} % | {:.1} % |",
            percent(dram),
            percent(sm)
        );
        assert!(page.contains(&line), "{line}");
    }
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
