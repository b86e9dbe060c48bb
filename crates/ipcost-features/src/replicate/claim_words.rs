//! From the table of a claim to its word, what that depends on, and what is said of it: in a sentence, and in a line.

use ipcost_lab::rules::nanoseconds;
use ipcost_model::Measure;
use ipcost_report::numbers::ratio;

use super::generalise::{FieldGrid, FieldRange, Segment, Statement, factors, statements, word_of};
use super::table::{ClaimTable, Part, Under, direction};
use super::{ClaimCondition, ReplicatedClaim, ReplicatedRun, ReplicatedTest};
use ipcost_model::ClaimVerdict;

/// What the cells of a test are compared by, to say what differs: measures of one operation, in words.
pub(super) const EVIDENCE: [(&str, EvidenceUnit); 4] = [
    ("voluntary_switches", EvidenceUnit::Count("sleeps")),
    ("client_sys", EvidenceUnit::Time("of the client's system time")),
    ("server_sys", EvidenceUnit::Time("of the server's system time")),
    ("client_user", EvidenceUnit::Time("of the client's user time")),
];
/// Figures that differ by less than this factor are not told.
const VISIBLE: f64 = 1.5;
/// Sleeps in fewer operations than this are not told.
const FEW: f64 = 0.05;
/// Times below this are not told, nanoseconds.
const SHORT_NS: f64 = 100.0;
/// Values that differ by more than this factor between conditions are told for each.
const APART: f64 = 1.25;
/// More phrases than this take more than a line.
const MOST_IN_A_LINE: usize = 16;
/// More parts than this, which only a stranger's file has, are not compared with one another.
const MOST_PARTS: usize = 256;
/// So many things are named one by one.
const MOST_NAMES: usize = 3;

