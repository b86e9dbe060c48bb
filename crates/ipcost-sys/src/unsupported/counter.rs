//! Counters of the kernel's, where there are none.

use std::io;

use super::unsupported;
use crate::system::descriptor::Descriptor;

/// Makes one.
///
/// # Errors
/// Always.
pub fn create() -> io::Result<Descriptor> {
    Err(unsupported("eventfd is Linux's"))
}
