//! Rows, and the files they are written to and read from.

mod finite;
pub mod row;

pub use row::{Bound, Cache, Data, Row, SCHEMA_VERSION, Status};
