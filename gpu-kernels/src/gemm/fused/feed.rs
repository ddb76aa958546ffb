//! The copies of f32 into the stages: one warp starts them, each of its lanes one.

use super::{Fused, Operands};
use crate::gemm::ring::Ring;
use crate::gemm::walk::{Place, Walk};
use crate::params::{FUSED_DEPTH, LOADS_A, LOADS_B, WARP};
use crate::ptx::compiler::opaque;
use crate::ptx::{bulk_tensor, mbarrier};
use crate::stage::Stage;

/// Columns of a panel of f32: 128 bytes.
pub const COLUMNS: u32 = 32;
/// Bytes of a row of a panel.
pub const ROW: u32 = 128;
/// Bytes of a panel of B: a k tile of rows.
pub const B_PANEL: u32 = FUSED_DEPTH * ROW;

/// What a block has to copy: the next k tile or part of C.
#[derive(Clone, Copy)]
pub struct Feed {
    walk: Walk,
    place: Option<Place>,
    /// Of the tile's stages, the k tiles first.
    next: u32,
}

impl Feed {
    /// All of the tiles of `walk`.
    #[inline(always)]
    pub fn new(mut walk: Walk) -> Self {
        let place = walk.next();
        Feed {
            walk,
            place,
            next: 0,
        }
    }

    /// Fills the stages for the first time.
    ///
    /// # Safety
    /// One warp of the block calls it, once the barriers are made.
    #[inline(always)]
    pub unsafe fn first<T: Fused>(&mut self, operands: &Operands, ring: Ring, lane: u32) {
        let mut stage = Stage::FIRST;
        for _ in 0..opaque(T::TILE.stages) {
            // SAFETY: no stage has been filled yet.
            unsafe { self.fill::<T>(operands, ring, stage, lane) };
            stage = stage.next(T::TILE.stages);
        }
    }

    /// Fills a stage again.
    ///
    /// # Safety
    /// All threads of the block call it, once all have read the stage.
    #[inline(always)]
    pub unsafe fn again<T: Fused>(
        &mut self,
        operands: &Operands,
        ring: Ring,
        stage: Stage,
        index: u32,
    ) {
        if index < WARP {
            // SAFETY: as the caller vouches.
            unsafe { self.fill::<T>(operands, ring, stage, index) };
        }
    }

    /// Starts the copies of the next k tile or part of C, if there is one, into a stage.
    ///
    /// # Safety
    /// One warp of the block calls it; the stage is empty.
    #[inline(always)]
    unsafe fn fill<T: Fused>(
        &mut self,
        operands: &Operands,
        ring: Ring,
        stage: Stage,
        lane: u32,
    ) {
        let Some(place) = self.place else { return };
        // SAFETY: as the caller vouches.
        unsafe { self.fetch::<T>(operands, ring, place, stage, lane) };
        self.next += 1;
        if self.next == operands.stages::<T>() {
            self.next = 0;
            self.place = self.walk.next();
        }
    }

    /// Starts a lane's copy, if it has one: of A, of a panel of B, or of a panel of C. What no bulk copy
    /// takes is loaded when it is rounded.
    ///
    /// # Safety
    /// As for [`Feed::fill`].
    #[inline(always)]
    unsafe fn fetch<T: Fused>(
        &self,
        operands: &Operands,
        ring: Ring,
        place: Place,
        stage: Stage,
        lane: u32,
    ) {
        let (products, depth) = (&operands.products, operands.depth());
        let full = ring.full::<T>(stage);
        let [copies_a, copies_b] = [LOADS_A, LOADS_B].map(|flag| !operands.loads::<T>(flag));
        let b_panels = T::TILE.n / COLUMNS;
        // Of the part of C, if it is one.
        let first = self.next.wrapping_sub(depth) * T::TILE.c_panels();
        let c_panels = T::TILE.c_panels().min(b_panels.wrapping_sub(first));
        let is_c = self.next >= depth;

        let part = |copied, bytes| if copied { bytes } else { 0 };
        let bytes = if is_c {
            c_panels * T::TILE.m() * ROW
        } else {
            part(copies_a, T::TILE.a_bytes()) + part(copies_b, T::TILE.b_bytes())
        };
        let k = self.next * FUSED_DEPTH;
        // SAFETY: the addresses are those of the stage, whose barriers are made.
        unsafe {
            if lane == 0 {
                mbarrier::arrive_expecting(full, bytes);
            }
            if is_c {
                if lane < c_panels {
                    let column = place.column + (first + lane) * COLUMNS;
                    let to = c_panel::<T>(ring, stage, lane);
                    let from = [column, place.row, place.matrix];
                    bulk_tensor::load(to, products.c_map, from, full);
                }
                return;
            }
            if copies_b && lane < b_panels {
                let to = ring.columns::<T>(stage) + lane * B_PANEL;
                let from = [place.column + lane * COLUMNS, k, place.matrix];
                bulk_tensor::load(to, products.b, from, full);
            }
            if copies_a && lane == b_panels {
                let from = [k, place.row, place.matrix];
                bulk_tensor::load(ring.rows::<T>(stage), products.a, from, full);
            }
        }
    }
}

/// Address of a panel of C in a stage: the first lies in A's part, the others in B's.
#[inline(always)]
pub fn c_panel<T: Fused>(ring: Ring, stage: Stage, panel: u32) -> u32 {
    if panel == 0 {
        ring.rows::<T>(stage)
    } else {
        ring.columns::<T>(stage) + (panel - 1) * T::TILE.a_bytes()
    }
}
