//! Whether an explanation names what was planted, and blames nothing else.

use serde_json::Value;

use super::plants::Plant;

/// Codes of what the machine does to every cell: no fault of an explanation while it is so.
const OF_THE_MACHINE: [&str; 2] = ["busy-neighbour", "steal"];
/// Cores sleep deeply or not whatever is planted, and only the kernel knows.
const ALWAYS_OF_THE_MACHINE: &str = "idle-wakeups";

/// A cause as an explanation names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    pub code: String,
    /// What it is about, such as a call's name.
    pub subject: Option<String>,
    pub side: Option<String>,
    /// What became of its remedy, where the program tried it.
    pub remedy: Option<Remedy>,
}

/// What a remedy that was tried brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remedy {
    /// It costs surely less.
    Helps,
    /// It makes no difference that is known.
    Neither,
    /// It costs surely more, and the explanation says to leave it.
    TakenBack,
    /// It costs surely more, and the explanation advises it.
    Harms,
}

impl Remedy {
    fn of(cause: &Value) -> Option<Self> {
        let tried = cause["tried"].as_object()?;
        let known = ["different", "direction"].iter().any(|verdict| tried["verdict"] == *verdict);
        let more = tried["ratio"]["median"].as_f64()? > 1.0;
        let left = cause["remedy"].as_str().is_some_and(|remedy| remedy.starts_with("leave it"));
        Some(match (known, more) {
            (false, _) => Self::Neither,
            (true, false) => Self::Helps,
            (true, true) if left => Self::TakenBack,
            (true, true) => Self::Harms,
        })
    }
}

impl Cause {
    /// Those of an explanation, what weighs most first.
    pub fn all_of(explanation: &Value) -> Vec<Self> {
        let text = |cause: &Value, name: &str| cause[name].as_str().map(str::to_owned);
        let read = |cause: &Value| {
            Some(Self {
                code: text(cause, "code")?,
                subject: text(cause, "subject"),
                side: text(cause, "side"),
                remedy: Remedy::of(cause),
            })
        };
        explanation["causes"].as_array().into_iter().flatten().filter_map(read).collect()
    }

    fn words(&self) -> String {
        match &self.subject {
            Some(subject) => format!("{} ({subject})", self.code),
            None => self.code.clone(),
        }
    }
}

/// A code that may be named, for certain subjects only if it lists any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Blame {
    code: &'static str,
    subjects: &'static [&'static str],
}

/// A code, whatever its subject.
pub const fn any(code: &'static str) -> Blame {
    Blame { code, subjects: &[] }
}

/// More calls of one of these.
pub const fn calls(names: &'static [&'static str]) -> Blame {
    Blame { code: "more-calls", subjects: names }
}

impl Blame {
    fn fits(&self, cause: &Cause) -> bool {
        let subject = cause.subject.as_deref().unwrap_or_default();
        self.code == cause.code && (self.subjects.is_empty() || self.subjects.contains(&subject))
    }

    /// The code, with its subjects.
    pub fn words(&self) -> String {
        match self.subjects {
            [] => self.code.to_owned(),
            subjects => format!("{} ({})", self.code, subjects.join(", ")),
        }
    }
}

/// What came of one run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PlantTrial {
    /// The planted cause weighs most, but for the machine and what is true without it.
    pub first: bool,
    /// The planted cause is named.
    pub named: bool,
    /// Named by the machine's fault.
    pub of_machine: Vec<String>,
    /// Named although nothing of the kind was there.
    pub absent: Vec<String>,
    /// What became of remedies that were tried.
    pub remedies: Vec<Remedy>,
}

