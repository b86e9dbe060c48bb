//! Limits of this process.

/// The number of handles that this process may open: more than any run needs.
pub fn raise_descriptors() -> u64 {
    u64::MAX
}

/// The same as a limit; `None`, as there is none to speak of.
pub fn most_descriptors() -> Option<u64> {
    None
}
