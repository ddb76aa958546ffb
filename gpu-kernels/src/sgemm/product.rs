//! Batches of small products: a team of threads owns a whole product, or a tile of one.
//!
//! Where both sides of C fit in one tile there is nothing to share between blocks, and the memory
//! is the limit: at N = 64 a multiprocessor that moves 15 bytes a cycle has 4283 cycles for the
//! 64 KiB of a product, of which the FMAs take 2048. What matters is that the memory always has
//! something to do. So there is no pipeline inside a block: many teams on a multiprocessor, each
//! asks for all of A, B and C at once, and while one multiplies the others wait for theirs. The
//! same serves products of a few tiles, which are over before a pipeline has paid for its filling.
//!
//! - A lies in shared memory as in global memory, row by row: both operands come 16 bytes at a
//!   time. A thread reads four columns of each of its rows at once, so that it takes as many
//!   loads as a transposed A would.
//! - A row of A is padded by 16 bytes: the rows that a warp reads together lie in different banks.
//! - C goes from global memory straight into the sums.
//! - what lies past the edges is filled with zeros; k steps past the end are not taken, rows and
//!   columns are computed and not stored.

use super::Operands;
use crate::gpu::{fma, thread};
use crate::params::{
    PRODUCT_16, PRODUCT_32, PRODUCT_64, ProductShape, VECTOR_ELEMENTS, WARP,
};
use crate::ptx::global::{Vec4, load_v4, store_v4};
use crate::ptx::compiler::hold_order;
use crate::ptx::{copy_async, shared, warp};

/// Columns of A that a thread reads at a time.
const STEP: u32 = VECTOR_ELEMENTS;

/// Lanes whose 16-byte accesses to shared memory take all its banks.
const BANK_LANES: u32 = 8;

/// A shape of team, as a type.
trait Shape {
    /// The shape.
    const TEAM: ProductShape;
}

/// A thread's place in its team.
#[derive(Clone, Copy)]
struct Place {
    /// Number of the thread in its team.
    thread: u32,
    /// First row and column of its elements of C.
    row: u32,
    column: u32,
}

impl Place {
    #[inline(always)]
    fn new<S: Shape>(thread: u32) -> Self {
        let (warp, lane) = (thread / WARP, thread % WARP);
        let warps_n = S::TEAM.n / S::TEAM.warp_n();
        Place {
            thread,
            row: warp / warps_n * S::TEAM.warp_m() + lane / S::TEAM.lanes_n(),
            column: warp % warps_n * S::TEAM.warp_n() + lane % S::TEAM.lanes_n() * VECTOR_ELEMENTS,
        }
    }
}

/// Row of element `i` of a thread, from its first: the rows of a warp's lanes lie side by side.
#[inline(always)]
const fn row<S: Shape>(i: usize) -> u32 {
    i as u32 * S::TEAM.lanes_m
}

/// Column of the `j`-th vector of four of a thread, from its first.
#[inline(always)]
const fn column<S: Shape>(j: usize) -> u32 {
    j as u32 * S::TEAM.lanes_n() * VECTOR_ELEMENTS
}

/// Waits for the other threads of the team; orders their accesses to shared memory.
#[inline(always)]
fn sync_team<S: Shape>() {
    if S::TEAM.team_threads() == WARP {
        warp::sync();
    } else {
        // A team of several warps is a block.
        thread::sync_threads();
    }
}

/// A part of a row-major matrix in global memory, and where it goes.
struct Panel {
    /// Its first element, and elements from one row to the next.
    from: *const f32,
    from_stride: u32,
    /// Rows and columns from the first element on that lie inside the matrix.
    inside: (u32, u32),
    /// Where it goes in shared memory, and elements from one row to the next there.
    to: u32,
    to_stride: u32,
    /// Rows and columns that are filled, with zeros outside the matrix.
    size: (u32, u32),
}

