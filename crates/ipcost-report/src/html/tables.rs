//! The tables: the same columns and the same texts as on the terminal, with the exact values to sort by. The same work on one
//! core and on two stands side by side.

use std::io::{self, Write};

use ipcost_model::{CellRecord, Document, Metric, Pattern, WorkloadRecord};

use super::{Colours, text};
use crate::rows::{self, CellRow, Figures, Standing, Under};
use crate::words::{self, capitalised};

/// How many rows of a table are shown at once; the style counts the same way.
const MOST_ROWS: usize = 300;

/// Writes a table for each workload, one for the same work on one core and on two.
pub fn write(document: &Document, colours: &Colours<'_>, to: &mut dyn Write) -> io::Result<()> {
    to.write_all(
        b"<section id=\"tables\" aria-labelledby=\"tables-title\">\n<h2 id=\"tables-title\">Tables</h2>\n",
    )?;
    for workloads in words::strata(document) {
        let beside = workloads.len() > 1;
        let sides: Vec<WorkloadColumns<'_>> =
            workloads.into_iter().map(|workload| WorkloadColumns::of(document, workload, beside)).collect();
        to.write_all(table(&sides, colours).as_bytes())?;
    }
    to.write_all(b"</section>\n")
}

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Column {
    Cost,
    Rate,
    Cpu,
    P50,
    P99,
    Floor,
    Ratio,
    Interval,
    Verdict,
}

/// A workload, and the columns that it fills.
struct WorkloadColumns<'a> {
    document: &'a Document,
    workload: &'a WorkloadRecord,
    /// Its place in the document.
    index: usize,
    columns: Vec<(Column, String)>,
}

impl<'a> WorkloadColumns<'a> {
    /// A workload alone, or beside another: there, what matters less gives way.
    fn of(document: &'a Document, workload: &'a WorkloadRecord, beside: bool) -> Self {
        let (rate, ratio) = rows::titles(document, workload);
        let mut cells = workload.cells.iter().filter_map(|id| words::cell(document, id));
        let floors = cells.any(|cell| cell.floor.is_some());
        let streams = workload.pattern == Pattern::Stream;
        let compared = ratio.is_some();
        let columns = [
            (Column::Cost, "cost".to_owned(), true),
            (Column::Rate, rate, !beside || streams),
            (Column::Cpu, "CPU/op".to_owned(), true),
            (Column::P50, "p50".to_owned(), !beside),
            (Column::P99, "p99".to_owned(), !(beside && streams)),
            (Column::Floor, "× floor".to_owned(), floors),
            (Column::Ratio, ratio.unwrap_or_default(), compared),
            (Column::Interval, "interval".to_owned(), compared),
            (Column::Verdict, "verdict".to_owned(), compared),
        ];
        let columns = columns.into_iter().filter(|(_, _, shown)| *shown);
        let columns = columns.map(|(column, title, _)| (column, title)).collect();
        let index = document.workloads.iter().position(|known| std::ptr::eq(known, workload));
        Self { document, workload, index: index.unwrap_or_default(), columns }
    }

    /// The element that names the workload.
    fn named(&self, element: &str, more: &str, words: &str) -> String {
        format!("<{element} id=\"workload-{}\"{more}>{}</{element}>", self.index, text(words))
    }

    /// What a row says in a column, with the value to sort by.
    fn field(&self, cell: &CellRecord, figures: &Figures, column: Column) -> (String, Option<f64>) {
        let contrast = words::contrast(self.document, Metric::Wall, &cell.id)
            .filter(|_| figures.standing != Standing::Baseline);
        let latency = cell.latency_ns.as_ref();
        let in_bytes = match cell.pattern {
            Pattern::Stream => true,
            Pattern::Floor => cell.size > 0,
            Pattern::Rr | Pattern::Connect => false,
        };
        let ratio = match figures.standing {
            Standing::Baseline => Some(1.0),
            _ => contrast.map(|contrast| contrast.ratio),
        };
        let (shown, value) = match column {
            Column::Cost => (&figures.cost, cell.wall_ns_per_op.map(|cost| cost.median)),
            Column::Rate => (&figures.rate, if in_bytes { cell.bytes_per_s } else { cell.ops_per_s }),
            Column::Cpu => (&figures.cpu, cell.cpu_ns_per_op.map(|cost| cost.median)),
            Column::P50 => (&figures.p50, latency.map(|summary| summary.p50 as f64)),
            Column::P99 => (&figures.p99, latency.map(|summary| summary.p99 as f64)),
            Column::Floor => (&figures.floor, cell.floor.as_ref().map(|floor| floor.multiple.median)),
            Column::Ratio => (&figures.ratio, ratio),
            Column::Interval => {
                (&figures.bounds, contrast.and_then(|contrast| Some(contrast.hi? - contrast.lo?)))
            }
            Column::Verdict => (&figures.verdict, None),
        };
        (text(shown), value)
    }

