//! A job: what to measure, as the user asked for it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

use serde::de::{self, DeserializeSeed, IntoDeserializer, MapAccess, SeqAccess, Visitor, value};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::arms::{ArmName, Arms};
use crate::cell::{Pattern, Placement, SpeaksFirst, Work, decoded};
use crate::error::ModelError;
use crate::named;
use crate::options::{OptionName, OptionValue, Options, ValueSeed};
use crate::units::{parse_duration, parse_proportion, parse_size};

/// The name of the built-in peer.
pub const NATIVE: &str = "native";

named! {
    /// How latency is sampled.
    #[derive(Default)]
    LatencyMode, "value of latency" {
        /// In a separate batch after each timed one, while the loop is warm; no timed batch reads the clock per
        /// operation.
        Tail = "tail",
        /// In the lead-ins, so that no timed batch reads the clock per operation.
        LeadIn = "lead-in",
        /// In every timed batch; the clock's own cost is then part of `wall`.
        Inline = "inline",
        /// Not at all.
        #[default]
        Off = "off",
    }
}

/// What to measure. Absent settings take their defaults; lists in `cells` multiply into a matrix.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Job {
    /// The baseline: a transport, a label or a cell's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline: Option<String>,
    /// How long the run may take.
    #[serde(skip_serializing_if = "Option::is_none", with = "duration")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub budget: Option<Duration>,
    /// The relative difference that matters (0.05 is 5 %).
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "proportion")]
    pub margin: Option<f64>,
    /// Exactly this many epochs, regardless of the budget.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epochs: Option<u32>,
    /// The seed of every random order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// The target length of a timed batch; by default chosen from variances and start-up times.
    #[serde(skip_serializing_if = "Option::is_none", with = "duration")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub batch: Option<Duration>,
    /// Whether to measure, in the same rounds, the least cost of the cells' parts here.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub floor: bool,
    /// Whether to measure every cell to the end; otherwise cells of answered questions leave, and their time goes to
    /// open ones.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub keep_all: bool,
    /// How latency is sampled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency: Option<LatencyMode>,
    /// How long a peer may take to answer a message.
    #[serde(skip_serializing_if = "Option::is_none", with = "duration")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub timeout: Option<Duration>,
    /// The cells, as matrices.
    pub cells: Vec<Matrix>,
    /// Two arms, if the question is whether a setting, a library or a build changes anything: every cell is measured in both.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ab: Option<Arms>,
    /// Peers besides the built-in one, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub peers: BTreeMap<String, PeerCommand>,
}

/// Cells by lists: every combination is one cell.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Matrix {
    /// The row's name in tables.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The pattern; default `rr`.
    #[serde(skip_serializing_if = "OneOrMany::is_empty")]
    pub pattern: OneOrMany<Pattern>,
    /// The transports; no default.
    #[serde(skip_serializing_if = "OneOrMany::is_empty")]
    pub transport: OneOrMany<String>,
    /// Bytes from client to server; default 64.
    #[serde(skip_serializing_if = "OneOrMany::is_empty")]
    pub size: OneOrMany<Size>,
    /// Bytes from server to client; default the same as `size`.
    #[serde(skip_serializing_if = "OneOrMany::is_empty")]
    pub reply: OneOrMany<Size>,
    /// Workers in the client; default 1.
    #[serde(skip_serializing_if = "OneOrMany::is_empty")]
    pub concurrency: OneOrMany<u32>,
    /// Where the processes run; default `free`.
    #[serde(skip_serializing_if = "OneOrMany::is_empty")]
    pub placement: OneOrMany<Placement>,
    /// The peer that plays the client; default `native`.
    #[serde(skip_serializing_if = "OneOrMany::is_empty")]
    pub client: OneOrMany<String>,
    /// The peer that plays the server; default `native`.
    #[serde(skip_serializing_if = "OneOrMany::is_empty")]
    pub server: OneOrMany<String>,
    /// Who sends first in `connect`; default `client`.
    #[serde(skip_serializing_if = "OneOrMany::is_empty")]
    pub speaks_first: OneOrMany<SpeaksFirst>,
    /// What the client asks of a real server, for peers that drive one.
    #[serde(skip_serializing_if = "OneOrMany::is_empty")]
    pub request: OneOrMany<String>,
    /// How long the unmeasured operations before a batch last. Set it where the usual few milliseconds do not reach
    /// the state to be measured: caches, where the scheduler settles, ports in TIME_WAIT. With 0 the one batch of an
    /// epoch is the first thing that processes and connections do; they are verified after it.
    #[serde(skip_serializing_if = "Option::is_none", with = "duration")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub lead_in: Option<Duration>,
    /// How long a timed batch lasts, where that is not the job's `batch`.
    #[serde(skip_serializing_if = "Option::is_none", with = "duration")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub batch: Option<Duration>,
    /// Options by name, each with one value or several.
    #[serde(skip_serializing_if = "OptionLists::is_empty")]
    pub options: OptionLists,
}

