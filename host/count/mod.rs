//! Work counted from the PTX that runs, beside the work model.
//!
//! The roofline rests on two formulas a kernel: how many FLOPs it performs and how many bytes it
//! must move. Here the launch is executed instruction by instruction on the [VM](crate::device::vm)
//! and both are counted: every floating-point operation of every thread, and every byte of an
//! operand that is read or written at least once. What is executed beyond the model is shown
//! apart, and must be what the kernel says of itself ([`Kernel::surplus`]).
//!
//! [`Kernel::surplus`]: crate::kernels::Kernel::surplus

use crate::device::vm::{VmDevice, operand_name};
use crate::device::{Device, DeviceError, Result};
use crate::kernels::{Bench, Data, Problem, Surplus, bench};
use crate::roofline::work::Work;
use ptx_vm::{Footprint, Report};

/// How far counted FLOPs and bytes may lie from what is expected, as a part of the model. Compilers
/// differ in a handful of operations a thread before and after a kernel's loop; every shipped
/// kernel agrees exactly.
pub const TOLERANCE: f64 = 0.001;

/// A launch that was executed, beside its model.
#[derive(Debug, Clone, PartialEq)]
pub struct Counted {
    /// What ran.
    pub problem: Problem,
    /// Entry of the PTX.
    pub entry: String,
    /// The work model.
    pub model: Work,
    /// FLOPs beyond it that the kernel accounts for.
    pub surplus: Surplus,
    /// Everything that was counted.
    pub report: Report,
    /// Distinct bytes of operands: read at least once, and written at least once.
    pub operand_bytes: (u64, u64),
    /// Distinct bytes of other memory (partial sums of blocks), both directions together.
    pub scratch_bytes: u64,
}

/// Executes `problem` once on random data.
///
/// # Errors
/// The device's: a problem too large for it, a fault of the kernel with its diagnosis.
pub fn count(device: &mut VmDevice, problem: &Problem) -> Result<Counted> {
    let counted = count_on(device, problem);
    device.release_all();
    counted
}

fn count_on(device: &mut VmDevice, problem: &Problem) -> Result<Counted> {
    let kernel = problem.kernel.kernel();
    let unsupported =
        |error: crate::roofline::work::WorkError| DeviceError::Unsupported(error.to_string());
    let info = device.info().clone();
    let model = kernel.work(problem, &info).map_err(unsupported)?;
    let needed = bench::bytes_needed(problem, &info, true).map_err(unsupported)?;
    let free = device.free_bytes()?;
    if needed > free {
        return Err(DeviceError::OutOfMemory {
            device: info.name,
            needed,
            free,
        });
    }
    let mut bench = Bench::new(device, problem.clone())?;
    bench.fill(Data::Random)?;
    let operands = bench.operands().to_vec();
    let report = device.execute(problem, &operands, true)?;
    let (of_operands, of_others): (Vec<&Footprint>, Vec<&Footprint>) = report
        .footprints
        .iter()
        .partition(|footprint| (0..operands.len()).any(|i| footprint.name == operand_name(i)));
    let sum = |bytes: fn(&Footprint) -> u64| of_operands.iter().map(|f| bytes(f)).sum();
    Ok(Counted {
        problem: problem.clone(),
        entry: report.kernel.clone(),
        model,
        surplus: kernel.surplus(problem, &info),
        operand_bytes: (sum(|f| f.read_bytes), sum(|f| f.written_bytes)),
        scratch_bytes: of_others
            .iter()
            .map(|f| f.read_bytes + f.written_bytes)
            .sum(),
        report,
    })
}

impl Counted {
    /// FLOPs that were executed.
    pub fn flops(&self) -> u64 {
        self.report.flops.total()
    }

    /// Distinct bytes of the operands, read and written: the traffic that no cache can spare.
    pub fn unique_bytes(&self) -> u64 {
        self.operand_bytes.0 + self.operand_bytes.1
    }

    /// FLOPs beyond the model; negative if some of the model's were not executed.
    pub fn beyond_model(&self) -> i64 {
        self.flops() as i64 - self.model.flops as i64
    }

    /// FLOPs beyond the model that the kernel does not account for; negative if some that it
    /// accounts for were not executed.
    pub fn unexplained_flops(&self) -> i64 {
        let Surplus {
            padding,
            overhead,
            avoidable,
        } = self.surplus;
        let rest = self.beyond_model() - (padding + overhead) as i64;
        // What the compiler may leave explains as much as is there, and no more.
        rest - rest.clamp(0, avoidable as i64)
    }

    /// Executed FLOPs over unique bytes, FLOP/byte.
    pub fn intensity(&self) -> f64 {
        Work {
            flops: self.flops(),
            bytes: self.unique_bytes(),
        }
        .intensity()
    }

