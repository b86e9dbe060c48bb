//! A cell: one point of the matrix.

use std::str::FromStr;

use derive_more::{Deref, DerefMut};
use serde::{Deserialize, Serialize};

use crate::arms::ArmName;
use crate::capabilities::OptionGroup;
use crate::error::ModelError;
use crate::job::NATIVE;
use crate::named;
use crate::options::choices::{self, Io};
use crate::options::{OptionValue, Options, STEADY};
use crate::units::parse_size;

named! {
    /// What is done over a transport.
    #[derive(Default)]
    Pattern, "pattern" {
        /// Every operation opens a connection, exchanges one message each way and closes it.
        Connect = "connect",
        /// Request and reply on an open connection; one operation is the whole round trip.
        #[default]
        Rr = "rr",
        /// Messages one way; the cost is of delivered messages.
        Stream = "stream",
        /// A part of a hop on its own: its least cost here.
        Floor = "floor",
    }
}

named! {
    /// Where the two processes run.
    #[derive(Default)]
    Placement, "placement" {
        /// The scheduler decides.
        #[default]
        Free = "free",
        /// Both on one core.
        Together = "together" as "one-core",
        /// On two physical cores.
        Apart = "apart" as "two-cores",
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
    #[derive(Default)]
    SpeaksFirst, "value of speaks_first" {
        /// The client sends `size` bytes, the server answers `reply` bytes and closes.
        #[default]
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
    #[serde(default)]
    pub speaks_first: SpeaksFirst,
    /// What the client asks of a real server, such as `SELECT 1`; the sizes are then 0, since the text decides them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// Options set by name; absent ones have their defaults.
    #[serde(default)]
    pub options: Options,
}

impl Cell {
    /// A cell with the usual settings: one worker, replies as large as the messages, no option.
    pub fn new(pattern: Pattern, transport: &str, size: u64) -> Self {
        Work::new(pattern, size).over(transport, Options::default())
    }

    /// The payload bytes one operation moves, both directions together; in `floor`, those it copies.
    pub fn bytes_per_op(&self) -> u64 {
        match (self.pattern, self.speaks_first) {
            (Pattern::Floor, _) => self.size * self.options.copies().unwrap_or(1),
            (Pattern::Connect, SpeaksFirst::Server) => self.reply,
            (Pattern::Connect | Pattern::Rr | Pattern::Stream, _) => self.size + self.reply,
        }
    }

    /// How a side waits for the other.
    pub fn wait(&self) -> Wait {
        match (self.options.wait(), self.options.io()) {
            // With uring-sqpoll a kernel thread polls for submissions.
            (Some(choices::Wait::Spin), _) | (_, Some(Io::Spin | Io::UringSqpoll)) => Wait::Spin,
            (Some(choices::Wait::Hybrid), _) => Wait::Hybrid,
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
        ops + ops * self.options.extra_work().unwrap_or(0) / 100
    }

    /// Who closes first in `connect`, or `any`.
    pub fn closes_first(&self) -> Option<&'static str> {
        let first = self.options.closes_first().unwrap_or(choices::ClosesFirst::Server);
        (self.pattern == Pattern::Connect).then(|| first.name())
    }
}

/// The option that sends several requests at once: they do not do the work of one.
pub(crate) const PIPELINE: &str = "pipeline";

/// What the cells of one table share: what is done and where, but not over which transport, by which peers or with which
/// options.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Work {
    /// The pattern.
    pub pattern: Pattern,
    /// Bytes from client to server.
    pub size: u64,
    /// Bytes from server to client.
    pub reply: u64,
    /// Workers in the client.
    pub concurrency: u32,
    /// Who sends first in `connect`.
    pub speaks_first: SpeaksFirst,
    /// What the client asks of a real server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// Requests that are sent before the first reply is read, where that is more than one (option `pipeline`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pipeline: Option<u64>,
    /// When operations begin, where that is not back to back: the options of [`OptionGroup::Pace`].
    #[serde(default, skip_serializing_if = "Options::is_empty")]
    pub pace: Options,
    /// The row that it is about, where a table compares the two arms of one row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub row: Option<String>,
    /// Where the processes run.
    pub placement: Placement,
}

impl Work {
    /// The usual: one worker, replies as large as the messages, wherever the scheduler places the processes.
    pub fn new(pattern: Pattern, size: u64) -> Self {
        let replies = matches!(pattern, Pattern::Connect | Pattern::Rr);
        Self {
            pattern,
            size,
            reply: if replies { size } else { 0 },
            concurrency: 1,
            speaks_first: SpeaksFirst::Client,
            request: None,
            pipeline: None,
            pace: Options::default(),
            row: None,
            placement: Placement::Free,
        }
    }

    /// This work over a transport, with options.
    pub fn over(self, transport: &str, options: Options) -> Cell {
        let Self {
            pattern,
            size,
            reply,
            concurrency,
            speaks_first,
            request,
            pipeline: _,
            pace: _,
            row: _,
            placement: _,
        } = self;
        let transport = transport.to_owned();
        Cell { pattern, transport, size, reply, concurrency, speaks_first, request, options }
    }
}

/// A point of the matrix: what is done, by which peers, and where.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, Deref, DerefMut)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Point {
    /// The part sent to the peers.
    #[deref]
    #[deref_mut]
    #[serde(flatten)]
    pub cell: Cell,
    /// Where the processes run.
    pub placement: Placement,
    /// The peer that plays the client.
    pub client: String,
    /// The peer that plays the server.
    pub server: String,
    /// The arm of a run that compares two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arm: Option<ArmName>,
}

