//! The ends of TCP connections, as the kernel sees them (`sock_diag(7)`), and where they belong.

use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::net::sockopt::{Timeout, set_socket_timeout, tcp_nodelay};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with,
};
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

pub use crate::contract::TcpEnd;

/// Length of `struct nlmsghdr`, bytes.
const MESSAGE_HEADER: usize = 16;
/// Length of `struct inet_diag_req_v2` and of `struct inet_diag_msg` (`linux/inet_diag.h`), bytes.
const REQUEST: usize = 56;
const ANSWER: usize = 72;
/// Length of `struct rtattr`, bytes.
const ATTRIBUTE_HEADER: usize = 4;
/// `SOCK_DIAG_BY_FAMILY`, `INET_DIAG_INFO`.
const BY_FAMILY: u16 = 20;
const INFO: u16 = 2;
/// Established, and ends of which one side still sends: `TCP_FIN_WAIT1`, `TCP_CLOSE_WAIT`, `TCP_LAST_ACK`, `TCP_CLOSING`.
const STATES: u32 = 1 << 1 | 1 << 4 | 1 << 8 | 1 << 9 | 1 << 11;
/// Places in `struct tcp_info` (`linux/tcp.h`), bytes.
const SEGMENT_BYTES: usize = 16;
const UNACKNOWLEDGED: usize = 24;
const WINDOW: usize = 80;
const ACKNOWLEDGED_BYTES: usize = 120;
const UNSENT_BYTES: usize = 144;
/// An answer holds some hundred ends.
const BUFFER_BYTES: usize = 64 * 1024;
/// How long the kernel may take to answer.
const PATIENCE: Duration = Duration::from_millis(200);

/// A view of the TCP connections of this program's network.
#[derive(Debug)]
pub struct TcpEnds {
    socket: OwnedFd,
    buffer: Vec<u8>,
}

impl TcpEnds {
    /// Opens it.
    ///
    /// # Errors
    /// If the kernel has no `inet_diag`.
    pub fn open() -> io::Result<Self> {
        let socket = socket_with(
            AddressFamily::NETLINK,
            SocketType::DGRAM,
            SocketFlags::CLOEXEC,
            Some(netlink::SOCK_DIAG),
        )?;
        set_socket_timeout(&socket, Timeout::Recv, Some(PATIENCE))?;
        Ok(Self { socket, buffer: vec![0; BUFFER_BYTES] })
    }

    /// Every end of an open connection, over IPv4 and IPv6.
    ///
    /// # Errors
    /// If the kernel refuses, or does not answer.
    pub fn all(&mut self) -> io::Result<Vec<TcpEnd>> {
        let mut found = Vec::new();
        for family in [libc::AF_INET, libc::AF_INET6] {
            send(&self.socket, &request(family as u8), SendFlags::empty())?;
            while !self.receive(&mut found)? {}
        }
        Ok(found)
    }

    /// Those ends of these, each by its own and the other's address, that are open. The kernel finds each at once, while it looks through
    /// a large table for all.
    ///
    /// # Errors
    /// If the kernel refuses, or does not answer.
    pub fn of(
        &mut self,
        ends: impl IntoIterator<Item = (SocketAddr, SocketAddr)>,
    ) -> io::Result<Vec<TcpEnd>> {
        let mut found = Vec::new();
        for (local, remote) in ends {
            let known = found.len();
            send(&self.socket, &request_one(local, remote), SendFlags::empty())?;
            match self.receive(&mut found) {
                Err(error) if error.raw_os_error() != Some(libc::ENOENT) => return Err(error),
                _ => {}
            }
            // In place of one that is gone, the kernel shows who listens there.
            let is_it = |end: &TcpEnd| (end.local, end.remote) == (local, remote);
            found.truncate(if found.last().is_some_and(is_it) { known + 1 } else { known });
        }
        Ok(found)
    }

    /// The socket that listens at an address, or at every one of its port.
    ///
    /// # Errors
    /// If the kernel refuses, or does not answer.
    pub fn listener(&mut self, at: SocketAddr) -> io::Result<Option<TcpEnd>> {
        let unspecified: IpAddr =
            if at.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
        let mut found = Vec::new();
        send(&self.socket, &request_one(at, SocketAddr::new(unspecified, 0)), SendFlags::empty())?;
        match self.receive(&mut found) {
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(None),
            Err(error) => Err(error),
            Ok(_) => Ok(found.pop()),
        }
    }

    /// Takes an answer apart; whether it was the last one of a dump.
    fn receive(&mut self, found: &mut Vec<TcpEnd>) -> io::Result<bool> {
        let (length, _) = recv(&self.socket, &mut self.buffer, RecvFlags::empty())?;
        parse(self.buffer.get(..length).unwrap_or_default(), found)
    }
}

/// A dump of all ends of a family.
fn request(family: u8) -> Vec<u8> {
    let mut message = header(libc::NLM_F_DUMP, family);
    message.resize(MESSAGE_HEADER + REQUEST, 0);
    message
}

/// One end: `struct inet_diag_sockid` with no interface and no cookie.
fn request_one(local: SocketAddr, remote: SocketAddr) -> Vec<u8> {
    let family = if local.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
    let mut message = header(0, family as u8);
    message.extend(local.port().to_be_bytes());
    message.extend(remote.port().to_be_bytes());
    for address in [local.ip(), remote.ip()] {
        let mut bytes = [0; 16];
        match address {
            IpAddr::V4(four) => bytes[..4].copy_from_slice(&four.octets()),
            IpAddr::V6(all) => bytes = all.octets(),
        }
        message.extend(bytes);
    }
    message.extend([0; 4]);
    message.extend([0xff; 8]);
    message
}

