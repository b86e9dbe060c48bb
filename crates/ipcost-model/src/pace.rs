//! When the operations of a cell begin: back to back, after a pause, or at an offered rate.

use crate::cell::{Cell, Pattern, Placement, Point};
use crate::error::ModelError;
use crate::options::Options;
use crate::options::choices;
use crate::units::{rate_text, time_text};

/// A pause before every operation of a worker.
pub const THINK: &str = "think";
/// Operations that are offered every second, all workers together.
pub const RATE: &str = "rate";
/// How pauses or arrivals are spread.
pub const ARRIVALS: &str = "arrivals";
/// How a sender waits for the next arrival.
pub const PACER: &str = "pacer";
/// The memory that a client goes through between operations.
pub const POLLUTE: &str = "pollute";
/// The longest that a processor may take to leave an idle state.
pub const CPU_DMA_LATENCY: &str = "cpu_dma_latency";
/// How late a sleeping client may be woken.
pub const TIMER_SLACK: &str = "timer_slack";

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pace {
    /// Each worker begins one as soon as it has the answer to the one before: a closed loop.
    BackToBack,
    /// Each worker pauses before every operation: a closed loop with think time. Each is timed by itself.
    Think {
        /// The mean pause, nanoseconds; may be 0.
        mean_ns: u64,
        /// Whether pauses are exponential; otherwise all are the same.
        random: bool,
    },
    /// Operations begin when they are due, answered or not: an open loop. Latency counts from when it was due.
    Rate {
        /// Operations a second, all workers together.
        per_s: u64,
        /// How they are spread.
        arrivals: Arrivals,
    },
}

/// When the operations of an open loop are due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrivals {
    /// A Poisson process, which all connections share.
    Random,
    /// Evenly spaced; connections take turns.
    Constant,
    /// Evenly spaced, on all connections at the same moments.
    InStep,
}

impl Pace {
    /// That which options ask for.
    pub fn of(options: &Options) -> Self {
        let arrivals = options.arrivals();
        match (options.rate(), options.think()) {
            (Some(per_s), _) => {
                let arrivals = match arrivals {
                    Some(choices::Arrivals::Constant) => Arrivals::Constant,
                    Some(choices::Arrivals::InStep) => Arrivals::InStep,
                    _ => Arrivals::Random,
                };
                Self::Rate { per_s, arrivals }
            }
            (None, Some(mean_ns)) => Self::Think {
                mean_ns,
                random: arrivals.is_some_and(|asked| asked != choices::Arrivals::Constant),
            },
            (None, None) => Self::BackToBack,
        }
    }

    /// Whether operations wait for something else than the one before, and each is timed by itself.
    pub fn is_paced(self) -> bool {
        self != Self::BackToBack
    }

    /// Whether it is an open loop.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Rate { .. })
    }

    /// Operations a second that are offered; `None` of a closed loop.
    pub fn offered_per_s(self) -> Option<u64> {
        if let Self::Rate { per_s, .. } = self { Some(per_s) } else { None }
    }

    /// The mean time from one beginning to the next in each of so many workers, nanoseconds, without the operation itself where
    /// a pause follows it.
    pub fn interval_ns(self, workers: u32) -> f64 {
        match self {
            Self::BackToBack => 0.0,
            Self::Think { mean_ns, .. } => mean_ns as f64,
            Self::Rate { per_s, .. } => f64::from(workers) * 1e9 / per_s.max(1) as f64,
        }
    }

    /// In a few words: `10 ms before each`, `5 000/s`; `None` of a usual loop.
    pub fn text(self) -> Option<String> {
        match self {
            Self::BackToBack => None,
            Self::Think { mean_ns: 0, .. } => Some("no pause".to_owned()),
            Self::Think { mean_ns, random } => {
                let spread = if random { " on average" } else { "" };
                Some(format!("{}{spread} before each", time_text(mean_ns)))
            }
            Self::Rate { per_s, arrivals } => {
                let spread = match arrivals {
                    Arrivals::Random => "",
                    Arrivals::Constant => ", evenly spaced",
                    Arrivals::InStep => ", all connections at once",
                };
                Some(format!("at {}{spread}", rate_text(per_s)))
            }
        }
    }
}

