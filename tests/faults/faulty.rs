//! A device whose results are wrong in a planned way.

use rooftrace::device::cpu::CpuDevice;
use rooftrace::device::{
    CacheState, Device, DeviceInfo, Fill, LaunchFacts, Region, Result, Telemetry,
};
use rooftrace::kernels::{Bench, Check, Data, Form, KernelId, Problem, Role, Size};

/// What is done to the output after a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Fault {
    /// Nothing.
    None,
    /// This element is off by this much.
    Off(u64, f32),
    /// The lowest bit of this element is flipped.
    LowestBit(u64),
    /// 256 elements of a vector, or a 16 x 16 tile of a matrix, are 0: from this element on.
    ZeroedTile(u64),
    /// The product lacks the summands of this range of k.
    MissingK(u64, u64),
    /// These elements, such as a row, are as they were before the run.
    Untouched(u64, u64),
    /// All elements are as they were before the run.
    NothingWritten,
    /// All elements are those of the run before.
    Stale,
    /// This element has this value.
    Is(u64, f32),
    /// The element just before operand i is written.
    GuardBefore(usize),
    /// The element just behind operand i is written.
    GuardBehind(usize),
}

/// Values that no comparison with a bound may let pass.
pub const NOT_FINITE: [f32; 3] = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY];

/// The runs that a fault spoils, counted from 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum When {
    /// Every run.
    Always,
    /// This one alone.
    Run(usize),
}

/// A device with a fault.
pub struct Faulty {
    device: Box<dyn Device>,
    fault: Fault,
    when: When,
    runs: usize,
    /// The output of the run before.
    last: Vec<f32>,
}

impl Faulty {
    /// A CPU whose results are spoilt by `fault`.
    pub fn new(fault: Fault, when: When) -> Self {
        Self::on(CpuDevice::new().unwrap(), fault, when)
    }

    /// Any device, its results spoilt by `fault`.
    pub fn on(device: impl Device + 'static, fault: Fault, when: When) -> Self {
        Faulty {
            device: Box::new(device),
            fault,
            when,
            runs: 0,
            last: Vec::new(),
        }
    }

    fn get(&mut self, region: Region) -> Vec<f32> {
        let mut values = vec![0.0; region.elements as usize];
        self.device.read(region, &mut values).unwrap();
        values
    }

    /// Spoils the output, which was `before` when the run began.
    fn spoil(&mut self, problem: &Problem, operands: &[Region], output: Region, before: &[f32]) {
        let mut values = self.get(output);
        let right = values.clone();
        let width = match problem.size {
            Size::Matrix { n, .. } => n as usize,
            Size::Elements(_) | Size::Mixed { .. } => 16,
        };
        match self.fault {
            Fault::None => {}
            Fault::Off(i, by) => values[i as usize] += by,
            Fault::LowestBit(i) => {
                values[i as usize] = f32::from_bits(values[i as usize].to_bits() ^ 1);
            }
            Fault::ZeroedTile(first) => {
                for row in 0..16 {
                    let start = first as usize + row * width;
                    values[start..start + 16].fill(0.0);
                }
            }
            Fault::MissingK(from, to) => {
                let [a, b] = [0, 1].map(|operand| self.get(operands[operand]));
                values = product_without(problem, [&a, &b, before], from as usize..to as usize);
            }
            Fault::Untouched(first, count) => {
                let range = first as usize..(first + count) as usize;
                values[range.clone()].copy_from_slice(&before[range]);
            }
            Fault::NothingWritten => values.copy_from_slice(before),
            Fault::Stale => {
                if !self.last.is_empty() {
                    values.copy_from_slice(&self.last);
                }
            }
            Fault::Is(i, value) => values[i as usize] = value,
            Fault::GuardBefore(operand) => {
                let region = operands[operand];
                self.write_beside(region, -(region.element.bytes() as i64));
            }
            Fault::GuardBehind(operand) => {
                let region = operands[operand];
                self.write_beside(region, region.bytes() as i64);
            }
        }
        self.last = right;
        self.device.write(output, &values).unwrap();
    }

    /// Writes one element at a distance in bytes from the start of a region.
    fn write_beside(&mut self, region: Region, distance: i64) {
        let place = Region {
            offset: region.offset.strict_add_signed(distance),
            elements: 1,
            ..region
        };
        self.device.write(place, &[1.0]).unwrap();
    }
}

