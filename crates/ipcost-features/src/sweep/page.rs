//! Sweeps over sizes, and over where two processes run, as pages.

use ipcost_model::units::{duration_of, duration_text, size_text};
use ipcost_model::{CellRecord, Document, Pattern, Verdict};
use ipcost_report::page::{Block, Column, Field, FieldValue, Page, Paragraph, Table, Tone};
use ipcost_report::words::{self, SAME_IN_MEDIAN};

use super::{CoreSweep, Crossing, PairOfProcessors, SizeSweep, SweepPoint};

pub fn page_of_sizes<'a>(sweep: &'a SizeSweep, document: &'a Document) -> Page<'a> {
    let SizeSweep { a, b, .. } = sweep;
    let mut page = Page::new(format!("{a} against {b}: {}, by size", operation(sweep.pattern)));
    let columns = [
        Column::number("size"),
        Column::number("").titled(a.clone()).dropped(2),
        Column::number("").titled(b.clone()).dropped(1),
        Column::number("").titled(format!("{a} / {b}")),
        Column::text("interval"),
        Column::text("cheaper"),
    ];
    page.blocks.push(Table::new(&columns).rows(sweep.points.iter().map(|point| row(sweep, point))).into());
    page.answer = sentences(sweep).into_iter().map(|said| Paragraph::plain(said).into()).collect();
    let took = duration_text(duration_of(sweep.elapsed_s));
    let how = format!(
        "{} sizes in {took}; in {:.0} % of such sweeps every interval is right (for up to {} sizes); seed {}",
        sweep.points.len(),
        (1.0 - document.analysis.alpha) * 100.0,
        sweep.family,
        document.seed
    );
    page.notes.push(Paragraph::quiet(how).into());
    page
}

pub(crate) fn operation(pattern: Pattern) -> &'static str {
    match pattern {
        Pattern::Rr => "a round trip",
        Pattern::Stream => "a message of a stream",
        Pattern::Connect => "a connection",
        Pattern::Floor => "a part of a hop",
    }
}

fn row(sweep: &SizeSweep, point: &SweepPoint) -> Vec<Field> {
    let (word, tone) = match (point.verdict, point.a_is_cheaper()) {
        (Verdict::Equivalent, _) if point.is_same() => ("same", Tone::Open),
        (Verdict::Equivalent, _) => (SAME_IN_MEDIAN, Tone::Open),
        (_, Some(true)) => (sweep.a.as_str(), Tone::Good),
        (_, Some(false)) => (sweep.b.as_str(), Tone::Caution),
        (_, None) => ("open", Tone::Open),
    };
    vec![
        FieldValue::Size(point.size).into(),
        FieldValue::Cost(point.a_ns).into(),
        FieldValue::Cost(point.b_ns).into(),
        FieldValue::Ratio(point.ratio).into(),
        FieldValue::Interval(point.ratio, point.lo, point.hi).into(),
        Field::from(word).toned(tone),
    ]
}

/// What the sweep found, in plain words.
fn sentences(sweep: &SizeSweep) -> Vec<String> {
    let SizeSweep { a, b, .. } = sweep;
    let mut found: Vec<String> = sweep.crossings.iter().map(|crossing| sentence(sweep, crossing)).collect();
    if found.is_empty() {
        let mut known: Vec<bool> = sweep.points.iter().filter_map(SweepPoint::a_is_cheaper).collect();
        known.dedup();
        let range = match (sweep.points.first(), sweep.points.last()) {
            (Some(first), Some(last)) => {
                format!("from {} to {}", size_text(first.size), size_text(last.size))
            }
            _ => "at no size".to_owned(),
        };
        found.push(match known.first() {
            Some(a_is_cheaper) => {
                let cheaper = if *a_is_cheaper { a } else { b };
                format!("No crossing {range}: {cheaper} is cheaper at every size that is decided.")
            }
            None => format!("Which of {a} and {b} is cheaper {range} is open; give a larger --budget."),
        });
    }
    if sweep.out_of_budget {
        found.push("The budget ended before the range was as small as asked for (--resolution); a larger --budget narrows it.".to_owned());
    }
    found
}

fn sentence(sweep: &SizeSweep, crossing: &Crossing) -> String {
    let (below, above) = if crossing.a_cheaper_below { (&sweep.a, &sweep.b) } else { (&sweep.b, &sweep.a) };
    format!(
        "{below} is cheaper up to {}, {above} from {} on: they cross in between.",
        size_text(crossing.from),
        size_text(crossing.to)
    )
}

/// The page of `sweep cores`: a row a transport and workload, a column for each relation.
pub fn page_of_cores<'a>(sweep: &'a CoreSweep, document: &'a Document) -> Page<'a> {
    let CoreSweep { relations, .. } = sweep;
    let of_relations = relations.iter().map(|pair| Column::number("").titled(pair.relation.clone()));
    let columns: Vec<Column> = std::iter::once(Column::text("")).chain(of_relations).collect();
    let mut table = Table::new(&columns);
    for workload in &document.workloads {
        let cells: Vec<&CellRecord> =
            workload.cells.iter().filter_map(|id| words::cell(document, id)).collect();
        let mut transports: Vec<&str> = Vec::new();
        for cell in &cells {
            if !transports.contains(&cell.transport.as_str()) {
                transports.push(&cell.transport);
            }
        }
        table.rows.extend(transports.into_iter().map(|transport| {
            let cost = |pair: &PairOfProcessors| {
                let is_it = |cell: &&&CellRecord| {
                    cell.transport == transport
                        && cell.options.client_cpu() == Some(pair.client_cpu)
                        && cell.options.server_cpu() == Some(pair.server_cpu)
                };
                let found = cells.iter().find(is_it).and_then(|cell| cell.wall_ns_per_op);
                Field::maybe(found.map(|cost| FieldValue::Cost(cost.median)))
            };
            let name = FieldValue::Name(format!("{}, {transport}", words::workload(workload)));
            std::iter::once(name.into()).chain(relations.iter().map(cost)).collect()
        }));
    }
    let mut page = Page::new("Cost by core placement");
    page.blocks.push(Block::Table(table));
    page
}
