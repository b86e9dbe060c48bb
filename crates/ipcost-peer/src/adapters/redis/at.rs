//! The address of a redis-server, and the arguments for it.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr};

use ipcost_model::protocol::Address;
use ipcost_sys::private_dir::MAX_SOCKET_PATH;
use serde_json::json;

use crate::PeerError;
use crate::adapters::refused;

/// An address on this machine.
#[derive(Debug, Clone, PartialEq)]
pub struct At {
    /// The transport to it; `tcp6` for a server on `::1`.
    pub transport: &'static str,
    /// The address in that transport's form.
    pub address: Address,
}

impl At {
    /// An address over one of redis's transports, from a protocol message.
    pub fn of(transport: &str, address: &Address) -> Result<Self, PeerError> {
        let host = address.get("host").and_then(|host| host.as_str()).unwrap_or_default();
        let transport = match transport {
            "unix" => "unix",
            // A given server may listen on ::1 alone; the same operations work over it.
            "tcp" if host.contains(':') => "tcp6",
            "tcp" => "tcp",
            other => return Err(refused(format!("this peer has no redis server for transport {other}"))),
        };
        Ok(Self { transport, address: address.clone() })
    }

    fn tcp(host: IpAddr, port: u16) -> Self {
        let address = json!({ "host": host.to_string(), "port": port });
        let transport = if host.is_ipv6() { "tcp6" } else { "tcp" };
        Self { transport, address: address.as_object().cloned().unwrap_or_default() }
    }

    /// The value of `--unix`.
    pub fn of_path(path: &str) -> Result<Self, PeerError> {
        if path.is_empty() || path.len() > MAX_SOCKET_PATH {
            return Err(refused(format!(
                "--unix {path} is not a valid socket path; give one of 1 to {MAX_SOCKET_PATH} bytes"
            )));
        }
        Ok(Self { transport: "unix", address: Address::from_iter([("path".to_owned(), path.into())]) })
    }

    /// The value of `--tcp`. Nothing beyond this machine is measured, so the host must be a loopback address.
    pub fn of_host_and_port(text: &str) -> Result<Self, PeerError> {
        let Some((host, port)) = text.rsplit_once(':') else {
            return Err(refused(format!(
                "--tcp {text} names no port; give HOST:PORT, such as 127.0.0.1:6379"
            )));
        };
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        let found = match host {
            "localhost" => Some(IpAddr::V4(Ipv4Addr::LOCALHOST)),
            host => host.parse().ok().filter(IpAddr::is_loopback),
        };
        let Some(found) = found else {
            return Err(refused(format!(
                "{host} is not a loopback address; give one of 127.0.0.0/8, ::1 or localhost"
            )));
        };
        match port.parse() {
            Ok(port) if port > 0 => Ok(Self::tcp(found, port)),
            _ => Err(refused(format!(
                "--tcp {text} names no port from 1 to 65535; give HOST:PORT, such as 127.0.0.1:6379"
            ))),
        }
    }

    /// The path of a Unix socket.
    pub fn path(&self) -> Option<&str> {
        self.address.get("path")?.as_str()
    }

    /// Host and port.
    pub fn host_and_port(&self) -> Option<(&str, u64)> {
        Some((self.address.get("host")?.as_str()?, self.address.get("port")?.as_u64()?))
    }
}

impl fmt::Display for At {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.path(), self.host_and_port()) {
            (Some(path), _) => formatter.write_str(path),
            (None, Some((host, port))) if self.transport == "tcp6" => write!(formatter, "[{host}]:{port}"),
            (None, Some((host, port))) => write!(formatter, "{host}:{port}"),
            (None, None) => formatter.write_str("no address"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_name_a_place_on_loopback_or_say_what_is_wrong() {
        for (text, shown, transport) in [
            ("127.0.0.1:6379", "127.0.0.1:6379", "tcp"),
            ("localhost:1", "127.0.0.1:1", "tcp"),
            ("[::1]:6379", "[::1]:6379", "tcp6"),
            ("::1:6379", "[::1]:6379", "tcp6"),
        ] {
            let at = At::of_host_and_port(text).unwrap();
            assert_eq!((at.to_string().as_str(), at.transport), (shown, transport));
        }
        for (text, part) in [
            ("6379", "names no port; give"),
            ("192.0.2.1:6379", "192.0.2.1 is not a loopback address"),
            ("localhost:0", "from 1 to 65535"),
            ("localhost:65536", "from 1 to 65535"),
        ] {
            let message = At::of_host_and_port(text).unwrap_err().to_string();
            assert!(message.contains(part), "{text}: {message}");
        }
        assert_eq!(At::of_path("/run/redis.sock").unwrap().to_string(), "/run/redis.sock");
        assert!(At::of_path(&"x".repeat(MAX_SOCKET_PATH + 1)).is_err() && At::of_path("").is_err());
    }
}
