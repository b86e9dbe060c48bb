//! The document in plain words.

pub use ipcost_model::escaped;
use ipcost_model::units::size_text;
use ipcost_model::{
    CellRecord, ContrastRecord, Document, Fastest, FloorRecord, Metric, Pattern, Placement, SpeaksFirst,
    Verdict, WorkloadRecord,
};

use crate::numbers::{interval, ratio, time};

/// What a table measures: `64 B round trip`.
pub fn workload(workload: &WorkloadRecord) -> String {
    let size = size_text(workload.size);
    let reply = size_text(workload.reply);
    let what = match workload.pattern {
        Pattern::Rr if workload.size == workload.reply => format!("{size} round trip"),
        Pattern::Rr => format!("round trip of {size} and {reply}"),
        Pattern::Stream => format!("stream of {size} messages"),
        Pattern::Connect if workload.speaks_first == SpeaksFirst::Server => {
            format!("connection per reply of {reply}")
        }
        Pattern::Connect if workload.size == workload.reply => {
            format!("connection per request, {size} each way")
        }
        Pattern::Connect => format!("connection per request, {size} out and {reply} back"),
        Pattern::Floor => "what this machine allows".to_owned(),
    };
    let mut parts = vec![what];
    if workload.concurrency > 1 {
        parts.push(format!("{} at once", workload.concurrency));
    }
    if workload.placement != Placement::Free {
        parts.push(workload.placement.to_string());
    }
    parts.join(", ")
}

/// The verdict on a table in one sentence; what cannot be said is said not to be known.
pub fn sentence(document: &Document, table: &WorkloadRecord) -> String {
    let what = capitalised(&workload(table));
    if table.pattern == Pattern::Floor {
        return of_floors(document, table, &what);
    }
    let Some(fastest) = &table.fastest else {
        return match table.cells.iter().filter_map(|id| cell(document, id)).find(|cell| cell.epochs > 0) {
            Some(only) => {
                format!("{what}: only {} was measured, so there is nothing to compare.", only.label)
            }
            None => format!("{what}: nothing was measured."),
        };
    };
    let winner = label(document, &fastest.cell);
    let rival = label(document, &fastest.runner_up);
    let margin = document.analysis.margin;
    let duel = contrast(document, Metric::Wall, &fastest.cell).filter(|duel| duel.b == fastest.runner_up);
    if let Some(duel) = duel {
        return format!("{what}: {}.", between_two(duel, fastest.claimed, &winner, &rival, margin));
    }
    let against = against_baseline(document, fastest);
    let rival = match_of_two(fastest, &winner, &rival, margin);
    match against {
        Some(against) => format!("{what}: {winner} {against}; {rival}."),
        None if fastest.claimed => format!("{what}: {winner} is the cheapest; {rival}."),
        None => format!("{what}: {winner} has the lowest cost here; {rival}."),
    }
}

/// Floors side by side: they are parts, and not compared.
fn of_floors(document: &Document, table: &WorkloadRecord, what: &str) -> String {
    let measured =
        |cell: &CellRecord| Some(format!("{} {}", escaped(&cell.label), time(cell.wall_ns_per_op?.median)));
    let cells = table.cells.iter().filter_map(|id| cell(document, id));
    match cells.filter_map(measured).collect::<Vec<_>>() {
        costs if costs.is_empty() => format!("{what}: nothing was measured."),
        costs => format!("{what}: {}.", costs.join(", ")),
    }
}

/// What the floors of a table's cells are, each once, with the cells' labels where they differ.
pub fn floors(document: &Document, table: &WorkloadRecord) -> Vec<String> {
    let cells = || table.cells.iter().filter_map(|id| cell(document, id));
    let mut kinds: Vec<(&FloorRecord, Vec<String>)> = Vec::new();
    for (floor, label) in cells().filter_map(|cell| Some((cell.floor.as_ref()?, escaped(&cell.label)))) {
        match kinds.iter_mut().find(|(known, _)| known.made_of == floor.made_of) {
            Some((_, labels)) => labels.push(label),
            None => kinds.push((floor, vec![label])),
        }
    }
    let one = kinds.len() == 1;
    let line = |(floor, labels): (&FloorRecord, Vec<String>)| {
        let of = if one { String::new() } else { format!(" of {}", labels.join(", ")) };
        format!("floor{of}: {} = {}", escaped(&floor.made_of), time(floor.ns_per_op))
    };
    kinds.into_iter().map(line).collect()
}

