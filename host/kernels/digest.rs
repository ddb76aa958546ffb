//! Fingerprints of outputs, to compare devices bit for bit.

use super::{Bench, Role};
use crate::device::Result;
use crate::device::vm::{Target, describe};
use sha2::{Digest, Sha256};

/// The fingerprint of what a problem's last run wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fingerprint {
    /// Elements that it covers.
    pub elements: u64,
    /// SHA-256 of their bits, each element four bytes, least significant first, in hexadecimal.
    pub sha256: String,
}

/// Digests the outputs of a problem: operands that it writes, in their order.
///
/// An output that grows with the device, as `fma`'s with its number of threads, counts up to the
/// elements that it has on the [VM](crate::device::vm): those have the same inputs everywhere.
///
/// # Errors
/// The device's error.
pub fn fingerprint(bench: &mut Bench<'_>) -> Result<Fingerprint> {
    let problem = bench.problem.clone();
    // A count that does not fit 64 bits was refused when the operands were allocated.
    let on_vm = problem
        .kernel
        .kernel()
        .operands(&problem, &describe(Target::Sm90a))
        .unwrap_or_default();
    let mut hash = Sha256::new();
    let mut elements = 0;
    for (operand, spec) in on_vm.iter().enumerate() {
        if spec.role == Role::In {
            continue;
        }
        let most = spec.elements;
        // The visitor never stops early.
        let _ = bench.inspect(operand, 1, |first, piece| {
            let taken = most.saturating_sub(first).min(piece.len() as u64);
            for value in &piece[..taken as usize] {
                hash.update(value.to_bits().to_le_bytes());
            }
            elements += taken;
            Ok(())
        })?;
    }
    let sha256 = hash.finalize();
    Ok(Fingerprint {
        elements,
        sha256: sha256.iter().map(|byte| format!("{byte:02x}")).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Device;
    use crate::device::cpu::CpuDevice;
    use crate::device::vm::VmDevice;
    use crate::kernels::{Data, Form, KernelId, Problem, Size};

    fn of(device: &mut dyn Device, kernel: KernelId, size: u64, seed: u64) -> Fingerprint {
        let problem = Problem {
            kernel,
            variant: kernel
                .kernel()
                .variants(device.info().kind)
                .last()
                .unwrap()
                .name,
            size: Size::Elements(size),
            form: Form::default(),
            seed,
            data: Data::Random,
        };
        let mut bench = Bench::new(device, problem).unwrap();
        bench.fill(Data::Random).unwrap();
        bench.run().unwrap();
        let fingerprint = fingerprint(&mut bench).unwrap();
        device.release_all();
        fingerprint
    }

    #[test]
    fn the_same_bits_have_the_same_fingerprint_on_every_device() {
        let mut cpu = CpuDevice::new().unwrap();
        let [mut hopper, mut ampere] = Target::ALL.map(|target| VmDevice::open(target).unwrap());
        let copied = of(&mut cpu, KernelId::Copy, 777, 1);
        assert_eq!(copied.elements, 777);
        assert_eq!(copied, of(&mut hopper, KernelId::Copy, 777, 1));
        assert_ne!(copied, of(&mut hopper, KernelId::Copy, 777, 2));
        let fma = of(&mut hopper, KernelId::Fma, 777, 1);
        assert_eq!(fma, of(&mut ampere, KernelId::Fma, 777, 1));
        // A CPU has more threads: the first of them count.
        assert_eq!(of(&mut cpu, KernelId::Fma, 777, 1).elements, fma.elements);
    }
}
