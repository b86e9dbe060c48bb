//! Directories that only this user can enter: one for sockets and FIFOs, and persistent ones.

use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{Mode, OFlags, RawMode, fchmod, fstat, mkdirat, open};
use rustix::io::Errno;
use tempfile::TempDir;

use crate::private_name::{fresh_name, is_of_this_machine};
pub use crate::private_name::{is_private_name, part_of};
use crate::system::{directory, file_writer};
use crate::{Context, SysError, file_lock};

/// The longest path for a Unix socket, bytes: `sun_path` without its final NUL.
pub const MAX_SOCKET_PATH: usize =
    size_of::<libc::sockaddr_un>() - std::mem::offset_of!(libc::sockaddr_un, sun_path) - 1;

/// How many names to try.
const MOST_TRIES: u32 = 64;
/// A creator locks its directory at once: an older, unlocked one is abandoned.
const ABANDONED: Duration = Duration::from_secs(60);

/// A new directory with mode 0700; dropping this removes it with its contents.
///
/// It is locked while in use, so that the next program recognises those that killed programs left behind.
#[derive(Debug)]
pub struct PrivateDir {
    path: PathBuf,
    _lock: File,
}

impl PrivateDir {
    /// Creates one in the system's temporary directory, and removes those that killed programs left there.
    ///
    /// # Errors
    /// If it cannot be created, or others could put something else in its place.
    pub fn create() -> Result<Self, SysError> {
        Self::announced(&mut |_| {})
    }

    /// The same; `announce` receives its path before it exists, so that it is known whenever this program is killed.
    pub fn announced(announce: &mut dyn FnMut(&Path)) -> Result<Self, SysError> {
        let base = std::env::temp_dir();
        Self::create_in(&base, announce)
            .context(|| format!("cannot make a private directory in {}", base.display()))
    }