impl Panel {
    /// Starts the copies that fall to thread `thread` of `threads`, `VEC` elements each.
    ///
    /// # Safety
    /// What lies inside the matrix is readable; nothing accesses where it goes until the copies
    /// are complete. With `VEC` = 4 every row starts on 16 bytes and the columns inside are a
    /// multiple of 4.
    #[inline(always)]
    unsafe fn copy<const VEC: u32>(&self, thread: u32, threads: u32) {
        let across = self.size.1 / VEC;
        let rows = threads / across;
        // The eight lanes that store 128 bytes together lie on one row, or, where that is shorter
        // and padded, on eight: in different banks both ways.
        let down = across < BANK_LANES && self.to_stride > self.size.1;
        let (row0, column) = match down {
            true => (thread % rows, thread / rows * VEC),
            false => (thread / across, thread % across * VEC),
        };
        let rows_inside = if column < self.inside.1 { self.inside.0 } else { 0 };
        let stride = self.from_stride as usize;
        let mut from = self.from.wrapping_add(row0 as usize * stride + column as usize);
        let mut to = self.to + (row0 * self.to_stride + column) * 4;
        let mut row = row0;
        while row < row0 + self.size.0 {
            let inside = row < rows_inside;
            let source = if inside { from } else { self.from };
            // SAFETY: as the caller vouches; nothing outside is read.
            unsafe {
                if VEC == VECTOR_ELEMENTS {
                    copy_async::copy_16(to, source, if inside { 16 } else { 0 });
                } else {
                    copy_async::copy_4(to, source, if inside { 4 } else { 0 });
                }
            }
            row += rows;
            from = from.wrapping_add(rows as usize * stride);
            to += rows * self.to_stride * 4;
        }
    }
}

/// This thread's elements of C.
struct Output {
    /// The first.
    c: *mut f32,
    /// Elements from one row to the next.
    stride: usize,
    /// Rows and columns from the first on that lie inside C.
    inside: (u32, u32),
}

impl Output {
    #[inline(always)]
    fn new(operands: Operands, stride: u32, place: Place) -> Self {
        let Operands { c, m, n, .. } = operands;
        let stride = stride as usize;
        Output {
            c: c.wrapping_add(place.row as usize * stride + place.column as usize),
            stride,
            inside: (m.saturating_sub(place.row), n.saturating_sub(place.column)),
        }
    }

    /// Reads all of them.
    ///
    /// # Safety
    /// C is readable. With `VEC` = 4 its rows start on 16 bytes and n is a multiple of 4.
    #[inline(always)]
    unsafe fn load<S: Shape, const VEC: u32, const TM: usize, const TN: usize>(
        &self,
    ) -> [[f32; TN]; TM] {
        let mut c = [[0f32; TN]; TM];
        let mut i = 0;
        while i < TM {
            let mut j = 0;
            while j < TN {
                // SAFETY: as the caller vouches.
                let v = unsafe { self.read::<S, VEC>(i, j / 4) };
                let mut e = 0;
                while e < 4 {
                    c[i][j + e] = v[e];
                    e += 1;
                }
                j += 4;
            }
            i += 1;
        }
        c
    }

    /// Writes all of them.
    ///
    /// # Safety
    /// As for [`Output::load`], and no other team accesses this product's C.
    #[inline(always)]
    unsafe fn store<S: Shape, const VEC: u32, const TM: usize, const TN: usize>(
        &self,
        sums: &[[f32; TN]; TM],
    ) {
        let mut i = 0;
        while i < TM {
            let mut j = 0;
            while j < TN {
                let v = core::array::from_fn(|e| sums[i][j + e]);
                // SAFETY: as the caller vouches.
                unsafe { self.write::<S, VEC>(i, j / 4, v) }
                j += 4;
            }
            i += 1;
        }
    }

