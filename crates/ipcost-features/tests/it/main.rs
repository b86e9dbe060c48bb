//! One program for all integration tests of this crate.

mod app;
mod check;
mod fleet;
mod latency;
mod schemas;
#[path = "../../../ipcost-lab/tests/it/script/mod.rs"]
mod script;
