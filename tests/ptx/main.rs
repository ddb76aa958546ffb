//! The embedded PTX as an artefact: what every build ships must hold, for both targets. Where
//! NVIDIA's assembler is at hand, what it makes of it as well.
//!
//! | module | what it is for |
//! |---|---|
//! | `ptxas` | registers, spills, notes of the assembler |
//! | `sass` | registers of products that are under way, in the machine code |

mod ptxas;
mod sass;

use gpu_kernels::params::Entry;
use rooftrace::device::cuda::Ptx;
use std::collections::BTreeMap;

/// Both embedded modules.
fn modules() -> Vec<Ptx> {
    let modules = Ptx::all_embedded();
    let mut targets: Vec<&str> = modules.iter().map(|ptx| ptx.target.as_str()).collect();
    targets.sort_unstable();
    assert_eq!(targets, ["sm_80", "sm_90a"]);
    modules
}

/// Lines without comments and blanks around them.
fn code(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .map(|line| line.split("//").next().unwrap_or(line).trim())
        .filter(|line| !line.is_empty())
}

/// An entry point: what stands before its body, and the body.
struct Kernel<'a> {
    head: Vec<&'a str>,
    body: Vec<&'a str>,
}

/// The entry points by name.
fn kernels(ptx: &Ptx) -> BTreeMap<&str, Kernel<'_>> {
    ptx.text
        .split(".visible .entry ")
        .skip(1)
        .map(|text| {
            let name = text[..text.find('(').unwrap()].trim();
            let (head, rest) = text.split_once("\n{").unwrap();
            let (body, _) = rest.split_once("\n}").unwrap();
            let kernel = Kernel {
                head: code(head).collect(),
                body: code(body).collect(),
            };
            (name, kernel)
        })
        .collect()
}

impl Kernel<'_> {
    /// The instructions between each label and each branch back to it.
    fn loops(&self) -> Vec<&[&str]> {
        let label = |line: &str| line.strip_suffix(':').map(str::to_owned);
        let target = |line: &str| {
            let (_, target) = line.split_once("bra")?;
            let target = target.trim_start_matches(".uni").trim();
            target.strip_suffix(';').map(str::to_owned)
        };
        let mut loops = Vec::new();
        for (start, line) in self.body.iter().enumerate() {
            let Some(label) = label(line) else { continue };
            let back = (start..self.body.len())
                .rev()
                .find(|&end| target(self.body[end]).as_ref() == Some(&label));
            loops.extend(back.map(|end| &self.body[start..=end]));
        }
        loops
    }

    fn count(&self, instruction: &str) -> usize {
        count(&self.body, instruction)
    }
}

/// How many of `lines` begin with `instruction`, whatever predicate they have.
fn count(lines: &[&str], instruction: &str) -> usize {
    lines
        .iter()
        .filter(|line| {
            let line = line
                .split_once(' ')
                .filter(|(first, _)| first.starts_with('@'));
            line.is_some_and(|(_, rest)| rest.starts_with(instruction))
        })
        .count()
        + lines
            .iter()
            .filter(|line| line.starts_with(instruction))
            .count()
}

#[test]
fn each_module_is_for_its_target_alone() {
    for ptx in modules() {
        let lines: Vec<&str> = code(&ptx.text).collect();
        let with = |directive: &str| -> Vec<&str> {
            let found = lines.iter().filter_map(|line| line.strip_prefix(directive));
            found.map(str::trim).collect()
        };
        assert_eq!(with(".target "), [ptx.target.as_str()]);
        assert_eq!(with(".address_size "), ["64"]);
        let version: f64 = with(".version ")[0].parse().unwrap();
        assert!(version >= 7.0, "PTX {version} is older than sm_80");
        assert_eq!(ptx.sha256().len(), 64);
    }
}

#[test]
fn the_entries_are_those_of_the_table_and_no_others() {
    for ptx in modules() {
        let found: Vec<&str> = kernels(&ptx).into_keys().collect();
        let expected: Vec<&str> = Entry::of(&ptx.target).map(|entry| entry.name).collect();
        // Both are in alphabetical order.
        assert_eq!(found, expected, "{}", ptx.target);
        assert_eq!(ptx.text.matches(".entry ").count(), expected.len());
    }
}

