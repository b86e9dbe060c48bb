//! What every Unix has.

pub mod channel;
pub mod control;
pub mod interrupt;
pub mod limits;
pub mod private_dir;
pub mod process;
pub mod usage;
pub mod worker;
