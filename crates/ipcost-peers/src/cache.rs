//! Where prepared peers are kept: a directory of the user's that nobody else can write to.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use ipcost_sys::private_dir::{ensure_private, private_dir_in};
use ipcost_sys::user_dirs;
use tempfile::TempDir;

use crate::Unavailable;

/// What directories are called while they are built.
const UNFINISHED: &str = ".unfinished-";
/// After so long, nobody is at work on an unfinished directory any more.
const ABANDONED: Duration = Duration::from_secs(24 * 60 * 60);

/// The place where prepared peers are kept between runs.
#[derive(Debug, Clone)]
pub struct Cache(PathBuf);

impl Cache {
    /// The user's: `$XDG_CACHE_HOME/ipcost/peers`, or below where the system keeps caches, such as `~/.cache`.
    ///
    /// # Errors
    /// Where there is no home, or where somebody else could write to it.
    pub fn of_user() -> Result<Self, Unavailable> {
        let base = user_cache(env::var_os("XDG_CACHE_HOME"), user_dirs::cache())?;
        Self::at(&base)
    }

    /// One below another directory for caches.
    ///
    /// # Errors
    /// Where it cannot be made, or where somebody else could write to it.
    pub fn at(base: &Path) -> Result<Self, Unavailable> {
        let own = base.join("ipcost");
        let peers = own.join("peers");
        let made =
            fs::create_dir_all(base).map_err(|error| format!("cannot make {}: {error}", base.display()));
        made.and_then(|()| {
            [&own, &peers]
                .into_iter()
                .try_for_each(|dir| ensure_private(dir).map_err(|error| error.to_string()))
        })
        .map_err(|reason| format!("{reason}; peers are built there (XDG_CACHE_HOME sets another place)"))?;
        Ok(Self(peers))
    }

    /// Where a prepared peer belongs.
    pub(crate) fn place(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// A directory to build in, on the same file system as its final place.
    pub(crate) fn workshop(&self) -> io::Result<TempDir> {
        self.sweep();
        private_dir_in(&self.0, UNFINISHED)
    }

    /// Removes what was being built when a program was killed.
    fn sweep(&self) {
        let Ok(entries) = fs::read_dir(&self.0) else { return };
        let abandoned = |modified: SystemTime| modified.elapsed().is_ok_and(|age| age > ABANDONED);
        for entry in entries.flatten() {
            let unfinished = entry.file_name().to_string_lossy().starts_with(UNFINISHED);
            if unfinished && entry.metadata().and_then(|data| data.modified()).is_ok_and(abandoned) {
                // Whoever else sweeps may be faster.
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }
}

/// By the XDG base directory specification, a path that is not absolute counts as none.
fn user_cache(xdg: Option<OsString>, usual: Option<PathBuf>) -> Result<PathBuf, Unavailable> {
    xdg.map(PathBuf::from).filter(|path| path.is_absolute()).or(usual).ok_or_else(|| {
        let home = user_dirs::HOME;
        Unavailable(format!(
            "there is no place to build it: neither XDG_CACHE_HOME nor {home} names a directory"
        ))
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn the_place_is_where_users_expect_it() {
        let path = |xdg: &str| user_cache(Some(xdg.into()), Some("/home/me/.cache".into()));
        assert_eq!(path("/x"), Ok("/x".into()));
        assert_eq!(path(""), Ok("/home/me/.cache".into()));
        assert_eq!(path("relative"), Ok("/home/me/.cache".into()));
        assert!(user_cache(None, None).unwrap_err().0.contains("neither XDG_CACHE_HOME nor HOME"));
    }

    #[test]
    fn it_is_private_and_one_that_others_can_write_to_is_refused() {
        let base = tempfile::tempdir().unwrap();
        let Cache(peers) = Cache::at(&base.path().join("not/there/yet")).unwrap();
        for dir in [peers.as_path(), peers.parent().unwrap()] {
            assert_eq!(fs::metadata(dir).unwrap().permissions().mode() & 0o777, 0o700);
        }
        fs::set_permissions(&peers, fs::Permissions::from_mode(0o770)).unwrap();
        let refused = Cache::at(&base.path().join("not/there/yet")).unwrap_err().0;
        assert!(refused.contains("other users can write to it") && refused.contains("chmod"), "{refused}");
    }

    #[test]
    fn what_was_abandoned_is_swept_and_what_is_new_is_not() {
        let base = tempfile::tempdir().unwrap();
        let cache = Cache::at(base.path()).unwrap();
        let old = cache.workshop().unwrap().keep();
        let new = cache.workshop().unwrap();
        fs::File::open(&old).unwrap().set_modified(SystemTime::now() - 2 * ABANDONED).unwrap();
        drop(cache.workshop().unwrap());
        assert!(!old.exists() && new.path().exists());
    }
}
