//! The system's own description (`uname(2)`).

pub use crate::contract::SystemReport;

/// Calls `uname`.
pub fn read() -> SystemReport {
    let uname = rustix::system::uname();
    SystemReport {
        name: uname.nodename().to_string_lossy().into_owned(),
        kernel: uname.release().to_string_lossy().into_owned(),
        version: uname.version().to_string_lossy().into_owned(),
        ..SystemReport::default()
    }
}