    /// 32-byte sectors that a warp's global load or store touches, on average; `None` without
    /// any. 4 is the least for 4 bytes a thread, 16 for 16.
    pub fn sectors_per_request(&self) -> Option<f64> {
        let global = &self.report.global;
        let requests = global.load_requests + global.store_requests;
        (requests > 0)
            .then(|| (global.load_sectors + global.store_sectors) as f64 / requests as f64)
    }

    /// Passes over the banks that conflicts cost, for each access of a warp to shared memory;
    /// `None` without any.
    pub fn conflicts_per_access(&self) -> Option<f64> {
        let shared = &self.report.shared;
        (shared.requests > 0).then(|| shared.conflicts() as f64 / shared.requests as f64)
    }

    /// Where count and model disagree by more than [`TOLERANCE`]; empty if they agree.
    pub fn disagreements(&self) -> Vec<String> {
        let mut found = Vec::new();
        let unexplained = self.unexplained_flops();
        if is_beyond(unexplained, self.model.flops) {
            found.push(format!(
                "FLOPs: {} executed, {} by the model, {} of padding and {} of overhead: {unexplained} \
                 unexplained",
                self.flops(),
                self.model.flops,
                self.surplus.padding,
                self.surplus.overhead,
            ));
        }
        let difference = self.unique_bytes() as i64 - self.model.bytes as i64;
        if is_beyond(difference, self.model.bytes) {
            found.push(format!(
                "bytes: {} distinct ones touched, {} by the model",
                self.unique_bytes(),
                self.model.bytes
            ));
        }
        found
    }
}

/// Whether a difference is more than the tolerated part of what was expected.
fn is_beyond(difference: i64, expected: u64) -> bool {
    difference.unsigned_abs() as f64 > TOLERANCE * expected as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::vm::Target;
    use crate::kernels::{Form, KernelId, Size};

    fn counted(kernel: KernelId, variant: &'static str, size: Size) -> Counted {
        let mut device = VmDevice::open(Target::Sm90a).unwrap();
        let problem = Problem {
            kernel,
            variant,
            size,
            form: Form::default(),
            seed: 1,
            data: Data::Random,
        };
        count(&mut device, &problem).unwrap()
    }

    fn matrix(m: u64, n: u64, k: u64) -> Size {
        Size::Matrix { m, n, k }
    }

    #[test]
    fn saxpy_has_an_intensity_of_one_sixth() {
        let saxpy = counted(KernelId::Saxpy, "vector", Size::Elements(5000));
        assert_eq!((saxpy.flops(), saxpy.unique_bytes()), (10_000, 60_000));
        assert_eq!(saxpy.intensity(), 1.0 / 6.0);
        assert_eq!(saxpy.disagreements(), [""; 0]);
    }

    #[test]
    fn padding_is_shown_apart_and_must_be_accounted_for() {
        let whole = counted(KernelId::Sgemm, "tiled", matrix(64, 64, 64));
        assert_eq!((whole.beyond_model(), whole.intensity()), (0, 8.0));
        let mut ragged = counted(KernelId::Sgemm, "tiled", matrix(33, 40, 5));
        assert_eq!(ragged.model.flops, 2 * 33 * 40 * 5);
        assert_eq!(ragged.flops(), 2 * 64 * 64 * 32);
        assert_eq!(ragged.disagreements(), [""; 0]);
        ragged.surplus = Surplus::default();
        let found = ragged.disagreements();
        assert!(
            found.len() == 1 && found[0].starts_with("FLOPs: 262144 executed, 13200"),
            "{found:?}"
        );
    }

    #[test]
    fn missing_work_and_missing_bytes_are_disagreements() {
        let mut copy = counted(KernelId::Copy, "scalar", Size::Elements(1000));
        assert_eq!((copy.flops(), copy.unique_bytes()), (0, 8000));
        copy.operand_bytes.1 -= 12;
        assert_eq!(
            copy.disagreements(),
            ["bytes: 7988 distinct ones touched, 8000 by the model"]
        );
        copy.operand_bytes.1 += 12;
        copy.model.flops = 1;
        assert_eq!(copy.disagreements().len(), 1);
        // What may be left out explains neither FLOPs that are missing nor more than it says.
        copy.surplus.avoidable = 5;
        assert_eq!(copy.unexplained_flops(), -1);
        copy.report.flops.f32 = 8;
        assert_eq!(copy.unexplained_flops(), 2);
        copy.report.flops.f32 = 4;
        assert_eq!(copy.unexplained_flops(), 0);
    }

    #[test]
    fn tolerance_is_a_part_of_the_model() {
        assert!(!is_beyond(1, 1000) && !is_beyond(-1, 1000) && !is_beyond(0, 0));
        assert!(is_beyond(2, 1000) && is_beyond(-2, 1000) && is_beyond(1, 0));
    }
}
