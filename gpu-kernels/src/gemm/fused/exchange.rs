//! Blocks of a cluster that round a part each, for all: an element is fetched and rounded once for the
//! blocks that multiply it, and half as many bytes pass between these as f32 would be.
//!
//! A block rounds its part some k tiles ahead of the products and sends it on; the parts of the others
//! are on their way meanwhile.

use super::feed::Feed;
use super::round::Share;
use super::write::write;
use super::{Fused, Operands, SLICE_PANEL, Seat, multiply_half};
use crate::gemm::ring::{Ring, Stage};
use crate::gemm::walk::Walk;
use crate::gpu::thread;
use crate::params::{PANEL_COLUMNS, WARP};
use crate::ptx::special::opaque;
use crate::ptx::wgmma::{self, Sums};
use crate::ptx::{bulk, fence, mbarrier};

/// k tiles that are rounded before they are multiplied: two less than there are halves, so that one is
/// multiplied, and what the peers say of the last has arrived when it is written again.
const fn ahead<T: Fused>() -> u32 {
    T::TILE.halves.saturating_sub(2)
}

/// The other block of a row or column of the cluster, and what it is sent of every half.
#[derive(Clone, Copy)]
struct Peer {
    rank: u32,
    /// Bytes from the start of the half.
    offset: u32,
    bytes: u32,
}

/// Peers of a block: beside it, with which it shares A, and above or below it, with which it shares B.
#[inline(always)]
fn peers<T: Fused>(seat: Seat) -> [Option<Peer>; 2] {
    let (rows, columns) = (T::TILE.cluster_rows(), T::TILE.cluster_columns);
    const { assert!(T::TILE.cluster_rows() <= 2 && T::TILE.cluster_columns <= 2) };
    let a_bytes = T::TILE.half_a_bytes() / columns;
    let beside = Peer {
        rank: seat.row * columns + (seat.column ^ 1),
        offset: seat.column * a_bytes,
        bytes: a_bytes,
    };
    // A slice of B for each row of the cluster.
    let b_bytes = T::TILE.n / PANEL_COLUMNS * SLICE_PANEL;
    let below = Peer {
        rank: (seat.row ^ 1) * columns + seat.column,
        offset: T::TILE.half_a_bytes() + seat.row * b_bytes,
        bytes: b_bytes,
    };
    [
        (columns == 2).then_some(beside),
        (rows == 2).then_some(below),
    ]
}

/// Makes the barriers of the halves; those of the stages make them known.
///
/// # Safety
/// As for [`Ring::make_barriers`], which the same thread calls behind it.
#[inline(always)]
pub unsafe fn make_barriers<T: Fused>(ring: Ring) {
    let peers = T::TILE.cluster_rows() + T::TILE.cluster_columns - 2;
    for index in 0..T::TILE.halves {
        let half = Stage { index, parity: 0 };
        // SAFETY: the addresses are inside the block's shared memory, 8-byte aligned.
        unsafe {
            mbarrier::init(ring.arrived::<T>(half), 1);
            mbarrier::init(ring.free::<T>(half), peers);
        }
    }
}

/// Sends a block's parts of a half to its peers, whose parts it expects.
///
/// # Safety
/// One thread of each block calls it; the parts are complete and visible, and the peers have read what
/// was there.
#[inline(always)]
unsafe fn send<T: Fused>(ring: Ring, seat: Seat, half: Stage) {
    let [start, _] = ring.half::<T>(half);
    let arrived = ring.arrived::<T>(half);
    let [beside, below] = peers::<T>(seat);
    let bytes = |peer: Option<Peer>| peer.map_or(0, |peer| peer.bytes);
    // SAFETY: as the caller vouches.
    unsafe {
        mbarrier::arrive_expecting(arrived, bytes(beside) + bytes(below));
        if let Some(peer) = beside {
            bulk::send(start + peer.offset, peer.bytes, arrived, peer.rank);
        }
        if let Some(peer) = below {
            bulk::send(start + peer.offset, peer.bytes, arrived, peer.rank);
        }
    }
}

