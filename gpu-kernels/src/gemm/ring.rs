//! The stages of A and B in shared memory, their barriers, and the copies into them.

use super::output::Staged;
use super::walk::Place;
use super::{Products, Tile};
use crate::params::{PANEL_BYTES, PANEL_COLUMNS, TENSOR_DEPTH, TensorTile};
use crate::ptx::wgmma::{Descriptor, Sums};
use crate::ptx::{bulk_tensor, fence, mbarrier, shared, warp};
use crate::stage::Stage;

/// Bytes of a row of a tile in shared memory.
const ROW: u32 = 128;

/// Addresses of a tile's shared memory: stages of A, stages of B, staged panels of C, and for
/// every stage the barriers `full` and `empty`.
#[derive(Clone, Copy)]
pub struct Ring {
    base: u32,
}

impl Ring {
    /// The block's ring; it starts where dynamic shared memory does, which is aligned for the
    /// swizzle.
    #[inline(always)]
    pub fn new() -> Self {
        Ring {
            base: shared::dynamic_base(),
        }
    }

    /// Makes the barriers: `full` ends when its copies are complete, `empty` after `readers`
    /// arrivals.
    ///
    /// # Safety
    /// One thread calls it, once; a barrier of the block, with clusters of the cluster, follows.
    #[inline(always)]
    pub unsafe fn make_barriers<T: Tile>(&self, readers: u32) {
        for index in 0..T::TILE.stages {
            let stage = Stage { index, parity: 0 };
            // SAFETY: the addresses are inside the block's shared memory, 8-byte aligned.
            unsafe {
                mbarrier::init(self.full::<T>(stage), 1);
                mbarrier::init(self.empty::<T>(stage), readers);
            }
        }
        fence::barriers_made();
    }

    /// Address of the operand of which every warpgroup reads its own 64 rows.
    #[inline(always)]
    pub fn rows<T: Tile>(&self, stage: Stage) -> u32 {
        self.base + stage.index * T::TILE.a_bytes()
    }

    /// Address of the operand that all warpgroups read.
    #[inline(always)]
    pub fn columns<T: Tile>(&self, stage: Stage) -> u32 {
        self.base + T::TILE.stages * T::TILE.a_bytes() + stage.index * T::TILE.b_bytes()
    }

    /// Address of the staged panels of C of a warpgroup.
    #[inline(always)]
    pub fn staged<T: Tile>(&self, warpgroup: u32) -> u32 {
        self.base + T::TILE.staged_offset() + warpgroup * T::TILE.staged * PANEL_BYTES
    }

    /// A place for each panel of C of a warpgroup: its own rows of A of every stage.
    #[inline(always)]
    pub fn apart<T: Tile>(&self, warpgroup: u32) -> Staged {
        const { assert!(64 * 2 * TENSOR_DEPTH == PANEL_BYTES) };
        const { assert!(T::TILE.n / PANEL_COLUMNS <= T::TILE.stages) };
        Staged {
            first: self.rows::<T>(Stage::FIRST) + warpgroup * PANEL_BYTES,
            step: T::TILE.a_bytes(),
            apart: true,
        }
    }

    /// Addresses of a place of bfloat16 that stages are rounded to: of the operand along k, of that
    /// across k.
    #[inline(always)]
    pub fn half<T: Tile>(&self, half: u32) -> [u32; 2] {
        let along = self.base + T::TILE.halves_offset() + half * T::TILE.half_bytes();
        [along, along + T::TILE.half_a_bytes()]
    }

    /// The barrier that ends when the stage's copies are complete.
    #[inline(always)]
    pub fn full<T: Tile>(&self, stage: Stage) -> u32 {
        self.base + T::TILE.barriers_offset() + stage.index * mbarrier::BYTES
    }

    /// The barrier that ends when all have read the stage.
    #[inline(always)]
    pub fn empty<T: Tile>(&self, stage: Stage) -> u32 {
        self.full::<T>(stage) + T::TILE.stages * mbarrier::BYTES
    }

