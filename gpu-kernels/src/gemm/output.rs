//! C: from the sums in registers to memory.

use super::walk::Place;
use super::{Products, Tile};
use crate::params::{OUT_F32, PANEL_BYTES, PANEL_COLUMNS, READS_C, STAGES_C};
use crate::ptx::convert::bf16_pair;
use crate::ptx::matrix::store_4;
use crate::ptx::wgmma::{Pairs, Sums};
use crate::ptx::{bulk_tensor, fence, global, warpgroup};

/// The pairs of C of a tile.
type PairsOf<T> = <<T as Tile>::Sums as Sums>::Pairs;

/// Columns of one step of [`Sums::columns`].
pub const STEP: u32 = 8;
/// Steps of a panel.
const STEPS: u32 = PANEL_COLUMNS / STEP;

/// Where a warpgroup's panels of C lie in shared memory on their way to the memory.
#[derive(Clone, Copy)]
pub struct Staged {
    /// Address of the first panel.
    pub first: u32,
    /// Bytes from one panel to the next.
    pub step: u32,
    /// Whether every panel has a place of its own; else the tile's
    /// [`crate::params::TensorTile::staged`] places are used in turn.
    pub apart: bool,
}

impl Staged {
    /// The places that shared memory has for C alone, from `first` on.
    #[inline(always)]
    pub fn in_turn(first: u32) -> Self {
        Staged {
            first,
            step: PANEL_BYTES,
            apart: false,
        }
    }
}

/// What [`through_shared`] adds to the sums: C, or nothing.
pub trait Old {
    /// Whether it adds anything.
    const ADDS: bool = true;

    /// Waits until a panel is there.
    ///
    /// # Safety
    /// The whole warpgroup calls it, for one panel after the other.
    unsafe fn begin(&mut self, panel: u32);

    /// The pairs of 16 columns of a panel, the `pair`-th of it, which lie, as `stmatrix` would put
    /// them, at `at` from its start.
    ///
    /// # Safety
    /// The whole warp calls it between [`Old::begin`] and [`Old::end`] of the panel.
    unsafe fn four(&self, panel: u32, pair: u32, at: u32) -> [u32; 4];

    /// Gives a panel up.
    ///
    /// # Safety
    /// All threads of the warpgroup have their pairs of it.
    unsafe fn end(&mut self, panel: u32);
}

/// Nothing is added.
struct Nothing;

impl Old for Nothing {
    const ADDS: bool = false;

    #[inline(always)]
    unsafe fn begin(&mut self, _: u32) {}

    #[inline(always)]
    unsafe fn four(&self, _: u32, _: u32, _: u32) -> [u32; 4] {
        [0; 4]
    }

    #[inline(always)]
    unsafe fn end(&mut self, _: u32) {}
}

/// Writes the sums of a warpgroup, C added if the launch reads it: `old`.
///
/// A way of its own, as short as can be, for sums to which nothing is added: the first block on a
/// multiprocessor waits for every line of instructions, and where there is one tile for each, so
/// does the launch.
///
/// `place` is that of the warpgroup's 64 rows.
///
/// # Safety
/// The whole warpgroup calls it; the products are complete; nobody else uses `staged` or the
/// barrier with the number of the warpgroup plus one.
#[inline(always)]
pub unsafe fn write<T: Tile>(
    products: &Products,
    sums: &T::Sums,
    old: &mut impl Old,
    place: Place,
    staged: Staged,
    index: u32,
    thread: u32,
) {
    // SAFETY: as the caller vouches.
    unsafe {
        let way = products.flags & (STAGES_C | READS_C);
        if way == STAGES_C {
            through_shared::<T, _>(products, sums, &mut Nothing, place, staged, index, thread);
        } else if way == STAGES_C | READS_C {
            through_shared::<T, _>(products, sums, old, place, staged, index, thread);
        } else {
            directly::<T>(products, sums, place, thread);
        }
    }
}

