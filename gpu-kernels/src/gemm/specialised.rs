//! One warp keeps the copies going, warpgroups of 64 rows each multiply; blocks stay for several
//! tiles, so that the copies of the next run while the last is written; blocks of a cluster share
//! what they fetch of B. Where C is added it comes through the stages too, behind the k tiles of its
//! tile: whole sectors, no registers, and there when the products are.

use super::output::{self, Old, Staged};
use super::ring::{self, Ring};
use super::walk::{Place, Walk};
use super::{Products, Tile};
use crate::gpu::thread;
use crate::params::{
    PANEL_COLUMNS, SPECIALISED, TENSOR_FLAT, TENSOR_MIDDLE, TENSOR_MIDDLE_ALONE, TENSOR_SMALL,
    TENSOR_WIDE, TensorTile,
};
use crate::ptx::bulk_tensor::TensorMap;
use crate::ptx::wgmma::{self, Sums, Sums64, Sums128, Sums192, Sums256};
use crate::ptx::{bulk_tensor, cluster, grid, ldmatrix, mbarrier, warp, warpgroup};
use crate::stage::Stage;
use core::marker::PhantomData;

/// Moves registers from the warpgroup that copies to the two that multiply, which have 64,512 of
/// the 65,536 of a multiprocessor then.
///
/// # Safety
/// Whole warpgroups call it, one of each block with `multiplies` false, the others with true.
#[inline(always)]
pub unsafe fn move_registers<T: Tile>(multiplies: bool) {
    // SAFETY: as the caller vouches; each warpgroup keeps within what it has.
    unsafe {
        match (T::TILE.moves_registers(), multiplies) {
            (false, _) => {}
            (true, true) => warpgroup::take_registers::<232>(),
            (true, false) => warpgroup::give_registers::<40>(),
        }
    }
}

/// Tiles of C until there are none left.
///
/// # Safety
/// The pointers of `products` are as it says; the launch has the tile's threads and shared memory,
/// and a grid that is a multiple of its cluster.
#[inline(always)]
unsafe fn run<T: Tile>(products: Products) {
    let TensorTile {
        consumers, cluster, ..
    } = T::TILE;
    let index = thread::thread_idx_x();
    let rank = if cluster == 1 { 0 } else { cluster::rank() };
    let ring = Ring::new();
    let tile = [T::TILE.m() * cluster, T::TILE.n];
    let (first, step) = (
        thread::block_idx_x() / cluster,
        thread::grid_dim_x() / cluster,
    );
    let walk = Walk::new(products.extent(), tile, first, step);
    // SAFETY: one thread makes the barriers before any other uses them; whole warpgroups branch
    // together, with registers that add up to those of the launch.
    unsafe {
        let mut fetched = 0;
        if index == 0 {
            products.prefetch_maps();
        }
        if index == 128 * consumers {
            ring.make_barriers::<T>(consumers * cluster);
            grid::wait_for_last();
            if cluster == 1 {
                // Nobody else writes to this block: the first copies need not wait for the others.
                fetched = first_stages::<T>(&products, ring, walk);
            }
        }
        sync::<T>();
        if index < 128 * consumers {
            move_registers::<T>(true);
            multiply::<T>(&products, ring, walk, rank, index);
        } else {
            move_registers::<T>(false);
            let mut walk = walk;
            if index == 128 * consumers {
                copy::<T>(&products, ring, walk, rank, fetched);
            } else if let (true, Some(place)) = (products.reads_directly(), walk.next()) {
                let row = place.row + rank * T::TILE.m();
                let idle = [index - 128 * consumers - 1, T::TILE.producers - 1];
                output::prefetch::<T>(&products, Place { row, ..place }, idle);
            }
        }
        if cluster > 1 {
            // Nobody leaves while others still write to its shared memory.
            cluster::sync();
        }
    }
}

/// Waits for the block, or for the cluster where there is one.
#[inline(always)]
fn sync<T: Tile>() {
    if T::TILE.cluster == 1 {
        thread::sync_threads();
    } else {
        cluster::sync();
    }
}

/// Fills the stages for the first time, as far as the first tile needs them; gives their number.
///
/// # Safety
/// The thread that copies calls it, in a block without a cluster, once the barriers are made.
#[inline(always)]
unsafe fn first_stages<T: Tile>(products: &Products, ring: Ring, mut walk: Walk) -> u32 {
    let Some(place) = walk.next() else { return 0 };
    let fetched = products.depth().min(T::TILE.stages);
    let mut stage = Stage::FIRST;
    for k_tile in 0..fetched {
        // SAFETY: no stage has been filled yet.
        unsafe { ring.fetch::<T>(products, place, k_tile, stage, 0) };
        stage = stage.next(T::TILE.stages);
    }
    fetched
}

/// Keeps the stages filled, of which `fetched` are already.
///
/// # Safety
/// One thread of each block calls it.
#[inline(always)]
unsafe fn copy<T: Tile>(
    products: &Products,
    ring: Ring,
    mut walk: Walk,
    rank: u32,
    mut fetched: u32,
) {
    let depth = products.depth();
    let mut stage = Stage::FIRST;
    while let Some(place) = walk.next() {
        for k_tile in 0..depth {
            if fetched > 0 {
                fetched -= 1;
            } else {
                // SAFETY: the barriers are made; a stage that was never filled counts as read,
                // which is the phase before the first.
                unsafe {
                    mbarrier::wait(ring.empty::<T>(stage), stage.parity ^ 1);
                    ring.fetch::<T>(products, place, k_tile, stage, rank);
                }
            }
            stage = stage.next(T::TILE.stages);
        }
        let panels = match products.reads_panels() {
            true => T::TILE.n / PANEL_COLUMNS,
            false => 0,
        };
        for first in (0..panels).step_by(T::TILE.panels_in_stage() as usize) {
            // SAFETY: as above.
            unsafe {
                mbarrier::wait(ring.empty::<T>(stage), stage.parity ^ 1);
                ring.fetch_panels::<T>(products, place, first, stage, rank);
            }
            stage = stage.next(T::TILE.stages);
        }
    }
}

