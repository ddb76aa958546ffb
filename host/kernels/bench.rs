//! The operands of a problem on a device, between guard bands.

use super::{Data, Problem};
use crate::device::{Device, DeviceError, DeviceInfo, Element, Fill, Region, Result};
use crate::roofline::work::WorkError;

/// What a kernel does with an operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Only read.
    In,
    /// Only written: poisoned with NaN before a verified run.
    Out,
    /// Read and written: restored before a verified run.
    InOut,
}

/// An operand of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OperandSpec {
    /// Its name in the formula.
    pub name: &'static str,
    /// What the kernel does with it.
    pub role: Role,
    /// Number of its elements.
    pub elements: u64,
    /// What each is stored as.
    pub element: Element,
}

impl OperandSpec {
    /// Bytes of the guard band before it, and of the one behind.
    fn guard_bytes(&self) -> u64 {
        GUARD_ELEMENTS * self.element.bytes()
    }
}

/// Elements of the guard band on either side of an operand.
pub const GUARD_ELEMENTS: u64 = 1024;

/// What a guard band holds: a NaN that no kernel here produces, also as a bfloat16.
pub const GUARD_BITS: u32 = 0x7fed_c0de;

/// What a pure output holds before a verified run: another such NaN.
pub const POISON_BITS: u32 = 0x7fba_dbad;

/// The operands of a problem on a device.
pub struct Bench<'a> {
    /// The device.
    pub device: &'a mut dyn Device,
    /// The problem.
    pub problem: Problem,
    specs: Vec<OperandSpec>,
    operands: Vec<Region>,
}

/// Device memory that `problem` takes on operands that are aligned or not, guard bands and scratch memory
/// included, in bytes.
///
/// # Errors
/// A count that does not fit in 64 bits.
pub fn bytes_needed(
    problem: &Problem,
    info: &DeviceInfo,
    aligned: bool,
) -> std::result::Result<u64, WorkError> {
    let specs = problem.kernel.kernel().operands(problem, info)?;
    specs
        .iter()
        .try_fold(scratch(problem, info, aligned), |sum, spec| {
            spec.elements
                .checked_add(2 * GUARD_ELEMENTS)
                .and_then(|elements| elements.checked_mul(spec.element.bytes()))
                .and_then(|bytes| sum.checked_add(bytes))
                .ok_or_else(|| WorkError::Overflow {
                    kernel: problem.kernel.name(),
                    what: "bytes of the operands",
                    size: problem.size.to_string(),
                })
        })
}

/// Bytes of scratch memory that the launches of `problem` share; 0 for what is not launched.
fn scratch(problem: &Problem, info: &DeviceInfo, aligned: bool) -> u64 {
    if problem.is_baseline() {
        return 0;
    }
    let kernel = problem.kernel.kernel();
    let copies = kernel
        .preparation(problem, info, aligned)
        .unwrap_or_default();
    let launch = match aligned {
        true => kernel.launch(problem, info),
        false => kernel.launch_unaligned(problem, info),
    };
    let launches = copies.into_iter().chain(launch.ok());
    launches
        .map(|launch| launch.scratch_bytes)
        .max()
        .unwrap_or(0)
}

/// Bytes of a launch that are compulsory reads and writes: each operand once per direction in
/// which it is used. Their sum is the work model's count of bytes where that counts every
/// operand once.
///
/// # Errors
/// A count that does not fit in 64 bits.
pub fn bytes_moved(
    problem: &Problem,
    info: &DeviceInfo,
) -> std::result::Result<(u64, u64), WorkError> {
    let specs = problem.kernel.kernel().operands(problem, info)?;
    let moved = |roles: [Role; 2]| {
        specs
            .iter()
            .filter(|spec| roles.contains(&spec.role))
            .map(|spec| spec.elements * spec.element.bytes())
            .sum()
    };
    Ok((
        moved([Role::In, Role::InOut]),
        moved([Role::Out, Role::InOut]),
    ))
}

impl<'a> Bench<'a> {
    /// Allocates the operands of `problem` and writes the guard bands.
    ///
    /// # Errors
    /// The device's error; [`DeviceError::Unsupported`] for a size that does not fit in 64 bits.
    pub fn new(device: &'a mut dyn Device, problem: Problem) -> Result<Self> {
        Self::at(device, problem, 0)
    }

    /// As [`Bench::new`], with operands that start `offset` elements past an aligned address.
    ///
    /// # Errors
    /// As [`Bench::new`].
    pub fn at(device: &'a mut dyn Device, problem: Problem, offset: u64) -> Result<Self> {
        let specs = problem
            .kernel
            .kernel()
            .operands(&problem, device.info())
            .map_err(|error| DeviceError::Unsupported(error.to_string()))?;
        let mut operands = Vec::with_capacity(specs.len());
        for spec in &specs {
            let before = offset
                .checked_mul(spec.element.bytes())
                .and_then(|bytes| bytes.checked_add(spec.guard_bytes()));
            let bytes = before
                .and_then(|before| {
                    before.checked_add(spec.elements * spec.element.bytes() + spec.guard_bytes())
                })
                .ok_or_else(|| {
                    DeviceError::Unsupported(format!(
                        "an offset of {offset} elements is more than 64 bits address"
                    ))
                })?;
            let buffer = device.alloc(bytes)?;
            operands.push(Region {
                buffer,
                offset: bytes - spec.elements * spec.element.bytes() - spec.guard_bytes(),
                elements: spec.elements,
                element: spec.element,
            });
        }
        let bench = Bench {
            device,
            problem,
            specs,
            operands,
        };
        for operand in 0..bench.operands.len() {
            for guard in bench.guards(operand) {
                bench.device.fill(guard, Fill::Bits(GUARD_BITS))?;
            }
        }
        Ok(bench)
    }