    /// Address of vector (`i`, `j`), and how many of its elements lie inside C.
    #[inline(always)]
    fn vector<S: Shape>(&self, i: usize, j: usize) -> (*mut f32, u32) {
        let (row, column) = (row::<S>(i), column::<S>(j));
        let address = self.c.wrapping_add(row as usize * self.stride).wrapping_add(column as usize);
        let (rows, columns) = self.inside;
        (address, if row < rows && column < columns { columns - column } else { 0 })
    }

    /// Reads vector (`i`, `j`); zeros stand for what lies outside.
    #[inline(always)]
    unsafe fn read<S: Shape, const VEC: u32>(&self, i: usize, j: usize) -> Vec4 {
        let (address, count) = self.vector::<S>(i, j);
        let mut v = [0f32; 4];
        // SAFETY: `count` elements lie inside C; with VEC = 4 they are 0 or at least 4, and start
        // on 16 bytes.
        unsafe {
            if VEC == VECTOR_ELEMENTS {
                if count > 0 {
                    v = load_v4(address);
                }
            } else {
                let mut e = 0;
                while e < 4 {
                    if (e as u32) < count {
                        v[e] = *address.wrapping_add(e);
                    }
                    e += 1;
                }
            }
        }
        v
    }

    /// Writes what of vector (`i`, `j`) lies inside.
    #[inline(always)]
    unsafe fn write<S: Shape, const VEC: u32>(&self, i: usize, j: usize, v: Vec4) {
        let (address, count) = self.vector::<S>(i, j);
        // SAFETY: as in `read`; each element of C is one thread's.
        unsafe {
            if VEC == VECTOR_ELEMENTS {
                if count > 0 {
                    store_v4(address, v);
                }
            } else {
                let mut e = 0;
                while e < 4 {
                    if (e as u32) < count {
                        *address.wrapping_add(e) = v[e];
                    }
                    e += 1;
                }
            }
        }
    }
}

/// The team's parts of A and B in shared memory.
#[derive(Clone, Copy)]
struct Parts {
    /// Where they go.
    a_to: u32,
    b_to: u32,
    /// Where this thread's first row of A and its first columns of B are read.
    a_from: u32,
    b_from: u32,
}

impl Parts {
    #[inline(always)]
    fn new<S: Shape>(team: u32, place: Place) -> Self {
        let a_to = shared::dynamic_base() + team * S::TEAM.team_bytes();
        let b_to = a_to + S::TEAM.a_bytes();
        Parts {
            a_to,
            b_to,
            a_from: a_to + place.row * S::TEAM.a_stride() * 4,
            b_from: b_to + place.column * 4,
        }
    }

    /// Starts this thread's copies of the columns of A and the rows of B from `k0` on; `stride`
    /// elements lie between rows of B.
    ///
    /// # Safety
    /// As for [`Panel::copy`].
    #[inline(always)]
    unsafe fn copy<S: Shape, const VEC: u32>(
        &self,
        operands: Operands,
        stride: u32,
        k0: u32,
        thread: u32,
    ) {
        let Operands { a, b, m, n, k, .. } = operands;
        let of_a = Panel {
            from: a.wrapping_add(k0 as usize),
            from_stride: k,
            inside: (m, k - k0),
            to: self.a_to,
            to_stride: S::TEAM.a_stride(),
            size: (S::TEAM.m, S::TEAM.k),
        };
        let of_b = Panel {
            from: b.wrapping_add(k0 as usize * stride as usize),
            from_stride: stride,
            inside: (k - k0, n),
            to: self.b_to,
            to_stride: S::TEAM.n,
            size: (S::TEAM.k, S::TEAM.n),
        };
        // SAFETY: as the caller vouches.
        unsafe {
            of_a.copy::<VEC>(thread, S::TEAM.team_threads());
            of_b.copy::<VEC>(thread, S::TEAM.team_threads());
        }
        copy_async::commit();
    }

    /// Columns `p` to `p + 4` of this thread's rows of A.
    ///
    /// # Safety
    /// They have arrived, and nothing is copied to them.
    #[inline(always)]
    unsafe fn rows<S: Shape, const TM: usize>(&self, p: u32) -> [Vec4; TM] {
        let at = self.a_from + p * 4;
        // SAFETY: as the caller vouches.
        core::array::from_fn(|i| unsafe { shared::load_v4(at + row::<S>(i) * S::TEAM.a_stride() * 4) })
    }

