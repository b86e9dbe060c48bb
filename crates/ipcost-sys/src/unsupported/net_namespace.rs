//! A network of one's own, where there are no namespaces.

use std::io;

use super::unsupported;
use crate::{Context, SysError};

const REASON: &str = "a network of one's own takes Linux's namespaces";

/// A network namespace; there is never one.
#[derive(Debug)]
pub enum NetNamespace {}

/// What a process enters before it starts; there is never one.
#[derive(Debug, Clone, Copy)]
pub enum Entrance {}

impl NetNamespace {
    /// Makes one.
    ///
    /// # Errors
    /// Always.
    pub fn start(_command: &[String]) -> Result<Self, SysError> {
        none()
    }

    /// The process that is in it and does nothing.
    pub fn process(&self) -> u32 {
        match *self {}
    }

    /// Settings that are not what they are outside, by name.
    pub fn lost(&self) -> &[String] {
        match *self {}
    }

    /// How a process gets in.
    pub fn entrance(&self) -> Entrance {
        match *self {}
    }
}

impl Entrance {
    /// Moves the calling process into it.
    #[cfg(unix)]
    pub(crate) fn enter(self) -> io::Result<()> {
        match self {}
    }
}

/// The helper's whole life, which is over at once.
///
/// # Errors
/// Always.
pub fn hold() -> Result<(), SysError> {
    none()
}

fn none<T>() -> Result<T, SysError> {
    Err::<T, io::Error>(unsupported(REASON)).context(|| "a network namespace".to_owned())
}
