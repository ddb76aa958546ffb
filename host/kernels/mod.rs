//! The kernels room.
