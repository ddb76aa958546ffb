//! A device with memory, right results, and scripted everything else.

use gpu_kernels::params::{FMA_ADDEND, FMA_CHAINS, FMA_MULTIPLIER};
use rooftrace::device::{
    Buffer, CacheState, Device, DeviceError, DeviceInfo, DeviceKind, Fill, LaunchFacts, Region,
    Result, Telemetry,
};
use rooftrace::kernels::problem::SCALAR;
use rooftrace::kernels::{Data, Form, KernelId, Problem, Size, fma};
use rooftrace::measure::Rules;
use rooftrace::record::{Cache, Row};
use rooftrace::roofline::db::Database;
use rooftrace::sweep::roofs::Roofs;
use rooftrace::sweep::{Observer, Plan, Point, Stop};
use std::time::Duration;

/// One call of [`Device::time`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Timing {
    pub kernel: KernelId,
    pub cache: CacheState,
    pub launches: u32,
    pub samples: u32,
}

/// The device.
pub struct Mock {
    /// What it says of itself.
    pub info: DeviceInfo,
    buffers: Vec<Vec<f32>>,
    /// Calls so far, of every kind that can fail.
    pub calls: usize,
    /// Fails the call with this number.
    pub fault: Option<(usize, DeviceError)>,
    /// Set once a lost device was reported: every later call fails too.
    lost: bool,
    /// Seconds of one launch, by the number of the sample.
    pub seconds: Box<dyn FnMut(usize) -> f64>,
    samples: usize,
    /// Real time that one launch takes.
    pub pause: Duration,
    /// State at each reading, by its number.
    pub state: Box<dyn FnMut(usize) -> Telemetry>,
    readings: usize,
    /// Processes seen on the device.
    pub others: Vec<u32>,
    /// Leaves the last element of copy's output as it was.
    pub skips_an_element: bool,
    /// Every call of `time`.
    pub timings: Vec<Timing>,
}

impl Mock {
    pub fn new() -> Self {
        Mock {
            info: DeviceInfo {
                kind: DeviceKind::Cuda,
                name: "mock".to_owned(),
                index: Some(0),
                compute_capability: None,
                driver_version: None,
                memory_bytes: 1 << 30,
                cache_bytes: Some(16 << 10),
                units: 1,
                attributes: None,
                threads_per_unit: Some(256),
                shared_bytes_per_block: None,
                ptx_sha256: None,
                ptx_target: None,
                ptx_source: None,
            },
            buffers: Vec::new(),
            calls: 0,
            fault: None,
            lost: false,
            seconds: Box::new(|_| 1e-3),
            samples: 0,
            pause: Duration::ZERO,
            state: Box::new(|_| Telemetry::default()),
            readings: 0,
            others: Vec::new(),
            skips_an_element: false,
            timings: Vec::new(),
        }
    }

    /// Counts a call, and fails it if the script says so.
    fn call(&mut self) -> Result<()> {
        self.calls += 1;
        let lost = || DeviceError::Lost {
            call: "any",
            reason: "planted".to_owned(),
        };
        if self.lost {
            return Err(lost());
        }
        match &self.fault {
            Some((at, error)) if *at + 1 == self.calls => {
                self.lost = matches!(error, DeviceError::Lost { .. });
                Err(error.clone())
            }
            _ => Ok(()),
        }
    }

    fn range(region: Region) -> std::ops::Range<usize> {
        let first = (region.offset / 4) as usize;
        first..first + region.elements as usize
    }

    fn load(&self, region: Region) -> Vec<f32> {
        self.buffers[region.buffer.0][Self::range(region)].to_vec()
    }

    fn store(&mut self, region: Region, values: &[f32]) {
        self.buffers[region.buffer.0][Self::range(region)].copy_from_slice(values);
    }
}

impl Device for Mock {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn free_bytes(&mut self) -> Result<u64> {
        self.call()?;
        Ok(self.info.memory_bytes)
    }

    fn alloc(&mut self, bytes: u64) -> Result<Buffer> {
        self.call()?;
        self.buffers.push(vec![0.0; bytes.div_ceil(4) as usize]);
        Ok(Buffer(self.buffers.len() - 1))
    }

    fn release_all(&mut self) {
        self.buffers.clear();
    }

    fn fill(&mut self, region: Region, fill: Fill) -> Result<()> {
        self.call()?;
        let values: Vec<f32> = (0..region.elements)
            .map(|index| fill.value(index))
            .collect();
        self.store(region, &values);
        Ok(())
    }

    fn read(&mut self, region: Region, to: &mut [f32]) -> Result<()> {
        self.call()?;
        to.copy_from_slice(&self.load(region));
        Ok(())
    }

    fn write(&mut self, region: Region, from: &[f32]) -> Result<()> {
        self.call()?;
        self.store(region, from);
        Ok(())
    }

