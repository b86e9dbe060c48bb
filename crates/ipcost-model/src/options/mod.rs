//! The options of cells: one catalogue drives validation, help and documentation.

mod catalogue;
mod spec;

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{self, DeserializeSeed, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::capabilities::OptionGroup;
use crate::cell::Pattern;
use crate::error::ModelError;
pub use catalogue::{CATALOGUE, MOST_PIECES, choices};
#[cfg(feature = "schema")]
pub(crate) use spec::{LONGEST_NS, MAX_PROCESSOR, MAX_RATE};
pub use spec::{OptionKind, OptionSpec, OptionValue};

/// The congestion control of a cell's connections.
pub const TCP_CONGESTION: &str = "tcp_congestion";
/// The congestion control that most systems use.
pub const COMMON_CONGESTION: &str = "cubic";
/// Whether a stream is measured as one long transfer.
pub const STEADY: &str = "steady";
/// Whether a congestion control paces what it sends: then one long transfer costs otherwise than bursts.
pub fn paces(congestion: &str) -> bool {
    // Of bbr there are versions: bbr1, bbr2, bbr3.
    congestion.starts_with("bbr")
}

/// The value of any option that leaves it as it is without: for lists that compare it with others.
pub const DEFAULT: &str = "default";
/// The value of an offset that the engine draws.
const RANDOM: &str = "random";

/// The name of an option of the catalogue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OptionName(&'static str);

impl OptionName {
    pub fn find(name: &str) -> Result<Self, ModelError> {
        CATALOGUE
            .iter()
            .find(|spec| spec.name == name)
            .map(|spec| Self(spec.name))
            .ok_or_else(|| ModelError::unknown("option", name, CATALOGUE.iter().map(|spec| spec.name)))
    }

    /// Its entry in the catalogue.
    pub fn spec(self) -> &'static OptionSpec {
        CATALOGUE.iter().find(|spec| spec.name == self.0).expect("only find() makes names")
    }
}

impl fmt::Display for OptionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.0)
    }
}

impl Serialize for OptionName {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0)
    }
}

impl<'de> Deserialize<'de> for OptionName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::find(&text).map_err(de::Error::custom)
    }
}

/// Options by name: only names from the catalogue, only valid values.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Options(BTreeMap<OptionName, OptionValue>);

impl Options {
    /// Sets an option.
    pub fn set(&mut self, name: &str, value: OptionValue) -> Result<(), ModelError> {
        let name = OptionName::find(name)?;
        let value = name.spec().check(value)?;
        self.insert(name, value);
        Ok(())
    }

    /// The options that are set, by name.
    pub fn iter(&self) -> impl Iterator<Item = (OptionName, &OptionValue)> {
        self.0.iter().map(|(name, value)| (*name, value))
    }

    /// Whether nothing is set.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A number of any kind, bytes from the begin of a page included, if it is set to one.
    pub fn number(&self, name: &str) -> Option<u64> {
        match self.get(name)? {
            OptionValue::Int(value) => Some(*value),
            _ => None,
        }
    }

    /// Whether TCP sockets set `TCP_NODELAY`: as the option says, otherwise where a side waits for each message. A
    /// stream keeps Nagle's algorithm, the system's default.
    pub fn sets_nodelay(&self, pattern: Pattern) -> bool {
        let usual = match pattern {
            Pattern::Connect | Pattern::Rr => true,
            Pattern::Stream | Pattern::Floor => false,
        };
        self.tcp_nodelay().unwrap_or(usual)
    }

    /// Those of a family.
    pub fn only(&self, group: OptionGroup) -> Self {
        self.filtered(|spec| spec.group == group)
    }

    /// All but those of a family.
    pub fn without(&self, group: OptionGroup) -> Self {
        self.filtered(|spec| spec.group != group)
    }

    pub fn except(&self, name: &str) -> Self {
        self.filtered(|spec| spec.name != name)
    }

