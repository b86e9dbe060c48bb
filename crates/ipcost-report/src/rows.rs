//! A row of a table as text: the same in every rendering.

use ipcost_model::units::percent;
use ipcost_model::{
    CellRecord, ContrastRecord, Document, LayoutEffect, LayoutPlace, Metric, Pattern, Percentile, RanRecord,
    SpreadContrast, Verdict, WorkloadRecord,
};

use crate::numbers::{bounds, rate, ratio, throughput, time};
use crate::words::{self, RowNames};

/// The longest baseline that is named above a column.
const MOST_IN_TITLE: usize = 16;

/// What is known of a cell against its baseline, as a reader takes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It is what others are compared with.
    Baseline,
    /// Known to cost less.
    Cheaper,
    /// Known to cost more.
    Dearer,
    /// Known to cost the same within the margin.
    Equal,
    Open,
    NotCompared,
}

/// One cell of a table.
#[derive(Debug)]
pub struct CellRow<'a> {
    pub cell: &'a CellRecord,
    /// Its label, safe to be shown.
    pub name: String,
    /// Whether it is known to be the cheapest of its table.
    pub cheapest: bool,
    /// Its figures; `None` where it was not measured.
    pub figures: Option<Figures>,
}

/// The figures of a cell, each a text, empty where there is none.
#[derive(Debug)]
pub struct Figures {
    /// Elapsed time for one operation.
    pub cost: String,
    /// Operations or bytes a second.
    pub rate: String,
    /// Processor time for one operation.
    pub cpu: String,
    /// Softirq time of its cores for one operation.
    pub softirq: String,
    /// The median of latency.
    pub p50: String,
    /// The 99th percentile of latency.
    pub p99: String,
    /// The cost as a multiple of the floor.
    pub floor: String,
    /// The ratio to the baseline.
    pub ratio: String,
    /// Its interval, in parentheses.
    pub bounds: String,
    /// What is known of it.
    pub verdict: String,
    /// The same as a kind.
    pub standing: Standing,
    /// What stands beneath: two groups of epochs or of places and their costs, and what a burst costs beside its operations.
    pub beneath: Vec<Under>,
}

/// A line beneath a row.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Under {
    pub head: String,
    pub cost: String,
    /// The ratio to the baseline there, where there is one, and its interval.
    pub ratio: String,
    /// The interval, in parentheses.
    pub bounds: String,
    /// What is known of it.
    pub verdict: String,
}

/// The titles of the columns whose names depend on the table: the rate, and the ratio.
pub fn titles(document: &Document, table: &WorkloadRecord) -> (String, Option<String>) {
    let rate = match table.pattern {
        Pattern::Stream => "bytes/s",
        Pattern::Floor => "rate",
        Pattern::Rr | Pattern::Connect => "ops/s",
    };
    let baseline = table.baseline.as_deref().and_then(|id| words::cell(document, id));
    let ratio = baseline.map(|baseline| {
        let name = RowNames::of(document, table).shortened(&baseline.label);
        let short = name.chars().count() <= MOST_IN_TITLE;
        format!("× {}", if short { name } else { "baseline".to_owned() })
    });
    (rate.to_owned(), ratio)
}

/// The rows of a table, in its order.
pub fn rows<'a>(document: &'a Document, table: &'a WorkloadRecord) -> impl Iterator<Item = CellRow<'a>> {
    let names = RowNames::of(document, table);
    let winner = table.fastest.as_ref().filter(|fastest| fastest.claimed).map(|fastest| &fastest.cell);
    table.cells.iter().filter_map(|id| words::cell(document, id)).map(move |cell| CellRow {
        cell,
        name: names.shortened(&cell.label),
        cheapest: winner == Some(&cell.id),
        figures: figures(document, table, cell),
    })
}