impl Matrix {
    /// What is wrong with its requests in a file that anybody may have written: a user who types `@FILE` on a command line means a file of
    /// theirs to be sent, one who runs such a file may not.
    pub fn check_requests_of_a_file(&self) -> Result<(), ModelError> {
        let from_file = self.request.0.iter().find(|request| request.starts_with('@'));
        from_file.map_or(Ok(()), |request| Err(ModelError::RequestOfFile(request.clone())))
    }

    /// Its lists, and the flags of the command line that give them.
    pub const FLAGS: [(&str, &str); 10] = [
        ("transport", "--transports"),
        ("pattern", "--patterns"),
        ("size", "--sizes"),
        ("reply", "--replies"),
        ("concurrency", "--concurrency"),
        ("placement", "--placement"),
        ("client", "--client"),
        ("server", "--server"),
        ("speaks_first", "--speaks-first"),
        ("request", "--request"),
    ];

    /// How many cells its lists multiply to.
    pub fn combinations(&self) -> usize {
        let lists = [
            self.transport.0.len(),
            self.pattern.0.len(),
            self.size.0.len(),
            self.reply.0.len(),
            self.concurrency.0.len(),
            self.placement.0.len(),
            self.client.0.len(),
            self.server.0.len(),
            self.speaks_first.0.len(),
            self.request.0.len(),
        ];
        let lists = lists.into_iter().chain(self.options.0.values().map(Vec::len));
        lists.fold(1_usize, |product, list| product.saturating_mul(list.max(1)))
    }

    /// The work of its tables, in their order.
    pub fn works(&self) -> Vec<Work> {
        let requests: Vec<Option<&String>> = match &self.request.0[..] {
            [] => vec![None],
            requests => requests.iter().map(Some).collect(),
        };
        let mut works = Vec::new();
        for pattern in self.pattern.or(Pattern::Rr) {
            for request in &requests {
                // A text decides how long requests and replies are.
                let size = if request.is_some() { Size(0) } else { Size(64) };
                for size in self.size.or(size) {
                    for reply in self.reply.or(size) {
                        for concurrency in self.concurrency.or(1) {
                            for placement in self.placement.or(Placement::Free) {
                                works.extend(self.speaks_first.or(SpeaksFirst::Client).into_iter().map(
                                    |speaks_first| Work {
                                        pattern,
                                        size: size.0,
                                        reply: reply.0,
                                        concurrency,
                                        placement,
                                        speaks_first,
                                        request: request.cloned(),
                                        pipeline: None,
                                        pace: Options::default(),
                                        row: None,
                                    },
                                ));
                            }
                        }
                    }
                }
            }
        }
        works
    }

    /// Reads a setting of an id, `name=value`.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), ModelError> {
        if name == "speaks_first" {
            self.speaks_first = vec![value.parse()?].into();
            return Ok(());
        }
        if name == "request" {
            self.request = vec![decoded(value)?].into();
            return Ok(());
        }
        if name == "arm" {
            return Err(ModelError::Invalid(
                "an arm is a part of a run of ipcost ab, and cannot be measured by itself; leave it out",
            ));
        }
        let name = OptionName::find(name)?;
        match self.options.0.insert(name, vec![name.spec().parse(value)?]) {
            Some(_) => Err(ModelError::SetTwice(name.spec().name)),
            None => Ok(()),
        }
    }
}

/// How to start a peer: the program and its arguments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PeerCommand {
    /// The program, then its arguments; no shell is involved.
    pub command: Vec<String>,
    /// A real server that its client asks, if one is to be started for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<ServiceCommand>,
}

