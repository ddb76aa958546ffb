//! The embedded PTX on the CPU: executed, checked and counted, never timed.
//!
//! [`VmDevice`] runs the very launches of a GPU through [`ptx_vm`]: out-of-bounds and misaligned
//! accesses, reads of uninitialised memory, races in shared memory and barriers that not all
//! threads reach are errors with a diagnosis. A kernel may access its operands and its scratch
//! memory only: reading one element of a guard band is caught where it happens.
//!
//! | module | what it is for |
//! |---|---|
//! | `facts` | the GPU that kernels are told they run on |

mod facts;

pub use facts::{Target, describe};

use super::cuda::Ptx;
use super::{
    Buffer, CacheState, Device, DeviceError, DeviceInfo, Element, Fill, LaunchFacts, Region,
    Result, Telemetry, narrow, widen,
};
use crate::kernels::{
    Argument, Launch, Place, Problem, Swizzle, TensorMap, launch_on, preparation_on,
};
use ptx_vm::{Arg, Machine, Memory, Module, Options, Ptr, Report, TENSOR_MAP_BYTES};

/// Elements that are filled at a time: 256 KiB.
const PIECE: u64 = 64 << 10;

/// A GPU of which only the results are real.
pub struct VmDevice {
    info: DeviceInfo,
    module: Module,
    machine: Machine,
    memory: Memory,
    allocated: u64,
    buffers: Vec<Ptr>,
    /// Scratch memory and its bytes.
    scratch: Option<(Ptr, u64)>,
}

impl VmDevice {
    /// The embedded PTX of a target.
    ///
    /// # Errors
    /// [`DeviceError::Unavailable`] if the PTX is not part of this build or can't be parsed.
    pub fn open(target: Target) -> Result<Self> {
        let ptx = Ptx::embedded(target.compute_capability()).ok_or_else(|| {
            DeviceError::Unavailable(format!("this build has no PTX for {}", target.name()))
        })?;
        Self::with(describe(target), ptx)
    }

    /// Any PTX, on a device that says `info` of itself: launch shapes follow from it.
    ///
    /// # Errors
    /// [`DeviceError::Unavailable`] with line and text if the PTX can't be parsed. What is wrong
    /// with a single kernel is said when it is run.
    pub fn with(info: DeviceInfo, ptx: Ptx) -> Result<Self> {
        let module = Module::parse(&ptx.text).map_err(|error| {
            DeviceError::Unavailable(format!("PTX ({}, {}): {error}", ptx.target, ptx.origin))
        })?;
        let machine = Machine {
            sms: info.units,
            max_shared_bytes: info
                .shared_bytes_per_block
                .unwrap_or(Machine::default().max_shared_bytes),
        };
        Ok(VmDevice {
            info: DeviceInfo {
                ptx_sha256: Some(ptx.sha256()),
                ptx_source: Some(ptx.origin),
                ..info
            },
            module,
            machine,
            memory: Memory::new(),
            allocated: 0,
            buffers: Vec::new(),
            scratch: None,
        })
    }

