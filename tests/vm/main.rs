//! Every kernel and variant, executed from the embedded PTX of both targets: verified by the code
//! that verifies a GPU's results, counted, and broken on purpose.

mod broken;
mod cases;
mod counted;

use cases::{Case, plain, shared_out};
use rooftrace::device::Device;
use rooftrace::device::cuda::Ptx;
use rooftrace::device::vm::{Target, VmDevice};
use rooftrace::kernels::{Bench, Check};
use std::collections::BTreeSet;

/// The embedded PTX of a target.
fn ptx(target: Target) -> Ptx {
    Ptx::embedded(target.compute_capability()).unwrap()
}

/// Verifies as it is done on a GPU; an error of the device is a failed check.
fn verify(device: &mut VmDevice, case: &Case) -> Check {
    let verified = Bench::at(device, case.problem.clone(), case.offset)
        .and_then(|mut bench| case.problem.kernel.kernel().verify(&mut bench));
    device.release_all();
    verified.unwrap_or_else(|error| Check::failed(error.to_string()))
}

/// Verifies every case of a target; the PTX is parsed once for each GPU.
fn verify_all(target: Target) {
    let mut cases = plain(target);
    // The first of each way to share work out: the others are there to be broken.
    cases.extend(shared_out(target, 1));
    let mut entries = BTreeSet::new();
    while let Some(case) = cases.first() {
        let info = case.info.clone();
        let mut device = VmDevice::with(info.clone(), ptx(target)).unwrap();
        let (here, others) = cases.into_iter().partition(|case| case.info == info);
        let here: Vec<_> = here;
        for case in here {
            let check = verify(&mut device, &case);
            assert_eq!(check.failure, None, "{case}");
            entries.extend(case.entries());
        }
        cases = others;
    }
    // Kernels that come without a test here are found out. The others fill, sweep and probe: they
    // have no result of their own.
    let support = ["fill_", "l2_sweep_", "clock_probe"];
    let computing = gpu_kernels::params::Entry::of(target.name())
        .map(|entry| entry.name)
        .filter(|name| !support.iter().any(|prefix| name.starts_with(prefix)));
    assert_eq!(entries, computing.collect::<BTreeSet<_>>());
}

#[test]
fn every_kernel_is_right_on_sm_80() {
    verify_all(Target::Sm80);
}

#[test]
fn every_kernel_is_right_on_sm_90a() {
    verify_all(Target::Sm90a);
}
