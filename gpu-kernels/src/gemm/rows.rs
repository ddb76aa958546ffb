//! A and B as bulk copies and tensor cores take them: rows of whole 16-byte units, filled up with zeros,
//! and bfloat16 where f32 is to be multiplied so. A thread writes units of 16 bytes.
//!
//! A launch copies one matrix or two. The one behind it, of the product, may start when its blocks have:
//! it waits for their end before it reads.

use crate::gpu::thread;
use crate::ptx::convert::bf16_pair;
use crate::ptx::{global, grid};

/// Most elements of a unit.
const MOST: usize = 8;

/// What elements become.
trait Unit: Sized {
    /// What is copied.
    type Element: Copy + Default;
    /// Elements that become 16 bytes.
    const ELEMENTS: u32;

    /// The 16 bytes.
    fn pack(elements: [Self::Element; MOST]) -> [u32; 4];

    /// Copies this thread's part of a matrix.
    ///
    /// # Safety
    /// As for [`Matrix::copy_by`].
    #[inline(always)]
    unsafe fn copy(matrix: &Matrix<Self::Element>) {
        // SAFETY: as the caller vouches.
        unsafe { matrix.copy::<Self, 3>() }
    }
}

/// 16-bit elements as they are.
struct Sixteen;

/// 32-bit elements as they are.
struct ThirtyTwo;

/// f32 rounded to bfloat16.
struct Narrow;

impl Unit for Sixteen {
    type Element = u16;
    const ELEMENTS: u32 = 8;

    #[inline(always)]
    fn pack(e: [u16; MOST]) -> [u32; 4] {
        [0, 2, 4, 6].map(|i| u32::from(e[i]) | u32::from(e[i + 1]) << 16)
    }
}

impl Unit for ThirtyTwo {
    type Element = u32;
    const ELEMENTS: u32 = 4;

    #[inline(always)]
    fn pack([a, b, c, d, ..]: [u32; MOST]) -> [u32; 4] {
        [a, b, c, d]
    }
}

impl Unit for Narrow {
    type Element = f32;
    const ELEMENTS: u32 = 8;

    #[inline(always)]
    fn pack(e: [f32; MOST]) -> [u32; 4] {
        [0, 2, 4, 6].map(|i| bf16_pair(e[i], e[i + 1]))
    }

    #[inline(always)]
    unsafe fn copy(matrix: &Matrix<f32>) {
        let aligned = (matrix.from as usize).is_multiple_of(16);
        // SAFETY: as the caller vouches.
        unsafe {
            match aligned && matrix.columns.is_multiple_of(Self::ELEMENTS) {
                true => matrix.narrow(),
                false => matrix.copy::<Self, 2>(),
            }
        }
    }
}

/// A matrix to be copied: `rows` rows of `columns` elements, which lie one behind the other.
struct Matrix<E> {
    from: *const E,
    /// Rows of `pitch` elements, whole units.
    to: *mut [u32; 4],
    rows: u64,
    columns: u32,
    pitch: u32,
}

impl<E: Copy + Default> Matrix<E> {
    /// Units of the copy, and of a row of it.
    #[inline(always)]
    fn units<U: Unit<Element = E>>(&self) -> (usize, u64) {
        let units = u64::from(self.pitch / U::ELEMENTS);
        ((self.rows * units) as usize, units)
    }

    /// Where the elements of unit `i` lie, and the column of its first.
    #[inline(always)]
    fn place<U: Unit<Element = E>>(&self, i: usize, units: u64) -> (*const E, u32) {
        if self.columns == self.pitch {
            // Without gaps: nothing to divide.
            return (self.from.wrapping_add(i * U::ELEMENTS as usize), 0);
        }
        let row = (i as u64).checked_div(units).unwrap_or(0);
        let column = (i as u64 - row * units) as u32 * U::ELEMENTS;
        let at = (row * u64::from(self.columns)) as usize + column as usize;
        (self.from.wrapping_add(at), column)
    }

