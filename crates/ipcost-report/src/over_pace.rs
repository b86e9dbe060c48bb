//! What pauses cost: the same work at several paces, a table for each.

use ipcost_model::units::{size_text, time_text};
use ipcost_model::{CellRecord, ContrastRecord, Document, Options, Placement, Verdict, Work};

use crate::numbers::{bounds, ratio};
use crate::page::{Column, Field, Paragraph, Section, Table, Tone, Value};
use crate::words::{self, capitalised, cores};

/// The columns of each table.
fn columns() -> [Column; 6] {
    [
        Column::text("transport"),
        Column::text("pause"),
        Column::number("cost"),
        Column::number("× shortest"),
        Column::text("interval"),
        Column::text("verdict"),
    ]
}

/// A cell with a pause, and the contrast with the shortest, unless it is that.
struct Paced<'a> {
    cell: &'a CellRecord,
    found: Option<&'a ContrastRecord>,
}

/// The same work at several paces: a table, and a sentence for each transport. Empty where pauses are not compared.
pub fn sections(document: &Document) -> Vec<Section<'static>> {
    let mut groups: Vec<(Work, Vec<Paced<'_>>)> = Vec::new();
    let is_compared =
        |cell: &&CellRecord| document.over_pace.iter().any(|known| known.a == cell.id || known.b == cell.id);
    for cell in document.cells.iter().filter(is_compared) {
        let work = Work { pace: Options::default(), ..cell.work() };
        let found = document.over_pace.iter().find(|known| known.a == cell.id);
        match groups.iter_mut().find(|(known, _)| *known == work) {
            Some((_, cells)) => cells.push(Paced { cell, found }),
            None => groups.push((work, vec![Paced { cell, found }])),
        }
    }
    groups.iter().map(|(work, cells)| section(document, work, cells)).collect()
}

fn section(document: &Document, work: &Work, cells: &[Paced<'_>]) -> Section<'static> {
    let what = words::work_of(work);
    let place = match work.placement {
        Placement::Free => String::new(),
        placement => format!(", {}", cores(placement)),
    };
    let mut labels: Vec<&str> = Vec::new();
    for paced in cells {
        if !labels.contains(&paced.cell.label.as_str()) {
            labels.push(&paced.cell.label);
        }
    }
    let mut table = Table::new(&columns());
    let mut said = Vec::new();
    for label in labels {
        let mut own: Vec<&Paced<'_>> = cells.iter().filter(|paced| paced.cell.label == label).collect();
        own.sort_by_key(|paced| hurry(paced.cell));
        table.rows.extend(own.iter().map(|paced| row(paced)));
        said.extend(own.last().and_then(|slowest| sentence(document, &what, slowest)).map(Paragraph::plain));
    }
    Section::new("", format!("{}{place}: cost over pace", capitalised(&what))).with(table).with_all(said)
}

/// The pause of a cell and what it goes through in between: the least first.
fn hurry(cell: &CellRecord) -> (u64, u64) {
    cell.cell.pause().unwrap_or_default()
}

fn row(Paced { cell, found }: &Paced<'_>) -> Vec<Field> {
    let mut row = vec![
        Value::Name(cell.label.clone()).into(),
        Value::Name(pause(cell)).into(),
        Field::maybe(cell.wall_ns_per_op.map(|cost| Value::Cost(cost.median))),
    ];
    if let Some(found) = found {
        let (said, tone) = match found.verdict {
            Verdict::Equivalent if found.is_same() => ("same", Tone::Open),
            Verdict::Equivalent => (words::SAME_IN_MEDIAN, Tone::Open),
            Verdict::Undecided => ("open", Tone::Open),
            Verdict::Different | Verdict::Direction if found.ratio > 1.0 => ("costs more", Tone::Bad),
            Verdict::Different | Verdict::Direction => ("costs less", Tone::Good),
        };
        row.push(Value::Ratio(found.ratio).into());
        row.push(Value::Interval(found.ratio, found.lo, found.hi).into());
        row.push(Field::from(said).toned(tone));
    }
    row
}

fn pause(cell: &CellRecord) -> String {
    let (mean_ns, polluted) = hurry(cell);
    let pause = if mean_ns == 0 { "none".to_owned() } else { time_text(mean_ns) };
    match polluted {
        0 => pause,
        bytes => format!("{pause}, {} in between", size_text(bytes)),
    }
}

/// `Once a second, a 64 B round trip over unix costs 4.1 × what it costs back to back (3.8–4.4).`
fn sentence(document: &Document, what: &str, Paced { cell, found }: &Paced<'_>) -> Option<String> {
    let found = (*found)?;
    let (mean_ns, _) = hurry(cell);
    let shortest = words::cell(document, &found.b)?;
    let when = match mean_ns {
        0 => format!("With {} gone through in between", size_text(hurry(cell).1)),
        1_000_000_000 => "Once a second".to_owned(),
        ns => format!("With a pause of {}", time_text(ns)),
    };
    let base = match hurry(shortest) {
        (0, _) => "back to back".to_owned(),
        (ns, _) => format!("with one of {}", time_text(ns)),
    };
    let place = match cell.placement {
        Placement::Free => String::new(),
        placement => format!(" on {}", cores(placement)),
    };
    let bounds = bounds(found.ratio, (found.lo, found.hi), found.range);
    let sure = match found.verdict {
        Verdict::Undecided => "; that is open",
        _ => "",
    };
    Some(format!(
        "{when}, a {what} over {}{place} costs {} × what it costs {base} {bounds}{sure}.",
        cell.label,
        ratio(found.ratio)
    ))
}
