//! What else the machine did meanwhile.

use ipcost_sys::counters::ProcessorTimes;

/// Somebody who knows what the whole machine does.
pub trait Surroundings {
    /// The processors' time so far; `None` where the system does not tell.
    fn processor_times(&mut self) -> Option<ProcessorTimes>;
}

/// The real machine.
pub struct System;

impl Surroundings for System {
    fn processor_times(&mut self) -> Option<ProcessorTimes> {
        ProcessorTimes::read()
    }
}
