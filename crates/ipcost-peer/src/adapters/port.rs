//! Reserves a port of the loopback address for a program that is about to listen there.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use ipcost_model::protocol::Address;
use ipcost_sys::{Descriptor, driven_program};

use crate::PeerError;
use crate::adapters::system;

/// A port that no other program gets while this is held.
pub struct Port(#[expect(dead_code, reason = "holding it is its use")] Descriptor);

impl Port {
    /// Holds the port of an address, or any free one if it is 0, and writes it there.
    pub fn hold(address: &mut Address) -> Result<Self, PeerError> {
        let host = address.get("host").and_then(|host| host.as_str()?.parse().ok());
        let host: IpAddr = host.unwrap_or(Ipv4Addr::LOCALHOST.into());
        let port = address.get("port").and_then(|port| port.as_u64()?.try_into().ok()).unwrap_or(0);
        let held = driven_program::hold_port(SocketAddr::new(host, port));
        let (held, port) = held.map_err(system("cannot reserve a port of the loopback address"))?;
        address.insert("port".to_owned(), port.into());
        Ok(Self(held))
    }
}
