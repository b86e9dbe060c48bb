//! All sockets of a network namespace, with what TCP has counted (`sock_diag(7)`). It is read-only, and costs the programs nothing.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use netlink_packet_core::{NLM_F_DUMP, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload};
use netlink_packet_sock_diag::SockDiagMessage;
use netlink_packet_sock_diag::constants::{
    AF_INET, AF_INET6, IPPROTO_TCP, IPPROTO_UDP, SOCK_DGRAM, SOCK_STREAM, TCP_LISTEN, TCP_TIME_WAIT,
};
use netlink_packet_sock_diag::inet::nlas::Nla as InetNla;
use netlink_packet_sock_diag::inet::{
    ExtensionFlags, InetRequest, InetResponse, SocketId, StateFlags as InetStates,
};
use netlink_packet_sock_diag::unix::nlas::{Nla as UnixNla, UnixDiagName};
use netlink_packet_sock_diag::unix::{ShowFlags, StateFlags as UnixStates, UnixRequest, UnixResponse};
use rustix::net::netlink::{self, SocketAddrNetlink};
use rustix::net::sockopt::{Timeout, set_socket_recv_buffer_size, set_socket_timeout};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, recv, send, socket_with,
};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::contract::TcpEnd;
pub use crate::observed::{LocalPorts, TcpCounts, TcpSocket, TcpState, UdpSocket, UnixKind, UnixSocket};

/// An answer holds some hundred sockets.
const BUFFER_BYTES: usize = 64 * 1024;
/// How long the kernel may take to answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// The groups of messages on closing TCP sockets, over IPv4 and IPv6: `SKNLGRP_INET_TCP_DESTROY` and `SKNLGRP_INET6_TCP_DESTROY`, as a mask.
const CLOSING: u32 = 1 | 1 << 2;
/// Messages of so many bytes wait until they are read.
const CLOSING_BYTES: usize = 8 << 20;

/// A view of the sockets of a network namespace.
#[derive(Debug)]
pub struct Sockets {
    socket: OwnedFd,
    buffer: Vec<u8>,
    network: u64,
    /// Of the last request. An answer that came too late for an earlier one is none to this.
    sequence: u32,
}

impl Sockets {
    /// Opens it in this program's namespace.
    pub fn open() -> io::Result<Self> {
        let socket = diag()?;
        set_socket_timeout(&socket, Timeout::Recv, Some(PATIENCE))?;
        Ok(Self { socket, buffer: vec![0; BUFFER_BYTES], network: 0, sequence: 0 })
    }

    /// Opens it in the network namespace of a process, which sockets are told with by this number. A thread of its own enters it, so that
    /// this program stays where it is; what a socket shows is what it was opened in.
    ///
    /// # Errors
    /// If this user may not enter it, or the kernel has no `sock_diag`.
    pub fn open_at(process: u32, network: u64) -> io::Result<Self> {
        within(process, || Ok(Self { network, ..Self::open()? }))
    }

    /// Every TCP socket, over IPv4 and IPv6.
    pub fn tcp(&mut self) -> io::Result<Vec<TcpSocket>> {
        let network = self.network;
        let extensions = ExtensionFlags::INFO | ExtensionFlags::CONG;
        self.all(IPPROTO_TCP, &extensions, &InetStates::all(), &|response| tcp(response, network))
    }

    /// Every end of an open TCP connection, over IPv4 and IPv6.
    pub fn ends(&mut self) -> io::Result<Vec<TcpEnd>> {
        // Also those of which one side still sends.
        let states = InetStates::ESTABLISHED
            | InetStates::FIN_WAIT1
            | InetStates::CLOSE_WAIT
            | InetStates::LAST_ACK
            | InetStates::CLOSING;
        Ok(self.all(IPPROTO_TCP, &ExtensionFlags::INFO, &states, &end)?.into_iter().flatten().collect())
    }

    /// The TCP socket between two addresses, its own first; in place of one that is gone, who listens at its own.
    pub fn end(&mut self, local: SocketAddr, remote: SocketAddr) -> io::Result<Option<TcpEnd>> {
        let socket_id = SocketId {
            source_port: local.port(),
            destination_port: remote.port(),
            source_address: local.ip(),
            destination_address: remote.ip(),
            interface_id: 0,
            // Whatever its cookie.
            cookie: [0xff; 8],
        };
        let request = InetRequest {
            family: if local.is_ipv4() { AF_INET } else { AF_INET6 },
            protocol: IPPROTO_TCP,
            extensions: ExtensionFlags::INFO,
            states: InetStates::all(),
            socket_id,
        };
        let mut found = None;
        let asked = self.ask(SockDiagMessage::InetRequest(request), 0, &mut |message| {
            if let SockDiagMessage::InetResponse(response) = message {
                found = end(&response);
            }
        });
        match asked {
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(None),
            Err(error) => Err(error),
            Ok(()) => Ok(found),
        }
    }

