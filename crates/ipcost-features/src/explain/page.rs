//! An explanation as a page: sentences, causes, the parts next to each other, and what could not be looked at.

use ipcost_model::protocol::PeerRole;
use ipcost_model::units::counted;
use ipcost_model::{Document, Estimate, Verdict, and_joined};
use ipcost_report::numbers::ratio;
use ipcost_report::page::{Block, Page, Paragraph, Section};
use ipcost_report::run_page::slow_tail;

use super::account_words::account_sentence;
use super::sentences::{cell_sentence, difference_sentence, floor_sentence, subject, watched_sentences};
use super::tables::{calls, of_cell, of_pair};
use super::{ExplainedCell, ExplainedDifference, Explanation, NamedCause, Purpose, Tried};

/// So many cells are named in the title.
const MOST_NAMES: usize = 4;

/// A difference with its two cells.
type ExplainedPair<'a> = (&'a ExplainedDifference, &'a ExplainedCell, &'a ExplainedCell);

/// The page of `explain`.
pub fn page<'a>(explanation: &'a Explanation, document: &'a Document) -> Page<'a> {
    let pairs = pairs(explanation);
    let mut page = Page::new(title(explanation));
    page.answer = sentences(explanation, &pairs);
    page.answer.push(causes(explanation));
    page.blocks.extend(pairs.iter().map(|(difference, a, b)| of_pair(difference, a, b).open()));
    let alone = asked(explanation)
        .filter(|cell| !pairs.iter().any(|(_, a, b)| a.id == cell.id || b.id == cell.id))
        .filter(|cell| !cell.parts.is_empty());
    page.blocks.extend(alone.map(|cell| of_cell(cell).open()));
    let mut shown: Vec<&ExplainedCell> = Vec::new();
    for cell in &explanation.cells {
        // On two cores it mostly makes the calls that it makes on one.
        if !shown.iter().any(|known| known.label == cell.label && same_calls(known, cell)) {
            page.blocks.extend(calls(cell).map(Block::Details));
            shown.push(cell);
        }
    }
    page.blocks.extend(rejected(explanation));
    page.notes.push(Paragraph::quiet(how(explanation, document)).into());
    page.notes.extend(slow_tail(document));
    page.notes.extend(missing(explanation));
    page
}

fn title(explanation: &Explanation) -> String {
    let mut names: Vec<String> = asked(explanation).map(|cell| cell.label.clone()).collect();
    names.dedup();
    let what =
        if names.len() > MOST_NAMES { counted(names.len() as u64, "cell") } else { and_joined(&names) };
    format!("Where the time goes: {what}")
}

fn asked(explanation: &Explanation) -> impl Iterator<Item = &ExplainedCell> {
    explanation.cells.iter().filter(|cell| cell.purpose != Purpose::Twin)
}

fn pairs(explanation: &Explanation) -> Vec<ExplainedPair<'_>> {
    let find = |id: &str| explanation.cells.iter().find(|cell| cell.id == id);
    // Of a cell alone, how it differs from its twin is what was asked.
    let differences =
        if explanation.differences.is_empty() { &explanation.twins } else { &explanation.differences };
    let pair = |difference: &'_ ExplainedDifference| Some((find(&difference.a)?, find(&difference.b)?));
    differences.iter().filter_map(|difference| pair(difference).map(|(a, b)| (difference, a, b))).collect()
}