    /// Runs `problem` once, what prepares its operands included, and reports on all its launches
    /// together, under the name of the last; with `traffic` the report has sectors, bank conflicts
    /// and footprints. The footprint of operand `i` is named by [`operand_name`], that of the scratch memory
    /// [`SCRATCH`].
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`] if a GPU could not launch it either; [`DeviceError::Call`]
    /// with the diagnosis if the kernel did something wrong.
    pub fn execute(
        &mut self,
        problem: &Problem,
        operands: &[Region],
        traffic: bool,
    ) -> Result<Report> {
        let mut shapes =
            preparation_on(problem, &self.info, operands).map_err(DeviceError::Unsupported)?;
        shapes.push(self.shape(problem, operands)?);
        for region in operands {
            let ptr = self.pointer(*region);
            self.memory.open_only(ptr, region.bytes()).map_err(failed)?;
        }
        let bytes = shapes.iter().map(|shape| shape.scratch_bytes).max();
        let scratch = self.scratch(bytes.unwrap_or(0))?;
        let mut report: Option<Report> = None;
        for shape in &shapes {
            let launch = ptx_vm::Launch {
                entry: shape.entry.to_owned(),
                grid: [shape.grid, 1, 1],
                block: [shape.block[0], shape.block[1], 1],
                cluster: (shape.cluster > 1).then_some([shape.cluster, 1, 1]),
                dependent: shape.dependent,
                shared_bytes: shape.shared_bytes,
                args: self.arguments(shape, operands, scratch)?,
            };
            let options = Options {
                traffic,
                continues: report.is_some(),
                ..Options::default()
            };
            let ran = self
                .machine
                .run(&self.module, &mut self.memory, &launch, &options)
                .map_err(failed)?;
            report = Some(match report {
                Some(before) => ran.after(&before),
                None => ran,
            });
        }
        Ok(report.unwrap_or_default())
    }

    /// The launch on these operands, if it fits.
    fn shape(&self, problem: &Problem, operands: &[Region]) -> Result<Launch> {
        let launch = launch_on(problem, &self.info, operands).map_err(DeviceError::Unsupported)?;
        if launch.shared_bytes > self.machine.max_shared_bytes {
            return Err(DeviceError::Unsupported(format!(
                "{} needs {} bytes of shared memory a block; {} has {}",
                launch.entry, launch.shared_bytes, self.info.name, self.machine.max_shared_bytes
            )));
        }
        Ok(launch)
    }

    /// Scratch memory for a launch that takes some: zeros at first, then as the launch before left
    /// it, so that a kernel that does not leave its counters at 0 is found out by its next run.
    fn scratch(&mut self, bytes: u64) -> Result<Option<Ptr>> {
        if bytes == 0 {
            return Ok(None);
        }
        if let Some((ptr, size)) = self.scratch {
            if bytes <= size {
                return Ok(Some(ptr));
            }
            self.memory.free(ptr).map_err(failed)?;
        }
        let ptr = self.memory.alloc(SCRATCH, bytes as usize);
        self.memory
            .write(ptr, &vec![0; bytes as usize])
            .map_err(failed)?;
        self.scratch = Some((ptr, bytes));
        Ok(Some(ptr))
    }

    fn arguments(
        &self,
        launch: &Launch,
        operands: &[Region],
        scratch: Option<Ptr>,
    ) -> Result<Vec<Arg>> {
        launch
            .arguments
            .iter()
            .map(|argument| {
                Ok(match argument {
                    Argument::Operand(index) => self.pointer(operands[*index]).into(),
                    Argument::Scratch => scratch.unwrap_or_default().into(),
                    Argument::TensorMap(map) => Arg::Bytes(match map {
                        Some(map) => self.encode(map, operands, scratch)?.to_vec(),
                        None => vec![0; TENSOR_MAP_BYTES],
                    }),
                    Argument::U32(value) => (*value).into(),
                    Argument::U64(value) => (*value).into(),
                    Argument::F32(value) => (*value).into(),
                })
            })
            .collect()
    }

    /// A tensor map, encoded.
    fn encode(
        &self,
        map: &TensorMap,
        operands: &[Region],
        scratch: Option<Ptr>,
    ) -> Result<[u8; TENSOR_MAP_BYTES]> {
        let row = map.columns * map.element.bytes();
        ptx_vm::TensorMap {
            base: match map.matrix {
                Place::Operand(index) => self.pointer(operands[index]),
                Place::Scratch(offset) => scratch.unwrap_or_default().offset(offset),
            },
            element_bytes: map.element.bytes() as u32,
            sizes: vec![map.columns, map.rows, map.batch],
            strides: vec![row, row * map.rows],
            box_sizes: vec![map.box_columns, map.box_rows, 1],
            swizzle: match map.swizzle {
                Swizzle::None => ptx_vm::Swizzle::None,
                Swizzle::Bytes64 => ptx_vm::Swizzle::B64,
                Swizzle::Bytes128 => ptx_vm::Swizzle::B128,
            },
        }
        .encode()
        .map_err(failed)
    }

    /// Address of the first element of a region.
    fn pointer(&self, region: Region) -> Ptr {
        self.buffers[region.buffer.0].offset(region.offset)
    }
}

/// Name of the operand with index `index` in diagnoses and footprints.
pub fn operand_name(index: usize) -> String {
    format!("operand {index}")
}

/// Name of the scratch memory in diagnoses and footprints.
pub const SCRATCH: &str = "scratch";

/// An error of the executor, in its own words.
fn failed(error: impl ToString) -> DeviceError {
    DeviceError::Call {
        call: "PTX VM",
        reason: error.to_string(),
    }
}

impl Device for VmDevice {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn free_bytes(&mut self) -> Result<u64> {
        Ok(self.info.memory_bytes.saturating_sub(self.allocated))
    }

    fn alloc(&mut self, bytes: u64) -> Result<Buffer> {
        let free = self.free_bytes()?;
        if bytes > free {
            return Err(DeviceError::OutOfMemory {
                device: self.info.name.clone(),
                needed: bytes,
                free,
            });
        }
        let name = operand_name(self.buffers.len());
        self.buffers.push(self.memory.alloc(&name, bytes as usize));
        self.allocated += bytes;
        Ok(Buffer(self.buffers.len() - 1))
    }

    fn release_all(&mut self) {
        self.memory = Memory::new();
        self.buffers.clear();
        self.scratch = None;
        self.allocated = 0;
    }

    fn fill(&mut self, region: Region, fill: Fill) -> Result<()> {
        let mut first = 0;
        while first < region.elements {
            let count = PIECE.min(region.elements - first);
            let piece: Vec<f32> = (first..first + count)
                .map(|index| fill.stored(region.element, index))
                .collect();
            self.write(region.slice(first, count), &piece)?;
            first += count;
        }
        Ok(())
    }

    fn read(&mut self, region: Region, to: &mut [f32]) -> Result<()> {
        let mut bytes = vec![0; region.bytes() as usize];
        self.memory
            .read(self.pointer(region), &mut bytes)
            .map_err(failed)?;
        match region.element {
            Element::F32 => {
                for (to, word) in to.iter_mut().zip(bytes.as_chunks().0) {
                    *to = f32::from_le_bytes(*word);
                }
            }
            Element::Bf16 => {
                for (to, half) in to.iter_mut().zip(bytes.as_chunks().0) {
                    *to = widen(u16::from_le_bytes(*half));
                }
            }
        }
        Ok(())
    }

    fn write(&mut self, region: Region, from: &[f32]) -> Result<()> {
        let bytes: Vec<u8> = match region.element {
            Element::F32 => from.iter().flat_map(|value| value.to_le_bytes()).collect(),
            Element::Bf16 => from
                .iter()
                .flat_map(|&value| narrow(value).to_le_bytes())
                .collect(),
        };
        self.memory
            .write(self.pointer(region), &bytes)
            .map_err(failed)
    }

    fn launch_facts(&mut self, problem: &Problem) -> Result<LaunchFacts> {
        let launch = self.shape(problem, &[])?;
        let [x, y] = launch.block;
        Ok(LaunchFacts {
            grid: Some(launch.grid.to_string()),
            block: Some(match y {
                1 => x.to_string(),
                _ => format!("{x}x{y}"),
            }),
            shared_bytes: Some(launch.shared_bytes.into()),
            ..LaunchFacts::default()
        })
    }

    fn run(&mut self, problem: &Problem, operands: &[Region]) -> Result<()> {
        self.execute(problem, operands, false).map(drop)
    }

    fn time(
        &mut self,
        _: &Problem,
        _: &[Region],
        _: CacheState,
        _: u32,
        _: u32,
    ) -> Result<Vec<f64>> {
        Err(DeviceError::Unsupported(NO_TIMINGS.to_owned()))
    }

    fn telemetry(&mut self) -> Result<Telemetry> {
        Ok(Telemetry::default())
    }
}

/// Why nothing is timed on the VM.
pub const NO_TIMINGS: &str = "the VM executes PTX to check and to count it and is never a source \
                              of timings; measure with --device cuda or --device cpu";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::{Bench, Data, Form, KernelId, Size};

    fn copy(elements: u64) -> Problem {
        Problem {
            kernel: KernelId::Copy,
            variant: "vector",
            size: Size::Elements(elements),
            form: Form::default(),
            seed: 1,
            data: Data::Random,
        }
    }

    #[test]
    fn nothing_is_timed() {
        let mut device = VmDevice::open(Target::Sm90a).unwrap();
        let error = device
            .time(&copy(8), &[], CacheState::Warm, 1, 1)
            .unwrap_err();
        assert!(matches!(error, DeviceError::Unsupported(text) if text.contains("never")));
        assert_eq!(device.telemetry().unwrap(), Telemetry::default());
    }

    #[test]
    fn a_read_of_a_guard_band_is_diagnosed() {
        let mut device = VmDevice::open(Target::Sm80).unwrap();
        let mut bench = Bench::new(&mut device, copy(1000)).unwrap();
        bench.fill(Data::Random).unwrap();
        let operands = bench.operands().to_vec();
        // Launched for one element more than the source has.
        let source = operands[0].slice(0, 999);
        let error = device
            .run(&copy(1000), &[source, operands[1]])
            .unwrap_err()
            .to_string();
        for part in [
            "copy_vector",
            "PTX line",
            "thread",
            "of `operand 0`",
            "3996 bytes",
        ] {
            assert!(error.contains(part), "no `{part}` in {error}");
        }
        // The host still reads the guard bands.
        let mut bench = Bench::new(&mut device, copy(1000)).unwrap();
        bench.fill(Data::Random).unwrap();
        bench.run().unwrap();
        assert_eq!(bench.check_guards().unwrap(), Ok(()));
    }

    #[test]
    fn memory_is_bounded() {
        let mut device = VmDevice::open(Target::Sm80).unwrap();
        let all = device.free_bytes().unwrap();
        device.alloc(4096).unwrap();
        assert!(matches!(
            device.alloc(all),
            Err(DeviceError::OutOfMemory { free, .. }) if free == all - 4096
        ));
        device.release_all();
        assert_eq!(device.free_bytes(), Ok(all));
    }
}
