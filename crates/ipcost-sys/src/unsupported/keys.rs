//! No keys: tables are shown once.

use std::time::Duration;

/// A terminal that gives keys, which this system does not offer.
#[derive(Debug)]
pub struct Keys;

impl Keys {
    /// None: the system does not give single keys.
    pub fn listen() -> Option<Self> {
        None
    }

    pub fn pressed(&mut self, within: Duration) -> Option<u8> {
        std::thread::sleep(within);
        None
    }
}
