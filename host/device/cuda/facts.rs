//! What a GPU says of itself, and the PTX that fits it.

use super::{driver, telemetry::Probe};
use crate::device::{DeviceError, DeviceInfo, DeviceKind, Result};
use crate::roofline::peak::{Attributes, ComputeCapability};
use cust::device::{Device, DeviceAttribute};
use sha2::{Digest, Sha256};

/// `CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN`, which `cust` has no name for.
const MAX_SHARED_BYTES_OPT_IN: i32 = 97;

/// Text of a PTX module and where it is from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ptx {
    /// Its `.target`.
    pub target: String,
    /// `compiled`, `prebuilt` or `file`.
    pub origin: String,
    /// The PTX.
    pub text: String,
}

/// Embedded PTX, best first: target, lowest compute capability, whether later ones run it too.
const EMBEDDED: [(&str, ComputeCapability, bool, &str); 2] = [
    // `a` targets run on their own compute capability only.
    (
        "sm_90a",
        ComputeCapability::new(9, 0),
        false,
        include_str!(concat!(env!("OUT_DIR"), "/sm_90a.ptx")),
    ),
    (
        "sm_80",
        ComputeCapability::new(8, 0),
        true,
        include_str!(concat!(env!("OUT_DIR"), "/sm_80.ptx")),
    ),
];

impl Ptx {
    /// The embedded PTX for a compute capability.
    pub fn embedded(capability: ComputeCapability) -> Option<Ptx> {
        EMBEDDED
            .iter()
            .find(|(_, lowest, later, _)| capability == *lowest || (*later && capability > *lowest))
            .map(|(target, _, _, text)| Ptx {
                target: (*target).to_owned(),
                origin: env!("ROOFTRACE_PTX_ORIGIN").to_owned(),
                text: (*text).to_owned(),
            })
    }

    /// Every embedded module.
    pub fn all_embedded() -> Vec<Ptx> {
        EMBEDDED
            .iter()
            .filter_map(|(_, lowest, _, _)| Ptx::embedded(*lowest))
            .collect()
    }

    /// Reads PTX from a file.
    ///
    /// # Errors
    /// A file that cannot be read or has no `.target`.
    pub fn from_file(path: &std::path::Path) -> std::result::Result<Ptx, String> {
        let text = std::fs::read_to_string(path).map_err(|error| {
            format!("--ptx {}: {error}; give a file of PTX text", path.display())
        })?;
        let target = text
            .lines()
            .find_map(|line| line.trim().strip_prefix(".target "))
            .map(|rest| rest.split([',', ' ']).next().unwrap_or(rest).to_owned())
            .ok_or_else(|| {
                format!(
                    "--ptx {}: no .target line; give a file of PTX text",
                    path.display()
                )
            })?;
        Ok(Ptx {
            target,
            origin: "file".to_owned(),
            text,
        })
    }

    /// SHA-256 of the text, in hexadecimal.
    pub fn sha256(&self) -> String {
        Sha256::digest(self.text.as_bytes())
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }
}

/// Initialises the driver.
fn initialise() -> Result<()> {
    driver::library().map_err(|reason| {
        DeviceError::Unavailable(format!(
            "no CUDA driver: {reason}. Install NVIDIA's driver, or measure the CPU with \
             --device cpu"
        ))
    })?;
    cust::init(cust::CudaFlags::empty()).map_err(|error| {
        DeviceError::Unavailable(format!(
            "the CUDA driver does not start: {}. `rooftrace doctor` shows what is installed",
            driver::last_error().unwrap_or_else(|| format!("{error:?}"))
        ))
    })
}

/// Name and compute capability of every GPU.
///
/// # Errors
/// [`DeviceError::Unavailable`] says why there is none.
pub fn list() -> Result<Vec<(String, ComputeCapability)>> {
    initialise()?;
    let count = Device::num_devices().map_err(|e| super::call("cuDeviceGetCount", e))?;
    (0..count)
        .map(|index| {
            let device = Device::get_device(index).map_err(|e| super::call("cuDeviceGet", e))?;
            let name = device
                .name()
                .map_err(|e| super::call("cuDeviceGetName", e))?;
            Ok((name, capability(device)?))
        })
        .collect()
}

