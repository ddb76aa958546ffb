//! Blocks that round all that they multiply. Where they are a cluster, each fetches a part of B's f32 for
//! all of them.

use super::feed::Feed;
use super::round::Share;
use super::write::write;
use super::{Fused, Operands, Seat, multiply_half};
use crate::gemm::ring::{Ring, Stage};
use crate::gemm::walk::Walk;
use crate::gpu::thread;
use crate::ptx::wgmma::{self, Sums};
use crate::ptx::{fence, mbarrier};

/// Rounds what arrives, multiplies it, and writes: one half is multiplied while the other is written.
///
/// # Safety
/// All threads of the block call it; the first stages are on their way.
#[inline(always)]
pub unsafe fn multiply<T: Fused>(
    operands: &Operands,
    ring: Ring,
    mut feed: Feed,
    mut walk: Walk,
    seat: Seat,
    index: u32,
) {
    let warpgroup = index / 128;
    let depth = operands.depth();
    let share = Share::new::<T>(index, seat);
    let mut stage = Stage::FIRST;
    let mut half = Stage::FIRST;
    while let Some(place) = walk.next() {
        let place = seat.tile::<T>(place);
        let mut sums = T::Sums::zero();
        let mut k_tile = 0;
        // There is at least one k tile, and the loop is written so that ptxas sees it.
        loop {
            // SAFETY: the stage is complete and is filled again only after the barrier, behind which
            // all have read it; the half has been read by the products before the last, for which
            // all have waited before the barrier of the last.
            unsafe {
                mbarrier::wait(ring.full::<T>(stage), stage.parity);
                share.round::<T>(operands, ring, (place, k_tile), stage, half);
                fence::shared_written();
                wgmma::wait::<0>();
                thread::sync_threads();
                wgmma::fence();
                multiply_half::<T>(&mut sums, ring, half, warpgroup);
                wgmma::commit();
                feed.read::<T>(operands, ring, stage, index);
            }
            stage = stage.next(T::TILE.stages);
            half = half.next(T::TILE.halves);
            k_tile += 1;
            if k_tile == depth {
                break;
            }
        }
        wgmma::wait::<0>();
        // SAFETY: all products are complete, those of this warpgroup, whose sums it writes.
        stage = unsafe { write::<T>(operands, (ring, &mut feed), &sums, place, stage, index) };
    }
}
