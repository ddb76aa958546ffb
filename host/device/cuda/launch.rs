//! Parameters, functions and launches.

use super::driver::Extras;
use super::library::LibraryCall;
use super::{CudaDevice, Ptx, call, driver, tensor_map};
use crate::device::{DeviceError, LaunchFacts, Region, Result};
use crate::kernels::{Argument, Launch, Place, Problem, TensorMap, launch_on, preparation_on};
use cust::function::{Function, FunctionAttribute};
use cust::memory::DeviceBuffer;
use cust::module::Module;
use cust::sys::CUfunction;
use gpu_kernels::params::SUPPORT_BLOCK;
use std::ffi::{CString, c_void};

/// Dynamic shared memory that needs no opting in.
const SHARED_BYTES_WITHOUT_OPT_IN: u32 = 48 * 1024;

/// One kernel parameter in memory order: a word of 8 bytes, or a tensor map.
#[derive(Debug, Clone, Copy)]
pub(super) enum Parameters {
    Word([u8; 8]),
    TensorMap([u64; tensor_map::WORDS]),
}

impl Parameters {
    /// A 32-bit integer.
    pub(super) fn u32(value: u32) -> Self {
        Self::bytes(&value.to_ne_bytes())
    }

    /// A 64-bit integer or an address.
    pub(super) fn u64(value: u64) -> Self {
        Self::bytes(&value.to_ne_bytes())
    }

    fn bytes(bytes: &[u8]) -> Self {
        let mut all = [0; 8];
        all[..bytes.len()].copy_from_slice(bytes);
        Parameters::Word(all)
    }
}

/// What is timed: the launches of a kernel, in order, or the library call that it is compared with.
pub(super) enum Work {
    Launches(Vec<Resolved>),
    Library(LibraryCall),
}

/// A launch whose function and parameters are known: enqueueing it is one call of the driver.
pub(super) struct Resolved {
    function: CUfunction,
    grid: u32,
    block: [u32; 2],
    extras: Extras,
    shared_bytes: u32,
    parameters: Vec<Parameters>,
}

/// Loads PTX into the current context.
///
/// # Errors
/// What the driver's compiler says about it.
pub(super) fn load(ptx: &Ptx) -> Result<Module> {
    let text = CString::new(ptx.text.as_str()).map_err(|_| {
        DeviceError::Unavailable(format!(
            "the PTX of {} contains a NUL character",
            ptx.origin
        ))
    })?;
    Module::from_ptx_cstr(&text, &[]).map_err(|error| {
        let log = driver::compiler_log(&text)
            .map(|log| format!("\n{log}"))
            .unwrap_or_default();
        let reason = driver::last_error().unwrap_or_else(|| format!("{error:?}"));
        DeviceError::Unavailable(format!(
            "the driver does not take the PTX ({}, {}): {reason}{log}\n\
             A newer driver may; `rooftrace doctor` shows the one installed",
            ptx.target, ptx.origin
        ))
    })
}

