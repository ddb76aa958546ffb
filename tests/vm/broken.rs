//! Shipped kernels with one line broken: each must be caught, with the right diagnosis.

use super::{Case, cases, ptx};
use rooftrace::device::Device;
use rooftrace::device::cuda::Ptx;
use rooftrace::device::vm::{Target, VmDevice};
use rooftrace::kernels::{Bench, Data};

/// One entry of a module, alone: modules of thousands of lines are parsed again and again here.
struct Entry<'a> {
    name: &'a str,
    /// What stands before the first entry: version, target, shared memory, functions.
    head: &'a str,
    text: &'a str,
}

fn entries(text: &str) -> Vec<Entry<'_>> {
    let starts: Vec<usize> = text
        .match_indices(".visible .entry ")
        .map(|(at, _)| at)
        .collect();
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    starts
        .iter()
        .zip(ends)
        .map(|(&start, end)| {
            let text_of_entry = &text[start..end];
            let name = text_of_entry[".visible .entry ".len()..]
                .split('(')
                .next()
                .unwrap();
            Entry {
                name: name.trim(),
                head: &text[..starts[0]],
                text: text_of_entry,
            }
        })
        .collect()
}

impl Entry<'_> {
    /// The module with the statements that begin with `from` replaced one at a time.
    fn each(&self, from: &str, to: impl Fn(&str) -> Option<String>) -> Vec<String> {
        self.text
            .match_indices(from)
            .filter_map(|(at, _)| {
                let end = at + self.text[at..].find(';')?;
                let changed = to(&self.text[at..end])?;
                let (before, after) = (&self.text[..at], &self.text[end..]);
                Some(format!("{}{before}{changed}{after}", self.head))
            })
            .collect()
    }
}

/// What the executor says of the first launch that goes wrong; `None` if none does.
fn diagnosis(text: &str, target: Target, cases: &[&Case]) -> Option<String> {
    cases.iter().find_map(|case| {
        let ptx = Ptx {
            text: text.to_owned(),
            ..ptx(target)
        };
        let mut device = VmDevice::with(case.info.clone(), ptx).unwrap();
        let mut bench = Bench::new(&mut device, case.problem.clone()).unwrap();
        bench.fill(Data::Random).unwrap();
        let error = bench.run().err().map(|error| error.to_string());
        device.release_all();
        error
    })
}

/// Breaks every statement that begins with `from` in every kernel; returns how many there were.
fn break_each(from: &str, to: impl Fn(&str) -> Option<String>, expected: &[&str]) -> usize {
    let mut broken = 0;
    for target in Target::ALL {
        let all = cases(target);
        let module = ptx(target);
        for entry in entries(&module.text) {
            let texts = entry.each(from, &to);
            let cases: Vec<&Case> = all
                .iter()
                .filter(|case| case.launch().entry == entry.name)
                .collect();
            for (index, text) in texts.iter().enumerate() {
                let place = format!("`{from}` {index} of {} ({})", entry.name, target.name());
                let found = diagnosis(text, target, &cases)
                    .unwrap_or_else(|| panic!("{place}: nobody notices"));
                assert!(
                    expected.iter().any(|part| found.contains(part)),
                    "{place}: {found}"
                );
                for part in [entry.name, "PTX line", "block (", "thread ("] {
                    assert!(found.contains(part), "{place}: no `{part}` in {found}");
                }
                broken += 1;
            }
        }
    }
    broken
}

#[test]
fn a_barrier_that_is_missing_is_noticed() {
    let found = break_each(
        "bar.sync",
        |_| Some("membar.cta".to_owned()),
        &[
            "data race in shared memory",
            "asynchronous copy not waited for",
        ],
    );
    assert!(found >= 4, "{found} barriers in all");
}

#[test]
fn a_bound_that_is_off_by_one_is_noticed() {
    // The guard of the lecture's loops: i < n becomes i <= n.
    let module = ptx(Target::Sm80);
    let mut broken = 0;
    for entry in entries(&module.text) {
        if !["copy_scalar", "saxpy_scalar", "triad_scalar"].contains(&entry.name) {
            continue;
        }
        let all = cases(Target::Sm80);
        let cases: Vec<&Case> = all
            .iter()
            .filter(|case| case.launch().entry == entry.name)
            .collect();
        for (strict, loose) in [
            ("setp.lt.u64", "setp.le.u64"),
            ("setp.ge.u64", "setp.gt.u64"),
        ] {
            let change = |text: &str| Some(text.replacen(strict, loose, 1));
            for text in entry.each(strict, change) {
                let found = diagnosis(&text, Target::Sm80, &cases).expect(entry.name);
                assert!(found.contains("access out of bounds"), "{found}");
                assert!(found.contains("of `operand"), "{found}");
                broken += 1;
            }
        }
    }
    assert!(broken >= 3, "{broken} bounds");
}
