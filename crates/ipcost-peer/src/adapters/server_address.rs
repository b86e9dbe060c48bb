//! Addresses of servers on this machine.

use std::fmt;
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, ToSocketAddrs};
use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::time::Duration;

use ipcost_model::protocol::Address;
use ipcost_model::{Cell, OptionValue, Options, Pattern};
use ipcost_sys::driven_program::{self, EndsAt};
use ipcost_sys::private_dir::MAX_SOCKET_PATH;
use ipcost_sys::tcp_ends::TcpEnds;
use ipcost_sys::transport::{self, Client, Connection};
use ipcost_sys::{Context, ListenerOwner, SysError, User};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{refused, system};
use crate::{PeerError, receive_all, send_all};

/// The member of an address with what a private server knows its clients by.
pub const SECRET: &str = "secret";
/// The member of an address with a host's name, where it was given by name.
const NAME: &str = "name";
const LOCALHOST: &str = "localhost";
/// This machine's own names.
const HOSTS: &str = "/etc/hosts";
/// How long a server may take to answer before anything is measured.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long a connection may last before anything is measured: some dozen requests of seconds.
const MOST_PATIENCE: Duration = Duration::from_secs(120);

/// The addresses of a server that the user runs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(into = "Addresses", try_from = "Addresses")]
pub struct GivenAddress {
    pub unix: Option<ServerAddress>,
    pub tcp: Option<ServerAddress>,
}

impl GivenAddress {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.unix.is_none() && self.tcp.is_none()
    }
}

/// [`Given`] as it is written.
#[derive(Serialize, Deserialize)]
struct Addresses {
    unix: Option<Address>,
    tcp: Option<Address>,
}

impl From<GivenAddress> for Addresses {
    fn from(given: GivenAddress) -> Self {
        Self { unix: given.unix.map(|at| at.address), tcp: given.tcp.map(|at| at.address) }
    }
}

impl TryFrom<Addresses> for GivenAddress {
    type Error = PeerError;

    fn try_from(written: Addresses) -> Result<Self, PeerError> {
        let at = |transport, address: Option<Address>| {
            address.map(|at| ServerAddress::of(transport, &at)).transpose()
        };
        Ok(Self { unix: at("unix", written.unix)?, tcp: at("tcp", written.tcp)? })
    }
}

/// The address of a server.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerAddress {
    /// The transport to it; `tcp6` for a server on `::1`.
    pub transport: &'static str,
    /// The address in that transport's form.
    pub address: Address,
}

impl ServerAddress {
    /// The address that a server's peer, or a private server, has told.
    pub fn of(transport: &str, address: &Address) -> Result<Self, PeerError> {
        let host = address.get("host").and_then(|host| host.as_str()).unwrap_or_default();
        let transport = match transport {
            // In front of a server that is reached over a Unix socket.
            "unix" if !host.is_empty() => "tcp",
            "unix" => "unix",
            // It may listen on ::1 alone; the same operations work over it.
            "tcp" if host.contains(':') => "tcp6",
            "tcp" => "tcp",
            other => return Err(PeerError::UnknownTransport(other.to_owned())),
        };
        Ok(Self { transport, address: address.clone() })
    }

    /// A port of loopback.
    pub fn of_port(host: IpAddr, port: u16) -> Self {
        let address = json!({ "host": host.to_string(), "port": port });
        let transport = if host.is_ipv6() { "tcp6" } else { "tcp" };
        Self { transport, address: address.as_object().cloned().unwrap_or_default() }
    }

    /// The path of a Unix socket.
    pub fn of_path(path: &str) -> Result<Self, PeerError> {
        if path.is_empty() {
            return Err(refused("--unix is empty; give the path of your server's socket"));
        }
        if path.len() > MAX_SOCKET_PATH {
            return Err(PeerError::SocketPath(path.to_owned()));
        }
        Ok(Self { transport: "unix", address: Address::from_iter([("path".to_owned(), path.into())]) })
    }

