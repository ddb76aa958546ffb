//! The stages of a ring in shared memory, of which each has barriers whose phases have a parity.

/// A stage, and the parity of the phase that its barriers are in.
#[derive(Clone, Copy)]
pub struct Stage {
    pub index: u32,
    pub parity: u32,
}

impl Stage {
    /// The first stage of a ring that has not been used.
    pub const FIRST: Stage = Stage {
        index: 0,
        parity: 0,
    };

    /// The stage after this one in a ring of `stages`.
    #[inline(always)]
    pub fn next(self, stages: u32) -> Stage {
        if self.index + 1 == stages {
            Stage {
                index: 0,
                parity: self.parity ^ 1,
            }
        } else {
            Stage {
                index: self.index + 1,
                ..self
            }
        }
    }
}