    fn create_in(base: &Path, announce: &mut dyn FnMut(&Path)) -> io::Result<Self> {
        // Follow links once, here, so that what is checked is what is used.
        let base = base.canonicalize()?;
        if let Some(why) = untrusted(&base)? {
            return Err(refused(&why));
        }
        sweep(&base);
        for _ in 0..MOST_TRIES {
            let path = base.join(fresh_name());
            announce(&path);
            match DirBuilder::new().mode(0o700).create(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
                Ok(()) => {
                    let lock = open_own(&path)?;
                    // Without locks on the file system nothing is swept either, as that takes a lock.
                    let _ = file_lock::lock(&lock);
                    return Ok(Self { path, _lock: lock });
                }
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Lets a server of another user reach a directory of its own in here. Others can then enter, but list nothing, and open
    /// only what is open to them.
    pub fn let_others_pass(&self) -> io::Result<()> {
        let_pass(&self.path)
    }
}

/// A private directory that others can pass.
const PASSABLE: RawMode = 0o711;

/// Lets others enter a directory of this user's, without listing it.
pub(crate) fn let_pass(dir: &Path) -> io::Result<()> {
    let dir = open(dir, OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
    Ok(fchmod(dir, Mode::from_raw_mode(PASSABLE))?)
}

impl Drop for PrivateDir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Removes what killed programs left behind: directories with such a name of this machine that belong to this user, that only
/// this user can enter, and that are not locked.
fn sweep(base: &Path) {
    let abandoned = |path: &Path| {
        let old =
            fs::symlink_metadata(path).ok()?.modified().ok()?.elapsed().is_ok_and(|age| age > ABANDONED);
        let own = old.then(|| open_own(path).ok()).flatten()?;
        file_lock::is_locked(&own).is_ok_and(|locked| !locked).then_some(())
    };
    for entry in fs::read_dir(base).into_iter().flatten().flatten() {
        let path = entry.path();
        if entry.file_name().to_str().is_some_and(is_of_this_machine) && abandoned(&path).is_some() {
            // Another program may be sweeping at the same time.
            let _ = fs::remove_dir_all(&path);
        }
    }
}

/// Creates a directory and its missing parents, for this user only.
///
/// # Errors
/// If a system call fails, or a link of another user is on the way.
pub fn make_private(path: &Path) -> io::Result<()> {
    match directory::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        opened => return opened.map(drop),
    }
    if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        make_private(parent)?;
    }
    make_one(path)
}

/// Creates a directory for this user only, unless something has its name.
fn make_one(path: &Path) -> io::Result<()> {
    let (dir, name) = file_writer::opened(path)?;
    match mkdirat(dir, name, Mode::RWXU) {
        Err(Errno::EXIST) => Ok(()),
        made => Ok(made?),
    }
}

/// What a file of this user holds that no other user can write to; `None` if there is none. Follows no link.
///
/// # Errors
/// If it is something else, or of another user, or others can write to it.
pub fn read_own(path: &Path) -> io::Result<Option<String>> {
    let opened = match open(
        path,
        OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC,
        Mode::empty(),
    ) {
        Err(rustix::io::Errno::NOENT) => return Ok(None),
        opened => opened?,
    };
    let found = fstat(&opened)?;
    let user = rustix::process::geteuid().as_raw();
    let refuse = |why: String| Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    if rustix::fs::FileType::from_raw_mode(found.st_mode) != rustix::fs::FileType::RegularFile {
        return refuse("it is not a regular file".to_owned());
    }
    if found.st_uid != user {
        return refuse(format!("it belongs to user {}, and this program runs as user {user}", found.st_uid));
    }
    if found.st_mode & 0o022 != 0 {
        return refuse("other users can write to it".to_owned());
    }
    io::read_to_string(File::from(opened).take(MOST_BYTES)).map(Some)
}

/// Writes a file of this user in one step: it holds all of it afterwards, or what was there before; if `durable`, also after a
/// power failure. Only one process may do so at a time.
pub fn write_whole(path: &Path, text: &str, durable: bool) -> io::Result<()> {
    file_writer::write_whole(path, &part_of(path), text, durable)
}

/// Removes such a file, and what was written of it; that they are gone is on the disk afterwards.
///
/// # Errors
/// If a system call fails; that it is gone already is none.
pub fn remove_whole(path: &Path) -> io::Result<()> {
    remove(path)?;
    remove(&part_of(path))?;
    sync_dir_of(path)
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn sync_dir_of(path: &Path) -> io::Result<()> {
    File::open(path.parent().ok_or(io::ErrorKind::InvalidInput)?)?.sync_all()
}

/// Opens a file of this user to lock it, and creates it if needed. Follows no link, and no other user can open it.
///
/// # Errors
/// If a system call fails, or it belongs to another user.
pub fn open_own_lock(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened = open(path, flags, Mode::RUSR | Mode::WUSR)?;
    if fstat(&opened)?.st_uid != rustix::process::geteuid().as_raw() {
        let reason = "it belongs to another user";
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, reason));
    }
    Ok(opened.into())
}

/// The longest file that [`read_own`] reads.
const MOST_BYTES: u64 = 16 << 20;

/// Creates a directory for this user only within another; it disappears with the returned value, unless kept.
pub fn private_dir_in(parent: &Path, prefix: &str) -> io::Result<TempDir> {
    tempfile::Builder::new().prefix(prefix).permissions(Permissions::from_mode(0o700)).tempdir_in(parent)
}

/// Ensures that a directory exists which only this user can write to, and that no one else can put another in its place; if it has
/// to be created, only this user can enter it either.
///
/// # Errors
/// If it cannot be created, it or a directory above it belongs to another user, or others can write there.
pub fn ensure_private(path: &Path) -> Result<(), SysError> {
    let shown = || path.display().to_string();
    let refuse = |reason: String| Err(io::Error::new(io::ErrorKind::PermissionDenied, reason)).context(shown);
    let mut check = |dir: &OwnedFd| {
        let found = File::from(dir.try_clone()?).metadata()?;
        let above = directory::path_of(dir).unwrap_or_default();
        match others_may_replace(&above, found.uid(), found.mode(), found.gid())? {
            Some(why) => Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                format!("another user could replace it: {why}"),
            )),
            None => Ok(()),
        }
    };
    let mut opened = directory::open_with(path, &mut check);
    if opened.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
        make_one(path).context(|| format!("cannot make {}", shown()))?;
        opened = directory::open_with(path, &mut check);
    }
    let opened = match opened {
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            return refuse("it is not a directory; move it away".to_owned());
        }
        opened => opened.context(|| format!("cannot look at {}", shown()))?,
    };
    let found = fstat(&opened).context(|| format!("cannot look at {}", shown()))?;
    let user = rustix::process::geteuid().as_raw();
    if found.st_uid != user {
        let owner = found.st_uid;
        return refuse(format!("it belongs to user {owner}, and this program runs as user {user}"));
    }
    if found.st_mode & 0o022 != 0 {
        return refuse(format!("other users can write to it; revoke that with chmod go-w {}", shown()));
    }
    let above = directory::path_of(&opened).and_then(|real| untrusted(&real));
    match above.context(|| format!("cannot look at what is above {}", shown()))? {
        Some(why) => refuse(format!("another user could replace it: {why}")),
        None => Ok(()),
    }
}

