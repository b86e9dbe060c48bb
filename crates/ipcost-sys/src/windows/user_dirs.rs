//! Where a user's programs keep what is theirs.

use std::env;
use std::path::PathBuf;

/// The variable that names where the others are.
pub const HOME: &str = "LOCALAPPDATA";

/// Where programs keep what they can make again, unless `XDG_CACHE_HOME` says otherwise.
pub fn cache() -> Option<PathBuf> {
    env::var_os(HOME).map(PathBuf::from).filter(|path| path.is_absolute())
}

/// Where programs keep what they cannot make again, unless `XDG_DATA_HOME` says otherwise.
pub fn data() -> Option<PathBuf> {
    cache()
}