impl Cell {
    /// When its operations begin.
    pub fn pace(&self) -> Pace {
        Pace::of(&self.options)
    }

    /// What lies between its operations; `None` where its workers do not pause.
    pub fn pause(&self) -> Option<Pause> {
        match self.pace() {
            Pace::Think { mean_ns, .. } => Some(Pause {
                mean_ns,
                polluted: self.options.pollute().unwrap_or(0),
                is_awake: self.options.cpu_dma_latency().is_some(),
            }),
            Pace::BackToBack | Pace::Rate { .. } => None,
        }
    }
}

/// What lies between the operations of a worker that pauses: less comes before more.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pause {
    /// How long it is on average, nanoseconds; may be 0.
    pub mean_ns: u64,
    /// Bytes that the client goes through.
    pub polluted: u64,
    /// Whether processors are kept from idle states.
    pub is_awake: bool,
}

impl Pause {
    /// Whether it is a pause alone, with nothing done to tell what of its cost comes from where.
    pub fn is_plain(&self) -> bool {
        self.polluted == 0 && !self.is_awake
    }
}

impl Point {
    /// Its id, with the rate that is offered to it in words at the end: `rr/unix/64/c1 at 20k/s`.
    pub fn id_at_rate(&self) -> String {
        let Some(per_s) = self.pace().offered_per_s() else { return self.id() };
        let mut point = self.clone();
        point.options = self.options.except(RATE);
        format!("{} at {}", point.id(), rate_text(per_s))
    }
}

/// What options of pace contradict in one another, if anything.
pub(crate) fn check(options: &Options) -> Result<(), ModelError> {
    const EITHER: &[&str] = &[THINK, RATE];
    let is_set = |name: &&str| options.iter().any(|(option, _)| option.spec().name == *name);
    if EITHER.iter().all(is_set) {
        return Err(ModelError::Invalid(
            "think and rate exclude each other: a pause follows the answer, a rate does not wait for it; give one of them",
        ));
    }
    let arrives_in_step = options.arrivals() == Some(choices::Arrivals::InStep);
    let together: [(bool, String, &[&str]); 6] = [
        (is_set(&PACER), format!("option {PACER}"), &[RATE]),
        (is_set(&POLLUTE), format!("option {POLLUTE}"), &[THINK]),
        (is_set(&CPU_DMA_LATENCY), format!("option {CPU_DMA_LATENCY}"), &[THINK]),
        (arrives_in_step, format!("{ARRIVALS}=in-step"), &[RATE]),
        (is_set(&ARRIVALS), format!("option {ARRIVALS}"), EITHER),
        (is_set(&TIMER_SLACK), format!("option {TIMER_SLACK}"), EITHER),
    ];
    let alone = together.into_iter().find(|(is_set_to, _, needs)| *is_set_to && !needs.iter().any(is_set));
    alone.map_or(Ok(()), |(_, what, needs)| Err(ModelError::Alone { what, needs }))
}

/// What keeps a cell from being measured at its pace: one that exists nowhere, and then one that this placement has not.
pub(crate) fn fits(cell: &Cell, placement: Placement) -> Result<Option<String>, ModelError> {
    check(&cell.options)?;
    let pace = cell.pace();
    if pace.is_paced() && cell.pattern == Pattern::Stream {
        if cell.size < STAMP_BYTES {
            return Err(ModelError::NoRoomForStamp);
        }
        if cell.options.pipe_send().is_some_and(|by| by != choices::PipeSend::Write) {
            return Err(ModelError::StampNotCopied { option: "pipe_send", copied: "write" });
        }
        if cell.options.payload() == Some(choices::Payload::InPlace) {
            return Err(ModelError::StampNotCopied { option: "payload", copied: "copied" });
        }
    }
    if cell.options.pipeline().is_some() && pace.is_paced() {
        return Err(ModelError::PacedPipeline);
    }
    let spins = cell.options.pacer() == Some(choices::Pacer::Spin) && placement == Placement::Together;
    Ok(spins.then(|| {
        format!("a spinning sender would keep the server off the one core that both have; give {PACER}=sleep, or --placement two-cores")
    }))
}

