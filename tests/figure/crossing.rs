//! Rows as a crossover's sweep of an H200 would write them, of a kernel whose asymptotes are known:
//! what it reaches of the measured roofs far left and far right is what the fit has to find.

use rooftrace::record::{Cache, Row, Status};
use rooftrace::roofline::{Roofline, Work};

/// What the run's stream and peak kernels measured.
pub const MEASURED: Roofline = Roofline {
    peak_flop_per_s: 66.4e12,
    peak_byte_per_s: 4.39e12,
};

/// Bytes from which a batch fills the card.
const FULL: u64 = 2 << 30;

/// A kernel on the card.
#[derive(Clone, Copy)]
pub struct Kernel {
    pub name: &'static str,
    pub pipe: &'static str,
    /// The pipe's measured roof, FLOP/s.
    pub peak_flop_per_s: f64,
    /// What it reaches of the memory's roof far left.
    pub memory: f64,
    /// What it reaches of the pipe's roof far right.
    pub compute: f64,
    /// Greatest relative deviation of a time.
    pub noise: f64,
}

/// A good fp32 SGEMM.
pub const SGEMM: Kernel = Kernel {
    name: "sgemm",
    pipe: "fp32",
    peak_flop_per_s: MEASURED.peak_flop_per_s,
    memory: 0.92,
    compute: 0.88,
    noise: 0.02,
};

/// fp32 operands on the BF16 tensor cores.
pub const MIXED: Kernel = Kernel {
    name: "gemm-mixed",
    pipe: "bf16",
    peak_flop_per_s: 800e12,
    ..SGEMM
};

impl Kernel {
    /// One launch.
    pub fn row(&self, n: u64, batch: u64) -> Row {
        let work = Work {
            flops: 2 * n * n * n * batch,
            bytes: 16 * n * n * batch,
        };
        let memory = work.bytes as f64 / (self.memory * MEASURED.peak_byte_per_s);
        let compute = work.flops as f64 / (self.compute * self.peak_flop_per_s);
        // A knee that is fairly sharp, and for a single problem the time of an empty launch and
        // of too few tiles for 132 multiprocessors.
        let filled = (memory.powi(6) + compute.powi(6)).powf(1.0 / 6.0);
        let tiles = (n.div_ceil(128) * n.div_ceil(128) * batch) as f64;
        let seconds = if batch == 1 {
            4e-6 + filled * (132.0 / tiles).max(1.0)
        } else {
            filled
        };
        // Some deviation, the same at every run of the tests.
        let swing = (12.9898 * n as f64 + 78.233 * batch as f64).sin();
        let seconds = seconds * (1.0 + self.noise * swing);
        Row {
            run_id: "5e01a2b3".to_owned(),
            timestamp_utc: "2026-01-31T12:00:00Z".to_owned(),
            device: "NVIDIA H200".to_owned(),
            device_index: Some(0),
            compute_capability: Some("9.0".to_owned()),
            rooftrace_version: "0.1.0".to_owned(),
            kernel: self.name.to_owned(),
            variant: "auto".to_owned(),
            pipe: Some(self.pipe.to_owned()),
            storage: Some("f32".to_owned()),
            out_type: Some("f32".to_owned()),
            beta: Some(1.0),
            m: Some(n),
            n,
            k: Some(n),
            batch,
            flops: Some(work.flops),
            bytes: Some(work.bytes),
            intensity_flop_per_byte: Some(work.intensity()),
            cache: Cache::Cold,
            samples: Some(60),
            launches_per_sample: Some(1),
            time_median_s: Some(seconds),
            converged: Some(true),
            throttle: Some("none".to_owned()),
            flop_per_s: Some(work.flops as f64 / seconds),
            byte_per_s: Some(work.bytes as f64 / seconds),
            measured_peak_flop_per_s: Some(self.peak_flop_per_s),
            measured_peak_byte_per_s: Some(MEASURED.peak_byte_per_s),
            verified: Some(true),
            status: Status::Ok,
            ..Row::default()
        }
    }

    /// Both traces: single problems, then batches that fill the card.
    pub fn rows(&self) -> Vec<Row> {
        let predicted = 8.0 * self.peak_flop_per_s / MEASURED.peak_byte_per_s;
        let sides = rooftrace::crossover::sizes::sizes(Some(predicted), 4);
        let single = sides.iter().map(|&n| self.row(n, 1));
        let batched = sides
            .iter()
            .map(|&n| self.row(n, FULL.div_ceil(16 * n * n)))
            .filter(|row| row.batch > 1);
        single.chain(batched).collect()
    }
}
