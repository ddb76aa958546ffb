//! Which device `--device` means.

use super::cpu::CpuDevice;
use super::cuda::{CudaDevice, Ptx};
use super::vm::{Target, VmDevice};
use super::{Device, DeviceError, Result};

/// The value of `--device`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeviceChoice {
    /// The first GPU, or the CPU if there is none that can be used.
    Auto,
    /// The CPU.
    Cpu,
    /// The GPU with this index.
    Cuda(u32),
    /// The embedded PTX of a target, executed on the CPU: for checks, not for timings.
    Vm(Target),
}

impl std::str::FromStr for DeviceChoice {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let wrong = || {
            format!(
                "`{text}` is no device; allowed: auto, cpu, cuda, cuda:I with the index I of a GPU; \
                 to check the PTX without one: vm, vm:sm_80"
            )
        };
        match text {
            "auto" => Ok(DeviceChoice::Auto),
            "cpu" => Ok(DeviceChoice::Cpu),
            "cuda" => Ok(DeviceChoice::Cuda(0)),
            "vm" | "vm:sm_90a" => Ok(DeviceChoice::Vm(Target::Sm90a)),
            "vm:sm_80" => Ok(DeviceChoice::Vm(Target::Sm80)),
            _ => {
                let index = text.strip_prefix("cuda:").ok_or_else(wrong)?;
                let digits = !index.is_empty() && index.bytes().all(|byte| byte.is_ascii_digit());
                index
                    .parse()
                    .ok()
                    .filter(|_| digits)
                    .map(DeviceChoice::Cuda)
                    .ok_or_else(wrong)
            }
        }
    }
}

impl std::fmt::Display for DeviceChoice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            DeviceChoice::Auto => f.write_str("auto"),
            DeviceChoice::Cpu => f.write_str("cpu"),
            DeviceChoice::Cuda(index) => write!(f, "cuda:{index}"),
            DeviceChoice::Vm(target) => write!(f, "vm:{}", target.name()),
        }
    }
}

/// An open device.
pub struct Opened {
    /// The device.
    pub device: Box<dyn Device>,
    /// Why the CPU is measured although no device was named.
    pub fallback: Option<String>,
}

/// Opens the device that `choice` means; `ptx` replaces the embedded PTX of a GPU.
///
/// # Errors
/// [`DeviceError::Unavailable`] if the named device cannot be used.
pub fn open(choice: DeviceChoice, ptx: Option<Ptx>) -> Result<Opened> {
    let cpu = |fallback| {
        Ok(Opened {
            device: Box::new(CpuDevice::new()?),
            fallback,
        })
    };
    match choice {
        DeviceChoice::Cpu if ptx.is_some() => Err(DeviceError::Unavailable(
            "--ptx needs a GPU; leave it out with --device cpu".to_owned(),
        )),
        DeviceChoice::Cpu => cpu(None),
        DeviceChoice::Cuda(index) => Ok(Opened {
            device: Box::new(CudaDevice::open(index, ptx)?),
            fallback: None,
        }),
        DeviceChoice::Vm(target) => Ok(Opened {
            device: Box::new(match ptx {
                Some(ptx) => VmDevice::with(super::vm::describe(target), ptx)?,
                None => VmDevice::open(target)?,
            }),
            fallback: None,
        }),
        DeviceChoice::Auto if ptx.is_some() => open(DeviceChoice::Cuda(0), ptx),
        DeviceChoice::Auto => match CudaDevice::open(0, None) {
            Ok(device) => Ok(Opened {
                device: Box::new(device),
                fallback: None,
            }),
            Err(DeviceError::Unavailable(reason)) => cpu(Some(reason)),
            Err(error) => Err(error),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_read_as_written() {
        for (text, choice) in [
            ("auto", DeviceChoice::Auto),
            ("cpu", DeviceChoice::Cpu),
            ("cuda", DeviceChoice::Cuda(0)),
            ("cuda:3", DeviceChoice::Cuda(3)),
            ("vm", DeviceChoice::Vm(Target::Sm90a)),
            ("vm:sm_90a", DeviceChoice::Vm(Target::Sm90a)),
            ("vm:sm_80", DeviceChoice::Vm(Target::Sm80)),
        ] {
            assert_eq!(text.parse(), Ok(choice));
        }
        assert_eq!(DeviceChoice::Cuda(3).to_string(), "cuda:3");
        assert_eq!(DeviceChoice::Vm(Target::Sm80).to_string(), "vm:sm_80");
    }

    #[test]
    fn anything_else_is_refused_with_what_is_allowed() {
        for text in [
            "",
            "gpu",
            "cuda:",
            "cuda:-1",
            "cuda:+1",
            "cuda:99999999999",
            "CPU",
            "vm:",
            "vm:sm_70",
        ] {
            let error = text.parse::<DeviceChoice>().unwrap_err();
            assert!(error.contains("allowed: auto, cpu, cuda"), "{error}");
        }
    }
}
