//! Batches of products: a tile of 64 x 64 of C by a block of one warp, from stages that bulk tensor copies fill.
//!
//! - A warp waits for its own copies only: there is no barrier of several warps, and eight blocks on a
//!   multiprocessor hide each other's beginnings and ends. At N = 64 they always have more under way
//!   than the memory needs, and above that the schedulers always have something to issue.
//! - One lane starts the copies of a stage; no issue slots are spent on addresses. The copies swizzle A
//!   as the main loop reads it ([`row_major`]), and fill edges with zeros.
//! - C comes through the stages too, like further slices of k: when the last product is summed, it lies in
//!   shared memory, and the block ends without a trip to the L2.
//! - The main loop is fast as long as ptxas sees that all of a warp agree on how it runs: then no
//!   instruction brings its lanes together again, and where the stages lie is in uniform registers.

use super::row_major::{
    self, A_ROW, QUARTERS, Slices, TM, TN, first_element, swizzle, vector,
};
use crate::gpu::thread;
use crate::params::{BAND, BULK, SLICED};
use crate::ptx::bulk_tensor::TensorMap;
use crate::ptx::compiler::opaque;
use crate::ptx::global::store_v4;
use crate::ptx::{bulk_tensor, fence, mbarrier, shared, warp};
use crate::stage::Stage;

/// Boxes of C in a stage.
const BOXES: u32 = BULK.stage_bytes() / BULK.c_box_bytes();
/// Stages that C takes.
const C_STAGES: u32 = BULK.n() / BULK.c_box / BOXES;
const _: () = assert!(BOXES * BULK.c_box_bytes() == BULK.stage_bytes());
const _: () = assert!(C_STAGES * BOXES * BULK.c_box == BULK.n());
/// All of C is asked for before the last slice is multiplied.
const _: () = assert!(C_STAGES < BULK.stages);

/// The products of a launch: tensor maps, and what [`super::Operands`] says of C and the sides.
#[derive(Clone, Copy)]
struct Products {
    a: *const u8,
    b: *const u8,
    c_map: *const u8,
    c: *mut f32,
    m: u32,
    n: u32,
    k: u32,
}

/// A tile of C.
#[derive(Clone, Copy)]
struct Tile {
    row: u32,
    column: u32,
    product: u32,
}

/// The tile of block `index`: down the rows of a [`BAND`], then one column on, as in the other tiles.
#[inline(always)]
fn locate(products: Products, index: u32) -> Tile {
    const ROWS: u32 = BAND / BULK.m();
    let (rows, columns) = (products.m.div_ceil(BULK.m()), products.n.div_ceil(BULK.n()));
    let (tiles, band) = (rows * columns, ROWS * columns);
    // SAFETY: m, n >= 1. Keeps panics out of the PTX.
    unsafe { core::hint::assert_unchecked(tiles != 0 && band != 0) };
    let (product, index) = (index / tiles, index % tiles);
    let top = index / band * ROWS;
    let height = if rows - top < ROWS { rows - top } else { ROWS };
    // SAFETY: the tile exists, so its band has at least one row.
    unsafe { core::hint::assert_unchecked(height != 0) };
    let inside = index % band;
    Tile {
        row: (top + inside % height) * BULK.m(),
        column: inside / height * BULK.n(),
        product,
    }
}

/// Slices of k.
#[inline(always)]
fn depth(products: Products) -> u32 {
    products.k.div_ceil(BULK.k())
}

/// Address of the first stage.
#[inline(always)]
fn stages() -> u32 {
    shared::dynamic_base()
}

/// The barrier that ends when the copies of a stage are complete.
#[inline(always)]
fn full(stage: u32) -> u32 {
    stages() + BULK.barriers_offset() + stage * mbarrier::BYTES
}

/// Starts the copies of slice `item` into a stage, or of the part of C behind the slices.
///
/// # Safety
/// One thread calls it; the barriers are made, and nobody reads the stage.
#[inline(always)]
unsafe fn fetch(products: Products, tile: Tile, item: u32, stage: u32) {
    let (to, full) = (stages() + stage * BULK.stage_bytes(), full(stage));
    let Tile { row, column, product } = tile;
    let depth = depth(products);
    // SAFETY: as the caller vouches.
    unsafe {
        mbarrier::arrive_expecting(full, BULK.stage_bytes());
        if item < depth {
            let k = item * BULK.k();
            bulk_tensor::load(to, products.a, [k, row, product], full);
            bulk_tensor::load(to + BULK.a_bytes(), products.b, [column, k, product], full);
        } else {
            let first = (item - depth) * BOXES;
            let mut i = 0;
            while i < BOXES {
                let column = column + (first + i) * BULK.c_box;
                let to = to + i * BULK.c_box_bytes();
                bulk_tensor::load(to, products.c_map, [column, row, product], full);
                i += 1;
            }
        }
    }
}

/// The slices of a block.
struct Ring {
    products: Products,
    tile: Tile,
    /// The stage that is multiplied, and the one before.
    stage: Stage,
    last: u32,
    /// What is copied next, and the end.
    item: u32,
    items: u32,
    lane: u32,
}

impl Slices for Ring {
    const B_ROW: u32 = BULK.b_row();
    const FORTH: usize = 0;
    const LEAVES_EARLY: bool = true;