/// Multiplies what arrives, and writes.
///
/// # Safety
/// All threads of the block's multiplying warpgroups call it.
#[inline(always)]
unsafe fn multiply<T: Tile>(
    products: &Products,
    ring: Ring,
    mut walk: Walk,
    rank: u32,
    index: u32,
) {
    let (warpgroup, thread) = (warp::first(index / 128), index % 128);
    let depth = products.depth();
    let mut stage = Stage::FIRST;
    while let Some(place) = walk.next() {
        let place = Place {
            row: place.row + rank * T::TILE.m() + warpgroup * 64,
            ..place
        };
        let mut sums = T::Sums::zero();
        let mut left = depth;
        let mut last = stage;
        // There is at least one k tile: a loop that may not run at all would have ptxas define
        // the sums outside of it, and wait for every product.
        loop {
            // SAFETY: the stage is complete, and is given back only when the products that read
            // it are.
            unsafe {
                let factors = ring.factors::<T>(stage, warpgroup);
                mbarrier::wait(ring.full::<T>(stage), stage.parity);
                wgmma::fence();
                ring::multiply(&mut sums, factors);
                wgmma::commit();
                wgmma::wait::<1>();
                if left < depth {
                    give_back::<T>(ring, last, thread);
                }
            }
            last = stage;
            stage = stage.next(T::TILE.stages);
            left -= 1;
            if left == 0 {
                break;
            }
        }
        wgmma::wait::<0>();
        // SAFETY: all products are complete; panels and barrier are this warpgroup's own.
        unsafe {
            give_back::<T>(ring, last, thread);
            let mut old = OldInStages::<T> {
                ring,
                stage,
                warpgroup,
                thread,
                shape: PhantomData,
            };
            output::write::<T>(
                products,
                &sums,
                &mut old,
                place,
                // Nothing is fetched behind the last tile: this warpgroup's rows of A are free.
                match walk.is_done() {
                    true => ring.apart::<T>(warpgroup),
                    false => Staged::in_turn(ring.staged::<T>(warpgroup)),
                },
                warpgroup,
                thread,
            );
            stage = old.stage;
        }
    }
    if thread == 0 {
        // Shared memory is read until then.
        bulk_tensor::wait_read::<0>();
    }
}

/// Tells every block of the cluster that this warpgroup has read a stage.
///
/// # Safety
/// The warpgroup's products that read the stage are complete.
#[inline(always)]
unsafe fn give_back<T: Tile>(ring: Ring, stage: Stage, thread: u32) {
    if thread < T::TILE.cluster {
        // SAFETY: the barrier is made, in every block of the cluster, none of which has exited.
        unsafe {
            if T::TILE.cluster == 1 {
                mbarrier::arrive(ring.empty::<T>(stage));
            } else {
                mbarrier::arrive_at(ring.empty::<T>(stage), thread);
            }
        }
    }
}

/// C as it comes through the ring behind the k tiles of a tile.
struct OldInStages<T> {
    ring: Ring,
    /// The next stage of the ring.
    stage: Stage,
    warpgroup: u32,
    thread: u32,
    shape: PhantomData<T>,
}

impl<T: Tile> Old for OldInStages<T> {
    #[inline(always)]
    unsafe fn begin(&mut self, panel: u32) {
        if panel.is_multiple_of(T::TILE.panels_in_stage()) {
            // SAFETY: a barrier of the ring.
            unsafe { mbarrier::wait(self.ring.full::<T>(self.stage), self.stage.parity) };
        }
    }

    #[inline(always)]
    unsafe fn four(&self, panel: u32, _: u32, at: u32) -> [u32; 4] {
        let panel = panel % T::TILE.panels_in_stage();
        let panel = self.ring.panel::<T>(self.stage, self.warpgroup, panel);
        // SAFETY: the stage is complete, and not given back yet.
        unsafe { ldmatrix::load(panel + at) }
    }

    #[inline(always)]
    unsafe fn end(&mut self, panel: u32) {
        if (panel + 1).is_multiple_of(T::TILE.panels_in_stage()) {
            // SAFETY: all threads have read it, as the caller vouches.
            unsafe { give_back::<T>(self.ring, self.stage, self.thread) };
            self.stage = self.stage.next(T::TILE.stages);
        }
    }
}

tensor_kernels! {
    /// Large tiles, each block on its own.
    gemm_bf16_specialised: Specialised = SPECIALISED, Sums256;
    /// Large products: two blocks share B.
    gemm_bf16_wide: Wide = TENSOR_WIDE, Sums256;
    /// Products for which the columns of the large tiles do not come out even.
    gemm_bf16_middle: Middle = TENSOR_MIDDLE, Sums192;
    /// Products for which its rows, taken two blocks at a time, do not come out even either.
    gemm_bf16_middle_alone: MiddleAlone = TENSOR_MIDDLE_ALONE, Sums192;
    /// Middling products: blocks on one multiprocessor hide each other's beginnings and ends.
    gemm_bf16_flat: Flat = TENSOR_FLAT, Sums128;
    /// Small products, of which there are many.
    gemm_bf16_small: Small = TENSOR_SMALL, Sums64;
}
