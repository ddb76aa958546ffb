//! The roofline's arithmetic: no device, no output, no dependence on the rest of the crate.
//!
//! | module | what it is for |
//! |---|---|
//! | [`pipe`] | what a compute roof belongs to: an execution unit and a precision |
//! | [`db`] | the GPU database: datasheet rates, looked up by name |
//! | [`spec`] | reads the database's TOML, checks every field, names file and line |
//! | [`peak`] | peak rates computed from device attributes, factor by factor |
//! | [`storage`] | how operands are stored in device memory |
//! | [`work`] | work models: FLOPs and bytes of each kernel |
//! | [`model`] | the roofline itself: ridge point, roof, fraction of the roof, bound |
//! | [`crossover`] | the problem size at which a kernel reaches the ridge point |
//! | [`llm`] | decode and prefill of a language model on a roofline |
//! | [`units`] | decimal and binary prefixes, engineering notation |
//!
//! Units are SI base units without prefixes throughout: FLOP/s, byte/s, byte, s, Hz, W.
//! Arithmetic intensity and ridge points are in FLOP/byte.

pub mod crossover;
pub mod db;
pub mod llm;
pub mod model;
pub mod peak;
pub mod pipe;
pub mod spec;
pub mod storage;
pub mod units;
pub mod work;

pub use db::{Database, Gpu};
pub use model::{Bound, Interval, Roofline};
pub use pipe::Pipe;
pub use storage::Storage;
pub use work::Work;