/// A figure in words.
#[derive(Debug, Clone, Copy)]
pub(super) enum EvidenceUnit {
    /// How often something happens in an operation.
    Count(&'static str),
    /// A time in an operation.
    Time(&'static str),
}

/// What two cells differ in, if it is visible.
pub(super) fn evidence(what: EvidenceUnit, [a, b]: [&String; 2], of_a: f64, of_b: f64) -> Option<String> {
    let (least, most) = (of_a.min(of_b), of_a.max(of_b));
    let floor = match what {
        EvidenceUnit::Count(_) => FEW,
        EvidenceUnit::Time(_) => SHORT_NS,
    };
    (most > floor && most > VISIBLE * least.max(0.0)).then(|| match what {
        EvidenceUnit::Count(name) => format!("{a} {of_a:.2} {name} an operation, {b} {of_b:.2}"),
        EvidenceUnit::Time(name) => format!("{a} {} {name}, {b} {}", nanoseconds(of_a), nanoseconds(of_b)),
    })
}

/// Whether conditions say different things, or the published one nothing.
pub(super) fn differ(conditions: &[ClaimCondition]) -> bool {
    let Some(published) = conditions.first() else { return true };
    published.word.is_open() || conditions.iter().any(|condition| condition.word != published.word)
}

/// What a reader should do about a claim that depends, by what it depends on.
fn advice(on: &[String]) -> Option<String> {
    let of = |name: &String| match name.as_str() {
        "placement" => Some(
            "whether your processes share a core decides: pin them (taskset), and measure with --placement one-core,two-cores",
        ),
        "tcp_nodelay" => {
            Some("whether TCP_NODELAY is set decides: set it for small messages that must not wait")
        }
        "tcp_congestion" => Some(
            "the congestion control decides: measure under yours (sysctl net.ipv4.tcp_congestion_control)",
        ),
        "size" => Some("the size of your messages decides: measure with it (--sizes)"),
        _ => None,
    };
    let said: Vec<&str> = on.iter().filter_map(of).collect();
    (!said.is_empty()).then(|| said.join("; "))
}

/// Tells a claim again from its tests: what is known under each condition and of all of it, what that depends on, and in which
/// words.
pub(super) fn retell(claim: &mut ReplicatedClaim, runs: &[ReplicatedRun]) {
    let table = ClaimTable::of(claim, runs);
    let settings = table.settings();
    let fields = |of: &dyn Fn(&ReplicatedTest) -> ClaimVerdict,
                  under: Option<usize>|
     -> Vec<Vec<FieldRange>> {
        let of_part = |part: &Part<'_>| {
            let rows = part.grid(of).rows.into_iter().map(|mut row| {
                let is_placed = |at: &str| {
                    let mut all = row.iter().zip(&settings);
                    all.any(|(known, set)| known.is_some() && set.get("placement").is_some_and(|it| it == at))
                };
                // The scheduler's mixture of both placements says nothing that they do not.
                if under.is_none() && is_placed("together") && is_placed("apart") {
                    row.iter_mut()
                        .zip(&settings)
                        .filter(|(_, set)| set.is_empty())
                        .for_each(|(known, _)| *known = None);
                }
                row
            });
            let fields = rows.flat_map(|row| row.into_iter().enumerate());
            let fields = fields.filter(|(column, _)| under.is_none_or(|only| only == *column));
            fields.filter_map(|(_, known)| known).collect()
        };
        table.parts.iter().map(of_part).collect()
    };
    let is_sized = claim.tests.iter().any(|test| test.decides && test.direction.is_some());
    let known = |under: Option<usize>| {
        let size = is_sized.then(|| word_of(&fields(&|test| test.word, under)));
        (together(word_of(&fields(&direction, under)), size), size)
    };
    let grids: Vec<FieldGrid> = table.parts.iter().map(|part| part.grid(direction)).collect();
    let conditions: Vec<ClaimCondition> = (0..table.columns.len())
        .filter(|column| fields(&direction, Some(*column)).iter().any(|part| !part.is_empty()))
        .map(|column| {
            let Under { condition, software, .. } = table.columns[column].clone();
            let (word, size) = known(Some(column));
            let figures = ClaimSentences::of(&table, Some(column)).whole();
            ClaimCondition { condition, software, word, size, figures }
        })
        .collect();
    let (word, size) = known(None);
    let on = match (word, size) {
        (ClaimVerdict::Depends, _) => factors(&grids, &settings),
        (_, Some(ClaimVerdict::Depends)) => {
            let grids: Vec<FieldGrid> = table.parts.iter().map(|part| part.grid(|test| test.word)).collect();
            factors(&grids, &settings)
        }
        _ => Vec::new(),
    };
    let sentence = ClaimSentences::of(&table, None).whole();
    (claim.word, claim.size) = (word, size);
    claim.sentence = sentence;
    claim.advice = advice(&on);
    claim.on = on;
    claim.conditions = conditions;
}

/// What is known of a direction, next to what is known of a factor.
fn together(word: ClaimVerdict, size: Option<ClaimVerdict>) -> ClaimVerdict {
    match (word, size) {
        // Whichever it is, it is not by the factor that was claimed.
        (ClaimVerdict::Open | ClaimVerdict::NoDifference, Some(ClaimVerdict::Fails)) => ClaimVerdict::Fails,
        // The factor that was claimed is smaller than the margin.
        (ClaimVerdict::NoDifference, Some(ClaimVerdict::Holds)) => ClaimVerdict::Holds,
        _ => word,
    }
}

/// A claim in a line of so many letters, complete in itself: the longest form that fits.
pub(super) fn line(claim: &ReplicatedClaim, runs: &[ReplicatedRun], room: usize) -> String {
    let said = ClaimSentences::of(&ClaimTable::of(claim, runs), None);
    let forms = said.forms();
    let fits = |form: &&String| form.chars().count() <= room;
    forms.iter().find(fits).or(forms.last()).cloned().unwrap_or_default()
}

/// What is said of a table: a phrase for each thing that is compared, in parts that can be left out from the end.
struct ClaimSentences {
    phrases: Vec<Phrase>,
    /// How many deciding fields there are.
    fields: usize,
}

/// What is said of one part of a table, without the names of what is compared.
pub(super) fn said_of(columns: &[Under], part: &Part<'_>, grid: &FieldGrid) -> Option<String> {
    let Phrase { bare, more, .. } = phrase(columns, part, grid, false)?;
    Some(std::iter::once(bare).chain(more).collect::<Vec<_>>().join(", "))
}

/// What is said of what is compared.
#[derive(Debug, Default)]
struct Phrase {
    main: String,
    /// The same without the names of what is compared.
    bare: String,
    /// All that is decided in one range, with the names; empty where there is none.
    hull: String,
    article: String,
    /// Under the others, and what is open.
    more: Vec<String>,
    /// Whether nothing is decided.
    is_open: bool,
}

impl ClaimSentences {
    /// Of a table, under one of its conditions or all.
    fn of(table: &ClaimTable<'_>, only: Option<usize>) -> Self {
        let under = |grid: FieldGrid| {
            let rows = grid.rows.into_iter().map(|row| {
                row.into_iter()
                    .enumerate()
                    .map(|(column, known)| known.filter(|_| only.is_none_or(|only| only == column)))
                    .collect()
            });
            FieldGrid { rows: rows.collect(), ..grid }
        };
        let is_in =
            |part: &&Part<'_>| only.is_none_or(|only| part.tests.iter().any(|row| row[only].is_some()));
        let parts = table.parts.iter().filter(is_in);
        let parts = parts.map(|part| (part.clone(), under(part.grid(direction)))).collect();
        let parts: Vec<(Part<'_>, FieldGrid)> = alike(parts);
        let loads = || parts.iter().filter(|(part, _)| part.has_load(0)).map(|(part, _)| &part.loads);
        let differ = loads().any(|of| Some(of) != loads().next());
        let phrases = parts.iter().filter_map(|(part, grid)| {
            Some(Phrase { article: published(part), ..phrase(&table.columns, part, grid, differ)? })
        });
        let mut phrases: Vec<Phrase> = phrases.collect();
        phrases.sort_by_key(|phrase| phrase.is_open);
        let fields = table.parts.iter().flat_map(|part| part.tests.iter().flatten().flatten()).count();
        Self { phrases, fields }
    }

    fn whole(&self) -> String {
        let each = self.phrases.iter().map(Phrase::whole);
        match self.phrases.is_empty() {
            true if self.fields > 0 => "not decided".to_owned(),
            _ => each.collect::<Vec<_>>().join("; "),
        }
    }

    /// From the longest to the shortest.
    fn forms(&self) -> Vec<String> {
        if self.fields == 0 {
            return Vec::new();
        }
        if self.phrases.is_empty() {
            return vec![self.whole()];
        }
        let count = self.phrases.len();
        let joined = |of: &dyn Fn(&Phrase) -> String, few: usize| {
            self.phrases.iter().take(few).map(of).collect::<Vec<_>>().join("; ")
        };
        let main = |it: &Phrase| it.main.clone();
        let with_more = |it: &Phrase| format!("{}{}", it.main, it.more());
        // What the article has stands in its table, too.
        let mut forms = vec![joined(&Phrase::whole, count)];
        // More do not fit in any line.
        let most = count.min(MOST_IN_A_LINE);
        forms.extend((1..=most).rev().map(|few| joined(&with_more, few)));
        forms.push(joined(&|it| format!("{}{}", it.main, it.article), count));
        forms.extend((1..=most).rev().map(|few| joined(&main, few)));
        forms.push(joined(&|it| it.hull.clone(), 1));
        forms.push(joined(&|it| it.bare.clone(), 1));
        forms.retain(|form| !form.is_empty());
        forms
    }
}

impl Phrase {
    fn whole(&self) -> String {
        format!("{}{}{}", self.main, self.article, self.more())
    }

