//! Counters while a launch runs, and their sum.

use super::{Class, Footprint, LineCount, Pipe, Report};
use crate::ir::{Inst, Op, Space};

/// Counters of one instruction.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PcCount {
    pub warps: u64,
    pub threads: u64,
    pub sectors: u64,
    pub wavefronts: u64,
    pub ideal_wavefronts: u64,
    /// Threads whose generic access went to global memory, and to shared memory.
    pub global_threads: u64,
    pub global_requests: u64,
    pub shared_threads: u64,
    pub shared_requests: u64,
    /// Bytes that asynchronous copies moved in global memory: fewer than their size where they
    /// fill with zeros.
    pub async_bytes: u64,
    /// Bytes that bulk copies moved in shared memory.
    pub bulk_bytes: u64,
}

/// Counters of all instructions of a kernel.
#[derive(Debug, Clone)]
pub(crate) struct Counts {
    pub pcs: Vec<PcCount>,
    pub blocks: u64,
}

impl Counts {
    pub fn new(code: usize) -> Self {
        Self {
            pcs: vec![PcCount::default(); code],
            blocks: 0,
        }
    }

    /// Adds another worker's counters.
    pub fn merge(mut self, other: &Self) -> Self {
        for (a, b) in self.pcs.iter_mut().zip(&other.pcs) {
            a.warps += b.warps;
            a.threads += b.threads;
            a.sectors += b.sectors;
            a.wavefronts += b.wavefronts;
            a.ideal_wavefronts += b.ideal_wavefronts;
            a.global_threads += b.global_threads;
            a.global_requests += b.global_requests;
            a.shared_threads += b.shared_threads;
            a.shared_requests += b.shared_requests;
            a.async_bytes += b.async_bytes;
            a.bulk_bytes += b.bulk_bytes;
        }
        self.blocks += other.blocks;
        self
    }

    /// Sums up; `footprints` are those of the touched allocations.
    pub fn report(
        &self,
        kernel: &str,
        code: &[Op],
        threads: u64,
        footprints: Vec<Footprint>,
    ) -> Report {
        let mut report = Report {
            kernel: kernel.to_string(),
            blocks: self.blocks,
            threads,
            ..Report::default()
        };
        let mut classes = std::collections::BTreeMap::<Class, u64>::new();
        for (op, count) in code.iter().zip(&self.pcs).filter(|(_, c)| c.warps > 0) {
            report.thread_instructions += count.threads;
            report.warp_instructions += count.warps;
            *classes.entry(op.class).or_default() += count.threads;
            flops(&mut report, op, count);
            traffic(&mut report, op, count);
            report.lines.push(LineCount {
                line: op.position.line,
                class: op.class,
                warps: count.warps,
                threads: count.threads,
                transactions: count.sectors + count.wavefronts,
            });
        }
        report.classes = classes.into_iter().collect();
        for f in &footprints {
            report.footprint.read_bytes += f.read_bytes;
            report.footprint.written_bytes += f.written_bytes;
            report.footprint.read_sectors += f.read_sectors;
            report.footprint.written_sectors += f.written_sectors;
        }
        report.footprints = footprints;
        report
    }
}

fn flops(report: &mut Report, op: &Op, count: &PcCount) {
    let flops = &mut report.flops;
    let operations = count.threads * u64::from(op.flops.operations);
    match op.flops.pipe {
        Some(Pipe::F16) => flops.f16 += operations,
        Some(Pipe::Bf16) => flops.bf16 += operations,
        Some(Pipe::F32) => flops.f32 += operations,
        Some(Pipe::F64) => flops.f64 += operations,
        Some(Pipe::TensorF16) => flops.tensor_f16 += operations,
        Some(Pipe::TensorBf16) => flops.tensor_bf16 += operations,
        Some(Pipe::TensorTf32) => flops.tensor_tf32 += operations,
        Some(Pipe::TensorFp8) => flops.tensor_fp8 += operations,
        Some(Pipe::TensorF64) => flops.tensor_f64 += operations,
        Some(Pipe::TensorInt8) => flops.tensor_int8 += operations,
        Some(Pipe::Integer) => flops.integer += operations,
        None => {}
    }
    flops.fused += if op.flops.fused { operations } else { 0 };
    flops.approximate += if op.flops.approximate {
        count.threads
    } else {
        0
    };
}

fn traffic(report: &mut Report, op: &Op, count: &PcCount) {
    let (global, shared) = (&mut report.global, &mut report.shared);
    let bytes = match &op.inst {
        Inst::Load(access) | Inst::Store(access) => {
            if matches!(access.space, Space::Param | Space::Local) {
                return;
            }
            u64::from(access.bytes) * access.regs.len() as u64
        }
        Inst::Atomic(atom) => u64::from(atom.ty.bytes()),
        Inst::AsyncCopy { bytes, .. } => u64::from(*bytes),
        Inst::Matrix { regs, .. } => 4 * regs.len() as u64,
        Inst::Bulk(bulk) if bulk.barrier.is_some() => {
            global.load_bytes += count.async_bytes;
            global.load_requests += count.global_requests;
            global.load_sectors += count.sectors;
            shared.store_bytes += count.bulk_bytes;
            return;
        }
        Inst::Bulk(_) => {
            global.store_bytes += count.async_bytes;
            global.store_requests += count.global_requests;
            global.store_sectors += count.sectors;
            shared.load_bytes += count.bulk_bytes;
            return;
        }
        _ => return,
    };
    let (global_bytes, shared_bytes) = (bytes * count.global_threads, bytes * count.shared_threads);
    shared.requests += count.shared_requests;
    shared.wavefronts += count.wavefronts;
    shared.ideal_wavefronts += count.ideal_wavefronts;
    match &op.inst {
        Inst::Matrix { store: true, .. } => shared.store_bytes += shared_bytes,
        Inst::Store(_) => {
            global.store_bytes += global_bytes;
            global.store_requests += count.global_requests;
            global.store_sectors += count.sectors;
            shared.store_bytes += shared_bytes;
        }
        Inst::Atomic(_) => {
            global.atomic_bytes += global_bytes;
            global.atomic_sectors += count.sectors;
            shared.load_bytes += shared_bytes;
            shared.store_bytes += shared_bytes;
        }
        Inst::AsyncCopy { .. } => {
            global.load_bytes += count.async_bytes;
            global.load_requests += count.global_requests;
            global.load_sectors += count.sectors;
            shared.store_bytes += shared_bytes;
        }
        _ => {
            global.load_bytes += global_bytes;
            global.load_requests += count.global_requests;
            global.load_sectors += count.sectors;
            shared.load_bytes += shared_bytes;
        }
    }
}
