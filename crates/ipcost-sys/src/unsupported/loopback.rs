//! The loopback interface, where the system is not asked.

pub use crate::contract::Interface;

/// The loopback interface; always `None`.
pub fn loopback() -> Option<Interface> {
    None
}
