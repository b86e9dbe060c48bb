//! The ends of TCP connections, as the kernel sees them (`sock_diag(7)`), and where they belong.

use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use rustix::net::sockopt::tcp_nodelay;

use super::running::open_in;
use super::sockets::Sockets;
pub use crate::contract::TcpEnd;

/// A view of the TCP connections of a network.
#[derive(Debug)]
pub struct TcpEnds(Sockets);

impl TcpEnds {
    /// Opens it for this program's network.
    pub fn open() -> io::Result<Self> {
        Sockets::open().map(Self)
    }

    /// Opens it for the network that a process is in.
    ///
    /// # Errors
    /// If this user may not enter it, or the kernel has no `inet_diag`.
    pub fn open_at(process: u32) -> io::Result<Self> {
        Sockets::open_at(process, 0).map(Self)
    }

    /// Every end of an open connection, over IPv4 and IPv6.
    pub fn all(&mut self) -> io::Result<Vec<TcpEnd>> {
        self.0.ends()
    }

    /// Those ends of these, each by its own and the other's address, that are open. The kernel finds each at once, while it looks through
    /// a large table for all.
    pub fn of(
        &mut self,
        ends: impl IntoIterator<Item = (SocketAddr, SocketAddr)>,
    ) -> io::Result<Vec<TcpEnd>> {
        let mut found = Vec::new();
        for (local, remote) in ends {
            // In place of one that is gone, the kernel shows who listens there.
            let is_it = |end: &TcpEnd| (end.local, end.remote) == (local, remote);
            found.extend(self.0.end(local, remote)?.filter(is_it));
        }
        Ok(found)
    }

    /// The socket that listens at an address, or at every one of its port.
    pub fn listener(&mut self, at: SocketAddr) -> io::Result<Option<TcpEnd>> {
        let unspecified: IpAddr =
            if at.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
        self.0.end(at, SocketAddr::new(unspecified, 0))
    }
}

/// The sockets that a process has open, each with its descriptor; none if this user may not look.
pub fn sockets_of(process: u32) -> Vec<(u32, i32)> {
    let entries = fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten().flatten();
    let socket = |entry: fs::DirEntry| {
        let to = fs::read_link(entry.path()).ok()?;
        let inode = to.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()?;
        Some((inode, entry.file_name().to_str()?.parse().ok()?))
    };
    entries.filter_map(socket).collect()
}

/// A process that has a socket open, and its descriptor; `None` if none is seen.
pub fn owner_of(inode: u32) -> Option<(u32, i32)> {
    let entries = fs::read_dir("/proc").ok()?.flatten();
    let mut processes = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    processes.find_map(|process| {
        let (_, descriptor) = sockets_of(process).into_iter().find(|(known, _)| *known == inode)?;
        Some((process, descriptor))
    })
}

/// Whether a socket of another process has `TCP_NODELAY` set (`pidfd_getfd(2)`); `None` if this user may not ask.
pub fn nodelay_of(process: u32, descriptor: i32) -> Option<bool> {
    tcp_nodelay(open_in(process, descriptor)?).ok()
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsRawFd;

    use super::*;
    use ipcost_testing::opened;

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (client, listener.accept().unwrap().0)
    }

    fn seen(ends: &mut TcpEnds, socket: &TcpStream) -> TcpEnd {
        let at = (socket.local_addr().unwrap(), socket.peer_addr().unwrap());
        ends.all().unwrap().into_iter().find(|end| (end.local, end.remote) == at).unwrap()
    }

    #[test]
    fn what_nagle_holds_back_is_seen_until_it_is_acknowledged() {
        let Some(mut ends) = opened("socket-diagnosis", TcpEnds::open()) else { return };
        let (mut client, mut server) = pair();
        // Past the first acknowledgements, which come at once.
        for _ in 0..20 {
            client.write_all(b"request").unwrap();
            server.read_exact(&mut [0; 7]).unwrap();
            server.write_all(b"reply").unwrap();
            client.read_exact(&mut [0; 5]).unwrap();
        }
        client.write_all(b"header").unwrap();
        client.write_all(b"body").unwrap();
        let held = seen(&mut ends, &client);
        // A machine that stands still for 40 ms sees it acknowledged.
        if held.unacknowledged > 0 {
            assert_eq!((held.unsent_bytes, held.is_held_back()), (4, true), "{held:?}");
        }
        let at = (held.local, held.remote);
        let one = ends.of([at, (held.remote, held.local)]).unwrap();
        assert_eq!(one.iter().map(|end| end.inode).take(1).collect::<Vec<_>>(), [held.inode]);
        assert_eq!(one.len(), 2, "{one:?}");
        let gone = SocketAddr::from((Ipv4Addr::LOCALHOST, 9));
        assert_eq!(ends.of([(gone, gone), (held.remote, gone)]).unwrap(), []);
        server.read_exact(&mut [0; 10]).unwrap();
        assert!(!seen(&mut ends, &client).is_held_back());
        let (process, inode) = (std::process::id(), held.inode);
        assert!(sockets_of(process).contains(&(inode, client.as_raw_fd())));
        assert_eq!(owner_of(inode), Some((process, client.as_raw_fd())));
    }

    #[test]
    fn a_listener_has_a_user() {
        let Some(mut ends) = opened("socket-diagnosis", TcpEnds::open()) else { return };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let at = listener.local_addr().unwrap();
        let found = ends.listener(at).unwrap().unwrap();
        assert_eq!((found.local, found.user), (at, rustix::process::getuid().as_raw()));
        drop(listener);
        assert_eq!(ends.listener(at).unwrap(), None);
    }

    #[test]
    fn the_option_of_another_process_is_read_where_that_is_permitted() {
        let (client, _server) = pair();
        // Its own process may always ask; a sandbox may refuse the call.
        if let Some(nodelay) = nodelay_of(std::process::id(), client.as_raw_fd()) {
            assert!(!nodelay);
            client.set_nodelay(true).unwrap();
            assert_eq!(nodelay_of(std::process::id(), client.as_raw_fd()), Some(true));
        }
        assert_eq!((nodelay_of(0, 0), nodelay_of(u32::MAX, 0)), (None, None));
    }
}
