//! The loopback interface: not queried here.

pub use crate::contract::Interface;

/// The loopback interface; always `None`.
pub fn loopback() -> Option<Interface> {
    None
}