/// How to start a real server: a program that prepares it in a directory and tells where it listens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ServiceCommand {
    /// The program, then its arguments.
    pub command: Vec<String>,
    /// How long it runs.
    #[serde(default)]
    pub lasts: Lasts,
}

named! {
    /// How long a server runs.
    #[derive(Default)]
    Lasts, "value of lasts" {
        /// Each epoch has one of its own.
        #[default]
        Epoch = "epoch",
        /// One serves the whole run: what is known then holds for this server process.
        Run = "run",
    }
}

/// A size in bytes; in a job also text such as `"16KiB"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Size(pub u64);

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct SizeVisitor;
        impl Visitor<'_> for SizeVisitor {
            type Value = Size;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a size such as 64 or \"16KiB\"")
            }

            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Size, E> {
                u64::try_from(value).map(Size).map_err(|_| E::custom(format!("a size cannot be {value}")))
            }

            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Size, E> {
                Ok(Size(value))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Size, E> {
                parse_size(text).map(Size).map_err(E::custom)
            }
        }
        deserializer.deserialize_any(SizeVisitor)
    }
}

/// A list that may be written as its single element.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct OneOrMany<T>(pub Vec<T>);

impl<T> Default for OneOrMany<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> From<Vec<T>> for OneOrMany<T> {
    fn from(list: Vec<T>) -> Self {
        Self(list)
    }
}

impl<T> OneOrMany<T> {
    /// Whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<T: Clone> OneOrMany<T> {
    /// The elements, or the default given if there are none.
    pub fn or(&self, default: T) -> Vec<T> {
        if self.0.is_empty() { vec![default] } else { self.0.clone() }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for OneOrMany<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        list_of(deserializer, PhantomData).map(Self)
    }
}

/// Reads a list of values, or a single one, with `seed`; an empty list is an error.
fn list_of<'de, D, S>(deserializer: D, seed: S) -> Result<Vec<S::Value>, D::Error>
where
    D: Deserializer<'de>,
    S: DeserializeSeed<'de> + Clone,
{
    struct ListVisitor<S>(S);
    impl<'de, S: DeserializeSeed<'de> + Clone> Visitor<'de> for ListVisitor<S> {
        type Value = Vec<S::Value>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a value or a list of values")
        }

        fn visit_bool<E: de::Error>(self, value: bool) -> Result<Self::Value, E> {
            one(self.0, value::BoolDeserializer::new(value))
        }

        fn visit_i64<E: de::Error>(self, value: i64) -> Result<Self::Value, E> {
            match u64::try_from(value) {
                Ok(value) => one(self.0, value::U64Deserializer::new(value)),
                Err(_) => one(self.0, value::I64Deserializer::new(value)),
            }
        }

        fn visit_u64<E: de::Error>(self, value: u64) -> Result<Self::Value, E> {
            one(self.0, value::U64Deserializer::new(value))
        }

        fn visit_f64<E: de::Error>(self, value: f64) -> Result<Self::Value, E> {
            one(self.0, value::F64Deserializer::new(value))
        }

        fn visit_str<E: de::Error>(self, value: &str) -> Result<Self::Value, E> {
            one(self.0, value.into_deserializer())
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Self::Value, A::Error> {
            let mut list = Vec::new();
            while let Some(element) = elements.next_element_seed(self.0.clone())? {
                list.push(element);
            }
            if list.is_empty() {
                return Err(de::Error::custom("the list is empty; give at least one value"));
            }
            Ok(list)
        }
    }

    fn one<'de, S: DeserializeSeed<'de>, D: Deserializer<'de>>(
        seed: S,
        value: D,
    ) -> Result<Vec<S::Value>, D::Error> {
        seed.deserialize(value).map(|value| vec![value])
    }

    deserializer.deserialize_any(ListVisitor(seed))
}

/// Options by name, each with one value or several.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct OptionLists(pub BTreeMap<OptionName, Vec<OptionValue>>);

impl OptionLists {
    /// Whether nothing is set.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[derive(Clone)]
struct SharedValueSeed(OptionName);

impl<'de> DeserializeSeed<'de> for SharedValueSeed {
    type Value = OptionValue;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<OptionValue, D::Error> {
        ValueSeed(self.0).deserialize(deserializer)
    }
}

struct ListSeed(OptionName);

impl<'de> DeserializeSeed<'de> for ListSeed {
    type Value = Vec<OptionValue>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        list_of(deserializer, SharedValueSeed(self.0))
    }
}

