//! Directories that only this user can enter: one for sockets and FIFOs, and those that are kept.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::Path;

use rustix::fs::{Mode, OFlags, fstat, open};
use tempfile::TempDir;

use crate::{Context, SysError};

/// The longest path a Unix socket can be bound to, in bytes: `sun_path` without its final NUL.
pub const MAX_SOCKET_PATH: usize =
    size_of::<libc::sockaddr_un>() - std::mem::offset_of!(libc::sockaddr_un, sun_path) - 1;

/// A fresh directory with mode 0700; it is removed with all that is in it when this is dropped.
#[derive(Debug)]
pub struct PrivateDir(TempDir);

impl PrivateDir {
    /// Makes one in the system's directory for temporary files.
    ///
    /// # Errors
    /// Where it cannot be made, where others could put something else into its place, or where its path is so long
    /// that no socket could be bound in it.
    pub fn create() -> Result<Self, SysError> {
        Self::create_in(&std::env::temp_dir())
    }

    /// Makes one in a directory.
    ///
    /// # Errors
    /// As [`PrivateDir::create`].
    pub fn create_in(base: &Path) -> Result<Self, SysError> {
        let context =
            || format!("cannot make a private directory in {} (set TMPDIR to another)", base.display());
        // Links are followed once, here, so that what is examined is what is used.
        let base = base.canonicalize().context(context)?;
        check_trusted(&base).context(context)?;
        let dir = private_dir_in(&base, "ipcost-").context(context)?;
        check_own(dir.path()).context(context)?;
        Ok(Self(dir))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Removes it now.
    ///
    /// # Errors
    /// Where something in it cannot be removed.
    pub fn remove(self) -> Result<(), SysError> {
        let path = self.path().to_owned();
        self.0.close().context(|| format!("cannot remove {}", path.display()))
    }
}

/// Makes a directory, and those above it that are missing, so that nobody else can enter them.
///
/// # Errors
/// The system's answer.
pub fn make_private(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Makes a directory within another that nobody else can enter; it goes with what this gives, unless that is kept.
///
/// # Errors
/// The system's answer.
pub fn private_dir_in(parent: &Path, prefix: &str) -> io::Result<TempDir> {
    tempfile::Builder::new().prefix(prefix).permissions(Permissions::from_mode(0o700)).tempdir_in(parent)
}

/// Makes sure that a directory is there which only this user can write to; if it has to be made, nobody else
/// can enter it either.
///
/// # Errors
/// Where it cannot be made, is somebody else's, or can be written to by others.
pub fn ensure_private(path: &Path) -> Result<(), SysError> {
    let shown = || path.display().to_string();
    let refuse = |reason: String| {
        Err(SysError { action: shown(), source: io::Error::new(io::ErrorKind::PermissionDenied, reason) })
    };
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            return Err(SysError { action: format!("cannot make {}", shown()), source: error });
        }
        _ => {}
    }
    let found = fs::metadata(path).context(|| format!("cannot look at {}", shown()))?;
    let user = rustix::process::geteuid().as_raw();
    if !found.is_dir() {
        return refuse("it is no directory; move it away".to_owned());
    }
    if found.uid() != user {
        let owner = found.uid();
        return refuse(format!("it belongs to user {owner}, and this program runs as user {user}"));
    }
    if found.mode() & 0o022 != 0 {
        return refuse(format!(
            "other users can write to it; take that from them with chmod go-w {}",
            shown()
        ));
    }
    Ok(())
}

/// Whether nobody but this user and the system's own could rename or replace what lies in a directory: neither it nor
/// anything above it belongs to somebody else, or lets others rename what is not theirs.
fn check_trusted(dir: &Path) -> io::Result<()> {
    let user = rustix::process::geteuid().as_raw();
    // Whoever owns the root can replace everything anyway; in a user namespace that may be an unknown user.
    let system = fs::symlink_metadata("/")?.uid();
    for dir in dir.ancestors() {
        let found = fs::symlink_metadata(dir)?;
        let (owner, mode) = (found.uid(), found.mode());
        if ![user, 0, system].contains(&owner) {
            return Err(untrusted(dir, &format!("belongs to user {owner}")));
        }
        let restricted = mode & STICKY != 0;
        // Many systems give every user a group of the same number that nobody else is in.
        let own_group = found.gid() == 0 || (found.gid() == user && owner == user);
        if !restricted && (mode & 0o002 != 0 || (mode & 0o020 != 0 && !own_group)) {
            return Err(untrusted(dir, "can be written to by others and is not sticky"));
        }
    }
    Ok(())
}