    fn more(&self) -> String {
        self.more.iter().map(|more| format!("; {more}")).collect()
    }
}

/// Parts of which nothing contradictory is known are one: `pipe and fifo over unix and tcp`, if each of the first is compared
/// with each of the second.
fn alike(mut parts: Vec<(Part<'_>, FieldGrid)>) -> Vec<(Part<'_>, FieldGrid)> {
    if parts.len() > MOST_PARTS {
        return parts;
    }
    for numerators in [true, false] {
        let mut found: Vec<(Part<'_>, FieldGrid)> = Vec::new();
        for (part, grid) in parts {
            let joined = found.iter_mut().find_map(|(known, of_known)| {
                let (mine, other) = (&part.sides, &known.sides);
                let same = if numerators { mine.1 == other.1 } else { mine.0 == other.0 };
                let is_like = same
                    && part.is_ratio()
                    && !part.is_by_about
                    && (part.measure, part.factor, &part.loads)
                        == (known.measure, known.factor, &known.loads)
                    && sense(&part) == sense(known);
                is_like.then(|| of_known.with(&grid)).flatten().map(|both| (known, of_known, both))
            });
            match joined {
                Some((known, of_known, both)) => {
                    *of_known = both;
                    let (mine, all) = match numerators {
                        true => (&part.sides.0, &mut known.sides.0),
                        false => (&part.sides.1, &mut known.sides.1),
                    };
                    all.extend(mine.iter().cloned());
                }
                None => found.push((part, grid)),
            }
        }
        parts = found;
    }
    parts
}

/// On which side of 1 a ratio is claimed to be, in each row.
fn sense(part: &Part<'_>) -> Vec<(bool, bool)> {
    let bounds = |row| part.of_row(row).map_or((None, None), |test| (test.above, test.below));
    (0..part.loads.len()).map(|row| (bounds(row).0.is_some(), bounds(row).1.is_some())).collect()
}

/// What is said of one thing that is compared; `differ` where others have rows of other loads. `None` if nothing is decided.
fn phrase(columns: &[Under], part: &Part<'_>, grid: &FieldGrid, differ: bool) -> Option<Phrase> {
    let all = statements(grid);
    let Some((first, others)) = all.split_first() else { return undecided(part, grid) };
    let all_columns: Vec<usize> = all.iter().flat_map(|it| it.columns.iter().copied()).collect();
    let name = |these: &[usize]| conditions_name(columns, these, &all_columns);
    let rows = |statement: &Statement| {
        let each = statement.segments.iter().map(|segment| {
            if part.is_of_calls() {
                let same = segment.word == ClaimVerdict::Holds;
                return if same { "the same calls" } else { "other calls" }.to_owned();
            }
            let place = place(part, segment, differ);
            format!("{}{place}", value(part, segment.values))
        });
        each.collect::<Vec<_>>()
    };
    let by_condition = by_condition(columns, part, grid, first, &all_columns).filter(|_| others.is_empty());
    let measured = |column: &usize| grid.rows.iter().any(|row| row.get(*column).is_some_and(Option::is_some));
    let conditions = (0..columns.len()).filter(measured).count();
    // Most conditions need no name; few do, whether others contradict them or are open.
    let is_main =
        2 * first.columns.len() >= conditions && (others.is_empty() || first.columns.len() >= MOST_NAMES);
    let is_named = by_condition.is_none() && !is_main;
    let said = by_condition.unwrap_or_else(|| rows(first));
    let under = if is_named { name(&first.columns) } else { String::new() };
    let bare = format!("{}{under}", said.join(", "));
    let hull = hull(part, &all).map_or_else(String::new, |values| subject(part, vec![value(part, values)]));
    let main = format!("{}{under}", subject(part, said));
    let mut more: Vec<String> = others
        .iter()
        .map(|statement| {
            let name = name(&statement.columns);
            format!("{} {}", name.trim_start(), rows(statement).join(", "))
        })
        .collect();
    let open = open_rows(part, grid, &all);
    more.extend((!open.is_empty()).then(|| format!("open {open}")));
    let doubtful: Vec<usize> = all.iter().flat_map(|it| it.doubtful.iter().copied()).collect();
    more.extend((!doubtful.is_empty()).then(|| format!("open in part{}", name(&doubtful))));
    Some(Phrase { main, bare, hull, more, ..Phrase::default() })
}

/// The least and the largest value of all that is decided; `None` where ratios lie on both sides of 1, or nothing is a number.
fn hull(part: &Part<'_>, all: &[Statement]) -> Option<(f64, f64)> {
    let values = all.iter().flat_map(|it| &it.segments).map(|segment| segment.values);
    let (least, most) = values.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))?;
    (least.is_finite() && (!part.is_ratio() || most <= 1.0 || least >= 1.0)).then_some((least, most))
}

/// How far the ratio may lie, where one load has an interval and no answer.
fn undecided(part: &Part<'_>, grid: &FieldGrid) -> Option<Phrase> {
    let ([row], [known]) = (&part.tests[..], &grid.rows[..]) else { return None };
    let tests = || row.iter().zip(known).filter(|(_, known)| known.is_some()).filter_map(|(test, _)| *test);
    let mut held = tests().filter_map(|test| test.lo.zip(test.hi));
    let bare = value(part, held.next().filter(|_| part.is_ratio())?);
    // A factor may be excluded where the direction is not known.
    let is_open = tests().all(|test| test.word.is_open());
    let bare = if is_open { format!("{bare}, not decided") } else { bare };
    Some(Phrase { main: subject(part, vec![bare.clone()]), bare, is_open, ..Phrase::default() })
}

/// `TCP 0.73–0.80 × unix up to 1 KiB, 1.4–2.7 × from 8 KiB`.
fn subject(part: &Part<'_>, said: Vec<String>) -> String {
    if part.pattern.is_none() || part.is_by_about {
        return format!("{}: {}", part.about, said.join(", "));
    }
    if !part.is_ratio() {
        let what = measure_text(part.measure);
        return format!("{what}, {}: {}", shown(&part.sides.0[0]), said.join(", "));
    }
    let names = |all: &[String]| all.iter().map(|name| shown(name)).collect::<Vec<_>>().join(", ");
    let (a, b) = (names(&part.sides.0), names(&part.sides.1));
    let what = match Measure::named(part.measure) {
        Measure::Wall | Measure::Sent => String::new(),
        // A share of the one in the other.
        _ if part.sides.0[0] == part.measure => String::new(),
        _ if part.measure.ends_with("_per_byte") => "for a byte, ".to_owned(),
        _ => format!("{}, ", measure_text(part.measure)),
    };
    // A number next to a number would read as one.
    if b.starts_with(|first: char| first.is_ascii_digit()) {
        return format!("{what}{a} over {b}: {}", said.join(", "));
    }
    let mut said = said.into_iter();
    let first = said.next().unwrap_or_default();
    // The denominator stands after the first ratio.
    let first = match first.split_once(" ×") {
        Some((value, rest)) => format!("{value} × {b}{rest}"),
        None => format!("{first} × {b}"),
    };
    let others: String = said.map(|other| format!(", {other}")).collect();
    format!("{what}{a} {first}{others}")
}

/// What is measured, in words.
pub(super) fn measure_text(name: &str) -> String {
    match Measure::named(name) {
        Measure::Named(name) => name.replace('_', " ").replace("tcp", "TCP"),
        known => measure_name(&known).to_owned(),
    }
}

fn measure_name(measure: &Measure) -> &'static str {
    match measure {
        Measure::ClientCpu => "client CPU",
        Measure::ServerCpu => "server CPU",
        Measure::Cpu => "CPU of both",
        Measure::ClientUser => "client's user time",
        Measure::ClientSys => "client's system time",
        Measure::ServerUser => "server's user time",
        Measure::ServerSys => "server's system time",
        Measure::Waiting => "waiting",
        Measure::Switches | Measure::VoluntarySwitches | Measure::InvoluntarySwitches => "switches",
        Measure::Wall | Measure::Sent | Measure::Named(_) => "time",
    }
}

/// A side as readers write it.
pub(super) fn shown(name: &str) -> String {
    match name {
        "tcp" | "tcp6" | "udp" | "sctp" => name.to_uppercase(),
        _ => match Measure::named(name) {
            Measure::Named(_) => name.to_owned(),
            known => measure_name(&known).to_owned(),
        },
    }
}

/// The least and the largest value: of a ratio two digits, as it says how far, and not which of two is so.
pub(super) fn value(part: &Part<'_>, (least, most): (f64, f64)) -> String {
    let sign = if part.is_ratio() { " ×" } else { "" };
    let (least, most) = (short(least), short(most));
    match least == most {
        true => format!("{least}{sign}"),
        false => format!("{least}–{most}{sign}"),
    }
}

/// Two significant digits, or whole numbers from 10 on.
pub(super) fn short(value: f64) -> String {
    let places = match value.abs() {
        v if v >= 9.95 => 0,
        v if v >= 0.995 => 1,
        v if v >= 0.0995 => 2,
        0.0 => return "0".to_owned(),
        v if v < 1e-3 => return ratio(value),
        _ => 3,
    };
    format!("{value:.places$}")
}

/// ` up to 1 KiB`, ` from 8 KiB`, ` at 64 B`; nothing where all rows are one.
fn place(part: &Part<'_>, segment: &Segment, differ: bool) -> String {
    let last = part.loads.len() - 1;
    let load = |row: usize| part.load(row);
    let bridged = match segment.bridged[..] {
        [] => String::new(),
        _ => format!(" ({} not decided)", rows_text(part, &segment.bridged)),
    };
    let place = match segment.rows {
        (0, end) if end == last && !differ => String::new(),
        (0, end) if end == last && last == 0 && !part.has_load(0) => String::new(),
        (0, end) if end == last && last == 0 => format!(" {}", part.at_loads((0, 0))),
        (0, end) if end > 0 => format!(" up to {}", load(end)),
        (begin, end) if end == last && begin < end => format!(" from {}", load(begin)),
        (begin, end) if begin == end => format!(" {}", part.at_loads((begin, end))),
        (begin, end) => format!(" from {} to {}", load(begin), load(end)),
    };
    format!("{place}{bridged}")
}

/// `1 KiB and 2 KiB`, `1 KiB to 8 KiB`: neighbours as a range.
fn rows_text(part: &Part<'_>, rows: &[usize]) -> String {
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for row in rows {
        match ranges.last_mut() {
            Some(range) if range.1 + 1 == *row => range.1 = *row,
            _ => ranges.push((*row, *row)),
        }
    }
    let said: Vec<String> = ranges.into_iter().map(|range| part.loads(range)).collect();
    ipcost_model::and_joined(&said)
}

/// Rows of which no condition knows anything, where some say something.
fn open_rows(part: &Part<'_>, grid: &FieldGrid, all: &[Statement]) -> String {
    let is_open = |row: &usize| {
        let decided = |statement: &Statement| {
            statement.segments.iter().any(|segment| (segment.rows.0..=segment.rows.1).contains(row))
        };
        grid.rows[*row].iter().any(Option::is_some) && !all.iter().any(decided)
    };
    let rows: Vec<usize> = (0..grid.rows.len()).filter(is_open).collect();
    match rows.is_empty() {
        true => String::new(),
        false => format!("at {}", rows_text(part, &rows)),
    }
}

/// The ratio that the article has, where a claim names a factor; where its figures are not at hand, the range that it claims.
fn published(part: &Part<'_>) -> String {
    let mut tests = part.tests.iter().flatten().flatten();
    let Some(test) = tests.find(|test| test.direction.is_some()) else { return String::new() };
    match part.published((0, part.loads.len() - 1)) {
        Some(values) => format!(" (article {})", value(part, values)),
        None => format!(" (claimed {} ×)", test.claimed.replace(" to ", "–")),
    }
}

/// Each condition with its own value, where one load under few conditions has values that are far apart.
fn by_condition(
    under: &[Under],
    part: &Part<'_>,
    grid: &FieldGrid,
    statement: &Statement,
    all: &[usize],
) -> Option<Vec<String>> {
    let [row] = &grid.rows[..] else { return None };
    let (least, most) = statement.segments.first()?.values;
    let set = |column: &&usize| under[**column].condition.is_some();
    let columns: Vec<usize> = match statement.columns.iter().filter(set).count() {
        0 | 1 => statement.columns.clone(),
        _ => statement.columns.iter().filter(set).copied().collect(),
    };
    if most <= least * APART {
        return None;
    }
    let mut near: Vec<(Vec<usize>, (f64, f64))> = Vec::new();
    for column in columns {
        let (of_least, of_most) = row[column]?.values;
        let is_near =
            |(_, (least, most)): &&mut (_, (f64, f64))| of_most.max(*most) <= APART * of_least.min(*least);
        match near.iter_mut().find(is_near) {
            Some((all, values)) => {
                all.push(column);
                *values = (values.0.min(of_least), values.1.max(of_most));
            }
            None => near.push((vec![column], (of_least, of_most))),
        }
    }
    let each = near
        .iter()
        .map(|(these, values)| format!("{}{}", value(part, *values), conditions_name(under, these, all)));
    (1..=MOST_NAMES).contains(&near.len()).then(|| each.collect()).filter(|_| near.len() > 1)
}

/// Conditions by what they alone set, such as ` on one core`; else by name. Begins with a space.
fn conditions_name(columns: &[Under], these: &[usize], all: &[usize]) -> String {
    let is_set = |column: &&usize| !columns[**column].sets.is_empty();
    let mine: Vec<usize> = these.iter().filter(is_set).copied().collect();
    let settings = mine.iter().flat_map(|column| &columns[*column].sets);
    for (name, value) in settings {
        let have: Vec<usize> =
            all.iter().filter(|column| columns[**column].sets.get(name) == Some(value)).copied().collect();
        let is_same = have.len() == mine.len() && have.iter().all(|column| mine.contains(column));
        if let Some(said) = setting_name(name, value).filter(|_| is_same && mine.len() > 1) {
            return format!(" {said}");
        }
    }
    let name =
        |column: &usize| columns[*column].condition.clone().unwrap_or_else(|| "as published".to_owned());
    let named = if mine.is_empty() { these } else { &mine };
    format!(" {}", ipcost_model::and_joined(&named.iter().map(name).collect::<Vec<_>>()))
}

/// What a setting is called after a figure.
fn setting_name(name: &str, value: &str) -> Option<String> {
    Some(match (name, value) {
        ("placement", "together") => "on one core".to_owned(),
        ("placement", "apart") => "on two cores".to_owned(),
        ("tcp_nodelay", "true") => "with TCP_NODELAY".to_owned(),
        ("tcp_congestion", control) => format!("under {control}"),
        _ => return None,
    })
}

/// What a word depends on, as readers call it.
pub(super) fn factor_name(name: &str) -> String {
    match name {
        "pipeline" => "pipelining".to_owned(),
        "tcp_nodelay" => "TCP_NODELAY".to_owned(),
        "tcp_congestion" => "congestion control".to_owned(),
        "peers" => "settings".to_owned(),
        other => other.replace('_', " "),
    }
}

#[cfg(test)]
mod tests {
    use ipcost_model::Pattern;

