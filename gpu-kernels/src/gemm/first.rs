//! The ladder's first steps: two warpgroups that both wait for a k tile, then multiply it. With
//! one stage copies and products take turns; with several the copies run ahead.

use super::ring::{self, Ring};
use super::walk::{Place, Walk};
use super::{Products, Tile, output};
use crate::gpu::thread;
use crate::params::{ONE_STAGE, PIPELINED, TensorTile};
use crate::ptx::bulk_tensor::TensorMap;
use crate::ptx::wgmma::{self, Sums, Sums128};
use crate::ptx::{bulk_tensor, grid, mbarrier, warp};
use crate::stage::Stage;

/// One tile of C for each block.
///
/// # Safety
/// The pointers of `products` are as it says; the launch has the tile's threads and shared memory
/// and one block a tile.
#[inline(always)]
unsafe fn run<T: Tile>(products: Products) {
    let TensorTile { stages, n, .. } = T::TILE;
    let (all, block) = (thread::grid_dim_x(), thread::block_idx_x());
    let index = thread::thread_idx_x();
    let mut walk = Walk::new(products.extent(), [T::TILE.m(), n], block, all);
    let Some(place) = walk.next() else { return };
    let ring = Ring::new();
    let depth = products.depth();
    // SAFETY: one thread makes the barriers and starts the copies, each into a stage that is
    // empty: not yet used, or read by all before the barrier of the block.
    unsafe {
        if index == 0 {
            ring.make_barriers::<T>(1);
            grid::wait_for_last();
            let mut stage = Stage::FIRST;
            for k_tile in 0..stages.min(depth) {
                ring.fetch::<T>(&products, place, k_tile, stage, 0);
                stage = stage.next(stages);
            }
        }
        thread::sync_threads();

        let (warpgroup, thread) = (warp::first(index / 128), index % 128);
        let rows = Place {
            row: place.row + warpgroup * 64,
            ..place
        };
        let mut old = output::OldPairs::<T>::read(&products, rows, thread);
        let mut sums = T::Sums::zero();
        let mut stage = Stage::FIRST;
        let mut last = stage;
        let mut left = depth;
        loop {
            let k_tile = depth - left;
            let factors = ring.factors::<T>(stage, warpgroup);
            mbarrier::wait(ring.full::<T>(stage), stage.parity);
            wgmma::fence();
            ring::multiply(&mut sums, factors);
            wgmma::commit();
            // With several stages the products of this k tile go on while those of the one before
            // make room.
            let (read, of) = if stages == 1 {
                wgmma::wait::<0>();
                (k_tile + 1, stage)
            } else {
                wgmma::wait::<1>();
                (k_tile, last)
            };
            thread::sync_threads();
            let next = read + stages - 1;
            if index == 0 && read > 0 && next < depth {
                ring.fetch::<T>(&products, place, next, of, 0);
            }
            last = stage;
            stage = stage.next(stages);
            left -= 1;
            if left == 0 {
                break;
            }
        }
        wgmma::wait::<0>();
        output::write::<T>(
            &products,
            &sums,
            &mut old,
            rows,
            output::Staged::in_turn(ring.staged::<T>(warpgroup)),
            warpgroup,
            thread,
        );
        if thread == 0 {
            // Shared memory is read until then.
            bulk_tensor::wait_read::<0>();
        }
    }
}

tensor_kernels! {
    /// Copies and products take turns.
    gemm_bf16_one_stage: OneStage = ONE_STAGE, Sums128;
    /// Copies run ahead of the products.
    gemm_bf16_pipelined: Pipelined = PIPELINED, Sums128;
}