/// What stands beneath a cell's row: where the scheduler put it, or, where that is not known, how often it cost how much.
pub fn beneath(document: &Document, cell: &CellRecord) -> Vec<Under> {
    let line = |head: String, cost: String| Under { head, cost, ..Under::default() };
    let modes = words::modes(cell).into_iter().zip(&cell.modes);
    let modes = modes.map(|(head, mode)| line(head, time(mode.wall_ns_per_op)));
    let against = words::contrast(document, Metric::Wall, &cell.id);
    let since = against.and_then(|known| known.since).map(|first| Under {
        head: "counted".to_owned(),
        verdict: format!("since epoch {first}"),
        ..Under::default()
    });
    let epochs = against.map_or(0, |known| known.epochs);
    let mean = against.and_then(words::other_mean).map(|mean| Under {
        head: "mean".to_owned(),
        cost: cell.wall_ns_per_op_mean.map(time).unwrap_or_default(),
        ratio: ratio(mean.ratio),
        bounds: bounds(mean.ratio, (mean.lo, mean.hi), None),
        verdict: words::verdict_of_mean(mean, epochs, document.analysis.margin),
    });
    let spread = against.and_then(|known| known.spread.as_ref()).and_then(varies);
    let within = against.map_or(&[][..], |known| &known.within);
    let ran = |(ran, share): (&RanRecord, f64)| {
        let own = line(
            format!("{}, {}", words::ran(ran.ran), percent(share)),
            ran.wall_ns_per_op.map(time).unwrap_or_default(),
        );
        match within.iter().find(|within| within.ran == ran.ran) {
            Some(found) => Under {
                ratio: ratio(found.ratio),
                bounds: bounds(found.ratio, (found.lo, found.hi), None),
                verdict: words::verdict(found.verdict, found.ratio, document.analysis.margin),
                ..own
            },
            None => own,
        }
    };
    // A round trip has no burst whose end could wait: there it is whatever comes once in a batch.
    let once = if cell.pattern == Pattern::Stream { "per burst" } else { "per batch" };
    let wait = cell.wait_ns.map(|wait_ns| line(once.to_owned(), format!("+ {}", time(wait_ns))));
    let places: Vec<Under> = words::shares(cell).into_iter().map(ran).collect();
    // Slow layouts explain what two modes only show.
    let layout = cell.layout.iter().flat_map(layout_lines);
    let modes = modes.filter(|_| places.is_empty() && cell.layout.is_none());
    let latency = latencies(document, cell, against);
    since
        .into_iter()
        .chain(mean)
        .chain(latency)
        .chain(spread)
        .chain(places.iter().cloned())
        .chain(layout)
        .chain(modes)
        .chain(wait)
        .collect()
}

/// The percentiles of a cell that keeps a pace, which are what it is measured for, against those of its baseline.
fn latencies(document: &Document, cell: &CellRecord, against: Option<&ContrastRecord>) -> Vec<Under> {
    let Some(latency) = cell.latency_ns.as_ref().filter(|_| cell.pace.is_some()) else { return Vec::new() };
    let line = |percentile: &Percentile| {
        let own = Under {
            head: percentile.title().to_owned(),
            cost: time(latency.at(*percentile)? as f64),
            ..Under::default()
        };
        let found =
            against.and_then(|against| against.latency.iter().find(|known| known.percentile == *percentile));
        Some(match found {
            Some(found) => Under {
                ratio: ratio(found.ratio),
                bounds: bounds(found.ratio, (found.lo, found.hi), None),
                verdict: words::verdict_of_percentile(found, document.analysis.margin),
                ..own
            },
            None => own,
        })
    };
    Percentile::COMPARED.iter().filter_map(line).collect()
}

/// A cell that surely varies much more, or much less, from start to start than its baseline.
fn varies(spread: &SpreadContrast) -> Option<Under> {
    /// Below this factor no one plans otherwise.
    const MUCH: f64 = 1.5;
    let verdict = match () {
        () if spread.lo > MUCH => "varies more",
        () if spread.hi < 1.0 / MUCH => "varies less",
        () => return None,
    };
    Some(Under {
        head: "spread of starts".to_owned(),
        ratio: ratio(spread.ratio),
        bounds: bounds(spread.ratio, (Some(spread.lo), Some(spread.hi)), None),
        verdict: verdict.to_owned(),
        ..Under::default()
    })
}

/// A cell's cost at the slow places of its buffers, and elsewhere.
fn layout_lines(found: &LayoutEffect) -> [Under; 2] {
    let place = match found.place {
        LayoutPlace::ClientSend => "client's send buffer",
        LayoutPlace::ClientRecv => "client's receive buffer",
        LayoutPlace::ServerSend => "server's send buffer",
        LayoutPlace::ServerRecv => "server's receive buffer",
        LayoutPlace::ToServer => "distance to the server",
        LayoutPlace::ToClient => "distance to the client",
        LayoutPlace::Ring => "ring",
    };
    let percent = found.share * 100.0;
    let slow = format!("{place} at {}–{}, {percent:.0} %", found.from, found.to);
    [(slow, found.wall_ns_per_op), ("elsewhere".to_owned(), found.elsewhere_ns_per_op)]
        .map(|(head, ns)| Under { head, cost: time(ns), ..Under::default() })
}

