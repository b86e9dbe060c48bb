//! What an option takes.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{DEFAULT, RANDOM};
use crate::capabilities::{Capabilities, OptionGroup};
use crate::cell::Pattern;
use crate::layout::PAGE_BYTES;
use crate::suggest::unknown;
use crate::units::{MAX_SIZE_BYTES, parse_rate, parse_size, parse_time_ns, size_text};

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

    /// Parses a value as typed in a flag.
    pub fn parse(&self, text: &str) -> Result<OptionValue, String> {
        if text == DEFAULT {
            return Ok(OptionValue::Text(DEFAULT.to_owned()));
        }
        let value = match self.kind {
            OptionKind::Bool => text.parse().map(OptionValue::Bool).ok(),
            OptionKind::Size => parse_size(text).map(OptionValue::Int).ok(),
            OptionKind::Time(_) => whole_ns(text).map(OptionValue::Int),
            OptionKind::Rate => whole_rate(text).map(OptionValue::Int),
            OptionKind::Count(_) | OptionKind::Processor => text.parse().map(OptionValue::Int).ok(),
            OptionKind::Choice(_) | OptionKind::Name(_) => Some(OptionValue::Text(text.to_owned())),
            OptionKind::Offset(_) => text.parse().map(OptionValue::Int).ok(),
        };
        self.check(value.unwrap_or_else(|| OptionValue::Text(text.to_owned())))
    }

    /// Accepts a value if it is valid for the option; a size may be text (`"64KiB"`).
    pub fn check(&self, value: OptionValue) -> Result<OptionValue, String> {
        let name = self.name;
        if matches!(&value, OptionValue::Text(text) if text == DEFAULT) {
            return Ok(value);
        }
        match (self.kind, value) {
            (OptionKind::Bool, value @ OptionValue::Bool(_)) => Ok(value),
            (OptionKind::Bool, value) => Err(format!("option {name} takes true or false, not \"{value}\"")),
            (OptionKind::Size, OptionValue::Int(bytes)) if (1..=MAX_SIZE_BYTES).contains(&bytes) => {
                Ok(OptionValue::Int(bytes))
            }
            (OptionKind::Size, OptionValue::Text(text)) if parse_size(&text).is_ok() => {
                self.check(OptionValue::Int(parse_size(&text).expect("just parsed")))
            }
            (OptionKind::Size, value) => Err(format!(
                "option {name} takes a size from 1 B to {}, not \"{value}\"",
                size_text(MAX_SIZE_BYTES)
            )),
            (OptionKind::Time(least), OptionValue::Int(ns)) if (least..=LONGEST_NS).contains(&ns) => {
                Ok(OptionValue::Int(ns))
            }
            (OptionKind::Time(least), OptionValue::Text(text))
                if whole_ns(&text).is_some_and(|ns| ns >= least) =>
            {
                self.check(OptionValue::Int(whole_ns(&text).expect("just parsed")))
            }
            (OptionKind::Time(least), value) => {
                let least = if least == 0 { "0" } else { "1ns" };
                Err(format!("option {name} takes a time from {least} to 60s, such as 50us, not \"{value}\""))
            }
            (OptionKind::Rate, OptionValue::Int(per_s)) if (1..=MAX_RATE).contains(&per_s) => {
                Ok(OptionValue::Int(per_s))
            }
            (OptionKind::Rate, OptionValue::Text(text)) if whole_rate(&text).is_some() => {
                self.check(OptionValue::Int(whole_rate(&text).expect("just parsed")))
            }
            (OptionKind::Rate, value) => Err(format!(
                "option {name} takes operations a second from 1, such as 5000 or 5k/s, not \"{value}\""
            )),
            (OptionKind::Count(most), OptionValue::Int(count)) if (1..=most).contains(&count) => {
                Ok(OptionValue::Int(count))
            }
            (OptionKind::Count(most), value) => {
                Err(format!("option {name} takes a whole number from 1 to {most}, not \"{value}\""))
            }
            (OptionKind::Processor, OptionValue::Int(cpu)) if cpu <= MAX_PROCESSOR => {
                Ok(OptionValue::Int(cpu))
            }
            (OptionKind::Processor, value) => {
                Err(format!("option {name} takes the number of a processor (see lscpu), not \"{value}\""))
            }
            (OptionKind::Choice(words), OptionValue::Text(word)) if words.contains(&word.as_str()) => {
                Ok(OptionValue::Text(word))
            }
            (OptionKind::Choice(words), value) => {
                Err(unknown(&format!("value of option {name}"), &value.to_string(), words.iter().copied()))
            }
            (OptionKind::Name(most), OptionValue::Text(name)) if is_name(&name, most) => {
                Ok(OptionValue::Text(name))
            }
            (OptionKind::Name(most), value) => Err(format!(
                "option {name} takes a name of up to {most} lower-case letters, digits, _ and -, not \"{value}\""
            )),
            (OptionKind::Offset(_), OptionValue::Text(word)) if word == RANDOM => Ok(OptionValue::Text(word)),
            (OptionKind::Offset(step), OptionValue::Int(bytes)) if bytes < PAGE_BYTES => {
                if bytes.is_multiple_of(step) {
                    return Ok(OptionValue::Int(bytes));
                }
                Err(format!(
                    "option {name} takes a multiple of {step}, not {bytes}: what begins there must be aligned"
                ))
            }
            (OptionKind::Offset(_), value) => Err(format!(
                "option {name} takes {RANDOM} or a number from 0 to {}, the bytes from the begin of a page, not \"{value}\"",
                PAGE_BYTES - 1
            )),
        }
    }
}