/// The GPU with this index.
pub(super) fn device(index: u32) -> Result<Device> {
    let gpus = list()?;
    if gpus.is_empty() {
        return Err(DeviceError::Unavailable(
            "the CUDA driver finds no GPU. Check CUDA_VISIBLE_DEVICES and `nvidia-smi`".to_owned(),
        ));
    }
    if index as usize >= gpus.len() {
        let known: Vec<String> = gpus
            .iter()
            .enumerate()
            .map(|(i, (name, capability))| format!("cuda:{i} ({name}, {capability})"))
            .collect();
        return Err(DeviceError::Unavailable(format!(
            "there is no cuda:{index}; there are: {}",
            known.join(", ")
        )));
    }
    Device::get_device(index).map_err(|e| super::call("cuDeviceGet", e))
}

fn attribute(device: Device, attribute: DeviceAttribute) -> Option<u32> {
    device
        .get_attribute(attribute)
        .ok()
        .and_then(|value| u32::try_from(value).ok())
}

fn capability(device: Device) -> Result<ComputeCapability> {
    let part = |name| {
        device
            .get_attribute(name)
            .map(|value| value.max(0) as u32)
            .map_err(|e| super::call("cuDeviceGetAttribute", e))
    };
    Ok(ComputeCapability::new(
        part(DeviceAttribute::ComputeCapabilityMajor)?,
        part(DeviceAttribute::ComputeCapabilityMinor)?,
    ))
}

/// Facts that need no context, and the PTX that will run.
pub(super) fn describe(device: Device, index: u32, ptx: Option<Ptx>) -> Result<(DeviceInfo, Ptx)> {
    let name = device
        .name()
        .map_err(|e| super::call("cuDeviceGetName", e))?;
    let capability = capability(device)?;
    let ptx = match ptx {
        Some(ptx) => ptx,
        None => Ptx::embedded(capability).ok_or_else(|| {
            DeviceError::Unavailable(format!(
                "{name} has compute capability {capability}; rooftrace's kernels need 8.0 or \
                 later (Ampere). Measure another GPU, or the CPU with --device cpu"
            ))
        })?,
    };
    let memory = device
        .total_memory()
        .map_err(|e| super::call("cuDeviceTotalMem", e))?;
    let positive = |value: Option<u32>| value.filter(|&value| value > 0);
    let info = DeviceInfo {
        kind: DeviceKind::Cuda,
        name,
        index: Some(index),
        compute_capability: Some(capability),
        driver_version: None,
        memory_bytes: memory as u64,
        cache_bytes: positive(attribute(device, DeviceAttribute::L2CacheSize)).map(u64::from),
        units: positive(attribute(device, DeviceAttribute::MultiprocessorCount)).unwrap_or(1),
        attributes: None,
        threads_per_unit: positive(attribute(
            device,
            DeviceAttribute::MaxThreadsPerMultiprocessor,
        )),
        shared_bytes_per_block: driver::device_attribute(device.as_raw(), MAX_SHARED_BYTES_OPT_IN)
            .and_then(|bytes| u32::try_from(bytes).ok())
            .filter(|&bytes| bytes > 0),
        ptx_target: Some(ptx.target.clone()),
        ptx_sha256: Some(ptx.sha256()),
        ptx_source: Some(ptx.origin.clone()),
    };
    Ok((info, ptx))
}

/// Facts that NVML completes: newer drivers no longer report every clock as an attribute.
pub(super) fn complete(info: &mut DeviceInfo, device: Device, probe: &Probe) {
    info.driver_version = probe.driver_version().or_else(|| {
        let version = cust::CudaApiVersion::get().ok()?;
        Some(format!("CUDA {}.{}", version.major(), version.minor()))
    });
    let khz = |name| {
        attribute(device, name)
            .filter(|&khz| khz > 0)
            .map(|khz| f64::from(khz) * 1e3)
    };
    let sm_clock_hz = khz(DeviceAttribute::ClockRate).or_else(|| probe.most_sm_clock_hz());
    let memory_bus_bits = attribute(device, DeviceAttribute::GlobalMemoryBusWidth)
        .filter(|&bits| bits > 0)
        .or_else(|| probe.memory_bus_bits());
    let memory_clock_hz =
        khz(DeviceAttribute::MemoryClockRate).or_else(|| probe.most_memory_clock_hz());
    info.attributes = info
        .compute_capability
        .zip(sm_clock_hz)
        .map(|(capability, clock)| Attributes {
            compute_capability: capability,
            sms: info.units,
            sm_clock_hz: clock,
            memory_bus_bits,
            memory_clock_hz,
        });
}
