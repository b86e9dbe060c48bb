//! Identifiers of saved runs: when, and four hexadecimal digits that tell apart what was saved within one second.

use std::fmt;
use std::time::{Duration, SystemTime};

/// `20261122-021534-3f2a`: the day, the time in UTC, and a random end. Sorts by time as text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId(String);

/// How long the part is that tells the time.
const TIME: usize = "20261122-021534".len();
const WHOLE: usize = TIME + "-3f2a".len();

impl RunId {
    /// One for this moment; different `salt`s give different ends.
    pub fn new(now: SystemTime, salt: u64) -> Self {
        let nanoseconds = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos() as u64;
        // A multiplication by an odd constant spreads neighbours over all ends.
        let end = (nanoseconds ^ salt).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48;
        let time = humantime::format_rfc3339_seconds(now).to_string();
        let time: String = time.chars().filter(char::is_ascii_alphanumeric).collect();
        let time = time.trim_end_matches('Z').replace('T', "-");
        Self(format!("{time}-{end:04x}"))
    }

    /// Reads one; `None` where it is none.
    pub fn parse(text: &str) -> Option<Self> {
        let fits = text.len() == WHOLE
            && text.bytes().enumerate().all(|(index, byte)| match index {
                8 | TIME => byte == b'-',
                index if index < TIME => byte.is_ascii_digit(),
                _ => byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte),
            });
        let id = Self(text.to_owned());
        (fits && humantime::parse_rfc3339(&id.saved()).is_ok()).then_some(id)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The part that tells the time, to the second.
    pub fn second(&self) -> &str {
        &self.0[..TIME]
    }

    /// The four digits at the end.
    pub fn end(&self) -> &str {
        &self.0[TIME + 1..]
    }

    /// When it was saved, RFC 3339.
    pub fn saved(&self) -> String {
        let part = |from: usize, to: usize| self.0.get(from..to).unwrap_or_default();
        let (year, month, day) = (part(0, 4), part(4, 6), part(6, 8));
        let (hour, minute, second) = (part(9, 11), part(11, 13), part(13, 15));
        format!("{year}-{month}-{day}T{hour}:{minute}:{second}Z")
    }

    /// How long ago it was saved; nothing where that lies in the future.
    pub fn age(&self, now: SystemTime) -> Duration {
        let saved = humantime::parse_rfc3339(&self.saved()).unwrap_or(now);
        now.duration_since(saved).unwrap_or_default()
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_is_in_it_and_comes_out_again() {
        let now = SystemTime::UNIX_EPOCH + Duration::new(1_795_313_734, 7);
        let id = RunId::new(now, 0);
        assert!(id.as_str().starts_with("20261122-021534-"), "{id}");
        assert_eq!(RunId::parse(id.as_str()), Some(id.clone()));
        assert_eq!(id.saved(), "2026-11-22T02:15:34Z");
        assert_eq!(id.age(now + Duration::from_secs(90)).as_secs(), 90);
        assert_eq!(id.age(SystemTime::UNIX_EPOCH), Duration::ZERO);
    }

    #[test]
    fn ends_differ_within_a_moment() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_795_313_734);
        assert_ne!(RunId::new(now, 1), RunId::new(now, 2));
    }

    #[test]
    fn nothing_else_is_one() {
        for text in [
            "", "20261122-021534", "20261122-021534-3F2A", "20261122-021534-3f2a5", "20261322-021534-3f2a",
            "2026112-2021534-3f2a", "20261122-0215é-3f2a",
        ] {
            assert_eq!(RunId::parse(text), None, "{text}");
        }
    }
}
