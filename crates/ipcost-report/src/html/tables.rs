//! The tables: the same columns and the same texts as on the terminal, with the exact values to sort by.

use std::io::{self, Write};

use ipcost_model::{CellRecord, Document, Metric, Pattern, WorkloadRecord};

use super::{Colours, text};
use crate::rows::{self, Figures, Row, Standing};
use crate::words::{self, capitalised};

/// How many rows of a table are shown at once; the style counts the same way.
const MOST_ROWS: usize = 300;

/// Writes a table for each workload.
pub fn write(document: &Document, colours: &Colours<'_>, to: &mut dyn Write) -> io::Result<()> {
    to.write_all(
        b"<section id=\"tables\" aria-labelledby=\"tables-title\">\n<h2 id=\"tables-title\">Tables</h2>\n",
    )?;
    for (index, workload) in document.workloads.iter().enumerate() {
        to.write_all(table(document, workload, index, colours).as_bytes())?;
    }
    to.write_all(b"</section>\n")
}

fn table(document: &Document, workload: &WorkloadRecord, index: usize, colours: &Colours<'_>) -> String {
    let (rate, ratio) = rows::titles(document, workload);
    let count = workload.cells.len();
    let shape = Shape::of(document, workload);
    let whole = match count > MOST_ROWS {
        // A browser takes seconds to lay out thousands of rows; the style shows the first ones until asked for all.
        true => format!(
            "<label class=\"whole\"><input type=\"checkbox\" autocomplete=\"off\"> show all {count} rows</label>"
        ),
        false => String::new(),
    };
    let mut out = format!(
        "<div class=\"table\"><h3 id=\"workload-{index}\">{}</h3>\n{whole}<div class=\"scroll\"><table class=\"cells\" aria-labelledby=\"workload-{index}\">\n<thead><tr><th>transport</th>",
        text(&capitalised(&words::workload(workload)))
    );
    let floor = shape.floors.then_some("× floor");
    let compared = ratio.iter().flat_map(|ratio| [ratio.as_str(), "interval"]);
    let titles = ["cost", &rate, "CPU/op", "p50", "p99"].into_iter().chain(floor).chain(compared);
    for title in titles {
        out.push_str(&format!("<th class=\"number\">{}</th>", text(title)));
    }
    out.push_str(if shape.compared { "<th>verdict</th></tr></thead>\n" } else { "</tr></thead>\n" });
    for row in rows::rows(document, workload) {
        out.push_str(&group(document, &row, colours, shape));
    }
    out.push_str("</table></div></div>\n");
    out
}

/// Which columns a table has beside those of every table.
#[derive(Debug, Clone, Copy)]
struct Shape {
    /// A cell has a floor.
    floors: bool,
    /// Cells are compared with a baseline.
    compared: bool,
}

impl Shape {
    fn of(document: &Document, workload: &WorkloadRecord) -> Self {
        let mut cells = workload.cells.iter().filter_map(|id| words::cell(document, id));
        let floors = cells.any(|cell| cell.floor.is_some());
        Self { floors, compared: rows::titles(document, workload).1.is_some() }
    }

    /// How many columns there are beside the name.
    fn columns(self) -> usize {
        5 + usize::from(self.floors) + if self.compared { 3 } else { 0 }
    }
}

/// A cell, with its modes: rows that stay together.
fn group(document: &Document, row: &Row<'_>, colours: &Colours<'_>, shape: Shape) -> String {
    let cell = row.cell;
    let name = text(&row.name);
    let head = format!(
        "<td class=\"name\" data-words data-value=\"{name}\" title=\"{}\"><span class=\"dot {}\"></span>{name}</td>",
        text(&cell.id),
        colours.class(&cell.transport)
    );
    let Some(figures) = &row.figures else {
        let why = match (&cell.reason, cell.available) {
            (_, true) => "not measured".to_owned(),
            (Some(reason), false) => format!("unavailable: {reason}"),
            (None, false) => "unavailable".to_owned(),
        };
        return format!(
            "<tbody><tr class=\"absent\">{head}<td class=\"reason\" colspan=\"{}\">{}</td></tr></tbody>\n",
            shape.columns(),
            text(&why)
        );
    };
    let class = if row.cheapest { " class=\"first\"" } else { "" };
    let mut out = format!("<tbody><tr{class}>{head}{}</tr>", columns(document, cell, figures, shape));
    for (share, cost) in &figures.beneath {
        out.push_str(&format!(
            "<tr class=\"mode\"><td>{}</td><td class=\"number\">{}</td><td colspan=\"{}\"></td></tr>",
            text(share),
            text(cost),
            shape.columns() - 1
        ));
    }
    out.push_str("</tbody>\n");
    out
}

fn columns(document: &Document, cell: &CellRecord, figures: &Figures, shape: Shape) -> String {
    let contrast =
        words::contrast(document, Metric::Wall, &cell.id).filter(|_| figures.standing != Standing::Baseline);
    let ratio = contrast.map(|contrast| contrast.ratio);
    let ratio = if figures.standing == Standing::Baseline { Some(1.0) } else { ratio };
    let latency = cell.latency_ns.as_ref();
    let in_bytes = match cell.pattern {
        Pattern::Stream => true,
        Pattern::Floor => cell.size > 0,
        _ => false,
    };
    let rate = if in_bytes { cell.bytes_per_s } else { cell.ops_per_s };
    let floor = (&figures.floor, cell.floor.as_ref().map(|floor| floor.multiple.median));
    let floor = shape.floors.then_some(floor);
    let first = [
        (&figures.cost, cell.wall_ns_per_op.map(|cost| cost.median)),
        (&figures.rate, rate),
        (&figures.cpu, cell.cpu_ns_per_op.map(|cost| cost.median)),
        (&figures.p50, latency.map(|summary| summary.p50 as f64)),
        (&figures.p99, latency.map(|summary| summary.p99 as f64)),
    ];
    let width = contrast.and_then(|contrast| Some(contrast.hi? - contrast.lo?));
    let last = shape.compared.then_some([(&figures.ratio, ratio), (&figures.bounds, width)]);
    let mut out: String = first
        .into_iter()
        .chain(floor)
        .chain(last.into_iter().flatten())
        .map(|(shown, value)| {
            let value = value.map_or_else(String::new, |value| format!(" data-value=\"{value}\""));
            format!("<td class=\"number\"{value}>{}</td>", text(shown))
        })
        .collect();
    if !shape.compared {
        return out;
    }
    let class = match figures.standing {
        Standing::Baseline => "baseline",
        Standing::Cheaper => "cheaper",
        Standing::Dearer => "dearer",
        Standing::Open => "open",
        Standing::Equal | Standing::Alone => "",
    };
    let verdict = text(&figures.verdict);
    out.push_str(&format!("<td class=\"{class}\" data-words data-value=\"{verdict}\">{verdict}</td>"));
    out
}
