//! From the verdicts under each condition to one verdict and one sentence.

use ipcost_lab::rules::nanoseconds;
use ipcost_model::{Placement, and_joined};
use ipcost_report::numbers::{bounds, ratio};

use super::{Condition, LedgerTest, Stratum};
use crate::claims::ClaimVerdict;

/// What the cells of a test are compared by, to say what differs: measures of one operation, in words.
pub(super) const EVIDENCE: [(&str, What); 4] = [
    ("voluntary_switches", What::Count("sleeps")),
    ("client_sys", What::Time("of the client's system time")),
    ("server_sys", What::Time("of the server's system time")),
    ("client_user", What::Time("of the client's user time")),
];
/// Figures that differ by less than this factor are not told.
const VISIBLE: f64 = 1.5;
/// Sleeps in fewer operations than this are not told.
const FEW: f64 = 0.05;
/// Times below this are not told, nanoseconds.
const SHORT_NS: f64 = 100.0;
/// More labels than this are told by the first and the last.
const MOST_LABELS: usize = 3;

/// A figure in words.
#[derive(Debug, Clone, Copy)]
pub(super) enum What {
    /// How often something happens in an operation.
    Count(&'static str),
    /// A time in an operation.
    Time(&'static str),
}

/// What two cells differ in, if it is visible.
pub(super) fn evidence(what: What, [a, b]: [&String; 2], of_a: f64, of_b: f64) -> Option<String> {
    let (least, most) = (of_a.min(of_b), of_a.max(of_b));
    let floor = match what {
        What::Count(_) => FEW,
        What::Time(_) => SHORT_NS,
    };
    (most > floor && most > VISIBLE * least.max(0.0)).then(|| match what {
        What::Count(name) => format!("{a} {of_a:.2} {name} an operation, {b} {of_b:.2}"),
        What::Time(name) => format!("{a} {} {name}, {b} {}", nanoseconds(of_a), nanoseconds(of_b)),
    })
}

/// Whether conditions say different things, or the published one nothing.
pub(super) fn differ(conditions: &[Condition]) -> bool {
    conditions.iter().any(|condition| condition.word != conditions[0].word) || conditions[0].word.is_open()
}

/// What a reader should do about a claim that depends: under which condition their own programs run decides.
pub(super) fn advice(conditions: &[Condition], strata: &[Stratum]) -> Option<String> {
    let verdict = |of: &dyn Fn(&Stratum) -> bool| -> Vec<ClaimVerdict> {
        let of = |condition: &&Condition| {
            strata.iter().any(|it| Some(&it.name) == condition.stratum.as_ref() && of(it))
        };
        conditions.iter().filter(of).map(|condition| condition.word).collect()
    };
    let differ = |a: &[ClaimVerdict], b: &[ClaimVerdict]| {
        let holds = |list: &[ClaimVerdict]| list.contains(&ClaimVerdict::Holds);
        let does_not = |list: &[ClaimVerdict]| {
            list.iter().any(|verdict| matches!(verdict, ClaimVerdict::Fails | ClaimVerdict::NoDifference))
        };
        (holds(a) && does_not(b)) || (does_not(a) && holds(b))
    };
    let one = verdict(&|it| it.placement == Some(Placement::Together) && it.options.is_empty());
    let two = verdict(&|it| it.placement == Some(Placement::Apart) && it.options.is_empty());
    let (plain, set) = (verdict(&|it| it.options.is_empty()), verdict(&|it| !it.options.is_empty()));
    let parts = [
        differ(&one, &two).then_some(
            "whether your processes share a core decides: pin them (taskset), and measure with --placement together,apart",
        ),
        differ(&plain, &set).then_some("whether TCP_NODELAY is set decides: set it for small messages that must not wait"),
    ];
    let said: Vec<&str> = parts.into_iter().flatten().collect();
    (!said.is_empty()).then(|| said.join("; "))
}

/// The claim in one sentence: its verdicts under each condition, with their figures.
pub(super) fn sentence(conditions: &[Condition], word: ClaimVerdict, size: Option<ClaimVerdict>) -> String {
    if conditions.is_empty() {
        return String::new();
    }
    let name = |condition: &Condition| match &condition.stratum {
        Some(stratum) => stratum.clone(),
        None => "as published".to_owned(),
    };
    let told = |condition: &Condition| match condition.figures.as_str() {
        "" => name(condition),
        figures => format!("{}: {figures}", name(condition)),
    };
    let is_one = conditions.iter().all(|condition| condition.word == conditions[0].word);
    // What is known comes first.
    let (known, open): (Vec<&Condition>, Vec<&Condition>) =
        conditions.iter().partition(|condition| !condition.word.is_open());
    let each = known.into_iter().chain(open).map(|condition| match condition.word {
        _ if is_one => told(condition),
        // It names what holds and what fails itself.
        ClaimVerdict::Depends => told(condition),
        verdict => format!("{verdict} {}", told(condition)),
    });
    let whole = each.collect::<Vec<_>>().join("; ");
    match size.filter(|_| word == ClaimVerdict::Holds) {
        Some(ClaimVerdict::Fails) => format!("in direction only, the factor differs: {whole}"),
        Some(ClaimVerdict::Depends) => format!("in direction; the factor depends: {whole}"),
        Some(ClaimVerdict::Open | ClaimVerdict::NotTested) => {
            format!("in direction; the factor is open: {whole}")
        }
        Some(ClaimVerdict::Holds | ClaimVerdict::NoDifference) | None => whole,
    }
}

/// The figures that say most: those of the test that fails, that is open or that is nearest to its bound; of tests that
/// disagree, which hold and which fail.
pub(super) fn figures(tests: &[LedgerTest], word: ClaimVerdict) -> String {
    let deciding: Vec<&LedgerTest> = tests.iter().filter(|test| test.decides).collect();
    let verdict = |test: &LedgerTest| test.direction.unwrap_or(test.word);
    let labels = labels(&deciding);
    let of = |wanted: ClaimVerdict| -> Vec<usize> {
        (0..deciding.len()).filter(|index| verdict(deciding[*index]) == wanted).collect()
    };
    // An open claim of many tests is told by what is known of them, too.
    let is_mixed = word.is_open() && !of(ClaimVerdict::Holds).is_empty();
    if word == ClaimVerdict::Depends || is_mixed {
        let part = |wanted: ClaimVerdict, words: &str| {
            let which = of(wanted);
            (!which.is_empty()).then(|| {
                let names: Vec<&str> = which.iter().map(|index| labels[*index].as_str()).collect();
                let figure = worst(which.iter().map(|index| deciding[*index]))
                    .map_or_else(String::new, |it| format!(" ({})", figure(it)));
                format!("{words} {}{figure}", some(&names))
            })
        };
        let parts = [
            part(ClaimVerdict::Holds, "holds for"),
            part(ClaimVerdict::Fails, "fails for"),
            part(ClaimVerdict::NoDifference, "no difference that matters for"),
            part(ClaimVerdict::Open, "open for"),
        ];
        return parts.into_iter().flatten().collect::<Vec<_>>().join(", ");
    }
    let telling = of(word);
    let Some(test) = worst(telling.iter().map(|index| deciding[*index])) else { return String::new() };
    match deciding.len() {
        1 => figure(test),
        _ => format!("{} {}", test.about, figure(test)),
    }
}

/// The test nearest to no answer: the widest interval for its distance from 1.
fn worst<'a>(tests: impl Iterator<Item = &'a LedgerTest>) -> Option<&'a LedgerTest> {
    let distance = |test: &LedgerTest| test.value.map_or(f64::INFINITY, |value| value.max(1e-9).ln().abs());
    tests
        .filter(|test| test.value.is_some() || test.detail.is_some())
        .min_by(|a, b| distance(a).total_cmp(&distance(b)))
}

