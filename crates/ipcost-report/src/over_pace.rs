//! What pauses cost: the same work at several paces, a table for each.

use ipcost_model::pace::Pause;
use ipcost_model::units::{size_text, time_text};
use ipcost_model::{
    CellRecord, ContrastRecord, Document, Options, PauseCause, PausePart, Placement, Verdict, Work,
};

use crate::numbers::{bounds, ratio, signed_time, time};
use crate::page::{Column, Field, FieldValue, Paragraph, Section, Table, Tone};
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

/// The same work at several paces: a sentence for each transport, and a table. Empty where pauses are not compared.
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
        // What tells the parts is no pace of its own.
        let plain = own.iter().rfind(|paced| hurry(paced.cell).is_plain());
        let slowest = plain.filter(|paced| paced.found.is_some()).or(own.last());
        if let Some(slowest) = slowest {
            let sentences = [sentence(document, &what, slowest), parts(document, slowest.cell)];
            said.extend(sentences.into_iter().flatten().map(Paragraph::plain));
        }
    }
    Section::new("", format!("{}{place}: cost over pace", capitalised(&what))).with_all(said).with(table)
}

/// The pause of a cell and what else lies between its operations.
fn hurry(cell: &CellRecord) -> Pause {
    cell.cell.pause().unwrap_or_default()
}

fn row(Paced { cell, found }: &Paced<'_>) -> Vec<Field> {
    let mut row = vec![
        FieldValue::Name(cell.label.clone()).into(),
        FieldValue::Name(pause(cell)).into(),
        Field::maybe(cell.wall_ns_per_op.map(|cost| FieldValue::Cost(cost.median))),
    ];
    if let Some(found) = found {
        let (said, tone) = match found.verdict {
            Verdict::Equivalent if found.is_same() => ("same", Tone::Open),
            Verdict::Equivalent => (words::SAME_IN_MEDIAN, Tone::Open),
            Verdict::Undecided => ("open", Tone::Open),
            Verdict::Different | Verdict::Direction if found.ratio > 1.0 => ("costs more", Tone::Bad),
            Verdict::Different | Verdict::Direction => ("costs less", Tone::Good),
        };
        row.push(FieldValue::Ratio(found.ratio).into());
        row.push(FieldValue::Interval(found.ratio, found.lo, found.hi).into());
        row.push(Field::from(said).toned(tone));
    }
    row
}

fn pause(cell: &CellRecord) -> String {
    let Pause { mean_ns, polluted, is_awake } = hurry(cell);
    let mut pause = if mean_ns == 0 { "none".to_owned() } else { time_text(mean_ns) };
    if polluted > 0 {
        pause.push_str(&format!(", {} in between", size_text(polluted)));
    }
    if is_awake {
        pause.push_str(", kept awake");
    }
    pause
}

/// `Once a second, a 64 B round trip over unix costs 4.1 × what it costs back to back (3.8–4.4).`
fn sentence(document: &Document, what: &str, Paced { cell, found }: &Paced<'_>) -> Option<String> {
    let found = (*found)?;
    let Pause { mean_ns, polluted, .. } = hurry(cell);
    let shortest = words::cell(document, &found.b)?;
    let when = match mean_ns {
        0 => format!("With {} gone through in between", size_text(polluted)),
        1_000_000_000 => "Once a second".to_owned(),
        ns => format!("With a pause of {}", time_text(ns)),
    };
    let base = match hurry(shortest).mean_ns {
        0 => "back to back".to_owned(),
        ns => format!("with one of {}", time_text(ns)),
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

/// `The pause adds 88 µs. Waking idle processors: 61 µs (52–70 µs). Cold caches: …`
fn parts(document: &Document, cell: &CellRecord) -> Option<String> {
    let find = |cause: PauseCause| {
        document.pause_parts.iter().find(|part| part.cell == cell.id && part.cause == cause)
    };
    // Where it is open whether the pause costs anything, there is nothing to divide.
    let whole = find(PauseCause::Whole).filter(|whole| whole.ns.lo.is_some_and(|lo| lo > 0.0))?;
    let of = |name: &str, part: &PausePart| {
        let known = signed_time(part.ns.median);
        let interval = part.ns.lo.zip(part.ns.hi);
        let interval =
            interval.map(|(lo, hi)| (lo, hi, format!("{} to {}", signed_time(lo), signed_time(hi))));
        match interval {
            None => format!("{name}: open, {known} without an interval."),
            Some((lo, hi, interval)) if lo <= 0.0 && hi >= 0.0 => {
                format!("{name}: open, {known} ({interval}).")
            }
            Some((_, _, interval)) => format!("{name}: {known} ({interval})."),
        }
    };
    let control = |part: &PausePart| document.cell(&part.control);
    let idle = find(PauseCause::IdleStates).map(|part| of("Waking idle processors", part));
    let caches = find(PauseCause::Caches).map(|part| {
        let bytes = control(part).map_or(0, |cell| hurry(cell).polluted);
        of(&format!("Cold caches, as after {} of other data", size_text(bytes)), part)
    });
    let parts: Vec<String> = idle.into_iter().chain(caches).collect();
    Some(format!(
        "The pause adds {}. {} The rest, such as the processor's frequency, is not separated.",
        time(whole.ns.median),
        parts.join(" ")
    ))
}

#[cfg(test)]
mod tests {
    use ipcost_model::{Estimate, Options};

    use super::*;
    use crate::fixture;

    #[test]
    fn what_a_pause_costs_is_told_part_by_part_as_far_as_it_is_known() {
        let mut document = fixture::document();
        let mut cell = document.cells[0].clone();
        let mut options = Options::default();
        options.set("pollute", ipcost_model::OptionValue::Int(1 << 20)).unwrap();
        options.set("think", ipcost_model::OptionValue::Int(0)).unwrap();
        document.cells[1].point.cell.options = options;
        let control = document.cells[1].id.clone();
        let part = |cause, median, lo, hi| PausePart {
            cell: cell.id.clone(),
            cause,
            ns: Estimate { median, lo, hi },
            control: control.clone(),
        };
        document.pause_parts = vec![
            part(PauseCause::Whole, 88_000.0, Some(80_000.0), Some(96_000.0)),
            part(PauseCause::IdleStates, 61_000.0, Some(52_000.0), Some(70_000.0)),
            part(PauseCause::Caches, 4_000.0, Some(-1_000.0), Some(9_000.0)),
        ];
        assert_eq!(
            parts(&document, &cell).unwrap(),
            "The pause adds 88.0 µs. Waking idle processors: 61.0 µs (52.0 µs to 70.0 µs). Cold caches, as after 1 MiB of other data: \
             open, 4.00 µs (−1.00 µs to 9.00 µs). The rest, such as the processor's frequency, is not separated."
        );
        document.pause_parts[0].ns.lo = Some(-1_000.0);
        assert_eq!(parts(&document, &cell), None, "nothing is divided that may not be there");
        cell.id.push_str("/other");
        assert_eq!(parts(&document, &cell), None);
    }
}
