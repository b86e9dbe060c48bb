//! The ledger of a replication on a terminal, and the outputs that the articles themselves printed.

use anstyle::Style;
use ipcost_model::escaped;
use ipcost_model::units::{counted, duration_of, duration_text};
use ipcost_report::grid::{Column, Grid, Piece};
use ipcost_report::numbers::{bounds, ratio};
use ipcost_report::wrap::{wrapped, wrapped_under};

use crate::claims::ClaimVerdict;
use crate::claims::words::style;
use crate::replicate::{Ledger, LedgerClaim, LedgerTest, catalogue};

const BOLD: Style = Style::new().bold();
const DIMMED: Style = Style::new().dimmed();
/// A summary in more columns does not fit a terminal or a mail.
const SUMMARY_ROOM: usize = 100;
/// Letters of a claim's sentence that are shown at least.
const LEAST_SAID: usize = 24;
const TESTS: [Column; 6] = [
    Column::new("   condition", false, 0),
    Column::new("compared", false, 0),
    Column::new("here", true, 0),
    Column::new("", false, 0),
    Column::new("claimed", true, 0),
    Column::new("", false, 0),
];

/// Draws a ledger in `room` columns of text: what is known of every claim; with `details` also how it was measured, and
/// every test.
pub fn render(ledger: &Ledger, details: bool, room: usize) -> String {
    let mut out = format!("{BOLD}{}{BOLD:#}: {}\n", escaped(&ledger.id), escaped(&ledger.question));
    let line = |text: &str| format!("{}\n", wrapped(text, room));
    if let Some(source) = &ledger.source {
        out.push_str(&line(&format!("Source: {}", escaped(&source.to_string()))));
    }
    if let Some(under) = congestion(ledger) {
        out.push_str(&line(&under));
    }
    if details {
        out.push_str(&line(&format!("Published on: {}", ledger.machine)));
        if let Some(differs) = &ledger.differs {
            out.push_str(&line(&format!("What differs here: {differs}")));
        }
    }
    for run in ledger.runs.iter().filter(|run| details || !run.missing.is_empty()) {
        let under = run.stratum.as_ref().map_or_else(String::new, |stratum| format!(", {stratum}"));
        let how = if run.epochs > 0 {
            let took = duration_text(duration_of(run.elapsed_s));
            let network = if run.own_network { ", in a network of its own" } else { "" };
            let epochs = counted(run.epochs, "epoch");
            format!("{}: {}{under}; {epochs} in {took}{network}", run.software, run.about)
        } else {
            format!("{}: {}{under}; not measured", run.software, run.about)
        };
        out.push_str(&line(&how));
        for missing in &run.missing {
            out.push_str(&line(&format!("  missing: {}", escaped(missing))));
        }
    }
    if !ledger.effects.is_empty() && details {
        out.push_str(&line("Not as published, and what it changes:"));
        let mut grid = Grid::new(&TESTS);
        ledger.effects.iter().filter(|test| is_shown(test)).for_each(|test| row(&mut grid, test));
        grid.render(&mut out, room);
    }
    for (number, claim) in (1..).zip(&ledger.claims) {
        out.push('\n');
        out.push_str(&self::claim(number, claim, details, room));
    }
    out
}

fn claim(number: usize, claim: &LedgerClaim, details: bool, room: usize) -> String {
    let style = style(claim.word);
    let mut out = format!("{number}. {style}{}{style:#}  ", word(claim));
    out.push_str(&format!("{}\n", wrapped_under(&format!("\"{}\"", claim.text), room, "   ")));
    for (what, note) in notes(claim) {
        let note = format!("{what}: {note}");
        out.push_str(&format!("   {}\n", wrapped_under(&note, room, "   ")));
    }
    if !details {
        return out;
    }
    let mut grid = Grid::new(&TESTS);
    claim.tests.iter().filter(|test| is_shown(test)).for_each(|test| row(&mut grid, test));
    grid.render(&mut out, room);
    for remark in remarks(claim) {
        out.push_str(&format!("   {}\n", wrapped_under(&remark, room, "   ")));
    }
    out
}

/// Which congestion control TCP uses here, where a claim is about TCP: streams turn on it.
pub(super) fn congestion(ledger: &Ledger) -> Option<String> {
    let mut tests = ledger.claims.iter().flat_map(|claim| &claim.tests);
    let about_tcp = tests.any(|test| test.about.to_lowercase().contains("tcp"));
    let name = ledger.envelope.host.tcp_congestion().filter(|_| about_tcp)?;
    Some(format!("TCP here: under {}, unless a condition says otherwise.", escaped(name)))
}

