//! The measure room.
