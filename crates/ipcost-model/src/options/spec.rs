//! What an option takes.

use std::fmt;
use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use super::{DEFAULT, RANDOM};
use crate::capabilities::{Capabilities, OptionGroup};
use crate::cell::Pattern;
use crate::error::ModelError;
use crate::layout::PAGE_BYTES;
use crate::units::{MAX_SIZE_BYTES, parse_rate, parse_size, parse_time_ns, rate_text, size_text};

/// The kind of an option's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OptionKind {
    /// `true` or `false`.
    Bool,
    /// Bytes, from 1 to [`MAX_SIZE_BYTES`].
    Size,
    /// A whole number from 1 to the bound.
    Count(u64),
    /// A time from so many nanoseconds, 0 or 1, to a minute; in a job also text such as `50us`.
    Time(u64),
    /// Operations a second, a whole number from 1; in a job also text such as `5k/s`.
    Rate,
    /// The number of a logical processor, from 0.
    Processor,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A name that only the system knows: lower-case letters, digits, `_` and `-`, up to this many.
    Name(usize),
    /// Bytes from the begin of a page, or `random`: the engine draws it for every epoch. A multiple of the number.
    Offset(u64),
}

/// The values it takes, for errors.
impl fmt::Display for OptionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool => f.write_str("true or false"),
            Self::Size => write!(f, "a size from 1 B to {}", size_text(MAX_SIZE_BYTES)),
            Self::Count(most) => write!(f, "a whole number from 1 to {most}"),
            Self::Time(least) => {
                let least = if *least == 0 { "0" } else { "1ns" };
                write!(f, "a time from {least} to 60s, such as 50us")
            }
            Self::Rate => f.write_str("operations a second from 1, such as 5000 or 5k/s"),
            Self::Processor => f.write_str("the number of a processor (see lscpu)"),
            Self::Choice(words) => f.write_str(&words.join(", ")),
            Self::Name(most) => write!(f, "a name of up to {most} lower-case letters, digits, _ and -"),
            Self::Offset(_) => write!(
                f,
                "{RANDOM} or a number from 0 to {}, the bytes from the begin of a page",
                PAGE_BYTES - 1
            ),
        }
    }
}

impl OptionKind {
    /// The values as help shows them after `KEY=`: `length|newline`, `SIZE`.
    pub fn value_names(self) -> String {
        match self {
            Self::Bool => "true|false".to_owned(),
            Self::Size => "SIZE".to_owned(),
            Self::Count(_) => "N".to_owned(),
            Self::Time(_) => "TIME".to_owned(),
            Self::Rate => "RATE".to_owned(),
            Self::Processor => "CPU".to_owned(),
            Self::Choice(words) => words.join("|"),
            Self::Name(_) => "NAME".to_owned(),
            Self::Offset(_) => format!("{RANDOM}|BYTES"),
        }
    }
}

/// One option of the catalogue.
#[derive(Debug, Clone, Copy)]
pub struct OptionSpec {
    pub name: &'static str,
    /// The kind of its value.
    pub kind: OptionKind,
    /// The behaviour if it is not set.
    pub default: &'static str,
    /// The family of transports it acts on.
    pub group: OptionGroup,
    /// The patterns it acts on.
    pub patterns: &'static [Pattern],
    /// One line for help texts.
    pub summary: &'static str,
}

/// The largest number of a logical processor.
pub(crate) const MAX_PROCESSOR: u64 = 8191;

/// The longest time, nanoseconds.
pub(crate) const LONGEST_NS: u64 = 60_000_000_000;

/// A time in whole nanoseconds; a number alone counts them.
fn whole_ns(text: &str) -> Option<u64> {
    let ns = text.parse().ok().or_else(|| parse_time_ns(text).ok().map(f64::round))?;
    (0.0..=LONGEST_NS as f64).contains(&ns).then_some(ns as u64)
}

/// A time in the largest unit that takes no more than three decimals: `100us`, `1.5ms`, `0`.
fn typed_time(ns: u64) -> String {
    let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")];
    let unit = units.into_iter().find(|(unit, _)| ns >= *unit && ns.is_multiple_of(unit / 1_000));
    match unit {
        Some((unit, name)) => format!("{}{name}", ns as f64 / unit as f64),
        None if ns == 0 => "0".to_owned(),
        None => format!("{ns}ns"),
    }
}

/// The highest rate, operations a second.
pub(crate) const MAX_RATE: u64 = 1_000_000_000;

/// A rate in whole operations a second.
fn whole_rate(text: &str) -> Option<u64> {
    let per_s = parse_rate(text).ok()?.round();
    (1.0..=MAX_RATE as f64).contains(&per_s).then_some(per_s as u64)
}

