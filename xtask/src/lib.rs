//! What CI runs and people run: tests, lints, packages; and what the benches share with them.

pub mod advisories;
mod architecture;
pub mod dist;
mod docs;
mod english;
pub mod lint;
pub mod miri;
/// What tests need, as the tests themselves read it.
mod pool;
pub mod shell;
pub mod soak;
mod steps;
mod tally;
pub mod test;
pub mod tools;
mod unused;
mod workflows;
