//! The copies of f32 into the stages.

use super::{Fused, Operands, Seat};
use crate::gemm::ring::{Ring, Stage};
use crate::gemm::walk::{Place, Walk};
use crate::params::{FUSED_DEPTH, LOADS_A, LOADS_B};
use crate::ptx::{bulk_tensor, mbarrier};

/// Columns of a panel of f32: 128 bytes.
pub const COLUMNS: u32 = 32;
/// Bytes of a row of a panel.
const ROW: u32 = 128;

/// Stages that are filled at first. Where the blocks of a cluster fill them for each other, that is one
/// less than there are: a stage then is filled again a k tile after this block has read it, so that
/// nobody waits for what the others say of it.
pub const fn first_stages<T: Fused>() -> u32 {
    T::TILE.stages - waits::<T>() as u32
}

/// Whether the blocks of a cluster fill stages for each other.
const fn waits<T: Fused>() -> bool {
    T::TILE.cluster > 1 && !T::TILE.exchanges()
}

/// What a block has to copy: the next k tile or part of C, and the stage that it goes to.
#[derive(Clone, Copy)]
pub struct Feed {
    walk: Walk,
    place: Option<Place>,
    k_tile: u32,
    stage: Stage,
    seat: Seat,
}

impl Feed {
    /// All of the tiles of `walk`, for the block at `seat` of its cluster.
    #[inline(always)]
    pub fn new(mut walk: Walk, seat: Seat) -> Self {
        let place = walk.next();
        Feed {
            walk,
            place,
            k_tile: 0,
            stage: Stage::FIRST,
            seat,
        }
    }

    /// Says that this block has read a stage, and has the next one filled.
    ///
    /// # Safety
    /// All threads of the block call it, once all have read the stage.
    #[inline(always)]
    pub unsafe fn read<T: Fused>(
        &mut self,
        operands: &Operands,
        ring: Ring,
        stage: Stage,
        index: u32,
    ) {
        // SAFETY: the barriers are made, in every block of the cluster, none of which has exited.
        unsafe {
            if waits::<T>() && index < T::TILE.cluster {
                mbarrier::arrive_at(ring.empty::<T>(stage), index);
            }
            if index == 0 {
                self.next::<T>(operands, ring);
            }
        }
    }

    /// Starts the copies of the next k tile or part of C, if there is one, once every block of the
    /// cluster has read what was in its stage.
    ///
    /// # Safety
    /// One thread of each block calls it, [`first_stages`] times at first and then each time that its
    /// own block has read a stage.
    #[inline(always)]
    pub unsafe fn next<T: Fused>(&mut self, operands: &Operands, ring: Ring) {
        let Some(place) = self.place else { return };
        // SAFETY: the barriers are made; a stage that was never filled counts as read, which is the
        // phase before the first.
        unsafe {
            if waits::<T>() {
                mbarrier::wait(ring.empty::<T>(self.stage), self.stage.parity ^ 1);
            }
            if self.k_tile < operands.depth() {
                self.fetch::<T>(operands, ring, place);
            } else {
                self.fetch_c::<T>(operands, ring, place);
            }
        }
        self.stage = self.stage.next(T::TILE.stages);
        self.k_tile += 1;
        if self.k_tile == operands.stages::<T>() {
            self.k_tile = 0;
            self.place = self.walk.next();
        }
    }

    /// Starts the copies of a k tile: A's rows of this block, and B, of which every block of a cluster
    /// fetches a part for all; where blocks exchange, its part of either. What no bulk copy takes is
    /// loaded when it is rounded.
    ///
    /// # Safety
    /// As for [`Feed::next`]; the stage is empty, in every block that it is filled in.
    #[inline(always)]
    unsafe fn fetch<T: Fused>(&self, operands: &Operands, ring: Ring, place: Place) {
        let (stage, seat) = (self.stage, self.seat);
        let place = seat.tile::<T>(place);
        let full = ring.full::<T>(stage);
        let k = self.k_tile * FUSED_DEPTH;
        let (copies_a, copies_b) = (
            !operands.loads::<T>(LOADS_A),
            !operands.loads::<T>(LOADS_B),
        );
        let bytes = |copies, bytes| if copies { bytes } else { 0 };
        let (a_bytes, b_bytes) = (T::TILE.a_bytes(), T::TILE.b_bytes());
        let [a_parts, b_parts] = T::TILE.parts();
        // SAFETY: the addresses are those of a stage that nobody reads; its barriers are made.
        unsafe {
            mbarrier::arrive_expecting(full, bytes(copies_a, a_bytes) + bytes(copies_b, b_bytes));
            if copies_a {
                let part = if a_parts == 1 { 0 } else { seat.column };
                let row = place.row + part * (T::TILE.m() / a_parts);
                let from = [k, row, place.matrix];
                bulk_tensor::load(ring.rows::<T>(stage), operands.products.a, from, full);
            }
            if copies_b {
                let map = operands.products.b;
                let rows = FUSED_DEPTH / T::TILE.cluster_rows();
                // Of panels of whole k tiles, unless blocks exchange.
                let (panel_rows, row) = (FUSED_DEPTH / b_parts, seat.row * rows);
                let row_there = if b_parts == 1 { row } else { 0 };
                for panel in 0..T::TILE.n / COLUMNS {
                    let to = ring.columns::<T>(stage) + (panel * panel_rows + row_there) * ROW;
                    let from = [place.column + panel * COLUMNS, k + row, place.matrix];
                    if T::TILE.cluster == 1 || T::TILE.exchanges() {
                        bulk_tensor::load(to, map, from, full);
                    } else {
                        let all = (1u16 << T::TILE.cluster) - 1;
                        bulk_tensor::load_multicast(to, map, from, full, all);
                    }
                }
            }
        }
    }

    /// Starts the copies of a part of C.
    ///
    /// # Safety
    /// As for [`Feed::fetch`].
    #[inline(always)]
    unsafe fn fetch_c<T: Fused>(&self, operands: &Operands, ring: Ring, place: Place) {
        let place = self.seat.tile::<T>(place);
        let full = ring.full::<T>(self.stage);
        let [a_panels, b_panels] = T::TILE.c_panels();
        let room = a_panels + b_panels;
        let first = (self.k_tile - operands.depth()) * room;
        let panels = room.min(T::TILE.n / COLUMNS - first);
        // SAFETY: as for `fetch`.
        unsafe {
            mbarrier::arrive_expecting(full, panels * T::TILE.m() * ROW);
            for panel in 0..room {
                if panel < panels {
                    let column = place.column + (first + panel) * COLUMNS;
                    let to = c_panel::<T>(ring, self.stage, panel);
                    let from = [column, place.row, place.matrix];
                    bulk_tensor::load(to, operands.products.c_map, from, full);
                }
            }
        }
    }
}

/// Address of a panel of C in a stage.
#[inline(always)]
pub fn c_panel<T: Fused>(ring: Ring, stage: Stage, panel: u32) -> u32 {
    let [a_panels, _] = T::TILE.c_panels();
    if panel < a_panels {
        ring.rows::<T>(stage) + panel * T::TILE.m() * ROW
    } else {
        ring.columns::<T>(stage) + (panel - a_panels) * T::TILE.m() * ROW
    }
}
