//! The row: one measured point, and the columns it is written under.

use serde::{Deserialize, Serialize};

use super::finite;

/// Version of the column list below. It changes whenever a column is added,
/// removed, renamed, or changes its meaning.
pub const SCHEMA_VERSION: u32 = 1;

/// Which roof a point lies under.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Bound {
    /// Limited by memory bandwidth: left of the ridge point.
    Memory,
    /// Limited by the arithmetic pipe: right of the ridge point.
    Compute,
    /// Far below both roofs: launch overhead or too little parallelism.
    Latency,
}

/// State of the last-level cache before each launch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cache {
    /// Swept before every launch.
    #[default]
    Cold,
    /// Left as the previous launch of the same kernel left it.
    Warm,
}

/// What became of a point of the plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Ran and was measured.
    Ok,
    /// Was not run; `reason` says why.
    #[default]
    Skipped,
    /// Ran into an error or gave a wrong result; `reason` says which.
    Failed,
}

/// How the input operands were filled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Data {
    /// Pseudo-random, uniform in [-1, 1), from `seed`.
    #[default]
    Random,
    /// Small integers in -2..=2, whose products and sums are exact in binary32.
    Integers,
    /// All zeros, which draws less power than random data on most devices.
    Zeros,
}

/// One measured point: the columns of schema version 1, in their order.
///
/// Quantities are in SI base units without prefixes. `None` means unknown or
/// not applicable, and is written as an empty CSV field or a JSON `null`,
/// never as 0. A non-finite number has no form that every format shares, so a
/// writer turns it into unknown; an empty string reads back from CSV as `None`.
///
/// [`Row::default`] knows nothing but the schema version and is `skipped`, so
/// that a point which is built up field by field can never pass for measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Version of the schema; [`SCHEMA_VERSION`] in every row this crate writes.
    pub schema_version: u32,
    /// Identifies the invocation; equal in all rows of one run.
    pub run_id: String,
    /// When the point was finished, RFC 3339 in UTC (`2026-01-31T12:00:00Z`).
    pub timestamp_utc: String,
    /// Name of the machine.
    pub host: Option<String>,
    /// Marketing name of the device, as its driver or operating system gives it.
    pub device: String,
    /// Ordinal of the device on its host, counted from 0.
    pub device_index: Option<u32>,
    /// CUDA compute capability, `major.minor`; unknown on a CPU.
    pub compute_capability: Option<String>,
    /// Version of the GPU driver.
    pub driver_version: Option<String>,
    /// Version of this program.
    pub rooftrace_version: String,
    /// Commit this program was built from, hexadecimal.
    pub git_commit: Option<String>,
    /// SHA-256 of the PTX that ran, lower-case hexadecimal; unknown on a CPU.
    pub ptx_sha256: Option<String>,
    /// Where that PTX came from (compiled, prebuilt, or a file).
    pub ptx_source: Option<String>,

    /// Name of the kernel, as on the command line.
    pub kernel: String,
    /// Name of its variant, resolved (never `auto` where a choice was made).
    pub variant: String,
    /// Arithmetic pipe the operations are issued to; unknown for a pure copy.
    pub pipe: Option<String>,
    /// Element type of the operands in memory.
    pub storage: Option<String>,
    /// Element type of the result in memory.
    pub out_type: Option<String>,
    /// Factor of C in C := alpha A B + beta C; unknown for other kernels.
    #[serde(with = "finite")]
    pub beta: Option<f64>,
    /// Rows of A and C; `None` for a vector kernel.
    pub m: Option<u64>,
    /// Columns of B and C; for a vector kernel its number of elements.
    pub n: u64,
    /// Columns of A and rows of B; for `mix` the fused multiply-adds of each element; `None` for
    /// any other vector kernel.
    pub k: Option<u64>,
    /// Independent problems of this size in one launch, at least 1.
    pub batch: u64,
    /// Floating-point operations of one launch, a fused multiply-add counting
    /// as two; for an integer `pipe`, integer operations. Exact.
    pub flops: Option<u64>,
    /// Compulsory traffic to memory of one launch, bytes. Exact.
    pub bytes: Option<u64>,
    /// Arithmetic intensity, `flops / bytes`, FLOP/byte.
    #[serde(with = "finite")]
    pub intensity_flop_per_byte: Option<f64>,
    /// How the inputs were filled.
    pub data: Data,
    /// Seed of the pseudo-random inputs.
    pub seed: u64,
    /// Blocks of the launch, `XxYxZ`.
    pub grid: Option<String>,
    /// Threads of a block, `XxYxZ`.
    pub block: Option<String>,
    /// Registers of a thread.
    pub registers: Option<u32>,
    /// Shared memory of a block, static and dynamic, bytes.
    pub shared_bytes: Option<u64>,
    /// Resident warps over the most that fit a multiprocessor, 0 to 1.
    #[serde(with = "finite")]
    pub occupancy: Option<f64>,

    /// State of the last-level cache before each launch.
    pub cache: Cache,
    /// Number of timed samples.
    pub samples: Option<u64>,
    /// Launches timed together in one sample; the times below are per launch.
    pub launches_per_sample: Option<u64>,
    /// Median time of a launch, s.
    #[serde(with = "finite")]
    pub time_median_s: Option<f64>,
    /// Shortest time of a launch, s.
    #[serde(with = "finite")]
    pub time_min_s: Option<f64>,
    /// First quartile of the time of a launch, s.
    #[serde(with = "finite")]
    pub time_q1_s: Option<f64>,
    /// Third quartile of the time of a launch, s.
    #[serde(with = "finite")]
    pub time_q3_s: Option<f64>,
    /// Lower end of the median's 95 % interval, s: that of the samples, and on a GPU below it by
    /// as much as another process may find less ([`Row::between_processes_s`]).
    #[serde(with = "finite")]
    pub time_ci95_low_s: Option<f64>,
    /// Upper end of the median's 95 % interval, s, likewise.
    #[serde(with = "finite")]
    pub time_ci95_high_s: Option<f64>,
    /// Half-width of the interval of the samples alone over the median, dimensionless: what the
    /// stopping rule looks at.
    #[serde(with = "finite")]
    pub time_rel_noise: Option<f64>,
    /// Whether the noise fell under its limit before the time ran out; of a
    /// measured point empty in the row of its steady state, which lasts a given
    /// time instead ([`Row::is_steady_state`]).
    pub converged: Option<bool>,
    /// Clock of the multiprocessors during the samples, Hz.
    #[serde(with = "finite")]
    pub sm_clock_hz: Option<f64>,
    /// Power drawn by the device, W.
    #[serde(with = "finite")]
    pub power_w: Option<f64>,
    /// Temperature of the device, degrees Celsius.
    #[serde(with = "finite")]
    pub temperature_c: Option<f64>,
    /// Reasons the driver gave for a reduced clock; unknown without a driver
    /// that tells.
    pub throttle: Option<String>,

    /// Achieved rate of operations, FLOP/s.
    #[serde(with = "finite")]
    pub flop_per_s: Option<f64>,
    /// Achieved rate of compulsory traffic, byte/s.
    #[serde(with = "finite")]
    pub byte_per_s: Option<f64>,
    /// Peak rate of the pipe by datasheet or device attributes, FLOP/s.
    #[serde(with = "finite")]
    pub peak_flop_per_s: Option<f64>,
    /// Peak memory bandwidth by datasheet or device attributes, byte/s.
    #[serde(with = "finite")]
    pub peak_byte_per_s: Option<f64>,
    /// Where the two peaks come from.
    pub peak_source: Option<String>,
    /// Highest rate of the pipe measured in this run, FLOP/s.
    #[serde(with = "finite")]
    pub measured_peak_flop_per_s: Option<f64>,
    /// Highest memory bandwidth measured in this run, byte/s.
    #[serde(with = "finite")]
    pub measured_peak_byte_per_s: Option<f64>,
    /// Ridge point, `peak_flop_per_s / peak_byte_per_s`, FLOP/byte.
    #[serde(with = "finite")]
    pub ridge_flop_per_byte: Option<f64>,
    /// Height of the roof at this intensity,
    /// `min(peak_flop_per_s, intensity * peak_byte_per_s)`, FLOP/s.
    #[serde(with = "finite")]
    pub roof_flop_per_s: Option<f64>,
    /// Achieved over roof, dimensionless and not clamped; without operations
    /// `byte_per_s / peak_byte_per_s`.
    #[serde(with = "finite")]
    pub fraction_of_roof: Option<f64>,
    /// Which roof limits the point.
    pub bound: Option<Bound>,

    /// Whether the result passed its check; unknown where none was made.
    pub verified: Option<bool>,
    /// Largest error the check found, in the units of `error_bound`.
    #[serde(with = "finite")]
    pub error: Option<f64>,
    /// Largest error the check lets pass.
    #[serde(with = "finite")]
    pub error_bound: Option<f64>,
    /// What became of the point.
    pub status: Status,
    /// Why the point was skipped or failed, or what a reader should know of it.
    pub reason: Option<String>,

    /// Name of the implementation compared with.
    pub baseline: Option<String>,
    /// Median time of a launch of the baseline, s.
    #[serde(with = "finite")]
    pub baseline_time_median_s: Option<f64>,
    /// `baseline_time_median_s / time_median_s`: above 1 the kernel is faster.
    #[serde(with = "finite")]
    pub speedup: Option<f64>,
}

