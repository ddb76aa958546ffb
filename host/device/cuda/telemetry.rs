//! The clock probe, and NVML where it is installed.

use super::{CudaDevice, call};
use crate::device::{DeviceError, Result, Telemetry, Throttle};
use cust::device::{Device, DeviceAttribute};
use cust::memory::DeviceBuffer;
use nvml_wrapper::Nvml;
use nvml_wrapper::bitmasks::device::ThrottleReasons;
use nvml_wrapper::enum_wrappers::device::{Clock, TemperatureSensor};
use std::cell::OnceCell;
use std::ffi::OsStr;

/// How long the probe counts: the global timer ticks every 32 ns to 1 us, so its error stays
/// under 1 %.
const PROBE_NS: u64 = 200_000;

/// Clocks outside of this range are not those of a GPU: the counters disagree.
const CREDIBLE_HZ: std::ops::Range<f64> = 1e8..5e9;

/// What observes a GPU: the probe's result buffer, and its handle in NVML.
pub(super) struct Probe {
    buffer: OnceCell<DeviceBuffer<u64>>,
    nvml: Option<Nvml>,
    bus_id: Option<String>,
}

/// Opens NVML under the names it is installed as.
fn open_nvml() -> std::result::Result<Nvml, String> {
    let mut reason = String::new();
    for name in ["libnvidia-ml.so.1", "libnvidia-ml.so", "nvml.dll"] {
        match Nvml::builder().lib_path(OsStr::new(name)).init() {
            Ok(nvml) => return Ok(nvml),
            Err(error) if reason.is_empty() => reason = error.to_string(),
            Err(_) => {}
        }
    }
    Err(reason)
}

/// Version of NVML's driver.
///
/// # Errors
/// Why NVML cannot be opened.
pub fn nvml_version() -> std::result::Result<String, String> {
    open_nvml()?
        .sys_driver_version()
        .map_err(|error| error.to_string())
}

impl Probe {
    /// Opens what there is for this GPU. NVML is optional.
    pub(super) fn new(device: Device) -> Self {
        let part = |attribute| device.get_attribute(attribute).ok();
        let bus_id = || {
            let domain = part(DeviceAttribute::PciDomainId)?;
            let bus = part(DeviceAttribute::PciBusId)?;
            let slot = part(DeviceAttribute::PciDeviceId)?;
            Some(format!("{domain:08x}:{bus:02x}:{slot:02x}.0"))
        };
        Probe {
            buffer: OnceCell::new(),
            nvml: open_nvml().ok(),
            bus_id: bus_id(),
        }
    }

    /// Where the probe kernel writes cycles and nanoseconds.
    pub(super) fn buffer(&self) -> Result<&DeviceBuffer<u64>> {
        if self.buffer.get().is_none() {
            let buffer = DeviceBuffer::zeroed(2).map_err(|e| call("cuMemAlloc", e))?;
            // Nobody else can have set it: the device is used from one thread.
            let _ = self.buffer.set(buffer);
        }
        self.buffer.get().ok_or_else(|| DeviceError::Call {
            call: "clock probe",
            reason: "its buffer is gone".to_owned(),
        })
    }

