//! Where the kernels read A and B: as they lie, or from copies in the scratch memory.
//!
//! Bulk copies take rows of whole 16-byte units, and tensor cores take bfloat16 that is stored as
//! bfloat16: rows that are not, and f32 that is to be multiplied as bfloat16, are copied first, each
//! row filled up with zeros. The copies are launches of their own that count as part of the kernel.

use crate::device::{DeviceInfo, Element};
use crate::kernels::{Argument, Launch, Place, Problem, Swizzle, TensorMap, stream};
use gpu_kernels::params::{SCRATCH_COUNTERS, SUPPORT_BLOCK};

/// Bytes of which rows are made that bulk copies take.
const UNIT_BYTES: u64 = 16;
/// Blocks of a copy on each multiprocessor, at most.
const COPY_BLOCKS: u64 = 16;

/// Indices of the operands.
pub const A: usize = 0;
/// See [`A`].
pub const B: usize = 1;
/// See [`A`].
pub const C: usize = 2;

/// Rows of a matrix as the kernel reads them.
#[derive(Debug, Clone, Copy)]
struct Rows {
    operand: usize,
    place: Place,
    rows: u64,
    columns: u64,
    /// Elements from one row to the next.
    pitch: u64,
}

/// A and B as the kernel reads them.
#[derive(Debug, Clone, Copy)]
pub struct Layout {
    batch: u64,
    stored: Element,
    read: Element,
    matrices: [Rows; 2],
    /// Bytes of scratch memory.
    pub scratch_bytes: u64,
}

impl Layout {
    /// Of a problem whose A and B are stored as `stored` and read as `read`.
    pub fn new(problem: &Problem, stored: Element, read: Element) -> Self {
        let (m, n, k) = problem.matrix();
        let batch = problem.form.batch;
        let mut scratch_bytes = 0;
        let mut rows = |operand, rows: u64, columns: u64| {
            let unit = UNIT_BYTES / read.bytes();
            if stored == read && columns.is_multiple_of(unit) {
                return Rows {
                    operand,
                    place: Place::Operand(operand),
                    rows,
                    columns,
                    pitch: columns,
                };
            }
            let pitch = columns.next_multiple_of(unit);
            // What is counted at the start is left alone.
            let start = scratch_bytes.max(4 * u64::from(SCRATCH_COUNTERS));
            scratch_bytes = start + (batch * rows * pitch * read.bytes()).next_multiple_of(256);
            Rows {
                operand,
                place: Place::Scratch(start),
                rows,
                columns,
                pitch,
            }
        };
        let matrices = [rows(A, m, k), rows(B, k, n)];
        Layout {
            batch,
            stored,
            read,
            matrices,
            scratch_bytes,
        }
    }

    /// The launches that make the copies.
    ///
    /// # Errors
    /// Why they cannot be launched.
    pub fn copies(&self, info: &DeviceInfo) -> Result<Vec<Launch>, String> {
        let entry = match (self.stored, self.read) {
            (Element::F32, Element::Bf16) => "narrow_rows_bf16",
            (_, Element::Bf16) => "pad_rows_16",
            (_, Element::F32) => "pad_rows_32",
        };
        let mut launches = Vec::new();
        for matrix in self.matrices {
            let Place::Scratch(offset) = matrix.place else {
                continue;
            };
            let rows = self.batch * matrix.rows;
            let units = rows * matrix.pitch * self.read.bytes() / UNIT_BYTES;
            let blocks = units.div_ceil(u64::from(SUPPORT_BLOCK));
            launches.push(Launch {
                entry,
                grid: stream::grid(blocks.min(u64::from(info.units) * COPY_BLOCKS))?,
                block: [SUPPORT_BLOCK, 1],
                cluster: 1,
                shared_bytes: 0,
                scratch_bytes: self.scratch_bytes,
                arguments: vec![
                    Argument::Operand(matrix.operand),
                    Argument::Scratch,
                    Argument::U64(offset),
                    Argument::U64(rows),
                    word("a row", matrix.columns)?,
                    word("a row", matrix.pitch)?,
                ],
            });
        }
        Ok(launches)
    }

    /// The tensor map of A (0) or B (1) with boxes of 128 bytes and `box_rows` rows.
    pub fn map(&self, operand: usize, box_rows: u32) -> Argument {
        let matrix = self.matrices[operand];
        Argument::TensorMap(Some(TensorMap {
            matrix: matrix.place,
            element: self.read,
            columns: matrix.pitch,
            rows: matrix.rows,
            batch: self.batch,
            box_columns: (128 / self.read.bytes()) as u32,
            box_rows,
            swizzle: Swizzle::Bytes128,
        }))
    }
}

/// A 32-bit parameter.
///
/// # Errors
/// A value that is too large, called `what`.
pub fn word(what: &str, value: u64) -> Result<Argument, String> {
    u32::try_from(value)
        .ok()
        .filter(|&word| word <= i32::MAX as u32)
        .map(Argument::U32)
        .ok_or_else(|| format!("{what} of {value} is more than the {} it takes", i32::MAX))
}