/// beta C + A @ B without the summands of `missing`, in f64, rounded once.
fn product_without(
    problem: &Problem,
    [a, b, c]: [&[f32]; 3],
    missing: std::ops::Range<usize>,
) -> Vec<f32> {
    let (_, n, k) = problem.matrix();
    let (n, k) = (n as usize, k as usize);
    let beta = if problem.form.reads_c { 1.0 } else { 0.0 };
    let rows = c.chunks(n).zip(a.chunks(k));
    rows.flat_map(|(c, a)| {
        // What is not read may be NaN.
        let start = |&x: &f32| if beta == 0.0 { 0.0 } else { f64::from(x) };
        let mut sums: Vec<f64> = c.iter().map(start).collect();
        for (p, b) in b.chunks(n).enumerate() {
            if !missing.contains(&p) {
                for (sum, &x) in sums.iter_mut().zip(b) {
                    *sum += f64::from(a[p]) * f64::from(x);
                }
            }
        }
        sums.into_iter().map(|sum| sum as f32)
    })
    .collect()
}

impl Device for Faulty {
    fn info(&self) -> &DeviceInfo {
        self.device.info()
    }
    fn free_bytes(&mut self) -> Result<u64> {
        self.device.free_bytes()
    }
    fn alloc(&mut self, bytes: u64) -> Result<rooftrace::device::Buffer> {
        self.device.alloc(bytes)
    }
    fn release_all(&mut self) {
        self.device.release_all();
    }
    fn fill(&mut self, region: Region, fill: Fill) -> Result<()> {
        self.device.fill(region, fill)
    }
    fn read(&mut self, region: Region, to: &mut [f32]) -> Result<()> {
        self.device.read(region, to)
    }
    fn write(&mut self, region: Region, from: &[f32]) -> Result<()> {
        self.device.write(region, from)
    }
    fn launch_facts(&mut self, problem: &Problem) -> Result<LaunchFacts> {
        self.device.launch_facts(problem)
    }
    fn run(&mut self, problem: &Problem, operands: &[Region]) -> Result<()> {
        let output = operands[output_of(problem, self.info())];
        let before = self.get(output);
        self.device.run(problem, operands)?;
        let now = self.runs;
        self.runs += 1;
        if self.when == When::Always || self.when == When::Run(now) {
            self.spoil(problem, operands, output, &before);
        } else {
            self.last = self.get(output);
        }
        Ok(())
    }
    fn time(
        &mut self,
        problem: &Problem,
        operands: &[Region],
        cache: CacheState,
        launches: u32,
        samples: u32,
    ) -> Result<Vec<f64>> {
        self.device
            .time(problem, operands, cache, launches, samples)
    }
    fn telemetry(&mut self) -> Result<Telemetry> {
        self.device.telemetry()
    }
}

/// Index of the operand that a kernel writes.
pub fn output_of(problem: &Problem, info: &DeviceInfo) -> usize {
    let operands = problem.kernel.kernel().operands(problem, info).unwrap();
    operands
        .iter()
        .position(|operand| operand.role != Role::In)
        .expect("every kernel writes something")
}

/// A problem on the CPU.
pub fn problem(kernel: KernelId, size: Size, data: Data) -> Problem {
    Problem {
        kernel,
        variant: kernel.kernel().variants(rooftrace::device::DeviceKind::Cpu)[0].name,
        size,
        form: Form::default(),
        seed: 7,
        data,
    }
}

/// Verifies a problem on a CPU with a fault.
pub fn verify(problem: &Problem, fault: Fault, when: When) -> Check {
    verify_on(Faulty::new(fault, when), problem, when)
}

/// Verifies a problem on a device with a fault that strikes `when`.
pub fn verify_on(mut device: Faulty, problem: &Problem, when: When) -> Check {
    let mut bench = Bench::new(&mut device, problem.clone()).unwrap();
    let check = problem.kernel.kernel().verify(&mut bench).unwrap();
    if let When::Run(run) = when {
        assert!(
            device.runs > run || !check.passed(),
            "the fault never struck"
        );
    }
    check
}

/// Verifies a problem on a CPU with a fault, and returns why it failed.
pub fn failure(problem: &Problem, fault: Fault, when: When) -> String {
    failure_on(Faulty::new(fault, when), problem, fault, when)
}

/// Verifies a problem on a device with this fault, and returns why it failed.
pub fn failure_on(device: Faulty, problem: &Problem, fault: Fault, when: When) -> String {
    let check = verify_on(device, problem, when);
    let reason = check.failure.unwrap_or_else(|| {
        panic!(
            "{} at {} passed with {fault:?} ({when:?}); error {:?}, bound {:?}",
            problem.kernel.name(),
            problem.size,
            check.error,
            check.error_bound
        )
    });
    assert!(!reason.is_empty());
    reason
}