/// What a table of tests has no room for: why a test decides nothing, and system calls by name.
pub(super) fn remarks(claim: &LedgerClaim) -> Vec<String> {
    let contradicted = claim.tests.iter().filter_map(|test| {
        let otherwise = test.contradicted.as_ref()?;
        Some(format!("{} decides nothing: the article's own method says otherwise, {otherwise}", test.about))
    });
    let details = claim.tests.iter().filter_map(|test| {
        let detail = test.detail.as_ref()?;
        Some(format!("{} ({}): {detail}: {}", test.about, test.software, test.word))
    });
    contradicted.chain(details).collect()
}

/// What is to be said of a claim besides what is known of it, each with what it is.
pub(super) fn notes(claim: &LedgerClaim) -> Vec<(&'static str, &str)> {
    let is_undecided = claim.word.is_open() || claim.word == ClaimVerdict::NotTested;
    let all = [
        ("here", Some(claim.sentence.as_str())),
        ("published", claim.published.as_deref()),
        ("what differs", claim.why.as_deref()),
        ("what to do", claim.advice.as_deref()),
        ("behind it", claim.behind.as_deref()),
        ("to decide it", claim.takes.as_deref().filter(|_| is_undecided)),
    ];
    all.into_iter()
        .filter_map(|(what, note)| Some((what, note?)))
        .filter(|(_, note)| !note.is_empty())
        .collect()
}

/// A row without an interval says nothing, and calls have lines of their own.
fn is_shown(test: &LedgerTest) -> bool {
    test.lo.is_some() || test.hi.is_some() || test.range.is_some()
}

/// What is known of a claim, with what that is limited to.
pub(super) fn word(claim: &LedgerClaim) -> String {
    let is_known = !matches!(claim.word, ClaimVerdict::Open | ClaimVerdict::NotTested);
    let limit = claim.limit.as_deref().filter(|_| is_known);
    let size = match claim.size {
        Some(ClaimVerdict::Fails) if claim.word == ClaimVerdict::Holds => " in direction",
        _ => "",
    };
    let limit = limit.map_or_else(String::new, |limit| format!(" {limit}"));
    format!("{}{size}{limit}", claim.word)
}

fn row(grid: &mut Grid, test: &LedgerTest) {
    let value = test.value.map_or_else(String::new, shown);
    let held = test.value.map_or_else(String::new, |value| bounds(value, (test.lo, test.hi), test.range));
    let word = if test.decides {
        Piece::styled(test.word.name(), style(test.word))
    } else {
        Piece::styled("not deciding", DIMMED)
    };
    grid.row(vec![
        Piece::styled(format!("   {}", test.stratum.as_deref().unwrap_or("as published")), DIMMED),
        test.about.clone().into(),
        value.into(),
        held.into(),
        test.claimed.clone().into(),
        word,
    ]);
}

pub(super) fn shown(value: f64) -> String {
    if value == 0.0 { "0".to_owned() } else { ratio(value) }
}

/// A line for each claim: what is known, and with which figure and under which condition; within `room` columns.
pub fn summary(ledgers: &[Ledger], room: usize) -> String {
    const COLUMNS: [Column; 3] =
        [Column::new("claim", false, 0), Column::new("", false, 0), Column::new("here", false, 0)];
    let room = room.min(SUMMARY_ROOM);
    let mut grid = Grid::new(&COLUMNS);
    let all =
        || ledgers.iter().flat_map(|ledger| (1..).zip(&ledger.claims).map(move |claim| (ledger, claim)));
    let name = |(ledger, (number, _)): &(&Ledger, (usize, &LedgerClaim))| format!("{} {number}", ledger.id);
    let widest = |texts: Vec<String>| texts.iter().map(|text| text.chars().count()).max().unwrap_or(0);
    let taken = widest(all().map(|claim| name(&claim)).collect())
        + widest(all().map(|(_, (_, claim))| word(claim)).collect())
        + 4;
    for claim in all() {
        let (_, (_, known)) = claim;
        let said = if known.sentence.is_empty() { String::new() } else { known.sentence.clone() };
        grid.row(vec![
            name(&claim).into(),
            Piece::styled(word(known), style(known.word)),
            cut(&said, room.saturating_sub(taken).max(LEAST_SAID)).into(),
        ]);
    }
    let mut out = String::new();
    grid.render(&mut out, usize::MAX);
    let count = |verdict: ClaimVerdict| all().filter(|(_, (_, claim))| claim.word == verdict).count();
    let counts: Vec<String> = ClaimVerdict::ALL
        .iter()
        .map(|verdict| (count(*verdict), verdict))
        .filter(|(count, _)| *count > 0)
        .map(|(count, verdict)| verdict.counted(count))
        .collect();
    let took: f64 = ledgers.iter().flat_map(|ledger| &ledger.runs).map(|run| run.elapsed_s).sum();
    out.push_str(&format!(
        "\n{}: {}; measured in {}. --details shows every test.\n",
        counted(all().count() as u64, "claim"),
        counts.join(", "),
        duration_text(duration_of(took))
    ));
    out
}

