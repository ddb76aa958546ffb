//! Verification must fail on every planted fault, and a sweep must lose no point to a device
//! that fails.

mod faulty;
mod matrices;
mod scripted;
mod sweeps;
mod tensors;
mod vectors;
