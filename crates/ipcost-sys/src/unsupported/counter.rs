//! Kernel counters: not supported here.

use std::io;

use super::unsupported;
use crate::system::descriptor::Descriptor;

pub fn create() -> io::Result<Descriptor> {
    Err(unsupported("eventfd is Linux's"))
}
