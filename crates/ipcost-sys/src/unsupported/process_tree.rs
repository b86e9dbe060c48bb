//! Servers as the kernel sees them: this system does not report enough about them.

use std::io;

use ipcost_model::Usage;

/// The process alone.
pub fn of(root: u32) -> Vec<u32> {
    vec![root]
}

/// Unknown here.
pub fn used(_root: u32) -> Option<Usage> {
    None
}

/// Always refuses.
///
/// # Errors
/// Always.
pub fn place_here(_processes: &[u32]) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Unknown here.
pub fn listener_at(_port: u16) -> Option<u32> {
    None
}