    /// `HOST:PORT`. The host must be a loopback address, since others take part in what is then measured: a container's network,
    /// or another machine. With `remote`, any address is one. `localhost` is the first of its addresses at which a server listens, as
    /// programs try them, unless servers of two users listen.
    pub fn of_host_and_port(text: &str, remote: bool) -> Result<Self, PeerError> {
        let (host, port) = host_and_port(text)?;
        if host == LOCALHOST {
            return first_listening(&addresses_of_localhost(), port, &listener);
        }
        let wrong = match host.parse::<IpAddr>() {
            Ok(found) if remote || found.is_loopback() => return Ok(Self::of_port(found, port)),
            _ if remote => "no address; give one in numbers, or localhost",
            Ok(_) => {
                "not a loopback address; give one of 127.0.0.0/8, ::1 or localhost, or ipcost app --remote if the way there may be part of the answer"
            }
            Err(_) => "not a loopback address; give one of 127.0.0.0/8, ::1 or localhost",
        };
        Err(PeerError::Host { host: host.to_owned(), wrong })
    }

    /// The same address, which was given by a name.
    #[must_use]
    pub fn named(mut self, name: &str) -> Self {
        self.address.insert(NAME.to_owned(), name.into());
        self
    }

    /// The name that it was given by.
    pub fn name(&self) -> Option<&str> {
        self.address.get(NAME)?.as_str()
    }

    /// The path of a Unix socket.
    pub fn path(&self) -> Option<&str> {
        self.address.get("path")?.as_str()
    }

    /// Refuses a path at which there is a directory or a file: connecting to it fails as if no server listened.
    pub fn check_is_socket(&self) -> Result<(), PeerError> {
        let Some(found) = self.path().and_then(|path| fs::metadata(path).ok()) else { return Ok(()) };
        match (found.is_dir(), found.is_file()) {
            (true, _) => Err(refused(format!("{self} is a directory; give the path of a socket"))),
            (_, true) => Err(refused(format!("{self} is a file, not a socket; give the path of a socket"))),
            _ => Ok(()),
        }
    }

    /// What a private server knows its clients by; the engine passes it on, and nothing records it.
    pub fn secret(&self) -> Option<&str> {
        self.address.get(SECRET)?.as_str()
    }

    /// The host, as it was named, or the directory of the socket, and the port, as files of passwords name them.
    pub fn place(&self) -> Option<(String, u16)> {
        let Some(path) = self.path().map(Path::new) else {
            let name = self.name().or(self.host())?;
            return Some((name.to_owned(), self.port()?));
        };
        // PostgreSQL names its sockets by their ports.
        let port = path.extension().and_then(|number| number.to_str()?.parse().ok());
        Some((path.parent()?.to_string_lossy().into_owned(), port.unwrap_or_default()))
    }

    pub fn host(&self) -> Option<&str> {
        self.address.get("host")?.as_str()
    }

    /// Host and port as numbers.
    pub fn socket(&self) -> Option<SocketAddr> {
        Some(SocketAddr::new(self.host()?.parse().ok()?, self.port()?))
    }

    /// Whether it is reached over more than loopback.
    pub fn is_remote(&self) -> bool {
        self.socket().is_some_and(|socket| !socket.ip().is_loopback())
    }

    pub fn port(&self) -> Option<u16> {
        self.address.get("port")?.as_u64()?.try_into().ok()
    }

    /// A client of the transport, which opens connections to it; TCP sends at once unless the cell says otherwise.
    pub fn client(&self, cell: Option<&Cell>, worker: u32) -> Result<Box<dyn Client>, SysError> {
        let nodelay = cell.and_then(|cell| cell.options.tcp_nodelay()).unwrap_or(true);
        // Servers that know their clients by address know one.
        self.reach(Options::default(), nodelay, false, worker)
    }

    /// A client with options of its transport besides.
    pub fn reach(
        &self,
        mut options: Options,
        nodelay: bool,
        spreads_sources: bool,
        worker: u32,
    ) -> Result<Box<dyn Client>, SysError> {
        if let Some(socket) = self.socket().filter(|_| self.is_remote()) {
            return Ok(transport::elsewhere(socket, nodelay));
        }
        let found = transport::find(self.transport).ok_or(SysError::UnknownTransport(self.transport))?;
        for (name, value) in [("tcp_nodelay", nodelay), ("spread_sources", spreads_sources)] {
            options.set(name, OptionValue::Bool(value)).expect("an option of TCP");
        }
        // Pattern connect alone accepts another user's server.
        let cell = Cell { options, ..Cell::new(Pattern::Connect, self.transport, 1) };
        found.reach(&self.address, &cell, worker)
    }

