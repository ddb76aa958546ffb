//! Where the kernels read A and B: as they lie, or from copies in the scratch memory.
//!
//! Bulk copies take rows of whole 16-byte units, and tensor cores take bfloat16 that is stored as
//! bfloat16: rows that are not, and f32 that is to be multiplied as bfloat16, are copied first, each
//! row filled up with zeros. The copies are launches of their own that count as part of the kernel.

use crate::device::{DeviceInfo, Element};
use crate::kernels::{Argument, Launch, Place, Problem, Swizzle, TensorMap, stream};
use gpu_kernels::params::{ROW_COPY_BLOCKS, SCRATCH_COUNTERS, SUPPORT_BLOCK};

/// Bytes of which rows are made that bulk copies take.
const UNIT_BYTES: u64 = 16;
/// Bytes of a cache line: the L2 reads two for 128 bytes of a row that starts elsewhere.
const LINE_BYTES: u64 = 128;
/// Rows are made of whole lines if that is no more than one part in so many beyond whole units.
const MOST_PADDING: u64 = 16;

/// Copies start at multiples of so many bytes.
pub const COPY_ALIGNMENT: u64 = 256;

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

/// Elements from one row of `columns` to the next as the kernel reads it, where it is stored and read as
/// said: as it lies where that will do, else whole lines, or where that is much more, whole units.
pub fn pitch(columns: u64, [stored, read]: [Element; 2]) -> u64 {
    let [units, lines] =
        [UNIT_BYTES, LINE_BYTES].map(|bytes| columns.next_multiple_of(bytes / read.bytes()));
    if stored == read && units == columns {
        columns
    } else if lines - units <= columns / MOST_PADDING {
        lines
    } else {
        units
    }
}

/// How copies follow on each other, and the product on them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Copying {
    /// A launch for each matrix, and each launch waits for the one before: what copying first and then
    /// calling the product takes.
    InTurn,
    /// One launch for both, and the product's starts while it ends: programmatic dependent launch. The
    /// copies' own waits for the product before, which may still read the scratch memory.
    Overlapped,
}

/// A and B as the kernel reads them.
#[derive(Debug, Clone, Copy)]
pub struct Layout {
    batch: u64,
    copying: Copying,
    stored: Element,
    read: Element,
    matrices: [Rows; 2],
    /// Bytes of scratch memory.
    pub scratch_bytes: u64,
}

impl Layout {
    /// Of a problem whose A and B are stored as `stored` and read as `read`.
    pub fn new(problem: &Problem, [stored, read]: [Element; 2], copying: Copying) -> Self {
        let (m, n, k) = problem.matrix();
        let batch = problem.form.batch;
        let mut scratch_bytes = 0;
        let mut rows = |operand, rows: u64, columns: u64| {
            let pitch = pitch(columns, [stored, read]);
            if stored == read && pitch == columns {
                return Rows {
                    operand,
                    place: Place::Operand(operand),
                    rows,
                    columns,
                    pitch,
                };
            }
            // What is counted at the start is left alone.
            let start = scratch_bytes.max(4 * u64::from(SCRATCH_COUNTERS));
            scratch_bytes =
                start + (batch * rows * pitch * read.bytes()).next_multiple_of(COPY_ALIGNMENT);
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
            copying,
            stored,
            read,
            matrices,
            scratch_bytes,
        }
    }

    /// Whether the product's launch starts while that of the copies ends.
    pub fn overlaps(&self) -> bool {
        self.copying == Copying::Overlapped && self.copied().next().is_some()
    }

    /// The matrices that are copied, and where to in the scratch memory.
    fn copied(&self) -> impl Iterator<Item = (Rows, u64)> {
        let copied = |matrix: Rows| match matrix.place {
            Place::Scratch(offset) => Some((matrix, offset)),
            Place::Operand(_) => None,
        };
        self.matrices.into_iter().filter_map(copied)
    }

    /// The launches that make the copies.
    ///
    /// # Errors
    /// Why they cannot be launched.
    pub fn copies(&self, info: &DeviceInfo) -> Result<Vec<Launch>, String> {
        let copied: Vec<_> = self.copied().collect();
        let together = match self.copying {
            Copying::InTurn => 1,
            Copying::Overlapped => copied.len().max(1),
        };
        let launches = copied.chunks(together);
        launches
            .map(|matrices| self.copy(matrices[0], matrices.get(1).copied(), info))
            .collect()
    }

    /// The launch that copies one matrix or two.
    ///
    /// # Errors
    /// Why it cannot be launched.
    fn copy(
        &self,
        first: (Rows, u64),
        second: Option<(Rows, u64)>,
        info: &DeviceInfo,
    ) -> Result<Launch, String> {
        let entry = match (self.stored, self.read) {
            (Element::F32, Element::Bf16) => "narrow_rows_bf16",
            (_, Element::Bf16) => "pad_rows_16",
            (_, Element::F32) => "pad_rows_32",
        };
        let copied = |(matrix, offset): (Rows, u64)| Copied {
            operand: matrix.operand,
            offset,
            rows: self.batch * matrix.rows,
            columns: matrix.columns,
            pitch: matrix.pitch,
        };
        let launch = copy_rows(entry, self.read, copied(first), second.map(copied), info)?;
        Ok(Launch {
            scratch_bytes: self.scratch_bytes,
            ..launch
        })
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

/// A matrix whose rows are copied into rows of whole units.
#[derive(Debug, Clone, Copy)]
pub struct Copied {
    /// Index of the operand.
    pub operand: usize,
    /// Where its copy starts in the scratch memory, in bytes.
    pub offset: u64,
    /// Rows, those of all products together.
    pub rows: u64,
    /// Elements of a row.
    pub columns: u64,
    /// Elements from one row of the copy to the next.
    pub pitch: u64,
}

/// The launch of `entry`, which copies one matrix or two into rows of `read`, but for the bytes of scratch memory.
///
/// # Errors
/// Why it cannot be launched.
pub fn copy_rows(
    entry: &'static str,
    read: Element,
    first: Copied,
    second: Option<Copied>,
    info: &DeviceInfo,
) -> Result<Launch, String> {
    // Where there is no second matrix it has no rows.
    let both = [first, second.unwrap_or(Copied { rows: 0, ..first })];
    let units = both.map(|matrix| matrix.rows * matrix.pitch * read.bytes() / UNIT_BYTES);
    let blocks = (units[0] + units[1]).div_ceil(u64::from(SUPPORT_BLOCK));
    let resident = u64::from(info.units) * u64::from(ROW_COPY_BLOCKS);
    let word = |value: u64| word("a row", value);
    let [columns_a, columns_b] = both.map(|matrix| word(matrix.columns));
    let [pitch_a, pitch_b] = both.map(|matrix| word(matrix.pitch));
    Ok(Launch {
        entry,
        grid: stream::grid(blocks.min(resident))?,
        block: [SUPPORT_BLOCK, 1],
        arguments: vec![
            Argument::Operand(both[0].operand),
            Argument::Operand(both[1].operand),
            Argument::Scratch,
            Argument::U64(both[0].offset),
            Argument::U64(both[1].offset),
            Argument::U64(both[0].rows),
            Argument::U64(both[1].rows),
            columns_a?,
            columns_b?,
            pitch_a?,
            pitch_b?,
        ],
        ..Launch::PLAIN
    })
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
