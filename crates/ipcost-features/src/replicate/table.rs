//! The table of a claim: a row for each load that it speaks of, a column for each condition.

use std::collections::BTreeMap;

use ipcost_model::Pattern;
use ipcost_model::units::size_text;

use super::compared::ConditionSettings;
use super::generalise::{FieldGrid, FieldRange};
use super::{ReplicatedClaim, ReplicatedRun, ReplicatedTest, Software};
use ipcost_model::ClaimVerdict;

/// What orders the rows of a table, if several of it vary: the first.
pub(super) const FACTORS: [&str; 3] = ["size", "concurrency", "pipeline"];

/// The deciding tests of a claim as a table, with a part for each thing that is compared.
#[derive(Debug)]
pub(super) struct ClaimTable<'a> {
    /// The conditions, as published first.
    pub(super) columns: Vec<Under>,
    pub(super) parts: Vec<Part<'a>>,
}

/// A condition, with the software that was measured under it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Under {
    /// Its name; `None` as published.
    pub(super) condition: Option<String>,
    pub(super) software: Software,
    pub(super) sets: ConditionSettings,
}

/// What is compared under every load and condition.
#[derive(Debug, Clone)]
pub(super) struct Part<'a> {
    /// What its first test says of itself.
    pub(super) about: &'a str,
    /// Whether only that tells it from another part.
    pub(super) is_by_about: bool,
    /// The numerators and the denominators, which are several only where the same is known of all; no denominator where a
    /// value is judged by itself.
    pub(super) sides: (Vec<String>, Vec<String>),
    pub(super) measure: &'a str,
    pub(super) pattern: Option<Pattern>,
    /// What orders its rows, and what each row has of it; empty where the tests do not say.
    pub(super) factor: &'static str,
    pub(super) loads: Vec<u64>,
    /// The tests by row, then by column.
    pub(super) tests: Vec<Vec<Option<&'a ReplicatedTest>>>,
}

impl<'a> ClaimTable<'a> {
    /// Of the tests that decide a claim; the native peer's only where the original software decides nothing.
    pub(super) fn of(claim: &'a ReplicatedClaim, runs: &[ReplicatedRun]) -> Self {
        let decides = deciding(&claim.tests);
        let tests = claim.tests.iter().filter(|test| decides(test));
        let mut columns: Vec<Under> = Vec::new();
        let mut keyed: Vec<(PartKey<'a>, Vec<(usize, &'a ReplicatedTest)>)> = Vec::new();
        // A stranger's file may have many.
        let mut places: BTreeMap<PartKey<'a>, usize> = BTreeMap::new();
        for test in tests {
            let is_mine = |it: &Under| (&it.condition, it.software) == (&test.condition, test.software);
            let column = columns.iter().position(is_mine).unwrap_or_else(|| {
                let mut all = runs.iter();
                let run = all.find(|run| (&run.condition, run.software) == (&test.condition, test.software));
                columns.push(Under {
                    condition: test.condition.clone(),
                    software: test.software,
                    sets: run.map(|run| run.sets.clone()).unwrap_or_default(),
                });
                columns.len() - 1
            });
            let key = PartKey::of(test);
            let place = *places.entry(key).or_insert(keyed.len());
            if place == keyed.len() {
                keyed.push((key, Vec::new()));
            }
            keyed[place].1.push((column, test));
        }
        let mut parts: Vec<Part<'_>> =
            keyed.into_iter().flat_map(|(key, tests)| key.parts(&tests, columns.len())).collect();
        let mut alike: BTreeMap<_, usize> = BTreeMap::new();
        let named =
            |part: &Part<'_>| (part.sides.clone(), part.measure.to_owned(), part.pattern, part.loads.clone());
        parts.iter().for_each(|part| *alike.entry(named(part)).or_default() += 1);
        parts.iter_mut().for_each(|part| part.is_by_about = alike[&named(part)] > 1);
        Self { columns, parts }
    }

    pub(super) fn settings(&self) -> Vec<ConditionSettings> {
        self.columns.iter().map(|column| column.sets.clone()).collect()
    }
}