fn untrusted(dir: &Path, why: &str) -> io::Error {
    let reason = format!(
        "{} {why}, so that others could put something else into its place; set TMPDIR to a directory of your own",
        dir.display()
    );
    io::Error::new(io::ErrorKind::PermissionDenied, reason)
}

/// Whether what has just been made is there, and is no link or directory of somebody else.
fn check_own(dir: &Path) -> io::Result<()> {
    let opened = open(dir, OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
    let found = fstat(&opened)?;
    if found.st_uid == rustix::process::geteuid().as_raw() && found.st_mode & 0o777 == 0o700 {
        return Ok(());
    }
    Err(untrusted(dir, "was replaced while it was made"))
}

/// Only owners may rename and remove what lies in such a directory.
const STICKY: u32 = 0o1000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_where_others_could_replace_it_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let made = |path: &Path| PrivateDir::create_in(path).map(drop).map_err(|error| error.to_string());
        let mode = |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        let below = dir.path().join("below");
        fs::create_dir(&below).unwrap();
        assert_eq!(made(&below), Ok(()));
        mode(dir.path(), 0o1777);
        assert_eq!(made(&below), Ok(()), "in a sticky directory only owners rename");
        for hostile in [0o777, 0o702] {
            mode(dir.path(), hostile);
            for path in [&below, dir.path()] {
                let error = made(path).unwrap_err();
                assert!(error.contains("written to by others") && error.contains("set TMPDIR"), "{error}");
            }
        }
        mode(dir.path(), 0o700);
        if rustix::process::geteuid().is_root() {
            mode(&below, 0o1777);
            std::os::unix::fs::chown(&below, Some(12_345), None).unwrap();
            let error = made(&below).unwrap_err();
            assert!(error.contains("below belongs to user 12345"), "{error}");
            // A link leads nowhere else than where it leads.
            let link = dir.path().join("link");
            std::os::unix::fs::symlink(&below, &link).unwrap();
            assert!(made(&link).unwrap_err().contains("belongs to user 12345"));
        }
        assert_eq!(fs::read_dir(&below).unwrap().count(), 0, "nothing is left");
    }

    #[test]
    fn what_took_its_place_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let (target, link) = (dir.path().join("target"), dir.path().join("link"));
        DirBuilder::new().mode(0o700).create(&target).unwrap();
        assert!(check_own(&target).is_ok());
        std::os::unix::fs::symlink(&target, &link).unwrap();
        assert!(check_own(&link).is_err(), "a link is not followed");
        fs::set_permissions(&target, Permissions::from_mode(0o750)).unwrap();
        assert!(check_own(&target).unwrap_err().to_string().contains("was replaced"));
    }

    #[test]
    fn a_directory_of_somebody_else_is_refused() {
        if rustix::process::geteuid().is_root() {
            let dir = PrivateDir::create().unwrap();
            std::os::unix::fs::chown(dir.path(), Some(12_345), None).unwrap();
            let error = ensure_private(dir.path()).unwrap_err().to_string();
            assert!(error.contains("belongs to user 12345"), "{error}");
        } else {
            let error = ensure_private(Path::new("/")).unwrap_err().to_string();
            assert!(error.contains("belongs to user 0"), "{error}");
        }
        assert!(ensure_private(Path::new("/dev/null")).unwrap_err().to_string().contains("no directory"));
    }

    #[test]
    fn is_private_and_goes_away() {
        let dir = PrivateDir::create().unwrap();
        let path = dir.path().to_owned();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o700);
        std::fs::write(path.join("x"), "y").unwrap();
        drop(dir);
        assert!(!path.exists());
    }
}