fn sentences<'a>(explanation: &'a Explanation, pairs: &[ExplainedPair<'a>]) -> Vec<Block<'a>> {
    let mut said = Vec::new();
    if explanation.differences.is_empty() {
        let measured = |cell: &&ExplainedCell| cell.purpose == Purpose::Asked;
        said.extend(asked(explanation).filter(measured).map(cell_sentence));
    }
    for (difference, a, b) in pairs {
        if a.purpose == Purpose::Watched {
            said.extend(watched_sentences(a, b));
            continue;
        }
        said.push(difference_sentence(difference, a, b));
        said.extend(account_sentence(difference, a, b));
    }
    said.extend(floor_sentence(&asked(explanation).collect::<Vec<_>>()));
    said.into_iter().map(|said| Paragraph::plain(said).into()).collect()
}

/// Whether trying the remedy has shown that it makes the cell slower: then what was seen is no cause of its cost.
fn is_rejected(cause: &&NamedCause) -> bool {
    let slower = |tried: &Tried| {
        tried.ratio.median > 1.0 && matches!(tried.verdict, Verdict::Different | Verdict::Direction)
    };
    cause.tried.as_ref().is_some_and(slower)
}

/// The causes, a line each, with the cells that it holds for.
fn causes(explanation: &Explanation) -> Block<'_> {
    let mut named: Vec<(&NamedCause, Vec<String>)> = Vec::new();
    for cause in explanation.causes.iter().filter(|cause| !is_rejected(cause)) {
        let same = |known: &&mut (&NamedCause, Vec<String>)| {
            (&known.0.code, known.0.side, &known.0.subject) == (&cause.code, cause.side, &cause.subject)
        };
        let cell = explanation.cells.iter().find(|cell| Some(&cell.id) == cause.cell.as_ref());
        match named.iter_mut().find(same) {
            Some((_, more)) => more.extend(cell.map(subject)),
            None => named.push((cause, Vec::new())),
        }
    }
    if named.is_empty() {
        return Paragraph::plain("No known cause explains it.").into();
    }
    let item = |(NamedCause { code, sentence, remedy, tried, .. }, more): (&NamedCause, Vec<String>)| {
        let tried = tried.as_ref().map_or_else(String::new, tried_text);
        let more = if more.is_empty() { String::new() } else { format!("; the same {}", and_joined(&more)) };
        Paragraph::plain(format!("{code}: {sentence}{more}. What to do: {remedy}.{tried}"))
    };
    let list = Block::List(named.into_iter().map(item).collect());
    let untried = (explanation.tried == Some(0))
        .then(|| Paragraph::plain("None of these remedies is an option of ipcost, so none was tried."));
    Section::new("causes", "Causes").with(list).with_all(untried).open()
}

/// Remedies that make it slower.
fn rejected(explanation: &Explanation) -> Option<Block<'_>> {
    let item = |cause: &NamedCause| {
        let NamedCause { code, sentence, tried, .. } = cause;
        let tried = tried.as_ref().map_or_else(String::new, tried_text);
        Paragraph::plain(format!("{code}: {sentence}.{tried}"))
    };
    let list: Vec<Paragraph> = explanation.causes.iter().filter(is_rejected).map(item).collect();
    let section = Section::new("rejected", "Tried and rejected: these remedies make it slower");
    (!list.is_empty()).then(|| section.with(Block::List(list)).folded())
}

/// What a remedy brought.
fn tried_text(tried: &Tried) -> String {
    let Estimate { median, lo, hi } = tried.ratio;
    let around = lo.zip(hi).map_or_else(String::new, |(lo, hi)| format!(" ({}–{})", ratio(lo), ratio(hi)));
    let setting = &tried.setting;
    match tried.verdict {
        Verdict::Equivalent => {
            format!(" Tried: {setting} changes the median by no more than the margin{around}.")
        }
        Verdict::Undecided if lo.is_none() => {
            format!(
                " Tried: with {setting} it costs about {} × (from too few epochs for an interval).",
                ratio(median)
            )
        }
        Verdict::Undecided => format!(" Tried: what {setting} brings is open, {} ×{around}.", ratio(median)),
        Verdict::Different | Verdict::Direction if median > 1.0 => {
            format!(" Tried: {} ×{around}.", ratio(median))
        }
        Verdict::Different | Verdict::Direction => {
            format!(" Tried: with {setting} it costs {} ×{around}.", ratio(median))
        }
    }
}

/// Whether both sides of two cells make the same calls, nearly as often.
fn same_calls(a: &ExplainedCell, b: &ExplainedCell) -> bool {
    [PeerRole::Client, PeerRole::Server].into_iter().all(|side| {
        let of = |cell: &ExplainedCell| -> Vec<(String, f64)> {
            let calls = cell.sides.of(side).system_calls.iter().flatten().filter(|call| call.count >= 0.1);
            let mut named: Vec<(String, f64)> = calls.map(|call| (call.name.clone(), call.count)).collect();
            named.sort_by(|a, b| a.0.cmp(&b.0));
            named
        };
        let (of_a, of_b) = (of(a), of(b));
        let alike =
            |(a, b): (&(String, f64), &(String, f64))| a.0 == b.0 && (a.1 - b.1).abs() <= 0.1 * a.1.max(b.1);
        of_a.len() == of_b.len() && of_a.iter().zip(&of_b).all(alike)
    })
}

