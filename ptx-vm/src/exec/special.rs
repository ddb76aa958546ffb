//! Special registers that keep their value while a block runs (PTX ISA, "Special Registers").

use super::Lanes32;
use super::block::thread_index;
use super::cluster::Place;
use super::warp::Frozen;
use crate::ir::WARP;
use crate::lower::names::{LaneMask, Special};

/// Values of a special register in the lanes of warp `warp`.
pub(super) fn special_lanes(
    special: Special,
    frozen: &Frozen<'_>,
    warp: u32,
    place: &Place,
) -> Lanes32 {
    let launch = frozen.launch;
    let all = |value: u32| [value; WARP];
    let by_lane = |f: &dyn Fn(u32) -> u32| std::array::from_fn(|lane| f(lane as u32));
    match special {
        Special::Tid(axis) => {
            by_lane(&|lane| thread_index(warp * WARP as u32 + lane, launch.block)[axis as usize])
        }
        Special::NTid(axis) => all(launch.block[axis as usize]),
        Special::CtaId(axis) => all(place.block[axis as usize]),
        Special::NCtaId(axis) => all(launch.grid[axis as usize]),
        Special::LaneId => by_lane(&|lane| lane),
        Special::WarpId => all(warp),
        // A multiprocessor holds 2048 threads.
        Special::NWarpId => all(64),
        Special::SmId => all((place.index % u64::from(frozen.sms.max(1))) as u32),
        Special::NSmId => all(frozen.sms),
        Special::ClusterCtaId(axis) => {
            all(place.block[axis as usize] % frozen.cluster[axis as usize])
        }
        Special::ClusterNCtaId(axis) => all(frozen.cluster[axis as usize]),
        Special::ClusterId(axis) => all(place.block[axis as usize] / frozen.cluster[axis as usize]),
        Special::NClusterId(axis) => {
            all(launch.grid[axis as usize] / frozen.cluster[axis as usize])
        }
        Special::ClusterRank => all(place.rank),
        Special::ClusterSize => all(frozen.cluster_blocks()),
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