/// `0.52 (0.49–0.55)`.
fn figure(test: &LedgerTest) -> String {
    match (test.value, &test.detail) {
        (Some(value), _) => format!("{} {}", ratio(value), bounds(value, (test.lo, test.hi), test.range))
            .trim_end()
            .to_owned(),
        // Their names and numbers fill lines.
        (None, Some(_)) if test.word == ClaimVerdict::Holds => "the same calls".to_owned(),
        (None, Some(_)) => "other calls".to_owned(),
        (None, None) => "not measured".to_owned(),
    }
}

/// What tells tests apart: what follows the last comma, if all begin alike; else all they say.
fn labels(tests: &[&LedgerTest]) -> Vec<String> {
    let split: Option<Vec<(&str, &str)>> = tests.iter().map(|test| test.about.rsplit_once(", ")).collect();
    match split {
        Some(parts) if parts.iter().all(|(begin, _)| *begin == parts[0].0) => {
            parts.into_iter().map(|(_, end)| end.to_owned()).collect()
        }
        _ => tests.iter().map(|test| test.about.clone()).collect(),
    }
}

/// Some names of a list in their order.
fn some(names: &[&str]) -> String {
    match names {
        [first, .., last] if names.len() > MOST_LABELS => {
            format!("{first} … {last}, {} in all", names.len())
        }
        _ => and_joined(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::over_conditions;
    use crate::replicate::Software;

    fn condition(stratum: Option<&str>, word: ClaimVerdict) -> Condition {
        Condition {
            stratum: stratum.map(str::to_owned),
            software: Software::Original,
            word,
            size: None,
            figures: "0.52 (0.49–0.55)".to_owned(),
        }
    }

    #[test]
    fn a_claim_depends_on_the_condition_under_which_it_fails() {
        use ClaimVerdict::{Depends, Fails, Holds, NoDifference, NotTested, Open};
        let of = |published, strata: &[ClaimVerdict]| {
            let set = strata.iter().map(|word| condition(Some("x"), *word));
            let all: Vec<Condition> = std::iter::once(condition(None, published)).chain(set).collect();
            over_conditions(&all.iter().map(|condition| condition.word).collect::<Vec<_>>())
        };
        assert_eq!(of(Holds, &[Holds, Holds]), Holds);
        assert_eq!(of(Fails, &[Fails]), Fails);
        assert_eq!(of(Open, &[Holds, Fails]), Depends);
        assert_eq!(of(Open, &[Holds, Holds]), Holds, "as published it is a mixture of the two");
        assert_eq!(of(Open, &[Fails, Open]), Fails);
        assert_eq!(of(Holds, &[Open, Open]), Holds, "nothing says that it depends");
        assert_eq!(of(Fails, &[Holds, Holds]), Depends);
        assert_eq!(of(Open, &[Open, Open]), Open);
        assert_eq!(of(NoDifference, &[NoDifference, Open]), NoDifference);
        assert_eq!(of(Holds, &[NoDifference]), Depends);
        assert_eq!(of(NoDifference, &[Fails]), Fails);
        assert_eq!(of(Open, &[]), Open);
        assert_eq!(over_conditions(&[]), NotTested);
    }

    #[test]
    fn the_sentence_names_the_conditions() {
        let all = [
            condition(Some("on one core"), ClaimVerdict::Holds),
            condition(Some("on two"), ClaimVerdict::Fails),
        ];
        assert_eq!(
            sentence(&all, ClaimVerdict::Depends, None),
            "holds on one core: 0.52 (0.49–0.55); fails on two: 0.52 (0.49–0.55)"
        );
        assert!(
            sentence(&all[..1], ClaimVerdict::Holds, Some(ClaimVerdict::Fails))
                .starts_with("in direction only")
        );
    }

    #[test]
    fn sizes_at_which_a_claim_fails_are_named() {
        let test = |about: &str, word, value: f64| LedgerTest {
            about: format!("unix over tcp, {about}"),
            value: Some(value),
            lo: Some(value * 0.9),
            hi: Some(value * 1.1),
            ..LedgerTest::known_as(word)
        };
        let (yes, no) = (ClaimVerdict::Holds, ClaimVerdict::Fails);
        let tests = [test("1 B", yes, 0.5), test("2 B", yes, 0.6), test("3 B", no, 1.5)];
        let said = figures(&tests, ClaimVerdict::Depends);
        assert!(said.starts_with("holds for 1 B and 2 B (0.60"), "{said}");
        assert!(said.contains("fails for 3 B (1.50"), "{said}");
        assert!(
            figures(&tests[..2], yes).starts_with("unix over tcp, 2 B 0.60"),
            "{}",
            figures(&tests[..2], yes)
        );
    }
}
