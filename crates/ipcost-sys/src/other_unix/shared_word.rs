//! A word of memory that two processes share: not supported here.

use std::io;
use std::ops::Deref;
use std::sync::atomic::AtomicU32;

use crate::system::descriptor::Descriptor;
use crate::{Context, SysError};

const REASON: &str = "anonymous memory that a child inherits needs Linux's memfd_create";

/// Why this system lacks such memory.
pub const LACKS: Option<&'static str> = Some(REASON);

/// Creates memory for a word.
pub fn create() -> Result<Descriptor, SysError> {
    none()
}

/// The word; never created.
#[derive(Debug)]
pub struct SharedWord(AtomicU32);

impl SharedWord {
    /// Maps memory created by [`create`].
    pub fn map<T>(_memory: T) -> Result<Self, SysError> {
        none()
    }
}

impl Deref for SharedWord {
    type Target = AtomicU32;

    fn deref(&self) -> &AtomicU32 {
        &self.0
    }
}

fn none<T>() -> Result<T, SysError> {
    Err(io::Error::new(io::ErrorKind::Unsupported, REASON)).context(|| "cannot make shared memory".to_owned())
}