    /// Every UDP socket, over IPv4 and IPv6.
    pub fn udp(&mut self) -> io::Result<Vec<UdpSocket>> {
        let network = self.network;
        let states = InetStates::all();
        self.all(IPPROTO_UDP, &ExtensionFlags::SKMEMINFO, &states, &|response| udp(response, network))
    }

    fn all<T>(
        &mut self,
        protocol: u8,
        extensions: &ExtensionFlags,
        states: &InetStates,
        read: &dyn Fn(&InetResponse) -> T,
    ) -> io::Result<Vec<T>> {
        let mut found = Vec::new();
        for (family, socket_id) in [(AF_INET, SocketId::new_v4()), (AF_INET6, SocketId::new_v6())] {
            let (extensions, states) = (extensions.clone(), states.clone());
            let request = InetRequest { family, protocol, extensions, states, socket_id };
            self.ask(SockDiagMessage::InetRequest(request), NLM_F_DUMP, &mut |message| {
                if let SockDiagMessage::InetResponse(response) = message {
                    found.push(read(&response));
                }
            })?;
        }
        Ok(found)
    }

    pub fn unix(&mut self) -> io::Result<Vec<UnixSocket>> {
        let request = SockDiagMessage::UnixRequest(UnixRequest {
            state_flags: UnixStates::all(),
            inode: 0,
            show_flags: ShowFlags::NAME | ShowFlags::PEER | ShowFlags::RQLEN,
            cookie: [0xff; 8],
        });
        let mut found = Vec::new();
        self.ask(request, NLM_F_DUMP, &mut |message| {
            if let SockDiagMessage::UnixResponse(response) = message {
                found.push(unix(&response));
            }
        })?;
        Ok(found)
    }

    /// Asks for all sockets of a kind (`NLM_F_DUMP`), or for one.
    fn ask(
        &mut self,
        request: SockDiagMessage,
        flags: u16,
        take: &mut dyn FnMut(SockDiagMessage),
    ) -> io::Result<()> {
        self.request(request, flags)?;
        let (is_dump, mut answered) = (flags & NLM_F_DUMP != 0, false);
        loop {
            let (length, _) = recv(&self.socket, &mut self.buffer[..], RecvFlags::empty())?;
            let is_last = messages(&self.buffer[..length], Some(self.sequence), &mut |message| {
                answered = true;
                take(message);
            })?;
            if is_last || (answered && !is_dump) {
                return Ok(());
            }
        }
    }

    fn request(&mut self, request: SockDiagMessage, flags: u16) -> io::Result<()> {
        // The kernel refuses to begin while it is at an answer that was not waited for.
        while recv(&self.socket, &mut self.buffer[..], RecvFlags::DONTWAIT).is_ok() {}
        self.sequence = self.sequence.wrapping_add(1);
        let mut header = NetlinkHeader::default();
        header.flags = NLM_F_REQUEST | flags;
        header.sequence_number = self.sequence;
        let mut packet = NetlinkMessage::new(header, request.into());
        packet.finalize();
        let mut bytes = vec![0; packet.buffer_len()];
        packet.serialize(&mut bytes);
        send(&self.socket, &bytes, SendFlags::empty())?;
        Ok(())
    }
}

/// Messages on TCP sockets that close: what connections have counted that are shorter than the time between two looks.
#[derive(Debug)]
pub struct Closing {
    socket: OwnedFd,
    buffer: Vec<u8>,
    network: u64,
}

impl Closing {
    /// Listens from now on.
    ///
    /// # Errors
    /// If the kernel does not let this user: it takes root.
    pub fn listen() -> io::Result<Self> {
        let socket = diag()?;
        // A burst of connections that close between two looks is to fit in; where it does not, the kernel tells.
        let _ = set_socket_recv_buffer_size(&socket, CLOSING_BYTES);
        bind(&socket, &SocketAddrNetlink::new(0, CLOSING))?;
        Ok(Self { socket, buffer: vec![0; BUFFER_BYTES], network: 0 })
    }