/// What stands beneath rows that stand side by side: each head once, with what every row says under it. Two modes of a cell may
/// have the same head.
pub fn beneath_each<'a>(rows: &'a [CellRow<'_>]) -> Vec<(&'a str, Vec<Option<&'a Under>>)> {
    let mut each: Vec<(&str, Vec<Option<&Under>>)> = Vec::new();
    for (index, row) in rows.iter().enumerate() {
        for under in row.figures.iter().flat_map(|figures| &figures.beneath) {
            let free = each.iter().position(|(known, sides)| *known == under.head && sides[index].is_none());
            let line = free.unwrap_or_else(|| {
                each.push((&under.head, vec![None; rows.len()]));
                each.len() - 1
            });
            each[line].1[index] = Some(under);
        }
    }
    each
}

fn figures(document: &Document, table: &WorkloadRecord, cell: &CellRecord) -> Option<Figures> {
    let cost = cell.wall_ns_per_op.filter(|_| cell.available)?;
    let rate = match cell.pattern {
        Pattern::Stream => cell.bytes_per_s.map(throughput),
        Pattern::Floor if cell.size > 0 => cell.bytes_per_s.map(throughput),
        Pattern::Rr | Pattern::Connect | Pattern::Floor => cell.ops_per_s.map(rate),
    };
    // Of too few operations a percentile is known to be no less.
    let latency = |percentile: Percentile| {
        let Some(summary) = &cell.latency_ns else { return String::new() };
        let all = [summary.p50, summary.p90, summary.p99, summary.p999];
        let at_least = if summary.at(percentile).is_some() { "" } else { "≥ " };
        format!("{at_least}{}", time(percentile.among(all) as f64))
    };
    let floor = cell.floor.as_ref().map(|floor| self::ratio(floor.multiple.median)).unwrap_or_default();
    let (ratio, bounds, verdict, standing) = judged(document, table, cell);
    Some(Figures {
        cost: time(cost.median),
        rate: rate.unwrap_or_default(),
        cpu: cell.cpu_ns_per_op.map(|cpu| time(cpu.median)).unwrap_or_default(),
        softirq: cell.softirq_ns_per_op.map(time).unwrap_or_default(),
        p50: latency(Percentile::P50),
        p99: latency(Percentile::P99),
        floor,
        ratio,
        bounds,
        verdict,
        standing,
        beneath: beneath(document, cell),
    })
}

/// The ratio to the baseline, its interval, and the verdict.
fn judged(
    document: &Document,
    table: &WorkloadRecord,
    cell: &CellRecord,
) -> (String, String, String, Standing) {
    if table.baseline.as_ref() == Some(&cell.id) {
        return ("1".to_owned(), String::new(), "baseline".to_owned(), Standing::Baseline);
    }
    let Some(contrast) = words::contrast(document, Metric::Wall, &cell.id) else {
        return (String::new(), String::new(), String::new(), Standing::NotCompared);
    };
    let bounds = words::bounds_text(contrast);
    let standing = match contrast.verdict {
        Verdict::Different | Verdict::Direction if contrast.ratio < 1.0 => Standing::Cheaper,
        Verdict::Different | Verdict::Direction => Standing::Dearer,
        Verdict::Equivalent if contrast.is_same() => Standing::Equal,
        Verdict::Equivalent | Verdict::Undecided => Standing::Open,
    };
    let mut verdict = words::verdict_of(contrast, document.analysis.margin);
    if table.baseline.as_ref() != Some(&contrast.b) {
        // Compared with another than the column's title says.
        verdict.push_str(&format!(" (× {})", words::label(document, &contrast.b)));
    }
    (ratio(contrast.ratio), bounds, verdict, standing)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn lines_beneath_rows_side_by_side_have_each_head_once_and_lose_nothing() {
        let document = fixture::document();
        let row = |beneath: &[(&str, &str)]| {
            let mut row = rows(&document, &document.workloads[0]).next().unwrap();
            let own = |(head, cost): &(&str, &str)| Under {
                head: (*head).to_owned(),
                cost: (*cost).to_owned(),
                ..Under::default()
            };
            row.figures.as_mut().unwrap().beneath = beneath.iter().map(own).collect();
            row
        };
        let both = [row(&[("in 50 %", "1"), ("in 50 %", "2")]), row(&[("in 50 %", "3"), ("per burst", "4")])];
        let expected = [("in 50 %", ["1", "3"]), ("in 50 %", ["2", ""]), ("per burst", ["", "4"])];
        let costs = |sides: Vec<Option<&Under>>| -> Vec<String> {
            sides.iter().map(|under| under.map_or(String::new(), |under| under.cost.clone())).collect()
        };
        let found: Vec<(&str, Vec<String>)> =
            beneath_each(&both).into_iter().map(|(head, sides)| (head, costs(sides))).collect();
        assert_eq!(found, expected.map(|(head, costs)| (head, costs.map(str::to_owned).to_vec())).to_vec());
    }
}
