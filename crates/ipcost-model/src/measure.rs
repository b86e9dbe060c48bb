//! What a timed batch says, by name.

use std::fmt;

use serde::{Deserialize, Deserializer, de};

use crate::document::Metric;
use crate::sample::Sample;

/// Something that a batch says of one operation.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Measure {
    /// Elapsed time, nanoseconds.
    Wall,
    /// Time until the last send returned, nanoseconds; where it was taken.
    Sent,
    /// User and system time of both processes, nanoseconds.
    Cpu,
    /// User and system time of the client, nanoseconds.
    ClientCpu,
    /// User and system time of the server, nanoseconds.
    ServerCpu,
    /// User time of the client, nanoseconds.
    ClientUser,
    /// System time of the client, nanoseconds.
    ClientSys,
    /// User time of the server, nanoseconds.
    ServerUser,
    /// System time of the server, nanoseconds.
    ServerSys,
    /// Elapsed time that is neither process's processor time, nanoseconds; negative where both ran at once.
    Waiting,
    /// Switches of both processes, of either kind.
    Switches,
    /// Switches of both processes that waited.
    VoluntarySwitches,
    /// Switches of both processes whose core was taken away.
    InvoluntarySwitches,
    /// What peers and the engine measure besides, by name.
    Named(String),
}

impl Measure {
    const NAMES: [(&'static str, Self); 13] = [
        ("wall", Self::Wall),
        ("sent", Self::Sent),
        ("cpu", Self::Cpu),
        ("client_cpu", Self::ClientCpu),
        ("server_cpu", Self::ServerCpu),
        ("client_user", Self::ClientUser),
        ("client_sys", Self::ClientSys),
        ("server_user", Self::ServerUser),
        ("server_sys", Self::ServerSys),
        ("waiting", Self::Waiting),
        ("switches", Self::Switches),
        ("voluntary_switches", Self::VoluntarySwitches),
        ("involuntary_switches", Self::InvoluntarySwitches),
    ];

    /// The measure of a name; an unknown one is what a peer may measure.
    pub fn named(name: &str) -> Self {
        let known = Self::NAMES.into_iter().find(|(known, _)| *known == name);
        known.map_or_else(|| Self::Named(name.to_owned()), |(_, measure)| measure)
    }

    /// Whether the kernel knows it by what it finds at its ticks alone, as it tells user and system time apart: the sum of both is exact.
    pub fn is_in_ticks(&self) -> bool {
        matches!(self, Self::ClientUser | Self::ClientSys | Self::ServerUser | Self::ServerSys)
    }

    /// Whether it counts what happened, and is no time.
    pub fn is_count(&self) -> bool {
        matches!(self, Self::Switches | Self::VoluntarySwitches | Self::InvoluntarySwitches | Self::Named(_))
    }

    /// What a sample says of it, for one operation; of a name that ends in `_per_call`, as the peer counted it. `None` where
    /// the sample lacks it.
    pub fn of(&self, sample: &Sample) -> Option<f64> {
        let (client, server) = (&sample.client, &sample.server);
        let whole = match self {
            Self::Wall => sample.wall_ns,
            Self::Sent => sample.sent_ns?,
            Self::Cpu => (*client + *server).cpu_ns(),
            Self::ClientCpu => client.cpu_ns(),
            Self::ServerCpu => server.cpu_ns(),
            Self::ClientUser => client.user_ns,
            Self::ClientSys => client.sys_ns,
            Self::ServerUser => server.user_ns,
            Self::ServerSys => server.sys_ns,
            Self::VoluntarySwitches => (*client + *server).voluntary_switches,
            Self::InvoluntarySwitches => (*client + *server).involuntary_switches,
            Self::Switches => {
                let both = *client + *server;
                both.voluntary_switches.saturating_add(both.involuntary_switches)
            }
            Self::Waiting => {
                let used: [Self; 4] = [Self::ClientUser, Self::ClientSys, Self::ServerUser, Self::ServerSys];
                return used
                    .iter()
                    .try_fold(Self::Wall.of(sample)?, |left, part| Some(left - part.of(sample)?));
            }
            Self::Named(name) => {
                let value = sample.measures.get(name).copied()?;
                return Some(if name.ends_with("_per_call") { value } else { value / sample.ops as f64 });
            }
        };
        Some(whole as f64 / sample.ops as f64)
    }
}

impl From<Metric> for Measure {
    fn from(metric: Metric) -> Self {
        match metric {
            Metric::Wall => Self::Wall,
            Metric::Cpu => Self::Cpu,
        }
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::Named(name) => name,
            _ => Self::NAMES.iter().find(|(_, measure)| measure == self).map_or("", |(name, _)| name),
        };
        f.write_str(name)
    }
}

/// A measure as a figure of an experiment: of one operation, or of one byte of its message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quantity {
    pub measure: Measure,
    /// Whether it is divided by the bytes of a message.
    pub per_byte: bool,
}

/// The end of the name of a quantity for one byte.
const PER_BYTE: &str = "_per_byte";

impl Default for Quantity {
    fn default() -> Self {
        Self { measure: Measure::Wall, per_byte: false }
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.measure, if self.per_byte { PER_BYTE } else { "" })
    }
}

impl<'de> Deserialize<'de> for Quantity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let (name, per_byte) = match text.strip_suffix(PER_BYTE) {
            Some(name) => (name, true),
            None => (text.as_str(), false),
        };
        if name.trim().is_empty() {
            return Err(de::Error::custom("a measure has no name"));
        }
        Ok(Self { measure: Measure::named(name), per_byte })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Sample {
        Sample {
            ops: 10,
            wall_ns: 1_000,
            client: crate::Usage { user_ns: 100, sys_ns: 200, voluntary_switches: 10, ..Default::default() },
            server: crate::Usage { user_ns: 50, sys_ns: 150, involuntary_switches: 5, ..Default::default() },
            measures: [("segments".to_owned(), 30.0), ("usec_per_call".to_owned(), 7.0)].into(),
            ..Sample::default()
        }
    }

    #[test]
    fn measures_are_of_one_operation() {
        let of = |name: &str| Measure::named(name).of(&sample());
        assert_eq!((of("wall"), of("cpu"), of("client_cpu")), (Some(100.0), Some(50.0), Some(30.0)));
        assert_eq!((of("switches"), of("waiting")), (Some(1.5), Some(50.0)));
        assert_eq!((of("segments"), of("usec_per_call")), (Some(3.0), Some(7.0)));
        assert_eq!((of("sent"), of("unheard-of")), (None, None));
    }

    #[test]
    fn names_are_read_as_they_are_shown() {
        for name in ["wall", "client_sys", "sent_per_byte", "tcp_segments", "incr_usec_per_call"] {
            let quantity: Quantity = serde_json::from_value(name.into()).unwrap();
            assert_eq!(
                (quantity.to_string(), quantity.per_byte),
                (name.to_owned(), name.ends_with(PER_BYTE))
            );
        }
        assert!(serde_json::from_value::<Quantity>(" ".into()).is_err());
        assert!(serde_json::from_value::<Quantity>(PER_BYTE.into()).is_err());
    }
}