/// A property of a point.
pub struct PointProperty {
    /// Its name in tables, ids and files.
    pub name: &'static str,
    /// Its value as text.
    pub value: fn(&Point) -> String,
    /// The value that a user's text means, or what is wrong with the text.
    pub read: fn(&str) -> Result<String, ModelError>,
}

impl Point {
    /// The same without its pace: what is compared over pauses.
    pub fn without_pace(&self) -> Self {
        let mut point = self.clone();
        point.cell.options = point.cell.options.without(OptionGroup::Pace);
        point
    }

    /// A cell between processes of the built-in peer that the scheduler places.
    pub fn free(cell: Cell) -> Self {
        Self {
            cell,
            placement: Placement::Free,
            client: NATIVE.to_owned(),
            server: NATIVE.to_owned(),
            arm: None,
        }
    }

    /// Whether its batches are long transfers.
    pub fn is_steady(&self) -> bool {
        self.cell.options.steady() == Some(true)
    }

    /// The same with long transfers.
    pub fn steady(&self) -> Self {
        let mut point = self.clone();
        point.cell.options.set(STEADY, OptionValue::Bool(true)).expect("a switch of the catalogue");
        point
    }

    /// What its table is about.
    pub fn work(&self) -> Work {
        let Self { cell, placement, .. } = self;
        Work {
            pattern: cell.pattern,
            // Floors of every size share a table.
            size: if cell.pattern == Pattern::Floor { 0 } else { cell.size },
            reply: cell.reply,
            concurrency: cell.concurrency,
            speaks_first: cell.speaks_first,
            request: cell.request.clone(),
            pipeline: cell.options.pipeline(),
            pace: cell.options.only(OptionGroup::Pace),
            row: None,
            placement: *placement,
        }
    }