    /// The options sent to every peer: all but where its process runs, how long its batches last, and where buffers begin, which is drawn.
    pub fn for_peers(&self) -> Self {
        const OWN: [OptionGroup; 4] =
            [OptionGroup::Place, OptionGroup::Buffers, OptionGroup::SharedMemory, OptionGroup::Lasting];
        self.filtered(|spec| !OWN.contains(&spec.group))
    }

    /// Those that go to a peer whose hello lists these: of the pace, none that it does not list.
    pub fn for_peer_that_lists(&self, listed: &[String]) -> Self {
        self.filtered(|spec| spec.group != OptionGroup::Pace || listed.iter().any(|known| known == spec.name))
    }

    fn filtered(&self, keep: impl Fn(&OptionSpec) -> bool) -> Self {
        let kept = self.iter().filter(|(name, _)| keep(name.spec()));
        Self(kept.map(|(name, value)| (name, value.clone())).collect())
    }

    /// The value of an option of the catalogue, if it is set.
    pub fn get(&self, name: &str) -> Option<&OptionValue> {
        debug_assert!(OptionName::find(name).is_ok(), "{name} is in no catalogue");
        self.0.iter().find(|(known, _)| known.0 == name).map(|(_, value)| value)
    }

    /// Sets an option, whatever it was; its default takes it away.
    pub fn insert(&mut self, name: OptionName, value: OptionValue) {
        match value {
            OptionValue::Text(text) if text == DEFAULT => self.0.remove(&name),
            // Bursts are what every stream is without the option: one name for one thing.
            OptionValue::Bool(false) if name.spec().name == STEADY => self.0.remove(&name),
            value => self.0.insert(name, value),
        };
    }
}

/// Reads one value for a known option, so that an error is reported at its position.
pub(crate) struct ValueSeed(pub OptionName);

impl<'de> DeserializeSeed<'de> for ValueSeed {
    type Value = OptionValue;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<OptionValue, D::Error> {
        let value = OptionValue::deserialize(deserializer).map_err(|_| {
            de::Error::custom(format!("option {} takes a word, a number or true/false", self.0))
        })?;
        self.0.spec().check(value).map_err(de::Error::custom)
    }
}

