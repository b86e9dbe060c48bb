//! A shared ring of bytes: needs calls that this system lacks.

use std::convert::Infallible;
use std::io;
use std::sync::atomic::AtomicU32;

use super::unsupported;
use crate::system::descriptor::Descriptor;
use crate::{Context, SysError};

const REASON: &str = "sharing a ring between processes needs Linux's memfd and futex so far";

/// Why this system lacks such memory.
pub const LACKS: Option<&'static str> = Some(REASON);

/// Creates memory for a ring.
pub fn create(_ring_bytes: usize, _offset: u64) -> Result<Descriptor, SysError> {
    Err::<_, io::Error>(unsupported(REASON)).context(|| "cannot make shared memory".to_owned())
}

#[derive(Debug)]
pub struct SharedRing(Infallible);

impl SharedRing {
    pub fn map<T>(_memory: T) -> Result<Self, SysError> {
        Err::<_, io::Error>(unsupported(REASON)).context(|| "cannot map shared memory".to_owned())
    }

    pub fn bytes(&self) -> usize {
        match self.0 {}
    }

    pub fn word(&self, _index: usize) -> &AtomicU32 {
        match self.0 {}
    }

    pub fn first_word(&self) -> &AtomicU32 {
        match self.0 {}
    }

    pub fn write(&mut self, _position: u32, _bytes: &[u8]) {
        match self.0 {}
    }

    pub fn read(&self, _position: u32, _buffer: &mut [u8]) {
        match self.0 {}
    }

    pub fn fill(&mut self, _position: u32, _value: u8, _count: usize) {
        match self.0 {}
    }

    pub fn look_at(&self, _position: u32, _count: usize) {
        match self.0 {}
    }
}
