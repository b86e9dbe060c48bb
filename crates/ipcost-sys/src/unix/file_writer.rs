//! The only place that writes files by their names.
//!
//! Another user may own the directory, or one above it, and change what lies there at any moment. So a directory is opened once, and all that
//! follows happens at that descriptor: a file is created there and nowhere else, its mode is set while it is open, and what was opened is
//! looked at afterwards.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, ErrorKind, Seek, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, Stat, fchmod, fcntl_getfl, fcntl_setfl, fstat, linkat, openat,
    readlinkat, renameat, statat, unlinkat,
};
use rustix::io::{Errno, FdFlags, fcntl_dupfd_cloexec, fcntl_getfd};
use rustix::process::geteuid;

pub use crate::private_name::UNFINISHED;
use crate::private_name::unfinished_name;
use crate::system::directory;
use crate::system::private_dir::has_access_list;

/// What a mode may hold: no file that this program writes is a program, setuid, setgid or sticky.
const READ_AND_WRITE: Mode = Mode::from_bits_retain(0o666);
/// A file for this user alone.
const PRIVATE: Mode = Mode::from_bits_retain(0o600);
/// How a file is created: never an existing one, nor through a link.
const CREATE: OFlags =
    OFlags::RDWR.union(OFlags::CREATE).union(OFlags::EXCL).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// How what exists is opened: no link is followed, no FIFO waited for, no terminal taken, and nothing is lost by opening it.
const EXISTING: OFlags =
    OFlags::NOFOLLOW.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);
/// How many links may lead to a descriptor.
const MOST_LINKS: u32 = 8;
/// Standard input, output and error; later ones may be this program's own.
const STANDARD: i32 = 2;

/// A file that has no name yet, or only a temporary one; dropping it removes it.
#[derive(Debug)]
pub struct NewFile {
    file: File,
    temporary: Temporary,
}

/// The temporary name of a file in a directory; dropping this removes it.
#[derive(Debug)]
struct Temporary {
    dir: OwnedFd,
    name: OsString,
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // Once the file has its name, this one is gone.
        let _ = unlinkat(&self.dir, &self.name, AtFlags::empty());
    }
}

impl NewFile {
    /// One in a directory, for this user alone.
    pub fn private_in(dir: &Path) -> io::Result<Self> {
        Self::create(directory::open(dir)?, unfinished_name().into(), PRIVATE)
    }

    /// One in a directory, for anyone who may read a new file of this user.
    pub fn public_in(dir: &Path) -> io::Result<Self> {
        Self::create(directory::open(dir)?, unfinished_name().into(), READ_AND_WRITE)
    }

    /// One in an open directory, with a mode that the umask may restrict.
    fn create(dir: OwnedFd, name: OsString, mode: Mode) -> io::Result<Self> {
        let file = openat(&dir, &name, CREATE, mode & READ_AND_WRITE)?.into();
        Ok(Self { file, temporary: Temporary { dir, name } })
    }

    pub fn file(&self) -> &File {
        &self.file
    }

    /// Gives it its name in the directory, in place of what has that; the open file.
    pub fn replace(self, name: &OsStr) -> io::Result<File> {
        renameat(&self.temporary.dir, &self.temporary.name, &self.temporary.dir, name)?;
        Ok(self.file)
    }

    /// Gives it its name in the directory, or returns it if something has that already.
    pub fn name(self, name: &OsStr) -> io::Result<Result<File, Self>> {
        let Temporary { dir, name: temporary } = &self.temporary;
        match linkat(dir, temporary, dir, name, AtFlags::empty()) {
            Err(Errno::EXIST) => return Ok(Err(self)),
            // A file system without links. Names are random, so another program gives no file this one.
            Err(Errno::PERM | Errno::OPNOTSUPP | Errno::NOSYS) => {
                if statat(dir, name, AtFlags::SYMLINK_NOFOLLOW).is_ok() {
                    return Ok(Err(self));
                }
                renameat(dir, temporary, dir, name)?;
            }
            linked => linked?,
        }
        Ok(Ok(self.file))
    }

