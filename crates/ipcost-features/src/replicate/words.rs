//! The ledger of a replication on a terminal, and the outputs that the articles themselves printed.

use std::time::Duration;

use anstyle::Style;
use ipcost_model::units::{counted, duration_text};
use ipcost_report::grid::{Column, Grid, Piece};
use ipcost_report::numbers::{bounds, ratio};
use ipcost_report::wrap::{wrapped, wrapped_under};

use crate::claims::words::style;
use crate::replicate::{Ledger, LedgerClaim, LedgerTest, Word};

const BOLD: Style = Style::new().bold();
const DIMMED: Style = Style::new().dimmed();
const TESTS: [Column; 6] = [
    Column::new("   software", false, 0),
    Column::new("compared", false, 0),
    Column::new("here", true, 0),
    Column::new("", false, 0),
    Column::new("claimed", true, 0),
    Column::new("", false, 0),
];

/// Draws a ledger in `room` columns of text.
pub fn render(ledger: &Ledger, room: usize) -> String {
    let mut out = format!("{BOLD}{}{BOLD:#}: {}\n", ledger.id, ledger.question);
    let line = |text: &str| format!("{}\n", wrapped(text, room));
    if let Some(source) = &ledger.source {
        out.push_str(&line(&format!("Source: {}", ipcost_report::words::escaped(&source.to_string()))));
    }
    out.push_str(&line(&format!("Published on: {}", ledger.machine)));
    if let Some(differs) = &ledger.differs {
        out.push_str(&line(&format!("What differs here: {differs}")));
    }
    for run in &ledger.runs {
        let how = if run.epochs > 0 {
            let took = duration_text(Duration::from_secs_f64(run.elapsed_s.max(0.0)));
            format!("{}: {}; {} in {took}", run.software, run.about, counted(run.epochs, "epoch"))
        } else {
            format!("{}: {}; not measured", run.software, run.about)
        };
        out.push_str(&line(&how));
        for missing in &run.missing {
            out.push_str(&line(&format!("  missing: {}", ipcost_report::words::escaped(missing))));
        }
    }
    if !ledger.effects.is_empty() {
        out.push_str(&line("Not as published, and what it changes:"));
        let mut grid = Grid::new(&TESTS);
        ledger.effects.iter().for_each(|test| row(&mut grid, test));
        grid.render(&mut out, room);
    }
    for (number, claim) in (1..).zip(&ledger.claims) {
        out.push('\n');
        out.push_str(&self::claim(number, claim, room));
    }
    out
}

fn claim(number: usize, claim: &LedgerClaim, room: usize) -> String {
    let style = style(claim.word);
    let mut out = format!("{number}. {style}{}{style:#}  ", word(claim));
    out.push_str(&format!("{}\n", wrapped_under(&format!("\"{}\"", claim.text), room, "   ")));
    let mut note = |head: &str, text: &Option<String>| {
        if let Some(text) = text {
            out.push_str(&format!("   {}\n", wrapped_under(&format!("{head}: {text}"), room, "   ")));
        }
    };
    note("published", &claim.published);
    note("behind it", &claim.behind);
    note("to decide it", &claim.takes);
    let mut grid = Grid::new(&TESTS);
    claim.tests.iter().for_each(|test| row(&mut grid, test));
    grid.render(&mut out, room);
    for (test, otherwise) in claim.tests.iter().filter_map(|test| Some((test, test.contradicted.as_ref()?))) {
        let line =
            format!("{} decides nothing: the article's own method says otherwise, {otherwise}", test.about);
        out.push_str(&format!("   {}\n", wrapped_under(&line, room, "   ")));
    }
    let words = [("original", claim.original), ("native", claim.native)];
    let said: Vec<String> = words
        .into_iter()
        .filter_map(|(software, word)| Some(format!("{software}: {}", word?.shown())))
        .collect();
    if !said.is_empty() {
        out.push_str(&format!("   {DIMMED}{}{DIMMED:#}\n", said.join("; ")));
    }
    out
}

/// What is known of a claim, with what that is limited to.
fn word(claim: &LedgerClaim) -> String {
    let limit = claim.limit.as_deref().filter(|_| claim.word != Word::Undecided);
    limit.map_or_else(|| claim.word.shown().to_owned(), |limit| format!("{} {limit}", claim.word))
}

