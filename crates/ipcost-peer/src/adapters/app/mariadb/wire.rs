//! The packets of MariaDB's and MySQL's protocol, and the first of a server.

use ipcost_sys::transport::{Channel, Connection};

use super::{CACHING, COM_QUERY, ED25519, ERR, NATIVE, OK, SALT_BYTES};
use crate::adapters::refused;
use crate::adapters::server_address::no_reply;
use crate::{PeerError, ended, send_all};

/// The bytes before a packet's content: its length, and its number in an exchange.
pub(super) const HEADER_BYTES: usize = 4;
/// A packet of this length is continued by the next one.
pub(super) const LONGEST_PACKET: usize = 0xff_ffff;
/// The longest packet that is looked at whole; errors have at most 512 bytes of text.
pub(super) const LONGEST_LOOKED_AT: usize = 65_536;
pub(super) const NOT_MARIADB: &str =
    "it answers with something other than a packet of MariaDB or MySQL; is it one?";

/// Packets before the first request of a connection.
pub(super) struct Wire<'a> {
    pub(super) connection: &'a mut Connection,
    pub(super) buffer: Vec<u8>,
    pub(super) have: usize,
    /// That of the next packet of this side.
    pub(super) number: u8,
}

impl Wire<'_> {
    pub(super) fn next(&mut self) -> Result<Vec<u8>, PeerError> {
        loop {
            let have = &self.buffer[..self.have];
            match length(have) {
                Some(length) if length > LONGEST_LOOKED_AT => return Err(refused(NOT_MARIADB)),
                Some(length) if have.len() >= HEADER_BYTES + length => {
                    let packet = have[HEADER_BYTES..HEADER_BYTES + length].to_vec();
                    self.number = have[HEADER_BYTES - 1].wrapping_add(1);
                    self.buffer.copy_within(HEADER_BYTES + length..self.have, 0);
                    self.have -= HEADER_BYTES + length;
                    return Ok(packet);
                }
                _ => {}
            }
            if self.have == self.buffer.len() {
                self.buffer.resize(self.have * 2, 0);
            }
            match self.connection.receive(&mut self.buffer[self.have..]).map_err(failed)? {
                0 => return Err(failed(ended())),
                more => self.have += more,
            }
        }
    }

    pub(super) fn send(&mut self, body: &[u8]) -> Result<(), PeerError> {
        send_all(self.connection, &packets(self.number, body)).map_err(failed)
    }

    /// Asks for something without rows.
    pub(super) fn ask(&mut self, statement: &str) -> Result<(), PeerError> {
        self.number = 0;
        self.send(&[&[COM_QUERY], statement.as_bytes()].concat())?;
        let packet = self.next()?;
        match packet.first() {
            Some(&OK) => Ok(()),
            Some(&ERR) => Err(refused(format!("the server refused {statement}: {}", error_in(&packet)))),
            _ => Err(refused(NOT_MARIADB)),
        }
    }
}

#[allow(clippy::needless_pass_by_value)]
pub(super) fn failed(error: std::io::Error) -> PeerError {
    refused(format!("the server does not greet as MariaDB and MySQL do: {}", no_reply(&error)))
}

/// What a server says first.
pub(super) struct Handshake {
    pub(super) version: String,
    pub(super) capabilities: u32,
    pub(super) salt: Vec<u8>,
    pub(super) method: Vec<u8>,
}

pub(super) fn handshake(packet: &[u8]) -> Option<Handshake> {
    /// The version of the handshake.
    const VERSION: u8 = 10;
    const SALT_BEGINS: usize = 8;
    let (version, rest) = until_nul(packet.strip_prefix(&[VERSION])?)?;
    let (salt, rest) = rest.get(size_of::<u32>()..)?.split_at_checked(SALT_BEGINS)?;
    // A zero, capabilities, characters, status, the other capabilities, the length of the salt, ten that are reserved.
    let (fields, rest) = rest.split_at_checked(19)?;
    let (more_salt, rest) = rest.split_at_checked(SALT_BYTES - SALT_BEGINS)?;
    let name = rest.get(1..)?;
    Some(Handshake {
        version: String::from_utf8_lossy(version).into_owned(),
        capabilities: u32::from_le_bytes([fields[1], fields[2], fields[6], fields[7]]),
        salt: [salt, more_salt].concat(),
        method: until_nul(name).map_or(name, |(name, _)| name).to_vec(),
    })
}

/// A method of login that is known here.
pub(super) fn known(name: &[u8]) -> Option<&'static str> {
    [NATIVE, CACHING, ED25519].into_iter().find(|known| known.as_bytes() == name)
}

pub(super) fn xor(one: &[u8], other: &[u8]) -> Vec<u8> {
    one.iter().zip(other).map(|(one, other)| one ^ other).collect()
}

/// A body in as many packets as it takes, from this number on.
pub(super) fn packets(number: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    // A packet that is shorter than the longest is the last one, so an empty one may follow.
    for index in 0..=body.len() / LONGEST_PACKET {
        let from = index * LONGEST_PACKET;
        let part = &body[from..body.len().min(from + LONGEST_PACKET)];
        bytes.extend_from_slice(&(part.len() as u32).to_le_bytes()[..3]);
        bytes.push(number.wrapping_add(index as u8));
        bytes.extend_from_slice(part);
    }
    bytes
}

/// The length of the next packet's content.
pub(super) fn length(bytes: &[u8]) -> Option<usize> {
    let header: &[u8; HEADER_BYTES] = bytes.first_chunk()?;
    Some(u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize)
}

/// The bytes of an integer of variable length that begins with this one.
pub(super) fn integer_bytes(first: Option<&u8>) -> usize {
    match first {
        Some(0xfc) => 3,
        Some(0xfd) => 4,
        Some(0xfe) => 9,
        _ => 1,
    }
}

pub(super) fn text(bytes: &mut Vec<u8>, text: &str) {
    bytes.extend_from_slice(text.as_bytes());
    bytes.push(0);
}

pub(super) fn until_nul(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = bytes.iter().position(|byte| *byte == 0)?;
    Some((&bytes[..end], &bytes[end + 1..]))
}

/// The number and the text of an error, between which `#` and a state of five letters may stand.
pub(super) fn error_in(packet: &[u8]) -> String {
    let number =
        packet.get(1..).and_then(|rest| rest.first_chunk()).map_or(0, |bytes| u16::from_le_bytes(*bytes));
    let text = packet.get(3..).unwrap_or_default();
    let text = if text.first() == Some(&b'#') { text.get(6..).unwrap_or_default() } else { text };
    let text = String::from_utf8_lossy(text).replace(['\n', '\r'], " ");
    let text = text.trim_end_matches('.');
    let way_out = match number {
        1040 | 1203 | 1226 => "raise max_connections, or lower --concurrency",
        1045 | 1698 => "set the password in MYSQL_PWD or ~/.my.cnf, or give --user NAME",
        1046 => "give --database NAME",
        1130 => "create a user who may come from there",
        1792 => "give --writes if the query may change data",
        _ => return format!("{text} ({number})"),
    };
    format!("{text}; {way_out}")
}
