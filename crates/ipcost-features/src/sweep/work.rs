//! From how much work of the server on a transport stops mattering.

use ipcost_model::units::percent;
use ipcost_model::{CellRecord, ContrastRecord, Document, Metric, Verdict};
use ipcost_report::numbers::exact_time;
use ipcost_report::page::{Column, Field, FieldValue, Page, Paragraph, Table, Tone};
use ipcost_report::words::{cores, verdict_of};

use super::OptionRequest;
use super::page::operation;

pub(super) fn amount(work_ns: u64) -> String {
    if work_ns == 0 { "none".to_owned() } else { exact_time(work_ns) }
}

/// What was measured under an amount of work.
struct WorkAmount<'a> {
    work_ns: u64,
    cells: [Option<&'a CellRecord>; 2],
    /// The ratio of both.
    contrast: Option<&'a ContrastRecord>,
}

impl<'a> WorkAmount<'a> {
    fn of(document: &'a Document, request: &OptionRequest, [a, b]: [&str; 2], work_ns: u64) -> Self {
        let cells = [a, b].map(|transport| request.cell(document, transport, work_ns));
        let contrast = cells[0].and_then(|a| document.contrast(Metric::Wall, &a.id));
        let contrast = contrast.filter(|known| cells[1].is_some_and(|b| known.b == b.id));
        Self { work_ns, cells, contrast }
    }

    fn is(&self, verdict: Verdict) -> bool {
        self.contrast.is_some_and(|known| {
            known.verdict == verdict && (known.is_same() || verdict != Verdict::Equivalent)
        })
    }

    fn row(&self, margin: f64) -> Vec<Field> {
        let cost = |cell: Option<&CellRecord>| {
            Field::maybe(cell.and_then(|cell| cell.wall_ns_per_op).map(|cost| FieldValue::Cost(cost.median)))
        };
        let [a, b] = self.cells.map(cost);
        let mut row = vec![FieldValue::Duration(self.work_ns).into(), a, b];
        if let Some(known) = self.contrast {
            row.push(FieldValue::Ratio(known.ratio).into());
            row.push(FieldValue::Interval(known.ratio, known.lo, known.hi).into());
            row.push(Field::from(verdict_of(known, margin)).toned(tone(known)));
        }
        row
    }
}

fn tone(known: &ContrastRecord) -> Tone {
    match known.verdict {
        Verdict::Equivalent => Tone::Plain,
        Verdict::Undecided => Tone::Open,
        Verdict::Different | Verdict::Direction if known.ratio < 1.0 => Tone::Good,
        Verdict::Different | Verdict::Direction => Tone::Bad,
    }
}

/// The page of `sweep work`: a row for each amount of work; then from which on the difference is below the margin.
pub(super) fn page<'a>(request: &'a OptionRequest, document: &'a Document) -> Page<'a> {
    let [a, b] = [0, 1].map(|index| request.transports.get(index).map_or("", String::as_str));
    let mut amounts: Vec<WorkAmount<'_>> =
        request.values.iter().map(|work_ns| WorkAmount::of(document, request, [a, b], *work_ns)).collect();
    let columns = [
        Column::number("work"),
        Column::number("").titled(a.to_owned()).dropped(2),
        Column::number("").titled(b.to_owned()).dropped(1),
        Column::number("").titled(format!("{a} / {b}")),
        Column::text("interval"),
        Column::text("verdict"),
    ];
    let places: Vec<_> = request.placements.iter().copied().map(cores).collect();
    let mut page = Page::new(format!(
        "{a} against {b}: {} of {} B on {}, by how long the server works",
        operation(request.pattern),
        request.size,
        places.join(" and ")
    ));
    let rows = amounts.iter().map(|amount| amount.row(request.margin));
    page.blocks.push(Table::new(&columns).rows(rows).into());
    amounts.sort_unstable_by_key(|amount| amount.work_ns);
    page.answer.push(Paragraph::plain(sentence(&amounts, request.margin)).into());
    page
}

/// From which of the ascending amounts on it is known to make no difference, and up to which it is known to make one.
fn sentence(amounts: &[WorkAmount<'_>], margin: f64) -> String {
    let until = amounts.iter().rfind(|amount| amount.is(Verdict::Different)).map(|amount| amount.work_ns);
    let same = amounts.iter().find(|amount| amount.is(Verdict::Equivalent)).map(|amount| amount.work_ns);
    let from = same.filter(|from| until.is_none_or(|until| until < *from));
    let margin = percent(margin);
    match (until, from) {
        (Some(0), Some(from)) => {
            format!(
                "The transport matters if the server does no work; from {} of work on the difference is below {margin}.",
                amount(from)
            )
        }
        (Some(until), Some(from)) => format!(
            "The transport still matters at {} of work; from {} on the difference is below {margin}.",
            amount(until),
            amount(from)
        ),
        (None, Some(from)) => {
            format!("From {} of work on, or earlier, the difference is below {margin}.", amount(from))
        }
        (Some(0), None) => {
            "The transport still matters if the server does no work. Longer work is undecided; give a larger --budget, or more --work values.".to_owned()
        }
        (Some(until), None) => format!(
            "The transport still matters at {} of work. Longer work is undecided; give a larger --budget, or more --work values.",
            amount(until)
        ),
        (None, None) => "Nothing is decided yet; give a larger --budget.".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use ipcost_model::Estimate;

    use super::*;
    use crate::sweep::option::tests::request;
    use crate::sweep::{Over, option_job};

    #[test]
    fn amounts_that_round_to_the_same_figure_have_their_own_cells() {
        let request = request(Over::Work, &["unix", "tcp"], &[1_000_000, 1_001_000]);
        let mut document = ipcost_report::fixture::document();
        let cells = ipcost_lab::lab::cells_anywhere(&option_job(&request).unwrap(), &[]).unwrap().cells;
        let (record, contrast) = (document.cells[0].clone(), document.contrasts[0].clone());
        document.cells = Vec::new();
        for (cell, ns) in cells.iter().zip([1e6, 2e6, 3e6, 4e6]) {
            document.cells.push(CellRecord {
                id: cell.id.clone(),
                label: "of any name".to_owned(),
                point: cell.point.clone(),
                wall_ns_per_op: Some(Estimate { median: ns, lo: None, hi: None }),
                ..record.clone()
            });
        }
        document.contrasts = [(0, 0.5), (2, 0.75)]
            .map(|(first, ratio)| ContrastRecord {
                a: cells[first].id.clone(),
                b: cells[first + 1].id.clone(),
                metric: Metric::Wall,
                ratio,
                ..contrast.clone()
            })
            .to_vec();
        let csv = page(&request, &document).csv();
        let rows: Vec<&str> = csv.lines().skip(1).collect();
        assert!(rows[0].starts_with("1000000,1000000.0,2000000.0,0.5,"), "{csv}");
        assert!(rows[1].starts_with("1001000,3000000.0,4000000.0,0.75,"), "{csv}");
        let shown = page(&request, &document).terminal(true, 80);
        assert!(shown.contains("1.001 ms") && shown.contains("1 ms"), "{shown}");
    }
}
