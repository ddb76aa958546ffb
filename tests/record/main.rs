//! Rows in files: columns, formats, failures, resuming.

mod columns;
mod crash;
mod failures;
mod formats;
mod resuming;
mod sample;
mod schema;