impl<'de> Deserialize<'de> for Options {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = Options;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("options by name")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Options, A::Error> {
                let mut options = Options::default();
                while let Some(name) = map.next_key::<OptionName>()? {
                    let value = map.next_value_seed(ValueSeed(name))?;
                    if options.0.contains_key(&name) {
                        return Err(de::Error::custom(format!("option {name} is given twice")));
                    }
                    options.insert(name, value);
                }
                Ok(options)
            }
        }
        deserializer.deserialize_map(Entries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_default_takes_an_option_away_wherever_it_comes_from() {
        let mut options = Options::default();
        for (name, value) in [("so_sndbuf", "65536"), ("tcp_nodelay", "true"), ("io", "poll")] {
            let spec = OptionName::find(name).unwrap().spec();
            options.set(name, spec.parse(value).unwrap()).unwrap();
            assert_eq!(options.iter().count(), 1, "{name}");
            options.set(name, spec.parse(DEFAULT).unwrap()).unwrap();
            assert_eq!(options, Options::default(), "{name}");
        }
        let read = |text: &str| serde_json::from_str::<Options>(text);
        assert_eq!(read(r#"{"so_sndbuf": "default"}"#).unwrap(), Options::default());
        assert!(read(r#"{"so_sndbuf": "defaults"}"#).is_err());
    }

    #[test]
    fn the_catalogue_has_each_name_once_and_says_what_it_is_for() {
        for (index, spec) in CATALOGUE.iter().enumerate() {
            assert!(!CATALOGUE[..index].iter().any(|other| other.name == spec.name), "{}", spec.name);
            assert!(!spec.summary.is_empty() && !spec.patterns.is_empty(), "{}", spec.name);
        }
    }

    #[test]
    fn values_are_checked_by_kind() {
        let mut options = Options::default();
        options.set("so_sndbuf", OptionValue::Text("64KiB".into())).unwrap();
        assert_eq!(options.so_sndbuf(), Some(65_536));
        assert!(options.set("so_sndbuf", OptionValue::Int(0)).is_err());
        assert!(options.set("tcp_nodelay", OptionValue::Text("maybe".into())).is_err());
        assert!(options.set("backlog", OptionValue::Int(70_000)).is_err());
        let error = options.set("framing", OptionValue::Text("newlin".into())).unwrap_err().to_string();
        assert!(error.contains("did you mean \"newline\""), "{error}");
        let error = options.set("so_sendbuf", OptionValue::Int(1)).unwrap_err().to_string();
        assert!(error.contains("did you mean \"so_sndbuf\""), "{error}");
    }

    #[test]
    fn values_are_shown_as_people_type_them() {
        for (name, typed, shown) in [
            ("server_work", "100us", "100us"),
            ("server_work", "1500us", "1.5ms"),
            ("think", "1234567ns", "1234.567us"),
            ("rate", "5000", "5000/s"),
            ("pipe_size", "65536", "64KiB"),
            ("pipe_size", "1000", "1000"),
            ("io", "poll", "poll"),
        ] {
            let spec = OptionName::find(name).unwrap().spec();
            let value = spec.parse(typed).unwrap();
            assert_eq!(spec.shown(&value), shown, "{name}");
            assert_eq!(spec.parse(shown).unwrap(), value, "{name}");
        }
    }

    #[test]
    fn an_offset_is_within_a_page_and_aligned_or_random() {
        let mut options = Options::default();
        for value in [OptionValue::Int(0), OptionValue::Int(4095), OptionValue::Text("random".into())] {
            options.set("recv_offset", value.clone()).unwrap();
            assert_eq!(options.recv_offset(), if let OptionValue::Int(at) = value { Some(at) } else { None });
        }
        options.set("ring_offset", OptionValue::Int(4080)).unwrap();
        for (name, value, says) in [
            ("send_offset", OptionValue::Int(4096), "a number from 0 to 4095"),
            ("send_offset", OptionValue::Text("page".into()), "takes random or a number"),
            ("ring_offset", OptionValue::Int(8), "a multiple of 16, not 8"),
        ] {
            let error = options.set(name, value).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
        assert!(options.for_peers().is_empty());
    }

    #[test]
    fn a_congestion_control_is_a_name_that_the_kernel_decides_on() {
        let mut options = Options::default();
        let text = |name: &str| OptionValue::Text(name.to_owned());
        for name in ["cubic", "bbr", "bpf_cubic", "some-15-letters"] {
            options.set(TCP_CONGESTION, text(name)).unwrap();
            assert_eq!(options.tcp_congestion(), Some(name));
        }
        for wrong in [text(""), text("16-letters-long-"), text("BBR"), text("a b"), OptionValue::Int(3)] {
            let error = options.set(TCP_CONGESTION, wrong).unwrap_err().to_string();
            assert!(error.contains("a name of up to 15"), "{error}");
        }
    }

    #[test]
    fn streams_alone_leave_nagles_algorithm_on() {
        let mut options = Options::default();
        let sets = |options: &Options| {
            [Pattern::Connect, Pattern::Rr, Pattern::Stream].map(|pattern| options.sets_nodelay(pattern))
        };
        assert_eq!(sets(&options), [true, true, false]);
        for value in [true, false] {
            options.set("tcp_nodelay", OptionValue::Bool(value)).unwrap();
            assert_eq!(sets(&options), [value; 3]);
        }
    }

    #[test]
    fn unknown_options_are_an_error_in_the_protocol_too() {
        let error = serde_json::from_str::<Options>(r#"{"tcp_nodelya":true}"#).unwrap_err().to_string();
        assert!(error.contains("did you mean \"tcp_nodelay\""), "{error}");
    }
}