    /// Looks that a port is listened on by a process of this user: until a private server listens, another user's might, and would
    /// learn the secret. A Unix socket is in a directory that no other user enters.
    pub fn is_listened_on_by(&self, user: u32) -> Result<(), PeerError> {
        let Some(at) = self.socket() else { return Ok(()) };
        match driven_program::owner_at(at).map_err(system("cannot find out who listens"))? {
            ListenerOwner::User(owner) if owner == user => Ok(()),
            ListenerOwner::User(owner) => Err(refused(format!(
                "another user ({}) listens at {self} in place of the private server; try again",
                driven_program::name_of(Some(User { id: owner, group: owner }))
            ))),
            _ => Err(refused(format!("no server listens at {self}"))),
        }
    }

    /// A connection to a server of which nothing is known.
    pub fn connect_patiently(&self) -> Result<LimitedConnection, SysError> {
        LimitedConnection::of(self.client(None, 0)?.connect()?)
    }
}

/// The host, without the brackets of IPv6, and the port.
fn host_and_port(text: &str) -> Result<(&str, u16), PeerError> {
    let wrong = |lacks, port| Err(PeerError::HostPort { text: text.to_owned(), lacks, port });
    let Some((host, port)) = text.rsplit_once(':') else {
        return text.parse().map_or_else(|_| wrong("port", 5432), |port| wrong("host", port));
    };
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    match port.parse() {
        Ok(port) if port > 0 && host.is_empty() => wrong("host", port),
        Ok(port) if port > 0 => Ok((host, port)),
        _ => wrong("port from 1 to 65535", 5432),
    }
}

/// Where programs look for `localhost`, in their order: as the system's resolver gives them if this machine's own file names it, so that
/// no other machine is asked.
fn addresses_of_localhost() -> Vec<IpAddr> {
    let is_named = |line: &str| {
        let names = line.split('#').next().unwrap_or_default();
        names.split_whitespace().skip(1).any(|name| name == LOCALHOST)
    };
    let is_known = fs::read_to_string(HOSTS).is_ok_and(|hosts| hosts.lines().any(is_named));
    let resolved = is_known.then(|| (LOCALHOST, 0).to_socket_addrs().ok()).flatten();
    let mut addresses: Vec<IpAddr> =
        resolved.into_iter().flatten().map(|at| at.ip()).filter(IpAddr::is_loopback).collect();
    addresses.dedup();
    match addresses.is_empty() {
        true => vec![Ipv6Addr::LOCALHOST.into(), Ipv4Addr::LOCALHOST.into()],
        false => addresses,
    }
}

/// The first address of `localhost` at which a server listens. Where servers of two users do, neither is asked: another user's server
/// would learn a password meant for the first.
fn first_listening(
    addresses: &[IpAddr],
    port: u16,
    listener: &dyn Fn(SocketAddr) -> Option<FoundServer>,
) -> Result<ServerAddress, PeerError> {
    let sockets = addresses.iter().map(|address| SocketAddr::new(*address, port));
    let found: Vec<(SocketAddr, FoundServer)> =
        sockets.clone().filter_map(|socket| Some((socket, listener(socket)?))).collect();
    let Some((first, of)) = found.first() else {
        let tried: Vec<String> = sockets.map(|socket| socket.to_string()).collect();
        return Err(PeerError::NoServer { port, tried: tried.join(", ") });
    };
    if let Some((second, _)) = found.iter().find(|(_, other)| other.user != of.user) {
        return Err(PeerError::TwoServers { port, first: *first, second: *second });
    }
    Ok(ServerAddress::of_port(first.ip(), port).named(LOCALHOST))
}

/// A server at an address.
#[derive(Clone, Copy)]
struct FoundServer {
    /// Its user, where the kernel shows it.
    user: Option<u32>,
}

