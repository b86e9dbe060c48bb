//! What the place of a receive buffer within a page costs.

use ipcost_model::units::{counted, size_text};
use ipcost_model::{Document, Estimate, PAGE_BYTES};
use ipcost_report::page::{Column, Field, FieldValue, Page, Paragraph, Table, Tone};
use ipcost_report::picture::Chart;
use ipcost_report::run_page;
use ipcost_stats::median;

use super::OptionRequest;
use super::page::operation;

/// The page of `sweep layout`: costs by place, a row each, and which places are slow.
pub(super) fn page<'a>(request: &'a OptionRequest, send_offset: u64, document: &'a Document) -> Page<'a> {
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
        .map(|transport| TransportPlaces::of(document, request, transport))
        .collect();
    let row = |(index, recv_offset): (usize, &u64)| {
        let fields = by_transport.iter().flat_map(|places| {
            let cost = places.costs[index].map(|cost| cost.median);
            let times = cost.zip(places.usual()).map(|(cost, usual)| FieldValue::Ratio(cost / usual.median));
            let tone = match places.is_slow(index) {
                Some(true) => Tone::Strong,
                Some(false) => Tone::Quiet,
                None => Tone::Open,
            };
            [Field::maybe(cost.map(FieldValue::Cost)), Field::maybe(times).toned(tone)]
        });
        std::iter::once(FieldValue::Count(*recv_offset).into()).chain(fields).collect()
    };
    let mut page = Page::new(format!(
        "Cost by offset of the receive buffer: {} of {}, send buffer at {send_offset} of {PAGE_BYTES}",
        operation(request.pattern),
        size_text(request.size)
    ));
    page.blocks.push(run_page::chart(document, Chart::Layout, "").into());
    page.blocks.push(Table::new(&columns).rows(request.values.iter().enumerate().map(row)).into());
    let sentences = request.transports.iter().zip(&by_transport);
    page.answer = sentences
        .map(|(transport, places)| Paragraph::plain(places.sentence(transport, &request.values)).into())
        .collect();
    page
}

/// What a transport costs at each place. One is slow if it costs more than the median place by over the margin.
struct TransportPlaces {
    margin: f64,
    costs: Vec<Option<Estimate>>,
}

impl TransportPlaces {
    fn of(document: &Document, request: &OptionRequest, transport: &str) -> Self {
        let cost = |recv_offset: &u64| request.cell(document, transport, *recv_offset)?.wall_ns_per_op;
        Self { margin: document.analysis.margin, costs: request.values.iter().map(cost).collect() }
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

    /// Whether a place is known to be slow, or known not to be; `None` if neither is known.
    fn is_slow(&self, index: usize) -> Option<bool> {
        let (cost, usual) = self.costs[index].zip(self.usual())?;
        let above = |bound: Option<f64>, other: Option<f64>| Some(bound? > (1.0 + self.margin) * other?);
        match (above(cost.lo, usual.hi), above(cost.hi, usual.lo)) {
            (Some(true), _) => Some(true),
            (_, Some(false)) => Some(false),
            _ => None,
        }
    }

    /// Which places are slow, and how many may be.
    fn sentence(&self, transport: &str, recv_offsets: &[u64]) -> String {
        if self.usual().is_none() {
            return format!("{transport} was not measured.");
        }
        let of = |known: Option<bool>| {
            let is = move |(index, _): &(usize, &u64)| self.is_slow(*index) == known;
            recv_offsets.iter().enumerate().filter(is).map(|(_, offset)| offset.to_string())
        };
        let (slow, open) = (of(Some(true)).collect::<Vec<String>>(), of(None).count());
        let all = counted(recv_offsets.len() as u64, "place");
        let are = |count: usize| if count == 1 { "is" } else { "are" };
        let more = format!("over {} more than the median place", FieldValue::Share(self.margin).text());
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