    /// Copies this thread's units, `TOGETHER` at a time, of which `load` gives the elements of one, where
    /// it lies and which column it starts in.
    ///
    /// # Safety
    /// `from` and `to` hold the elements, `to` aligned to 16 bytes; nobody else uses `to`, or writes to
    /// `from`.
    #[inline(always)]
    unsafe fn copy_by<U: Unit<Element = E>, const TOGETHER: usize>(
        &self,
        load: impl Fn(*const E, u32) -> [E; MOST],
    ) {
        let (total, units) = self.units::<U>();
        let stride = thread::grid_dim_x() as usize * thread::block_dim_x() as usize;
        let mut first = thread::block_idx_x() as usize * thread::block_dim_x() as usize
            + thread::thread_idx_x() as usize;
        let load = |i: usize| {
            let (from, column) = self.place::<U>(i, units);
            load(from, column)
        };
        // SAFETY: units of the copy.
        unsafe {
            while first + (TOGETHER - 1) * stride < total {
                let units: [_; TOGETHER] = core::array::from_fn(|u| load(first + u * stride));
                let mut u = 0;
                while u < TOGETHER {
                    self.store::<U>(first + u * stride, units[u]);
                    u += 1;
                }
                first += TOGETHER * stride;
            }
            while first < total {
                self.store::<U>(first, load(first));
                first += stride;
            }
        }
    }

    /// Copies this thread's units element by element.
    ///
    /// # Safety
    /// As for [`Matrix::copy_by`].
    #[inline(always)]
    unsafe fn copy<U: Unit<Element = E>, const TOGETHER: usize>(&self) {
        let load = |from: *const E, first: u32| {
            let mut elements = [E::default(); MOST];
            for lane in 0..U::ELEMENTS {
                if first + lane < self.columns {
                    // SAFETY: the element lies in its row.
                    elements[lane as usize] = unsafe { *from.add(lane as usize) };
                }
            }
            elements
        };
        // SAFETY: as the caller vouches.
        unsafe { self.copy_by::<U, TOGETHER>(load) }
    }

    /// Stores unit `i`.
    ///
    /// # Safety
    /// It is one of the copy's.
    #[inline(always)]
    unsafe fn store<U: Unit<Element = E>>(&self, i: usize, elements: [E; MOST]) {
        // SAFETY: as the caller vouches.
        unsafe { global::store_v4(self.to.add(i).cast(), U::pack(elements).map(f32::from_bits)) }
    }
}

impl Matrix<f32> {
    /// Rounds this thread's units of a matrix whose rows are whole units.
    ///
    /// # Safety
    /// As for [`Matrix::copy_by`]; `from` is aligned to 16 bytes, too.
    #[inline(always)]
    unsafe fn narrow(&self) {
        let load = |from: *const f32, column: u32| {
            if column >= self.columns {
                return [0.0; MOST];
            }
            // SAFETY: a unit of the matrix.
            let halves = unsafe { [global::load_nc_v4(from), global::load_nc_v4(from.add(4))] };
            let [[a, b, c, d], [e, f, g, h]] = halves;
            [a, b, c, d, e, f, g, h]
        };
        // SAFETY: as the caller vouches.
        unsafe { self.copy_by::<Narrow, 2>(load) }
    }
}

/// Defines the copy of a kind of unit.
macro_rules! row_copies {
    ($($(#[$doc:meta])* $name:ident: $unit:ident of $element:ty;)*) => {
        $(
            kernel! {
                $(#[$doc])*
                ///
                /// `a_rows` rows of `a_columns` elements go to `scratch`, `a_offset` bytes from its
                /// start, with zeros behind each row up to `a_pitch` elements: whole units. Those of
                /// `b` alike; 0 rows for none.
                ///
                /// # Safety
                /// `a`, `b` and `scratch` hold the elements, the latter aligned to 16 bytes.
                pub unsafe fn $name(
                    a: *const $element, b: *const $element, scratch: *mut u8, a_offset: u64,
                    b_offset: u64, a_rows: u64, b_rows: u64, a_columns: u32, b_columns: u32,
                    a_pitch: u32, b_pitch: u32,
                ) {
                    grid::let_next_start();
                    // SAFETY: both lie in the scratch memory, apart.
                    unsafe {
                        let [to_a, to_b] =
                            [a_offset, b_offset].map(|offset| scratch.add(offset as usize).cast());
                        $unit::copy(&Matrix {
                            from: a,
                            to: to_a,
                            rows: a_rows,
                            columns: a_columns,
                            pitch: a_pitch,
                        });
                        $unit::copy(&Matrix {
                            from: b,
                            to: to_b,
                            rows: b_rows,
                            columns: b_columns,
                            pitch: b_pitch,
                        });
                    }
                }
            }
        )*
    };
}

row_copies! {
    /// Copies 16-bit elements.
    pad_rows_16: Sixteen of u16;
    /// Copies 32-bit elements.
    pad_rows_32: ThirtyTwo of u32;
    /// Rounds f32 elements to bfloat16.
    narrow_rows_bf16: Narrow of f32;
}
