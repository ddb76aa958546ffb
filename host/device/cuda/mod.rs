//! An NVIDIA GPU through the CUDA driver.
//!
//! | module | what it is for |
//! |---|---|
//! | [`driver`] | the driver library, opened at run time, and the functions `cust` links to |
//! | `facts` | what the device says of itself, and the PTX that fits it |
//! | `launch` | parameters, functions and launches |
//! | `library`, `cublas` | the baselines: calls of cuBLAS and of the driver's copy |
//! | `tensor_map` | how bulk tensor copies find their boxes |
//! | `timing` | cold and warm samples |
//! | `telemetry` | the clock probe, and NVML where it is installed |

mod cublas;
pub mod driver;
mod facts;
mod launch;
mod library;
mod telemetry;
mod tensor_map;
mod timing;

pub use facts::{Ptx, list};
pub use telemetry::nvml_version;

use super::{
    Buffer, CacheState, Device, DeviceError, DeviceInfo, Element, Fill, LaunchFacts, Region,
    Result, Telemetry, narrow, widen,
};
use crate::kernels::Problem;
use cust::context::Context;
use cust::error::CudaError;
use cust::memory::{CopyDestination, DeviceBuffer, DeviceSlice, mem_get_info};
use cust::module::Module;
use cust::stream::{Stream, StreamFlags};
use launch::Parameters;

/// An open GPU: one context, one stream, one module.
pub struct CudaDevice {
    info: DeviceInfo,
    // Dropped in this order: what lives in the context before the context.
    buffers: Vec<DeviceBuffer<u8>>,
    sweep: Option<timing::L2Sweep>,
    events: Vec<timing::EventPair>,
    probe: telemetry::Probe,
    scratch: Option<DeviceBuffer<u32>>,
    cublas: Option<cublas::Cublas>,
    stream: Stream,
    module: Module,
    _context: Context,
}

impl CudaDevice {
    /// Opens the GPU with this index, with the embedded PTX that fits it, or with `ptx`.
    ///
    /// # Errors
    /// [`DeviceError::Unavailable`] says what is missing and how to fix it.
    pub fn open(index: u32, ptx: Option<Ptx>) -> Result<Self> {
        let device = facts::device(index)?;
        let (mut info, ptx) = facts::describe(device, index, ptx)?;
        let context = Context::new(device).map_err(|e| call("cuDevicePrimaryCtxRetain", e))?;
        let module = launch::load(&ptx)?;
        let stream = Stream::new(StreamFlags::NON_BLOCKING, None)
            .map_err(|e| call("cuStreamCreateWithPriority", e))?;
        let probe = telemetry::Probe::new(device);
        facts::complete(&mut info, device, &probe);
        Ok(CudaDevice {
            info,
            buffers: Vec::new(),
            sweep: None,
            events: Vec::new(),
            scratch: None,
            cublas: None,
            probe,
            stream,
            module,
            _context: context,
        })
    }

    /// Waits for everything on the stream.
    fn synchronize(&self) -> Result<()> {
        self.stream
            .synchronize()
            .map_err(|e| call("cuStreamSynchronize", e))
    }

    /// Address of the first element of a region.
    fn address(&self, region: Region) -> u64 {
        self.buffers[region.buffer.0].as_device_ptr().as_raw() + region.offset
    }

    /// The bytes of a region.
    fn bytes(&self, region: Region) -> DeviceSlice<u8> {
        let first = region.offset as usize;
        self.buffers[region.buffer.0].index(first..first + region.bytes() as usize)
    }
}

/// Turns an error of `cust` into one of the device, with the driver's own words.
fn call(call: &'static str, error: CudaError) -> DeviceError {
    let reason = driver::last_error().unwrap_or_else(|| format!("{error:?}"));
    match error {
        // After these the context is gone: every later call returns the same.
        CudaError::IllegalAddress
        | CudaError::LaunchTimeout
        | CudaError::AssertError
        | CudaError::HardwareStackError
        | CudaError::IllegalInstruction
        | CudaError::MisalignedAddress
        | CudaError::InvalidAddressSpace
        | CudaError::InvalidProgramCounter
        | CudaError::LaunchFailed
        | CudaError::EccUncorrectable
        | CudaError::NvlinkUncorrectable
        | CudaError::ContextIsDestroyed => DeviceError::Lost { call, reason },
        _ => DeviceError::Call { call, reason },
    }
}

/// Words of scratch memory that stay allocated between problems: 64 MiB.
const MOST_SCRATCH_KEPT: usize = 16 << 20;