/// How many bytes of a message tell when it was sent: nanoseconds of the monotonic clock, in the machine's byte order.
pub const STAMP_BYTES: u64 = 8;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::{OptionName, OptionValue};

    fn options(settings: &[(&str, &str)]) -> Options {
        let mut options = Options::default();
        for (name, text) in settings {
            let value = OptionName::find(name).unwrap().spec().parse(text).unwrap();
            options.set(name, value).unwrap();
        }
        options
    }

    #[test]
    fn a_pace_is_what_the_options_say() {
        let of = |settings: &[(&str, &str)]| Pace::of(&options(settings));
        assert_eq!(of(&[]), Pace::BackToBack);
        assert_eq!(of(&[("think", "0")]), Pace::Think { mean_ns: 0, random: false });
        assert_eq!(
            of(&[("think", "1.5ms"), ("arrivals", "exponential")]),
            Pace::Think { mean_ns: 1_500_000, random: true }
        );
        let rate = |arrivals| Pace::Rate { per_s: 5_000, arrivals };
        assert_eq!(of(&[("rate", "5k/s")]), rate(Arrivals::Random));
        assert_eq!(of(&[("rate", "5k/s"), ("arrivals", "in-step")]), rate(Arrivals::InStep));
        let even = of(&[("rate", "200"), ("arrivals", "constant")]);
        assert_eq!(even.interval_ns(2), 10e6);
        assert_eq!(even.text().unwrap(), "at 200/s, evenly spaced");
        assert_eq!(of(&[("think", "10ms")]).text().unwrap(), "10 ms before each");
    }

    #[test]
    fn a_rate_is_named_in_words() {
        let of = |settings: &[(&str, &str)]| {
            let mut cell = Cell::new(Pattern::Rr, "unix", 64);
            cell.options = options(settings);
            Point::free(cell).id_at_rate()
        };
        assert_eq!(of(&[("rate", "20k/s")]), "rr/unix/64/c1 at 20k/s");
        assert_eq!(
            of(&[("rate", "5k/s"), ("arrivals", "constant")]),
            "rr/unix/64/c1/arrivals=constant at 5000/s"
        );
        assert_eq!(of(&[("think", "0")]), "rr/unix/64/c1/think=0");
    }

    #[test]
    fn what_contradicts_itself_is_refused_with_what_would_do() {
        assert_eq!(
            check(&options(&[("think", "1ms"), ("pollute", "256KiB"), ("timer_slack", "50us")])),
            Ok(())
        );
        assert_eq!(check(&options(&[("rate", "100"), ("pacer", "sleep"), ("arrivals", "poisson")])), Ok(()));
        for (settings, says) in [
            (&[("think", "1ms"), ("rate", "5")][..], "give one of them"),
            (&[("pacer", "spin")], "give rate too"),
            (&[("think", "1ms"), ("pacer", "spin")], "give rate too"),
            (&[("rate", "5"), ("pollute", "1KiB")], "give think too"),
            (&[("arrivals", "constant")], "give one of them"),
        ] {
            let error = check(&options(settings)).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
        let rate = OptionName::find("rate").unwrap().spec();
        for wrong in ["0", "-1", "fast", "0/s", "1e3"] {
            assert!(rate.parse(wrong).unwrap_err().to_string().contains("such as 5000 or 5k/s"), "{wrong}");
        }
        assert!(rate.check(OptionValue::Int(0)).is_err());
        let think = OptionName::find("think").unwrap().spec();
        assert!(think.parse("2min").unwrap_err().to_string().contains("from 0 to 60s"));
    }
}
