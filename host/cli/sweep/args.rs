//! The raw arguments of `sweep`.

use super::form::Batch;
use super::pipe::Pipes;
use crate::device::DeviceChoice;
use crate::kernels::{KernelId, Variant, intensity};
use crate::record::Format;
use clap::ValueEnum;
use std::path::PathBuf;

/// Arguments of `sweep`.
#[derive(Debug, Clone, clap::Args)]
#[command(
    about = "Measure kernels over problem sizes, verify each result, write rows",
    long_about = "Measures kernels over problem sizes. Every result is verified on the device's \
                  real output before it is timed. A table goes to stdout; the rows, with all \
                  columns, go to a CSV file.",
    after_help = after_help(),
    after_long_help = after_help() + &variants_help()
)]
pub struct SweepArgs {
    /// Kernels, separated by spaces or commas: copy, saxpy, triad, fma, mix, sgemm, gemm-bf16,
    /// gemm-tf32, gemm-mixed; or `all` that the device runs
    #[arg(required = true, value_name = "KERNEL")]
    pub kernels: Vec<String>,

    /// Problem sizes instead of the kernel's own: `N`, `A..B` (doubling), `A..B:xF`, `A..B:+S`,
    /// with suffixes k M G Ki Mi Gi; `MxNxK` for matrix products, `N@I` for mix at I FLOP/byte; several
    /// separated by commas
    #[arg(short, long, value_name = "SIZES", allow_hyphen_values = true)]
    pub sizes: Option<String>,

    /// Arithmetic intensities of mix in FLOP/byte, multiples of 1/4 from 0 to 256: `I`, `A..B`
    /// (doubling), `A..B:xF`, `A..B:+S`; several separated by commas
    #[arg(long, value_name = "RANGE", allow_hyphen_values = true)]
    pub intensity: Option<String>,

    /// A variant of the kernel (listed at the end of --help), or `all`; without it the fastest
    #[arg(long, value_name = "V")]
    pub variant: Option<String>,

    /// auto (the first GPU, or the CPU if there is none), cpu, cuda or cuda:I
    #[arg(short, long, value_name = "DEVICE", default_value = "auto")]
    pub device: DeviceChoice,

    /// Independent matrix products a launch: a number, or `auto` for enough to fill the device and
    /// outgrow its caches (2 GiB of operands and 16 times the last-level cache) [default: 1]
    #[arg(long, value_name = "N|auto")]
    pub batch: Option<Batch>,

    /// Factor of C in C = A @ B + beta C: 1 reads C, 0 does not; the kernel's own without it
    #[arg(long, value_enum, value_name = "BETA")]
    pub beta: Option<BetaArg>,

    /// What C is stored as; the kernel's own without it
    #[arg(long, value_enum, value_name = "TYPE")]
    pub out_type: Option<OutTypeArg>,

    /// What does the arithmetic of fma: fp32, fp64, fp64-tensor, tf32, bf16, fp16, fp8, int8; several
    /// separated by commas, or `all` that the device has [default: the kernel's own]
    #[arg(long, value_name = "PIPE")]
    pub pipe: Option<Pipes>,

    /// State of the last-level cache when a launch starts
    #[arg(long, value_enum, default_value = "cold", value_name = "STATE")]
    pub cache: CacheArg,

    /// File for the rows, or `-` for stdout instead of the table;
    /// without it `results/local/KERNEL-DEVICE-TIME.csv`
    #[arg(short, long, value_name = "PATH")]
    pub out: Option<PathBuf>,

    /// csv, json or jsonl; without it what the name of the file ends with, or csv
    #[arg(short, long, value_name = "FORMAT")]
    pub format: Option<Format>,

    /// Continue the file: measure only the points that it lacks
    #[arg(long, requires = "out", conflicts_with = "force")]
    pub resume: bool,

    /// Replace the file if it exists
    #[arg(long, requires = "out")]
    pub force: bool,

    /// Library that each kernel is compared with, on the same operands, launch by launch in turn
    #[arg(long, value_enum, default_value = "none", value_name = "LIBRARY")]
    pub baseline: BaselineArg,

    /// Seed of the operands: the same seed gives the same data
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub seed: u64,

    /// Distribution of the operands that are timed
    #[arg(long, value_enum, default_value = "random", value_name = "KIND")]
    pub data: DataArg,

    /// Shortest sampling of a point, in seconds [default: 0.5]
    #[arg(long, value_name = "S")]
    pub min_time: Option<f64>,

    /// Longest sampling of a point, in seconds [default: 3 on a GPU, 1 on a CPU]
    #[arg(long, value_name = "S")]
    pub max_time: Option<f64>,

