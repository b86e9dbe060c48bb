//! Connections over a path, for tests that play the other side of a peer.

use std::io::{self, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::Duration;

#[derive(Debug)]
pub struct LocalStream(UnixStream);

#[derive(Debug)]
pub struct LocalListener(UnixListener);

impl LocalStream {
    pub fn connect(path: &Path) -> io::Result<Self> {
        UnixStream::connect(path).map(Self)
    }

    /// Limits how long calls wait.
    pub fn set_patience(&self, patience: Duration) -> io::Result<()> {
        self.0.set_nonblocking(false)?;
        self.0.set_read_timeout(Some(patience))?;
        self.0.set_write_timeout(Some(patience))
    }
}

impl Read for LocalStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl Write for LocalStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl LocalListener {
    /// Listens on a path.
    pub fn bind(path: &Path) -> io::Result<Self> {
        let listener = UnixListener::bind(path)?;
        listener.set_nonblocking(true)?;
        Ok(Self(listener))
    }

    /// The next connection.
    ///
    /// # Errors
    /// `WouldBlock` if there is none yet; otherwise, if a system call fails.
    pub fn accept(&self) -> io::Result<LocalStream> {
        self.0.accept().map(|(stream, _)| LocalStream(stream))
    }
}
