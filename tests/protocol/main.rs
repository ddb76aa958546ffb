//! The measurement protocol against a device that follows a script: its times, its throttling
//! and its failures are planted, and the real sweep runs on it.

mod faults;
mod mock;
mod rules;
mod sweeps;