    /// Listens in the network namespace of a process, as [`Sockets::open_at`].
    ///
    /// # Errors
    /// If this user may not enter it, or the kernel does not let this user.
    pub fn listen_at(process: u32, network: u64) -> io::Result<Self> {
        within(process, || Ok(Self { network, ..Self::listen()? }))
    }

    /// Those that have closed since the last time, and whether some of them were lost.
    pub fn take(&mut self) -> io::Result<(Vec<TcpSocket>, bool)> {
        let (mut found, mut lost) = (Vec::new(), false);
        loop {
            match recv(&self.socket, &mut self.buffer[..], RecvFlags::DONTWAIT) {
                Ok((length, _)) => {
                    messages(&self.buffer[..length], None, &mut |message| {
                        if let SockDiagMessage::InetResponse(response) = message {
                            found.push(tcp(&response, self.network));
                        }
                    })?;
                }
                Err(rustix::io::Errno::AGAIN) => return Ok((found, lost)),
                Err(rustix::io::Errno::NOBUFS) => lost = true,
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl LocalPorts {
    /// Those of the network namespace of a process, or of this one's.
    ///
    /// # Errors
    /// If this user may not enter it, or its settings cannot be read.
    pub fn of(process: Option<u32>) -> io::Result<Self> {
        let read = || {
            let setting = |name: &str| std::fs::read_to_string(format!("/proc/sys/net/ipv4/{name}"));
            let numbers = |text: String| {
                text.split_whitespace().filter_map(|word| word.parse().ok()).collect::<Vec<u32>>()
            };
            let range = numbers(setting("ip_local_port_range")?);
            let [first, last] = range[..] else { return Err(io::ErrorKind::InvalidData.into()) };
            let reuse = numbers(setting("tcp_tw_reuse")?).first().copied().unwrap_or(0);
            Ok(Self { count: last.saturating_sub(first) + 1, reuse })
        };
        process.map_or_else(read, |process| within(process, read))
    }
}

/// Does something in the network namespace of a process.
fn within<T: Send>(process: u32, act: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    let namespace = std::fs::File::open(format!("/proc/{process}/ns/net"))?;
    let enter = || {
        move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?;
        act()
    };
    std::thread::scope(|scope| scope.spawn(enter).join()).unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))
}

fn diag() -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC;
    Ok(socket_with(AddressFamily::NETLINK, SocketType::DGRAM, flags, Some(netlink::SOCK_DIAG))?)
}

/// Takes a datagram of messages apart, those with this sequence number if one is given; whether it was the last one of a dump.
fn messages(
    mut bytes: &[u8],
    sequence: Option<u32>,
    take: &mut dyn FnMut(SockDiagMessage),
) -> io::Result<bool> {
    /// Length of `struct nlmsghdr`, bytes.
    const HEADER: usize = 16;
    while let Some(head) = bytes.get(..4) {
        let length = u32::from_ne_bytes([head[0], head[1], head[2], head[3]]) as usize;
        let Some(message) = bytes.get(..length).filter(|message| message.len() >= HEADER) else { break };
        // What this program does not know yet is no reason to see nothing.
        if let Ok(message) = NetlinkMessage::<SockDiagMessage>::deserialize(message)
            && sequence.is_none_or(|sequence| message.header.sequence_number == sequence)
        {
            match message.payload {
                NetlinkPayload::Done(_) => return Ok(true),
                NetlinkPayload::Error(error) => return Err(error.to_io()),
                NetlinkPayload::InnerMessage(message) => take(message),
                _ => {}
            }
        }
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(false)
}

fn tcp(response: &InetResponse, network: u64) -> TcpSocket {
    let header = &response.header;
    let id = &header.socket_id;
    let counts = response.nlas.iter().find_map(|nla| match nla {
        InetNla::TcpInfo(info) => Some(counts(info)),
        _ => None,
    });
    let congestion = response.nlas.iter().find_map(|nla| match nla {
        InetNla::Congestion(name) => Some(name.clone()),
        _ => None,
    });
    let state = match header.state {
        TCP_LISTEN => TcpState::Listening,
        TCP_TIME_WAIT => TcpState::TimeWait,
        _ => TcpState::Connected,
    };
    TcpSocket {
        network,
        // An end of a socket for both protocols has the other's address in it.
        local: SocketAddr::new(id.source_address.to_canonical(), id.source_port),
        remote: SocketAddr::new(id.destination_address.to_canonical(), id.destination_port),
        state,
        inode: header.inode,
        cookie: u64::from_ne_bytes(id.cookie),
        waiting: header.recv_queue,
        outstanding: header.send_queue,
        congestion,
        counts: counts.filter(|_| state == TcpState::Connected),
    }
}

/// What tells whether an end holds something back; `None` of one that has counted nothing.
fn end(response: &InetResponse) -> Option<TcpEnd> {
    let (header, socket) = (&response.header, tcp(response, 0));
    let counts = response.nlas.iter().find_map(|nla| match nla {
        InetNla::TcpInfo(info) => Some(counts(info)),
        _ => None,
    })?;
    Some(TcpEnd {
        local: socket.local,
        remote: socket.remote,
        inode: header.inode,
        user: header.uid,
        unacknowledged: counts.unacknowledged,
        unsent_bytes: counts.unsent_bytes,
        segment_bytes: counts.segment_bytes,
        window: counts.window,
        acknowledged_bytes: counts.acknowledged_bytes,
    })
}

fn udp(response: &InetResponse, network: u64) -> UdpSocket {
    let id = &response.header.socket_id;
    let dropped = response.nlas.iter().find_map(|nla| match nla {
        InetNla::MemInfo(info) => Some(info.drops),
        _ => None,
    });
    let remote = SocketAddr::new(id.destination_address.to_canonical(), id.destination_port);
    UdpSocket {
        network,
        local: SocketAddr::new(id.source_address.to_canonical(), id.source_port),
        remote: (id.destination_port != 0).then_some(remote),
        inode: response.header.inode,
        waiting: response.header.recv_queue,
        dropped: dropped.unwrap_or(0),
    }
}

/// `struct tcp_info`; older kernels leave out what comes last, which is then 0.
fn counts(info: &[u8]) -> TcpCounts {
    let short = |at: usize| {
        info.get(at..at + 4).map_or(0, |bytes| u32::from_ne_bytes(bytes.try_into().unwrap_or_default()))
    };
    let long = |at: usize| {
        info.get(at..at + 8).map_or(0, |bytes| u64::from_ne_bytes(bytes.try_into().unwrap_or_default()))
    };
    TcpCounts {
        segment_bytes: short(16),
        unacknowledged: short(24),
        since_sent_ms: short(44),
        since_received_ms: short(52),
        rtt_us: short(68),
        window: short(80),
        retransmitted: short(100),
        acknowledged_bytes: long(120),
        received_bytes: long(128),
        // What was sent again is in it, too.
        sent_bytes: (info.len() >= 216).then(|| long(200).saturating_sub(long(208))),
        unsent_bytes: short(144),
        data_segments_in: short(152),
        data_segments_out: short(156),
        delivery_bytes_per_s: long(160),
        busy_us: long(168),
        receiver_limited_us: long(176),
        buffer_limited_us: long(184),
    }
}

fn unix(response: &UnixResponse) -> UnixSocket {
    let header = &response.header;
    let find = |nla: &UnixNla| match nla {
        UnixNla::Name(UnixDiagName::Pathname(path)) => Some(path.to_string_lossy().into_owned()),
        UnixNla::Name(UnixDiagName::Abstract(name)) => Some(format!("@{}", String::from_utf8_lossy(name))),
        _ => None,
    };
    let peer = response.nlas.iter().find_map(|nla| match nla {
        UnixNla::Peer(inode) => Some(*inode),
        _ => None,
    });
    let queues = response.nlas.iter().find_map(|nla| match nla {
        UnixNla::ReceiveQueueLength(waiting, outstanding) => Some((*waiting, *outstanding)),
        _ => None,
    });
    let (waiting, outstanding) = queues.unwrap_or_default();
    UnixSocket {
        kind: match header.kind {
            SOCK_STREAM => UnixKind::Stream,
            SOCK_DGRAM => UnixKind::Datagram,
            _ => UnixKind::Packet,
        },
        is_listening: header.state == TCP_LISTEN,
        inode: header.inode,
        cookie: u64::from_ne_bytes(header.cookie),
        peer: peer.filter(|inode| *inode != 0),
        name: response.nlas.iter().find_map(find),
        waiting,
        outstanding,
    }
}

/// Reads bytes as such an answer.
pub(crate) fn read_bytes(bytes: &[u8]) {
    let _ = messages(bytes, None, &mut |message| match message {
        SockDiagMessage::InetResponse(response) => {
            let _ = (tcp(&response, 0), udp(&response, 0), end(&response));
        }
        SockDiagMessage::UnixResponse(response) => drop(unix(&response)),
        _ => {}
    });
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{Ipv4Addr, TcpListener, TcpStream};
    use std::os::unix::net::{UnixListener, UnixStream};

    use proptest::prelude::*;

    use super::*;
    use ipcost_testing::opened;

    #[test]
    fn a_connection_is_seen_from_both_ends_with_its_bytes() {
        let Some(mut sockets) = opened("socket-diagnosis", Sockets::open()) else { return };
        let closing = opened("root", Closing::listen());
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let at = listener.local_addr().unwrap();
        let mut client = TcpStream::connect(at).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        client.write_all(&[1; 1_000]).unwrap();
        server.read_exact(&mut [0; 600]).unwrap();
        let all = sockets.tcp().unwrap();
        let listening = all.iter().find(|one| one.local == at && one.state == TcpState::Listening).unwrap();
        assert_eq!((listening.waiting, listening.counts), (0, None));
        let end =
            all.iter().find(|one| one.local == at && one.remote == client.local_addr().unwrap()).unwrap();
        let counts = end.counts.unwrap();
        assert_eq!((counts.received_bytes, end.waiting), (1_000, 400));
        assert!(end.congestion.is_some() && counts.data_segments_in >= 1, "{end:?}");
        let other = all.iter().find(|one| one.remote == at && one.inode != 0).unwrap();
        assert_eq!(other.local, client.local_addr().unwrap());
        drop((client, server));
        let Some(mut closing) = closing else { return };
        // The last packets of a connection take a moment.
        for _ in 0..200 {
            let (closed, _) = closing.take().unwrap();
            if closed
                .iter()
                .any(|one| one.local == at && one.counts.is_some_and(|known| known.received_bytes >= 1_000))
            {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("no message on closing");
    }

    #[test]
    fn what_was_not_answered_in_time_is_no_answer_to_what_is_asked_next() {
        let Some(mut sockets) = opened("socket-diagnosis", Sockets::open()) else { return };
        // More than one answer holds, so that the kernel is still at it; at an address that nothing else has.
        let own = Ipv4Addr::new(127, 77, 0, 1);
        let open: Vec<std::net::UdpSocket> =
            (0..400).map(|_| std::net::UdpSocket::bind((own, 0)).unwrap()).collect();
        let request = InetRequest {
            family: AF_INET,
            protocol: IPPROTO_UDP,
            extensions: ExtensionFlags::SKMEMINFO,
            states: InetStates::all(),
            socket_id: SocketId::new_v4(),
        };
        sockets.request(SockDiagMessage::InetRequest(request), NLM_F_DUMP).unwrap();
        assert!(!sockets.tcp().unwrap().iter().any(|socket| socket.local.ip() == own));
        let found = sockets.udp().unwrap().iter().filter(|socket| socket.local.ip() == own).count();
        assert_eq!(found, open.len());
    }

    #[test]
    fn a_unix_socket_has_a_peer_and_what_waits_in_it() {
        let Some(mut sockets) = opened("socket-diagnosis", Sockets::open()) else { return };
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("socket");
        let listener = UnixListener::bind(&path).unwrap();
        let mut client = UnixStream::connect(&path).unwrap();
        let all = sockets.unix().unwrap();
        let name = path.to_string_lossy();
        let listening =
            all.iter().find(|one| one.is_listening && one.name.as_deref() == Some(&*name)).unwrap();
        assert_eq!((listening.waiting, listening.kind), (1, UnixKind::Stream));
        let (server, _) = listener.accept().unwrap();
        client.write_all(&[1; 100]).unwrap();
        let all = sockets.unix().unwrap();
        let named = |one: &&UnixSocket| !one.is_listening && one.name.as_deref() == Some(&*name);
        let end = all.iter().find(named).unwrap();
        let peer = all.iter().find(|one| Some(one.inode) == end.peer).unwrap();
        assert_eq!(peer.peer, Some(end.inode));
        assert!(end.waiting >= 100 || peer.outstanding >= 100, "{end:?} {peer:?}");
        drop(server);
    }

    proptest! {
        #[test]
        fn any_bytes_are_taken(head in any::<[u8; 20]>(), tail in proptest::collection::vec(any::<u8>(), 0..400)) {
            read_bytes(&[&head[..], &tail].concat());
            read_bytes(&tail);
            let _ = counts(&tail);
        }
    }
}
