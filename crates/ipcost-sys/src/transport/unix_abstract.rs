//! `unix-abstract`: a stream socket in Linux's abstract namespace (`unix(7)`), bound to a name without a file.

use ipcost_model::protocol::Address;
use ipcost_model::{Capabilities, Cell, OptionGroup};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix};
use rustix::rand::{GetRandomFlags, getrandom};
use serde::{Deserialize, Serialize};

use super::socket::Listener;
use super::unix::UnixClient;
use super::{Client, Place, Provision, Server, Transport, TransportError, from_address, to_address};
use crate::{Context, SysError};

/// The transport.
pub struct UnixAbstract;

const CAPABILITIES: Capabilities = Capabilities {
    name: "unix-abstract",
    summary: "a Unix stream socket with a name outside the file system",
    connects: true,
    both_ways: true,
    max_message: None,
    os: &["linux"],
    carries_payload: true,
    option_groups: &[OptionGroup::Socket, OptionGroup::Listener],
    trouble_counters: &[],
    in_default_suite: true,
    floor: None,
};

#[derive(Serialize, Deserialize)]
struct Named {
    name: String,
}

impl Transport for UnixAbstract {
    fn capabilities(&self) -> &'static Capabilities {
        &CAPABILITIES
    }

    fn provision(&self, place: &Place<'_>) -> Result<Provision, TransportError> {
        // Nobody can guess it and bind it first; everybody can see it once it is bound, so callers are examined.
        let name = format!("ipcost-{}/{}", unguessable()?, place.name);
        Ok(Provision { server: to_address(&Named { name }), ..Provision::default() })
    }

    fn serve(&self, address: &Address, cell: &Cell) -> Result<Box<dyn Server>, TransportError> {
        let Named { name } = from_address(CAPABILITIES.name, address)?;
        let at = socket_address(&name)?;
        let address = to_address(&Named { name: name.clone() });
        let listener =
            Listener::open(AddressFamily::UNIX, &at, &format!("@{name}"), cell, |_| Ok(()), |_| Ok(address))?;
        Ok(Box::new(listener))
    }

    fn reach(&self, address: &Address, cell: &Cell, _worker: u32) -> Result<Box<dyn Client>, TransportError> {
        let Named { name } = from_address(CAPABILITIES.name, address)?;
        Ok(Box::new(UnixClient::new(socket_address(&name)?, format!("@{name}"), cell)))
    }
}

/// 128 random bits in hexadecimal digits.
fn unguessable() -> Result<String, SysError> {
    let mut bits = [0_u8; 16];
    let mut filled = 0;
    while filled < bits.len() {
        match getrandom(&mut bits[filled..], GetRandomFlags::empty()) {
            Err(Errno::INTR) => {}
            count => filled += count.context(|| "cannot have random numbers".to_owned())?,
        }
    }
    Ok(bits.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn socket_address(name: &str) -> Result<SocketAddrUnix, SysError> {
    SocketAddrUnix::new_abstract_name(name.as_bytes())
        .context(|| format!("cannot use the abstract name {name}"))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_cannot_be_guessed() {
        let names: HashSet<String> = (0..1000).map(|_| unguessable().unwrap()).collect();
        assert_eq!(names.len(), 1000);
        assert!(names.iter().all(|name| name.len() == 32 && name.chars().all(|c| c.is_ascii_hexdigit())));
        // Every digit varies: 1000 draws of 16 miss one with a chance below 10⁻²⁶.
        for digit in 0..32 {
            let seen: HashSet<char> = names.iter().filter_map(|name| name.chars().nth(digit)).collect();
            assert_eq!(seen.len(), 16, "digit {digit}");
        }
    }
}
