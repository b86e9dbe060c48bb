//! What CI and people run.
fn main() {}