/// Checks that an open file and its directory are this user's or root's, and that no one else may write to them.
pub fn check_own(file: &File, path: &Path) -> Result<(), SysError> {
    let look = || "cannot look at it".to_owned();
    let path = path.canonicalize().context(look)?;
    let dir = path.parent().unwrap_or(Path::new("/"));
    let found = [
        ("the file", path.as_path(), file.metadata().context(look)?),
        ("its directory", dir, fs::metadata(dir).context(look)?),
    ];
    let user = rustix::process::geteuid().as_raw();
    if !found[0].2.is_file() {
        return Err(SysError::Invalid("it is no regular file"));
    }
    for (what, at, found) in found {
        let (owner, mode) = (found.uid(), found.mode());
        if ![user, 0].contains(&owner) {
            return Err(SysError::Owner { what, owner });
        }
        if others_may_write(owner, mode, found.gid(), has_access_list(at)) {
            return Err(SysError::Writable(what));
        }
    }
    Ok(())
}

/// Why others could rename or replace a directory's contents: it or a parent belongs to another user, or lets others rename what is
/// not theirs. `None` if only this user and the system can.
fn untrusted(dir: &Path) -> io::Result<Option<String>> {
    for dir in dir.ancestors() {
        let found = fs::symlink_metadata(dir)?;
        if let Some(why) = others_may_replace(dir, found.uid(), found.mode(), found.gid())? {
            return Ok(Some(why));
        }
    }
    Ok(None)
}

/// Why others could rename or replace what lies in a directory of this owner, mode and group; `None` if they cannot.
fn others_may_replace(dir: &Path, owner: u32, mode: u32, group: u32) -> io::Result<Option<String>> {
    if !directory::is_trusted_owner(owner)? {
        return Ok(Some(format!("{} belongs to user {owner}", dir.display())));
    }
    let is_restricted = mode & STICKY != 0;
    if !is_restricted && others_may_write(owner, mode, group, has_access_list(dir)) {
        return Ok(Some(format!("{} can be written to by others and is not sticky", dir.display())));
    }
    Ok(None)
}

/// Whether more than the owner may write. With an access list, the mode's bits of the group are the most that anyone on it may do.
fn others_may_write(owner: u32, mode: u32, group: u32, has_list: bool) -> bool {
    let user = rustix::process::geteuid().as_raw();
    // Many systems give every user a private group of the same number.
    let own_group = group == 0 || (group == user && owner == user);
    mode & 0o002 != 0 || (mode & 0o020 != 0 && (has_list || !own_group))
}

/// Whether a file has a list of users and groups besides its mode (`acl(5)`).
pub(crate) fn has_access_list(path: &Path) -> bool {
    let mut nothing: [u8; 0] = [];
    rustix::fs::lgetxattr(path, "system.posix_acl_access", &mut nothing).is_ok_and(|bytes| bytes > 0)
}

/// That a place for sockets is refused.
fn refused(why: &str) -> io::Error {
    let reason = format!(
        "{why}; set TMPDIR to a directory in which no other user can replace yours, such as /dev/shm"
    );
    io::Error::new(io::ErrorKind::PermissionDenied, reason)
}

