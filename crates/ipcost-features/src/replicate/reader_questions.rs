//! Who was right: by the question that readers have, and not by the claim. What several articles say of the same two transports under the
//! same kind of load, what is so here, and what makes them differ.

use std::ops::Deref;

use ipcost_model::{Measure, Pattern, and_joined};

use super::claim_words::{factor_name, measure_text, said_of, shown};
use super::compared::{Compared, ConditionSettings};
use super::generalise::{FieldGrid, FieldRange, factors};
use super::judge::SAME;
use super::table::{ClaimTable, Part, Under};
use super::{ReplicatedClaim, ReplicatedTest, ReplicationRecord};
use crate::claims::{Bounded, ClaimBounds};
use ipcost_model::ClaimVerdict;

/// Messages up to this many bytes are small.
const SMALL: u64 = 4096;
/// A load, as readers think of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum LoadKind {
    Connection,
    RoundTrip,
    SmallRoundTrip,
    LargeRoundTrip,
    Stream,
    SmallStream,
    LargeStream,
    Server,
}

impl LoadKind {
    /// The load of a row, by size if sizes matter; `None` for those of which articles speak rarely.
    fn of(compared: &Compared, by_size: bool) -> Option<Self> {
        let is_small = compared.load.get("size").is_none_or(|size| *size <= SMALL);
        match (compared.pattern, by_size) {
            _ if compared.real_server => Some(Self::Server),
            (Pattern::Connect, _) => Some(Self::Connection),
            (Pattern::Rr, false) => Some(Self::RoundTrip),
            (Pattern::Rr, true) => Some(if is_small { Self::SmallRoundTrip } else { Self::LargeRoundTrip }),
            (Pattern::Stream, false) => Some(Self::Stream),
            (Pattern::Stream, true) => Some(if is_small { Self::SmallStream } else { Self::LargeStream }),
            _ => None,
        }
    }

    /// The load whatever the size.
    fn of_any_size(self) -> Self {
        match self {
            Self::SmallRoundTrip | Self::LargeRoundTrip => Self::RoundTrip,
            Self::SmallStream | Self::LargeStream => Self::Stream,
            other => other,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Connection => "A connection for each request",
            Self::RoundTrip => "A round trip",
            Self::SmallRoundTrip => "A small round trip",
            Self::LargeRoundTrip => "A large round trip",
            Self::Stream => "A stream",
            Self::Server => "A request to a real server",
            Self::SmallStream => "A stream in small blocks",
            Self::LargeStream => "A stream in large blocks",
        }
    }
}

/// What one claim says of two transports under a kind of load, and what was measured for it.
#[derive(Debug)]
struct Saying<'a> {
    experiment: &'a str,
    load: LoadKind,
    /// The transports; a Unix socket comes second where it is one of them.
    sides: (String, String),
    /// The range in which the article has the ratio of the first to the second.
    bounds: (f64, f64),
    /// The conditions, and on which side of 1 the ratio lies under each: it holds above, and fails below.
    columns: Vec<Under>,
    part: Part<'a>,
    grid: FieldGrid,
}

impl Saying<'_> {
    /// On which side of 1 the ratio lies, field by field.
    fn words(&self) -> impl Iterator<Item = ClaimVerdict> {
        self.grid.rows.iter().flatten().flatten().map(|known| known.word)
    }
}

/// A question with what articles say of it.
#[derive(Debug, PartialEq)]
pub struct ReaderQuestion {
    /// The question, with its answer here.
    pub title: String,
    pub here: String,
    /// Who says what, and who is right.
    pub articles: String,
}