    use super::*;
    use crate::replicate::Compared;

    #[test]
    fn where_nothing_was_measured_conditions_tell_nothing() {
        assert!(differ(&[]));
    }

    #[test]
    fn a_factor_that_is_refuted_fails_even_where_the_direction_is_open() {
        let (yes, no, open) = (ClaimVerdict::Holds, ClaimVerdict::Fails, ClaimVerdict::Open);
        assert_eq!(together(open, Some(no)), no);
        assert_eq!(together(yes, Some(no)), yes);
        assert_eq!(together(open, Some(open)), open);
        let same = ClaimVerdict::NoDifference;
        assert_eq!(together(same, Some(no)), no);
        assert_eq!(together(same, Some(yes)), yes);
        assert_eq!(together(same, Some(open)), same);
    }

    /// A claim that TCP costs less than a Unix socket, by size: what is known, and the ratio.
    fn claim(rows: &[(Option<&str>, u64, ClaimVerdict, f64)]) -> ReplicatedClaim {
        let test = |(condition, size, word, value): &(Option<&str>, u64, ClaimVerdict, f64)| ReplicatedTest {
            about: "tcp over unix".to_owned(),
            condition: condition.map(str::to_owned),
            value: Some(*value),
            lo: Some(value * 0.9),
            hi: Some(value * 1.1),
            below: Some(1.0),
            compared: Some(Compared {
                a: "tcp".to_owned(),
                b: Some("unix".to_owned()),
                pattern: Pattern::Stream,
                load: [("size".to_owned(), *size)].into(),
                real_server: false,
                published: None,
            }),
            ..ReplicatedTest::known_as(*word)
        };
        let mut claim = ReplicatedClaim::of("TCP costs less");
        claim.tests = rows.iter().map(test).collect();
        retell(&mut claim, &[]);
        claim
    }

