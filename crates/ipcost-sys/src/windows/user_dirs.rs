//! Where a user's programs keep their files.

use std::env;
use std::path::PathBuf;

/// The variable that names the parent of the others.
pub const HOME: &str = "LOCALAPPDATA";

/// For files that programs can recreate, unless `XDG_CACHE_HOME` says otherwise.
pub fn cache() -> Option<PathBuf> {
    env::var_os(HOME).map(PathBuf::from).filter(|path| path.is_absolute())
}

/// For files that programs cannot recreate, unless `XDG_DATA_HOME` says otherwise.
pub fn data() -> Option<PathBuf> {
    cache()
}