/// Tells the peers of a block that it has read a half.
///
/// # Safety
/// One thread of each block calls it; the block's products that read the half are complete.
#[inline(always)]
unsafe fn give_back<T: Fused>(ring: Ring, seat: Seat, half: Stage) {
    let [beside, below] = peers::<T>(seat);
    // SAFETY: the barrier is made, in every block of the cluster, none of which has exited.
    unsafe {
        if let Some(peer) = beside {
            mbarrier::arrive_at(ring.free::<T>(half), peer.rank);
        }
        if let Some(peer) = below {
            mbarrier::arrive_at(ring.free::<T>(half), peer.rank);
        }
    }
}

/// Rounds what arrives, sends it on, multiplies it, and writes.
///
/// # Safety
/// All threads of every block of the cluster call it; the first stages are on their way.
#[inline(always)]
pub unsafe fn multiply<T: Fused>(
    operands: &Operands,
    ring: Ring,
    mut feed: Feed,
    mut walk: Walk,
    seat: Seat,
    index: u32,
) {
    /// A thread of another warp than that which feeds the stages.
    const SENDER: u32 = WARP;
    let warpgroup = index / 128;
    let depth = operands.depth();
    let share = Share::new::<T>(index, seat);
    let mut stage = Stage::FIRST;
    let mut rounded = Stage::FIRST;
    let mut multiplied = Stage::FIRST;
    while let Some(place) = walk.next() {
        let place = seat.tile::<T>(place);
        let mut k_tile = 0;
        for _ in 0..opaque(ahead::<T>()).min(depth) {
            // SAFETY: the stage is complete and is filled again only after the barrier; the half is
            // free here and at the peers.
            unsafe {
                mbarrier::wait(ring.full::<T>(stage), stage.parity);
                mbarrier::wait(ring.free::<T>(rounded), rounded.parity ^ 1);
                share.round::<T>(operands, ring, (place, k_tile), stage, rounded);
                fence::shared_written();
                thread::sync_threads();
                feed.read::<T>(operands, ring, stage, index);
                if index == SENDER {
                    send::<T>(ring, seat, rounded);
                }
            }
            stage = stage.next(T::TILE.stages);
            rounded = rounded.next(T::TILE.halves);
            k_tile += 1;
        }
        let mut sums = T::Sums::zero();
        let mut left = depth;
        loop {
            let rounds = k_tile < depth;
            // SAFETY: as above; the half that is multiplied is complete once the peers' parts are, and is
            // given free once this block's products that read it are.
            unsafe {
                mbarrier::wait(ring.arrived::<T>(multiplied), multiplied.parity);
                wgmma::fence();
                multiply_half::<T>(&mut sums, ring, multiplied, warpgroup);
                wgmma::commit();
                if rounds {
                    mbarrier::wait(ring.full::<T>(stage), stage.parity);
                    mbarrier::wait(ring.free::<T>(rounded), rounded.parity ^ 1);
                    share.round::<T>(operands, ring, (place, k_tile), stage, rounded);
                    fence::shared_written();
                }
                wgmma::wait::<0>();
                thread::sync_threads();
                if rounds {
                    feed.read::<T>(operands, ring, stage, index);
                }
                if index == SENDER {
                    give_back::<T>(ring, seat, multiplied);
                    if rounds {
                        send::<T>(ring, seat, rounded);
                    }
                }
            }
            multiplied = multiplied.next(T::TILE.halves);
            if rounds {
                stage = stage.next(T::TILE.stages);
                rounded = rounded.next(T::TILE.halves);
                k_tile += 1;
            }
            left -= 1;
            if left == 0 {
                break;
            }
        }
        // SAFETY: all products are complete.
        stage = unsafe { write::<T>(operands, (ring, &mut feed), &sums, place, stage, index) };
    }
}