    fn launch_facts(&mut self, _: &Problem) -> Result<LaunchFacts> {
        self.call()?;
        Ok(LaunchFacts::default())
    }

    fn run(&mut self, problem: &Problem, operands: &[Region]) -> Result<()> {
        self.call()?;
        let inputs: Vec<Vec<f32>> = operands.iter().map(|region| self.load(*region)).collect();
        let (out, values): (Region, Vec<f32>) = match problem.kernel {
            KernelId::Copy => {
                let mut values = inputs[0].clone();
                if self.skips_an_element
                    && let (Some(last), Some(before)) = (values.last_mut(), inputs[1].last())
                {
                    *last = *before;
                }
                (operands[1], values)
            }
            KernelId::Triad => {
                let triad = inputs[1].iter().zip(&inputs[2]);
                let values = triad.map(|(b, c)| SCALAR.mul_add(*c, *b)).collect();
                (operands[0], values)
            }
            KernelId::Fma => {
                let (seed, steps) = (problem.operand_seed(0), problem.elements());
                let chains = u64::from(FMA_CHAINS);
                let values = (0..operands[0].elements)
                    .map(|thread| fma::reference(seed, thread, chains, steps) as f32)
                    .collect();
                (operands[0], values)
            }
            other => {
                return Err(DeviceError::Unsupported(format!(
                    "the mock has no {}",
                    other.name()
                )));
            }
        };
        // The constants of the peak kernel keep its values finite.
        assert!(FMA_MULTIPLIER < 1.0 && FMA_ADDEND.is_finite());
        self.store(out, &values);
        Ok(())
    }

    fn time(
        &mut self,
        problem: &Problem,
        _: &[Region],
        cache: CacheState,
        launches: u32,
        samples: u32,
    ) -> Result<Vec<f64>> {
        self.call()?;
        self.timings.push(Timing {
            kernel: problem.kernel,
            cache,
            launches,
            samples,
        });
        std::thread::sleep(self.pause * launches * samples);
        Ok((0..samples)
            .map(|_| {
                self.samples += 1;
                (self.seconds)(self.samples - 1)
            })
            .collect())
    }

    fn telemetry(&mut self) -> Result<Telemetry> {
        self.call()?;
        self.readings += 1;
        Ok((self.state)(self.readings - 1))
    }

    fn neighbours(&mut self) -> Vec<u32> {
        self.others.clone()
    }
}

/// Keeps what it is told.
#[derive(Default)]
pub struct Watcher {
    pub rows: Vec<Row>,
    pub neighbours: Vec<Vec<u32>>,
    /// Rows of points whose steady state could not be measured.
    pub unsettled: Vec<Row>,
    /// Rows that a file has already.
    pub known: Vec<Row>,
    /// Says to stop after so many rows.
    pub stop_after: Option<usize>,
}

impl Observer for Watcher {
    fn point(&mut self, _: usize, _: &Point) {}

    fn roofs(&mut self, _: &Roofs) -> std::result::Result<(), Stop> {
        Ok(())
    }

    fn neighbours(&mut self, processes: &[u32]) {
        self.neighbours.push(processes.to_vec());
    }

    fn row(&mut self, row: &Row) -> std::result::Result<(), Stop> {
        self.rows.push(row.clone());
        Ok(())
    }

    fn no_steady_state(&mut self, row: &Row) {
        self.unsettled.push(row.clone());
    }

    fn has(&self, row: &Row) -> bool {
        use rooftrace::record::PointKey;
        let key = PointKey::of(row);
        self.known.iter().any(|known| PointKey::of(known) == key)
    }

    fn go_on(&self) -> bool {
        self.stop_after.is_none_or(|most| self.rows.len() < most)
    }
}

/// Rules that end within milliseconds.
pub fn quick_rules() -> Rules {
    Rules {
        min_samples: 10,
        min_time_s: 0.0,
        max_time_s: 0.002,
        noise: 0.005,
        thermal_retries: 2,
        cooling: Duration::ZERO,
    }
}

pub fn problem(kernel: KernelId, elements: u64) -> Problem {
    Problem {
        kernel,
        variant: "mocked",
        size: Size::Elements(elements),
        form: Form::default(),
        seed: 1,
        data: Data::Random,
    }
}

/// A plan over these points, cold.
pub fn plan(points: &[(KernelId, u64)]) -> Plan {
    Plan {
        run_id: "test".to_owned(),
        points: points
            .iter()
            .map(|&(kernel, elements)| Point {
                problem: problem(kernel, elements),
                cache: Cache::Cold,
            })
            .collect(),
        rules: quick_rules(),
        sustained_s: None,
        baseline: None,
        seed: 1,
        database: Database::builtin().unwrap(),
    }
}
