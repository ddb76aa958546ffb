//! Measures executed thread-instructions per second on one core and on all, with every check
//! and without any: `cargo run --release -p ptx-vm --example throughput`.
//!
//! Three built-in kernels run: a chain of fused multiply-adds, a triad over
//! global memory, and a product of two matrices through shared memory.

use std::time::Instant;

use ptx_vm::{Arg, Checks, Launch, Machine, Memory, Module, Options, Report};

const KERNELS: &str = include_str!("throughput.ptx");

/// A launch with its operands already in memory.
struct Case {
    name: &'static str,
    memory: Memory,
    launch: Launch,
}

fn cases() -> Vec<Case> {
    let n = 1u32 << 20;
    let ones = vec![1f32; n as usize];
    let mut fma = Memory::new();
    let out = fma.alloc("out", 4 * 256 * 64);
    let mut triad = Memory::new();
    let [a, b, c] = ["a", "b", "c"].map(|name| triad.alloc_f32(name, &ones));
    let mut product = Memory::new();
    let side = 256u32;
    let [x, y, z] =
        ["x", "y", "z"].map(|name| product.alloc_f32(name, &ones[..(side * side) as usize]));
    let launch = |entry: &str, grid, block, args: Vec<Arg>| Launch {
        entry: entry.into(),
        grid,
        block,
        cluster: None,
        dependent: false,
        shared_bytes: 0,
        args,
    };
    vec![
        Case {
            name: "fma chain",
            memory: fma,
            launch: launch(
                "fma_chain",
                [64, 1, 1],
                [256, 1, 1],
                vec![out.into(), 512u32.into()],
            ),
        },
        Case {
            name: "triad",
            memory: triad,
            launch: launch(
                "triad",
                [n / 256, 1, 1],
                [256, 1, 1],
                vec![a.into(), b.into(), c.into(), 2f32.into()],
            ),
        },
        Case {
            name: "tiled product",
            memory: product,
            launch: launch(
                "product",
                [side / 16, side / 16, 1],
                [16, 16, 1],
                vec![x.into(), y.into(), z.into(), side.into()],
            ),
        },
    ]
}

#[allow(clippy::print_stdout)]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let module = Module::parse(KERNELS)?;
    println!(
        "{:<14} {:>7} {:>20} {:>14} {:>10}",
        "kernel", "checks", "cores", "instructions", "M/s"
    );
    for mut case in cases() {
        for (label, checks, traffic) in [("all", Checks::ALL, true), ("none", Checks::NONE, false)]
        {
            for sequential in [true, false] {
                let options = Options {
                    checks,
                    traffic,
                    sequential,
                    ..Options::default()
                };
                let start = Instant::now();
                let report: Report =
                    Machine::default().run(&module, &mut case.memory, &case.launch, &options)?;
                let rate = report.thread_instructions as f64 / start.elapsed().as_secs_f64();
                println!(
                    "{:<14} {:>7} {:>20} {:>14} {:>10.0}",
                    case.name,
                    label,
                    if sequential { "one" } else { "all" },
                    report.thread_instructions,
                    rate / 1e6
                );
            }
        }
    }
    Ok(())
}
