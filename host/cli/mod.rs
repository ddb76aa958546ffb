//! The cli room.

pub mod sizes;