fn listener(at: SocketAddr) -> Option<FoundServer> {
    TcpStream::connect_timeout(&at, PATIENCE).ok()?;
    let found = TcpEnds::open().and_then(|mut ends| ends.listener(at)).ok().flatten();
    Some(FoundServer { user: found.map(|end| end.user) })
}

/// A connection on which a call that takes longer than a few seconds fails, and that ends after two minutes whatever its server sends.
pub struct LimitedConnection {
    connection: Connection,
    _ends: EndsAt,
}

impl LimitedConnection {
    /// The same connection with limits.
    pub fn of(connection: Connection) -> Result<Self, SysError> {
        limit(&connection)?;
        Ok(Self { _ends: end_in_time(&connection)?, connection })
    }
}

impl Deref for LimitedConnection {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.connection
    }
}

impl DerefMut for LimitedConnection {
    fn deref_mut(&mut self) -> &mut Connection {
        &mut self.connection
    }
}

/// Ends a connection before it has taken longer than any answer before a measurement does.
pub fn end_in_time(connection: &Connection) -> Result<EndsAt, SysError> {
    driven_program::end_after(connection, MOST_PATIENCE).context(|| "cannot limit a connection".to_owned())
}

/// Limits how long calls on a connection may wait.
pub fn limit(connection: &Connection) -> Result<(), SysError> {
    driven_program::limit_waits(connection, PATIENCE).context(|| "cannot limit waits".to_owned())
}

impl fmt::Display for ServerAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.path(), self.host(), self.port()) {
            (Some(path), ..) => formatter.write_str(path),
            (None, Some(host), Some(port)) if host.contains(':') => write!(formatter, "[{host}]:{port}"),
            (None, Some(host), Some(port)) => write!(formatter, "{host}:{port}"),
            _ => formatter.write_str("no address"),
        }
    }
}

/// Why there is no reply of a server that may be one of another kind: such a one may wait for the rest of what it takes for a
/// request.
pub fn no_reply(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            format!("nothing came within {} s; is it a server of this kind?", PATIENCE.as_secs())
        }
        io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset => {
            format!("{error}; is it a server of this kind?")
        }
        _ => error.to_string(),
    }
}

/// Whether connecting failed because no server is there.
pub fn nobody_listens(error: &SysError) -> bool {
    let kinds = [io::ErrorKind::ConnectionRefused, io::ErrorKind::NotFound];
    matches!(error, SysError::Call { source, .. } if kinds.contains(&source.kind()))
}