/// Bfloat16 with rows of whole 16-byte units: panels of 64 columns go to shared memory, from where
/// one thread has them copied.
///
/// # Safety
/// As for [`write`].
#[inline(always)]
unsafe fn through_shared<T: Tile, O: Old>(
    products: &Products,
    sums: &T::Sums,
    old: &mut O,
    place: Place,
    staged: Staged,
    index: u32,
    thread: u32,
) {
    let (warp, lane) = (thread / 32, thread % 32);
    let barrier = 1 + index;
    // The row and the half of a 16-column step whose address this lane gives.
    let own_row = warp * 16 + lane % 16;
    let half = lane / 16;
    let panels = T::TILE.n / PANEL_COLUMNS;
    for panel in 0..panels {
        let slot = if staged.apart {
            panel
        } else {
            // The panel that was here must have been read; those after it may still be.
            if thread == 0 {
                match T::TILE.staged {
                    1 => bulk_tensor::wait_read::<0>(),
                    2 => bulk_tensor::wait_read::<1>(),
                    _ => bulk_tensor::wait_read::<2>(),
                }
            }
            warpgroup::sync(barrier);
            panel % T::TILE.staged
        };
        // SAFETY: the whole warpgroup is here.
        unsafe { old.begin(panel) };
        let first = panel * STEPS;
        let to = staged.first + slot * staged.step;
        for pair in 0..STEPS / 2 {
            let step = 2 * pair;
            let at = own_row * 128 + ((step + half) ^ (own_row % 8)) * 16;
            // SAFETY: the panel has begun.
            let old_four = unsafe { old.four(panel, pair, at) };
            let mut four = [0; 4];
            for side in 0..2 {
                let mut sums = sums.columns((first + step + side) as usize);
                let place = 2 * side as usize;
                if O::ADDS {
                    let (upper, lower) = (halves(old_four[place]), halves(old_four[place + 1]));
                    let old = [upper[0], upper[1], lower[0], lower[1]];
                    sums = core::array::from_fn(|i| sums[i] + old[i]);
                }
                let [a, b, c, d] = sums;
                four[place] = bf16_pair(a, b);
                four[place + 1] = bf16_pair(c, d);
            }
            // SAFETY: inside this warpgroup's panel; only this lane's row.
            unsafe { store_4(to + at, four) };
        }
        fence::shared_written();
        warpgroup::sync(barrier);
        // SAFETY: all threads are past their part of it.
        unsafe { old.end(panel) };
        if thread == 0 {
            let at = [
                place.column + panel * PANEL_COLUMNS,
                place.row,
                place.matrix,
            ];
            // SAFETY: the panel is complete and visible.
            unsafe { bulk_tensor::store(products.c_map, at, to) };
            bulk_tensor::commit();
        }
    }
}

/// The pairs of C that a thread adds to its sums, in registers: for every step that of the upper and
/// that of the lower row.
///
/// Asked for before the products start, they arrive while these run.
pub struct OldPairs<T: Tile>(PairsOf<T>);

impl<T: Tile> OldPairs<T> {
    /// Zeros if the launch does not read C, or not [`through_shared`].
    ///
    /// # Safety
    /// The pointers of `products` are as it says; `place` is that of the warpgroup's 64 rows.
    #[inline(always)]
    pub unsafe fn read(products: &Products, place: Place, thread: u32) -> Self {
        let mut pairs = PairsOf::<T>::zero();
        if !products.reads_panels() {
            return OldPairs(pairs);
        }
        let (row, column) = own(place, thread);
        for lower in 0..2 {
            let row = row + 8 * lower;
            let from = element(products, place.matrix, row, column);
            let from = products.c.cast::<u16>().wrapping_add(from);
            for step in 0..T::TILE.n / STEP {
                let inside = row < products.m && column + step * STEP < products.n;
                let from = from.wrapping_add((step * STEP) as usize).cast::<u32>();
                // SAFETY: inside C, whose rows have an even number of elements.
                let pair = unsafe { global::load_if(from, u32::from(inside)) };
                pairs.set((2 * step + lower) as usize, pair);
            }
        }
        OldPairs(pairs)
    }
}

impl<T: Tile> Old for OldPairs<T> {
    #[inline(always)]
    unsafe fn begin(&mut self, _: u32) {}

    #[inline(always)]
    unsafe fn four(&self, panel: u32, pair: u32, _: u32) -> [u32; 4] {
        let first = 4 * (panel * STEPS / 2 + pair) as usize;
        [0, 1, 2, 3].map(|i| self.0.get(first + i))
    }

    #[inline(always)]
    unsafe fn end(&mut self, _: u32) {}
}

/// Asks for the block's tile of C to be brought into the L2 while it is computed: thread `index` of the
/// `threads` that neither copy nor multiply.
///
/// # Safety
/// The pointers of `products` are as it says.
#[inline(always)]
pub unsafe fn prefetch<T: Tile>(products: &Products, place: Place, [index, threads]: [u32; 2]) {
    /// Columns of f32 of a line; of bfloat16 half a line.
    const COLUMNS: u32 = 32;
    let size = if products.flags & OUT_F32 != 0 { 4 } else { 2 };
    let across = const { T::TILE.n / COLUMNS };
    let mut i = index;
    while i < T::TILE.m() * across {
        let (row, column) = (place.row + i / across, place.column + i % across * COLUMNS);
        if row < products.m && column < products.n {
            let at = element(products, place.matrix, row, column) * size;
            // SAFETY: an element of C, and so its first four bytes, or the two and those before.
            unsafe { global::prefetch_l2(products.c.wrapping_add(at & !3).cast()) };
        }
        i += threads;
    }
}

