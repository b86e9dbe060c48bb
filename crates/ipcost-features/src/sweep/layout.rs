//! What the place of a receive buffer within a page costs.

use ipcost_lab::LabError;
use ipcost_model::units::{counted, size_text};
use ipcost_model::{
    CellRecord, Document, Estimate, Job, LatencyMode, Matrix, OptionLists, OptionName, OptionValue,
    PAGE_BYTES, Size,
};
use ipcost_report::page::{Column, Field, Figure, Frame, Page, Paragraph, Table, Tone, Value};
use ipcost_report::picture::{self, Chart};
use ipcost_stats::median;

use super::page::operation;
use super::{LayoutRequest, LayoutSweep};

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

/// The page of `sweep layout`: costs by place, a row each, and which places are slow.
pub fn page_of_layout<'a>(sweep: &'a LayoutSweep, document: &'a Document) -> Page<'a> {
    let LayoutSweep { request, .. } = sweep;
    let mut columns = vec![Column::number("receive buffer at")];
    columns.extend(request.transports.iter().flat_map(|transport| {
        [
            Column::number("").titled(transport.clone()),
            Column::number("").titled(format!("{transport} × median")).dropped(1),
        ]
    }));
    let by_transport: Vec<TransportPlaces> = request
        .transports
        .iter()
        .map(|transport| TransportPlaces::of(document, transport, &request.recv_offsets))
        .collect();
    let row = |(index, recv_offset): (usize, &u64)| {
        let fields = by_transport.iter().flat_map(|places| {
            let cost = places.costs[index].map(|cost| cost.median);
            let times = cost.zip(places.usual()).map(|(cost, usual)| Value::Ratio(cost / usual.median));
            let tone = match places.speed(index) {
                Speed::Slow => Tone::Strong,
                Speed::Usual => Tone::Quiet,
                Speed::Open => Tone::Open,
            };
            [Field::maybe(cost.map(Value::Cost)), Field::maybe(times).toned(tone)]
        });
        std::iter::once(Value::Count(*recv_offset).into()).chain(fields).collect()
    };
    let mut page = Page::new(format!(
        "What the place of the receive buffer costs: {} of {}, send buffer at {} of {PAGE_BYTES}",
        operation(request.pattern),
        size_text(request.size),
        request.send_offset
    ));
    let figure = Figure::new("", move |frame| match frame {
        Frame::Page => picture::plain(document, Chart::Layout),
        Frame::File(background) => picture::draw(document, Chart::Layout, background),
    });
    page.blocks.push(figure.into());
    page.blocks.push(Table::new(&columns).rows(request.recv_offsets.iter().enumerate().map(row)).into());
    let sentences = request.transports.iter().zip(&by_transport);
    page.answer = sentences
        .map(|(transport, places)| Paragraph::plain(places.sentence(transport, &request.recv_offsets)).into())
        .collect();
    page
}

/// What a transport costs at each place. One is slow if it costs more than the median place by over the margin.
struct TransportPlaces {
    margin: f64,
    costs: Vec<Option<Estimate>>,
}

/// How a place compares with the transport's median place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Speed {
    /// It is known to be slow.
    Slow,
    /// It is known not to be slow.
    Usual,
    /// Neither is known.
    Open,
}

impl TransportPlaces {
    fn of(document: &Document, transport: &str, recv_offsets: &[u64]) -> Self {
        let cost = |recv_offset: &u64| {
            let is_it = |cell: &&CellRecord| {
                cell.transport == transport && cell.options.offset("recv_offset") == Some(*recv_offset)
            };
            document.cells.iter().find(is_it)?.wall_ns_per_op
        };
        Self { margin: document.analysis.margin, costs: recv_offsets.iter().map(cost).collect() }
    }

    /// The cost of the median place. If every interval holds, so does this one: a median grows with each of its values.
    fn usual(&self) -> Option<Estimate> {
        let of = |value: fn(&Estimate) -> f64| {
            median(&self.costs.iter().flatten().map(value).collect::<Vec<f64>>())
        };
        let lo = of(|cost| cost.lo.unwrap_or(0.0))?;
        let hi = of(|cost| cost.hi.unwrap_or(f64::INFINITY))?;
        Some(Estimate { median: of(|cost| cost.median)?, lo: Some(lo), hi: Some(hi) })
    }

    fn speed(&self, index: usize) -> Speed {
        let Some((cost, usual)) = self.costs[index].zip(self.usual()) else { return Speed::Open };
        let above = |bound: Option<f64>, other: Option<f64>| {
            bound.zip(other).map(|(bound, other)| bound > (1.0 + self.margin) * other)
        };
        match (above(cost.lo, usual.hi), above(cost.hi, usual.lo)) {
            (Some(true), _) => Speed::Slow,
            (_, Some(false)) => Speed::Usual,
            _ => Speed::Open,
        }
    }

    /// Which places are slow, and how many may be.
    fn sentence(&self, transport: &str, recv_offsets: &[u64]) -> String {
        if self.usual().is_none() {
            return format!("{transport} was not measured.");
        }
        let of = |speed: Speed| {
            let is = move |(index, _): &(usize, &u64)| self.speed(*index) == speed;
            recv_offsets.iter().enumerate().filter(is).map(|(_, offset)| offset.to_string())
        };
        let (slow, open) = (of(Speed::Slow).collect::<Vec<String>>(), of(Speed::Open).count());
        let all = counted(recv_offsets.len() as u64, "place");
        let are = |count: usize| if count == 1 { "is" } else { "are" };
        let more = format!("over {} more than the median place", Value::Share(self.margin).text());
        let known = match (slow.len(), open) {
            (0, 0) => return format!("Over {transport} no place costs {more}."),
            (0, _) => format!("Over {transport} no place is known to cost {more}"),
            (slow, _) => format!("Over {transport} {slow} of {all} {} known to cost {more}", are(slow)),
        };
        let which = if slow.is_empty() { String::new() } else { format!(": {}", slow.join(", ")) };
        match open {
            0 => format!("{known}{which}."),
            open => format!("{known}{which}. Of {all}, {open} {} open; give a larger --budget.", are(open)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sentence(costs: &[(f64, f64, f64)]) -> String {
        let cost = |(lo, median, hi): &(f64, f64, f64)| {
            Some(Estimate { median: *median, lo: Some(*lo), hi: Some(*hi) })
        };
        let places = TransportPlaces { margin: 0.05, costs: costs.iter().map(cost).collect() };
        places.sentence("unix", &(0..costs.len() as u64).map(|place| place * 16).collect::<Vec<u64>>())
    }

    #[test]
    fn only_what_is_known_is_counted_as_slow() {
        let narrow = (9.9, 10.0, 10.1);
        assert_eq!(sentence(&[narrow; 3]), "Over unix no place costs over 5 % more than the median place.");
        assert_eq!(
            sentence(&[narrow, narrow, (14.0, 15.0, 16.0)]),
            "Over unix 1 of 3 places is known to cost over 5 % more than the median place: 32."
        );
        // The estimates alone would call one of them slow.
        assert_eq!(
            sentence(&[(2.9, 10.0, 12.6), (2.9, 6.0, 12.6), (2.9, 6.0, 12.6)]),
            "Over unix no place is known to cost over 5 % more than the median place. Of 3 places, 3 are open; give a larger --budget."
        );
        let unmeasured = TransportPlaces { margin: 0.05, costs: vec![None, None] };
        assert_eq!(unmeasured.sentence("unix", &[0, 16]), "unix was not measured.");
    }
}
