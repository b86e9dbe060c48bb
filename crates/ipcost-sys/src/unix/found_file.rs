//! Opening files that were found in a directory, where anything may lie.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use rustix::fs::{Mode, OFlags};

/// Opens a regular file for reading, links followed. A FIFO would wait for its other end, and opening a device may have effects: neither
/// is opened, not even one that takes a file's place meanwhile, whose open is then ended at once.
///
/// # Errors
/// That it is another kind of file, or cannot be read.
pub fn open(path: &Path) -> io::Result<File> {
    let regular = |about: fs::Metadata| match about.is_file() {
        true => Ok(()),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file")),
    };
    regular(fs::metadata(path)?)?;
    // Without waiting, https://man7.org/linux/man-pages/man2/open.2.html; it changes nothing for a regular file.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    regular(file.metadata()?)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use rustix::fs::{CWD, FileType, mknodat};

    use super::*;

    #[test]
    fn only_regular_files_are_opened() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::write(at("file"), "content").unwrap();
        symlink(at("file"), at("link")).unwrap();
        for name in ["file", "link"] {
            let mut content = String::new();
            open(&at(name)).unwrap().read_to_string(&mut content).unwrap();
            assert_eq!(content, "content", "{name}");
        }
        // Opening it as usual would never return.
        mknodat(CWD, at("fifo"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        symlink(at("fifo"), at("link to fifo")).unwrap();
        symlink("/dev/zero", at("device")).unwrap();
        let _listener = UnixListener::bind(at("socket")).unwrap();
        for name in ["fifo", "link to fifo", "device", "socket", "."] {
            assert_eq!(open(&at(name)).unwrap_err().to_string(), "it is not a regular file", "{name}");
        }
        assert_eq!(open(&at("missing")).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