    #[test]
    fn the_sentence_says_where_the_sign_changes_and_the_word_says_so_too() {
        use ClaimVerdict::{Depends, Fails, Holds, Open};
        let found = claim(&[
            (None, 65, Holds, 0.73),
            (None, 1025, Holds, 0.8),
            (None, 4096, Open, 0.97),
            (None, 8193, Fails, 1.4),
            (None, 16_385, Fails, 2.7),
        ]);
        assert_eq!((found.word, found.on.as_slice()), (Depends, ["size".to_owned()].as_slice()));
        assert_eq!(found.sentence, "TCP 0.66–0.88 × unix up to 1 KiB, 1.3–3.0 × from 8 KiB; open at 4 KiB");
        let found = claim(&[(None, 64, Holds, 0.5), (None, 1024, Holds, 0.6), (None, 65_536, Open, 1.0)]);
        assert_eq!((found.word, found.on.len()), (Holds, 0), "nothing decided says anything against it");
        assert_eq!(found.sentence, "TCP 0.45–0.66 × unix up to 1 KiB; open at 64 KiB");
        let found = claim(&[(None, 64, Open, 1.0)]);
        assert_eq!((found.word, found.sentence.as_str()), (Open, "TCP 0.90–1.1 × unix, not decided"));
        assert_eq!((claim(&[]).word, claim(&[]).sentence.as_str()), (ClaimVerdict::NotTested, ""));
    }

