//! A cell: one point of the matrix.

use serde::{Deserialize, Serialize};

use crate::named;
use crate::options::Options;

named! {
    /// What is done over a transport.
    Pattern, "pattern" {
        /// Every operation opens a connection, exchanges one message each way and closes it.
        Connect = "connect",
        /// Request and reply on an open connection; one operation is the whole round trip.
        Rr = "rr",
        /// Messages one way; the cost is of delivered messages.
        Stream = "stream",
        /// A part of a hop on its own: its least cost here.
        Floor = "floor",
    }
}

named! {
    /// Where the two processes run.
    Placement, "placement" {
        /// The scheduler decides.
        Free = "free",
        /// Both on one core.
        Together = "together",
        /// On two physical cores.
        Apart = "apart",
    }
}

named! {
    /// Where the scheduler ran the processes of a batch.
    Ran, "value of ran" {
        /// All on one processor.
        Together = "together",
        /// Client and server on separate physical cores.
        Apart = "apart",
        /// Neither: some moved, or they shared a core part of the time.
        Mixed = "mixed",
    }
}

named! {
    /// Who sends the first message of a connection in pattern `connect`.
    SpeaksFirst, "value of speaks_first" {
        /// The client sends `size` bytes, the server answers `reply` bytes and closes.
        Client = "client",
        /// The server sends `reply` bytes and closes at once.
        Server = "server",
    }
}

/// How a side waits for the other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Wait {
    /// It sleeps until the kernel wakes it.
    #[default]
    Block,
    /// It polls, and so keeps a core busy.
    Spin,
    /// It polls for a bounded time, then sleeps.
    Hybrid,
}

/// The part of a cell sent to the peers: the pattern, over which transport.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cell {
    /// What is done.
    pub pattern: Pattern,
    /// A name of the transport registry.
    pub transport: String,
    /// Bytes of a message from client to server.
    pub size: u64,
    /// Bytes of a message from server to client; 0 in `stream`, which has no replies.
    pub reply: u64,
    /// Workers in the client, each in a loop of its own.
    pub concurrency: u32,
    /// Who sends first in `connect`.
    pub speaks_first: SpeaksFirst,
    /// Options set by name; absent ones have their defaults.
    #[serde(default)]
    pub options: Options,
}

impl Cell {
    /// The payload bytes one operation moves, both directions together; in `floor`, those it copies.
    pub fn bytes_per_op(&self) -> u64 {
        match (self.pattern, self.speaks_first) {
            (Pattern::Floor, _) => self.size * self.options.int("copies").unwrap_or(1),
            (Pattern::Connect, SpeaksFirst::Server) => self.reply,
            (Pattern::Connect | Pattern::Rr | Pattern::Stream, _) => self.size + self.reply,
        }
    }

    /// How a side waits for the other.
    pub fn wait(&self) -> Wait {
        match (self.options.text("wait"), self.options.text("io")) {
            // With uring-sqpoll a kernel thread polls for submissions.
            (Some("spin"), _) | (_, Some("spin" | "uring-sqpoll")) => Wait::Spin,
            (Some("hybrid"), _) => Wait::Hybrid,
            _ => Wait::Block,
        }
    }

    /// Whether its operations have a latency: a stream's sender does not see them end, and floors are too short for a
    /// clock.
    pub fn has_latency(&self) -> bool {
        match self.pattern {
            Pattern::Connect | Pattern::Rr => true,
            Pattern::Stream | Pattern::Floor => false,
        }
    }

    /// The exchanges in this many operations: with the option `extra_work`, some are done twice.
    pub fn work_for(&self, ops: u64) -> u64 {
        ops + ops * self.options.int("extra_work").unwrap_or(0) / 100
    }

    /// The identity that is stable between runs:
    /// `pattern/transport/size[→reply]/cN[/placement][/client→server][/options]`.
    pub fn id(&self, placement: Placement, client: &str, server: &str, native: &str) -> String {
        let mut id = format!("{}/{}", self.pattern, self.transport);
        // Most floors have no size.
        if self.pattern != Pattern::Floor || self.size > 0 {
            id.push_str(&format!("/{}", self.size));
        }
        if matches!(self.pattern, Pattern::Rr | Pattern::Connect) && self.reply != self.size {
            id.push_str(&format!("→{}", self.reply));
        }
        id.push_str(&format!("/c{}", self.concurrency));
        if placement != Placement::Free {
            id.push_str(&format!("/{placement}"));
        }
        if client != native || server != native {
            id.push_str(&format!("/{client}→{server}"));
        }
        let mut settings = Vec::new();
        if self.speaks_first != SpeaksFirst::Client {
            settings.push(format!("speaks_first={}", self.speaks_first));
        }
        settings.extend(self.options.iter().map(|(name, value)| format!("{name}={value}")));
        if !settings.is_empty() {
            id.push_str(&format!("/{}", settings.join(",")));
        }
        id
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::OptionValue;

    fn cell() -> Cell {
        Cell {
            pattern: Pattern::Rr,
            transport: "unix".into(),
            size: 64,
            reply: 64,
            concurrency: 1,
            speaks_first: SpeaksFirst::Client,
            options: Options::default(),
        }
    }

    #[test]
    fn ids_name_only_what_differs_from_the_usual() {
        let mut cell = cell();
        assert_eq!(cell.id(Placement::Free, "native", "native", "native"), "rr/unix/64/c1");
        cell.reply = 2;
        cell.options.set("so_sndbuf", OptionValue::Int(4096)).unwrap();
        assert_eq!(
            cell.id(Placement::Apart, "go", "native", "native"),
            "rr/unix/64→2/c1/apart/go→native/so_sndbuf=4096"
        );
        cell.pattern = Pattern::Connect;
        cell.speaks_first = SpeaksFirst::Server;
        assert_eq!(
            cell.id(Placement::Free, "native", "native", "native"),
            "connect/unix/64→2/c1/speaks_first=server,so_sndbuf=4096"
        );
    }

    #[test]
    fn floors_have_a_size_only_where_they_copy() {
        let mut cell =
            Cell { pattern: Pattern::Floor, transport: "switch".into(), size: 0, reply: 0, ..cell() };
        let id = |cell: &Cell| cell.id(Placement::Together, "native", "native", "native");
        assert_eq!(id(&cell), "floor/switch/c1/together");
        (cell.transport, cell.size) = ("memcpy".into(), 64);
        assert_eq!((id(&cell).as_str(), cell.bytes_per_op()), ("floor/memcpy/64/c1/together", 64));
        cell.options.set("copies", OptionValue::Int(2)).unwrap();
        assert_eq!(cell.bytes_per_op(), 128);
    }

    #[test]
    fn a_cell_travels_as_the_protocol_writes_it() {
        let text = r#"{"pattern":"rr","transport":"unix","size":64,"reply":64,"concurrency":1,"speaks_first":"client","options":{}}"#;
        assert_eq!(serde_json::to_string(&cell()).unwrap(), text);
        assert_eq!(serde_json::from_str::<Cell>(text).unwrap(), cell());
    }

    #[test]
    fn bytes_counted_are_those_that_travel() {
        let mut cell = cell();
        cell.reply = 2;
        assert_eq!(cell.bytes_per_op(), 66);
        cell.pattern = Pattern::Connect;
        cell.speaks_first = SpeaksFirst::Server;
        assert_eq!(cell.bytes_per_op(), 2);
    }
}
