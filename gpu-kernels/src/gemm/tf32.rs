//! `gemm-tf32`: f32 in memory, TF32 in the multipliers.
//!
//! `wgmma` takes TF32 operands from shared memory along k only, which a row-major B is not. So the
//! transposed product is computed, C^T = B^T @ A^T: A, as it lies, is the operand along k, and B^T
//! the one that may come from registers, into which its elements are loaded one by one from the rows
//! as they lie. The sums then are those of C^T.

use super::output::element;
use super::ring::{Ring, Stage};
use super::specialised::move_registers;
use super::walk::{Place, Walk};
use super::{Products, Tile};
use crate::gpu::thread;
use crate::params::{READS_C, TENSOR_TF32, TENSOR_TF32_DEPTH, WARP};
use crate::ptx::bulk_tensor::TensorMap;
use crate::ptx::wgmma::{self, Descriptor, Sums, Sums256};
use crate::ptx::{bulk_tensor, global, mbarrier, shared};

/// Columns of a panel of B: 128 bytes.
const PANEL_COLUMNS: u32 = 32;
/// Bytes of a panel of B: a k tile of rows.
const PANEL_BYTES: u32 = TENSOR_TF32_DEPTH * 128;
/// Warps of a warpgroup.
const WARPS: u32 = 4;
/// k of one instruction.
const SLICE: u32 = 8;
/// Instructions of a k tile.
const SLICES: usize = (TENSOR_TF32_DEPTH / SLICE) as usize;

/// The transposed tile: rows are columns of C.
struct Transposed;

impl Tile for Transposed {
    const TILE: crate::params::TensorTile = TENSOR_TF32;
    type Sums = Sums256;
}

kernel! {
    /// C = A @ B + beta C. The tensor maps have boxes of 32 columns, and 256 (A) and 32 (B) rows.
    ///
    /// # Safety
    /// The pointers are those of matrices as `m`, `n`, `k` and `batch` say; the launch has the
    /// tile's threads and shared memory.
    pub unsafe fn gemm_tf32_transposed(
        _a: TensorMap, _b: TensorMap, _c: TensorMap, c: *mut u8,
        m: u32, n: u32, k: u32, batch: u32, flags: u32,
    ) {
        let a = tensor_map_parameter!(gemm_tf32_transposed, 0);
        let b = tensor_map_parameter!(gemm_tf32_transposed, 1);
        let c_map = tensor_map_parameter!(gemm_tf32_transposed, 2);
        let products = Products { a, b, c_map, c, m, n, k, batch, flags };
        let index = thread::thread_idx_x();
        let consumers = Transposed::TILE.consumers;
        let ring = Ring::new();
        let tile = [Transposed::TILE.n, Transposed::TILE.m()];
        let walk = Walk::new(products.extent(), tile, thread::block_idx_x(), thread::grid_dim_x());
        // SAFETY: one thread makes the barriers before any other uses them; whole warpgroups branch
        // together.
        unsafe {
            if index == 0 {
                ring.make_barriers::<Transposed>(consumers * WARPS);
            }
            thread::sync_threads();
            if index < 128 * consumers {
                move_registers::<Transposed>(true);
                multiply(&products, ring, walk, index);
            } else {
                move_registers::<Transposed>(false);
                if index == 128 * consumers {
                    copy(&products, ring, walk);
                }
            }
        }
    }
}

/// k tiles of a tile of C.
#[inline(always)]
fn depth(products: &Products) -> u32 {
    products.k.div_ceil(TENSOR_TF32_DEPTH)
}

/// Keeps the stages filled.
///
/// # Safety
/// One thread of the block calls it.
#[inline(always)]
unsafe fn copy(products: &Products, ring: Ring, mut walk: Walk) {
    let mut stage = Stage::FIRST;
    while let Some(place) = walk.next() {
        for k_tile in 0..depth(products) {
            // SAFETY: the barriers are made; a stage is filled once it has been read.
            unsafe {
                mbarrier::wait(ring.empty::<Transposed>(stage), stage.parity ^ 1);
                let full = ring.full::<Transposed>(stage);
                let k = k_tile * TENSOR_TF32_DEPTH;
                mbarrier::arrive_expecting(full, Transposed::TILE.stage_bytes());
                let a = ring.columns::<Transposed>(stage);
                bulk_tensor::load(a, products.a, [k, place.row, place.matrix], full);
                for panel in 0..Transposed::TILE.m() / PANEL_COLUMNS {
                    let to = ring.rows::<Transposed>(stage) + panel * PANEL_BYTES;
                    let column = place.column + panel * PANEL_COLUMNS;
                    bulk_tensor::load(to, products.b, [column, k, place.matrix], full);
                }
            }
            stage = stage.next(Transposed::TILE.stages);
        }
    }
}