impl CudaDevice {
    /// Why `needed` bytes could not be allocated. Where they do not fit, other problems may.
    fn no_memory(&self, error: CudaError, needed: u64) -> DeviceError {
        match error {
            CudaError::OutOfMemory => DeviceError::OutOfMemory {
                device: self.info.name.clone(),
                needed,
                free: mem_get_info().map_or(0, |(free, _)| free as u64),
            },
            error => call("cuMemAlloc", error),
        }
    }
}

impl Device for CudaDevice {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn free_bytes(&mut self) -> Result<u64> {
        mem_get_info()
            .map(|(free, _)| free as u64)
            .map_err(|e| call("cuMemGetInfo", e))
    }

    fn alloc(&mut self, bytes: u64) -> Result<Buffer> {
        // SAFETY: every bit pattern is a valid byte; nothing reads them on the host before a kernel
        // or a copy has written them.
        match unsafe { DeviceBuffer::uninitialized(bytes as usize) } {
            Ok(buffer) => {
                self.buffers.push(buffer);
                Ok(Buffer(self.buffers.len() - 1))
            }
            Err(error) => Err(self.no_memory(error, bytes)),
        }
    }

    fn release_all(&mut self) {
        self.buffers.clear();
        // What a small problem needs is kept; copies of operands would count twice in the next check for room.
        if self
            .scratch
            .as_ref()
            .is_some_and(|scratch| scratch.len() > MOST_SCRATCH_KEPT)
        {
            self.scratch = None;
        }
    }

    fn fill(&mut self, region: Region, fill: Fill) -> Result<()> {
        let address = self.address(region);
        let (f32_entry, bf16_entry, last) = match fill {
            Fill::Bits(bits) => {
                let bits = match region.element {
                    Element::F32 => bits,
                    Element::Bf16 => bits >> 16,
                };
                ("fill_bits", "fill_bits_16", vec![Parameters::u32(bits)])
            }
            Fill::Uniform(seed) => (
                "fill_uniform",
                "fill_uniform_bf16",
                vec![Parameters::u64(seed)],
            ),
            Fill::Integers(seed) => (
                "fill_integers",
                "fill_integers_bf16",
                vec![Parameters::u64(seed)],
            ),
            Fill::Signs { seed, one_in } => (
                "fill_signs",
                "fill_signs_bf16",
                vec![Parameters::u64(seed), Parameters::u32(one_in)],
            ),
        };
        let entry = match region.element {
            Element::F32 => f32_entry,
            Element::Bf16 => bf16_entry,
        };
        let mut parameters = vec![Parameters::u64(address), Parameters::u64(region.elements)];
        parameters.extend(last);
        self.launch_support(entry, region.elements, &parameters)?;
        self.synchronize()
    }

    fn read(&mut self, region: Region, to: &mut [f32]) -> Result<()> {
        let from = self.bytes(region);
        let copy = |to: &mut [u8]| from.copy_to(to).map_err(|e| call("cuMemcpyDtoH", e));
        match region.element {
            Element::F32 => copy(bytemuck::cast_slice_mut(to)),
            Element::Bf16 => {
                let mut narrow = vec![0u16; to.len()];
                copy(bytemuck::cast_slice_mut(&mut narrow))?;
                for (to, bits) in to.iter_mut().zip(narrow) {
                    *to = widen(bits);
                }
                Ok(())
            }
        }
    }

    fn write(&mut self, region: Region, from: &[f32]) -> Result<()> {
        let mut to = self.bytes(region);
        let mut copy = |from: &[u8]| to.copy_from(from).map_err(|e| call("cuMemcpyHtoD", e));
        match region.element {
            Element::F32 => copy(bytemuck::cast_slice(from)),
            Element::Bf16 => {
                let narrow: Vec<u16> = from.iter().map(|&value| narrow(value)).collect();
                copy(bytemuck::cast_slice(&narrow))
            }
        }
    }

    fn launch_facts(&mut self, problem: &Problem) -> Result<LaunchFacts> {
        self.facts_of(problem)
    }

    fn run(&mut self, problem: &Problem, operands: &[Region]) -> Result<()> {
        let work = self.resolve(problem, operands)?;
        self.enqueue(&work)?;
        self.synchronize()
    }

    fn time(
        &mut self,
        problem: &Problem,
        operands: &[Region],
        cache: CacheState,
        launches: u32,
        samples: u32,
    ) -> Result<Vec<f64>> {
        match cache {
            CacheState::Cold => self.time_cold(problem, operands, launches, samples),
            CacheState::Warm => self.time_warm(problem, operands, launches, samples),
        }
    }

    fn telemetry(&mut self) -> Result<Telemetry> {
        self.observe()
    }

    fn neighbours(&mut self) -> Vec<u32> {
        self.probe.neighbours()
    }

    fn open_baseline(&mut self) -> Result<String> {
        Ok(format!("cublas {}", self.cublas()?.version))
    }
}