/// Shows a server what it lets a connection in for, and takes its answer; `silent` and `rejected` say what went wrong.
pub fn be_let_in<const N: usize>(
    connection: &mut Connection,
    proof: &[u8],
    welcome: &[u8; N],
    silent: &str,
    rejected: &str,
) -> Result<(), PeerError> {
    let failed = |error| refused(format!("{silent}: {error}"));
    let mut reply = [0; N];
    send_all(connection, proof).map_err(failed)?;
    receive_all(connection, &mut reply).map_err(failed)?;
    if reply == *welcome { Ok(()) } else { Err(refused(rejected)) }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn localhost_is_the_first_of_its_addresses_at_which_a_server_listens() {
        let both = [IpAddr::V6(Ipv6Addr::LOCALHOST), IpAddr::V4(Ipv4Addr::LOCALHOST)];
        let first = |only: Option<&str>| {
            first_listening(&both, 6379, &|at| {
                only.is_none_or(|only| at.to_string() == only).then_some(FoundServer { user: Some(33) })
            })
        };
        for (only, shown, transport) in [
            (None, "[::1]:6379", "tcp6"),
            (Some("[::1]:6379"), "[::1]:6379", "tcp6"),
            (Some("127.0.0.1:6379"), "127.0.0.1:6379", "tcp"),
        ] {
            let at = first(only).unwrap();
            assert_eq!(
                (at.to_string().as_str(), at.transport, at.name()),
                (shown, transport, Some(LOCALHOST))
            );
            assert_eq!(at.place(), Some((LOCALHOST.to_owned(), 6379)), "files of passwords have the name");
        }
        let error = first(Some("nowhere")).unwrap_err().to_string();
        assert!(error.contains("localhost:6379 ([::1]:6379, 127.0.0.1:6379)"), "{error}");
        let mixed = first_listening(&both, 6379, &|at| Some(FoundServer { user: Some(at.is_ipv6().into()) }));
        let error = mixed.unwrap_err().to_string();
        assert!(
            error.ends_with("different users, [::1]:6379 and 127.0.0.1:6379; give one of the two addresses"),
            "{error}"
        );
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let at = ServerAddress::of_host_and_port(&format!("localhost:{port}"), false).unwrap();
        assert_eq!(at.to_string(), format!("127.0.0.1:{port}"));
        assert!(addresses_of_localhost().iter().all(IpAddr::is_loopback));
    }

    #[test]
    fn a_server_that_sends_without_end_is_not_heard_without_end() {
        use ipcost_sys::transport::Channel;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let at = ServerAddress::of_port(Ipv4Addr::LOCALHOST.into(), listener.local_addr().unwrap().port());
        let mut connection = at.client(None, 0).unwrap().connect().unwrap();
        let mut server = listener.accept().unwrap().0;
        let sends = std::thread::spawn(move || while std::io::Write::write_all(&mut server, b"x").is_ok() {});
        let _ends = driven_program::end_after(&connection, Duration::from_millis(50)).unwrap();
        let mut buffer = [0; 4096];
        while connection.receive(&mut buffer).is_ok_and(|bytes| bytes > 0) {}
        drop(connection);
        sends.join().unwrap();
        // One that is dropped before ends nothing.
        let mut connection = at.client(None, 0).unwrap().connect().unwrap();
        drop(driven_program::end_after(&connection, Duration::from_millis(50)).unwrap());
        let server = listener.accept().unwrap().0;
        std::thread::sleep(Duration::from_millis(100));
        std::io::Write::write_all(&mut &server, b"x").unwrap();
        assert_eq!(connection.receive(&mut buffer).unwrap(), 1);
    }

    #[test]
    fn a_port_that_another_user_listens_on_is_no_private_servers() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let at = ServerAddress::of_port(Ipv4Addr::LOCALHOST.into(), listener.local_addr().unwrap().port());
        let listened = |user: u32| at.is_listened_on_by(user).map_err(|error| error.to_string());
        assert_eq!(listened(driven_program::own_user()), Ok(()));
        let error = listened(driven_program::own_user() + 1).unwrap_err();
        assert!(error.contains("listens at 127.0.0.1:") && error.contains("in place of"), "{error}");
        drop(listener);
        assert!(listened(driven_program::own_user()).unwrap_err().contains("no server listens"));
    }

    #[test]
    fn arguments_name_a_place_on_loopback_or_say_what_is_wrong() {
        for (text, shown, transport) in [
            ("127.0.0.1:6379", "127.0.0.1:6379", "tcp"),
            ("[::1]:6379", "[::1]:6379", "tcp6"),
            ("::1:6379", "[::1]:6379", "tcp6"),
        ] {
            let at = ServerAddress::of_host_and_port(text, false).unwrap();
            assert_eq!((at.to_string().as_str(), at.transport), (shown, transport));
        }
        for (text, part) in [
            ("6379", "names no host; give HOST:PORT, such as 127.0.0.1:6379"),
            (":6379", "--tcp :6379 names no host; give HOST:PORT, such as 127.0.0.1:6379"),
            ("[]:6379", "names no host"),
            ("localhost", "names no port; give"),
            ("192.0.2.1:6379", "192.0.2.1 is not a loopback address"),
            ("localhost:0", "from 1 to 65535"),
            ("localhost:65536", "from 1 to 65535"),
        ] {
            let message = ServerAddress::of_host_and_port(text, false).unwrap_err().to_string();
            assert!(message.contains(part), "{text}: {message}");
        }
        let far = ServerAddress::of_host_and_port("192.0.2.1:6379", true).unwrap();
        assert!(far.is_remote() && ServerAddress::of_host_and_port("example.org:1", true).is_err());
        assert_eq!(ServerAddress::of_path("/run/redis.sock").unwrap().to_string(), "/run/redis.sock");
        assert!(
            ServerAddress::of_path(&"x".repeat(MAX_SOCKET_PATH + 1)).is_err()
                && ServerAddress::of_path("").is_err()
        );
    }
}
