//! The roofline room.
