//! Limits of this process.

use rustix::process::{Resource, getrlimit, setrlimit};

/// Raises the number of open descriptors as far as it may go, and gives what it became.
///
/// Children start with the same number.
pub fn raise_descriptors() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    let most = limit.maximum.unwrap_or(u64::MAX);
    if limit.current.is_some_and(|current| current < most) {
        let raised = rustix::process::Rlimit { current: limit.maximum, maximum: limit.maximum };
        // Where it fails the old limit stands, and the caller compares with what it needs.
        let _ = setrlimit(Resource::Nofile, raised);
    }
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// The number of open descriptors that [`raise_descriptors`] can reach; `None` where there is no limit.
pub fn most_descriptors() -> Option<u64> {
    getrlimit(Resource::Nofile).maximum
}
