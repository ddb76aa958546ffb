//! A small CPU that fails where a script says so.

use rooftrace::device::cpu::CpuDevice;
use rooftrace::device::{
    Buffer, CacheState, Device, DeviceError, DeviceInfo, Fill, LaunchFacts, Region, Result,
    Telemetry,
};
use rooftrace::kernels::{KernelId, Problem, Size};
use std::collections::HashMap;

/// What happens at a problem.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Event {
    /// The run ends with this error.
    Error(Failure),
    /// The first element of the output is wrong.
    Wrong,
}

/// How a call fails.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Failure {
    /// This and every later call fails.
    Lost,
    /// An allocation finds less memory than was free before.
    OutOfMemory,
    /// The launch cannot run here.
    Unsupported,
    /// This call only.
    Call,
}

/// Seconds of every launch.
pub const LAUNCH_S: f64 = 1e-3;

/// A CPU with a script.
pub struct Scripted {
    cpu: CpuDevice,
    info: DeviceInfo,
    script: HashMap<(KernelId, u64), Event>,
    /// Calls that were made although the device was lost.
    pub calls_after_loss: usize,
    lost: bool,
    /// Problems that were timed.
    pub timed: Vec<(KernelId, u64)>,
}

impl Scripted {
    /// A CPU with the events of `script`, keyed by kernel and size.
    pub fn new(script: impl IntoIterator<Item = ((KernelId, u64), Event)>) -> Self {
        let cpu = CpuDevice::new().unwrap();
        let info = DeviceInfo {
            name: "Scripted".to_owned(),
            // Small caches and few cores make the kernels that measure the roofs small.
            cache_bytes: Some(4096),
            units: 1,
            ..cpu.info().clone()
        };
        Scripted {
            cpu,
            info,
            script: script.into_iter().collect(),
            calls_after_loss: 0,
            lost: false,
            timed: Vec::new(),
        }
    }

    /// Elements of the triad that measures the memory roof.
    pub const ROOF_TRIAD: u64 = 48 * 4096 / 12;

    fn event(&self, problem: &Problem) -> Option<Event> {
        self.script
            .get(&(problem.kernel, size_of(problem)))
            .copied()
    }

    fn alive(&mut self) -> Result<()> {
        if self.lost {
            self.calls_after_loss += 1;
            return Err(error(Failure::Lost));
        }
        Ok(())
    }
}

/// Elements, or the rows of C.
pub fn size_of(problem: &Problem) -> u64 {
    match problem.size {
        Size::Elements(n) | Size::Mixed { n, .. } => n,
        Size::Matrix { m, .. } => m,
    }
}

fn error(failure: Failure) -> DeviceError {
    let reason = "CUDA_ERROR_LAUNCH_FAILED (719)".to_owned();
    let call = "cuLaunchKernel";
    match failure {
        Failure::Lost => DeviceError::Lost { call, reason },
        Failure::OutOfMemory => DeviceError::OutOfMemory {
            device: "Scripted".to_owned(),
            needed: 4096,
            free: 1024,
        },
        Failure::Unsupported => DeviceError::Unsupported("too many blocks".to_owned()),
        Failure::Call => DeviceError::Call { call, reason },
    }
}

impl Device for Scripted {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }
    fn free_bytes(&mut self) -> Result<u64> {
        self.alive()?;
        self.cpu.free_bytes()
    }
    fn alloc(&mut self, bytes: u64) -> Result<Buffer> {
        self.alive()?;
        self.cpu.alloc(bytes)
    }
    fn release_all(&mut self) {
        self.cpu.release_all();
    }
    fn fill(&mut self, region: Region, fill: Fill) -> Result<()> {
        self.alive()?;
        self.cpu.fill(region, fill)
    }
    fn read(&mut self, region: Region, to: &mut [f32]) -> Result<()> {
        self.alive()?;
        self.cpu.read(region, to)
    }
    fn write(&mut self, region: Region, from: &[f32]) -> Result<()> {
        self.alive()?;
        self.cpu.write(region, from)
    }
    fn launch_facts(&mut self, _: &Problem) -> Result<LaunchFacts> {
        self.alive()?;
        Ok(LaunchFacts::default())
    }
    fn run(&mut self, problem: &Problem, operands: &[Region]) -> Result<()> {
        self.alive()?;
        match self.event(problem) {
            Some(Event::Error(failure)) => {
                self.lost = failure == Failure::Lost;
                Err(error(failure))
            }
            Some(Event::Wrong) => {
                self.cpu.run(problem, operands)?;
                let output = crate::faulty::output_of(problem, &self.info);
                self.cpu.write(operands[output].slice(0, 1), &[1e6])
            }
            None => self.cpu.run(problem, operands),
        }
    }
    fn time(
        &mut self,
        problem: &Problem,
        _: &[Region],
        _: CacheState,
        _: u32,
        samples: u32,
    ) -> Result<Vec<f64>> {
        self.alive()?;
        self.timed.push((problem.kernel, size_of(problem)));
        Ok(vec![LAUNCH_S; samples as usize])
    }
    fn telemetry(&mut self) -> Result<Telemetry> {
        self.alive()?;
        Ok(Telemetry::default())
    }
}