    /// Starts the copies of a k tile into a stage: A's rows of this block, and B, of which every
    /// block of a cluster fetches a part for all.
    ///
    /// # Safety
    /// One thread calls it; the stage is empty, in every block of the cluster.
    #[inline(always)]
    pub unsafe fn fetch<T: Tile>(
        &self,
        products: &Products,
        place: Place,
        k_tile: u32,
        stage: Stage,
        rank: u32,
    ) {
        const { assert!(T::TILE.n == <T::Sums as Sums>::COLUMNS) };
        const { assert!(T::TILE.n.is_multiple_of(PANEL_COLUMNS)) };
        let TensorTile { n, cluster, .. } = T::TILE;
        let full = self.full::<T>(stage);
        let k = k_tile * TENSOR_DEPTH;
        let row = place.row + rank * T::TILE.m();
        // SAFETY: the addresses are those of a stage that nobody reads; its barriers are made.
        unsafe {
            mbarrier::arrive_expecting(full, T::TILE.stage_bytes());
            bulk_tensor::load(
                self.rows::<T>(stage),
                products.a,
                [k, row, place.matrix],
                full,
            );
            for panel in 0..n / PANEL_COLUMNS {
                let part = rank * (TENSOR_DEPTH / cluster);
                let to =
                    self.columns::<T>(stage) + panel * PANEL_BYTES + rank * (PANEL_BYTES / cluster);
                let from = [place.column + panel * PANEL_COLUMNS, k + part, place.matrix];
                if cluster == 1 {
                    bulk_tensor::load(to, products.b, from, full);
                } else {
                    let all = (1u16 << cluster) - 1;
                    bulk_tensor::load_multicast(to, products.b, from, full, all);
                }
            }
        }
    }

    /// Address of a warpgroup's panel `panel` of C in a stage of C.
    #[inline(always)]
    pub fn panel<T: Tile>(&self, stage: Stage, warpgroup: u32, panel: u32) -> u32 {
        let before = warpgroup * T::TILE.panels_in_stage() + panel;
        self.columns::<T>(stage) + before * PANEL_BYTES
    }

    /// Starts the copies of the panels of C from `first` on, of all warpgroups, into a stage.
    ///
    /// # Safety
    /// As for [`Ring::fetch`].
    #[inline(always)]
    pub unsafe fn fetch_panels<T: Tile>(
        &self,
        products: &Products,
        place: Place,
        first: u32,
        stage: Stage,
        rank: u32,
    ) {
        const { assert!((T::TILE.n / PANEL_COLUMNS).is_multiple_of(T::TILE.panels_in_stage())) };
        let TensorTile { consumers, .. } = T::TILE;
        let panels = T::TILE.panels_in_stage();
        let full = self.full::<T>(stage);
        // SAFETY: as in `fetch`.
        unsafe {
            mbarrier::arrive_expecting(full, consumers * panels * PANEL_BYTES);
            for warpgroup in 0..consumers {
                let row = place.row + rank * T::TILE.m() + warpgroup * 64;
                for panel in 0..panels {
                    let to = self.panel::<T>(stage, warpgroup, panel);
                    let column = place.column + (first + panel) * PANEL_COLUMNS;
                    bulk_tensor::load(to, products.c_map, [column, row, place.matrix], full);
                }
            }
        }
    }

    /// A's 64 rows of a warpgroup, and B, in a stage.
    ///
    /// The stage is taken from the first lane: then ptxas knows that the whole warp agrees, and
    /// computes descriptors once for all lanes. To be called where the warp is together, with a
    /// `warpgroup` that ptxas knows to be alike, too.
    #[inline(always)]
    pub fn factors<T: Tile>(&self, stage: Stage, warpgroup: u32) -> [Descriptor; 2] {
        let index = warp::first(stage.index);
        let a = Descriptor::along_k(self.rows::<T>(Stage::FIRST) + warpgroup * (64 * ROW));
        let b = Descriptor::across_k(self.columns::<T>(Stage::FIRST), PANEL_BYTES);
        [
            a.advance_by(T::TILE.a_bytes(), index),
            b.advance_by(T::TILE.b_bytes(), index),
        ]
    }
}

/// Starts the products of a stage, of which `a` and `b` are the [`Ring::factors`].
///
/// # Safety
/// The whole warpgroup calls it, behind `wgmma`'s fence; the stage is complete and stays.
#[inline(always)]
pub unsafe fn multiply<S: Sums>(sums: &mut S, [a, b]: [Descriptor; 2]) {
    /// k of one instruction.
    const SLICE: u32 = 16;
    for slice in 0..TENSOR_DEPTH / SLICE {
        // SAFETY: as the caller vouches.
        unsafe { sums.multiply_bf16(a.advance(slice * 2 * SLICE), b.advance(slice * SLICE * ROW)) };
    }
}
