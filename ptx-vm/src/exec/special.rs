//! Special registers that keep their value while a block runs (PTX ISA, "Special Registers").

use super::Lanes32;
use super::block::thread_index;
use super::warp::Frozen;
use crate::ir::WARP;
use crate::lower::names::{LaneMask, Special};

/// Values of a special register in the lanes of warp `warp`.
pub(super) fn special_lanes(
    special: Special,
    frozen: &Frozen<'_>,
    warp: u32,
    id: [u32; 3],
    block: u64,
) -> Lanes32 {
    let launch = frozen.launch;
    let all = |value: u32| [value; WARP];
    let by_lane = |f: &dyn Fn(u32) -> u32| std::array::from_fn(|lane| f(lane as u32));
    match special {
        Special::Tid(axis) => {
            by_lane(&|lane| thread_index(warp * WARP as u32 + lane, launch.block)[axis as usize])
        }
        Special::NTid(axis) => all(launch.block[axis as usize]),
        Special::CtaId(axis) => all(id[axis as usize]),
        Special::NCtaId(axis) => all(launch.grid[axis as usize]),
        Special::LaneId => by_lane(&|lane| lane),
        Special::WarpId => all(warp),
        // A multiprocessor holds 2048 threads.
        Special::NWarpId => all(64),
        Special::SmId => all((block % u64::from(frozen.sms.max(1))) as u32),
        Special::NSmId => all(frozen.sms),
        Special::Zero => all(0),
        Special::One => all(1),
        Special::LaneMask(which) => by_lane(&|lane| {
            let bit = 1u32 << lane;
            match which {
                LaneMask::Eq => bit,
                LaneMask::Lt => bit - 1,
                LaneMask::Le => bit | (bit - 1),
                LaneMask::Gt => !(bit | (bit - 1)),
                LaneMask::Ge => !(bit - 1),
            }
        }),
        Special::DynamicShared => all(launch.shared_bytes),
        Special::TotalShared => all(frozen.shared_bytes),
    }
}