/// The questions of a Unix socket and TCP, and those that articles answer differently.
pub fn answers(records: &[impl Deref<Target = ReplicationRecord>]) -> Vec<ReaderQuestion> {
    let of = |by_size: bool| -> Vec<Saying<'_>> {
        records.iter().flat_map(|record| sayings(record, by_size)).collect()
    };
    let (whole, parts) = (of(false), of(true));
    let mut keys: Vec<(LoadKind, &(String, String))> = parts
        .iter()
        .map(|it| {
            let load = it.load.of_any_size();
            let all: Vec<&Saying<'_>> =
                whole.iter().filter(|other| (other.load, &other.sides) == (load, &it.sides)).collect();
            (if is_of_one_mind(&all) { load } else { it.load }, &it.sides)
        })
        .collect();
    // A Unix socket and TCP first.
    keys.sort_by_key(|(load, sides)| (*load, sides.1 != "unix", sides.0 != "tcp", (*sides).clone()));
    keys.dedup();
    let answer = |(load, sides): (LoadKind, &(String, String))| {
        let both = parts
            .iter()
            .chain(whole.iter().filter(|it| matches!(it.load, LoadKind::RoundTrip | LoadKind::Stream)));
        let mine: Vec<&Saying<'_>> = both.filter(|it| (it.load, &it.sides) == (load, sides)).collect();
        let is_main = sides.0 == "tcp" && sides.1 == "unix";
        (is_main || contradict(&mine)).then(|| question(load, &mine))
    };
    keys.into_iter().filter_map(answer).collect()
}

/// Whether the ratio lies on one side of 1, whatever the load and the condition.
fn is_of_one_mind(all: &[&Saying<'_>]) -> bool {
    let has = |word: ClaimVerdict| all.iter().any(|it| it.words().any(|known| known == word));
    has(ClaimVerdict::Holds) != has(ClaimVerdict::Fails)
}

/// Whether two articles cannot both be right: what they say excludes one another, up to the conditions.
fn contradict(all: &[&Saying<'_>]) -> bool {
    let exclude = |a: &Saying<'_>, b: &Saying<'_>| {
        a.experiment != b.experiment && (a.bounds.1 <= b.bounds.0 || b.bounds.1 <= a.bounds.0)
    };
    all.iter().any(|a| all.iter().any(|b| exclude(a, b)))
}

/// What the claims of an experiment say of costs.
fn sayings<'a>(record: &'a ReplicationRecord, by_size: bool) -> Vec<Saying<'a>> {
    let of_claim = |claim: &'a ReplicatedClaim| {
        let ClaimTable { columns, parts } = ClaimTable::of(claim, &record.runs);
        parts.into_iter().flat_map(|part| split(record, &columns, &part, by_size)).collect::<Vec<_>>()
    };
    record.claims.iter().flat_map(of_claim).collect()
}

/// A part of a table by kinds of load, if it compares costs of two transports.
fn split<'a>(
    record: &'a ReplicationRecord,
    columns: &[Under],
    part: &Part<'a>,
    by_size: bool,
) -> Vec<Saying<'a>> {
    let ([a], [b]) = (&part.sides.0[..], &part.sides.1[..]) else {
        return Vec::new();
    };
    let is_cost = matches!(
        Measure::named(part.measure),
        Measure::Wall | Measure::Sent | Measure::ClientCpu | Measure::Cpu
    );
    let is_transport = |name: &String| ipcost_sys::transport::find(name).is_some();
    if !is_cost || !is_transport(a) || !is_transport(b) {
        return Vec::new();
    }
    let turned = a == "unix" || b != "unix" && a < b;
    let sides = if turned { (b.clone(), a.clone()) } else { (a.clone(), b.clone()) };
    let load = |row: usize| LoadKind::of(part.of_row(row)?.compared.as_ref()?, by_size);
    let mut found: Vec<Saying<'a>> = Vec::new();
    for row in 0..part.loads.len() {
        let Some((load, test)) = load(row).zip(part.of_row(row)) else { continue };
        let bounds = bounds(test, turned);
        let known = part.tests[row].iter().map(|test| test.and_then(|test| side_of_1(test, turned)));
        let index = found.iter().position(|it| it.load == load && it.bounds == bounds).unwrap_or_else(|| {
            let empty = Part {
                sides: (vec![sides.0.clone()], vec![sides.1.clone()]),
                loads: Vec::new(),
                tests: Vec::new(),
                ..part.clone()
            };
            found.push(Saying {
                experiment: &record.id,
                load,
                sides: sides.clone(),
                bounds,
                columns: columns.to_vec(),
                part: empty,
                grid: FieldGrid { factor: part.factor, is_ratio: true, rows: Vec::new() },
            });
            found.len() - 1
        });
        let saying = &mut found[index];
        saying.part.loads.push(part.loads[row]);
        saying.part.tests.push(part.tests[row].clone());
        saying.grid.rows.push(known.collect());
    }
    found
}