fn row(grid: &mut Grid, test: &LedgerTest) {
    let value = match (test.value, &test.detail) {
        (Some(value), _) => shown(value),
        (None, Some(_)) => String::new(),
        (None, None) => "not measured".to_owned(),
    };
    let held = match (&test.detail, test.value) {
        (Some(detail), _) => detail.clone(),
        (None, Some(value)) => bounds(value, (test.lo, test.hi), test.range),
        (None, None) => String::new(),
    };
    let word = if test.decides {
        Piece::styled(test.word.shown(), style(test.word))
    } else {
        Piece::styled("not deciding", DIMMED)
    };
    grid.row(vec![
        Piece::styled(format!("   {}", test.software), DIMMED),
        test.about.clone().into(),
        value.into(),
        held.into(),
        test.claimed.clone().into(),
        word,
    ]);
}

fn shown(value: f64) -> String {
    if value == 0.0 { "0".to_owned() } else { ratio(value) }
}

/// One line an experiment: how many of its claims hold here.
pub fn summary(ledgers: &[Ledger]) -> String {
    const COLUMNS: [Column; 6] = [
        Column::new("experiment", false, 0),
        Column::new("confirmed", true, 0),
        Column::new("refuted", true, 0),
        Column::new("with a limit", true, 0),
        Column::new("open", true, 0),
        Column::new("measured in", true, 0),
    ];
    let mut grid = Grid::new(&COLUMNS);
    for ledger in ledgers {
        let limited = |claim: &&LedgerClaim| claim.limit.is_some() && claim.word != Word::Undecided;
        let whole = |claim: &&LedgerClaim| !limited(claim);
        let count = |word: Word| {
            ledger.claims.iter().filter(whole).filter(|claim| claim.word == word).count().to_string()
        };
        let took: f64 = ledger.runs.iter().map(|run| run.elapsed_s).sum();
        grid.row(vec![
            ledger.id.clone().into(),
            count(Word::Confirmed).into(),
            count(Word::Refuted).into(),
            ledger.claims.iter().filter(limited).count().to_string().into(),
            count(Word::Undecided).into(),
            duration_text(Duration::from_secs_f64(took.max(0.0))).into(),
        ]);
    }
    let mut out = String::new();
    grid.render(&mut out, usize::MAX);
    out
}

#[cfg(test)]
mod tests {
    use ipcost_model::{Envelope, Host, Tool};

    use super::*;
    use crate::replicate::{LEDGER_SCHEMA, LedgerRun, Software, Source};

    #[test]
    fn a_ledger_shows_what_was_published_and_what_holds() {
        let test = |software, value: Option<f64>, word, decides| LedgerTest {
            about: "client CPU, tcp over unix".into(),
            software,
            measure: "client_cpu".into(),
            value,
            lo: value.map(|value| value * 0.9),
            hi: value.map(|value| value * 1.1),
            range: None,
            claimed: "15 to 24".into(),
            word,
            decides,
            detail: None,
            contradicted: None,
        };
        let run = |software, epochs, missing: &[&str]| LedgerRun {
            software,
            about: "Ruby".into(),
            elapsed_s: 61.0,
            epochs,
            missing: missing.iter().map(|text| (*text).to_owned()).collect(),
        };
        let ledger = Ledger {
            envelope: Envelope {
                schema: LEDGER_SCHEMA.into(),
                tool: Tool { name: "ipcost".into(), version: "0".into() },
                host: Host::default(),
                started: String::new(),
            },
            id: "celluloid-connect".into(),
            question: "Which is faster?".into(),
            machine: "a laptop".into(),
            source: Some(Source {
                author: Some("A. Author".into()),
                title: "Sockets".into(),
                site: "a blog".into(),
                year: Some(2018),
                url: Some("https://example.org".into()),
            }),
            differs: Some("Ruby is newer.".into()),
            seed: 1,
            figure: None,
            effects: vec![LedgerTest {
                about: "placement apart against free".into(),
                claimed: String::new(),
                ..test(Software::Original, Some(1.02), Word::Undecided, false)
            }],
            runs: vec![
                run(Software::Original, 0, &["ruby is not installed (package ruby)"]),
                run(Software::Native, 25, &[]),
            ],
            claims: vec![LedgerClaim {
                text: "The difference measured was a factor of 19.".into(),
                published: Some("48.27 against 2.53".into()),
                word: Word::Refuted,
                original: None,
                native: Some(Word::Refuted),
                behind: None,
                limit: Some("on Linux, with FIFOs".into()),
                takes: Some("a machine with Windows".into()),
                tests: vec![
                    test(Software::Original, None, Word::Undecided, true),
                    test(Software::Native, Some(2.6), Word::Refuted, true),
                    test(Software::Native, Some(0.0), Word::Undecided, false),
                ],
            }],
        };
        let shown = format!("{}\n{}", render(&ledger, 100), summary(std::slice::from_ref(&ledger)));
        insta::assert_snapshot!(anstream::adapter::strip_str(&shown).to_string());
    }
}
