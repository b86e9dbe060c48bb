//! Where buffers begin within a page.

use serde::{Deserialize, Serialize};

use crate::options::{OptionValue, Options};

/// The page size of every supported machine, or a divisor of it, bytes.
pub const PAGE_BYTES: u64 = 4096;

/// Where the buffers of a process begin within a page, bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Offsets {
    /// Buffers that it sends from.
    pub send_offset: u16,
    /// Buffers that it receives into.
    pub recv_offset: u16,
}

/// Where the buffers of a cell begin in an epoch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BufferLayout {
    /// The client's; null if its peer places its buffers by itself.
    pub client: Option<Offsets>,
    /// The server's; null if its peer places its buffers by itself.
    pub server: Option<Offsets>,
    /// Where rings and slots begin in shared memory; absent if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ring_offset: Option<u16>,
}

/// Where a cell's options fix a place; they only hold places within a page.
pub fn fixed_offset(bytes: Option<u64>) -> Option<u16> {
    bytes.and_then(|bytes| u16::try_from(bytes).ok())
}

impl Offsets {
    /// The same with the offsets that a cell's options fix.
    pub fn fixed_by(self, options: &Options) -> Self {
        Self {
            send_offset: fixed_offset(options.send_offset()).unwrap_or(self.send_offset),
            recv_offset: fixed_offset(options.recv_offset()).unwrap_or(self.recv_offset),
        }
    }

    /// Adds them to the options that a peer is sent.
    pub fn add_to(self, options: &mut Options) {
        for (name, bytes) in [("send_offset", self.send_offset), ("recv_offset", self.recv_offset)] {
            options.set(name, OptionValue::Int(bytes.into())).expect("an offset within a page");
        }
    }
}

impl BufferLayout {
    /// How far apart the buffers of the two sides begin, from the sender's to the receiver's, modulo a page: of messages
    /// to the server, then of messages to the client.
    pub fn distances(&self) -> Option<[u64; 2]> {
        let (client, server) = (self.client?, self.server?);
        let apart =
            |from: u16, to: u16| (u64::from(to) + PAGE_BYTES - u64::from(from) % PAGE_BYTES) % PAGE_BYTES;
        Some([apart(client.send_offset, server.recv_offset), apart(server.send_offset, client.recv_offset)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_wrap_around_a_page() {
        let offsets = |send_offset, recv_offset| Some(Offsets { send_offset, recv_offset });
        let layout = BufferLayout { client: offsets(16, 32), server: offsets(4080, 0), ring_offset: None };
        assert_eq!(layout.distances(), Some([4080, 48]));
        assert_eq!(BufferLayout { server: None, ..layout }.distances(), None);
    }
}
