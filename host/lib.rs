//! rooftrace traces GPU kernels written in Rust onto the roofline.
//!
//! | module | what it is for |
//! |---|---|
//! | [`roofline`] | pure arithmetic: GPU database, peaks, work models, ridge, crossover |
//! | [`kernels`] | the registry: per kernel its work, operands, launch and verification |
//! | [`device`] | the [`device::Device`] trait and its implementations |
//! | [`measure`] | timing, cache state, convergence, statistics |
//! | [`sweep`] | walks a plan: verify, measure, hand each row on |
//! | [`audit`] | the program checks its own measurements |
//! | [`crossover`] | predicted crossovers put to the test, from rows only |
//! | [`mod@count`] | work counted from the PTX that runs, beside the work model |
//! | [`counters`] | counted work against the hardware's counters |
//! | [`record`] | the row, its writers and readers |
//! | [`figure`] | figures, from rows only |
//! | [`cli`] | arguments become a plan |
//!
//! Data flows one way: `cli` makes a plan, `sweep` walks it with `kernels`, `device` and
//! `measure`, rows go to `record`. `roofline` depends on nothing. Nothing below `cli` prints.
//!
//! # As a dependency
//!
//! The crate `cust`, which this one builds on, looks for a CUDA toolkit when it is built and
//! links the driver. This workspace replaces its build helper by one that does neither (see
//! [`device::cuda::driver`]), with a `[patch]` that cargo does not inherit: a crate that depends
//! on `rooftrace` needs the same lines in its own `Cargo.toml`, or a toolkit at build time.
//!
//! ```toml
//! [patch.crates-io]
//! find_cuda_helper = { path = "…/rooftrace/host/device/cuda/find_cuda_helper" }
//! ```

pub mod audit;
pub mod cli;
pub mod count;
pub mod counters;
pub mod crossover;
pub mod device;
pub mod figure;
pub mod kernels;
pub mod measure;
pub mod record;
pub mod roofline;
pub mod sweep;