impl CudaDevice {
    /// The function of an entry.
    pub(super) fn function(&self, entry: &str) -> Result<Function<'_>> {
        self.module.get_function(entry).map_err(|_| {
            DeviceError::Unsupported(format!(
                "the loaded PTX has no entry `{entry}`{}",
                match self.info.ptx_source.as_deref() {
                    Some("file") => " (given with --ptx)",
                    _ => "",
                }
            ))
        })
    }

    /// What is run for a problem on these operands, ready to be enqueued.
    pub(super) fn resolve(&mut self, problem: &Problem, operands: &[Region]) -> Result<Work> {
        if problem.is_baseline() {
            return Ok(Work::Library(self.library_call(problem, operands)?));
        }
        let mut shapes =
            preparation_on(problem, &self.info, operands).map_err(DeviceError::Unsupported)?;
        shapes.push(self.shape(problem, operands)?);
        let bytes = shapes.iter().map(|launch| launch.scratch_bytes).max();
        let scratch = self.scratch(bytes.unwrap_or(0))?;
        let launches = shapes
            .iter()
            .map(|launch| self.resolve_launch(launch, operands, scratch))
            .collect::<Result<_>>()?;
        Ok(Work::Launches(launches))
    }

    /// A launch on these operands and this scratch memory.
    fn resolve_launch(
        &self,
        launch: &Launch,
        operands: &[Region],
        scratch: u64,
    ) -> Result<Resolved> {
        let function = self.function(launch.entry)?;
        self.opt_in(&function, launch)?;
        let parameters = launch
            .arguments
            .iter()
            .map(|argument| {
                Ok(match argument {
                    Argument::Operand(index) => Parameters::u64(self.address(operands[*index])),
                    Argument::Scratch => Parameters::u64(scratch),
                    Argument::TensorMap(Some(map)) => {
                        Parameters::TensorMap(self.encode(map, operands, scratch)?)
                    }
                    Argument::TensorMap(None) => Parameters::TensorMap([0; tensor_map::WORDS]),
                    Argument::U32(value) => Parameters::u32(*value),
                    Argument::U64(value) => Parameters::u64(*value),
                    Argument::F32(value) => Parameters::u32(value.to_bits()),
                })
            })
            .collect::<Result<_>>()?;
        Ok(Resolved {
            function: function.to_raw(),
            grid: launch.grid,
            block: launch.block,
            extras: Extras {
                cluster: launch.cluster,
                dependent: launch.dependent,
            },
            shared_bytes: launch.shared_bytes,
            parameters,
        })
    }

    /// An encoded tensor map.
    fn encode(
        &self,
        map: &TensorMap,
        operands: &[Region],
        scratch: u64,
    ) -> Result<[u64; tensor_map::WORDS]> {
        let address = match map.matrix {
            Place::Operand(index) => self.address(operands[index]),
            Place::Scratch(offset) => scratch + offset,
        };
        tensor_map::encode(map, address).map_err(|reason| DeviceError::Call {
            call: "cuTensorMapEncodeTiled",
            reason,
        })
    }

    /// Address of at least `bytes` bytes of scratch memory, 0 if there are none to be had.
    ///
    /// New memory is zeroed, and every kernel leaves the counters in it at 0.
    fn scratch(&mut self, bytes: u64) -> Result<u64> {
        let words = bytes.div_ceil(4) as usize;
        if words > self.scratch.as_ref().map_or(0, |buffer| buffer.len()) {
            self.synchronize()?;
            // Freed first: the two together may not fit.
            self.scratch = None;
            let zeroed = DeviceBuffer::zeroed(words)
                .map_err(|error| self.no_memory(error, 4 * words as u64))?;
            self.scratch = Some(zeroed);
        }
        Ok(self
            .scratch
            .as_ref()
            .map_or(0, |buffer| buffer.as_device_ptr().as_raw()))
    }

    /// The launch shape of a problem on these operands.
    fn shape(&self, problem: &Problem, operands: &[Region]) -> Result<Launch> {
        launch_on(problem, &self.info, operands).map_err(DeviceError::Unsupported)
    }

    /// Opts in to shared memory above 48 KiB.
    fn opt_in(&self, function: &Function<'_>, launch: &Launch) -> Result<()> {
        if launch.shared_bytes <= SHARED_BYTES_WITHOUT_OPT_IN {
            return Ok(());
        }
        if let Some(most) = self.info.shared_bytes_per_block
            && launch.shared_bytes > most
        {
            return Err(DeviceError::Unsupported(format!(
                "{} needs {} bytes of shared memory a block; {} has {most}",
                launch.entry, launch.shared_bytes, self.info.name
            )));
        }
        // SAFETY: the function belongs to this device's module, whose context is current.
        unsafe { driver::allow_shared_bytes(function.to_raw().cast(), launch.shared_bytes) }
            .map_err(|reason| DeviceError::Call {
                call: "cuFuncSetAttribute",
                reason,
            })
    }

    /// Puts a launch or a library call on the stream.
    pub(super) fn enqueue(&self, work: &Work) -> Result<()> {
        match work {
            Work::Launches(launches) => launches
                .iter()
                .try_for_each(|launch| self.enqueue_launch(launch)),
            Work::Library(call) => self.enqueue_library(*call),
        }
    }

    /// Puts a launch on the stream.
    fn enqueue_launch(&self, launch: &Resolved) -> Result<()> {
        let mut pointers: Vec<*mut c_void> = launch
            .parameters
            .iter()
            .map(|parameter| match parameter {
                Parameters::Word(bytes) => bytes.as_ptr().cast_mut().cast(),
                Parameters::TensorMap(words) => words.as_ptr().cast_mut().cast(),
            })
            .collect();
        if launch.extras != Extras::NONE {
            // SAFETY: as below; the entry reads the size of its cluster, and waits for the launch in
            // front of it where it may start earlier.
            return unsafe {
                driver::launch_with(
                    launch.extras,
                    launch.function,
                    launch.grid,
                    launch.block,
                    launch.shared_bytes,
                    self.stream.as_inner(),
                    &mut pointers,
                )
            }
            .map_err(|reason| DeviceError::Call {
                call: "cuLaunchKernelEx",
                reason,
            });
        }
        // Through cust's FFI, because `Stream::launch` takes a `Function` that borrows the module.
        // SAFETY: the parameters are those of the entry's signature (`gpu-kernels` and the
        // registry are kept in step by the tests over every kernel), each in as
        // many bytes, which outlive the call; operands lie in live buffers of this context.
        let code = unsafe {
            cust::sys::cuLaunchKernel(
                launch.function,
                launch.grid,
                1,
                1,
                launch.block[0],
                launch.block[1],
                1,
                launch.shared_bytes,
                self.stream.as_inner(),
                pointers.as_mut_ptr(),
                std::ptr::null_mut(),
            )
        };
        if code == cust::sys::cudaError_enum::CUDA_SUCCESS {
            return Ok(());
        }
        let reason = driver::last_error().unwrap_or_else(|| format!("{code:?}"));
        Err(DeviceError::Call {
            call: "cuLaunchKernel",
            reason,
        })
    }

    /// Puts a support kernel over `elements` elements on the stream.
    pub(super) fn launch_support(
        &self,
        entry: &str,
        elements: u64,
        parameters: &[Parameters],
    ) -> Result<()> {
        let full = u64::from(self.info.units) * 8;
        let grid = elements.div_ceil(u64::from(SUPPORT_BLOCK)).clamp(1, full) as u32;
        self.launch_raw(entry, grid, SUPPORT_BLOCK, parameters)
    }

    /// Puts a kernel with a one-dimensional block on the stream.
    pub(super) fn launch_raw(
        &self,
        entry: &str,
        grid: u32,
        block: u32,
        parameters: &[Parameters],
    ) -> Result<()> {
        let function = self.function(entry)?.to_raw();
        self.enqueue_launch(&Resolved {
            function,
            grid,
            block: [block, 1],
            extras: Extras::NONE,
            shared_bytes: 0,
            parameters: parameters.to_vec(),
        })
    }

    /// Grid, block, registers, shared memory and occupancy of a problem's launch.
    pub(super) fn facts_of(&self, problem: &Problem) -> Result<LaunchFacts> {
        let launch = self.shape(problem, &[])?;
        let function = self.function(launch.entry)?;
        self.opt_in(&function, &launch)?;
        let attribute = |name| {
            function
                .get_attribute(name)
                .map_err(|e| call("cuFuncGetAttribute", e))
                .map(|value| value.max(0) as u32)
        };
        let registers = attribute(FunctionAttribute::NumRegisters)?;
        let static_shared = attribute(FunctionAttribute::SharedMemorySizeBytes)?;
        let [x, y] = launch.block;
        let blocks = function
            .max_active_blocks_per_multiprocessor((x, y, 1).into(), launch.shared_bytes as usize)
            .map_err(|e| call("cuOccupancyMaxActiveBlocksPerMultiprocessor", e))?;
        let resident = f64::from(blocks) * f64::from(x * y);
        Ok(LaunchFacts {
            grid: Some(launch.grid.to_string()),
            block: Some(if y == 1 {
                x.to_string()
            } else {
                format!("{x}x{y}")
            }),
            registers: Some(registers),
            shared_bytes: Some(u64::from(static_shared) + u64::from(launch.shared_bytes)),
            occupancy: self
                .info
                .threads_per_unit
                .map(|most| resident / f64::from(most)),
        })
    }
}
