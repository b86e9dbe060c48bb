//! The cache of prepared peers: a directory that only the user can write to.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::fs::{self, DirEntry, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use ipcost_sys::file_lock;
use ipcost_sys::file_writer::open_in_place;
use ipcost_sys::private_dir::{ensure_private, make_private, open_own_lock, private_dir_in};
use ipcost_sys::user_dirs;
use tempfile::TempDir;

use crate::Unavailable;
use crate::manifest::{self, Manifest, is_fingerprint};

/// The prefix of directories under construction.
const UNFINISHED: &str = ".unfinished-";
/// An unfinished directory this old is abandoned.
const ABANDONED: Duration = Duration::from_secs(24 * 60 * 60);

/// A peer unused for this long belongs to a version no longer in use.
const UNUSED: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// The lock that programs share while they use peers, next to their directory, which holds only peers.
const LOCK: &str = "peers.lock";

/// The locks that this program holds until it ends, by cache.
static HELD: Mutex<BTreeMap<PathBuf, File>> = Mutex::new(BTreeMap::new());

/// The place where prepared peers are kept between runs.
#[derive(Debug, Clone)]
pub struct Cache(PathBuf);

impl Cache {
    /// The user's: `$XDG_CACHE_HOME/ipcost/peers`, or below the system's usual place for caches, such as `~/.cache`.
    pub fn of_user() -> Result<Self, Unavailable> {
        let base = user_cache(env::var_os("XDG_CACHE_HOME"), user_dirs::cache())?;
        Self::at(&base)
    }

    /// A cache below another directory.
    pub fn at(base: &Path) -> Result<Self, Unavailable> {
        let own = base.join("ipcost");
        let peers = own.join("peers");
        let made = make_private(base).map_err(|error| format!("cannot make {}: {error}", base.display()));
        made.and_then(|()| {
            [&own, &peers]
                .into_iter()
                .try_for_each(|dir| ensure_private(dir).map_err(|error| error.to_string()))
        })
        .map_err(|reason| format!("{reason}; peers are built there (XDG_CACHE_HOME sets another place)"))?;
        Ok(Self(peers))
    }