    /// Half-width of the median's 95 % interval, over the median, that ends sampling
    /// [default: 0.005]
    #[arg(long, value_name = "F")]
    pub noise: Option<f64>,

    /// Then keep each point under load for S seconds and give its steady state, the second half,
    /// a row of its own
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    pub sustained: Option<f64>,

    /// A first look: few sizes, short sampling (2 % noise)
    #[arg(long)]
    pub quick: bool,

    /// TOML file with GPUs to add to the built-in database
    #[arg(long, value_name = "FILE")]
    pub spec: Option<PathBuf>,

    /// PTX to load instead of the embedded one (GPU only)
    #[arg(long, value_name = "FILE")]
    pub ptx: Option<PathBuf>,
}

/// `--beta`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum BetaArg {
    /// C = A @ B.
    #[value(name = "0")]
    Zero,
    /// C = A @ B + C.
    #[value(name = "1")]
    One,
}

/// `--out-type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OutTypeArg {
    /// IEEE binary32.
    F32,
    /// bfloat16.
    Bf16,
}

/// `--cache`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CacheArg {
    /// Swept before every launch: operands come from memory.
    Cold,
    /// As the previous launch left it.
    Warm,
    /// Each point both ways.
    Both,
}

/// `--baseline`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum BaselineArg {
    /// None.
    None,
    /// cuBLAS for matrix products and saxpy, the driver's copy for copy (GPU only).
    Cublas,
}

/// `--data`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DataArg {
    /// Uniform in [-1, 1).
    Random,
    /// The integers -2 to 2.
    Integers,
    /// Zeros: draws less power, so it can run faster than real data would.
    Zeros,
}

/// Variants, default sizes, examples.
fn after_help() -> String {
    use crate::device::DeviceKind::{Cpu, Cuda};
    let mut text =
        String::from("Kernels, their variants (the last is the default) and default sizes:\n");
    for id in KernelId::ALL {
        let kernel = id.kernel();
        text.push_str(&format!("  {:6} {}\n", id.name(), kernel.summary()));
        for (device, name) in [(Cuda, "GPU"), (Cpu, "CPU")] {
            if kernel.variants(device).is_empty() {
                continue;
            }
            text.push_str(&format!(
                "         {name}: {}; sizes {}\n",
                names(kernel.variants(device)),
                kernel.default_sizes(device)
            ));
        }
    }
    text.push_str(&format!(
        "N is the number of elements of an array for copy, saxpy, triad and mix, the steps of every \
         chain for fma, the side of the matrices for matrix products. On a GPU gemm-bf16 --variant mma runs on \
         compute capability 8.0 and later; its other variants, \
         sgemm --variant transposed, gemm-tf32 and gemm-mixed need 9.0. mix runs at the intensities {}. \
         ilpCwW of fma has C chains a thread and W warps a scheduler, each 1, 2, 4, 8 or 16: with \
         --variant all the cycles of an FMA follow as a table.\n\n\
         Examples:\n  rooftrace sweep sgemm\n  \
         rooftrace sweep sgemm --sizes 1024..8192,2360,4096x64x4096 --variant all --out sgemm.csv\n  \
         rooftrace sweep mix --intensity 0,0.25..256:x2 --out mix.csv\n  \
         rooftrace sweep fma --variant all --sizes 4Ki,64Ki\n  \
         rooftrace sweep gemm-bf16 --beta 0 --batch auto --sizes 64..1024 --baseline cublas\n  \
         rooftrace sweep copy,triad --sizes 64Mi,256Mi --cache both --format jsonl --out -",
        intensity::DEFAULT
    ));
    text
}

/// Every variant on a GPU in a line, but those of kernels that have too many.
fn variants_help() -> String {
    let mut text = String::from("\n\nVariants on a GPU:\n");
    for id in KernelId::ALL {
        let variants = id.kernel().variants(crate::device::DeviceKind::Cuda);
        if variants.len() > MANY {
            continue;
        }
        text.push_str(&format!("  {}\n", id.name()));
        for variant in variants {
            text.push_str(&format!("    {:12} {}\n", variant.name, variant.summary));
        }
    }
    text
}

/// Variants that are listed one by one.
const MANY: usize = 10;

/// The names of a kernel's variants; of many the first, the last of the same kind, and the default.
fn names(variants: &[Variant]) -> String {
    let names: Vec<&str> = variants.iter().map(|variant| variant.name).collect();
    match names.as_slice() {
        [first, between @ .., last, default] if names.len() > MANY => format!(
            "{first} to {last} ({} variants), {default}",
            between.len() + 2
        ),
        all => all.join(", "),
    }
}