    /// The directory's entries reach the disk, if that is possible.
    fn sync_dir(dir: &OwnedFd) {
        let opened = openat(dir, ".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
        let _ = opened.and_then(|opened| rustix::fs::fsync(&opened));
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Where the result of a command goes: a file that appears once it is whole, or an open descriptor, device or pipe.
#[derive(Debug)]
pub enum Output {
    /// A file, with its future name.
    File(NewFile, OsString),
    /// A device, a pipe, or a descriptor that this process was given.
    Stream(File),
}

impl Output {
    /// Opens an output by its name. A file of this user that is there gives its mode, without the right to run it; another user's
    /// at most that of a new file. A link is replaced, unless it leads to a descriptor of this process.
    ///
    /// # Errors
    /// If nothing may be written there, or a system call fails.
    pub fn open(path: &Path) -> io::Result<Self> {
        if let Some(number) = descriptor(path) {
            return duplicate(number).map(Self::Stream);
        }
        let (dir, name) = opened(path)?;
        let there = match statat(&dir, &name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => None,
            there => Some(there?),
        };
        let kind = there.as_ref().map(|there| FileType::from_raw_mode(there.st_mode));
        match kind {
            Some(FileType::Directory) => return Err(Errno::ISDIR.into()),
            None | Some(FileType::RegularFile | FileType::Symlink) => {}
            Some(_) => return open_stream(&dir, &name).map(Self::Stream),
        }
        // Without /proc, the path that was given says where it is.
        let within = directory::path_of(&dir).or_else(|_| dir_of(path).canonicalize())?;
        if is_of_the_system(&within) {
            return refuse("nothing in a directory of the system is created or replaced");
        }
        let old = there.filter(|_| kind == Some(FileType::RegularFile));
        let mode = old.map_or(READ_AND_WRITE, |old| Mode::from_raw_mode(old.st_mode) & READ_AND_WRITE);
        // Another user may have put a file of this one's there, from elsewhere or as a second name.
        let is_own_dir = directory::is_trusted_owner(fstat(&dir)?.st_uid)?;
        let is_own = |old: &Stat| is_own_dir && old.st_uid == geteuid().as_raw() && old.st_nlink == 1;
        let file = NewFile::create(dir, unfinished_name().into(), mode)?;
        if let Some(old) = old.filter(is_own) {
            keep_rights(&file.file, &old, mode, has_access_list(&within.join(&name)))?;
        }
        Ok(Self::File(file, name))
    }

    /// Keeps what is written from others, whatever the file that it replaces permitted; a stream stays as it was given.
    pub fn keep_private(&self) -> io::Result<()> {
        match self {
            Self::File(file, _) => Ok(fchmod(&file.file, PRIVATE)?),
            Self::Stream(_) => Ok(()),
        }
    }

    /// Completes it: a file gets its name.
    pub fn finish(self) -> io::Result<()> {
        match self {
            Self::File(file, name) => file.replace(&name).map(drop),
            Self::Stream(mut file) => {
                // A file that was opened for reading and writing keeps nothing behind what is new; to a log, others append, too.
                if file.metadata()?.is_file() && !fcntl_getfl(&file)?.contains(OFlags::APPEND) {
                    let end = file.stream_position()?;
                    file.set_len(end)?;
                }
                Ok(())
            }
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::File(file, _) => file.write(bytes),
            Self::Stream(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Gives a new file the group and the rights of the one that it replaces. Rights of a group that it cannot have, or of an access list, are
/// given to no other.
fn keep_rights(file: &File, old: &Stat, mode: Mode, has_list: bool) -> io::Result<()> {
    const OF_GROUP: Mode = Mode::from_bits_retain(0o060);
    let has_group = fstat(file)?.st_gid == old.st_gid
        || rustix::fs::fchown(file, None, Some(rustix::fs::Gid::from_raw(old.st_gid))).is_ok();
    let mode = if has_group && !has_list { mode } else { mode - OF_GROUP };
    Ok(fchmod(file, mode)?)
}

/// Writes a file of this user in one step: it holds all of it afterwards, or what was there before; if `durable`, also after a power
/// failure. Its temporary name is given, so that another run finds what was left of it; only one process may do so at a time.
pub(super) fn write_whole(path: &Path, temporary: &Path, text: &str, durable: bool) -> io::Result<()> {
    let (dir, name) = opened(path)?;
    let temporary = temporary.file_name().ok_or(ErrorKind::InvalidInput)?.to_owned();
    match unlinkat(&dir, &temporary, AtFlags::empty()) {
        Err(Errno::NOENT) => {}
        removed => removed?,
    }
    let mut file = NewFile::create(dir.try_clone()?, temporary, PRIVATE)?;
    file.write_all(text.as_bytes())?;
    if durable {
        file.file.sync_all()?;
    }
    file.replace(&name)?;
    if durable {
        NewFile::sync_dir(&dir);
    }
    Ok(())
}

/// Creates a file for this user alone, to append to; never opens an existing one.
pub fn create_private(path: &Path) -> io::Result<File> {
    let (dir, name) = opened(path)?;
    Ok(openat(&dir, &name, CREATE | OFlags::APPEND, PRIVATE)?.into())
}

/// Opens a file to append to, and creates it if it is missing. Follows no link.
///
/// # Errors
/// If it is not a regular file, or a system call fails.
pub fn open_to_append(path: &Path) -> io::Result<File> {
    let (dir, name) = opened(path)?;
    let flags = EXISTING | OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE;
    regular(openat(&dir, &name, flags, READ_AND_WRITE)?)
}

/// Opens a file of the kernel for writing, such as one of a control group or a setting in /proc/sys. Never creates one.
pub fn open_kernel_file(path: &Path) -> io::Result<File> {
    let (dir, name) = opened(path)?;
    Ok(openat(&dir, &name, OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?.into())
}

/// Writes a file of the kernel.
pub fn write_kernel_file(path: &Path, text: &str) -> io::Result<()> {
    // In one call: the kernel takes each as a whole value.
    open_kernel_file(path)?.write_all(text.as_bytes())
}

/// Opens a regular file that exists, to read it and rewrite it in its place: owner, mode and links stay. Follows no link, and takes no file with
/// a second name: that could be any file of the machine.
pub fn open_in_place(path: &Path) -> io::Result<File> {
    let (dir, name) = opened(path)?;
    let file = regular(openat(&dir, &name, EXISTING | OFlags::RDWR, Mode::empty())?)?;
    match fstat(&file)?.st_nlink {
        1 => Ok(file),
        _ => refuse("it has a second name (a hard link)"),
    }
}

/// The directory of a path, opened, and the name in it.
pub(super) fn opened(path: &Path) -> io::Result<(OwnedFd, OsString)> {
    let Some(name) = path.file_name().filter(|_| !path.as_os_str().as_bytes().ends_with(b"/")) else {
        return Err(Errno::ISDIR.into());
    };
    Ok((directory::open(&dir_of(path))?, name.to_owned()))
}

fn dir_of(path: &Path) -> PathBuf {
    path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new(".")).to_owned()
}

fn regular(file: OwnedFd) -> io::Result<File> {
    match FileType::from_raw_mode(fstat(&file)?.st_mode) {
        FileType::RegularFile => Ok(file.into()),
        _ => refuse("it is not a regular file"),
    }
}

fn refuse<T>(why: &str) -> io::Result<T> {
    Err(io::Error::new(ErrorKind::PermissionDenied, why))
}

/// Opens a device or a pipe; another kind of file that has taken its place meanwhile stays as it was.
fn open_stream(dir: &OwnedFd, name: &OsStr) -> io::Result<File> {
    let file = openat(dir, name, EXISTING | OFlags::WRONLY, Mode::empty()).map_err(|error| match error {
        Errno::NXIO => io::Error::new(ErrorKind::NotConnected, "no process reads it; start the reader first"),
        error => error.into(),
    })?;
    let found = fstat(&file)?;
    match FileType::from_raw_mode(found.st_mode) {
        FileType::RegularFile | FileType::Directory => refuse("something else took its place"),
        FileType::Fifo if !directory::is_trusted_owner(found.st_uid)? => refuse(&format!(
            "it is a pipe of user {}, who may never read it; pipe standard output there instead",
            found.st_uid
        )),
        _ => {
            // From here on it waits for its reader, as any writer does.
            fcntl_setfl(&file, fcntl_getfl(&file)? - OFlags::NONBLOCK)?;
            Ok(file.into())
        }
    }
}

/// Whether a directory is one of the kernel's, whose entries stand for open files and devices.
fn is_of_the_system(dir: &Path) -> bool {
    ["/dev", "/proc", "/sys"].iter().any(|own| dir.starts_with(own) && !dir.starts_with("/dev/shm"))
}

/// The number of the descriptor that a path stands for, such as `/dev/stdout` or `/proc/self/fd/3`, also by links of this user or root.
pub fn descriptor(path: &Path) -> Option<i32> {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        // What is wrong with a path is told where it is opened.
        let (dir, name) = opened(&path).ok()?;
        let within = directory::path_of(&dir).ok()?;
        let number = name.to_str().and_then(|name| name.parse().ok());
        if number.is_some() && directory::lists_own_descriptors(&within) {
            return number;
        }
        let found = statat(&dir, &name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        if !is_link(&found) || !directory::is_trusted_owner(found.st_uid).ok()? {
            return None;
        }
        let link = readlinkat(&dir, &name, Vec::new()).ok()?;
        path = within.join(OsStr::from_bytes(link.as_bytes()));
    }
    None
}

fn is_link(found: &Stat) -> bool {
    FileType::from_raw_mode(found.st_mode) == FileType::Symlink
}

/// A second descriptor of what this process was given: no file is opened, so that its position and its mode are those that it has.
fn duplicate(number: i32) -> io::Result<File> {
    if number < 0 {
        return Err(Errno::BADF.into());
    }
    // SAFETY: the descriptor is used by two calls that report one that is not open, and is not kept.
    let given = unsafe { BorrowedFd::borrow_raw(number) };
    let flags = fcntl_getfd(given)?;
    // Every descriptor that this program opens is closed on exec; those that it was given are not.
    if number > STANDARD && flags.contains(FdFlags::CLOEXEC) {
        return Err(Errno::BADF.into());
    }
    Ok(fcntl_dupfd_cloexec(given.as_fd(), STANDARD + 1)?.into())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::os::unix::net::UnixListener;
    use std::process::Command;

    use rustix::fs::{CWD, mknodat};
    use tempfile::{TempDir, tempdir};

    use ipcost_testing::missing;

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
    }

    /// Writes an output, and what is there then.
    fn written(path: &Path) -> io::Result<String> {
        let mut output = Output::open(path)?;
        output.write_all(b"new")?;
        output.finish()?;
        fs::read_to_string(path)
    }

    fn with(content: &str, mode: u32) -> (TempDir, PathBuf) {
        let dir = tempdir().unwrap();
        let path = dir.path().join("o");
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        (dir, path)
    }

    #[test]
    fn a_file_of_this_user_keeps_who_may_read_and_write_it_and_no_other_right() {
        for (old, new) in [(0o600, 0o600), (0o664, 0o664), (0o4755, 0o644), (0o2666, 0o666), (0o1777, 0o666)]
        {
            let (dir, path) = with("old", old);
            assert_eq!(written(&path).unwrap(), "new");
            assert_eq!(mode(&path), new, "{old:o}");
            assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "nothing else is left");
        }
    }

    #[test]
    fn what_is_given_up_leaves_what_was_there() {
        let (dir, path) = with("old", 0o644);
        let mut output = Output::open(&path).unwrap();
        output.write_all(b"half").unwrap();
        drop(output);
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_link_is_replaced_and_what_it_leads_to_stays() {
        let (dir, path) = with("old", 0o644);
        let link = dir.path().join("link");
        symlink(&path, &link).unwrap();
        assert_eq!(written(&link).unwrap(), "new");
        assert!(fs::symlink_metadata(&link).unwrap().is_file());
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        for opened in [open_to_append, open_in_place, open_kernel_file, create_private] {
            symlink(&path, dir.path().join("other")).unwrap();
            opened(&dir.path().join("other")).unwrap_err();
            fs::remove_file(dir.path().join("other")).unwrap();
        }
    }

    #[test]
    fn nothing_is_waited_for_that_does_not_come() {
        let dir = tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        mknodat(CWD, at("fifo"), FileType::Fifo, PRIVATE, 0).unwrap();
        let error = Output::open(&at("fifo")).unwrap_err().to_string();
        assert!(error.contains("start the reader first"), "{error}");
        let reader = rustix::fs::open(at("fifo"), OFlags::RDONLY | OFlags::NONBLOCK, Mode::empty()).unwrap();
        let mut output = Output::open(&at("fifo")).unwrap();
        output.write_all(b"new").unwrap();
        output.finish().unwrap();
        let mut got = [0; 8];
        assert_eq!(rustix::io::read(&reader, &mut got).unwrap(), 3);
        let _listener = UnixListener::bind(at("socket")).unwrap();
        Output::open(&at("socket")).unwrap_err();
        assert_eq!(Output::open(dir.path()).unwrap_err().kind(), ErrorKind::IsADirectory);
        assert_eq!(Output::open(&at("none/o")).unwrap_err().kind(), ErrorKind::NotFound);
        open_to_append(&at("fifo")).unwrap_err();
        open_in_place(&at("fifo")).unwrap_err();
    }

    #[test]
    fn nothing_of_the_system_is_created_or_replaced() {
        assert!(matches!(Output::open(Path::new("/dev/null")).unwrap(), Output::Stream(_)));
        for path in
            ["/dev/ipcost-none", "/dev/fd", "/proc/self/exe", "/proc/self/status", "/dev/../proc/version"]
        {
            assert_eq!(
                Output::open(Path::new(path)).unwrap_err().kind(),
                ErrorKind::PermissionDenied,
                "{path}"
            );
        }
    }

    #[test]
    fn a_descriptor_is_one_that_this_process_was_given() {
        let (dir, path) = with("old and longer", 0o600);
        let own = File::options().read(true).write(true).open(&path).unwrap();
        let number = std::os::fd::AsRawFd::as_raw_fd(&own);
        let name = PathBuf::from(format!("/proc/self/fd/{number}"));
        // It is closed on exec: this process opened it for itself.
        Output::open(&name).unwrap_err();
        rustix::io::fcntl_setfd(&own, FdFlags::empty()).unwrap();
        let link = dir.path().join("link");
        symlink(&name, &link).unwrap();
        for name in [&name, &link, &PathBuf::from(format!("/dev/fd/{number}"))] {
            rustix::fs::seek(&own, rustix::fs::SeekFrom::Start(0)).unwrap();
            assert_eq!(written(name).unwrap(), "new", "{name:?}");
        }
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink(), "it stays one");
        assert_eq!(mode(&path), 0o600);
        assert_eq!(Output::open(Path::new("/dev/fd/4095")).unwrap_err().raw_os_error(), Some(libc::EBADF));
    }

    #[test]
    fn a_file_with_a_second_name_is_not_written_in_place() {
        let (dir, path) = with("old", 0o644);
        assert!(open_in_place(&path).is_ok());
        fs::hard_link(&path, dir.path().join("second")).unwrap();
        assert!(open_in_place(&path).unwrap_err().to_string().contains("hard link"));
    }

    #[test]
    fn a_taken_name_is_not_taken_again() {
        let dir = tempdir().unwrap();
        let mut file = NewFile::private_in(dir.path()).unwrap();
        file.write_all(b"new").unwrap();
        fs::write(dir.path().join("a"), "old").unwrap();
        let file = file.name("a".as_ref()).unwrap().unwrap_err();
        file.name("b".as_ref()).unwrap().unwrap();
        let content = |name: &str| fs::read_to_string(dir.path().join(name)).unwrap();
        assert_eq!(
            (content("a"), content("b"), mode(&dir.path().join("b"))),
            ("old".into(), "new".into(), 0o600)
        );
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_log_keeps_what_others_append() {
        let (_dir, path) = with("old\n", 0o600);
        let own = File::options().append(true).open(&path).unwrap();
        rustix::io::fcntl_setfd(&own, FdFlags::empty()).unwrap();
        let mut output =
            Output::open(format!("/dev/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&own)).as_ref()).unwrap();
        output.write_all(b"new\n").unwrap();
        File::options().append(true).open(&path).unwrap().write_all(b"other\n").unwrap();
        output.finish().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "old\nnew\nother\n");
    }

    #[test]
    fn another_group_gets_no_rights_that_it_did_not_have() {
        if !geteuid().is_root() {
            return missing("root", "only root can give a file away");
        }
        let (_dir, path) = with("old", 0o660);
        std::os::unix::fs::chown(&path, None, Some(54_322)).unwrap();
        written(&path).unwrap();
        let found = fs::metadata(&path).unwrap();
        assert_eq!((std::os::unix::fs::MetadataExt::gid(&found), mode(&path)), (54_322, 0o660));
    }

    /// The umask belongs to the whole process, so another one tries it.
    #[test]
    fn a_new_file_has_the_mode_of_any_new_file() {
        let own = "unix::file_writer::tests::a_new_file_has_the_mode_of_any_new_file";
        if let Some(dir) = std::env::var_os("IPCOST_TEST_UMASK") {
            written(&Path::new(&dir).join("o")).unwrap();
            return;
        }
        for (umask, expected) in [("022", 0o644), ("077", 0o600), ("002", 0o664)] {
            let dir = tempdir().unwrap();
            let script = format!("umask {umask} && exec \"$0\" --exact {own}");
            let mut again = Command::new("sh");
            again.args(["-c", &script]).arg(std::env::current_exe().unwrap());
            let done = again.env("IPCOST_TEST_UMASK", dir.path()).output().unwrap();
            assert!(done.status.success(), "{done:?}");
            assert_eq!(mode(&dir.path().join("o")), expected, "{umask}");
        }
    }
}