/// Multiplies what arrives, and writes.
///
/// While the products of one half of a k tile run, the fragments of the next half are loaded.
///
/// # Safety
/// All threads of the block's multiplying warpgroups call it.
#[inline(always)]
unsafe fn multiply(products: &Products, ring: Ring, mut walk: Walk, index: u32) {
    let depth = depth(products);
    let reader = Reader::new(index, products.k);
    let (mut first, mut second) = (Half::zero(), Half::zero());
    let mut stage = Stage::FIRST;
    while let Some(place) = walk.next() {
        prefetch(products, place, index);
        let mut sums = Sums256::zero();
        let mut left = depth;
        let mut last = stage;
        // SAFETY: stages are complete when they are read, and given back when the products that read
        // them, and the registers, are.
        unsafe {
            mbarrier::wait(ring.full::<Transposed>(stage), stage.parity);
            reader.load(&mut first, ring.rows::<Transposed>(stage), 0);
            loop {
                let a = Descriptor::along_k(ring.columns::<Transposed>(stage));
                first.multiply(&mut sums, a, 0);
                wgmma::wait::<1>();
                // The products of the second half before are complete.
                if left < depth {
                    give_back(ring, last, index);
                }
                reader.load(&mut second, ring.rows::<Transposed>(stage), 1);
                second.multiply(&mut sums, a, 1);
                wgmma::wait::<1>();
                // Those of this first half are.
                last = stage;
                stage = stage.next(Transposed::TILE.stages);
                left -= 1;
                if left == 0 {
                    break;
                }
                mbarrier::wait(ring.full::<Transposed>(stage), stage.parity);
                reader.load(&mut first, ring.rows::<Transposed>(stage), 0);
            }
            wgmma::wait::<0>();
            give_back(ring, last, index);
            let own = Own::new(products, place, index);
            if products.n.is_multiple_of(2) {
                own.write_all::<true>(&sums);
            } else {
                own.write_all::<false>(&sums);
            }
        }
    }
}

/// Tells the thread that copies that this warp has read a stage: each warp for itself, for only it
/// knows that its loads are done.
///
/// # Safety
/// The warp's loads from the stage, and the products that read it, are complete.
#[inline(always)]
unsafe fn give_back(ring: Ring, stage: Stage, index: u32) {
    if index % WARP == 0 {
        // SAFETY: the barrier is made.
        unsafe { mbarrier::arrive(ring.empty::<Transposed>(stage)) };
    }
}

/// What a thread multiplies of half a k tile from registers: of every slice the two pairs of
/// columns that [`Sums::multiply_tf32`] takes.
struct Half([[[u32; 2]; 2]; SLICES / 2]);

impl Half {
    #[inline(always)]
    fn zero() -> Self {
        Half([[[0; 2]; 2]; SLICES / 2])
    }

    /// Starts the products of half `half` of a k tile with A's part of it at `a`.
    ///
    /// # Safety
    /// The whole warpgroup calls it; the operands are complete and stay until the products are.
    #[inline(always)]
    unsafe fn multiply(&self, sums: &mut Sums256, a: Descriptor, half: u32) {
        wgmma::fence();
        for i in 0..SLICES / 2 {
            let slice = half * (SLICES as u32 / 2) + i as u32;
            let [[w, x], [y, z]] = self.0[i];
            // SAFETY: as the caller vouches.
            unsafe { sums.multiply_tf32([w, x, y, z], a.advance(slice * SLICE * 4)) };
        }
        wgmma::commit();
    }
}

/// Where a thread reads its fragments.
///
/// A warp's sixteen rows of the transposed tile can be any columns of C: two neighbours for each
/// eight lanes apart, so that they are read together, and such that the 16 lanes of an access meet no
/// bank twice.
struct Reader {
    /// Of the first slice, for the two halves of its k.
    at: [u32; 2],
    /// Not 0.
    always: u32,
}

impl Reader {
    #[inline(always)]
    fn new(index: u32, always: u32) -> Self {
        let lane = index % WARP;
        let column = own_column(index);
        let (panel, column) = (column / PANEL_COLUMNS, column % PANEL_COLUMNS);
        let at = |upper: u32| {
            let k = lane % 4 + 4 * upper;
            panel * PANEL_BYTES + k * 128 + ((column / 4) ^ k) * 16 + column % 4 * 4
        };
        Reader {
            at: [at(0), at(1)],
            always,
        }
    }

    /// Loads half `half` of the k tile whose panels are at `rows`.
    ///
    /// # Safety
    /// The panels are complete; the products that read `to` are, too.
    #[inline(always)]
    unsafe fn load(&self, to: &mut Half, rows: u32, half: u32) {
        for i in 0..SLICES / 2 {
            let slice = half * (SLICES as u32 / 2) + i as u32;
            for upper in 0..2 {
                let at = rows + self.at[upper] + slice * SLICE * 128;
                // SAFETY: a pair of a panel.
                unsafe { shared::load_pair_over(&mut to.0[i][upper], at, self.always) };
            }
        }
    }
}

