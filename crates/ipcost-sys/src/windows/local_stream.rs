//! Connections over a path, for tests that play the other side of a peer.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::time::Duration;

use super::socket::{
    AddressFamily, UnixAddress, accept, bind, connect_patiently, has_visitor, listen, stream_socket,
};

/// A connection. The standard library only knows TCP sockets, but reads and writes any that it is given.
#[derive(Debug)]
pub struct LocalStream(TcpStream);

#[derive(Debug)]
pub struct LocalListener(TcpListener);

impl LocalStream {
    pub fn connect(path: &Path) -> io::Result<Self> {
        let socket = stream_socket(AddressFamily::UNIX)?;
        connect_patiently(&socket, &UnixAddress::new(&path.to_string_lossy())?, &mut 0)?;
        Ok(Self(socket.into()))
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
        const BACKLOG: i32 = 16;
        let socket = stream_socket(AddressFamily::UNIX)?;
        bind(&socket, &UnixAddress::new(&path.to_string_lossy())?)?;
        listen(&socket, BACKLOG)?;
        Ok(Self(socket.into()))
    }

    /// The next connection.
    ///
    /// # Errors
    /// `WouldBlock` if there is none yet; otherwise, if a system call fails.
    pub fn accept(&self) -> io::Result<LocalStream> {
        let socket = self.0.try_clone()?.into();
        if !has_visitor(&socket)? {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        Ok(LocalStream(accept(&socket)?.into()))
    }
}
