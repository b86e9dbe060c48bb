//! An explanation on a terminal: sentences, the parts side by side, causes, and what could not be looked at.

use ipcost_model::protocol::PeerRole;
use ipcost_model::units::counted;
use ipcost_model::{Estimate, Verdict, escaped_lines};
use ipcost_report::numbers::ratio;
use ipcost_report::words::escaped;

use crate::explain::account_words::account_sentence;
use crate::explain::sentences::{cell_sentence, difference_sentence, floor_sentence};
use crate::explain::tables::{calls, of_cell, of_pair};
use crate::explain::{ExplainedCell, ExplainedDifference, Explanation, NamedCause, Purpose, Tried};

/// Text is wrapped no narrower than this.
const LEAST_ROOM: usize = 30;
/// And no wider.
const MOST_ROOM: usize = 110;

/// All of it in at most `room` columns.
pub fn render(explanation: &Explanation, room: usize) -> String {
    let mut out = String::new();
    let find = |id: &str| explanation.cells.iter().find(|cell| cell.id == id);
    // Of a cell alone, how it differs from its twin is what was asked.
    let differences =
        if explanation.differences.is_empty() { &explanation.twins } else { &explanation.differences };
    let pairs: Vec<(&ExplainedDifference, &ExplainedCell, &ExplainedCell)> = differences
        .iter()
        .filter_map(|difference| Some((difference, find(&difference.a)?, find(&difference.b)?)))
        .collect();
    let asked = || explanation.cells.iter().filter(|cell| cell.purpose == Purpose::Asked);
    if explanation.differences.is_empty() {
        for cell in asked() {
            paragraph(&mut out, &cell_sentence(cell), room);
        }
    }
    for (difference, a, b) in &pairs {
        paragraph(&mut out, &difference_sentence(difference, a, b), room);
        if let Some(sentence) = account_sentence(difference, a, b) {
            paragraph(&mut out, &sentence, room);
        }
    }
    if let Some(sentence) = floor_sentence(&asked().collect::<Vec<_>>()) {
        paragraph(&mut out, &sentence, room);
    }
    for (difference, a, b) in &pairs {
        out.push('\n');
        of_pair(&mut out, difference, a, b, room);
    }
    for cell in asked().filter(|cell| !pairs.iter().any(|(_, a, b)| a.id == cell.id || b.id == cell.id)) {
        if !cell.parts.is_empty() {
            out.push('\n');
            of_cell(&mut out, cell, room);
        }
    }
    let mut shown: Vec<&ExplainedCell> = Vec::new();
    for cell in &explanation.cells {
        // On two cores it mostly makes the calls that it makes on one.
        if !shown.iter().any(|known| known.label == cell.label && same_calls(known, cell)) {
            calls(&mut out, cell, room);
            shown.push(cell);
        }
    }
    show_causes(&mut out, explanation, room);
    show_missing(&mut out, explanation, room);
    paragraph(&mut out, &how(explanation), room);
    out
}

fn show_causes(out: &mut String, explanation: &Explanation, room: usize) {
    out.push('\n');
    if explanation.causes.is_empty() {
        paragraph(out, "None of the causes that have a name here was recognised.", room);
        return;
    }
    // A cause that holds on one core and on two is told once, as where it weighs more.
    let mut told: Vec<&NamedCause> = Vec::new();
    for cause in &explanation.causes {
        let place =
            |cause: &NamedCause| explanation.cells.iter().find(|cell| Some(&cell.id) == cause.cell.as_ref());
        let again = |known: &&&NamedCause| {
            let alike =
                known.code == cause.code && known.side == cause.side && known.subject == cause.subject;
            let labels =
                place(known).zip(place(cause)).is_some_and(|(a, b)| a.label == b.label && a.id != b.id);
            alike && labels
        };
        if told.iter().find(again).is_none() {
            told.push(cause);
        }
    }
    for NamedCause { code, sentence, remedy, tried, .. } in told {
        let tried = tried.as_ref().map_or_else(String::new, tried_text);
        item(out, &format!("{code}: {}. What to do: {}.{tried}", escaped(sentence), escaped(remedy)), room);
    }
    if explanation.tried == Some(0) {
        paragraph(out, "\nNo remedy is an option of this program, so none was tried.", room);
    }
}

/// What a remedy brought.
fn tried_text(tried: &Tried) -> String {
    let Estimate { median, lo, hi } = tried.ratio;
    let around = lo.zip(hi).map_or_else(String::new, |(lo, hi)| format!(" ({}–{})", ratio(lo), ratio(hi)));
    let setting = escaped(&tried.setting);
    match tried.verdict {
        Verdict::Equivalent => {
            format!(" Tried: {setting} changes the median by no more than the margin{around}.")
        }
        Verdict::Undecided if lo.is_none() => {
            format!(" Tried: with {setting} it costs about {} × (an estimate).", ratio(median))
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

fn show_missing(out: &mut String, explanation: &Explanation, room: usize) {
    if explanation.missing.is_empty() {
        return;
    }
    out.push_str("\nNot looked at:\n");
    for missing in &explanation.missing {
        let text = format!("{}: {}; {}.", missing.what, missing.reason, missing.remedy);
        item(out, &escaped(&text), room);
    }
}

fn how(explanation: &Explanation) -> String {
    format!(
        "\n{}; {}, all right in {:.0} % of such runs; system calls, events and the network are from passes that were not timed; seed {}",
        counted(explanation.epochs, "epoch"),
        counted(explanation.intervals as u64, "interval"),
        (1.0 - explanation.alpha) * 100.0,
        explanation.seed
    )
}

fn width(room: usize) -> usize {
    room.clamp(LEAST_ROOM, MOST_ROOM)
}

fn paragraph(out: &mut String, text: &str, room: usize) {
    for line in text.split('\n') {
        out.push_str(&textwrap::fill(&escaped_lines(line), width(room)));
        out.push('\n');
    }
}

fn item(out: &mut String, text: &str, room: usize) {
    let options = textwrap::Options::new(width(room)).initial_indent("- ").subsequent_indent("  ");
    out.push_str(&textwrap::fill(&escaped_lines(text), options));
    out.push('\n');
}
