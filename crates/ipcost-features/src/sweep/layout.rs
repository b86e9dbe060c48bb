//! What the place of a receive buffer within a page costs.

use anstyle::Style;
use ipcost_lab::LabError;
use ipcost_model::units::size_text;
use ipcost_model::{
    CellRecord, Document, Job, LatencyMode, Matrix, OptionLists, OptionName, OptionValue, PAGE_BYTES, Size,
};
use ipcost_report::grid::{Column, Grid, Piece};
use ipcost_report::numbers::{ratio, time};
use ipcost_report::words::escaped;
use ipcost_report::wrap::wrapped;
use ipcost_stats::median;

use super::words::operation;
use super::{LayoutRequest, LayoutSweep};

const BOLD: Style = Style::new().bold();
const DIMMED: Style = Style::new().dimmed();
/// A place is slow if it costs so much more than the transport's median place.
const SLOW: f64 = 1.05;

/// A cell for every transport and place.
///
/// # Errors
/// A place that is not within a page, or fewer than two.
pub fn layout_job(request: &LayoutRequest) -> Result<Job, LabError> {
    if request.recv_offsets.len() < 2 {
        let reason = "one place compares with nothing; give --recv-offsets at least two, such as 0,16";
        return Err(LabError::Refused(reason.to_owned()));
    }
    let mut cells = Vec::new();
    for recv_offset in &request.recv_offsets {
        let mut options = OptionLists::default();
        for (name, bytes) in [("send_offset", request.send_offset), ("recv_offset", *recv_offset)] {
            let name = OptionName::find(name).map_err(LabError::Refused)?;
            let value = name.spec().check(OptionValue::Int(bytes)).map_err(LabError::Refused)?;
            options.0.entry(name).or_default().push(value);
        }
        for transport in &request.transports {
            cells.push(Matrix {
                label: Some(label(transport, *recv_offset)),
                pattern: vec![request.pattern].into(),
                transport: vec![transport.clone()].into(),
                size: vec![Size(request.size)].into(),
                placement: vec![request.placement].into(),
                client: vec![request.peer.clone()].into(),
                server: vec![request.peer.clone()].into(),
                options: options.clone(),
                ..Matrix::default()
            });
        }
    }
    let first = request.transports.first().map(|transport| label(transport, request.recv_offsets[0]));
    Ok(Job {
        cells,
        baseline: first,
        budget: request.budget,
        epochs: request.epochs,
        seed: request.seed,
        latency: Some(LatencyMode::Off),
        keep_all: true,
        ..Job::default()
    })
}

fn label(transport: &str, recv_offset: u64) -> String {
    format!("{transport}, {recv_offset}")
}

/// Costs by place, a row each, in `room` columns; then which places are slow.
pub(crate) fn layout_table(sweep: &LayoutSweep, room: usize) -> String {
    let LayoutSweep { document, request, .. } = sweep;
    let mut columns = vec![Column::new("receive buffer at", true, 0)];
    columns
        .extend(request.transports.iter().flat_map(|_| [Column::new("", true, 0), Column::new("", true, 1)]));
    let mut grid = Grid::new(&columns);
    let usual: Vec<Option<f64>> =
        request.transports.iter().map(|transport| usual_ns(document, request, transport)).collect();
    for (index, transport) in request.transports.iter().enumerate() {
        grid.title(1 + 2 * index, escaped(transport));
        grid.title(2 + 2 * index, "× median".to_owned());
    }
    for recv_offset in &request.recv_offsets {
        let mut row: Vec<Piece> = vec![recv_offset.to_string().into()];
        for (transport, usual) in request.transports.iter().zip(&usual) {
            let cost = cost_ns(document, &label(transport, *recv_offset));
            row.push(cost.map_or_else(String::new, time).into());
            row.push(match cost.zip(*usual).map(|(cost, usual)| cost / usual) {
                Some(found) if found > SLOW => Piece::styled(ratio(found), BOLD),
                Some(found) => Piece::styled(ratio(found), DIMMED),
                None => String::new().into(),
            });
        }
        grid.row(row);
    }
    let what = operation(request.pattern);
    let mut out = format!(
        "{BOLD}What the place of the receive buffer costs: {what} of {}, send buffer at {} of {PAGE_BYTES}{BOLD:#}\n",
        size_text(request.size),
        request.send_offset
    );
    grid.render(&mut out, room);
    out.push('\n');
    for (transport, usual) in request.transports.iter().zip(usual) {
        out.push_str(&wrapped(&sentence(document, request, transport, usual), room));
        out.push('\n');
    }
    out
}

/// Which places of a transport are slow.
fn sentence(document: &Document, request: &LayoutRequest, transport: &str, usual: Option<f64>) -> String {
    let name = escaped(transport);
    let Some(usual) = usual else { return format!("{name} was not measured.") };
    let is_slow = |offset: &&u64| {
        cost_ns(document, &label(transport, **offset)).is_some_and(|cost| cost > SLOW * usual)
    };
    let slow: Vec<String> = request.recv_offsets.iter().filter(is_slow).map(u64::to_string).collect();
    if slow.is_empty() {
        return format!("Over {name} no place costs over 5 % more than the median place.");
    }
    format!(
        "Over {name} {} of {} places cost over 5 % more than the median place: {}.",
        slow.len(),
        request.recv_offsets.len(),
        slow.join(", ")
    )
}

/// The median over places of a transport's cost.
fn usual_ns(document: &Document, request: &LayoutRequest, transport: &str) -> Option<f64> {
    let costs =
        request.recv_offsets.iter().filter_map(|offset| cost_ns(document, &label(transport, *offset)));
    median(&costs.collect::<Vec<_>>())
}

fn cost_ns(document: &Document, label: &str) -> Option<f64> {
    let is_it = |cell: &&CellRecord| cell.label == label;
    Some(document.cells.iter().find(is_it)?.wall_ns_per_op?.median)
}