impl<'de> Deserialize<'de> for OptionLists {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = OptionLists;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("options by name")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<OptionLists, A::Error> {
                let mut lists = BTreeMap::new();
                while let Some(name) = map.next_key::<OptionName>()? {
                    lists.insert(name, map.next_value_seed(ListSeed(name))?);
                }
                Ok(OptionLists(lists))
            }
        }
        deserializer.deserialize_map(Entries)
    }
}

/// Reads a number or a text with the given parser.
fn number_or_text<'de, D, T>(
    deserializer: D,
    what: &'static str,
    parse: fn(&str) -> Result<T, ModelError>,
) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
{
    struct NumberOrText<T>(&'static str, fn(&str) -> Result<T, ModelError>);
    impl<T> Visitor<'_> for NumberOrText<T> {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0)
        }

        fn visit_i64<E: de::Error>(self, value: i64) -> Result<T, E> {
            (self.1)(&value.to_string()).map_err(E::custom)
        }

        fn visit_u64<E: de::Error>(self, value: u64) -> Result<T, E> {
            (self.1)(&value.to_string()).map_err(E::custom)
        }

        fn visit_f64<E: de::Error>(self, value: f64) -> Result<T, E> {
            (self.1)(&value.to_string()).map_err(E::custom)
        }

        fn visit_str<E: de::Error>(self, value: &str) -> Result<T, E> {
            (self.1)(value).map_err(E::custom)
        }
    }
    deserializer.deserialize_any(NumberOrText(what, parse))
}

fn proportion<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    number_or_text(deserializer, "a margin such as \"2%\" or 0.02", parse_proportion).map(Some)
}

/// Durations in TOML and JSON.
pub mod duration {
    use super::{Deserializer, Duration, Serializer, number_or_text, parse_duration};

    /// As a string such as `30s`.
    pub fn serialize<S: Serializer>(value: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
        match value {
            Some(duration) => serializer.collect_str(&humantime::format_duration(*duration)),
            None => serializer.serialize_none(),
        }
    }

    /// From text, or from a number of seconds.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
        number_or_text(deserializer, "a duration such as \"30s\"", parse_duration).map(Some)
    }
}

/// Whether a name is valid for a peer: it must not be the built-in one's, nor make ids ambiguous.
pub fn check_peer_name(name: &str) -> Result<(), ModelError> {
    if name == NATIVE {
        return Err(ModelError::NativeName);
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.is_empty() || !name.chars().all(plain) {
        return Err(ModelError::PeerName(name.to_owned()));
    }
    Ok(())
}

impl Job {
    /// Every command that it would have started, and what changes how programs start: what it is, and its text.
    pub fn commands(&self) -> Vec<(String, String)> {
        let mut all = Vec::new();
        for (name, peer) in &self.peers {
            all.push((format!("peer {name}"), peer.command.join(" ")));
            all.extend(
                peer.service
                    .iter()
                    .map(|service| (format!("the server of {name}"), service.command.join(" "))),
            );
        }
        if let Some(arms) = &self.ab {
            for name in ArmName::ALL {
                let (arm, title) = (arms.arm(*name), name.title());
                all.extend(arm.command.iter().map(|command| (format!("arm {title}"), command.clone())));
                let env = arm.env.iter().map(|(name, value)| format!("{name}={value}"));
                all.extend(env.map(|pair| (format!("arm {title}, for its peers"), pair)));
                if !arm.exec.is_empty() {
                    all.push((format!("arm {title}, before its peers"), arm.exec.join(" ")));
                }
                let peers = arm.peers.iter();
                all.extend(
                    peers.map(|(peer, command)| (format!("arm {title}, peer {peer}"), command.join(" "))),
                );
            }
            all.extend(arms.restore.iter().map(|command| ("afterwards".to_owned(), command.clone())));
            all.extend(arms.keep.iter().map(|path| {
                ("afterwards, as root if you are".to_owned(), format!("writes {path} as it was"))
            }));
        }
        all
    }

    /// The names of the peers that its cells use, without duplicates.
    pub fn peers_in_cells(&self) -> BTreeSet<&str> {
        let lists = self.cells.iter().flat_map(|matrix| [&matrix.client.0, &matrix.server.0]);
        lists.flatten().map(String::as_str).collect()
    }
}