/// Judges the causes of one run; `of_peer` is what is true of the peer without a plant.
pub fn judge(plant: &Plant, of_peer: &[Blame], causes: &[Cause], machine_is_busy: bool) -> PlantTrial {
    let planted = |cause: &Cause| {
        let right_side = cause.side.as_deref().is_none_or(|side| plant.side().is_none_or(|own| own == side));
        right_side && plant.accepts.iter().any(|blame| blame.fits(cause))
    };
    let of_machine = |cause: &&Cause| {
        !planted(cause)
            && (cause.code == ALWAYS_OF_THE_MACHINE
                || (machine_is_busy && OF_THE_MACHINE.contains(&cause.code.as_str())))
    };
    let already = |cause: &Cause| plant.already.iter().chain(of_peer).any(|blame| blame.fits(cause));
    let company = |cause: &Cause| plant.company.iter().any(|blame| blame.fits(cause));
    let is_true = |cause: &Cause| planted(cause) || already(cause) || company(cause);
    let (machine, rest): (Vec<&Cause>, Vec<&Cause>) = causes.iter().partition(of_machine);
    let mut ranked = rest.iter().filter(|cause| planted(cause) || !already(cause));
    PlantTrial {
        first: ranked.next().is_some_and(|cause| planted(cause)),
        named: rest.iter().any(|cause| planted(cause)),
        of_machine: machine.into_iter().map(Cause::words).collect(),
        remedies: causes.iter().filter_map(|cause| cause.remedy).collect(),
        absent: rest.into_iter().filter(|cause| !is_true(cause)).map(Cause::words).collect(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Cause, PlantTrial, Remedy, any, judge};
    use crate::causes::plants::{self, Plant};

    fn plant(name: &str) -> &'static Plant {
        plants::all().find(|plant| plant.name == name).unwrap()
    }

    fn causes(named: &[(&str, &str)]) -> Vec<Cause> {
        let cause = |(code, subject): &(&str, &str)| Cause {
            code: (*code).to_owned(),
            subject: (!subject.is_empty()).then(|| (*subject).to_owned()),
            side: None,
            remedy: None,
        };
        named.iter().map(cause).collect()
    }

    #[test]
    fn causes_are_read_with_and_without_what_newer_ones_have() {
        let explanation = json!({"causes": [{"code": "a", "weight": 1.0}, {"code": "b", "subject": "c", "side": "client"}]});
        let found = Cause::all_of(&explanation);
        assert_eq!(found[0], Cause { code: "a".to_owned(), subject: None, side: None, remedy: None });
        assert_eq!(found[1].words(), "b (c)");
        assert_eq!(Cause::all_of(&json!({})), []);
    }

    #[test]
    fn remedies_that_were_tried_help_or_are_taken_back() {
        let remedy = |verdict: &str, median: f64, remedy: &str| {
            let tried = json!({"verdict": verdict, "ratio": {"median": median}});
            Remedy::of(&json!({"code": "nagle", "remedy": remedy, "tried": tried}))
        };
        assert_eq!(remedy("different", 0.2, "set it"), Some(Remedy::Helps));
        assert_eq!(remedy("undecided", 1.4, "set it"), Some(Remedy::Neither));
        assert_eq!(remedy("direction", 5.4, "set it"), Some(Remedy::Harms));
        assert_eq!(remedy("direction", 5.4, "leave it: …"), Some(Remedy::TakenBack));
        assert_eq!(Remedy::of(&json!({"code": "nagle", "remedy": "set it"})), None);
    }

    #[test]
    fn what_is_planted_may_have_company() {
        let found = causes(&[("sync-writes", "fdatasync"), ("storage", ""), ("more-calls", "pwrite64")]);
        let expected = PlantTrial { first: true, named: true, ..PlantTrial::default() };
        assert_eq!(judge(plant("fdatasync"), &[], &found, false), expected);
    }

    #[test]
    fn second_is_named_and_what_is_absent_is_counted() {
        let found = causes(&[("tls", ""), ("sync-writes", "fdatasync"), ("more-calls", "getppid")]);
        let trial = judge(plant("fdatasync"), &[], &found, false);
        assert_eq!((trial.first, trial.named), (false, true));
        assert_eq!(trial.absent, ["tls", "more-calls (getppid)"]);
    }

    #[test]
    fn a_general_cause_needs_its_subject() {
        let named = |subject| judge(plant("getppid"), &[], &causes(&[("more-calls", subject)]), false).named;
        assert!(named("getppid"));
        assert!(!named("read") && !named(""));
    }

    #[test]
    fn a_busy_machine_may_be_blamed_and_an_idle_one_may_not() {
        let found = causes(&[("busy-neighbour", ""), ("sleep", "")]);
        let busy = judge(plant("nanosleep"), &[], &found, true);
        assert!(busy.first);
        assert_eq!((busy.of_machine, busy.absent), (vec!["busy-neighbour".to_owned()], vec![]));
        let idle = judge(plant("nanosleep"), &[], &found, false);
        assert_eq!((idle.first, idle.absent), (false, vec!["busy-neighbour".to_owned()]));
        assert!(judge(plant("busy-neighbour"), &[], &found, true).first, "it is what was planted");
    }

    #[test]
    fn the_wrong_side_is_no_answer() {
        let mut found = causes(&[("sync-writes", "fdatasync")]);
        found[0].side = Some("client".to_owned());
        assert!(judge(plant("fdatasync"), &[], &found, false).named);
        let trial = judge(plant("server-fdatasync"), &[], &found, false);
        assert_eq!((trial.named, trial.absent), (false, vec!["sync-writes (fdatasync)".to_owned()]));
    }

    #[test]
    fn a_peer_brings_its_own_company() {
        let found = causes(&[("runtime", "")]);
        let expected = ["runtime".to_owned()];
        assert_eq!(judge(plant("none"), &[], &found, false).absent, expected);
        assert_eq!(judge(plant("none"), &[any("runtime")], &found, false).absent, [""; 0]);
        let behind = causes(&[("runtime", ""), ("sleep", "")]);
        assert!(judge(plant("nanosleep"), &[any("runtime")], &behind, false).first, "it was there before");
        assert!(judge(plant("spin"), &[any("runtime")], &behind, false).first, "it is what was planted");
    }
}