impl Row {
    /// Whether this row is the steady state of a point that was kept under load
    /// (`--sustained`). Such a point has two rows: one measured by the stopping
    /// rule, which fills `converged`, and then this one, which does not.
    #[must_use]
    pub fn is_steady_state(&self) -> bool {
        self.status == Status::Ok && self.converged.is_none()
    }

    /// Names of the columns, in the order they are written.
    pub const COLUMNS: &[&str] = &[
        "schema_version",
        "run_id",
        "timestamp_utc",
        "host",
        "device",
        "device_index",
        "compute_capability",
        "driver_version",
        "rooftrace_version",
        "git_commit",
        "ptx_sha256",
        "ptx_source",
        "kernel",
        "variant",
        "pipe",
        "storage",
        "out_type",
        "beta",
        "m",
        "n",
        "k",
        "batch",
        "flops",
        "bytes",
        "intensity_flop_per_byte",
        "data",
        "seed",
        "grid",
        "block",
        "registers",
        "shared_bytes",
        "occupancy",
        "cache",
        "samples",
        "launches_per_sample",
        "time_median_s",
        "time_min_s",
        "time_q1_s",
        "time_q3_s",
        "time_ci95_low_s",
        "time_ci95_high_s",
        "time_rel_noise",
        "converged",
        "sm_clock_hz",
        "power_w",
        "temperature_c",
        "throttle",
        "flop_per_s",
        "byte_per_s",
        "peak_flop_per_s",
        "peak_byte_per_s",
        "peak_source",
        "measured_peak_flop_per_s",
        "measured_peak_byte_per_s",
        "ridge_flop_per_byte",
        "roof_flop_per_s",
        "fraction_of_roof",
        "bound",
        "verified",
        "error",
        "error_bound",
        "status",
        "reason",
        "baseline",
        "baseline_time_median_s",
        "speedup",
    ];
}

