//! Which sets of `mix_ring` fall to which block.

use crate::device::DeviceInfo;
use crate::kernels::stream;
use gpu_kernels::params::{
    MIX_RING_BLOCKS_PER_SM, MIX_RING_ELEMENTS, MIX_RING_SHARED_BYTES, STREAM_BLOCK,
};

/// Blocks of a launch for each that is resident at a time: many enough that a multiprocessor which
/// is served faster takes more of them, few enough that a block is long against its start.
const WAVES: u32 = 8;

/// The whole sets of an array over the blocks of a launch: each block has a stretch of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// Blocks, at least one: what is left behind the last whole set is theirs too.
    pub grid: u32,
    /// Sets of a block.
    pub span: u32,
}

impl Share {
    /// [`WAVES`] times as many blocks as a device holds at a time, or fewer if there are not as many
    /// sets.
    pub fn new(sets: u32, info: &DeviceInfo) -> Share {
        let span = sets.div_ceil(resident(info) * WAVES).max(1);
        Share {
            grid: sets.div_ceil(span).max(1),
            span,
        }
    }
}

/// Whole sets of an array.
///
/// # Errors
/// More than the kernel counts.
pub fn sets(elements: u64) -> Result<u32, String> {
    stream::grid(elements / u64::from(MIX_RING_ELEMENTS))
}

/// Blocks of `mix_ring` that the device holds at a time.
fn resident(info: &DeviceInfo) -> u32 {
    let by_threads = info.threads_per_unit.map(|most| most / STREAM_BLOCK);
    let fit = info
        .blocks_by_shared_memory(MIX_RING_SHARED_BYTES)
        .min(by_threads.unwrap_or(u32::MAX))
        .clamp(1, MIX_RING_BLOCKS_PER_SM);
    info.units * fit
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::vm::{Target, describe};

    /// Devices of many and few multiprocessors, of much and little shared memory.
    fn devices() -> Vec<DeviceInfo> {
        let mut devices = Vec::new();
        for units in [1, 3, 132] {
            for (kib, threads) in [(227, 2048), (99, 1536), (48, 1024)] {
                devices.push(DeviceInfo {
                    units,
                    shared_bytes_per_block: Some(kib << 10),
                    threads_per_unit: Some(threads),
                    ..describe(Target::Sm90a)
                });
            }
        }
        devices
    }

    /// How often each set is handed out, as the kernel reads a share.
    fn handed_out(sets: u32, share: Share) -> Vec<u32> {
        let mut times = vec![0; sets as usize];
        for block in 0..share.grid {
            let first = block * share.span;
            let end = sets.min(first + share.span);
            (first..end).for_each(|set| times[set as usize] += 1);
        }
        times
    }

    #[test]
    fn every_set_falls_to_one_block() {
        for info in devices() {
            for sets in [
                0, 1, 2, 5, 6, 7, 47, 48, 49, 791, 792, 793, 6336, 6337, 20_000,
            ] {
                let share = Share::new(sets, &info);
                assert!(share.grid > 0);
                let times = handed_out(sets, share);
                assert!(times.iter().all(|&n| n == 1), "{sets} sets, {share:?}");
            }
        }
    }

    #[test]
    fn blocks_come_in_waves() {
        let info = describe(Target::Sm90a);
        let sets = sets(1 << 28).unwrap();
        assert_eq!(sets, 131_072);
        let waves = Share::new(sets, &info);
        // 20.7 sets for each of eight waves.
        assert_eq!((waves.span, waves.grid), (21, 6242));
        // No multiprocessor is left without a block while another has several sets.
        let few = Share::new(500, &info);
        assert_eq!((few.span, few.grid), (1, 500));
    }

    #[test]
    fn no_more_blocks_stay_than_shared_memory_and_threads_hold() {
        let holds = |kib: u32, threads| {
            resident(&DeviceInfo {
                units: 1,
                shared_bytes_per_block: Some(kib << 10),
                threads_per_unit: Some(threads),
                ..describe(Target::Sm90a)
            })
        };
        // 16 KiB a block and 1 KiB that the device keeps.
        assert_eq!(holds(227, 2048), 6);
        assert_eq!(holds(99, 1536), 5);
        assert_eq!(holds(48, 1024), 2);
        assert_eq!(holds(227, 512), 4);
    }

    #[test]
    fn more_sets_than_are_counted_are_refused() {
        assert!(sets(1 << 41).is_ok());
        let error = sets(1 << 42).unwrap_err();
        assert!(error.contains("2147483648"), "{error}");
    }
}
