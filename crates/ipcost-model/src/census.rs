//! Counts the parts of a document that may grow without limit, without storing them.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// Keys of a document whose values are small as text and large in memory, and the most values, of any kind and at any
/// depth, that each may hold.
const BOUNDS: [(&str, u64); 3] = [("host", 100_000), ("job", 1_000_000), ("cells", 20_000_000)];

/// The findings of a first pass over a document.
#[derive(Debug, Default)]
pub struct Census {
    /// Its `schema`, if that is text.
    pub schema: Option<String>,
    /// The key that holds too much, and its limit.
    pub excess: Option<(&'static str, u64)>,
}

impl<'de> serde::Deserialize<'de> for Census {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Top;
        impl<'de> Visitor<'de> for Top {
            type Value = Census;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Census, A::Error> {
                while elements.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Census::default())
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Census, A::Error> {
                let mut census = Census::default();
                while let Some(key) = map.next_key::<String>()? {
                    if key == "schema" {
                        census.schema = map.next_value::<serde_json::Value>()?.as_str().map(str::to_owned);
                        continue;
                    }
                    let Some((key, most)) = BOUNDS.iter().find(|(bounded, _)| *bounded == key) else {
                        map.next_value::<IgnoredAny>()?;
                        continue;
                    };
                    let mut count = 0;
                    map.next_value_seed(Counter(&mut count))?;
                    if count > *most {
                        census.excess = Some((key, *most));
                    }
                }
                Ok(census)
            }
        }
        deserializer.deserialize_any(Top)
    }
}

/// Counts a value and everything in it.
struct Counter<'a>(&'a mut u64);

impl<'de> DeserializeSeed<'de> for Counter<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        *self.0 += 1;
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

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        while elements.next_element_seed(Counter(self.0))?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while map.next_key::<IgnoredAny>()?.is_some() {
            map.next_value_seed(Counter(self.0))?;
        }
        Ok(())
    }
}