/// The winner against the runner-up where that is what it is compared with in the table, too.
fn between_two(duel: &ContrastRecord, claimed: bool, winner: &str, rival: &str, margin: f64) -> String {
    let times = ratio(duel.ratio);
    let Some(bounds) = interval(duel.ratio, duel.lo, duel.hi) else {
        return format!("{winner} seems to cost {times} × {rival}, with no interval yet");
    };
    match duel.verdict {
        Verdict::Equivalent => {
            format!(
                "{winner} and {rival} cost the same within {} % ({times} ×, {bounds})",
                ratio_percent(margin)
            )
        }
        Verdict::Undecided => {
            format!(
                "whether {winner} or {rival} is cheaper is undecided ({winner} costs {times} × as much, {bounds})"
            )
        }
        _ if claimed => {
            format!("{winner} is the cheapest: it costs {times} × {rival}, the runner-up ({bounds})")
        }
        _ => {
            format!("{winner} costs {times} × {rival} ({bounds}), but does not yet beat every other for sure")
        }
    }
}

/// The winner against what it is compared with; `None` where it is the baseline.
fn against_baseline(document: &Document, fastest: &Fastest) -> Option<String> {
    let contrast = contrast(document, Metric::Wall, &fastest.cell)?;
    let times = ratio(contrast.ratio);
    let name = label(document, &contrast.b);
    let bounds = interval(contrast.ratio, contrast.lo, contrast.hi);
    Some(match (contrast.verdict, bounds) {
        (_, None) => format!("seems to cost {times} × {name}, with no interval yet"),
        (Verdict::Undecided, Some(bounds)) => {
            format!(
                "has the lowest cost here, but whether it is cheaper than {name} is undecided ({times} ×, {bounds})"
            )
        }
        (Verdict::Equivalent, Some(bounds)) => {
            let percent = ratio_percent(document.analysis.margin);
            format!("costs the same as {name} within {percent} % ({times} ×, {bounds})")
        }
        (_, Some(bounds)) => format!("costs {times} × {name} ({bounds})"),
    })
}

/// The winner against the runner-up.
fn match_of_two(fastest: &Fastest, winner: &str, rival: &str, margin: f64) -> String {
    let times = ratio(fastest.ratio);
    let bounds = interval(fastest.ratio, fastest.lo, fastest.hi);
    let percent = format!("{} %", ratio_percent(margin));
    match (fastest.claimed, fastest.verdict, bounds) {
        (_, Verdict::Equivalent, _) => format!("{rival} costs the same within {percent}"),
        (true, _, Some(bounds)) => format!("it beats the runner-up, {rival}, by {times} × ({bounds})"),
        (_, _, None) => format!("whether it beats {rival} cannot be told yet"),
        (false, Verdict::Different | Verdict::Direction, Some(bounds)) => {
            format!("it beats {rival} by {times} × ({bounds}), but not yet every other for sure")
        }
        (_, Verdict::Undecided, Some(bounds)) => {
            format!(
                "whether {winner} or {rival} is cheaper is undecided ({rival} costs {times} × as much, {bounds})"
            )
        }
    }
}

/// `, killed and resumed after epochs 3 and 7`; nothing where it never was.
pub fn resumed(document: &Document) -> String {
    let after: Vec<String> = document.resumed.iter().map(|resumed| resumed.after_epoch.to_string()).collect();
    match after.as_slice() {
        [] => String::new(),
        [epoch] => format!(", killed and resumed after epoch {epoch}"),
        [first @ .., last] => format!(", killed and resumed after epochs {} and {last}", first.join(", ")),
    }
}

/// `1 round`, `3 rounds`.
pub fn rounds(count: u32) -> String {
    format!("{count} round{}", if count == 1 { "" } else { "s" })
}

fn ratio_percent(margin: f64) -> String {
    let percent = format!("{:.2}", margin * 100.0);
    percent.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A cell of the document by its id.
pub fn cell<'a>(document: &'a Document, id: &str) -> Option<&'a CellRecord> {
    document.cells.iter().find(|cell| cell.id == id)
}

/// The label of a cell by its id, safe to be shown.
pub fn label(document: &Document, id: &str) -> String {
    escaped(cell(document, id).map_or(id, |cell| &cell.label))
}

/// The contrast of a cell with what it is compared with.
pub fn contrast<'a>(document: &'a Document, metric: Metric, a: &str) -> Option<&'a ContrastRecord> {
    document.contrasts.iter().find(|contrast| contrast.metric == metric && contrast.a == a)
}

/// The same, beginning with a capital letter.
pub fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