/// Any rows, any type: every thread writes its own elements.
///
/// # Safety
/// As for [`write`].
#[inline(always)]
pub unsafe fn directly<T: Tile>(products: &Products, sums: &T::Sums, place: Place, thread: u32) {
    let (row, column) = own(place, thread);
    if products.flags & OUT_F32 != 0 && products.n.is_multiple_of(2) {
        // SAFETY: as the caller vouches.
        unsafe { pairs_of_f32::<T>(products, sums, place.matrix, row, column) };
        return;
    }
    for step in 0..T::TILE.n / STEP {
        let four = sums.columns(step as usize);
        for quarter in 0..4 {
            let (lower, side) = (quarter / 2, quarter % 2);
            let (row, column) = (row + 8 * lower, column + step * STEP + side);
            if row < products.m && column < products.n {
                let at = element(products, place.matrix, row, column);
                // SAFETY: the element lies inside C.
                unsafe { write_element(products, at, four[quarter as usize]) };
            }
        }
    }
}

/// Writes pairs of f32, which are aligned because rows have an even number of elements. What is
/// added to several of them is asked for together.
///
/// # Safety
/// As for [`write`]; `row` and `column` are the thread's own.
#[inline(always)]
unsafe fn pairs_of_f32<T: Tile>(
    products: &Products,
    sums: &T::Sums,
    matrix: u32,
    row: u32,
    column: u32,
) {
    /// Steps whose part of C is asked for together.
    const AHEAD: u32 = 4;
    let reads = products.flags & READS_C != 0;
    let base = element(products, matrix, row, column);
    let base = products.c.cast::<f32>().wrapping_add(base);
    let below = 8 * products.n as usize;
    let inside =
        |lower: u32, step: u32| row + 8 * lower < products.m && column + step * STEP < products.n;
    let address =
        |lower: u32, step: u32| base.wrapping_add(lower as usize * below + (step * STEP) as usize);
    for group in 0..T::TILE.n / STEP / AHEAD {
        let mut old = [[0.0; 2]; 2 * AHEAD as usize];
        for i in 0..2 * AHEAD {
            let (lower, step) = (i % 2, group * AHEAD + i / 2);
            if reads && inside(lower, step) {
                // SAFETY: a pair inside C.
                old[i as usize] = unsafe { global::load_v2(address(lower, step)) };
            }
        }
        for i in 0..2 * AHEAD {
            let (lower, step) = (i % 2, group * AHEAD + i / 2);
            if inside(lower, step) {
                let four = sums.columns(step as usize);
                let at = 2 * lower as usize;
                let [x, y] = old[i as usize];
                // SAFETY: as above; nobody else writes it.
                unsafe { global::store_v2(address(lower, step), [four[at] + x, four[at + 1] + y]) };
            }
        }
    }
}

/// Stores an element, added to the old one if the launch reads C.
///
/// # Safety
/// C holds the element.
#[inline(always)]
unsafe fn write_element(products: &Products, at: usize, value: f32) {
    let reads = products.flags & READS_C != 0;
    // SAFETY: as the caller vouches.
    unsafe {
        if products.flags & OUT_F32 != 0 {
            let to = products.c.cast::<f32>().add(at);
            *to = if reads { value + *to } else { value };
        } else {
            let to = products.c.cast::<u16>().add(at);
            let old = if reads {
                f32::from_bits(u32::from(*to) << 16)
            } else {
                0.0
            };
            *to = bf16_pair(value + old, 0.0) as u16;
        }
    }
}

/// First row and column of a thread's elements.
#[inline(always)]
pub fn own(place: Place, thread: u32) -> (u32, u32) {
    let (warp, lane) = (thread / 32, thread % 32);
    (
        place.row + warp * 16 + lane / 4,
        place.column + 2 * (lane % 4),
    )
}

/// Index of an element of C.
#[inline(always)]
pub fn element(products: &Products, matrix: u32, row: u32, column: u32) -> usize {
    (u64::from(matrix) * u64::from(products.m) + u64::from(row)) as usize * products.n as usize
        + column as usize
}

/// The two bfloat16 of a pair.
#[inline(always)]
fn halves(pair: u32) -> [f32; 2] {
    [
        f32::from_bits(pair << 16),
        f32::from_bits(pair & 0xffff_0000),
    ]
}
