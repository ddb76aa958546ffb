//! `doctor`: what is installed, what is missing, and how to fix it.

use super::error::CliError;
use crate::device::Device;
use crate::device::cpu::CpuDevice;
use crate::device::cuda::{self, CudaDevice, Ptx};
use crate::roofline::db::Database;
use crate::roofline::units::binary_bytes;
use std::io::Write;

/// Show what is installed, what is missing, and how to fix it.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = "Examples:
  rooftrace doctor
      program, embedded PTX, driver, GPUs, NVML, CPU
  rooftrace doctor | grep missing
      only what is missing")]
pub struct DoctorArgs {}

/// One finding.
struct Finding {
    /// `ok`, `note` or `missing`.
    state: &'static str,
    what: &'static str,
    text: String,
    /// How to fix it.
    fix: Option<String>,
}

impl Finding {
    fn ok(what: &'static str, text: String) -> Self {
        Finding {
            state: "ok",
            what,
            text,
            fix: None,
        }
    }

    fn missing(what: &'static str, text: String, fix: &str) -> Self {
        Finding {
            state: "missing",
            what,
            text,
            fix: Some(fix.to_owned()),
        }
    }

    fn note(what: &'static str, text: String, fix: &str) -> Self {
        Finding {
            state: "note",
            what,
            text,
            fix: Some(fix.to_owned()),
        }
    }
}

/// Prints the findings. A missing GPU is no error: the CPU can be measured.
///
/// # Errors
/// stdout cannot be written.
pub fn run(_: &DoctorArgs, out: &mut dyn Write) -> Result<(), CliError> {
    for finding in findings() {
        writeln!(
            out,
            "{:8}{:10}{}",
            finding.state, finding.what, finding.text
        )?;
        if let Some(fix) = finding.fix {
            writeln!(out, "{:18}fix: {fix}", "")?;
        }
    }
    Ok(())
}

fn findings() -> Vec<Finding> {
    let mut findings = vec![program()];
    findings.extend(Ptx::all_embedded().iter().map(|ptx| {
        Finding::ok(
            "ptx",
            format!("{}, {}, sha256 {}", ptx.target, ptx.origin, ptx.sha256()),
        )
    }));
    if env!("ROOFTRACE_PTX_ORIGIN") == "prebuilt" {
        findings.push(Finding::note(
            "compiler",
            format!(
                "the kernels were not compiled in this build; their PTX is the prebuilt copy, made \
                 by {}",
                env!("ROOFTRACE_PTX_COMPILER")
            ),
            "to compile them: rustup component add rust-src (or, on Debian: apt-get install \
             rustc-web rust-web-src), then build again",
        ));
    } else {
        findings.push(Finding::ok(
            "compiler",
            format!(
                "the kernels were compiled by {}",
                env!("ROOFTRACE_PTX_COMPILER")
            ),
        ));
    }
    findings.extend(gpus());
    findings.push(match cuda::nvml_version() {
        Ok(version) => Finding::ok("nvml", format!("driver {version}")),
        Err(reason) => Finding::note(
            "nvml",
            format!("not there ({reason}): power, temperature and throttle reasons stay empty"),
            "NVML comes with NVIDIA's driver (libnvidia-ml.so.1)",
        ),
    });
    findings.push(match CpuDevice::new() {
        Ok(device) => {
            let info = device.info();
            Finding::ok(
                "cpu",
                format!(
                    "{}, {} threads, {}",
                    info.name,
                    info.units,
                    binary_bytes(info.memory_bytes)
                ),
            )
        }
        Err(error) => Finding::missing("cpu", error.to_string(), "mount /proc"),
    });
    findings
}

fn program() -> Finding {
    let commit = match env!("ROOFTRACE_GIT_COMMIT") {
        "" => "built outside a git checkout",
        commit => commit,
    };
    Finding::ok(
        "program",
        format!("rooftrace {} ({commit})", env!("CARGO_PKG_VERSION")),
    )
}

/// The driver and every GPU.
fn gpus() -> Vec<Finding> {
    if let Err(reason) = cuda::driver::library() {
        return vec![Finding::missing(
            "driver",
            format!("no CUDA driver: {reason}"),
            "install NVIDIA's driver (libcuda.so.1), or measure the CPU with --device cpu",
        )];
    }
    let gpus = match cuda::list() {
        Ok(gpus) if gpus.is_empty() => {
            return vec![Finding::missing(
                "gpu",
                "the driver finds no GPU".to_owned(),
                "check CUDA_VISIBLE_DEVICES and `nvidia-smi`",
            )];
        }
        Ok(gpus) => gpus,
        Err(error) => {
            return vec![Finding::missing(
                "driver",
                error.to_string(),
                "check that `nvidia-smi` works; reload or update NVIDIA's driver",
            )];
        }
    };
    let database = Database::builtin().ok();
    (0..gpus.len() as u32)
        .map(|index| match CudaDevice::open(index, None) {
            Ok(device) => {
                let info = device.info();
                let known = database
                    .as_ref()
                    .and_then(|db| db.find_by_driver_name(&info.name));
                Finding::ok(
                    "gpu",
                    format!(
                        "cuda:{index} {}, compute capability {}, driver {}, {}, {}",
                        info.name,
                        info.compute_capability
                            .map(|c| c.to_string())
                            .unwrap_or_default(),
                        info.driver_version.as_deref().unwrap_or("unknown"),
                        binary_bytes(info.memory_bytes),
                        match known {
                            Some(gpu) => format!("datasheet of {} known", gpu.name),
                            None => "datasheet not known (add it with --spec)".to_owned(),
                        }
                    ),
                )
            }
            Err(error) => Finding::missing(
                "gpu",
                format!("cuda:{index} {}: {error}", gpus[index as usize].0),
                "measure another device: `rooftrace devices` lists them",
            ),
        })
        .collect()
}
