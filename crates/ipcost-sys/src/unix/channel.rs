//! Channels over descriptors.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::net::sockopt;

use crate::transport::Channel;

/// One descriptor for both directions: a connected socket.
#[derive(Debug)]
pub struct SocketChannel(pub OwnedFd);

impl Channel for SocketChannel {
    #[inline]
    fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        write(&self.0, bytes)
    }

    #[inline]
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        read(&self.0, buffer)
    }

    fn push(&mut self) -> io::Result<()> {
        push(&self.0)
    }
}

/// One descriptor for each direction: the two ends of two pipes.
#[derive(Debug)]
pub struct PipePair {
    /// The end to read from.
    pub read: OwnedFd,
    /// The end to write to.
    pub write: OwnedFd,
}

impl Channel for PipePair {
    #[inline]
    fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        write(&self.write, bytes)
    }

    #[inline]
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        read(&self.read, buffer)
    }
}

/// Has TCP send what Nagle's algorithm holds back, which it does when `TCP_NODELAY` is set (`tcp(7)`); other sockets hold nothing back.
pub(crate) fn push(socket: impl AsFd) -> io::Result<()> {
    if let Ok(false) = sockopt::tcp_nodelay(socket.as_fd()) {
        sockopt::set_tcp_nodelay(socket.as_fd(), true)?;
        sockopt::set_tcp_nodelay(socket.as_fd(), false)?;
    }
    Ok(())
}

/// `write(2)`, repeated when a signal interrupts it.
#[inline]
pub(crate) fn write(descriptor: impl AsFd, bytes: &[u8]) -> io::Result<usize> {
    loop {
        match rustix::io::write(descriptor.as_fd(), bytes) {
            Err(rustix::io::Errno::INTR) => {}
            result => return Ok(result?),
        }
    }
}

/// `read(2)`, repeated when a signal interrupts it.
#[inline]
pub(crate) fn read(descriptor: impl AsFd, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match rustix::io::read(descriptor.as_fd(), &mut *buffer) {
            Err(rustix::io::Errno::INTR) => {}
            result => return Ok(result?),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{Ipv4Addr, TcpListener, TcpStream};
    use std::os::unix::net::UnixStream;
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn what_tcp_holds_back_is_pushed_and_its_option_stays_as_it_was() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut server = listener.accept().unwrap().0;
        let (mut held, mut pushed) = (Duration::MAX, Duration::MAX);
        // The least of some: a machine that stands still is no wait. The first acknowledgements come at once.
        for round in 0..40 {
            let push_it = round % 2 == 1;
            let began = Instant::now();
            for _ in 0..2 {
                client.write_all(b"little").unwrap();
            }
            if push_it {
                push(&client).unwrap();
            }
            server.read_exact(&mut [0; 12]).unwrap();
            let least = if push_it { &mut pushed } else { &mut held };
            *least = if round < 20 { *least } else { began.elapsed().min(*least) };
            server.write_all(b"r").unwrap();
            client.read_exact(&mut [0]).unwrap();
            assert!(!client.nodelay().unwrap());
        }
        assert!(pushed < Duration::from_millis(20), "{pushed:?}, not pushed {held:?}");
        client.set_nodelay(true).unwrap();
        push(&client).unwrap();
        assert!(client.nodelay().unwrap(), "whoever set it keeps it");
        push(UnixStream::pair().unwrap().0).unwrap();
    }
}