    /// The operands, in the order of the kernel's.
    pub fn operands(&self) -> &[Region] {
        &self.operands
    }

    /// Fills every operand: inputs and in-out operands with `data`, pure outputs with poison.
    ///
    /// # Errors
    /// The device's error.
    pub fn fill(&mut self, data: Data) -> Result<()> {
        let fills = (0..self.specs.len()).map(|index| self.problem.fill(data, index));
        self.fill_each(&fills.collect::<Vec<_>>())
    }

    /// Fills every operand with a fill of its own, pure outputs with poison.
    ///
    /// # Errors
    /// The device's error.
    ///
    /// # Panics
    /// If there are not as many fills as operands: an error of the caller.
    pub fn fill_with<const N: usize>(&mut self, fills: [Fill; N]) -> Result<()> {
        assert_eq!(self.specs.len(), N, "a fill for every operand");
        self.fill_each(&fills)
    }

    /// Fills the operands with these, pure outputs with poison.
    fn fill_each(&mut self, fills: &[Fill]) -> Result<()> {
        for ((spec, region), fill) in self.specs.iter().zip(&self.operands).zip(fills) {
            let fill = match spec.role {
                Role::Out => Fill::Bits(POISON_BITS),
                Role::In | Role::InOut => *fill,
            };
            self.device.fill(*region, fill)?;
        }
        Ok(())
    }

    /// Runs the problem once.
    ///
    /// # Errors
    /// The device's error.
    pub fn run(&mut self) -> Result<()> {
        self.device.run(&self.problem, &self.operands)
    }

    /// Passes the elements of an operand to `check`, piece by piece: the index of the first
    /// element and the piece, which starts at a multiple of `unit` elements.
    ///
    /// Stops at the first piece for which `check` returns an error text, and returns it.
    ///
    /// # Errors
    /// The device's error.
    pub fn inspect(
        &mut self,
        operand: usize,
        unit: u64,
        mut check: impl FnMut(u64, &[f32]) -> std::result::Result<(), String>,
    ) -> Result<std::result::Result<(), String>> {
        /// Elements of a piece: 64 MiB, enough to keep a transfer and all cores busy.
        const PIECE: u64 = 16 << 20;
        let region = self.operands[operand];
        let piece = (PIECE / unit.max(1)).max(1) * unit.max(1);
        let mut host = vec![0f32; piece.min(region.elements) as usize];
        let mut first = 0;
        while first < region.elements {
            let count = piece.min(region.elements - first);
            let part = &mut host[..count as usize];
            self.device.read(region.slice(first, count), part)?;
            if let Err(reason) = check(first, part) {
                return Ok(Err(reason));
            }
            first += count;
        }
        Ok(Ok(()))
    }

    /// Checks that no guard band was written; returns which operand was overrun.
    ///
    /// # Errors
    /// The device's error.
    pub fn check_guards(&mut self) -> Result<std::result::Result<(), String>> {
        let mut host = vec![0f32; GUARD_ELEMENTS as usize];
        for operand in 0..self.operands.len() {
            for (guard, side) in self.guards(operand).into_iter().zip(["before", "behind"]) {
                self.device.read(guard, &mut host)?;
                let intact = Fill::Bits(GUARD_BITS).stored(guard.element, 0).to_bits();
                if let Some(at) = host.iter().position(|value| value.to_bits() != intact) {
                    return Ok(Err(format!(
                        "wrote outside operand {}: element {at} of the guard band {side} it",
                        self.specs[operand].name
                    )));
                }
            }
        }
        Ok(Ok(()))
    }

    /// The two guard bands of an operand.
    fn guards(&self, operand: usize) -> [Region; 2] {
        let region = self.operands[operand];
        let guard = |offset| Region {
            offset,
            elements: GUARD_ELEMENTS,
            ..region
        };
        let before = region.offset - self.specs[operand].guard_bytes();
        [guard(before), guard(region.offset + region.bytes())]
    }

    /// Facts about the device.
    pub fn info(&self) -> &DeviceInfo {
        self.device.info()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::vm::{Target, describe};
    use crate::kernels::{Form, KernelId, Size};

    #[test]
    fn copies_of_operands_are_needed_too() {
        let needed = |n| {
            let problem = Problem {
                kernel: KernelId::GemmBf16,
                variant: "auto",
                size: Size::Matrix { m: n, n, k: n },
                form: Form::default(),
                seed: 1,
                data: Data::Random,
            };
            bytes_needed(&problem, &describe(Target::Sm90a), true).unwrap()
        };
        let operands = |n: u64| 3 * (n * n + 2 * GUARD_ELEMENTS) * 2;
        assert_eq!(needed(1024), operands(1024));
        // Rows of 1023 elements are no whole 16-byte units: A and B are copied.
        assert!(needed(1023) > operands(1023) + 2 * 1023 * 1023 * 2);
    }
}