/// The range of a claim; turned over with its ratio.
fn bounds(test: &ReplicatedTest, turned: bool) -> (f64, f64) {
    let (above, below) = (test.above, test.below);
    let (above, below) = (above.unwrap_or(0.0), below.unwrap_or(f64::INFINITY));
    if turned { (below.recip(), above.recip()) } else { (above, below) }
}

/// On which side of 1 the ratio of a test lies, whatever is claimed of it: its whole interval, or both ends next to 1.
fn side_of_1(test: &ReplicatedTest, turned: bool) -> Option<FieldRange> {
    let turn = |value: f64| if turned { value.recip() } else { value };
    let value = turn(test.value?);
    let interval = test.lo.zip(test.hi);
    let interval = interval.map(|(lo, hi)| if turned { (turn(hi), turn(lo)) } else { (lo, hi) });
    let word =
        ClaimBounds { above: Some(Bounded::Strictly(1.0)), margin: Some(SAME), below: None }.decide(interval);
    let held = interval.filter(|_| !word.is_open());
    Some(FieldRange { word, values: held.unwrap_or((value, value)) })
}

/// On which side of 1 a range lies.
fn claimed_side((above, below): (f64, f64)) -> Option<ClaimVerdict> {
    match () {
        () if above >= 1.0 => Some(ClaimVerdict::Holds),
        () if below <= 1.0 => Some(ClaimVerdict::Fails),
        () => None,
    }
}