    /// The fields of a row; where there are no figures, why.
    fn fields(&self, row: &CellRow<'_>) -> String {
        let Some(figures) = &row.figures else {
            return format!(
                "<td class=\"reason start\" colspan=\"{}\">{}</td>",
                self.columns.len(),
                text(&row.why_missing())
            );
        };
        let strong = if row.cheapest { " first" } else { "" };
        let field = |(column, _): &(Column, String)| {
            let (shown, value) = self.field(row.cell, figures, *column);
            if *column == Column::Verdict {
                let class = class(figures.standing);
                return format!(
                    "<td class=\"{class}{strong}\" data-words data-value=\"{shown}\">{shown}</td>"
                );
            }
            let value = value.map_or_else(String::new, |value| format!(" data-value=\"{value}\""));
            let start = start(*column);
            format!("<td class=\"number{start}{strong}\"{value}>{shown}</td>")
        };
        self.columns.iter().map(field).collect()
    }
}

/// The class of the column with which a side begins.
fn start(column: Column) -> &'static str {
    if column == Column::Cost { " start" } else { "" }
}

fn class(standing: Standing) -> &'static str {
    match standing {
        Standing::Baseline => "baseline",
        Standing::Cheaper => "cheaper",
        Standing::Dearer => "dearer",
        Standing::Open => "open",
        Standing::Equal | Standing::NotCompared => "",
    }
}

fn table(sides: &[WorkloadColumns<'_>], colours: &Colours<'_>) -> String {
    let first = &sides[0];
    let (count, index) = (first.workload.cells.len(), first.index);
    let whole = match count > MOST_ROWS {
        // A browser takes seconds to lay out thousands of rows; the style shows the first ones until asked for all.
        true => format!(
            "<label class=\"whole\"><input type=\"checkbox\" autocomplete=\"off\"> show all {count} rows</label>"
        ),
        false => String::new(),
    };
    let (title, head, class) = match sides {
        [only] => {
            (only.named("h3", "", &capitalised(&words::workload(only.workload))), String::new(), "cells")
        }
        sides => {
            let title = text(&capitalised(&words::work(first.workload)));
            let cores = |side: &WorkloadColumns<'_>| {
                let more = format!(" colspan=\"{}\" scope=\"colgroup\"", side.columns.len());
                side.named("th", &more, &format!("on {}", words::cores(side.workload.placement)))
            };
            let head: String = sides.iter().map(cores).collect();
            (format!("<h3>{title}</h3>"), format!("<tr class=\"sides\"><td></td>{head}</tr>"), "cells beside")
        }
    };
    let mut out = format!(
        "<div class=\"table\">{title}\n{whole}<div class=\"scroll\"><table class=\"{class}\" aria-labelledby=\"workload-{index}\">\n<thead>{head}<tr><th>transport</th>",
    );
    for (column, title) in sides.iter().flat_map(|side| &side.columns) {
        let class = if *column == Column::Verdict { "" } else { "number" };
        out.push_str(&format!("<th class=\"{class}{}\">{}</th>", start(*column), text(title)));
    }
    out.push_str("</tr></thead>\n");
    let mut rows: Vec<_> = sides.iter().map(|side| rows::rows(side.document, side.workload)).collect();
    loop {
        let row: Vec<CellRow<'_>> = rows.iter_mut().filter_map(Iterator::next).collect();
        if row.len() < sides.len() {
            break;
        }
        out.push_str(&group(sides, &row, colours));
    }
    out.push_str("</table></div>");
    let tables: Vec<&WorkloadRecord> = sides.iter().map(|side| side.workload).collect();
    if let Some(paces) = words::paces(first.document, &tables) {
        out.push_str(&format!("<p class=\"pace\">{}</p>", text(&paces)));
    }
    out.push_str("</div>\n");
    out
}

/// A field of a line beneath a row.
fn under(line: &Under, column: Column) -> String {
    let shown = match column {
        Column::Cost => &line.cost,
        Column::Ratio => &line.ratio,
        Column::Interval => &line.bounds,
        Column::Verdict => return format!("<td>{}</td>", text(&line.verdict)),
        Column::Rate | Column::Cpu | Column::P50 | Column::P99 | Column::Floor => "",
    };
    format!("<td class=\"number{}\">{}</td>", start(column), text(shown))
}

/// A cell on every side, with what stands beneath: rows that stay together.
fn group(sides: &[WorkloadColumns<'_>], rows: &[CellRow<'_>], colours: &Colours<'_>) -> String {
    let name = text(&rows[0].name);
    let ids: Vec<&str> = rows.iter().map(|row| row.cell.id.as_str()).collect();
    let cheapest = rows.iter().any(|row| row.cheapest);
    let absent = rows.iter().all(|row| row.figures.is_none());
    let mut out = format!(
        "<tbody><tr{}><td class=\"name{}\" data-words data-value=\"{name}\" title=\"{}\"><span class=\"dot {}\"></span>{name}</td>",
        if absent { " class=\"absent\"" } else { "" },
        if cheapest { " first" } else { "" },
        text(&ids.join(", ")),
        colours.class(&rows[0].cell.transport)
    );
    sides.iter().zip(rows).for_each(|(side, row)| out.push_str(&side.fields(row)));
    out.push_str("</tr>");
    for (head, lines) in rows::beneath_each(rows) {
        out.push_str(&format!("<tr class=\"mode\"><td>{}</td>", text(head)));
        for (side, line) in sides.iter().zip(lines) {
            let line = line.cloned().unwrap_or_default();
            side.columns.iter().for_each(|(column, _)| out.push_str(&under(&line, *column)));
        }
        out.push_str("</tr>");
    }
    out.push_str("</tbody>\n");
    out
}
