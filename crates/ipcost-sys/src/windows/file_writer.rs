//! The only place that writes files by their names. Windows' rights of the directory decide who may read and write them: modes, links of
//! other users and FIFOs have no counterpart here.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

pub use crate::private_name::UNFINISHED;

/// A file that has only a temporary name; dropping it removes it.
#[derive(Debug)]
pub struct NewFile {
    file: NamedTempFile,
    dir: PathBuf,
}

impl NewFile {
    /// One in a directory.
    pub fn private_in(dir: &Path) -> io::Result<Self> {
        let file = tempfile::Builder::new().prefix(UNFINISHED).make_in(dir, |path| File::create_new(path));
        Ok(Self { file: file?, dir: dir.to_owned() })
    }

    /// The same: its directory decides who may read it.
    pub fn public_in(dir: &Path) -> io::Result<Self> {
        Self::private_in(dir)
    }

    pub fn file(&self) -> &File {
        self.file.as_file()
    }

    /// Gives it its name in the directory, in place of what has that; the open file.
    pub fn replace(self, name: &OsStr) -> io::Result<File> {
        let path = self.dir.join(name);
        self.file.persist(path).map_err(|error| error.error)
    }

    /// Gives it its name in the directory, or returns it if something has that already.
    pub fn name(self, name: &OsStr) -> io::Result<Result<File, Self>> {
        let Self { file, dir } = self;
        match file.persist_noclobber(dir.join(name)) {
            Ok(file) => Ok(Ok(file)),
            Err(taken) if taken.error.kind() == io::ErrorKind::AlreadyExists => {
                Ok(Err(Self { file: taken.file, dir }))
            }
            Err(failed) => Err(failed.error),
        }
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

/// The number of the descriptor that a path stands for: none does.
pub fn descriptor(_path: &Path) -> Option<i32> {
    None
}

/// Where the result of a command goes: a file that appears once it is whole, or a device or pipe.
#[derive(Debug)]
pub enum Output {
    /// A file, with its future name.
    File(NewFile, OsString),
    /// A device or a pipe.
    Stream(File),
}

impl Output {
    /// Opens an output by its name.
    pub fn open(path: &Path) -> io::Result<Self> {
        let there = fs::symlink_metadata(path).ok();
        if there.is_some_and(|there| !there.is_file() && !there.is_symlink()) {
            return File::options().write(true).open(path).map(Self::Stream);
        }
        let name = path.file_name().ok_or(io::ErrorKind::IsADirectory)?.to_owned();
        let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Ok(Self::File(NewFile::private_in(dir)?, name))
    }

    /// Nothing: a directory's permissions hold for what is in it.
    pub fn keep_private(&self) -> io::Result<()> {
        Ok(())
    }

    /// Completes it: a file gets its name.
    pub fn finish(self) -> io::Result<()> {
        match self {
            Self::File(file, name) => file.replace(&name).map(drop),
            Self::Stream(_) => Ok(()),
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

/// Writes a file in one step; Windows writes its directory when it sees fit.
pub(super) fn write_whole(path: &Path, temporary: &Path, text: &str, durable: bool) -> io::Result<()> {
    let mut file = File::create(temporary)?;
    file.write_all(text.as_bytes())?;
    if durable {
        file.sync_all()?;
    }
    drop(file);
    fs::rename(temporary, path)
}

/// Creates a file to append to, never opens an existing one; its directory decides who may read it.
pub fn create_private(path: &Path) -> io::Result<File> {
    File::options().append(true).create_new(true).open(path)
}

/// Opens a file to append to, and creates it if it is missing.
pub fn open_to_append(path: &Path) -> io::Result<File> {
    File::options().append(true).create(true).open(path)
}

/// Opens a file of the kernel for writing.
pub fn open_kernel_file(_path: &Path) -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Writes a file of the kernel.
pub fn write_kernel_file(path: &Path, _text: &str) -> io::Result<()> {
    open_kernel_file(path).map(drop)
}

/// Opens a regular file that exists, to read it and rewrite it in its place.
pub fn open_in_place(path: &Path) -> io::Result<File> {
    File::options().read(true).write(true).open(path)
}
