//! Servers as the kernel sees them: this system does not report enough about them.

use std::io;

use ipcost_model::Usage;

/// The process alone.
pub fn of(root: u32) -> Vec<u32> {
    vec![root]
}

/// Unknown here.
#[derive(Debug, Clone, Default)]
pub struct Used;

impl Used {
    /// Unknown here, but of none.
    pub fn now(roots: &[u32], _known: &Self) -> Option<Self> {
        roots.is_empty().then_some(Self)
    }

    /// Nothing.
    pub fn since(&self, _earlier: &Self) -> Usage {
        Usage::default()
    }
}

/// Always refuses.
///
/// # Errors
/// Always.
pub fn place_here(_processes: &[u32]) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Always refuses.
///
/// # Errors
/// Always.
pub fn pin(_process: u32, _processor: usize) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Always refuses.
///
/// # Errors
/// Always.
pub fn run_before_others() -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Unknown here.
pub fn listener_at(_port: u16) -> Option<u32> {
    None
}
