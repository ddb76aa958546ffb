//! What ptxas says of the embedded PTX.

use super::modules;
use gpu_kernels::params::Entry;
use rooftrace::device::cuda::Ptx;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Names ptxas where it is not on the path.
const PTXAS: &str = "ROOFTRACE_PTXAS";

/// Set where ptxas must be there, so that no check is skipped unseen.
pub const REQUIRED: &str = "ROOFTRACE_REQUIRE_PTXAS";

/// ptxas, or nothing if it is missing and may be: who asks is skipped then, and says so.
#[allow(clippy::print_stderr, reason = "a test that is skipped must be seen")]
pub fn assembler() -> Option<PathBuf> {
    let found = ptxas();
    if found.is_none() {
        assert!(
            std::env::var_os(REQUIRED).is_none(),
            "{REQUIRED} is set and there is no ptxas: install PyPI's nvidia-cuda-nvcc or set {PTXAS}"
        );
        eprintln!("SKIPPED: no ptxas; PyPI's nvidia-cuda-nvcc has it, or set {PTXAS}");
    }
    found
}

/// ptxas as named, on the path, or in a Python package of NVIDIA's.
fn ptxas() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os(PTXAS) {
        let named = PathBuf::from(named);
        assert!(named.is_file(), "{PTXAS}={} is no file", named.display());
        return Some(named);
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .map(|folder| folder.join("ptxas"))
        .chain(site_packages().into_iter().flat_map(|site| {
            ["nvidia/cu13/bin/ptxas", "nvidia/cuda_nvcc/bin/ptxas"].map(|file| site.join(file))
        }))
        .find(|file| file.is_file())
}

/// Where Python keeps its packages.
fn site_packages() -> Vec<PathBuf> {
    let script = "import site, sysconfig; print(sysconfig.get_path('purelib')); \
                  print('\\n'.join(site.getsitepackages()))";
    let answer = Command::new("python3").args(["-c", script]).output();
    let text = answer.map(|output| output.stdout).unwrap_or_default();
    String::from_utf8_lossy(&text)
        .lines()
        .map(PathBuf::from)
        .collect()
}

/// Notes of ptxas that mean that products of a warpgroup wait for each other, or that registers are
/// not handed over as asked: each names what it is about, and none is counted as a warning.
const NOTES: [&str; 7] = [
    "C7504", "C7508", "C7509", "C7510", "C7511", "C7515", "C7517",
];

/// What ptxas says of one entry.
#[derive(Debug, Default)]
struct Compiled {
    registers: u32,
    stack: u32,
    spill_stores: u32,
    spill_loads: u32,
}

/// Compiles a module to machine code in `folder`: the file, and what ptxas said.
pub fn assemble(ptxas: &Path, target: &str, text: &str, folder: &Path) -> (PathBuf, String) {
    let [file, cubin] = ["kernels.ptx", "kernels.cubin"].map(|name| folder.join(name));
    std::fs::write(&file, text).unwrap();
    let output = Command::new(ptxas)
        .arg(format!("-arch={target}"))
        .arg("-v")
        .arg("-o")
        .arg(&cubin)
        .arg(&file)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    (cubin, said)
}

/// Compiles a module; the entries by name, and what ptxas said.
fn compile(ptxas: &Path, ptx: &Ptx) -> (BTreeMap<String, Compiled>, String) {
    let folder = tempfile::tempdir().unwrap();
    let (_, said) = assemble(ptxas, &ptx.target, &ptx.text, folder.path());

    let number_before = |line: &str, what: &str| -> Option<u32> {
        line[..line.find(what)?]
            .split_whitespace()
            .next_back()?
            .parse()
            .ok()
    };
    let mut entries = BTreeMap::new();
    let mut name = String::new();
    for line in said.lines() {
        if let Some((_, rest)) = line.split_once("Compiling entry function '") {
            name = rest.split('\'').next().unwrap().to_owned();
        }
        let entry: &mut Compiled = entries.entry(name.clone()).or_default();
        if let Some(bytes) = number_before(line, " bytes stack frame") {
            entry.stack = bytes;
            entry.spill_stores = number_before(line, " bytes spill stores").unwrap();
            entry.spill_loads = number_before(line, " bytes spill loads").unwrap();
        }
        if let Some(registers) = number_before(line, " registers") {
            entry.registers = registers;
        }
    }
    entries.remove("");
    (entries, said)
}

/// Registers of a thread that leave room for the blocks that the table asks for: 64 Ki registers
/// a multiprocessor, given out to warps in units of 256 (CUDA programming guide, technical
/// specifications of compute capability 8.0 and 9.0), and at most 255 a thread.
fn most_registers(entry: &Entry) -> u32 {
    let warps = entry.max_threads.iter().product::<u32>().div_ceil(32);
    let per_warp = 65_536 / (warps * entry.min_blocks_per_sm) / 256 * 256;
    (per_warp / 32).min(255)
}

#[test]
fn the_register_rule_is_the_programming_guides() {
    let entry = |threads, min_blocks_per_sm| Entry {
        name: "one",
        max_threads: [threads, 1, 1],
        min_blocks_per_sm,
        cluster: 1,
        fused: false,
        only: None,
    };
    assert_eq!(most_registers(&entry(256, 8)), 32);
    assert_eq!(most_registers(&entry(128, 16)), 32);
    assert_eq!(most_registers(&entry(1024, 1)), 64);
    assert_eq!(most_registers(&entry(128, 1)), 255);
    assert_eq!(most_registers(&entry(256, 3)), 80);
}

#[test]
fn ptxas_finds_no_spill_and_registers_to_spare() {
    let Some(ptxas) = assembler() else { return };
    for ptx in modules() {
        let (compiled, said) = compile(&ptxas, &ptx);
        let names: Vec<&str> = compiled.keys().map(String::as_str).collect();
        let expected: Vec<&str> = Entry::of(&ptx.target).map(|entry| entry.name).collect();
        assert_eq!(names, expected, "{said}");
        assert!(!said.contains("warning"), "{said}");
        for note in NOTES {
            let lines: Vec<&str> = said.lines().filter(|line| line.contains(note)).collect();
            assert_eq!(lines, [""; 0], "for {}", ptx.target);
        }
        for entry in Entry::of(&ptx.target) {
            let found = &compiled[entry.name];
            let place = format!("{} for {}: {found:?}", entry.name, ptx.target);
            assert_eq!((found.spill_stores, found.spill_loads), (0, 0), "{place}");
            assert_eq!(found.stack, 0, "{place}");
            assert!(found.registers > 0, "ptxas told no registers: {place}");
            let most = most_registers(entry);
            assert!(
                found.registers <= most,
                "more than {most} registers: {place}"
            );
        }
    }
}
