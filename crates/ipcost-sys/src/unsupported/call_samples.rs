//! No view of other programs' system calls.

pub use crate::observed::{CallDirection, MovedCall, MovingCall, SampleError, Taken};

/// The call of a name; none is known here.
pub fn of_name(_name: &str) -> Option<&'static MovingCall> {
    None
}

/// The number of an error by its name; none is known here.
pub fn error_number(_name: &str) -> Option<i32> {
    None
}

/// A sampler of the calls that move data; never created.
#[derive(Debug)]
pub enum CallSampler {}

impl CallSampler {
    pub fn open(_threads: Option<&[u32]>) -> Result<Self, SampleError> {
        Err(SampleError::Absent(super::unsupported(
            "only Linux shows the system calls of other programs (perf)",
        )))
    }

    pub fn enable(&mut self) {
        match *self {}
    }

    pub fn disable(&mut self) {
        match *self {}
    }

    pub fn take(&mut self, _found: &mut dyn FnMut(MovedCall)) -> Taken {
        match *self {}
    }
}
