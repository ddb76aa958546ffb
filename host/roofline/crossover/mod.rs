//! The crossover: the problem size at which a kernel's intensity reaches the ridge point.
//!
//! | module | what it is for |
//! |---|---|
//! | [`predict`] | where the roofline puts it, and the claims that follow |

pub mod predict;

pub use predict::{Claim, Crossover, FftBytes, claims, constant, fft, gemm};
