//! The copies of f32 into the stages: one warp starts them, each of its lanes one.

use super::{Fused, Operands, Seat};
use crate::gemm::ring::{Ring, Stage};
use crate::gemm::walk::{Place, Walk};
use crate::params::{FUSED_DEPTH, LOADS_A, LOADS_B, WARP};
use crate::ptx::special::opaque;
use crate::ptx::{bulk_tensor, mbarrier};

/// Columns of a panel of f32: 128 bytes.
pub const COLUMNS: u32 = 32;
/// Bytes of a row of a panel.
const ROW: u32 = 128;

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
    seat: Seat,
    /// Where [`waits`], the stage to be filled.
    behind: Stage,
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
            seat,
            behind: Stage::FIRST,
        }
    }

    /// Fills the stages for the first time, all but one where [`waits`]: a stage then is filled again a
    /// k tile after this block has read it, so that nobody waits for what the others say of it.
    ///
    /// # Safety
    /// One warp of each block calls it, once the barriers are made.
    #[inline(always)]
    pub unsafe fn first<T: Fused>(&mut self, operands: &Operands, ring: Ring, lane: u32) {
        let mut stage = Stage::FIRST;
        for _ in 0..opaque(T::TILE.stages - u32::from(waits::<T>())) {
            // SAFETY: no stage has been filled yet.
            unsafe { self.fill::<T>(operands, ring, stage, lane) };
            stage = stage.next(T::TILE.stages);
        }
        self.behind = stage;
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
        // SAFETY: the barriers are made, in every block of the cluster, none of which has exited; a
        // stage that was never filled counts as read, which is the phase before the first.
        unsafe {
            if !waits::<T>() {
                if index < WARP {
                    self.fill::<T>(operands, ring, stage, index);
                }
                return;
            }
            if index < T::TILE.cluster {
                mbarrier::arrive_at(ring.empty::<T>(stage), index);
            }
            if index < WARP {
                let behind = self.behind;
                mbarrier::wait(ring.empty::<T>(behind), behind.parity ^ 1);
                self.fill::<T>(operands, ring, behind, index);
                self.behind = behind.next(T::TILE.stages);
            }
        }
    }

    /// Starts the copies of the next k tile or part of C, if there is one, into a stage.
    ///
    /// # Safety
    /// One warp of each block calls it; the stage is empty, in every block that it is filled in.
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
        unsafe { self.fetch::<T>(operands, ring, self.seat.tile::<T>(place), stage, lane) };
        self.k_tile += 1;
        if self.k_tile == operands.stages::<T>() {
            self.k_tile = 0;
            self.place = self.walk.next();
        }
    }

    /// Starts the copies of a k tile or a part of C for the block's tile at `place`: a lane's own, if it
    /// has one.
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
        let products = &operands.products;
        let full = ring.full::<T>(stage);
        let is_c = self.k_tile >= operands.depth();
        let a = self.a::<T>(ring, place, stage);
        let b = self.b::<T>(ring, place, stage, lane);
        let (c, panels) = self.c::<T>(operands, ring, place, (stage, lane));
        let [copies_a, copies_b] = [LOADS_A, LOADS_B].map(|flag| !operands.loads::<T>(flag));
        let part = |copied, bytes| if copied { bytes } else { 0 };
        let bytes = if is_c {
            panels * T::TILE.m() * ROW
        } else {
            part(copies_a, T::TILE.a_bytes()) + part(copies_b, T::TILE.b_bytes())
        };
        /// Lanes that have a panel of B, and behind them that which has A.
        const fn a_lane<T: Fused>() -> u32 {
            T::TILE.n / COLUMNS
        }
        let of_b = !is_c && copies_b && lane < a_lane::<T>();
        let of_a = !is_c && copies_a && lane == a_lane::<T>();
        let of_c = is_c && lane < panels;
        let (map, (to, from)) = match (of_a, of_c) {
            (true, _) => (products.a, a),
            (_, true) => (products.c_map, c),
            _ => (products.b, b),
        };
        // SAFETY: the addresses are those of the stage, whose barriers are made.
        unsafe {
            if lane == 0 {
                mbarrier::arrive_expecting(full, bytes);
            }
            if of_a || of_c || (of_b && !waits::<T>()) {
                bulk_tensor::load(to, map, from, full);
            }
            if of_b && waits::<T>() {
                let all = (1u16 << T::TILE.cluster) - 1;
                bulk_tensor::load_multicast(to, map, from, full, all);
            }
        }
    }

    /// Where A's rows of a k tile go and where they come from: those of this block, or, where blocks
    /// exchange, its part of them.
    #[inline(always)]
    fn a<T: Fused>(&self, ring: Ring, place: Place, stage: Stage) -> (u32, [u32; 3]) {
        let [parts, _] = T::TILE.parts();
        let part = if parts == 1 { 0 } else { self.seat.column };
        let row = place.row + part * (T::TILE.m() / parts);
        let k = self.k_tile * FUSED_DEPTH;
        (ring.rows::<T>(stage), [k, row, place.matrix])
    }

    /// The same for a panel of B: the rows that this block fetches, for all, or where blocks exchange,
    /// for itself.
    #[inline(always)]
    fn b<T: Fused>(
        &self,
        ring: Ring,
        place: Place,
        stage: Stage,
        panel: u32,
    ) -> (u32, [u32; 3]) {
        let [_, parts] = T::TILE.parts();
        let row = self.seat.row * (FUSED_DEPTH / T::TILE.cluster_rows());
        // Panels of whole k tiles, unless blocks exchange.
        let (panel_rows, row_there) = (FUSED_DEPTH / parts, if parts == 1 { row } else { 0 });
        let to = ring.columns::<T>(stage) + (panel * panel_rows + row_there) * ROW;
        let k = self.k_tile * FUSED_DEPTH + row;
        (to, [place.column + panel * COLUMNS, k, place.matrix])
    }

    /// The same for a panel of a part of C, and how many the part has.
    #[inline(always)]
    fn c<T: Fused>(
        &self,
        operands: &Operands,
        ring: Ring,
        place: Place,
        (stage, panel): (Stage, u32),
    ) -> ((u32, [u32; 3]), u32) {
        let [a_panels, b_panels] = T::TILE.c_panels();
        let room = a_panels + b_panels;
        let first = self.k_tile.wrapping_sub(operands.depth()) * room;
        let panels = room.min((T::TILE.n / COLUMNS).wrapping_sub(first));
        let column = place.column + (first + panel) * COLUMNS;
        let to = c_panel::<T>(ring, stage, panel);
        ((to, [column, place.row, place.matrix]), panels)
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
