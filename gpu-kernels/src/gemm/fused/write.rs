//! C: what is added comes through the stages, behind the k tiles; the sums go straight to memory.

use super::feed::{self, Feed, ROW};
use super::{Fused, Operands};
use crate::gemm::output::{self, STEP, element, own};
use crate::gemm::ring::Ring;
use crate::gemm::walk::Place;
use crate::gpu::thread;
use crate::params::STAGES_C;
use crate::ptx::wgmma::Sums;
use crate::ptx::{global, mbarrier, shared};
use crate::stage::Stage;

/// Writes the sums of a block's tile at `place`, C added if the launch reads it; gives the stage behind
/// those that C came through.
///
/// # Safety
/// All threads of the block call it; the products are complete; the pointers of `operands` are as it
/// says.
#[inline(always)]
pub unsafe fn write<T: Fused>(
    operands: &Operands,
    (ring, feed): (Ring, &mut Feed),
    sums: &T::Sums,
    place: Place,
    mut stage: Stage,
    index: u32,
) -> Stage {
    let products = &operands.products;
    let (warpgroup, thread) = (index / 128, index % 128);
    let place = Place {
        row: place.row + warpgroup * 64,
        ..place
    };
    if !operands.has(STAGES_C) {
        // SAFETY: as the caller vouches; the rows are those of this warpgroup.
        unsafe { output::directly::<T>(products, sums, place, thread) };
        return stage;
    }
    /// Steps of a panel.
    const STEPS: u32 = feed::COLUMNS / STEP;
    let (row, column) = own(place, thread);
    let base = element(products, place.matrix, row, column);
    let base = products.c.cast::<f32>().wrapping_add(base);
    // The thread's rows in the panel, eight apart: the swizzle of both is that of the first.
    let lane = thread % 32;
    let row_there = row - (place.row - warpgroup * 64);
    let half_of_16 = lane % 2 * 8;
    let room = T::TILE.c_panels();
    for part in 0..T::TILE.c_stages() {
        // SAFETY: the panels are complete, and are given back once all have read them; elements are
        // stored if they lie inside C, and nobody else writes them.
        unsafe {
            mbarrier::wait(ring.full::<T>(stage), stage.parity);
            for panel in 0..room.min(T::TILE.n / feed::COLUMNS - part * room) {
                let from = feed::c_panel::<T>(ring, stage, panel) + row_there * ROW + half_of_16;
                for step in 0..STEPS {
                    let at = (part * room + panel) * STEPS + step;
                    let four = sums.columns(at as usize);
                    let sixteen = (step * 2 + lane % 4 / 2) ^ (lane / 4);
                    for lower in 0..2 {
                        let [x, y] = shared::load_v2(from + sixteen * 16 + lower * 8 * ROW);
                        let below = (lower * 8) as usize * products.n as usize;
                        let to = base.wrapping_add(below + (at * STEP) as usize);
                        let first = 2 * lower as usize;
                        let pair = [four[first] + x, four[first + 1] + y];
                        if row + lower * 8 < products.m && column + at * STEP < products.n {
                            global::store_v2(to, pair);
                        }
                    }
                }
            }
            thread::sync_threads();
            feed.again::<T>(operands, ring, stage, index);
        }
        stage = stage.next(T::TILE.stages);
    }
    stage
}
