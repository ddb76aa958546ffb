//! Clusters of blocks (PTX ISA, "Cluster of CTAs", "barrier.cluster", "mapa").
//!
//! The blocks of a cluster run together. Their shared memories lie one behind the other in one
//! array; an address of the `shared::cluster` window names the block by rank, a plain one means
//! the block's own.

use super::mbarrier::Mbarriers;
use super::warp::{Env, Warp};
use super::{BLOCK_WINDOW, SHARED_WINDOW, lanes};
use crate::check::{Checked, FaultKind, Raw};
use crate::ir::{R, Reg};

/// Where a block is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    /// Index in the grid.
    pub block: [u32; 3],
    /// Rank in the cluster.
    pub rank: u32,
    /// Number in the grid.
    pub index: u64,
}

/// The barrier of a cluster.
#[derive(Debug, Default)]
pub(crate) struct ClusterBarrier {
    warps: u32,
    arrived: u32,
    ended: u32,
    phase: u64,
    /// Clocks of those that have arrived, and those that the last phase ended with.
    arriving: Vec<u32>,
    completed: Vec<u32>,
}

impl ClusterBarrier {
    pub fn reset(&mut self, warps: u32) {
        *self = Self {
            warps,
            ..Self::default()
        };
    }

    /// Ends the phase when all warps that have not ended are here.
    fn settle(&mut self, mbarriers: &mut Mbarriers) {
        if self.arrived > 0 && self.arrived + self.ended >= self.warps {
            self.phase += 1;
            self.arrived = 0;
            self.completed.clone_from(&self.arriving);
            mbarriers.changes += 1;
        }
    }

    /// A warp has ended: nobody waits for it.
    pub fn end(&mut self, mbarriers: &mut Mbarriers) {
        self.ended += 1;
        self.settle(mbarriers);
    }
}

impl Warp {
    pub(super) fn cluster_arrive(
        &mut self,
        env: &mut Env<'_, '_>,
        release: bool,
        active: u32,
    ) -> Checked<()> {
        let lane = active.trailing_zeros();
        if active != self.live {
            let detail = format!(
                "lanes {active:#010x} of {:#010x} arrive at the cluster's barrier",
                self.live
            );
            return Err(Raw::new(FaultKind::BarrierDivergence, lane, detail));
        }
        if self.cluster_phase.is_some() {
            let detail = "arrives at the cluster's barrier again without waiting";
            return Err(Raw::new(FaultKind::InvalidOperand, lane, detail));
        }
        self.cluster_phase = Some(env.cluster.phase);
        if release {
            env.shadow
                .release(self.number as usize, &mut env.cluster.arriving);
        }
        env.cluster.arrived += 1;
        env.mbarriers.changes += 1;
        env.cluster.settle(env.mbarriers);
        Ok(())
    }

    /// Whether the phase that the warp has arrived in is complete.
    pub(super) fn cluster_wait(&mut self, env: &mut Env<'_, '_>) -> Checked<bool> {
        let Some(phase) = self.cluster_phase else {
            let detail = "waits at the cluster's barrier without having arrived";
            return Err(Raw::new(FaultKind::InvalidOperand, 0, detail));
        };
        if env.cluster.phase <= phase {
            return Ok(false);
        }
        self.cluster_phase = None;
        env.shadow
            .acquire(self.number as usize, &env.cluster.completed);
        Ok(true)
    }

    /// `mapa`: the same place in the shared memory of the block of another rank.
    pub(super) fn map_address(
        &mut self,
        env: &Env<'_, '_>,
        (window, d, a, rank): (bool, Reg, Reg, R),
        active: u32,
    ) -> Checked<()> {
        let base = if window { 0 } else { SHARED_WINDOW };
        for lane in lanes(active) {
            let rank = self.r[rank as usize][lane];
            if rank >= env.frozen.cluster_blocks() {
                let detail = format!(
                    "rank {rank} in a cluster of {} blocks",
                    env.frozen.cluster_blocks()
                );
                return Err(Raw::new(FaultKind::InvalidOperand, lane as u32, detail));
            }
            let offset = self.get(a, lane).wrapping_sub(base) % BLOCK_WINDOW;
            self.set(
                d,
                lane,
                base + (u64::from(rank) + 1) * BLOCK_WINDOW + offset,
            );
        }
        Ok(())
    }

    /// `getctarank`: the rank of the block that an address belongs to.
    pub(super) fn address_rank(&mut self, (window, d, a): (bool, R, Reg), active: u32) {
        let base = if window { 0 } else { SHARED_WINDOW };
        for lane in lanes(active) {
            let block = (self.get(a, lane).wrapping_sub(base) / BLOCK_WINDOW).checked_sub(1);
            self.r[d as usize][lane] = block.map_or(self.rank, |rank| rank as u32);
        }
    }
}