/// Who was right, of the articles that contradict one another and were all run; nothing if none were.
pub fn who_was_right(ledgers: &[Ledger], room: usize) -> String {
    let room = room.min(SUMMARY_ROOM);
    let mut out = String::new();
    for contradiction in catalogue::contradictions() {
        let found: Option<Vec<(String, &LedgerClaim)>> = contradiction
            .sides
            .iter()
            .map(|side| {
                let ledger = ledgers.iter().find(|ledger| ledger.id == side.experiment)?;
                let claim = ledger.claims.get(side.claim.checked_sub(1)?)?;
                Some((format!("{} ({} {})", side.says, side.experiment, side.claim), claim))
            })
            .collect();
        let Some(found) = found else { continue };
        let mut grid =
            Grid::new(&[Column::new("", false, 0), Column::new("", false, 0), Column::new("", false, 0)]);
        let widest = |texts: &mut dyn Iterator<Item = usize>| texts.max().unwrap_or(0);
        let taken = widest(&mut found.iter().map(|(says, _)| says.chars().count() + 2))
            + widest(&mut found.iter().map(|(_, claim)| word(claim).chars().count()))
            + 4;
        for (says, claim) in &found {
            grid.row(vec![
                format!("  {says}").into(),
                Piece::styled(word(claim), style(claim.word)),
                cut(&claim.sentence, room.saturating_sub(taken).max(LEAST_SAID)).into(),
            ]);
        }
        grid.render(&mut out, usize::MAX);
    }
    if out.is_empty() { out } else { format!("{BOLD}Who was right{BOLD:#}\n{out}") }
}

/// A text in one line of so many letters.
fn cut(text: &str, room: usize) -> String {
    if text.chars().count() <= room {
        return text.to_owned();
    }
    let begin: String = text.chars().take(room.saturating_sub(1)).collect();
    let end = begin.rfind([' ', ',', ';']).filter(|end| *end > room / 2).unwrap_or(begin.len());
    format!("{}…", begin[..end].trim_end_matches([' ', ',', ';', ':']))
}

#[cfg(test)]
mod tests {
    use ipcost_model::{Envelope, Host, Tool};

    use super::*;
    use crate::replicate::{LEDGER_SCHEMA, LedgerRun, Software, Source};

    #[test]
    fn a_ledger_shows_what_was_published_and_what_holds() {
        let test = |software, value: Option<f64>, word, decides| LedgerTest {
            stratum: None,
            direction: None,
            about: "client CPU, tcp over unix".into(),
            software,
            measure: "client_cpu".into(),
            value,
            lo: value.map(|value| value * 0.9),
            hi: value.map(|value| value * 1.1),
            range: None,
            above: None,
            below: None,
            is_ratio: true,
            claimed: "15 to 24".into(),
            word,
            decides,
            detail: None,
            contradicted: None,
        };
        let run = |software, epochs, missing: &[&str]| LedgerRun {
            stratum: None,
            software,
            about: "Ruby".into(),
            elapsed_s: 61.0,
            epochs,
            missing: missing.iter().map(|text| (*text).to_owned()).collect(),
            own_network: false,
        };
        let ledger = Ledger {
            envelope: Envelope {
                schema: LEDGER_SCHEMA.into(),
                tool: Tool::of_version("0"),
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
                ..test(Software::Original, Some(1.02), ClaimVerdict::Open, false)
            }],
            runs: vec![
                run(Software::Original, 0, &["ruby is not installed (package ruby)"]),
                run(Software::Native, 25, &[]),
            ],
            claims: vec![LedgerClaim {
                text: "The difference measured was a factor of 19.".into(),
                published: Some("48.27 against 2.53".into()),
                word: ClaimVerdict::Holds,
                size: Some(ClaimVerdict::Fails),
                sentence: "in direction only, the factor differs: as published: 2.60 (2.34–2.86)".into(),
                advice: None,
                why: Some("tcp 2.00 sleeps an operation, unix 1.00".into()),
                conditions: Vec::new(),
                behind: None,
                limit: Some("on Linux, with FIFOs".into()),
                takes: Some("a machine with Windows".into()),
                tests: vec![
                    test(Software::Original, None, ClaimVerdict::Open, true),
                    test(Software::Native, Some(2.6), ClaimVerdict::Fails, true),
                    test(Software::Native, Some(0.0), ClaimVerdict::Open, false),
                ],
            }],
        };
        let shown = format!(
            "{}\n{}\n{}",
            render(&ledger, false, 100),
            render(&ledger, true, 100),
            summary(std::slice::from_ref(&ledger), 100)
        );
        insta::assert_snapshot!(anstream::adapter::strip_str(&shown).to_string());
    }
}