    /// The final place of a prepared peer.
    pub(crate) fn place(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// A directory to build in, on the same file system as its final place.
    pub(crate) fn workshop(&self) -> io::Result<TempDir> {
        self.sweep();
        private_dir_in(&self.0, UNFINISHED)
    }

    /// Keeps other programs from removing any peer until this one ends. If locks do not work, no program removes any.
    pub(crate) fn hold(&self) {
        let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
        if held.contains_key(&self.0) {
            return;
        }
        let open = open_own_lock(&self.0.with_file_name(LOCK));
        // A program that removes peers holds it only briefly.
        if let Ok(lock) = open.and_then(|lock| lock.lock_shared().map(|()| lock)) {
            held.insert(self.0.clone(), lock);
        }
    }

    /// Marks a peer as used now, if it is there.
    pub(crate) fn note_use(&self, place: &Path) {
        let sums = open_in_place(&place.join(manifest::NAME));
        // If this fails, the peer is rebuilt after a while.
        let _ = sums.and_then(|sums| sums.set_modified(SystemTime::now()));
    }

    /// Removes peers unused for a long time, except `built`, unless another program uses any.
    pub(crate) fn prune(&self, built: &Path) {
        let held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(lock) = held.get(&self.0) else { return };
        let Ok(aside) = self.workshop() else { return };
        // This only saves space: failures can wait for the next time.
        if lock.unlock().is_ok() && file_lock::lock(lock).unwrap_or(false) {
            let entries = fs::read_dir(&self.0).into_iter().flatten().flatten();
            for entry in entries.filter(|entry| entry.path() != built && is_forgotten(entry)) {
                // Atomically, so that no program sees half of it.
                let _ = fs::rename(entry.path(), aside.path().join(entry.file_name()));
            }
            let _ = lock.unlock();
        }
        let _ = lock.lock_shared();
    }

    /// Removes unfinished directories of killed programs.
    fn sweep(&self) {
        let Ok(entries) = fs::read_dir(&self.0) else { return };
        let abandoned = |modified: SystemTime| modified.elapsed().is_ok_and(|age| age > ABANDONED);
        for entry in entries.flatten() {
            let unfinished = entry.file_name().to_string_lossy().starts_with(UNFINISHED);
            if unfinished && entry.metadata().and_then(|data| data.modified()).is_ok_and(abandoned) {
                // Another program may sweep faster.
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }
}

/// Whether an entry is a peer, exactly as installed, unused for a long time.
fn is_forgotten(entry: &DirEntry) -> bool {
    let (name, place) = (entry.file_name(), entry.path());
    let is_of_peer = name.to_str().and_then(|name| name.rsplit_once('-')).is_some_and(|(directory, last)| {
        !directory.is_empty() && is_fingerprint(last) && entry.file_type().is_ok_and(|kind| kind.is_dir())
    });
    let used = || fs::symlink_metadata(place.join(manifest::NAME)).and_then(|data| data.modified());
    let long_ago = |used: SystemTime| used.elapsed().is_ok_and(|age| age > UNUSED);
    let intact = || {
        let listed = Manifest::read(&place).ok().flatten();
        listed.is_some_and(|listed| Manifest::of(&place).is_ok_and(|found| found == listed))
    };
    is_of_peer && used().is_ok_and(long_ago) && intact()
}

/// By the XDG base directory specification, a path that is not absolute is ignored.
fn user_cache(xdg: Option<OsString>, usual: Option<PathBuf>) -> Result<PathBuf, Unavailable> {
    xdg.map(PathBuf::from).filter(|path| path.is_absolute()).or(usual).ok_or_else(|| {
        let home = user_dirs::HOME;
        Unavailable::from(format!(
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
        assert!(user_cache(None, None).unwrap_err().reason.contains("neither XDG_CACHE_HOME nor HOME"));
    }

    #[test]
    fn it_is_private_and_one_that_others_can_write_to_is_refused() {
        let base = tempfile::tempdir().unwrap();
        let Cache(peers) = Cache::at(&base.path().join("not/there/yet")).unwrap();
        for dir in [peers.as_path(), peers.parent().unwrap()] {
            assert_eq!(fs::metadata(dir).unwrap().permissions().mode() & 0o777, 0o700);
        }
        fs::set_permissions(&peers, fs::Permissions::from_mode(0o770)).unwrap();
        let refused = Cache::at(&base.path().join("not/there/yet")).unwrap_err().reason;
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

    /// Puts a fake peer into the cache, last used this long ago.
    fn put(cache: &Cache, name: &str, age: Duration) -> PathBuf {
        let place = cache.place(name);
        fs::create_dir(&place).unwrap();
        fs::write(place.join("peer.py"), name).unwrap();
        Manifest::of(&place).unwrap().write(&place).unwrap();
        let sums = File::options().write(true).open(place.join(manifest::NAME)).unwrap();
        sums.set_modified(SystemTime::now() - age).unwrap();
        place
    }

    #[test]
    fn peers_that_nobody_has_used_for_long_are_removed_and_nothing_else() {
        let base = tempfile::tempdir().unwrap();
        let cache = Cache::at(base.path()).unwrap();
        let named = |number: u8| format!("go-{}", format!("{number:02x}").repeat(10));
        let [old, built] = [1, 2].map(|number| put(&cache, &named(number), 2 * UNUSED));
        let young = put(&cache, &named(3), UNUSED / 2);
        let used = put(&cache, &named(4), 2 * UNUSED);
        cache.note_use(&used);
        let changed = put(&cache, &named(5), 2 * UNUSED);
        fs::write(changed.join("notes of mine"), "").unwrap();
        let other = put(&cache, "go-of-my-own", 2 * UNUSED);
        let link = cache.place(&named(6));
        std::os::unix::fs::symlink(base.path(), &link).unwrap();

        cache.hold();
        // Another program uses some peer.
        let others = File::open(cache.0.with_file_name(LOCK)).unwrap();
        others.lock_shared().unwrap();
        cache.prune(&built);
        assert!(old.exists());
        drop(others);
        cache.prune(&built);
        assert!(!old.exists());
        for kept in [built, young, used, changed, other, link] {
            assert!(kept.exists(), "{}", kept.display());
        }
        let unfinished = |entry: DirEntry| entry.file_name().to_string_lossy().starts_with(UNFINISHED);
        assert!(!fs::read_dir(&cache.0).unwrap().flatten().any(unfinished), "what is removed is gone");
        // This program still holds it: no other may remove anything.
        let others = File::open(cache.0.with_file_name(LOCK)).unwrap();
        assert!(!file_lock::lock(&others).unwrap());
    }
}
