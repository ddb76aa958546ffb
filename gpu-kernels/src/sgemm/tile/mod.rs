//! The engine of `sgemm_wide`, `sgemm_square` and `sgemm_small`: one tile of C by one block.
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
//!   bytes at a time, so any leading dimension and alignment of A will do;
//! - edges are filled with zeros by the copies: the arithmetic has no edges.
//!
//! | module | what it holds |
//! |---|---|
//! | `copy` | from global memory to a stage in shared memory |
//! | `fragment` | from a stage to registers, and the outer product |
//! | `output` | C: read, add, store |
//! | `parts` | the parts of a tile that several blocks share, added up |
//! | `segment` | a range of k tiles of one tile of C |
//! | `schedule` | which ranges fall to a block |

mod copy;
mod fragment;
mod output;
mod parts;
mod schedule;
mod segment;

#[cfg(sm_90a)]
pub use schedule::run_together;
pub use schedule::{Schedule, run};

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