#[test]
fn nothing_is_left_to_be_linked_and_nothing_lives_in_local_memory() {
    for ptx in modules() {
        for line in code(&ptx.text) {
            assert!(!line.starts_with(".extern .func"), "{line}");
            assert!(!line.starts_with(".local"), "{line}");
            assert!(!line.starts_with("call"), "{line}");
        }
        // The one thing that is extern is the shared memory whose size comes with the launch.
        let externs: Vec<&str> = code(&ptx.text)
            .filter(|line| line.contains(".extern"))
            .collect();
        assert!(
            externs
                .iter()
                .all(|line| line.starts_with(".extern .shared")),
            "{externs:?}"
        );
    }
}

#[test]
fn launch_bounds_are_those_of_the_table() {
    for ptx in modules() {
        let kernels = kernels(&ptx);
        for entry in Entry::of(&ptx.target) {
            let head = &kernels[entry.name].head;
            let [x, y, z] = entry.max_threads;
            let bounds = |line: &&&str| line.starts_with('.') && !line.starts_with(".param");
            let found: Vec<&str> = head.iter().filter(bounds).copied().collect();
            let mut expected = vec![
                format!(".maxntid {x}, {y}, {z}"),
                format!(".minnctapersm {}", entry.min_blocks_per_sm),
            ];
            if entry.cluster > 1 {
                expected.push(format!(".reqnctapercluster {}, 1, 1", entry.cluster));
            }
            assert_eq!(found, expected, "{} of {}", entry.name, ptx.target);
        }
    }
}

#[test]
fn fused_entries_fuse_every_multiply_and_add_of_their_loops() {
    for ptx in modules() {
        let kernels = kernels(&ptx);
        for entry in Entry::of(&ptx.target).filter(|entry| entry.fused) {
            let kernel = &kernels[entry.name];
            assert!(kernel.count("fma.rn.f32") > 0, "{}", entry.name);
            // A loop around others also holds what is added between them (C, partial sums).
            let loops = kernel.loops();
            let inner = |lines: &&&[&str]| {
                let labels = lines.iter().filter(|line| line.ends_with(':')).count();
                labels == 1 && count(lines, "fma.rn.f32") > 0
            };
            for lines in loops.iter().filter(inner) {
                for instruction in ["mul.f32", "mul.rn.f32", "add.f32", "add.rn.f32"] {
                    assert_eq!(
                        count(lines, instruction),
                        0,
                        "{instruction} in a loop of {} of {}",
                        entry.name,
                        ptx.target
                    );
                }
            }
        }
    }
}

#[test]
fn the_compute_kernels_do_their_work_in_their_loops() {
    use gpu_kernels::params::{
        FMA_CHAINS, FMA_ILP_TURN, FMA_UNROLL, MIX_RING_VECTORS, MIX_UNROLL, MIX_VECTORS,
        TILED_TILE, VECTOR_ELEMENTS,
    };
    for ptx in modules() {
        let kernels = kernels(&ptx);
        let most = |name: &str, instruction: &str| {
            let loops = kernels[name].loops();
            loops
                .iter()
                .map(|lines| count(lines, instruction))
                .max()
                .unwrap_or(0)
        };
        // One turn of the loop is all chains, unrolled.
        assert_eq!(
            most("fma_chains", "fma.rn.f32") as u32,
            FMA_CHAINS * FMA_UNROLL
        );
        assert_eq!(most("fma_chains", "ld."), 0, "memory traffic in the loop");
        assert_eq!(most("fma_chains", "st."), 0, "memory traffic in the loop");
        for chains in [1, 2, 4, 8, 16] {
            let name = format!("fma_ilp_{chains}");
            assert_eq!(most(&name, "fma.rn.f32") as u32, FMA_ILP_TURN, "{name}");
        }
        // The inner loop of mix, then every binary digit of the rest once, then one element at a
        // time.
        for (name, vectors) in [("mix_vector", MIX_VECTORS), ("mix_ring", MIX_RING_VECTORS)] {
            let chains = vectors * VECTOR_ELEMENTS;
            let loops = kernels[name].loops();
            let turn = chains * MIX_UNROLL;
            let inner = loops
                .iter()
                .find(|lines| count(lines, "fma.rn.f32") as u32 == turn)
                .unwrap_or_else(|| panic!("{name}: no loop of {turn} FMAs"));
            let instructions = inner.iter().filter(|line| line.ends_with(';')).count();
            let others = instructions as u32 - turn;
            assert!(
                others * 100 < 3 * instructions as u32,
                "{name}: {others} other instructions in the loop"
            );
            let fmas = kernels[name].count("fma.rn.f32") as u32;
            assert!(fmas > chains * (2 * MIX_UNROLL - 1), "{name}: {fmas}");
        }
        assert!(most("sgemm_naive", "fma.rn.f32") > 0);
        // The k tile is unrolled: one multiply-add and two loads each.
        assert_eq!(most("sgemm_tiled", "fma.rn.f32") as u32, TILED_TILE);
        assert!(most("sgemm_tiled", "ld.shared.f32") as u32 >= TILED_TILE);
        // Shared memory is filled and drained behind a barrier each.
        assert_eq!(most("sgemm_tiled", "bar.sync"), 2);
        assert_eq!(
            kernels["sgemm_tiled"].count("bar.sync"),
            2,
            "a barrier was duplicated"
        );
    }
}