    #[inline(always)]
    unsafe fn next(&mut self) -> u32 {
        self.last = self.stage.index;
        self.stage = self.stage.next(BULK.stages);
        warp::sync();
        // SAFETY: the barriers are made.
        unsafe { mbarrier::wait(full(self.stage.index), self.stage.parity) };
        self.stage.index * BULK.stage_bytes()
    }

    /// The stage before this, of which nothing has been read behind the barrier, is filled again.
    #[inline(always)]
    unsafe fn refill(&mut self, quarters_left: u32) {
        if quarters_left.is_multiple_of(QUARTERS) && self.item < self.items {
            if self.lane == 0 {
                // SAFETY: as above.
                unsafe { fetch(self.products, self.tile, self.item, self.last) };
            }
            self.item += 1;
        }
    }
}

/// Adds C, which comes in the stages behind that of the last slice, to the sums, and stores it.
///
/// # Safety
/// As for [`run`].
#[inline(always)]
unsafe fn add(ring: &Ring, sums: &[[f32; TN]; TM]) {
    const VECTORS: usize = TN / 4;
    // A box for each vector.
    const { assert!(BULK.c_box == SLICED.lanes_n() * 4 && C_STAGES * BOXES == VECTORS as u32) };
    let Ring { products, tile, lane, .. } = *ring;
    let (row, column) = first_element(lane);
    let whole = tile.row + BULK.m() <= products.m && tile.column + BULK.n() <= products.n;
    let (m, n) = (products.m as usize, products.n as usize);
    let first = (tile.row + row) as usize * n + (tile.column + column) as usize;
    let c = products.c.wrapping_add(tile.product as usize * (m * n)).wrapping_add(first);
    // Where the boxes of the thread's vectors of a row lie.
    let mut boxes = [0; VECTORS];
    let mut stage = ring.stage;
    // SAFETY: the barriers are made; each vector of C is one thread's, and its rows start on 16 bytes and
    // are of whole vectors.
    unsafe {
        let mut j = 0;
        while j < VECTORS {
            let in_stage = j as u32 % BOXES;
            if in_stage == 0 {
                stage = stage.next(BULK.stages);
                mbarrier::wait(full(stage.index), stage.parity);
            }
            boxes[j] = stages()
                + stage.index * BULK.stage_bytes()
                + in_stage * BULK.c_box_bytes()
                + row * (4 * BULK.c_box)
                + column * 4;
            j += 1;
        }
        let mut v = 0;
        while v < TM * VECTORS {
            let (i, j) = (v / VECTORS, v % VECTORS);
            let (down, across) = vector(v as u32);
            let old = shared::load_v4(boxes[j] + down * (4 * BULK.c_box));
            let (row, column) = (tile.row + row + down, tile.column + column + across);
            if whole || row < products.m && column < products.n {
                let to = c.wrapping_add(down as usize * n + across as usize);
                store_v4(to, core::array::from_fn(|e| old[e] + sums[i][4 * j + e]));
            }
            v += 1;
        }
    }
}

/// The tile of this block of C += A @ B.
///
/// # Safety
/// The tensor maps are those of row-major matrices of the sides, m, n, k >= 1, those of a batch one
/// behind the other, with the boxes and swizzles of [`BULK`]; `c` is the C of the third and overlaps neither of
/// the others. The block has the threads and the dynamic shared memory of the shape, and the grid one for
/// each tile.
#[inline(always)]
unsafe fn run(products: Products) {
    let tile = locate(products, thread::block_idx_x());
    let lane = thread::thread_idx_x();
    let items = depth(products) + C_STAGES;
    // SAFETY: one lane makes the barriers and starts the copies, each into a stage that is empty: not
    // yet used, or read by all before the barrier of the warp; a stage is read when its barrier says so.
    unsafe {
        if lane == 0 {
            let mut stage = 0;
            while stage < BULK.stages {
                mbarrier::init(full(stage), 1);
                stage += 1;
            }
            fence::barriers_made();
            let mut item = 0;
            while item < opaque(BULK.stages) && item < items {
                fetch(products, tile, item, item);
                item += 1;
            }
        }
        warp::sync();
        let (row, column) = first_element(lane);
        let a_base = stages() + row * A_ROW + swizzle(row);
        let b_base = stages() + BULK.a_bytes() + column * 4;
        let (stage, item) = (Stage::FIRST, BULK.stages);
        let mut ring = Ring { products, tile, stage, last: 0, item, items, lane };
        mbarrier::wait(full(0), 0);
        let sums = row_major::sum(&mut ring, depth(products), [a_base, b_base]);
        add(&ring, &sums);
    }
}

kernel! {
    /// C = A @ B + C, each tile by a block.
    ///
    /// # Safety
    /// As for the function that it calls.
    pub unsafe fn sgemm_bulk(
        _a: TensorMap, _b: TensorMap, _c: TensorMap, c: *mut f32, m: u32, n: u32, k: u32,
    ) {
        let a = tensor_map_parameter!(sgemm_bulk, 0);
        let b = tensor_map_parameter!(sgemm_bulk, 1);
        let c_map = tensor_map_parameter!(sgemm_bulk, 2);
        // SAFETY: as the caller vouches.
        unsafe { run(Products { a, b, c_map, c, m, n, k }) }
    }
}
