//! A private network: this system has no namespaces.

use std::io;

use super::unsupported;
use crate::{Context, SysError};

const REASON: &str = "a private network needs Linux's namespaces";

/// A network namespace; never created.
#[derive(Debug)]
pub enum NetNamespace {}

/// The namespaces that a process enters before it starts; never created.
#[derive(Debug, Clone, Copy)]
pub enum Entrance {}

impl NetNamespace {
    pub fn start(_command: &[String]) -> Result<Self, SysError> {
        none()
    }

    /// The idle process inside.
    pub fn process(&self) -> u32 {
        match *self {}
    }

    /// Settings that differ from those outside, by name.
    pub fn lost(&self) -> &[String] {
        match *self {}
    }

    /// How a process enters.
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

/// Moves this process into a network of its own.
pub fn enter() -> Result<Vec<String>, SysError> {
    none()
}

/// The helper's whole life, which ends at once.
pub fn hold() -> Result<(), SysError> {
    none()
}

fn none<T>() -> Result<T, SysError> {
    Err::<T, io::Error>(unsupported(REASON)).context(|| "a network namespace".to_owned())
}