/// The first of a thread's two neighbouring columns of the tile, which are rows lane / 4 and
/// lane / 4 + 8 of its warp's part of the transposed one.
#[inline(always)]
fn own_column(index: u32) -> u32 {
    let (warp, lane) = (index / WARP, index % WARP);
    let row = lane / 4;
    // Two units of 16 bytes side by side, and two half a panel further on.
    let unit = warp % 2 * 2 + row / 4 + row / 2 % 2 * 4;
    warp / 2 * PANEL_COLUMNS + unit * 4 + row % 2 * 2
}

/// A thread's part of C: a pair of columns of rows 0, 1, 8, 9, 16, 17, … from its first on.
struct Own {
    c: *mut f32,
    /// Rows and columns of C from there on.
    rows: u32,
    columns: u32,
    pitch: usize,
    reads: bool,
}

/// Pairs of C that are read together.
const TOGETHER: u32 = 8;

/// What is added to them.
type Old = [[f32; 2]; TOGETHER as usize];

impl Own {
    /// Groups of a thread's pairs.
    const GROUPS: u32 = Sums256::COLUMNS / 4 / TOGETHER;

    /// Of thread `index` of the block in the tile at `place`.
    #[inline(always)]
    fn new(products: &Products, place: Place, index: u32) -> Self {
        let column = place.column + own_column(index);
        let row = place.row + 2 * (index % 4);
        let at = element(products, place.matrix, row, column);
        Own {
            c: products.c.cast::<f32>().wrapping_add(at),
            rows: products.m.saturating_sub(row),
            columns: products.n.saturating_sub(column),
            pitch: products.n as usize,
            reads: products.flags & READS_C != 0,
        }
    }

    /// Row of pair `i`.
    #[inline(always)]
    const fn row(i: u32) -> u32 {
        8 * (i / 2) + i % 2
    }

    /// Address of pair `i` of group `group`, and how many elements of it exist.
    #[inline(always)]
    fn pair(&self, group: u32, i: u32) -> (*mut f32, u32) {
        let row = Self::row(group * TOGETHER + i);
        let at = self.c.wrapping_add(row as usize * self.pitch);
        (at, if row < self.rows { self.columns } else { 0 })
    }

    /// Reads a group, if the launch reads C. With `EVEN` rows have an even number of elements, so that
    /// pairs are aligned.
    ///
    /// # Safety
    /// C is as the launch says; nobody else writes the elements.
    #[inline(always)]
    unsafe fn read<const EVEN: bool>(&self, group: u32) -> Old {
        let mut old = [[0.0; 2]; TOGETHER as usize];
        if !self.reads {
            return old;
        }
        for i in 0..TOGETHER {
            let (from, exist) = self.pair(group, i);
            let old = &mut old[i as usize];
            // SAFETY: elements of C.
            unsafe {
                if EVEN && exist > 0 {
                    *old = global::load_v2(from);
                }
                if !EVEN && exist > 0 {
                    old[0] = *from;
                }
                if !EVEN && exist > 1 {
                    old[1] = *from.wrapping_add(1);
                }
            }
        }
        old
    }

    /// Writes a group of the sums, `old` added.
    ///
    /// # Safety
    /// As for [`Own::read`]; the products are complete.
    #[inline(always)]
    unsafe fn write<const EVEN: bool>(&self, group: u32, sums: &Sums256, old: &Old) {
        for i in 0..TOGETHER {
            let (to, exist) = self.pair(group, i);
            let four = sums.columns(((group * TOGETHER + i) / 2) as usize);
            let (part, [x, y]) = ((i % 2) as usize, old[i as usize]);
            let pair = [four[part] + x, four[part + 2] + y];
            // SAFETY: elements of C.
            unsafe {
                if EVEN && exist > 0 {
                    global::store_v2(to, pair);
                }
                if !EVEN && exist > 0 {
                    *to = pair[0];
                }
                if !EVEN && exist > 1 {
                    *to.wrapping_add(1) = pair[1];
                }
            }
        }
    }

    /// Writes all sums; a group of C is read while the one before is written.
    ///
    /// # Safety
    /// As for [`Own::write`].
    #[inline(always)]
    unsafe fn write_all<const EVEN: bool>(&self, sums: &Sums256) {
        // SAFETY: as the caller vouches.
        unsafe {
            let mut old = self.read::<EVEN>(0);
            for group in 0..Self::GROUPS {
                let next = match group + 1 < Self::GROUPS {
                    true => self.read::<EVEN>(group + 1),
                    false => old,
                };
                self.write::<EVEN>(group, sums, &old);
                old = next;
            }
        }
    }
}

/// Asks for the lines of C that the tile at `place` is added to: when its products are complete they
/// are in the L2.
#[inline(always)]
fn prefetch(products: &Products, place: Place, index: u32) {
    if products.flags & READS_C == 0 {
        return;
    }
    let row = place.row + index;
    for panel in 0..Transposed::TILE.m() / PANEL_COLUMNS {
        let column = place.column + panel * PANEL_COLUMNS;
        if row < products.m && column < products.n {
            let at = element(products, place.matrix, row, column);
            // SAFETY: an element of C.
            unsafe { global::prefetch_l2(products.c.cast::<f32>().wrapping_add(at)) };
        }
    }
}
