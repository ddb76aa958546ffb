//! The measure room.

pub mod stats;
