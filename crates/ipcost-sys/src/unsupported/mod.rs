//! Stubs for what a system lacks: they say so, and why, or find nothing. Types are never created.

/// Functions or methods with one body.
macro_rules! stubs {
    ($body:expr; $($(#[$meta:meta])* fn $name:ident($($args:tt)*) $(-> $out:ty)?;)*) => {
        $($(#[$meta])* pub fn $name($($args)*) $(-> $out)? { $body })*
    };
}

#[cfg(not(target_os = "linux"))]
mod linux_only;
#[cfg(unix)]
pub mod npipe;
#[cfg(windows)]
mod unix_only;

use std::io;

#[cfg(not(target_os = "linux"))]
pub use self::linux_only::*;
#[cfg(windows)]
pub use self::unix_only::*;

/// The error of an unsupported operation.
fn unsupported(reason: &str) -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, reason)
}

#[cfg(not(target_os = "linux"))]
fn none<T>() -> io::Result<T> {
    Err(io::ErrorKind::Unsupported.into())
}