    #[test]
    fn an_open_condition_has_its_own_interval() {
        use ClaimVerdict::Open;
        let found = claim(&[(None, 64, Open, 1.0), (Some("on one core"), 64, Open, 0.5)]);
        let figures: Vec<&str> = found.conditions.iter().map(|it| it.figures.as_str()).collect();
        assert_eq!(figures, ["TCP 0.90–1.1 × unix, not decided", "TCP 0.45–0.55 × unix, not decided"]);
    }

    #[test]
    fn one_load_under_two_conditions_has_a_value_for_each() {
        use ClaimVerdict::Holds;
        let found = claim(&[
            (None, 64, Holds, 0.6),
            (Some("on one core"), 64, Holds, 0.4),
            (Some("on two cores"), 64, Holds, 0.8),
        ]);
        assert_eq!(found.sentence, "TCP 0.36–0.44 × unix on one core, 0.72–0.88 × on two cores");
        assert_eq!(found.conditions.len(), 3);
    }

    #[test]
    fn a_line_is_the_longest_form_that_fits() {
        use ClaimVerdict::{Fails, Holds, Open};
        let found = claim(&[(None, 64, Holds, 0.5), (None, 1024, Open, 1.0), (None, 65_536, Fails, 2.0)]);
        let told = |room| line(&found, &[], room);
        assert_eq!(told(100), found.sentence);
        assert_eq!(told(55), "TCP 0.45–0.55 × unix at 64 B, 1.8–2.2 × at 64 KiB");
        assert_eq!(told(45), "0.45–0.55 × at 64 B, 1.8–2.2 × at 64 KiB");
        assert_eq!(told(3), told(45), "nothing is ever cut");
    }

    /// In squares and cubes of their number, a file of a few megabytes would take hours.
    #[test]
    fn a_strangers_claim_of_thousands_of_tests_is_told_at_once() {
        let mut claim = claim(&[(None, 64, ClaimVerdict::Holds, 0.5)]);
        let one = claim.tests[0].clone();
        claim.tests.extend((0..20_000).map(|number| {
            let compared = one.compared.clone().map(|it| Compared { a: format!("a{number}"), ..it });
            ReplicatedTest { compared, condition: Some(format!("s{}", number % 50)), ..one.clone() }
        }));
        retell(&mut claim, &[]);
        assert_eq!(claim.conditions.len(), 51);
        assert!(line(&claim, &[], 100).chars().count() <= 100);
    }
}