    /// The id of its row in both arms, from its own id, which ends in the arm.
    pub fn id_without_arm<'a>(&self, id: &'a str) -> &'a str {
        let end = self.arm.map(arm_part).unwrap_or_default();
        id.strip_suffix(&end).unwrap_or(id)
    }

    /// Everything that distinguishes points, in the order of tables.
    pub const COLUMNS: [PointProperty; 13] = [
        PointProperty { name: "pattern", value: |point| point.pattern.to_string(), read: read::<Pattern> },
        PointProperty { name: "transport", value: |point| point.transport.clone(), read: as_it_is },
        PointProperty { name: "size", value: |point| point.size.to_string(), read: size },
        PointProperty { name: "reply", value: |point| point.reply.to_string(), read: size },
        PointProperty {
            name: "concurrency",
            value: |point| point.concurrency.to_string(),
            read: read::<u32>,
        },
        PointProperty {
            name: "speaks_first",
            value: |point| point.speaks_first.to_string(),
            read: read::<SpeaksFirst>,
        },
        PointProperty {
            name: "closes_first",
            value: |point| point.closes_first().unwrap_or_default().to_owned(),
            read: as_it_is,
        },
        PointProperty {
            name: "request",
            value: |point| point.request.clone().unwrap_or_default(),
            read: as_it_is,
        },
        PointProperty {
            name: "placement",
            value: |point| point.placement.to_string(),
            read: read::<Placement>,
        },
        PointProperty { name: "client", value: |point| point.client.clone(), read: as_it_is },
        PointProperty { name: "server", value: |point| point.server.clone(), read: as_it_is },
        PointProperty {
            name: "options",
            value: |point| {
                let settings: Vec<String> =
                    point.options.iter().map(|(name, value)| format!("{name}={value}")).collect();
                settings.join(" ")
            },
            read: as_it_is,
        },
        PointProperty {
            name: "arm",
            value: |point| point.arm.map(|arm| arm.to_string()).unwrap_or_default(),
            read: read::<ArmName>,
        },
    ];

    /// The first column in which two points differ, with both values.
    pub fn difference(&self, other: &Self) -> Option<(&'static str, String, String)> {
        let values = Self::COLUMNS.iter().map(|it| (it.name, (it.value)(self), (it.value)(other)));
        values.into_iter().find(|(_, own, others)| own != others)
    }

    /// What it is set to beside its sizes, places and peers, where that is not the usual: names and values.
    pub fn settings(&self) -> Vec<(&'static str, String)> {
        let first = (self.speaks_first != SpeaksFirst::Client)
            .then(|| ("speaks_first", self.speaks_first.to_string()));
        let request = self.request.as_deref().map(|request| ("request", encoded(request)));
        let options = self.options.iter().map(|(name, value)| (name.spec().name, value.to_string()));
        first.into_iter().chain(request).chain(options).collect()
    }

    /// The identity that is stable between runs:
    /// `pattern/transport/size[→reply]/cN[/placement][/client→server][/options][/arm]`.
    pub fn id(&self) -> String {
        let Self { placement, client, server, .. } = self;
        let mut id = format!("{}/{}", self.pattern, self.transport);
        // Most floors have no size.
        if self.pattern != Pattern::Floor || self.size > 0 {
            id.push_str(&format!("/{}", self.size));
        }
        if matches!(self.pattern, Pattern::Rr | Pattern::Connect) && self.reply != self.size {
            id.push_str(&format!("→{}", self.reply));
        }
        id.push_str(&format!("/c{}", self.concurrency));
        if *placement != Placement::Free {
            id.push_str(&format!("/{placement}"));
        }
        if client != NATIVE || server != NATIVE {
            id.push_str(&format!("/{client}→{server}"));
        }
        let settings: Vec<String> =
            self.settings().into_iter().map(|(name, value)| format!("{name}={value}")).collect();
        if !settings.is_empty() {
            id.push_str(&format!("/{}", settings.join(",")));
        }
        id.extend(self.arm.map(arm_part));
        id
    }
}

/// How an id ends that has an arm.
pub(crate) fn arm_part(arm: ArmName) -> String {
    format!("/arm={arm}")
}

fn read<T: FromStr<Err: Into<ModelError>> + ToString>(text: &str) -> Result<String, ModelError> {
    text.parse().map(|value: T| value.to_string()).map_err(Into::into)
}

