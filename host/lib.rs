//! rooftrace traces GPU kernels written in Rust onto the roofline.
//!
//! | module | what it is for |
//! |---|---|
//! | [`roofline`] | pure arithmetic: GPU database, peaks, work models, ridge, crossover |
//! | [`kernels`] | the registry: per kernel its work, operands, launch and verification |
//! | [`device`] | the [`device::Device`] trait and its implementations |
//! | [`measure`] | timing, cache state, convergence, statistics |
//! | [`sweep`] | walks a plan: verify, measure, hand each row on |
//! | [`record`] | the row, its writers and readers |
//! | [`figure`] | figures, from rows only |
//! | [`cli`] | arguments become a plan |

pub mod cli;
pub mod device;
pub mod figure;
pub mod kernels;
pub mod measure;
pub mod record;
pub mod roofline;
pub mod sweep;