/// Opens a directory that only this user can list; refuses links and everything else.
fn open_own(dir: &Path) -> io::Result<File> {
    let opened = open(dir, OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
    let found = fstat(&opened)?;
    if found.st_uid == rustix::process::geteuid().as_raw()
        && [0o700, PASSABLE].contains(&(found.st_mode & 0o777))
    {
        return Ok(opened.into());
    }
    Err(refused(&format!("{} is not what was made there", dir.display())))
}

/// In such a directory only owners may rename and remove entries.
const STICKY: u32 = 0o1000;

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn a_place_where_others_could_replace_it_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let made = |path: &Path| {
            PrivateDir::create_in(path, &mut |_| {}).map(drop).map_err(|error| error.to_string())
        };
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
                assert!(
                    error.contains("written to by others") && error.matches("TMPDIR").count() == 1,
                    "{error}"
                );
            }
        }
        mode(dir.path(), 0o700);
        if rustix::process::geteuid().is_root() {
            mode(&below, 0o1777);
            std::os::unix::fs::chown(&below, Some(12_345), None).unwrap();
            let error = made(&below).unwrap_err();
            assert!(error.contains("below belongs to user 12345"), "{error}");
            // A link is judged by its target.
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
        assert!(open_own(&target).is_ok());
        std::os::unix::fs::symlink(&target, &link).unwrap();
        assert!(open_own(&link).is_err(), "a link is not followed");
        fs::set_permissions(&target, Permissions::from_mode(0o750)).unwrap();
        assert!(open_own(&target).unwrap_err().to_string().contains("is not what was made"));
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
        assert!(ensure_private(Path::new("/dev/null")).unwrap_err().to_string().contains("not a directory"));
    }

    #[test]
    fn a_directory_that_another_user_could_replace_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let own = dir.path().join("own");
        let refused = || ensure_private(&own).unwrap_err().to_string();
        ensure_private(&own).unwrap();
        assert_eq!(own.metadata().unwrap().permissions().mode() & 0o777, 0o700);
        fs::set_permissions(dir.path(), Permissions::from_mode(0o777)).unwrap();
        assert!(refused().contains("another user could replace it"), "{}", refused());
        fs::set_permissions(dir.path(), Permissions::from_mode(0o700)).unwrap();
        // A link of this user's leads where it leads.
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&own, &link).unwrap();
        ensure_private(&link).unwrap();
        make_private(&link.join("a/b")).unwrap();
        assert!(own.join("a/b").is_dir());
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::lchown(&link, Some(12_345), None).unwrap();
            assert!(ensure_private(&link).unwrap_err().to_string().contains("is a link of user 12345"));
            make_private(&link.join("c")).unwrap_err();
            assert!(!own.join("c").exists());
            std::os::unix::fs::chown(dir.path(), Some(12_345), None).unwrap();
            assert!(refused().contains("belongs to user 12345"), "{}", refused());
        }
    }

    #[test]
    fn is_private_and_goes_away() {
        let mut announced = None;
        let dir =
            PrivateDir::announced(&mut |path| announced = Some((path.to_owned(), path.exists()))).unwrap();
        let path = dir.path().to_owned();
        assert_eq!(announced, Some((path.clone(), false)), "told before it was there");
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o700);
        assert!(is_private_name(path.file_name().unwrap().to_str().unwrap()));
        std::fs::write(path.join("x"), "y").unwrap();
        drop(dir);
        assert!(!path.exists());
    }

    #[test]
    fn only_what_a_killed_program_has_left_behind_is_swept() {
        let base = tempfile::tempdir().unwrap();
        let put = |name: &str, mode: u32, old: bool| {
            let path = base.path().join(name);
            DirBuilder::new().mode(mode).create(&path).unwrap();
            std::fs::write(path.join("socket"), "").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let age = if old { 2 * ABANDONED } else { Duration::ZERO };
            File::open(&path).unwrap().set_modified(SystemTime::now() - age).unwrap();
            path
        };
        let own = |end: &str| format!("ipcost-{}{end}", crate::host::tag());
        let left = put(&own("456789ab"), 0o700, true);
        let used = put(&own("456789ac"), 0o700, true);
        let lock = File::open(&used).unwrap();
        assert!(file_lock::lock(&lock).unwrap());
        let kept = [
            put(&own("456789ad"), 0o700, false),
            put(&own("456789ae"), 0o755, true),
            put("ipcost-results", 0o700, true),
            put(&own("456789abcd"), 0o700, true),
            // Of another machine, whose lock does not show on this file system; of an older program.
            put("ipcost-0123456701234567", 0o700, true),
            put("ipcost-0123456789ab", 0o700, true),
            used,
        ];
        let target = base.path().join("elsewhere");
        fs::create_dir(&target).unwrap();
        std::os::unix::fs::symlink(&target, base.path().join(own("456789af"))).unwrap();
        sweep(base.path());
        assert!(!left.exists());
        assert!(kept.iter().all(|path| path.join("socket").exists()));
        assert!(target.exists());
    }
}
