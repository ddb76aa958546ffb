//! The command line: one file per command.

pub mod intensity;
pub mod llm;
pub mod peaks;
pub mod render;
pub mod ridge;
