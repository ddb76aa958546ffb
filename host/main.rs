//! The `rooftrace` program.
fn main() {}
