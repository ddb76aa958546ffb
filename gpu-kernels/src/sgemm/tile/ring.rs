//! A range of k tiles of one tile of C, brought by bulk tensor copies from an A that has been transposed.
//!
//! - One thread starts the copies; the others spend no issue slot on addresses, and edges are filled with
//!   zeros on the way.
//! - The main loop is one over all k steps of a k tile, and a k tile is deep: each time that the loop is left
//!   the warps meet at a barrier, and instructions come from elsewhere, which costs a hundred cycles or two.
//! - No `hold_order` stands between the barrier and the first loads of the next stage: the compilers put the
//!   last products of the stage before in front of these loads, and it is faster so.

use super::fragment::{Fragment, first_element};
use super::{Segments, Shape, Tile};
use crate::gpu::thread;
use crate::params::WARP;
use crate::ptx::compiler::{hold_order, opaque};
use crate::ptx::{bulk_tensor, fence, mbarrier, shared, warp};
use crate::stage::Stage;
use core::marker::PhantomData;

/// Rows of sums of a k step that go before the loads of the next step. Early enough for the loads to arrive,
/// and late enough for them to take the registers of rows of A that are done with.
const ROWS_BEFORE_LOADS: usize = 5;

/// The stages of a block, which go round.
pub struct Ring<S> {
    /// Tensor maps of the transpose of A, and of B.
    a: *const u8,
    b: *const u8,
    /// The stage that is filled first by the next range.
    stage: Stage,
    shape: PhantomData<S>,
}

/// The barrier that ends when the copies of a stage are complete.
#[inline(always)]
fn full<S: Shape>(stage: u32) -> u32 {
    shared::dynamic_base() + S::TILE.barriers_offset() + stage * mbarrier::BYTES
}

impl<S: Shape> Ring<S> {
    /// Makes the barriers.
    ///
    /// # Safety
    /// `a` and `b` are addresses of tensor maps. A barrier of the block stands between this and the first
    /// range; the shared memory has not been used.
    #[inline(always)]
    pub unsafe fn new(a: *const u8, b: *const u8) -> Self {
        // What boxes of a tensor map and their places allow, and a thread for each stage.
        const {
            assert!(S::TILE.m <= 256 && S::TILE.n <= 256 && S::TILE.k <= 256);
            assert!(S::TILE.a_bytes().is_multiple_of(1024));
            assert!(S::TILE.stage_bytes().is_multiple_of(1024));
            assert!(S::TILE.stages <= WARP);
        }
        if thread::thread_idx_x() == 0 {
            let mut stage = 0;
            while stage < S::TILE.stages {
                // SAFETY: as the caller vouches, the address is inside the shared memory of the shape.
                unsafe { mbarrier::init(full::<S>(stage), 1) };
                stage += 1;
            }
            fence::barriers_made();
        }
        Ring {
            a,
            b,
            stage: Stage::FIRST,
            shape: PhantomData,
        }
    }

    /// Starts the copies of k tile `item` into stage `to`.
    ///
    /// # Safety
    /// One thread calls it, and nobody reads the stage.
    #[inline(always)]
    unsafe fn fetch(&self, tile: Tile, item: u32, to: u32) {
        let full = full::<S>(to);
        let to = shared::dynamic_base() + to * S::TILE.stage_bytes();
        let (k, product) = (item * S::TILE.k, tile.product);
        // SAFETY: as the caller vouches; the barriers are made.
        unsafe {
            mbarrier::arrive_expecting(full, S::TILE.stage_bytes());
            bulk_tensor::load(to, self.a, [tile.corner.row, k, product], full);
            let to = to + S::TILE.a_bytes();
            bulk_tensor::load(to, self.b, [tile.corner.column, k, product], full);
        }
    }
}

impl<S: Shape, const TM: usize, const TN: usize> Segments<TM, TN> for Ring<S> {
    /// While a stage is multiplied the others are filled. One barrier a k tile says that all have read the
    /// last one, which is then filled again.
    #[inline(always)]
    unsafe fn sum(&mut self, tile: Tile, first: u32, end: u32) -> [[f32; TN]; TM] {
        let (before, behind) = ([0, ROWS_BEFORE_LOADS], [ROWS_BEFORE_LOADS, TM]);
        let a_row = S::TILE.a_stride() * 4;
        let b_row = S::TILE.n * 4;
        let thread = thread::thread_idx_x();
        // From the first lane, so that ptxas sees that a whole warp agrees.
        let warp = warp::first(thread / WARP);
        let lane = thread % WARP;

        // SAFETY: shared addresses are those of this thread's elements in a stage; a stage is read when its
        // barrier says that it has arrived, and filled when all have read it.
        unsafe {
            let mut stage = self.stage;
            // A thread for each stage: with a loop in one, ptxas loses the order of the main loop.
            if thread < S::TILE.stages && first + thread < end {
                let to = stage.index + thread;
                let to = if to < S::TILE.stages { to } else { to - S::TILE.stages };
                self.fetch(tile, first + thread, to);
            }
            let mut item = first + S::TILE.stages;
            let (row, column) = first_element::<S>();
            let a_base = shared::dynamic_base() + row * 4;
            let b_base = shared::dynamic_base() + S::TILE.a_bytes() + column * 4;

            let mut sums = [[0f32; TN]; TM];
            let (mut even, mut odd) = (Fragment::<TM, TN>::ZERO, Fragment::<TM, TN>::ZERO);
            let offset = stage.index * S::TILE.stage_bytes();
            let (mut a, mut b) = (a_base + offset, b_base + offset);
            // Two k steps a turn; a k tile is this many turns and one more.
            let turns = opaque(S::TILE.k / 2 - 1);
            let mut left = end - first;
            mbarrier::wait(full::<S>(stage.index), stage.parity);
            even.load::<S>(a, b);
            loop {
                let mut turns_left = turns;
                loop {
                    even.accumulate_rows(before, &mut sums);
                    hold_order();
                    odd.load::<S>(a + a_row, b + b_row);
                    even.accumulate_rows(behind, &mut sums);
                    hold_order();
                    a += 2 * a_row;
                    b += 2 * b_row;
                    odd.accumulate_rows(before, &mut sums);
                    hold_order();
                    even.load::<S>(a, b);
                    odd.accumulate_rows(behind, &mut sums);
                    turns_left -= 1;
                    if turns_left == 0 {
                        break;
                    }
                }
                // The last turn: what is loaded next lies in the next stage.
                odd.load::<S>(a + a_row, b + b_row);
                even.accumulate(&mut sums);
                left -= 1;
                if left == 0 {
                    break;
                }
                let read = stage.index;
                stage = stage.next(S::TILE.stages);
                thread::sync_threads();
                mbarrier::wait(full::<S>(stage.index), stage.parity);
                a = a_base + stage.index * S::TILE.stage_bytes();
                b = b_base + stage.index * S::TILE.stage_bytes();
                if warp == 0 && item < end {
                    if lane == 0 {
                        self.fetch(tile, item, read);
                    }
                    item += 1;
                }
                even.load::<S>(a, b);
                odd.accumulate(&mut sums);
            }
            odd.accumulate(&mut sums);
            self.stage = stage.next(S::TILE.stages);
            sums
        }
    }
}
