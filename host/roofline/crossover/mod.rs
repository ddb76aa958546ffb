//! The crossover: the problem size at which a kernel's intensity reaches the ridge point.
//!
//! | module | what it is for |
//! |---|---|
//! | [`predict`] | where the roofline puts it, and the claims that follow |
//! | [`point`] | one measured size |
//! | [`mod@fit`] | the asymptotes of a measured trace, and where they cross |
//! | [`mod@knee`] | a smooth knee through all points |
//! | [`mod@plateau`] | from where a single problem stays near the rate that it keeps |
//! | [`mod@judge`] | the prediction confirmed, refuted, or not testable |

pub mod fit;
pub mod judge;
pub mod knee;
pub mod plateau;
pub mod point;
pub mod predict;

pub use fit::{Asymptote, Estimate, Fit, fit};
pub use judge::{Judgement, MeasuredRoofs, Obstacle, Side, Verdict, judge};
pub use knee::{Knee, knee};
pub use plateau::{Plateau, plateau};
pub use point::Point;
pub use predict::{Claim, Crossover, FftBytes, claims, constant, fft, gemm};