    /// `sums + a (outer) row p of B`, the rows forth and back; `a` is column `p` of A.
    ///
    /// # Safety
    /// As for [`Parts::rows`].
    #[inline(always)]
    unsafe fn step<S: Shape, const TM: usize, const TN: usize>(
        &self,
        a: &[f32; TM],
        p: u32,
        sums: [[f32; TN]; TM],
    ) -> [[f32; TN]; TM] {
        let at = self.b_from + p * S::TEAM.n * 4;
        let mut b = [0f32; TN];
        let mut j = 0;
        while j < TN {
            // SAFETY: as the caller vouches.
            let v = unsafe { shared::load_v4(at + column::<S>(j / 4) * 4) };
            let mut e = 0;
            while e < 4 {
                b[j + e] = v[e];
                e += 1;
            }
            j += 4;
        }
        let mut next = sums;
        let mut i = 0;
        while i < TM {
            let mut forth = 0;
            while forth < TN {
                let j = if i % 2 == 1 { forth } else { TN - 1 - forth };
                next[i][j] = fma(a[i], b[j], sums[i][j]);
                forth += 1;
            }
            i += 1;
        }
        next
    }
}

/// The tile of C that falls to a team, as a product of its own: operands that start at its first
/// row and column, and the m and n that are left from there. `index` counts the tiles row by row,
/// product by product; `None` past the last.
#[inline(always)]
fn tile<S: Shape>(operands: Operands, batch: u32, index: u32) -> Option<(Operands, u32)> {
    let (rows, columns) = (operands.m.div_ceil(S::TEAM.m), operands.n.div_ceil(S::TEAM.n));
    let tiles = rows * columns;
    // SAFETY: m, n >= 1, and all tiles of the batch are counted in 32 bits. Keeps panics out of
    // the PTX.
    unsafe { core::hint::assert_unchecked(tiles != 0 && columns != 0) };
    let (product, inside) = (index / tiles, index % tiles);
    if product >= batch {
        return None;
    }
    let of = operands.of_product(product);
    let (row, column) = (inside / columns * S::TEAM.m, inside % columns * S::TEAM.n);
    let stride = of.n as usize;
    let part = Operands {
        a: of.a.wrapping_add(row as usize * of.k as usize),
        b: of.b.wrapping_add(column as usize),
        c: of.c.wrapping_add(row as usize * stride + column as usize),
        m: of.m - row,
        n: of.n - column,
        k: of.k,
    };
    Some((part, of.n))
}

/// The same values, in other registers: see [`run`].
#[inline(always)]
fn plus_zero<const TM: usize, const TN: usize>(values: &[[f32; TN]; TM]) -> [[f32; TN]; TM] {
    core::array::from_fn(|i| core::array::from_fn(|j| values[i][j] + 0.0))
}

