//! Every kernel and variant, executed from the embedded PTX of both targets: verified by the code
//! that verifies a GPU's results, counted, and broken on purpose.

mod broken;
mod counted;

use rooftrace::device::cuda::Ptx;
use rooftrace::device::vm::{Target, VmDevice, describe};
use rooftrace::device::{Device, DeviceInfo, DeviceKind};
use rooftrace::kernels::size::parse_sizes;
use rooftrace::kernels::{Bench, Check, Data, KernelId, Launch, Problem, SizeKind};
use std::collections::BTreeSet;

/// A problem on a GPU that says `info` of itself.
#[derive(Clone)]
struct Case {
    info: DeviceInfo,
    problem: Problem,
}

impl Case {
    fn launch(&self) -> Launch {
        let kernel = self.problem.kernel.kernel();
        let launch = kernel.launch(&self.problem, &self.info);
        launch.unwrap_or_else(|error| panic!("{self}: {error}"))
    }
}

impl std::fmt::Display for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (p, info) = (&self.problem, &self.info);
        let (kernel, variant, size) = (p.kernel.name(), p.variant, p.size);
        let shared = info.shared_bytes_per_block.unwrap_or(0);
        let units = info.units;
        write!(
            f,
            "{kernel} {variant} {size} on {units} SMs with {shared} B"
        )
    }
}

/// Sizes around vectors, warps, blocks and tiles. Rows of B and C are aligned to 16 bytes in some
/// of the matrices and not in others.
fn sizes(kind: SizeKind) -> &'static str {
    match kind {
        SizeKind::Elements => "1,5,127,1000,4097",
        SizeKind::Matrix => "1,17,64,3x5x7,1x1x300,65x33x40,129x65x70,130x260x36,40x44x200",
    }
}

/// The GPU itself; one of few multiprocessors, on which work that is shared out is cut elsewhere;
/// and one of little shared memory, on which other tiles fit.
fn gpus(target: Target) -> [DeviceInfo; 3] {
    let info = describe(target);
    let few = DeviceInfo {
        units: 2,
        ..info.clone()
    };
    let little = DeviceInfo {
        shared_bytes_per_block: Some(99 << 10),
        ..few.clone()
    };
    [info, few, little]
}

/// Every kernel, variant and size on every GPU whose launch differs.
fn cases(target: Target) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for id in KernelId::ALL {
        let kernel = id.kernel();
        for variant in kernel.variants(DeviceKind::Vm) {
            for size in parse_sizes(sizes(kernel.size_kind()), kernel.size_kind()).unwrap() {
                let problem = Problem {
                    kernel: id,
                    variant: variant.name,
                    size,
                    seed: 7,
                    data: Data::Random,
                };
                let mut launches: Vec<Launch> = Vec::new();
                for info in gpus(target) {
                    let problem = problem.clone();
                    let case = Case { info, problem };
                    let launch = case.launch();
                    if !launches.contains(&launch) {
                        launches.push(launch);
                        cases.push(case);
                    }
                }
            }
        }
    }
    cases
}

/// The embedded PTX of a target.
fn ptx(target: Target) -> Ptx {
    Ptx::embedded(target.compute_capability()).unwrap()
}

/// Verifies as it is done on a GPU; an error of the device is a failed check.
fn verify(device: &mut VmDevice, problem: &Problem) -> Check {
    let verified = Bench::new(device, problem.clone())
        .and_then(|mut bench| problem.kernel.kernel().verify(&mut bench));
    device.release_all();
    verified.unwrap_or_else(|error| Check::failed(error.to_string()))
}

/// Verifies every case of a target; the PTX is parsed once for each GPU.
fn verify_all(target: Target) {
    let cases = cases(target);
    let mut entries = BTreeSet::new();
    for info in gpus(target) {
        let mut device = VmDevice::with(info.clone(), ptx(target)).unwrap();
        for case in cases.iter().filter(|case| case.info == info) {
            let check = verify(&mut device, &case.problem);
            assert_eq!(check.failure, None, "{case}");
            entries.insert(case.launch().entry);
        }
    }
    // Kernels that come without a test here are found out. The others fill, sweep and probe: they
    // have no result of their own.
    let support = ["fill_", "l2_sweep_", "clock_probe"];
    let computing = gpu_kernels::params::ENTRIES
        .iter()
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
