//! What CI runs and people run: tests, lints, packages; and what the benches share with them.

mod advisories;
mod architecture;
pub mod dist;
mod docs;
mod english;
pub mod lint;
pub mod miri;
mod programs;
pub mod shell;
pub mod soak;
mod steps;
pub mod test;
pub mod tools;
mod unused;
mod workflows;
