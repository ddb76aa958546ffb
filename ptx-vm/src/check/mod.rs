//! Diagnoses: what a kernel did wrong, where, and what it collided with.

pub(crate) mod shadow;
mod units;

use std::fmt;

use crate::parse::ParseError;

/// What a kernel did wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FaultKind {
    /// An access outside every allocation, or past the end of shared, local or parameter memory.
    OutOfBounds,
    /// An access whose address is not a multiple of its size.
    Misaligned,
    /// A read of bytes that nothing has written.
    Uninitialized,
    /// A store to constant memory.
    ReadOnly,
    /// Two threads access the same shared memory, one of them writes, and no barrier lies between.
    SharedRace,
    /// Shared memory accessed while a `cp.async` into it has not been waited for.
    AsyncNotWaited,
    /// A barrier that not all threads of its warp or block reach.
    BarrierDivergence,
    /// Warps wait at barriers that nobody will complete.
    Deadlock,
    /// A `.sync` instruction executed by other lanes than its mask names, or a shuffle that
    /// reads from a lane that does not take part.
    WarpMask,
    /// An access to global memory in a launch that may have started early, by a block that has not
    /// waited for the launch in front of it.
    GridNotWaited,
    /// `trap`.
    Trap,
    /// A block executed more instructions than [`Options::max_warp_instructions`](crate::Options).
    InstructionLimit,
    /// An operand outside what the ISA allows, such as barrier 16.
    InvalidOperand,
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OutOfBounds => "access out of bounds",
            Self::Misaligned => "misaligned access",
            Self::Uninitialized => "read of uninitialised memory",
            Self::ReadOnly => "store to read-only memory",
            Self::SharedRace => "data race in shared memory",
            Self::AsyncNotWaited => "asynchronous copy not waited for",
            Self::BarrierDivergence => "divergent barrier",
            Self::Deadlock => "deadlock",
            Self::WarpMask => "lanes differ from the mask of a warp-wide instruction",
            Self::GridNotWaited => "launch before this one not waited for",
            Self::Trap => "trap",
            Self::InstructionLimit => "instruction limit reached",
            Self::InvalidOperand => "invalid operand",
        })
    }
}

/// The other side of a collision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collision {
    /// What it did, such as "write" or "cp.async".
    pub action: String,
    /// Its PTX line.
    pub line: u32,
    /// That line, trimmed.
    pub text: String,
    /// Its thread within the block; `None` when a unit of the hardware acted for threads.
    pub thread: Option<[u32; 3]>,
}

/// A diagnosis.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// What went wrong.
    pub kind: FaultKind,
    /// Kernel name.
    pub kernel: String,
    /// PTX line, from 1.
    pub line: u32,
    /// That line, trimmed.
    pub text: String,
    /// Block index.
    pub block: [u32; 3],
    /// Thread index within the block.
    pub thread: [u32; 3],
    /// Address: generic for global memory, an offset in its window for shared, local and
    /// parameter memory.
    pub address: Option<u64>,
    /// Further facts: the allocation, sizes, counts.
    pub detail: String,
    /// What it collided with.
    pub other: Option<Collision>,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ([bx, by, bz], [tx, ty, tz]) = (self.block, self.thread);
        write!(
            f,
            "{} in kernel {}, PTX line {} `{}`, block ({bx}, {by}, {bz}), thread ({tx}, {ty}, {tz})",
            self.kind, self.kernel, self.line, self.text
        )?;
        if let Some(address) = self.address {
            write!(f, ", address {address:#x}")?;
        }
        if !self.detail.is_empty() {
            write!(f, ": {}", self.detail)?;
        }
        if let Some(o) = &self.other {
            write!(f, "; {}", o.action)?;
            if let Some([x, y, z]) = o.thread {
                write!(f, " by thread ({x}, {y}, {z})")?;
            }
            write!(f, " at PTX line {} `{}`", o.line, o.text)?;
        }
        Ok(())
    }
}

impl std::error::Error for Fault {}

/// Why a launch did not run to its end.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// The launch does not fit the kernel: unknown entry, wrong arguments, too many threads.
    #[error("cannot launch {entry}: {message}")]
    Launch {
        /// The kernel asked for.
        entry: String,
        /// What does not fit.
        message: String,
    },
    /// The kernel uses PTX that this crate does not execute.
    #[error(transparent)]
    Unsupported(#[from] ParseError),
    /// The kernel did something wrong.
    #[error(transparent)]
    Fault(#[from] Box<Fault>),
}

impl RunError {
    /// The diagnosis, if the kernel ran and did something wrong.
    #[must_use]
    pub fn fault(&self) -> Option<&Fault> {
        match self {
            Self::Fault(fault) => Some(fault),
            _ => None,
        }
    }
}

/// Which checks are made. Bounds and alignment always are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checks {
    /// Reads of uninitialised global, shared and local memory.
    pub uninitialized: bool,
    /// Races in shared memory and unwaited asynchronous copies.
    pub races: bool,
    /// Masks of warp-wide instructions and divergent barriers.
    pub divergence: bool,
}

impl Checks {
    /// Everything.
    pub const ALL: Self = Self {
        uninitialized: true,
        races: true,
        divergence: true,
    };
    /// Bounds and alignment only.
    pub const NONE: Self = Self {
        uninitialized: false,
        races: false,
        divergence: false,
    };
}

impl Default for Checks {
    fn default() -> Self {
        Self::ALL
    }
}

/// A fault as it arises inside a warp; the place is added further out.
#[derive(Debug, Clone)]
pub(crate) struct Raw {
    pub kind: FaultKind,
    pub lane: u32,
    pub address: Option<u64>,
    pub detail: String,
    /// Action, instruction index and thread (linear) of the other side.
    pub other: Option<(&'static str, u32, u32)>,
}

impl Raw {
    pub fn new(kind: FaultKind, lane: u32, detail: impl Into<String>) -> Box<Self> {
        Box::new(Self {
            kind,
            lane,
            address: None,
            detail: detail.into(),
            other: None,
        })
    }

    pub fn at(kind: FaultKind, lane: u32, address: u64, detail: impl Into<String>) -> Box<Self> {
        Box::new(Self {
            kind,
            lane,
            address: Some(address),
            detail: detail.into(),
            other: None,
        })
    }
}

pub(crate) type Checked<T> = Result<T, Box<Raw>>;
