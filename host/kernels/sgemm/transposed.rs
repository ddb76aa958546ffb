//! Large products from an A that has been transposed: what is copied first, and where to.
//!
//! Bulk tensor copies bring k tiles without an instruction of the threads that multiply, but they don't
//! transpose, and take only rows of whole 16-byte units. So launches that count as part of the kernel write
//! the transpose of A, and where its rows are not such, a copy of B, to the scratch memory.

use super::{Products, tiles};
use crate::device::{DeviceInfo, Element};
use crate::kernels::gemm::layout::{self, A, B, Copied};
use crate::kernels::{Argument, Launch, Place, Swizzle, TensorMap, stream};
use gpu_kernels::params::{
    SCRATCH_COUNTERS, TRANSPOSE_BLOCK, TRANSPOSE_SHARED_BYTES, TRANSPOSE_TILE, TRANSPOSED,
};

/// Part of the memory of a device that operands and copies may take.
const MEMORY_PART: f64 = 15.0 / 16.0;
/// Copies start at multiples of so many bytes.
const COPY_ALIGNMENT: u64 = layout::COPY_ALIGNMENT;

/// Elements from one row to the next of the transpose of A, and of B as it is read.
fn pitches(products: Products) -> [u64; 2] {
    let [m, n, _] = products.sides;
    [m, n].map(|columns| layout::pitch(columns, [Element::F32; 2]))
}

/// Whether B is copied.
fn copies_b(products: Products) -> bool {
    !products.vectors(products.sides[1])
}

/// Bytes of each copy.
pub fn copied(products: Products) -> impl Iterator<Item = u64> {
    let k = products.sides[2];
    let bytes = pitches(products).map(|pitch| 4 * products.batch * k * pitch);
    bytes
        .into_iter()
        .take(if copies_b(products) { 2 } else { 1 })
}

/// Whether a device has the kernel, and room for the copies.
pub fn fits(products: Products, info: &DeviceInfo) -> bool {
    let [m, n, k] = products.sides;
    // Sides and coordinates are 32-bit numbers.
    if !info.has_clusters() || [m, n, k].iter().any(|&side| side >= i32::MAX as u64) {
        return false;
    }
    let [a_pitch, b_pitch] = pitches(products);
    let b_copied = if copies_b(products) { b_pitch } else { 0 };
    let areas = [[m, k], [k, n], [m, n], [k, a_pitch], [k, b_copied]];
    let elements: u128 = areas.iter().map(|&[a, b]| u128::from(a * b)).sum();
    let bytes = 4 * u128::from(products.batch) * elements;
    // Pitches are 32-bit numbers as well, the strides of a tensor map 40-bit ones.
    a_pitch.max(b_pitch) <= i32::MAX as u64
        && 4 * k * a_pitch.max(b_pitch) < 1 << 40
        && transposing_blocks(products).is_some_and(|blocks| blocks <= i32::MAX as u64)
        && bytes as f64 <= MEMORY_PART * info.memory_bytes as f64
}

/// Blocks of the launch that transposes; `None` if 64 bits don't count them.
fn transposing_blocks(products: Products) -> Option<u64> {
    let [m, _, k] = products.sides;
    let tiles = [m, k].map(|side| side.div_ceil(u64::from(TRANSPOSE_TILE)));
    products.batch.checked_mul(tiles[0])?.checked_mul(tiles[1])
}

/// Where the copies lie.
#[derive(Debug, Clone, Copy)]
pub struct Layout {
    products: Products,
    /// Where the transpose of A starts in the scratch memory, in bytes.
    a: u64,
    /// And the copy of B, if there is one.
    b: Option<u64>,
    /// Bytes of scratch memory, parts of tiles included.
    pub scratch_bytes: u64,
}

impl Layout {
    /// Behind the parts of tiles.
    pub fn new(products: Products, choice: &tiles::Choice) -> Self {
        let counters = 4 * u64::from(SCRATCH_COUNTERS);
        let parts = choice.parts_bytes().max(counters);
        let bytes: Vec<u64> = copied(products).collect();
        let a = parts.next_multiple_of(COPY_ALIGNMENT);
        let behind = (a + bytes[A]).next_multiple_of(COPY_ALIGNMENT);
        let b = bytes.get(B).map(|_| behind);
        Layout {
            products,
            a,
            b,
            scratch_bytes: behind + bytes.get(B).unwrap_or(&0),
        }
    }

