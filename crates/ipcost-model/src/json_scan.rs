//! A first pass over a record: what it is, how much memory it would take, and whether its numbers can be used. Nothing is stored.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use crate::units::CENTURY;

/// Keys of a record whose values are small as text and large in memory, and the most values that each may hold, of any kind and at
/// any depth. A map counts as [`MAP`] values.
const BOUNDS: [(&str, u64); 3] = [("host", 100_000), ("job", 1_000_000), (REST, 16_000_000)];
/// All other keys together, and its place in [`BOUNDS`].
const REST: &str = "other parts";
const REST_OF_ALL: usize = BOUNDS.len() - 1;
/// The memory of a map in values: its first node has room for eleven, with their keys.
const MAP: u64 = 20;
/// Keys of lists that take little more memory than their text, read as what they are.
const LISTS: [&str; 2] = ["samples", "latency"];
/// Keys whose values are records themselves.
const RECORDS: [&str; 4] = ["runs", "document", "begun", "epoch"];
/// Keys with any 64 bits, or with facts and limits of the system, that are never added up.
const NEVER_ADDED: [&str; 4] = ["seed", "random", "host", "tasks_at_once"];
/// The largest number, and the inverse of the smallest: products of some stay finite.
const LARGEST: f64 = 1e60;
/// The longest time in each unit that keys end in.
const TIMES: [(&str, f64); 5] = [("_s", 1.0), ("_ms", 1e3), ("_us", 1e6), ("_ns", 1e9), ("secs", 1.0)];

/// The findings of a first pass over a record.
#[derive(Debug, Default)]
pub struct JsonScan {
    /// Its `schema`, if that is text.
    pub schema: Option<String>,
    values: [u64; BOUNDS.len()],
    listed: u64,
    /// The sum of all whole numbers that may be added up.
    sum: u64,
    /// The first number that cannot be used.
    flaw: Option<String>,
}

impl JsonScan {
    /// The key that holds too much, and its limit. Lists count with the rest unless they are read as what they are.
    pub fn excess(&self, lists_are_typed: bool) -> Option<(&'static str, u64)> {
        let [host, job, rest] = self.values;
        let rest = rest + if lists_are_typed { 0 } else { self.listed };
        let mut counted = [host, job, rest].into_iter().zip(BOUNDS);
        counted.find(|(count, (_, most))| count > most).map(|(_, bound)| bound)
    }

    /// The number that cannot be used: more than a century, or so large that sums or products of such numbers overflow.
    pub fn flaw(&self) -> Option<&str> {
        self.flaw.as_deref()
    }
}

impl<'de> Deserialize<'de> for JsonScan {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut census = Self::default();
        let whole = Counter {
            census: &mut census,
            key: "",
            part: ValueParent::Record,
            most: LARGEST,
            added: true,
            top: true,
        };
        whole.deserialize(deserializer)?;
        Ok(census)
    }
}

/// What a value is part of.
#[derive(Clone, Copy, PartialEq)]
enum ValueParent {
    /// A record, whose keys say what their values are part of.
    Record,
    /// The schema of the whole.
    Schema,
    List,
    Bounded(usize),
}

impl ValueParent {
    /// What the value of a key of a record is part of.
    fn of_key(key: &str) -> Self {
        match key {
            key if RECORDS.contains(&key) => Self::Record,
            key if LISTS.contains(&key) => Self::List,
            key => Self::Bounded(BOUNDS.iter().position(|(name, _)| *name == key).unwrap_or(REST_OF_ALL)),
        }
    }
}

/// The largest number that a key may have.
fn most(key: &str) -> f64 {
    let time = TIMES.iter().find(|(end, _)| key.ends_with(end) && !key.ends_with("_per_s"));
    time.map_or(LARGEST, |(_, a_second)| CENTURY.as_secs_f64() * a_second)
}

/// Counts a value and everything in it.
struct Counter<'a> {
    census: &'a mut JsonScan,
    /// The key that it belongs to.
    key: &'a str,
    part: ValueParent,
    /// The largest number that it may be.
    most: f64,
    /// Whether its numbers may be added up.
    added: bool,
    /// Whether it is the whole record.
    top: bool,
}

impl Counter<'_> {
    fn count(&mut self, values: u64) {
        match self.part {
            ValueParent::Bounded(part) => self.census.values[part] += values,
            ValueParent::List | ValueParent::Schema => self.census.listed += values,
            ValueParent::Record => self.census.values[REST_OF_ALL] += values,
        }
    }

    fn whole(&mut self, number: u64) {
        self.number(number as f64);
        if self.added {
            match self.census.sum.checked_add(number) {
                Some(sum) => self.census.sum = sum,
                None => self.found("its whole numbers add up to more than 64 bits hold"),
            }
        }
    }

    fn number(&mut self, number: f64) {
        let size = number.abs();
        if size > self.most || (size > 0.0 && size < LARGEST.recip()) {
            let bound = if self.most < LARGEST { "; a century is the longest time" } else { "" };
            self.found(&format!("{:?} is {number:e}, which is out of range{bound}", self.key));
        }
    }

    fn found(&mut self, flaw: &str) {
        self.census.flaw.get_or_insert_with(|| flaw.to_owned());
    }
}

impl<'de> DeserializeSeed<'de> for Counter<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(mut self, deserializer: D) -> Result<(), D::Error> {
        self.count(1);
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Counter<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(mut self, number: i64) -> Result<(), E> {
        self.whole(number.unsigned_abs());
        Ok(())
    }

    fn visit_u64<E>(mut self, number: u64) -> Result<(), E> {
        self.whole(number);
        Ok(())
    }

    fn visit_f64<E>(mut self, number: f64) -> Result<(), E> {
        self.number(number);
        Ok(())
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        if self.part == ValueParent::Schema {
            self.census.schema.get_or_insert_with(|| text.to_owned());
        }
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        let Self { census, key, part, most, added, .. } = self;
        // A list under `schema` is no schema.
        let part = if part == ValueParent::Schema { ValueParent::List } else { part };
        loop {
            let element = Counter { census: &mut *census, key, part, most, added, top: false };
            if elements.next_element_seed(element)?.is_none() {
                return Ok(());
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        self.count(MAP);
        while let Some(JsonKey(key)) = map.next_key()? {
            let part = match self.part {
                ValueParent::Record if self.top && key == "schema" => ValueParent::Schema,
                ValueParent::Record => ValueParent::of_key(&key),
                ValueParent::Schema => ValueParent::List,
                part => part,
            };
            let added = self.added && !NEVER_ADDED.contains(&&*key);
            map.next_value_seed(Counter {
                census: &mut *self.census,
                key: &key,
                part,
                most: most(&key),
                added,
                top: false,
            })?;
        }
        Ok(())
    }
}

/// A key, copied only if it has escapes.
struct JsonKey<'de>(Cow<'de, str>);

impl<'de> Deserialize<'de> for JsonKey<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl<'de> Visitor<'de> for Text {
            type Value = JsonKey<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key")
            }

            fn visit_borrowed_str<E>(self, key: &'de str) -> Result<JsonKey<'de>, E> {
                Ok(JsonKey(Cow::Borrowed(key)))
            }

            fn visit_str<E>(self, key: &str) -> Result<JsonKey<'de>, E> {
                Ok(JsonKey(Cow::Owned(key.to_owned())))
            }
        }
        deserializer.deserialize_str(Text)
    }
}