/// C = A @ B + C for the tile of this thread's team, if there is one.
///
/// The register file has two banks, and an FFMA that finds two operands in one takes twice as long:
///
/// - what 16-byte accesses load or store lies in four neighbouring registers; were those the sums,
///   they would share the bank of the elements of B that they are multiplied from. So the sums
///   start as `C + 0`, and what is stored is `sum + 0`;
/// - [`hold_order`], or where k may end there a branch, stands between k steps: the compiler would mix
///   them, and a sum would move from register to register, and from bank to bank.
///
/// # Safety
/// The operands are those of `batch` products of m, n, k >= 1, row-major, one behind the other, and
/// their tiles are counted in 32 bits; C overlaps neither A nor B. With `VEC` = 4 all three
/// start on 16 bytes, n and k are multiples of 4. The block has the threads and the dynamic shared
/// memory of the shape.
#[inline(always)]
unsafe fn run<S: Shape, const TM: usize, const TN: usize, const VEC: u32>(
    operands: Operands,
    batch: u32,
) {
    let threads = S::TEAM.team_threads();
    let team = thread::thread_idx_x() / threads;
    let index = thread::block_idx_x() * S::TEAM.products + team;
    let Some((operands, stride)) = tile::<S>(operands, batch, index) else {
        // A whole team: those that stay synchronise within theirs.
        return;
    };
    let place = Place::new::<S>(thread::thread_idx_x() % threads);
    let parts = Parts::new::<S>(team, place);
    let output = Output::new(operands, stride, place);

    // SAFETY: as the caller vouches; between the copies of a part and its use, and between that
    // and the next copies, stands a barrier of the team.
    unsafe {
        parts.copy::<S, VEC>(operands, stride, 0, place.thread);
        let c = output.load::<S, VEC, TM, TN>();
        copy_async::wait::<0>();
        sync_team::<S>();
        let mut sums = plus_zero(&c);
        let mut k0 = 0;
        loop {
            let left = operands.k - k0;
            let deep = if left < S::TEAM.k { left } else { S::TEAM.k };
            let mut p = 0;
            'steps: while p < deep {
                let a = parts.rows::<S, TM>(p);
                let mut e = 0;
                while e < STEP {
                    let column = core::array::from_fn(|i| a[i][e as usize]);
                    sums = parts.step::<S, TM, TN>(&column, p + e, sums);
                    e += 1;
                    if VEC == VECTOR_ELEMENTS {
                        // `deep` is a multiple of four.
                        if e < STEP {
                            hold_order();
                        }
                    } else if p + e == deep {
                        break 'steps;
                    }
                }
                p += STEP;
            }
            if left <= S::TEAM.k {
                break;
            }
            k0 += S::TEAM.k;
            sync_team::<S>();
            parts.copy::<S, VEC>(operands, stride, k0, place.thread);
            copy_async::wait::<0>();
            sync_team::<S>();
        }
        output.store::<S, VEC, TM, TN>(&plus_zero(&sums));
    }
}

/// Defines the entry of a shape, with its accesses `VEC` elements wide.
macro_rules! product_kernels {
    ($($(#[$doc:meta])* $entry:ident: $shape:ident = $team:ident, $vec:expr;)*) => {
        $(
        $(#[$doc])*
        struct $shape;

        impl Shape for $shape {
            const TEAM: ProductShape = $team;
        }

        kernel! {
            /// C = A @ B + C for `batch` products, each tile by a team of its own.
            ///
            /// # Safety
            /// As for [`run`].
            pub unsafe fn $entry(
                a: *const f32, b: *const f32, c: *mut f32, m: u32, n: u32, k: u32, batch: u32,
            ) {
                const TM: usize = $team.thread_m as usize;
                const TN: usize = $team.thread_n as usize;
                // SAFETY: as the caller vouches.
                unsafe {
                    run::<$shape, TM, TN, { $vec }>(Operands { a, b, c, m, n, k }, batch)
                }
            }
        }
        )*
    };
}

product_kernels! {
    /// Both sides up to 16.
    sgemm_product_16: Sixteen = PRODUCT_16, VECTOR_ELEMENTS;
    /// Both sides up to 16, any alignment.
    sgemm_product_16_any: SixteenAny = PRODUCT_16, 1;
    /// Both sides up to 32.
    sgemm_product_32: ThirtyTwo = PRODUCT_32, VECTOR_ELEMENTS;
    /// Both sides up to 32, any alignment.
    sgemm_product_32_any: ThirtyTwoAny = PRODUCT_32, 1;
    /// Both sides up to 64, or tiles of that.
    sgemm_product_64: SixtyFour = PRODUCT_64, VECTOR_ELEMENTS;
    /// Both sides up to 64, or tiles of that, any alignment.
    sgemm_product_64_any: SixtyFourAny = PRODUCT_64, 1;
}