#[test]
fn the_peak_kernels_of_tensor_cores_do_nothing_but_multiply_in_their_loops() {
    for ptx in modules() {
        let kernels = kernels(&ptx);
        let mut found = 0;
        for (name, kernel) in &kernels {
            let product = match name {
                name if name.starts_with("fma_wgmma_") => "wgmma.mma_async.sync",
                name if name.starts_with("fma_mma_") => "mma.sync.aligned.m",
                _ => continue,
            };
            found += 1;
            let products =
                |lines: &[&str]| lines.iter().filter(|line| line.contains(product)).count();
            let loops = kernel.loops();
            let most = loops.iter().copied().max_by_key(|lines| products(lines));
            let lines = most.unwrap_or_else(|| panic!("{name} has no loop"));
            assert!(products(lines) >= 4, "{name}: {} products", products(lines));
            for other in ["ld.", "st.", "bar.", "cvt.", "add.f"] {
                assert_eq!(count(lines, other), 0, "{other} in the loop of {name}");
            }
        }
        assert_eq!(found, if ptx.target == "sm_90a" { 6 } else { 5 });
    }
}

#[test]
fn vector_kernels_move_16_bytes_at_a_time() {
    use gpu_kernels::params::{
        COPY_VECTORS, MIX_RING_STAGES, MIX_RING_VECTORS, MIX_VECTORS, SAXPY_VECTORS, TRIAD_VECTORS,
    };
    for ptx in modules() {
        let kernels = kernels(&ptx);
        // Loads through the read-only path, other loads, vectors in flight.
        for (name, constant, plain, vectors) in [
            ("copy_vector", 1, 0, COPY_VECTORS),
            ("saxpy_vector", 1, 1, SAXPY_VECTORS),
            ("triad_vector", 2, 0, TRIAD_VECTORS),
        ] {
            let kernel = &kernels[name];
            // The whole blocks and the ragged last one each have their own.
            let least = 2 * vectors as usize;
            assert!(
                kernel.count("ld.global.nc.v4.f32") >= constant * least,
                "{name}"
            );
            assert!(kernel.count("ld.global.v4.f32") >= plain * least, "{name}");
            assert!(kernel.count("st.global.v4.f32") >= least, "{name}");
        }
        // All of mix's loads come before its arithmetic; its ragged block has no vectors.
        let mix = &kernels["mix_vector"];
        for access in ["ld.global.nc.v4.f32", "st.global.v4.f32"] {
            assert_eq!(mix.count(access), MIX_VECTORS as usize, "{access}");
        }
        // Its ring is filled by copies before the loop and in it, and no thread waits for another.
        let ring = &kernels["mix_ring"];
        let copies = (MIX_RING_STAGES + 1) * MIX_RING_VECTORS;
        assert_eq!(ring.count("cp.async.cg.shared.global"), copies as usize);
        for access in ["ld.shared.v4.f32", "st.global.v4.f32"] {
            assert_eq!(ring.count(access), MIX_RING_VECTORS as usize, "{access}");
        }
        assert_eq!(ring.count("bar.sync"), 0);
        for entry in Entry::of(&ptx.target).filter(|entry| entry.name.ends_with("_scalar")) {
            assert_eq!(
                kernels[entry.name].count("ld.global.v4"),
                0,
                "{}",
                entry.name
            );
            assert!(kernels[entry.name].count("ld.global") > 0, "{}", entry.name);
            assert!(kernels[entry.name].count("st.global") > 0, "{}", entry.name);
        }
    }
}

#[test]
fn embedded_ptx_says_where_it_is_from() {
    for ptx in modules() {
        assert!(
            ["compiled", "prebuilt"].contains(&ptx.origin.as_str()),
            "{}",
            ptx.origin
        );
    }
    assert_ne!(modules()[0].sha256(), modules()[1].sha256());
}