impl Default for Row {
    fn default() -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            run_id: String::new(),
            timestamp_utc: String::new(),
            host: None,
            device: String::new(),
            device_index: None,
            compute_capability: None,
            driver_version: None,
            rooftrace_version: String::new(),
            git_commit: None,
            ptx_sha256: None,
            ptx_source: None,
            kernel: String::new(),
            variant: String::new(),
            pipe: None,
            storage: None,
            out_type: None,
            beta: None,
            m: None,
            n: 0,
            k: None,
            batch: 1,
            flops: None,
            bytes: None,
            intensity_flop_per_byte: None,
            data: Data::default(),
            seed: 0,
            grid: None,
            block: None,
            registers: None,
            shared_bytes: None,
            occupancy: None,
            cache: Cache::default(),
            samples: None,
            launches_per_sample: None,
            time_median_s: None,
            time_min_s: None,
            time_q1_s: None,
            time_q3_s: None,
            time_ci95_low_s: None,
            time_ci95_high_s: None,
            time_rel_noise: None,
            converged: None,
            sm_clock_hz: None,
            power_w: None,
            temperature_c: None,
            throttle: None,
            flop_per_s: None,
            byte_per_s: None,
            peak_flop_per_s: None,
            peak_byte_per_s: None,
            peak_source: None,
            measured_peak_flop_per_s: None,
            measured_peak_byte_per_s: None,
            ridge_flop_per_byte: None,
            roof_flop_per_s: None,
            fraction_of_roof: None,
            bound: None,
            verified: None,
            error: None,
            error_bound: None,
            status: Status::default(),
            reason: None,
            baseline: None,
            baseline_time_median_s: None,
            speedup: None,
        }
    }
}