/// A request up to the address of what is asked for.
fn header(flags: libc::c_int, family: u8) -> Vec<u8> {
    let mut message = Vec::with_capacity(MESSAGE_HEADER + REQUEST);
    message.extend(((MESSAGE_HEADER + REQUEST) as u32).to_ne_bytes());
    message.extend(BY_FAMILY.to_ne_bytes());
    message.extend(((libc::NLM_F_REQUEST | flags) as u16).to_ne_bytes());
    // sequence number, sender
    message.extend([0; 8]);
    message.extend([family, libc::IPPROTO_TCP as u8, 1 << (INFO - 1), 0]);
    message.extend(STATES.to_ne_bytes());
    message
}

fn short(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn long(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// Takes a datagram of messages apart, each padded to four bytes; whether it was the last one.
fn parse(mut bytes: &[u8], found: &mut Vec<TcpEnd>) -> io::Result<bool> {
    while let (Some(length), Some(kind)) = (long(bytes, 0), short(bytes, 4)) {
        let length = (length as usize).max(MESSAGE_HEADER);
        let Some(content) = bytes.get(MESSAGE_HEADER..length) else { break };
        match i32::from(kind) {
            libc::NLMSG_DONE => return Ok(true),
            libc::NLMSG_ERROR => {
                let error = content.get(..4).and_then(|number| number.try_into().ok());
                let number = error.map_or(libc::EPROTO, |number| i32::from_ne_bytes(number).saturating_neg());
                return Err(io::Error::from_raw_os_error(number));
            }
            _ => found.extend(end(content)),
        }
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(false)
}

/// `struct inet_diag_msg`, then attributes, each padded to four bytes.
fn end(message: &[u8]) -> Option<TcpEnd> {
    let family = i32::from(*message.first()?);
    let port = |at: usize| Some(u16::from_be_bytes(message.get(at..at + 2)?.try_into().ok()?));
    let address = |at: usize| -> Option<IpAddr> {
        if family == libc::AF_INET {
            let four: [u8; 4] = message.get(at..at + 4)?.try_into().ok()?;
            return Some(Ipv4Addr::from(four).into());
        }
        let all: [u8; 16] = message.get(at..at + 16)?.try_into().ok()?;
        // An end of a socket for both protocols has the other's address in it.
        Some(Ipv6Addr::from(all).to_canonical())
    };
    let (local, remote) = (SocketAddr::new(address(8)?, port(4)?), SocketAddr::new(address(24)?, port(6)?));
    let (user, inode) = (long(message, ANSWER - 8)?, long(message, ANSWER - 4)?);
    let mut rest = message.get(ANSWER..)?;
    while let (Some(length), Some(kind)) = (short(rest, 0), short(rest, 2)) {
        let length = usize::from(length);
        let Some(value) = rest.get(ATTRIBUTE_HEADER..length) else { break };
        if kind == INFO {
            return Some(TcpEnd {
                local,
                remote,
                inode,
                user,
                unacknowledged: long(value, UNACKNOWLEDGED)?,
                unsent_bytes: long(value, UNSENT_BYTES)?,
                segment_bytes: long(value, SEGMENT_BYTES)?,
                window: long(value, WINDOW)?,
                acknowledged_bytes: u64::from_ne_bytes(
                    value.get(ACKNOWLEDGED_BYTES..ACKNOWLEDGED_BYTES + 8)?.try_into().ok()?,
                ),
            });
        }
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    None
}

/// Reads bytes as such an answer.
pub(crate) fn read_bytes(bytes: &[u8]) {
    let _ = parse(bytes, &mut Vec::new());
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
    let process = Pid::from_raw(process.try_into().ok()?)?;
    let process = pidfd_open(process, PidfdFlags::empty()).ok()?;
    let socket = pidfd_getfd(&process, descriptor, PidfdGetfdFlags::empty()).ok()?;
    is_nodelay(socket_of(&socket))
}

fn socket_of(socket: &OwnedFd) -> BorrowedFd<'_> {
    std::os::fd::AsFd::as_fd(socket)
}

fn is_nodelay(socket: BorrowedFd<'_>) -> Option<bool> {
    tcp_nodelay(socket).ok()
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsRawFd;

    use super::*;
    use proptest::prelude::*;

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
        let Ok(mut ends) = TcpEnds::open() else { return };
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
        let Ok(mut ends) = TcpEnds::open() else { return };
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

    #[test]
    fn an_error_is_one() {
        let mut message = vec![0; MESSAGE_HEADER + 4];
        message[..4].copy_from_slice(&((MESSAGE_HEADER + 4) as u32).to_ne_bytes());
        message[4..6].copy_from_slice(&(libc::NLMSG_ERROR as u16).to_ne_bytes());
        message[MESSAGE_HEADER..].copy_from_slice(&(-libc::ENOENT).to_ne_bytes());
        let error = parse(&message, &mut Vec::new()).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENOENT));
    }

    proptest! {
        #[test]
        fn any_bytes_are_taken(head in any::<[u8; 6]>(), tail in proptest::collection::vec(any::<u8>(), 0..400)) {
            read_bytes(&[&head[..], &tail].concat());
            read_bytes(&tail);
            let _ = end(&tail);
        }
    }
}