    /// This GPU in NVML.
    fn device(&self) -> Option<nvml_wrapper::Device<'_>> {
        self.nvml
            .as_ref()?
            .device_by_pci_bus_id(self.bus_id.as_deref()?)
            .ok()
    }

    /// Version of the driver, as users know it.
    pub(super) fn driver_version(&self) -> Option<String> {
        self.nvml.as_ref()?.sys_driver_version().ok()
    }

    /// Highest SM clock in Hz.
    pub(super) fn most_sm_clock_hz(&self) -> Option<f64> {
        self.device()?
            .max_clock_info(Clock::SM)
            .ok()
            .map(|mhz| f64::from(mhz) * 1e6)
    }

    /// Highest memory clock in Hz.
    pub(super) fn most_memory_clock_hz(&self) -> Option<f64> {
        self.device()?
            .max_clock_info(Clock::Memory)
            .ok()
            .map(|mhz| f64::from(mhz) * 1e6)
    }

    /// Width of the memory bus in bits.
    pub(super) fn memory_bus_bits(&self) -> Option<u32> {
        self.device()?.memory_bus_width().ok()
    }

    /// Other processes that compute on this GPU.
    pub(super) fn neighbours(&self) -> Vec<u32> {
        let listed = self
            .device()
            .and_then(|device| device.running_compute_processes().ok())
            .unwrap_or_default();
        let pids: Vec<u32> = listed.iter().map(|process| process.pid).collect();
        others(std::process::id(), &pids)
    }

    /// Power, temperature and throttle reasons.
    fn observe(&self) -> Telemetry {
        let Some(device) = self.device() else {
            return Telemetry::default();
        };
        Telemetry {
            clock_hz: None,
            power_w: device
                .power_usage()
                .ok()
                .map(|milliwatts| f64::from(milliwatts) * 1e-3),
            temperature_c: device
                .temperature(TemperatureSensor::Gpu)
                .ok()
                .map(f64::from),
            throttle: device.current_throttle_reasons().ok().map(throttle),
        }
    }
}

/// The processes other than `own` among those that NVML lists.
///
/// In a container NVML may list the host's numbers, among which this process has another one:
/// then a single entry is taken for it, and of several one cannot be told from the others.
fn others(own: u32, listed: &[u32]) -> Vec<u32> {
    let mut others: Vec<u32> = listed.iter().copied().filter(|&pid| pid != own).collect();
    others.sort_unstable();
    others.dedup();
    let named = listed.contains(&own);
    if named || others.len() > 1 {
        others
    } else {
        Vec::new()
    }
}

/// The reasons among NVML's that hold the clock back against the user's will.
fn throttle(reasons: ThrottleReasons) -> Vec<Throttle> {
    let thermal = ThrottleReasons::SW_THERMAL_SLOWDOWN | ThrottleReasons::HW_THERMAL_SLOWDOWN;
    let hardware = ThrottleReasons::HW_SLOWDOWN | ThrottleReasons::HW_POWER_BRAKE_SLOWDOWN;
    [
        (ThrottleReasons::SW_POWER_CAP, Throttle::PowerCap),
        (thermal, Throttle::Thermal),
        (hardware, Throttle::Hardware),
    ]
    .into_iter()
    .filter_map(|(mask, reason)| reasons.intersects(mask).then_some(reason))
    .collect()
}

impl CudaDevice {
    /// The state of the device now. Power and throttle are read first, while they are still
    /// those of the work that has just ended.
    pub(super) fn observe(&mut self) -> Result<Telemetry> {
        self.launch_probe(PROBE_NS)?;
        let observed = self.probe.observe();
        let [cycles, nanoseconds] = self.read_probe()?;
        let hz = cycles as f64 * 1e9 / nanoseconds as f64;
        let credible = nanoseconds >= PROBE_NS && CREDIBLE_HZ.contains(&hz);
        Ok(Telemetry {
            clock_hz: credible.then_some(hz),
            ..observed
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_process_is_no_neighbour() {
        assert!(others(7, &[]).is_empty());
        assert!(others(7, &[7]).is_empty());
        assert_eq!(others(7, &[9, 7, 8, 9]), [8, 9]);
    }

    #[test]
    fn under_another_numbering_one_entry_is_this_process() {
        assert!(others(7, &[4711]).is_empty());
        assert_eq!(others(7, &[4711, 4712]), [4711, 4712]);
    }

    #[test]
    fn only_what_holds_the_clock_back_counts_as_throttle() {
        let idle = ThrottleReasons::GPU_IDLE | ThrottleReasons::APPLICATIONS_CLOCKS_SETTING;
        assert!(throttle(idle).is_empty());
        assert_eq!(
            throttle(ThrottleReasons::SW_POWER_CAP | ThrottleReasons::HW_THERMAL_SLOWDOWN),
            [Throttle::PowerCap, Throttle::Thermal]
        );
        assert_eq!(
            throttle(ThrottleReasons::HW_POWER_BRAKE_SLOWDOWN),
            [Throttle::Hardware]
        );
    }
}