fn question(load: LoadKind, all: &[&Saying<'_>]) -> ReaderQuestion {
    let (a, b) = (shown(&all[0].sides.0), shown(&all[0].sides.1));
    let has = |word: ClaimVerdict| all.iter().any(|it| it.words().any(|known| known == word));
    let turns = turns_on(all);
    let words = || all.iter().flat_map(|it| it.words());
    let decided = words().filter(|word| !word.is_open()).count();
    let decides =
        if turns.is_empty() { "it depends".to_owned() } else { format!("depends on {}", and_joined(&turns)) };
    let answer = match (has(ClaimVerdict::Holds), has(ClaimVerdict::Fails), has(ClaimVerdict::NoDifference)) {
        (true, false, _) => format!("{b} is cheaper than {a}"),
        (false, true, _) => format!("{a} is cheaper than {b}"),
        (true, true, _) => format!("{a} or {b}, {decides}"),
        (false, false, true) => format!("{a} and {b} cost the same"),
        (false, false, false) => format!("{a} or {b}, not decided"),
    };
    ReaderQuestion {
        title: format!("{}: {answer}", load.name()),
        here: format!("{a} over {b}: {}; {} of {} decided", here(all), decided, words().count()),
        articles: said(all),
    }
}

/// What was measured, an experiment once for each quantity.
fn here(all: &[&Saying<'_>]) -> String {
    let mut seen = Vec::new();
    let mut found: Vec<(&str, Vec<String>)> = Vec::new();
    for it in all {
        let key = (it.experiment, it.part.measure, &it.part.loads);
        if seen.contains(&key) {
            continue;
        }
        seen.push(key);
        let Some(said) = said_of(&it.columns, &it.part, &it.grid) else { continue };
        let of_other_loads = |other: &&Saying<'_>| {
            (other.experiment, other.part.measure) == (it.experiment, it.part.measure)
                && other.part.loads != it.part.loads
        };
        let said = match it.part.has_load(0) && it.part.loads[0] > 0 && all.iter().any(of_other_loads) {
            true => format!("{said} {}", it.part.at_loads((0, it.part.loads.len() - 1))),
            false => said,
        };
        let said = match Measure::named(it.part.measure) {
            Measure::Wall | Measure::Sent => said,
            _ => format!("{} {said}", measure_text(it.part.measure)),
        };
        match found.iter_mut().find(|(name, _)| *name == it.experiment) {
            Some((_, all)) => all.push(said),
            None => found.push((it.experiment, vec![said])),
        }
    }
    let each: Vec<String> =
        found.iter().map(|(name, said)| format!("{} ({name})", said.join(", "))).collect();
    if each.is_empty() { "nothing decided".to_owned() } else { each.join("; ") }
}

/// Who says that which of the two costs less, and who is right of them.
fn said(all: &[&Saying<'_>]) -> String {
    let (a, b) = (shown(&all[0].sides.0), shown(&all[0].sides.1));
    let mut parts = Vec::new();
    for (wanted, name) in [(ClaimVerdict::Holds, b), (ClaimVerdict::Fails, a)] {
        let mine: Vec<&Saying<'_>> =
            all.iter().copied().filter(|it| claimed_side(it.bounds) == Some(wanted)).collect();
        let mut names: Vec<&str> = mine.iter().map(|it| it.experiment).collect();
        names.dedup();
        let who: Vec<String> = names
            .into_iter()
            .map(|name| {
                let own = || mine.iter().filter(|it| it.experiment == name);
                format!("{name} {}", is_so(own().flat_map(|it| it.words()), wanted).mark())
            })
            .collect();
        if !who.is_empty() {
            parts.push(format!("{name} is cheaper, by {}", and_joined(&who)));
        }
    }
    if parts.is_empty() {
        "no article says which".to_owned()
    } else {
        format!("articles: {}", parts.join("; "))
    }
}

/// Whether it is so: whatever the load and the condition, or sometimes, or never.
fn is_so(words: impl Iterator<Item = ClaimVerdict>, said: ClaimVerdict) -> ClaimVerdict {
    let decided: Vec<ClaimVerdict> = words.filter(|word| !word.is_open()).collect();
    match decided.iter().filter(|word| **word == said).count() {
        _ if decided.is_empty() => ClaimVerdict::Open,
        0 => ClaimVerdict::Fails,
        so if so == decided.len() => ClaimVerdict::Holds,
        _ => ClaimVerdict::Depends,
    }
}

/// What makes the sides differ: within an experiment a load or a condition; between experiments the loads, what was timed, or the
/// programs, where one has only one side of 1 and the other only the other.
fn turns_on(all: &[&Saying<'_>]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut add = |name: String| {
        if !found.contains(&name) {
            found.push(name);
        }
    };
    for it in all {
        let settings: Vec<ConditionSettings> = it.columns.iter().map(|column| column.sets.clone()).collect();
        factors(std::slice::from_ref(&it.grid), &settings).iter().for_each(|name| add(factor_name(name)));
    }
    let only = |it: &Saying<'_>, word: ClaimVerdict| {
        it.words().any(|known| known == word)
            && !it
                .words()
                .any(|known| [ClaimVerdict::Holds, ClaimVerdict::Fails].contains(&known) && known != word)
    };
    for (a, b) in all.iter().flat_map(|a| all.iter().map(move |b| (a, b))) {
        if only(a, ClaimVerdict::Holds) && only(b, ClaimVerdict::Fails) {
            let shares_a_load = a.part.loads.iter().any(|load| b.part.loads.contains(load));
            add(match () {
                () if a.part.measure != b.part.measure && a.experiment == b.experiment => {
                    "what is timed".to_owned()
                }
                () if !shares_a_load => factor_name(a.part.factor),
                () => "the programs".to_owned(),
            });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// An experiment with one claim on the ratio of two transports: a pattern, the bound as it is written, and the ratio measured at
    /// each size.
    fn record(
        id: &str,
        pattern: &str,
        (a, b): (&str, &str),
        claimed: &str,
        measured: &[(u64, f64)],
    ) -> ReplicationRecord {
        let number = |text: &str| text.trim_matches(['<', '>', ' ']).parse::<f64>().unwrap();
        let range = match claimed.split_once(" to ") {
            Some((above, below)) => number(above)..number(below),
            None if claimed.starts_with('<') => 0.0..number(claimed),
            None => number(claimed)..f64::INFINITY,
        };
        let test = |(size, value): &(u64, f64)| -> Value {
            let ends = [value * 0.98, value * 1.02].map(|end| range.contains(&end));
            let word = match ends {
                [true, true] => "holds",
                [false, false] => "fails",
                _ => "open",
            };
            json!({
                "about": format!("{a} over {b}"), "software": "original", "measure": "wall", "value": value,
                "lo": value * 0.98, "hi": value * 1.02, "claimed": claimed, "word": word, "decides": true,
                "above": Some(range.start).filter(|above| *above > 0.0), "below": Some(range.end).filter(|below| below.is_finite()),
                "detail": null,
                "compared": {"a": a, "b": b, "pattern": pattern, "load": {"size": size, "concurrency": 1},
                    "real_server": id == "server"},
            })
        };
        let tests: Vec<Value> = measured.iter().map(test).collect();
        serde_json::from_value(json!({
            "schema": "ipcost-replication/1", "id": id, "question": "Which?", "machine": "a laptop", "differs": null,
            "runs": [{"software": "original", "about": "", "elapsed_s": 1.0, "epochs": 9, "missing": []}],
            "claims": [{"text": "", "published": null, "word": "holds", "behind": null, "tests": tests}],
        }))
        .unwrap()
    }

    fn told(records: &[ReplicationRecord]) -> Vec<[String; 3]> {
        answers(&records.iter().collect::<Vec<_>>())
            .into_iter()
            .map(|it| [it.title, it.here, it.articles])
            .collect()
    }

    #[test]
    fn of_two_articles_that_exclude_one_another_one_is_right() {
        let sizes = [(64, 1.25), (65_536, 1.5)];
        let one = record("one", "stream", ("tcp", "unix"), "< 1", &sizes);
        let other = record("other", "stream", ("unix", "tcp"), "< 1", &[(64, 0.8)]);
        assert_eq!(
            told(&[one, other]),
            [[
                "A stream: unix is cheaper than TCP",
                "TCP over unix: 1.2–1.5 × (one); 1.2–1.3 × (other); 3 of 3 decided",
                "articles: unix is cheaper, by other ✓; TCP is cheaper, by one ✗"
            ]]
        );
    }

    #[test]
    fn loads_are_told_by_size_where_size_decides() {
        let sizes = [(64, 0.7), (1024, 0.8), (65_536, 1.5)];
        let found = told(&[record("one", "stream", ("tcp", "unix"), "< 1", &sizes)]);
        assert_eq!(
            found.iter().map(|[title, ..]| title.as_str()).collect::<Vec<_>>(),
            [
                "A stream in small blocks: TCP is cheaper than unix",
                "A stream in large blocks: unix is cheaper than TCP"
            ]
        );
        assert_eq!(found[0][2], "articles: TCP is cheaper, by one ✓");
        assert_eq!(found[1][2], "articles: TCP is cheaper, by one ✗");
    }

    #[test]
    fn other_pairs_are_told_where_articles_contradict_one_another() {
        let pipe = |id, claimed, ratio| record(id, "rr", ("pipe", "fifo"), claimed, &[(64, ratio)]);
        assert!(told(&[pipe("one", "< 1", 0.9)]).is_empty());
        assert!(told(&[pipe("one", "< 1", 0.9), pipe("two", "< 0.8", 0.9)]).is_empty(), "both may be right");
        let found = told(&[pipe("one", "< 1", 0.9), pipe("two", "1.3 to 2", 1.4)]);
        assert_eq!(found[0][0], "A small round trip: pipe or fifo, depends on the programs");
        assert_eq!(found[0][2], "articles: fifo is cheaper, by two ✓; pipe is cheaper, by one ✓");
    }

    #[test]
    fn a_real_server_is_a_question_of_its_own_and_what_is_open_is_said() {
        let unix = |id, ratio| record(id, "rr", ("tcp", "unix"), "> 1", &[(64, ratio)]);
        let found = told(&[unix("bare", 1.5), unix("server", 1.001)]);
        assert_eq!(
            found.iter().map(|[title, ..]| title.as_str()).collect::<Vec<_>>(),
            [
                "A round trip: unix is cheaper than TCP",
                "A request to a real server: TCP and unix cost the same"
            ]
        );
        let mut open = unix("bare", 1.0);
        (open.claims[0].tests[0].lo, open.claims[0].tests[0].hi) = (Some(0.5), Some(2.0));
        open.claims[0].tests[0].word = ClaimVerdict::Open;
        assert_eq!(told(&[open])[0][0], "A small round trip: TCP or unix, not decided");
    }
}
