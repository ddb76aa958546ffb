//! A range of k tiles of one tile of C, summed in registers.

use super::copy::Copier;
use super::fragment::{Fragment, first_element};
use super::{Corner, Operands, Segments, Shape, Tile, output};
use crate::gpu::thread;
use crate::params::{SCHEDULERS_PER_SM, WARP};
use crate::ptx::compiler::{hold_order, opaque};
use crate::ptx::{copy_async, shared, warp};
use core::marker::PhantomData;

/// Largest k at which C is asked for before the product: its way through the L2 is then not much
/// longer than the product takes, and the tile ends without a trip to the memory.
const PREFETCH_MOST_K: u32 = 512;

/// k tiles that the threads copy, those of B `VEC` elements at a time.
pub struct Copied<S, const VEC: u32> {
    operands: Operands,
    shape: PhantomData<S>,
}

impl<S, const VEC: u32> Copied<S, VEC> {
    /// Those of one product or of a batch.
    #[inline(always)]
    pub fn new(operands: Operands) -> Self {
        Copied { operands, shape: PhantomData }
    }
}

impl<S: Shape, const TM: usize, const TN: usize, const VEC: u32> Segments<TM, TN> for Copied<S, VEC> {
    #[inline(always)]
    unsafe fn sum(&mut self, tile: Tile, first: u32, end: u32) -> [[f32; TN]; TM] {
        let operands = self.operands.of_product(tile.product);
        let prefetches = first == 0 && end * S::TILE.k <= PREFETCH_MOST_K;
        // SAFETY: as the caller vouches.
        unsafe { sum::<S, TM, TN, VEC>(operands, tile.corner, first, end, prefetches) }
    }
}

/// Sums the k tiles `first` to `end` (exclusive, at least one) of the tile at `corner`.
///
/// The stages go round: while one is multiplied, the others are filled. One barrier a k tile
/// says both that the next stage has arrived for all threads and that all have read the last
/// one, which is then filled again. The copies of half the warps start there, those of the
/// others half a k tile later: two warps on one scheduler never both wait for the queue of
/// copies. With `prefetches` the tile of C is asked for in the L2.
///
/// # Safety
/// As for [`super::run`]; every thread of the block calls with the same arguments, and none
/// uses the shared memory before all have come here.
#[inline(always)]
unsafe fn sum<S: Shape, const TM: usize, const TN: usize, const VEC: u32>(
    operands: Operands,
    corner: Corner,
    first: u32,
    end: u32,
    prefetches: bool,
) -> [[f32; TN]; TM] {
    let a_row = S::TILE.a_stride() * 4;
    let b_row = S::TILE.n * 4;
    let warps = S::TILE.threads() / WARP;
    // From the first lane, so that ptxas sees that a whole warp agrees.
    let late = warps > SCHEDULERS_PER_SM && warp::first(thread::thread_idx_x() / WARP) >= SCHEDULERS_PER_SM;

    // SAFETY: shared addresses are those of this thread's elements in a stage; a stage is read
    // between the barrier that says it has arrived and the next, and filled only then.
    unsafe {
        let mut copier = Copier::<S, VEC>::new(operands, corner, first, end);
        let mut stage = 0;
        while stage < S::TILE.stages {
            copier.fill();
            stage += 1;
        }
        // Behind the copies, which the first products wait for.
        if prefetches {
            output::prefetch::<S>(operands, corner);
        }
        let (row, column) = first_element::<S>();
        let a_base = shared::dynamic_base() + row * 4;
        let b_base = shared::dynamic_base() + S::TILE.a_bytes() + column * 4;

        let mut sums = [[0f32; TN]; TM];
        let (mut even, mut odd) = (Fragment::<TM, TN>::ZERO, Fragment::<TM, TN>::ZERO);
        let (mut a, mut b) = (a_base, b_base);
        let mut stage = 0;
        // Two k steps a turn; half a k tile is this many turns and one more.
        let turns = opaque(S::TILE.k / 4 - 1);
        let mut halves_left = 2 * (end - first);
        // In the first k tile every stage is still full.
        let fill_below = halves_left - 1;
        let parity = late as u32;
        wait_for_first::<S>();
        thread::sync_threads();
        even.load::<S>(a, b);
        loop {
            let mut turns_left = turns;
            loop {
                odd.load::<S>(a + a_row, b + b_row);
                even.accumulate(&mut sums);
                hold_order();
                a += 2 * a_row;
                b += 2 * b_row;
                even.load::<S>(a, b);
                odd.accumulate(&mut sums);
                turns_left -= 1;
                if turns_left == 0 {
                    break;
                }
            }
            // The last turn of the half: what is loaded next may lie in the next stage.
            odd.load::<S>(a + a_row, b + b_row);
            even.accumulate(&mut sums);
            halves_left -= 1;
            if halves_left == 0 {
                break;
            }
            a += 2 * a_row;
            b += 2 * b_row;
            if halves_left.is_multiple_of(2) {
                stage = if stage + 1 == S::TILE.stages { 0 } else { stage + 1 };
                wait_for_next::<S>();
                thread::sync_threads();
                a = a_base + stage * S::TILE.stage_bytes();
                b = b_base + stage * S::TILE.stage_bytes();
            }
            if halves_left % 2 == parity && halves_left < fill_below {
                copier.fill();
            }
            even.load::<S>(a, b);
            odd.accumulate(&mut sums);
        }
        odd.accumulate(&mut sums);
        copy_async::wait::<0>();
        sums
    }
}

/// Waits for the oldest of a full round of groups.
#[inline(always)]
fn wait_for_first<S: Shape>() {
    match S::TILE.stages {
        2 => copy_async::wait::<1>(),
        3 => copy_async::wait::<2>(),
        _ => copy_async::wait::<3>(),
    }
}

/// Waits for the oldest group when one less than a round is under way.
#[inline(always)]
fn wait_for_next<S: Shape>() {
    match S::TILE.stages {
        2 => copy_async::wait::<0>(),
        3 => copy_async::wait::<1>(),
        _ => copy_async::wait::<2>(),
    }
}
