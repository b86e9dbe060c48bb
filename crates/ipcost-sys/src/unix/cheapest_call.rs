//! The cheapest system call.

use std::hint::black_box;

/// Whether this system has a call that does next to nothing.
///
/// # Errors
/// Infallible: every Unix has `getppid(2)`.
pub fn probe() -> Result<(), String> {
    Ok(())
}

/// Makes the call.
#[inline]
pub fn call() {
    black_box(rustix::process::getppid());
}
