//! The engine of `sgemm_wide` and its smaller kin, and of `sgemm_transposed`: one tile of C by one block.
//!
//! What the clock of a multiprocessor is spent on decides the shape of this code. One FFMA a
//! cycle fills a scheduler, so every other instruction costs peak; and the register file reads
//! two operands a cycle, so an FFMA that finds none of its three in the reuse cache costs more
//! than one. Hence:
//!
//! - a thread owns 8 x 8 to 16 x 8 elements of C: six 16-byte loads feed 128 FFMAs;
//! - the outer product walks its rows back and forth, so each FFMA shares an operand with the
//!   one before;
//! - the main loop holds two k steps and one branch; `hold_order` between the steps keeps ptxas
//!   from mixing them, and with them the order of the FFMAs;
//! - both operands come by `cp.async`, several k tiles ahead; A is transposed on the way, four
//!   bytes at a time, so any leading dimension and alignment of A will do. Or A has been transposed, and both
//!   come by bulk tensor copies, for which no thread spends a slot;
//! - edges are filled with zeros by the copies: the arithmetic has no edges.
//!
//! | module | what it holds |
//! |---|---|
//! | `copy` | from global memory to a stage in shared memory |
//! | `fragment` | from a stage to registers, and the outer product |
//! | `output` | C: read, add, store |
//! | `parts` | the parts of a tile that several blocks share, added up |
//! | `segment` | a range of k tiles of one tile of C |
//! | `ring` | the same, where bulk tensor copies bring them, from an A that has been transposed |
//! | `schedule` | which ranges fall to a block |

mod copy;
mod fragment;
mod output;
mod parts;
#[cfg(sm_90a)]
mod ring;
mod schedule;
mod segment;

#[cfg(sm_90a)]
pub use ring::Ring;
#[cfg(sm_90a)]
pub use schedule::run_together;
pub use schedule::{Schedule, run};
pub use segment::Copied;

use super::Operands;
use crate::params::TileShape;

/// A shape of tile, as a type.
pub trait Shape {
    /// The shape.
    const TILE: TileShape;
}

/// First row and column of a tile of C.
#[derive(Clone, Copy)]
struct Corner {
    row: u32,
    column: u32,
}

/// A tile of C.
#[derive(Clone, Copy)]
pub struct Tile {
    /// Number of its product in the batch.
    product: u32,
    corner: Corner,
}

/// What a launch adds to: C of one product or of a batch of them, m x n each, and the depth of the products.
#[derive(Clone, Copy)]
pub struct Target {
    /// C of the first product; the others lie behind it.
    pub c: *mut f32,
    /// Rows.
    pub m: u32,
    /// Columns.
    pub n: u32,
    /// Columns of A, rows of B.
    pub k: u32,
}

impl Target {
    /// That of product `index` of the batch.
    #[inline(always)]
    fn of_product(self, index: u32) -> Self {
        let elements = self.m as usize * self.n as usize;
        Target { c: self.c.wrapping_add(index as usize * elements), ..self }
    }
}

impl Operands {
    /// The C of these.
    #[inline(always)]
    pub fn target(self) -> Target {
        let Operands { c, m, n, k, .. } = self;
        Target { c, m, n, k }
    }
}

/// How k tiles come into shared memory and are summed.
pub trait Segments<const TM: usize, const TN: usize> {
    /// Sums the k tiles `first` to `end` (exclusive, at least one) of a tile of C in the registers of this
    /// block's threads.
    ///
    /// # Safety
    /// Every thread of the block calls with the same arguments, and none uses the shared memory before all
    /// have come here.
    unsafe fn sum(&mut self, tile: Tile, first: u32, end: u32) -> [[f32; TN]; TM];
}