/// What tests have in common that are rows and columns of one part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct PartKey<'a> {
    /// Where a test does not say what it compares, what it says of itself stands for that.
    alone: Option<&'a str>,
    a: &'a str,
    b: Option<&'a str>,
    measure: &'a str,
    pattern: Option<Pattern>,
}

impl<'a> PartKey<'a> {
    fn of(test: &'a ReplicatedTest) -> Self {
        let measure = test.measure.as_str();
        match &test.compared {
            Some(it) if it.b.is_some() => {
                Self { alone: None, a: &it.a, b: it.b.as_deref(), measure, pattern: Some(it.pattern) }
            }
            Some(it) => Self { alone: None, a: &it.a, b: None, measure, pattern: Some(it.pattern) },
            None => Self { alone: Some(&test.about), a: "", b: None, measure, pattern: None },
        }
    }

    /// One part for each of the loads besides the one that orders the rows; another where two tests would share a field.
    fn parts(&self, tests: &[(usize, &'a ReplicatedTest)], columns: usize) -> Vec<Part<'a>> {
        let load = |test: &ReplicatedTest, factor: &str| test.compared.as_ref()?.load.get(factor).copied();
        let varies = |factor: &&str| {
            let mut all = tests.iter().filter_map(|(_, test)| load(test, factor));
            all.next().is_some_and(|first| all.any(|other| other != first))
        };
        // Of connections one says how many there are at once, and not what they carry.
        let usual = if self.pattern == Some(Pattern::Connect) { FACTORS[1] } else { FACTORS[0] };
        let factor = FACTORS.into_iter().find(varies).unwrap_or(usual);
        let mut found: Vec<(BTreeMap<String, u64>, Part<'a>)> = Vec::new();
        for (column, test) in tests {
            let mut others = test.compared.as_ref().map(|it| it.load.clone()).unwrap_or_default();
            let at = others.remove(factor).unwrap_or_default();
            let is_free = |part: &Part<'_>| {
                let row = part.loads.iter().position(|load| *load == at);
                row.is_none_or(|row| part.tests[row][*column].is_none())
            };
            let index = found.iter().position(|(known, part)| *known == others && is_free(part));
            let index = index.unwrap_or_else(|| {
                found.push((others, self.part(&test.about, factor)));
                found.len() - 1
            });
            let part = &mut found[index].1;
            let row = part.loads.iter().position(|load| *load == at).unwrap_or_else(|| {
                let row = part.loads.iter().position(|load| *load > at).unwrap_or(part.loads.len());
                part.loads.insert(row, at);
                part.tests.insert(row, vec![None; columns]);
                row
            });
            part.tests[row][*column] = Some(test);
        }
        found.into_iter().map(|(_, part)| part).collect()
    }

    fn part(&self, about: &'a str, factor: &'static str) -> Part<'a> {
        Part {
            about,
            is_by_about: false,
            sides: (vec![self.a.to_owned()], self.b.map(str::to_owned).into_iter().collect()),
            measure: self.measure,
            pattern: self.pattern,
            factor,
            loads: Vec::new(),
            tests: Vec::new(),
        }
    }
}

/// Which of these tests decide: the native peer stands in for software that is not here, and decides nothing beside it.
pub(super) fn deciding(tests: &[ReplicatedTest]) -> impl Fn(&ReplicatedTest) -> bool + use<> {
    let original = tests.iter().any(|test| test.decides && test.software == Software::Original);
    move |test| test.decides && (!original || test.software == Software::Original)
}

/// The least and the largest of some values; `None` of none.
pub(super) fn span(values: impl IntoIterator<Item = f64>) -> Option<(f64, f64)> {
    let both = values.into_iter().map(|value| (value, value));
    both.reduce(|(least, most), (value, _)| (least.min(value), most.max(value)))
}

/// What is known of the direction of a test, where it also names a factor; else of all of it.
pub(super) fn direction(test: &ReplicatedTest) -> ClaimVerdict {
    test.direction.unwrap_or(test.word)
}

impl Part<'_> {
    /// What is known, field by field. Calls that are compared by name have no value.
    pub(super) fn grid(&self, word: impl Fn(&ReplicatedTest) -> ClaimVerdict) -> FieldGrid {
        let field = |test: &Option<&ReplicatedTest>| {
            let test = (*test)?;
            let value = test.value.or(test.detail.is_some().then_some(f64::NAN))?;
            let word = word(test);
            // What is said of a field that is decided is said of all of its interval.
            let held = test.lo.zip(test.hi).filter(|_| !word.is_open());
            Some(FieldRange { word, values: held.unwrap_or((value, value)) })
        };
        let rows = self.tests.iter().map(|row| row.iter().map(field).collect()).collect();
        FieldGrid { factor: self.factor, is_ratio: self.is_ratio(), rows }
    }

    /// A test of a row, whichever is first.
    pub(super) fn of_row(&self, row: usize) -> Option<&ReplicatedTest> {
        self.tests[row].iter().flatten().next().copied()
    }

    /// The ratio that was published for some rows, if it was for all of them: the least and the largest.
    pub(super) fn published(&self, (first, last): (usize, usize)) -> Option<(f64, f64)> {
        let of_row = |row: usize| self.of_row(row)?.compared.as_ref()?.published;
        span((first..=last).map(of_row).collect::<Option<Vec<f64>>>()?)
    }

    /// Whether calls are compared, by name and number.
    pub(super) fn is_of_calls(&self) -> bool {
        self.tests.iter().flatten().flatten().any(|test| test.detail.is_some())
    }

    /// Whether a row has a load of its own.
    pub(super) fn has_load(&self, row: usize) -> bool {
        let compared = |test: &ReplicatedTest| Some(test.compared.as_ref()?.load.contains_key(self.factor));
        self.of_row(row).and_then(compared).unwrap_or_default()
    }

    /// Whether a ratio of two things is compared, and not one value judged by itself.
    pub(super) fn is_ratio(&self) -> bool {
        !self.sides.1.is_empty()
    }

    /// Rows that belong together, with the preposition that they take: `at 1 KiB`, `with 10 at once`.
    pub(super) fn at_loads(&self, rows: (usize, usize)) -> String {
        let preposition = if self.factor == FACTORS[0] { "at" } else { "with" };
        format!("{preposition} {}", self.loads(rows))
    }

    /// What a row has of the factor: `1 KiB`, `10 at once`.
    pub(super) fn load(&self, row: usize) -> String {
        load_text(self.factor, self.loads[row])
    }

    /// Several rows as one: `1 B to 8 KiB`.
    pub(super) fn loads(&self, (first, last): (usize, usize)) -> String {
        match first == last {
            true => self.load(first),
            false => format!("{} to {}", self.load(first), self.load(last)),
        }
    }
}

/// A condition above a column: `1 core, NODELAY`.
pub(super) fn shown_under(under: &Under) -> String {
    let short = |(name, value): (&String, &String)| match (name.as_str(), value.as_str()) {
        ("placement", "together") => "1 core".to_owned(),
        ("placement", "apart") => "2 cores".to_owned(),
        ("tcp_nodelay", "true") => "NODELAY".to_owned(),
        ("tcp_congestion", control) => control.to_owned(),
        (name, value) => format!("{name}={value}"),
    };
    match &under.condition {
        None => "as published".to_owned(),
        Some(name) if under.sets.is_empty() || under.sets.contains_key("peers") => name.clone(),
        Some(_) => under.sets.iter().map(short).collect::<Vec<_>>().join(", "),
    }
}

/// A load in words.
pub(super) fn load_text(factor: &str, load: u64) -> String {
    match factor {
        "size" => about_size(load),
        "concurrency" if load == 1 => "one at a time".to_owned(),
        "concurrency" => format!("{load} at once"),
        "pipeline" => format!("{load} in one go"),
        _ => load.to_string(),
    }
}

/// Bytes that a program adds to a message, such as a NUL or the end of a line.
const TERMINATORS: u64 = 2;

/// A size as people say it: a terminating byte or two do not matter, and round numbers of either kind stay round.
pub(super) fn about_size(bytes: u64) -> String {
    let binary = (1 << 10..1 << 40).contains(&bytes).then(|| bytes - bytes % 1024);
    match binary.filter(|binary| bytes - binary <= TERMINATORS) {
        Some(binary) => size_text(binary),
        None if bytes >= 1_000_000 && bytes.is_multiple_of(1_000_000) => format!("{} MB", bytes / 1_000_000),
        None if bytes >= 1_000 && bytes.is_multiple_of(1_000) => format!("{} kB", bytes / 1_000),
        None => size_text(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::super::compared::Compared;
    use super::*;

    fn test(about: &str, sides: (&str, &str), size: u64, condition: Option<&str>) -> ReplicatedTest {
        let compared = Compared {
            a: sides.0.to_owned(),
            b: Some(sides.1.to_owned()),
            pattern: Pattern::Rr,
            load: [("size".to_owned(), size), ("concurrency".to_owned(), 1)].into(),
            real_server: false,
            published: (size > 64).then_some(2.0),
        };
        ReplicatedTest {
            about: about.to_owned(),
            condition: condition.map(str::to_owned),
            value: Some(1.5),
            compared: Some(compared),
            ..ReplicatedTest::known_as(ClaimVerdict::Holds)
        }
    }

    #[test]
    fn tests_are_rows_by_load_and_columns_by_condition() {
        let mut claim = ReplicatedClaim::of("tcp is dearer");
        for condition in [None, Some("on one core")] {
            claim.tests.extend([1024, 64, 1].map(|size| test("x", ("tcp", "unix"), size, condition)));
        }
        claim.tests.push(test("y", ("tcp", "pipe"), 64, None));
        claim.tests.push(ReplicatedTest { decides: false, ..test("z", ("a", "b"), 1, None) });
        let table = ClaimTable::of(&claim, &[]);
        assert_eq!(table.columns.len(), 2);
        let [sockets, pipe] = &table.parts[..] else { panic!("{table:?}") };
        assert_eq!(sockets.loads, [1, 64, 1024], "ordered, whatever the order of the tests");
        assert!(sockets.tests.iter().flatten().all(Option::is_some));
        assert_eq!(sockets.loads((0, 1)), "1 B to 64 B");
        assert_eq!((sockets.published((1, 2)), sockets.published((2, 2))), (None, Some((2.0, 2.0))));
        assert_eq!((pipe.loads.as_slice(), pipe.tests[0][1]), ([64].as_slice(), None));
    }

    #[test]
    fn two_tests_never_share_a_field_and_what_says_nothing_stands_alone() {
        let mut claim = ReplicatedClaim::of("x");
        claim.tests = vec![test("x", ("a", "b"), 1, None), test("y", ("a", "b"), 1, None)];
        claim.tests.push(ReplicatedTest { compared: None, ..test("calls", ("", ""), 1, None) });
        let table = ClaimTable::of(&claim, &[]);
        let named: Vec<(&str, bool)> =
            table.parts.iter().map(|part| (part.about, part.is_by_about)).collect();
        assert_eq!(named, [("x", true), ("y", true), ("calls", false)]);
        assert!(!table.parts[2].is_ratio());
    }

    #[test]
    fn sizes_as_people_say_them() {
        let all = [1, 65, 500, 1025, 8193, 10_000, 16_384, 32_769, 1_000_000, 262_144, 1_048_577];
        assert_eq!(
            all.map(about_size),
            [
                "1 B", "65 B", "500 B", "1 KiB", "8 KiB", "10 kB", "16 KiB", "32 KiB", "1 MB", "256 KiB",
                "1 MiB"
            ]
        );
    }
}