/// Whether a text is a name of at most `most` characters.
fn is_name(text: &str, most: usize) -> bool {
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-".contains(&byte);
    (1..=most).contains(&text.len()) && text.bytes().all(allowed)
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum OptionValue {
    Bool(bool),
    /// A number, or a size in bytes.
    Int(u64),
    Text(String),
}

impl fmt::Display for OptionValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(value) => write!(f, "{value}"),
            Self::Int(value) => write!(f, "{value}"),
            Self::Text(value) => f.write_str(value),
        }
    }
}

impl OptionSpec {
    /// Whether it acts on cells of a pattern over a transport.
    pub fn acts_on(&self, transport: &Capabilities, pattern: Pattern) -> bool {
        let on_transport = match self.group {
            OptionGroup::Loop | OptionGroup::Place => true,
            OptionGroup::Pace => transport.floor.is_none(),
            OptionGroup::Buffers | OptionGroup::Memory => transport.has_buffers,
            _ => transport.option_groups.contains(&self.group),
        };
        // A client to which nothing arrives waits for no work.
        let is_waited_for = transport.carries_payload || self.name != "server_work";
        on_transport && is_waited_for && self.patterns.contains(&pattern)
    }

    /// A value as people type it: `100us`, `64KiB`, `5k/s`.
    pub fn shown(&self, value: &OptionValue) -> String {
        match (self.kind, value) {
            (OptionKind::Time(_), OptionValue::Int(ns)) => typed_time(*ns),
            (OptionKind::Size, OptionValue::Int(bytes)) if *bytes >= 1024 => {
                size_text(*bytes).trim_end_matches(" B").replace(' ', "")
            }
            (OptionKind::Rate, OptionValue::Int(per_s)) => rate_text(*per_s),
            (_, value) => value.to_string(),
        }
    }

    /// Parses a value as typed in a flag.
    pub fn parse(&self, text: &str) -> Result<OptionValue, ModelError> {
        let value = match self.kind {
            OptionKind::Bool => text.parse().map(OptionValue::Bool).ok(),
            OptionKind::Count(_) | OptionKind::Processor | OptionKind::Offset(_) => {
                text.parse().map(OptionValue::Int).ok()
            }
            _ => None,
        };
        self.check(value.unwrap_or_else(|| OptionValue::Text(text.to_owned())))
    }

    /// Accepts a value if it is valid for the option; a size, a time and a rate may be text (`"64KiB"`).
    pub fn check(&self, value: OptionValue) -> Result<OptionValue, ModelError> {
        let Self { name: option, kind, .. } = *self;
        let number = match (kind, &value) {
            (OptionKind::Size, OptionValue::Text(text)) => parse_size(text).ok(),
            (OptionKind::Time(_), OptionValue::Text(text)) => whole_ns(text),
            (OptionKind::Rate, OptionValue::Text(text)) => whole_rate(text),
            (_, OptionValue::Int(number)) => Some(*number),
            _ => None,
        };
        let within =
            |range: RangeInclusive<u64>| number.filter(|number| range.contains(number)).map(OptionValue::Int);
        let valid = match (kind, &value) {
            (_, OptionValue::Text(text)) if text == DEFAULT => Some(value.clone()),
            (OptionKind::Bool, OptionValue::Bool(_)) => Some(value.clone()),
            (OptionKind::Size, _) => within(1..=MAX_SIZE_BYTES),
            (OptionKind::Time(least), _) => within(least..=LONGEST_NS),
            (OptionKind::Rate, _) => within(1..=MAX_RATE),
            (OptionKind::Count(most), _) => within(1..=most),
            (OptionKind::Processor, _) => within(0..=MAX_PROCESSOR),
            (OptionKind::Choice(words), OptionValue::Text(word)) if words.contains(&word.as_str()) => {
                Some(value.clone())
            }
            (OptionKind::Choice(words), _) => {
                let what = format!("value of option {option}");
                return Err(ModelError::unknown(what, &value.to_string(), words.iter().copied()));
            }
            (OptionKind::Name(most), OptionValue::Text(name)) if is_name(name, most) => Some(value.clone()),
            (OptionKind::Offset(_), OptionValue::Text(word)) if word == RANDOM => Some(value.clone()),
            (OptionKind::Offset(step), _) => match within(0..=PAGE_BYTES - 1) {
                Some(OptionValue::Int(bytes)) if !bytes.is_multiple_of(step) => {
                    return Err(ModelError::Unaligned { option, step, bytes });
                }
                valid => valid,
            },
            (OptionKind::Bool | OptionKind::Name(_), _) => None,
        };
        valid.ok_or(ModelError::OptionValue { option, kind, value })
    }
}
