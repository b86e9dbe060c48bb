//! The system's own description (`uname(2)`).

pub use crate::contract::Machine;

/// Calls `uname`.
pub fn read() -> Machine {
    let uname = rustix::system::uname();
    Machine {
        name: uname.nodename().to_string_lossy().into_owned(),
        kernel: uname.release().to_string_lossy().into_owned(),
        version: uname.version().to_string_lossy().into_owned(),
        ..Machine::default()
    }
}
