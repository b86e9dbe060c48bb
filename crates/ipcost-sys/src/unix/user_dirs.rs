//! Where a user's programs keep their files (the XDG base directory specification).

use std::env;
use std::path::PathBuf;

/// The variable that names the parent of the others.
pub const HOME: &str = "HOME";

/// For files that programs can recreate, unless `XDG_CACHE_HOME` says otherwise.
pub fn cache() -> Option<PathBuf> {
    Some(home()?.join(".cache"))
}

/// For files that programs cannot recreate, unless `XDG_DATA_HOME` says otherwise.
pub fn data() -> Option<PathBuf> {
    Some(home()?.join(".local/share"))
}

/// A relative path counts as none.
fn home() -> Option<PathBuf> {
    env::var_os(HOME).map(PathBuf::from).filter(|path| path.is_absolute())
}
