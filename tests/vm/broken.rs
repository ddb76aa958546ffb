//! Shipped kernels with one line broken: each must be caught, with the right diagnosis.
//!
//! | module | what it is for |
//! |---|---|
//! | `tensor` | what only the kernels on `wgmma` have |

mod tensor;

use super::cases::{Case, plain, shared_out};
use super::ptx;
use rooftrace::device::Device;
use rooftrace::device::cuda::Ptx;
use rooftrace::device::vm::{Target, VmDevice};
use rooftrace::kernels::{Bench, Data};
use std::collections::BTreeMap;

/// The most stages that a shipped pipeline has: what is missed only in one of them is found.
const STAGES: u32 = 4;

/// One entry of a module, alone: modules of thousands of lines are parsed again and again here.
pub struct Entry<'a> {
    pub name: &'a str,
    /// What stands before the first entry: version, target, shared memory, functions.
    head: &'a str,
    pub text: &'a str,
}

pub fn entries(text: &str) -> Vec<Entry<'_>> {
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
    /// The module with the statements that begin with `from` replaced one at a time; `beside` are
    /// the entries that it is launched with.
    fn each(&self, from: &str, to: impl Fn(&str) -> Option<String>, beside: &str) -> Vec<String> {
        self.text
            .match_indices(from)
            .filter(|(at, _)| self.text[..*at].ends_with([' ', '\t', '\n']))
            .filter_map(|(at, _)| {
                let end = at + self.text[at..].find(';')?;
                let changed = to(&self.text[at..end])?;
                let (before, after) = (&self.text[..at], &self.text[end..]);
                Some(format!("{}{before}{changed}{after}{beside}", self.head))
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
        let mut bench = Bench::at(&mut device, case.problem.clone(), case.offset).unwrap();
        bench.fill(Data::Random).unwrap();
        let error = bench.run().err().map(|error| error.to_string());
        device.release_all();
        error
    })
}

/// Statements of kernels without which nothing goes wrong on the VM.
pub struct Excuse {
    pub entries: &'static [&'static str],
    /// How many of them each of the entries has.
    pub statements: usize,
    /// Why that is so: for whoever reads the test.
    pub _reason: &'static str,
}

/// Breaks every statement that begins with `from` in the kernels whose names begin with `kernels`,
/// each of which must be noticed
/// unless it is excused; returns how many there were.
pub fn break_each(
    kernels: &str,
    from: &str,
    to: impl Fn(&str) -> Option<String>,
    expected: &[&str],
    excuses: &[Excuse],
) -> usize {
    let mut broken = 0;
    let mut unnoticed: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for target in Target::ALL {
        let all = [plain(target), shared_out(target, STAGES)].concat();
        let all: Vec<_> = all.iter().map(|case| (case, case.entries())).collect();
        let module = ptx(target);
        let entries = entries(&module.text);
        let of_kernels = |entry: &&Entry<'_>| entry.name.starts_with(kernels);
        for entry in entries.iter().filter(of_kernels) {
            let launching = all.iter().filter(|(_, names)| names.contains(entry.name));
            let (cases, names): (Vec<&Case>, Vec<_>) =
                launching.map(|(case, names)| (*case, names)).unzip();
            let with = |other: &&Entry<'_>| {
                other.name != entry.name && names.iter().any(|names| names.contains(other.name))
            };
            let beside: String = entries
                .iter()
                .filter(with)
                .map(|entry| entry.text)
                .collect();
            let texts = entry.each(from, &to, &beside);
            for (index, text) in texts.iter().enumerate() {
                let place = format!("`{from}` {index} of {} ({})", entry.name, target.name());
                broken += 1;
                let Some(found) = diagnosis(text, target, &cases) else {
                    let places = unnoticed.entry(entry.name.to_owned()).or_default();
                    places.push(place);
                    continue;
                };
                assert!(
                    expected.iter().any(|part| found.contains(part)),
                    "{place}: {found}"
                );
                for part in [entry.name, "PTX line", "block (", "thread ("] {
                    assert!(found.contains(part), "{place}: no `{part}` in {found}");
                }
            }
        }
    }
    for entry in excuses.iter().flat_map(|excuse| excuse.entries) {
        let of_entry = |excuse: &&Excuse| excuse.entries.contains(entry);
        let excused = excuses.iter().filter(of_entry);
        let excused: usize = excused.map(|excuse| excuse.statements).sum();
        let places = unnoticed.remove(*entry).unwrap_or_default();
        // One that is noticed by now needs no excuse any more.
        assert_eq!(places.len(), excused, "{entry}: {places:?}");
        unnoticed.insert((*entry).to_owned(), places);
    }
    unnoticed.retain(|name, _| {
        let mut excused = excuses.iter().flat_map(|excuse| excuse.entries);
        !excused.any(|entry| entry == name)
    });
    assert_eq!(unnoticed, BTreeMap::new());
    broken
}

#[test]
fn a_barrier_that_is_missing_is_noticed() {
    for (barrier, least, excuses) in [
        ("bar.sync", 4, tensor::BARRIERS),
        ("bar.warp.sync", 6, tensor::WARP_BARRIERS),
    ] {
        let found = break_each(
            "",
            barrier,
            |_| Some("membar.cta".to_owned()),
            &[
                "data race in shared memory",
                "asynchronous copy not waited for",
                // Used by those who came first.
                "no mbarrier was initialised here",
            ],
            excuses,
        );
        assert!(found >= least, "{found} of {barrier} in all");
    }
}

#[test]
fn a_wait_for_one_group_too_few_is_noticed() {
    let found = break_each(
        "",
        "cp.async.wait_group",
        |text| {
            let groups: u32 = text.rsplit(' ').next()?.parse().ok()?;
            // The waits for everything drain the pipeline at its end, after its last load.
            (groups > 0).then(|| format!("cp.async.wait_group {}", groups + 1))
        },
        &[
            "asynchronous copy not waited for",
            "data race in shared memory",
            "read of uninitialised memory",
        ],
        &[],
    );
    assert!(found >= 16, "{found} waits in all");
}

#[test]
fn a_bound_that_is_off_by_one_is_noticed() {
    // The guard in front of the lecture's loops: i < n becomes i <= n.
    let all = plain(Target::Sm80);
    let module = ptx(Target::Sm80);
    for name in ["copy_scalar", "saxpy_scalar", "triad_scalar"] {
        let entries = entries(&module.text);
        let entry = entries.iter().find(|entry| entry.name == name).unwrap();
        let cases: Vec<&Case> = all
            .iter()
            .filter(|case| case.launch().entry == name)
            .collect();
        let loosened = entry.each(
            "setp.",
            |text| {
                let loose = text.replace("setp.ge.u64", "setp.gt.u64");
                let loose = loose.replace("setp.lt.u64", "setp.le.u64");
                (loose != text).then_some(loose)
            },
            "",
        );
        let found = diagnosis(&loosened[0], Target::Sm80, &cases).expect(name);
        assert!(found.contains("access out of bounds"), "{found}");
        assert!(found.contains("of `operand"), "{found}");
    }
}