/// A text without what separates the parts of an id; [`decoded`] is the inverse.
fn encoded(text: &str) -> String {
    let separates = |letter: char| matches!(letter, '%' | '/' | ',' | '=' | '→' | '>') || letter.is_control();
    let mut bytes = [0; 4];
    text.chars()
        .map(|letter| match separates(letter) {
            true => letter.encode_utf8(&mut bytes).bytes().map(|byte| format!("%{byte:02X}")).collect(),
            false => letter.to_string(),
        })
        .collect()
}

/// The text in an id.
pub(crate) fn decoded(text: &str) -> Result<String, ModelError> {
    const BAD_PERCENT: ModelError =
        ModelError::Invalid("a % is followed by two hexadecimal digits; write %25 for one");
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let (byte, left) = match first {
            b'%' => {
                let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
                let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
                (byte.ok_or(BAD_PERCENT)?, &after[2..])
            }
            byte => (*byte, after),
        };
        bytes.push(byte);
        rest = left;
    }
    String::from_utf8(bytes).map_err(|_| ModelError::NotUtf8(text.to_owned()))
}

fn as_it_is(text: &str) -> Result<String, ModelError> {
    Ok(text.to_owned())
}

fn size(text: &str) -> Result<String, ModelError> {
    parse_size(text).map(|bytes| bytes.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::OptionValue;

    fn cell() -> Cell {
        Cell::new(Pattern::Rr, "unix", 64)
    }

    fn point(cell: Cell, placement: Placement, client: &str) -> Point {
        Point { placement, client: client.to_owned(), ..Point::free(cell) }
    }

    #[test]
    fn ids_name_only_what_differs_from_the_usual() {
        let mut cell = cell();
        assert_eq!(point(cell.clone(), Placement::Free, NATIVE).id(), "rr/unix/64/c1");
        cell.reply = 2;
        cell.options.set("so_sndbuf", OptionValue::Int(4096)).unwrap();
        assert_eq!(
            point(cell.clone(), Placement::Apart, "go").id(),
            "rr/unix/64→2/c1/apart/go→native/so_sndbuf=4096"
        );
        cell.pattern = Pattern::Connect;
        cell.speaks_first = SpeaksFirst::Server;
        assert_eq!(
            point(cell, Placement::Free, NATIVE).id(),
            "connect/unix/64→2/c1/speaks_first=server,so_sndbuf=4096"
        );
    }

    #[test]
    fn points_of_other_ids_differ_in_a_column() {
        let usual = point(cell(), Placement::Free, NATIVE);
        let set = |change: &dyn Fn(&mut Point)| {
            let mut other = usual.clone();
            change(&mut other);
            other
        };
        let others: [(&str, Point); 9] = [
            ("pattern", set(&|point| point.cell.pattern = Pattern::Stream)),
            ("transport", set(&|point| point.cell.transport = "tcp".into())),
            ("size", set(&|point| point.cell.size = 65)),
            ("reply", set(&|point| point.cell.reply = 65)),
            ("concurrency", set(&|point| point.cell.concurrency = 2)),
            ("speaks_first", set(&|point| point.cell.speaks_first = SpeaksFirst::Server)),
            ("placement", set(&|point| point.placement = Placement::Apart)),
            ("client", set(&|point| point.client = "go".into())),
            ("options", set(&|point| point.cell.options.set("so_sndbuf", OptionValue::Int(1)).unwrap())),
        ];
        for (column, other) in others {
            assert_eq!(usual.difference(&other).map(|found| found.0), Some(column));
            assert_ne!(usual.id(), other.id());
        }
        assert_eq!(usual.difference(&usual), None);
    }

    #[test]
    fn floors_have_a_size_only_where_they_copy() {
        let mut cell =
            Cell { pattern: Pattern::Floor, transport: "switch".into(), size: 0, reply: 0, ..cell() };
        let id = |cell: &Cell| point(cell.clone(), Placement::Together, NATIVE).id();
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