    /// The launches that make the copies.
    ///
    /// # Errors
    /// Why they cannot be launched.
    pub fn copies(&self, info: &DeviceInfo) -> Result<Vec<Launch>, String> {
        let [m, n, k] = self.products.sides;
        let [a_pitch, b_pitch] = pitches(self.products);
        let word = |value| layout::word("a side", value);
        let transpose = Launch {
            entry: "transpose_32",
            grid: stream::grid(transposing_blocks(self.products).unwrap_or(u64::MAX))?,
            block: [TRANSPOSE_BLOCK, 1],
            shared_bytes: TRANSPOSE_SHARED_BYTES,
            arguments: vec![
                Argument::Operand(A),
                Argument::Scratch,
                Argument::U64(self.a),
                word(m)?,
                word(k)?,
                word(a_pitch)?,
            ],
            ..Launch::PLAIN
        };
        let mut launches = vec![transpose];
        if let Some(offset) = self.b {
            let b = Copied {
                operand: B,
                offset,
                rows: self.products.batch * k,
                columns: n,
                pitch: b_pitch,
            };
            launches.push(layout::copy_rows(
                "pad_rows_32",
                Element::F32,
                b,
                None,
                info,
            )?);
        }
        for launch in &mut launches {
            launch.scratch_bytes = self.scratch_bytes;
        }
        Ok(launches)
    }

    /// The tensor maps of the transpose of A, and of B.
    pub fn maps(&self) -> [Argument; 2] {
        let map = |matrix, columns, box_columns| {
            Argument::TensorMap(Some(TensorMap {
                matrix,
                element: Element::F32,
                columns,
                rows: self.products.sides[2],
                batch: self.products.batch,
                box_columns,
                box_rows: TRANSPOSED.k,
                swizzle: Swizzle::None,
            }))
        };
        let [a_pitch, b_pitch] = pitches(self.products);
        let b = match self.b {
            Some(offset) => Place::Scratch(offset),
            None => Place::Operand(B),
        };
        [
            map(Place::Scratch(self.a), a_pitch, TRANSPOSED.m),
            map(b, b_pitch, TRANSPOSED.n),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::sgemm::tiles::tests::h200;

    fn products(sides: [u64; 3], batch: u64, aligned: bool) -> Products {
        Products {
            sides,
            batch,
            aligned,
        }
    }

    #[test]
    fn copies_lie_behind_the_parts_and_apart() {
        for (sides, aligned, copies) in [
            ([4096, 4096, 4096], true, 1),
            ([4096, 4096, 4096], false, 2),
            ([2359, 2360, 2359], true, 1),
            ([2359, 2359, 2359], true, 2),
            ([5, 1, 3], true, 2),
        ] {
            let products = products(sides, 3, aligned);
            let choice = tiles::transposed(products, &h200()).unwrap();
            let layout = Layout::new(products, &choice);
            let bytes: Vec<u64> = copied(products).collect();
            assert_eq!(bytes.len(), copies, "{sides:?}");
            let [m, n, k] = sides;
            assert!(bytes[0] >= 4 * 3 * m * k && bytes[0].is_multiple_of(16));
            let parts = choice.parts_bytes().max(4 * u64::from(SCRATCH_COUNTERS));
            assert!(layout.a >= parts && layout.a.is_multiple_of(COPY_ALIGNMENT));
            let mut end = layout.a + bytes[0];
            if let Some(b) = layout.b {
                assert!(b >= end && b.is_multiple_of(COPY_ALIGNMENT));
                assert!(bytes[1] >= 4 * 3 * k * n && bytes[1].is_multiple_of(16));
                end = b + bytes[1];
            }
            assert_eq!(layout.b.is_some(), copies == 2, "{sides:?}");
            assert_eq!(
                layout.scratch_bytes,
                end.max((layout.a + bytes[0]).next_multiple_of(COPY_ALIGNMENT))
            );
            assert_eq!(layout.copies(&h200()).unwrap().len(), copies);
        }
    }

    #[test]
    fn sides_past_what_maps_and_memory_take_are_refused() {
        let takes = |sides, batch| fits(products(sides, batch, true), &h200());
        assert!(takes([16384; 3], 1));
        assert!(!takes([u64::MAX, 1, 1], 1));
        assert!(!takes([1, 1, u64::MAX], 1));
        assert!(!takes([65_536; 3], 16));
        assert!(!takes([64; 3], u64::MAX));
        assert!(!takes([1 << 20, 4, 1 << 20], 1));
        // Rounded up these are more than 32 bits.
        assert!(!takes([i32::MAX as u64 - 1, 1, 1], 1));
        assert!(!takes([1, i32::MAX as u64 - 1, 1], 1));
    }

    #[test]
    fn what_cannot_be_copied_is_told_and_not_another_kernel() {
        let launch = |sides| {
            crate::kernels::sgemm::choice_or_why("transposed", products(sides, 1, true), &h200())
        };
        assert!(launch([4096; 3]).unwrap().is_some());
        let Err(why) = launch([100_000; 3]) else {
            panic!("taken");
        };
        assert!(why.contains("room for a transpose of A"), "{why}");
    }
}
