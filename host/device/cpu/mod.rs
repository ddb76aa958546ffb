//! The machine's own cores: the device where there is no GPU.
//!
//! Bytes are counted as on a GPU: each operand once per read and once per write. Lines that a
//! core fetches only to overwrite them (write-allocate) are not counted.
//!
//! | module | what it is for |
//! |---|---|
//! | `chains` | chains of fused multiply-adds in vector registers |
//! | `facts` | name, cores, caches and memory |
//! | `kernels` | the kernels on all cores |

mod chains;
mod facts;
mod kernels;

use super::{
    Buffer, CacheState, Device, DeviceError, DeviceInfo, Fill, LaunchFacts, Region, Result,
    Telemetry,
};
use crate::kernels::Problem;
use rayon::prelude::*;
use std::time::Instant;

/// Elements that a core fills or sweeps at a time: 256 KiB.
const PIECE: usize = 64 << 10;

/// Bytes of the sweep, over the bytes of the last-level cache.
const SWEEP_FACTOR: u64 = 2;

/// The machine's own cores.
pub struct CpuDevice {
    info: DeviceInfo,
    buffers: Vec<Vec<f32>>,
    sweep: Vec<f32>,
}

impl CpuDevice {
    /// Looks at the machine.
    ///
    /// # Errors
    /// The memory cannot be read.
    pub fn new() -> Result<Self> {
        Ok(CpuDevice {
            info: facts::describe()?,
            buffers: Vec::new(),
            sweep: Vec::new(),
        })
    }

    /// Elements of its buffer that a region covers. All are f32: no kernel of another storage has
    /// a variant here.
    fn range(region: Region) -> std::ops::Range<usize> {
        let first = (region.offset / 4) as usize;
        first..first + region.elements as usize
    }

    /// The elements of each operand.
    fn operands<const N: usize>(&mut self, operands: &[Region]) -> Result<[&mut [f32]; N]> {
        let regions: [Region; N] = operands.try_into().map_err(|_| DeviceError::Call {
            call: "launch",
            reason: format!("{} operands given, {N} needed", operands.len()),
        })?;
        let buffers = self
            .buffers
            .get_disjoint_mut(regions.map(|region| region.buffer.0))
            .map_err(|error| DeviceError::Call {
                call: "launch",
                reason: error.to_string(),
            })?;
        let mut regions = regions.into_iter();
        Ok(buffers.map(|buffer| {
            // One region a buffer: both arrays have N entries.
            let range = regions.next().map_or(0..0, Self::range);
            &mut buffer[range]
        }))
    }

    /// Replaces what the caches hold.
    fn sweep(&mut self) {
        if self.sweep.is_empty() {
            /// Assumed when the system does not report the size: larger than most.
            const UNKNOWN_CACHE_BYTES: u64 = 64 << 20;
            let bytes = SWEEP_FACTOR * self.info.cache_bytes.unwrap_or(UNKNOWN_CACHE_BYTES);
            self.sweep = vec![0.0; (bytes / 4) as usize];
        }
        self.sweep
            .par_chunks_mut(PIECE)
            .for_each(|piece| piece.iter_mut().for_each(|x| *x += 1.0));
        std::hint::black_box(&mut self.sweep);
    }
}

impl Device for CpuDevice {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn free_bytes(&mut self) -> Result<u64> {
        facts::free_bytes()
    }

    fn alloc(&mut self, bytes: u64) -> Result<Buffer> {
        let out_of_memory = |free| DeviceError::OutOfMemory {
            device: self.info.name.clone(),
            needed: bytes,
            free,
        };
        // An allocation larger than what is free would succeed, and the system would end the
        // program when it is touched.
        let free = facts::free_bytes()?;
        if bytes > free {
            return Err(out_of_memory(free));
        }
        let elements = bytes.div_ceil(4) as usize;
        let mut buffer = Vec::new();
        buffer
            .try_reserve_exact(elements)
            .map_err(|_| out_of_memory(free))?;
        // Touched by all cores, so that its pages lie near those that use them.
        (0..elements)
            .into_par_iter()
            .map(|_| 0.0)
            .collect_into_vec(&mut buffer);
        self.buffers.push(buffer);
        Ok(Buffer(self.buffers.len() - 1))
    }

    fn release_all(&mut self) {
        self.buffers.clear();
    }

    fn fill(&mut self, region: Region, fill: Fill) -> Result<()> {
        let elements = &mut self.buffers[region.buffer.0][Self::range(region)];
        elements
            .par_chunks_mut(PIECE)
            .enumerate()
            .for_each(|(piece, elements)| {
                for (x, index) in elements.iter_mut().zip((piece * PIECE) as u64..) {
                    *x = fill.value(index);
                }
            });
        Ok(())
    }

    fn read(&mut self, region: Region, to: &mut [f32]) -> Result<()> {
        to.copy_from_slice(&self.buffers[region.buffer.0][Self::range(region)]);
        Ok(())
    }

    fn write(&mut self, region: Region, from: &[f32]) -> Result<()> {
        self.buffers[region.buffer.0][Self::range(region)].copy_from_slice(from);
        Ok(())
    }

    fn launch_facts(&mut self, _: &Problem) -> Result<LaunchFacts> {
        Ok(LaunchFacts {
            grid: None,
            block: Some(self.info.units.to_string()),
            ..LaunchFacts::default()
        })
    }

    fn run(&mut self, problem: &Problem, operands: &[Region]) -> Result<()> {
        kernels::run(self, problem, operands)
    }

    fn time(
        &mut self,
        problem: &Problem,
        operands: &[Region],
        cache: CacheState,
        launches: u32,
        samples: u32,
    ) -> Result<Vec<f64>> {
        if cache == CacheState::Warm {
            self.run(problem, operands)?;
        }
        (0..samples)
            .map(|_| {
                let mut seconds = 0.0;
                match cache {
                    CacheState::Cold => {
                        for _ in 0..launches {
                            self.sweep();
                            let start = Instant::now();
                            self.run(problem, operands)?;
                            seconds += start.elapsed().as_secs_f64();
                        }
                    }
                    CacheState::Warm => {
                        let start = Instant::now();
                        for _ in 0..launches {
                            self.run(problem, operands)?;
                        }
                        seconds = start.elapsed().as_secs_f64();
                    }
                }
                Ok(seconds / f64::from(launches))
            })
            .collect()
    }

    fn telemetry(&mut self) -> Result<Telemetry> {
        Ok(Telemetry::default())
    }
}