fn missing(explanation: &Explanation) -> Option<Block<'_>> {
    let line = |missing: &super::MissingEvidence| {
        Paragraph::plain(format!("{}: {}; {}.", missing.what, missing.reason, missing.remedy))
    };
    let list = Block::List(explanation.missing.iter().map(line).collect());
    (!explanation.missing.is_empty()).then(|| Section::new("missing", "Not looked at").with(list).open())
}

fn how(explanation: &Explanation, document: &Document) -> String {
    format!(
        "{}; {}, all right in {:.0} % of such runs; system calls, events and the network are from passes that were not timed; seed {}",
        counted(document.schedule.epochs, "epoch"),
        counted(explanation.intervals as u64, "interval"),
        (1.0 - document.analysis.alpha) * 100.0,
        document.seed
    )
}

#[cfg(test)]
mod tests {
    use ipcost_lab::system_calls::CallRecord;
    use ipcost_model::Pattern;
    use ipcost_report::fixture;

    use super::super::sentences::tests::{cell, difference};
    use super::super::{EXPLANATION_SCHEMA, ExplainedFloor, MissingEvidence};
    use super::*;

    fn explanation() -> Explanation {
        let (mut tcp, mut unix) = (cell("tcp", Pattern::Rr, 5_100.0), cell("unix", Pattern::Rr, 2_000.0));
        tcp.network = [("segments".to_owned(), 2.0)].into();
        tcp.sides.client.system_calls = Some(vec![CallRecord {
            name: "write".to_owned(),
            count: 1.0,
            moved: Some(64.0),
            ..CallRecord::default()
        }]);
        unix.floor = Some(ExplainedFloor {
            record: ipcost_model::FloorRecord {
                ns_per_op: 3_810.0,
                multiple: Estimate { median: 2.58, lo: Some(2.5), hi: Some(2.66) },
                parts: Vec::new(),
                made_of: "2 switches".to_owned(),
            },
            begin_ns: 3_800.0,
            end_ns: 3_820.0,
            steady: true,
        });
        let differs = ExplainedDifference { a: tcp.id.clone(), b: unix.id.clone(), ..difference(1.0, true) };
        let cause = NamedCause {
            code: "nagle".to_owned(),
            cell: Some(tcp.id.clone()),
            sentence: "tcp: the client waits for acknowledgements".to_owned(),
            remedy: "set TCP_NODELAY".to_owned(),
            tried: Some(Tried {
                cell: String::new(),
                setting: "tcp_nodelay=true".to_owned(),
                ratio: Estimate { median: 0.5, lo: Some(0.4), hi: Some(0.6) },
                verdict: Verdict::Different,
            }),
            ..NamedCause::default()
        };
        Explanation {
            schema: EXPLANATION_SCHEMA.to_owned(),
            intervals: 21,
            cells: vec![tcp, unix],
            differences: vec![differs],
            causes: vec![cause],
            tried: Some(1),
            missing: vec![MissingEvidence::new("a flame graph", "perf is not there", "install it")],
            ..Explanation::default()
        }
    }

    #[test]
    fn a_difference_is_tables_then_sentences_and_causes() {
        let (explanation, document) = (explanation(), fixture::document());
        let page = page(&explanation, &document);
        fixture::assert_fits(&page);
        insta::assert_snapshot!("terminal", anstream::adapter::strip_str(&page.terminal(false, 100)));
        insta::assert_snapshot!("csv", page.csv());
    }

    #[test]
    fn a_cell_alone_has_its_shares_and_what_it_costs_of_its_floor() {
        let mut alone = explanation();
        alone.differences.clear();
        alone.causes.clear();
        alone.missing.clear();
        alone.cells.remove(0);
        let document = fixture::document();
        let page = page(&alone, &document);
        fixture::assert_fits(&page);
        insta::assert_snapshot!("alone", anstream::adapter::strip_str(&page.terminal(false, 100)));
    }
}
