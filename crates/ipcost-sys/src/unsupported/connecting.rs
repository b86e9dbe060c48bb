//! No view of who opens connections.

pub use crate::observed::{Connected, SampleError, Taken};

/// A view of who opens TCP connections; never created.
#[derive(Debug)]
pub enum Connecting {}

impl Connecting {
    pub fn open() -> Result<Self, SampleError> {
        Err(SampleError::Absent(super::unsupported("only Linux shows who opens connections (perf)")))
    }

    pub fn take(&mut self, _found: &mut dyn FnMut(Connected)) -> Taken {
        match *self {}
    }
}
