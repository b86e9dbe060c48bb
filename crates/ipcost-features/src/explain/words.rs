//! An explanation on a terminal: sentences, the parts side by side, causes, and what could not be looked at.

use ipcost_model::units::counted;
use ipcost_report::words::escaped;

use crate::explain::sentences::{cell_sentence, difference_sentence, floor_sentence};
use crate::explain::tables::{calls, of_cell, of_pair};
use crate::explain::{ExplainedCell, ExplainedDifference, Explanation, NamedCause, Purpose};

/// Text is wrapped no narrower than this.
const LEAST_ROOM: usize = 30;
/// And no wider.
const MOST_ROOM: usize = 110;

/// All of it in at most `room` columns.
pub fn render(explanation: &Explanation, room: usize) -> String {
    let mut out = String::new();
    let find = |id: &str| explanation.cells.iter().find(|cell| cell.id == id);
    let pairs: Vec<(&ExplainedDifference, &ExplainedCell, &ExplainedCell)> = explanation
        .differences
        .iter()
        .filter_map(|difference| Some((difference, find(&difference.a)?, find(&difference.b)?)))
        .collect();
    let asked = || explanation.cells.iter().filter(|cell| cell.purpose == Purpose::Asked);
    for (difference, a, b) in &pairs {
        paragraph(&mut out, &difference_sentence(difference, a, b), room);
    }
    if pairs.is_empty() {
        for cell in asked() {
            paragraph(&mut out, &cell_sentence(cell), room);
        }
    }
    if let Some(sentence) = floor_sentence(&asked().collect::<Vec<_>>()) {
        paragraph(&mut out, &sentence, room);
    }
    for (difference, a, b) in &pairs {
        out.push('\n');
        of_pair(&mut out, difference, a, b, room);
    }
    for cell in asked() {
        if pairs.is_empty() && !cell.parts.is_empty() {
            out.push('\n');
            of_cell(&mut out, cell, room);
        }
    }
    for cell in asked() {
        calls(&mut out, cell, room);
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
    for NamedCause { code, sentence, remedy, .. } in &explanation.causes {
        item(out, &format!("{code}: {}. What to do: {}.", escaped(sentence), escaped(remedy)), room);
    }
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
        out.push_str(&textwrap::fill(line, width(room)));
        out.push('\n');
    }
}

fn item(out: &mut String, text: &str, room: usize) {
    let options = textwrap::Options::new(width(room)).initial_indent("- ").subsequent_indent("  ");
    out.push_str(&textwrap::fill(text, options));
    out.push('\n');
}
