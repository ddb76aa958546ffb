//! Embeds the PTX.
fn main() {}
