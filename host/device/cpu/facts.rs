//! What the machine says of itself.

use crate::device::{DeviceError, DeviceInfo, DeviceKind, Result};
use sysinfo::{CpuRefreshKind, MemoryRefreshKind, RefreshKind, System};

/// Name, cores, caches and memory.
pub(super) fn describe() -> Result<DeviceInfo> {
    let system = look(
        RefreshKind::nothing()
            .with_cpu(CpuRefreshKind::nothing())
            .with_memory(MemoryRefreshKind::nothing().with_ram()),
    )?;
    let name = system
        .cpus()
        .first()
        .map(|cpu| cpu.brand().trim().to_owned())
        .filter(|brand| !brand.is_empty())
        .unwrap_or_else(|| format!("{} CPU", std::env::consts::ARCH));
    let memory_bytes = system.total_memory();
    if memory_bytes == 0 {
        return Err(DeviceError::Unavailable(
            "the system does not say how much memory it has; is /proc mounted?".to_owned(),
        ));
    }
    Ok(DeviceInfo {
        kind: DeviceKind::Cpu,
        name,
        index: None,
        compute_capability: None,
        driver_version: None,
        memory_bytes,
        cache_bytes: last_level_cache_bytes(),
        units: rayon::current_num_threads() as u32,
        attributes: None,
        threads_per_unit: None,
        shared_bytes_per_block: None,
        ptx_sha256: None,
        ptx_target: None,
        ptx_source: None,
    })
}

/// Asks the system.
fn look(what: RefreshKind) -> Result<System> {
    System::new_with_specifics(what).map_err(|error| DeviceError::Unavailable(error.to_string()))
}

/// Bytes that can be allocated without swapping, inside the limit of the process's group.
///
/// # Errors
/// The system does not say.
pub(super) fn free_bytes() -> Result<u64> {
    let system = look(RefreshKind::nothing().with_memory(MemoryRefreshKind::nothing().with_ram()))?;
    let available = system.available_memory();
    Ok(match system.cgroup_limits() {
        Some(limits) if limits.total_memory > 0 => available.min(limits.free_memory),
        _ => available,
    })
}

/// Size of the largest cache of the first core, as Linux reports it.
fn last_level_cache_bytes() -> Option<u64> {
    let caches = std::fs::read_dir("/sys/devices/system/cpu/cpu0/cache").ok()?;
    caches
        .filter_map(|entry| {
            let text = std::fs::read_to_string(entry.ok()?.path().join("size")).ok()?;
            let kib: u64 = text.trim().strip_suffix('K')?.parse().ok()?;
            Some(kib * 1024)
        })
        .max()
}
