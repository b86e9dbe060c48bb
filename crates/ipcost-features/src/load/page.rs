//! A load as a page: latency at each rate, what it costs there, and where it stops working.

use ipcost_model::units::{counted, duration_of, duration_text, percent, rate_text, time_text};
use ipcost_model::{Estimate, Percentile, Verdict};
use ipcost_report::colours;
use ipcost_report::lines::{AcrossLines, Lines, LinesPanel, NamedLine, Place};
use ipcost_report::numbers::{rate, ratio as ratio_text};
use ipcost_report::page::{Column, Field, Figure, Frame, Page, Paragraph, Section, Table, Tone, Value};
use ipcost_report::picture::{Chart, draw_lines, plain_lines};
use ipcost_report::words::{cores, verdict_of_percentile};

use super::judge::{crossing, ratio};
use super::{Capacity, Knee, LoadAt, LoadComparison, LoadCurves, LoadPoint};

/// How the lines of medians are drawn.
const DASHES: &str = "7 3";

/// The page of `load`.
pub(super) fn page(curves: &LoadCurves) -> Page<'_> {
    let request = &curves.request;
    let mut page = Page::new(format!(
        "Latency against load: {}, {} on {}",
        what(curves),
        counted(request.concurrency, "connection"),
        cores(request.placement)
    ));
    for transport in &request.transports {
        let own: Vec<&LoadPoint> =
            curves.points.iter().filter(|point| point.transport == *transport).collect();
        if own.is_empty() {
            continue;
        }
        let table = Table::new(&columns()).rows(own.iter().map(|point| row(point, request.limit_ns)));
        page.blocks.push(Section::new("", transport.clone()).with(table).open());
    }
    let drawn = lines(curves);
    let figure = Figure::new(drawn.reading.clone(), move |frame| match frame {
        Frame::Page => plain_lines(&drawn),
        Frame::File(background) => draw_lines(&drawn, &curves.envelope, background),
    });
    page.blocks.push(figure.named(Chart::Load).into());
    if !curves.comparisons.is_empty() {
        let columns = [
            Column::number("each at"),
            Column::text("of"),
            Column::text("transports"),
            Column::number("ratio"),
            Column::text("interval"),
            Column::text("verdict"),
        ];
        let rows = curves.comparisons.iter().map(|known| compared_at(known, request.margin));
        page.blocks.push(Section::new("", "At the same load").with(Table::new(&columns).rows(rows)).open());
    }
    page.blocks.push(Section::new("", "Back to back").with(saturation(curves)).open());
    page.answer = sentences(curves).into_iter().map(|said| Paragraph::plain(said).into()).collect();
    let how = format!(
        "An open loop: times count from when each operation was due. {} rates in {}; in {:.0} % of such runs every interval of a 99th percentile is right (for up to {}); seed {}",
        curves.points.len(),
        duration_text(duration_of(curves.elapsed_s)),
        (1.0 - curves.alpha) * 100.0,
        curves.family,
        curves.seed
    );
    page.notes.push(Paragraph::quiet(how).into());
    page
}

/// The 99th percentile and the median of each transport against the rate.
fn lines(curves: &LoadCurves) -> Lines {
    let transports = &curves.request.transports;
    let line = |transport: &String, percentile: Percentile| {
        let slot = colours::slot_among(transports.iter().map(String::as_str), transport);
        let known = |point: &LoadPoint| match percentile {
            Percentile::P50 => point.p50_ns,
            _ => point.p99_ns,
        };
        let own = curves.points.iter().filter(|point| point.transport == *transport);
        let place = |point: &LoadPoint| {
            let Estimate { median, lo, hi } = known(point)?;
            // The bands of the medians would lie on those of the other transport's.
            let bounds = lo.zip(hi).filter(|_| percentile == Percentile::P99);
            Some(Place { x: point.per_s as f64, ns: median, bounds })
        };
        NamedLine {
            name: format!("{transport}, {}", percentile.title()),
            colour: colours::PALETTE[slot].light,
            dashes: if percentile == Percentile::P50 { DASHES } else { "none" },
            points: own.filter_map(place).collect(),
        }
    };
    let of_both = |name: &String| [Percentile::P99, Percentile::P50].map(|percentile| line(name, percentile));
    Lines {
        title: format!("Latency against load: {}, {}", what(curves), cores(curves.request.placement)),
        reading: "An open loop: times count from when each operation was due. Whole lines are 99th percentiles with their intervals, dashes are medians, each the median over epochs.".to_owned(),
        across: AcrossLines::Rate,
        limit_ns: Some(curves.request.limit_ns),
        panels: vec![LinesPanel { title: String::new(), lines: transports.iter().flat_map(of_both).collect() }],
    }
}

fn what(curves: &LoadCurves) -> String {
    let request = &curves.request;
    match &request.request {
        Some(text) => text.clone(),
        None => format!("{} of {} B", crate::sweep::operation(request.pattern), request.size),
    }
}

fn columns() -> [Column; 9] {
    [
        Column::number("rate"),
        Column::number("load"),
        Column::number("p50"),
        Column::number("p99"),
        Column::text("interval").dropped(2),
        Column::number("p99.9").dropped(3),
        Column::number("CPU/op").dropped(1),
        Column::number("wake-ups/op").dropped(4),
        Column::text("p99 under limit"),
    ]
}

fn row(point: &LoadPoint, limit_ns: u64) -> Vec<Field> {
    let cost = |known: Option<Estimate>| Field::maybe(known.map(|known| Value::Cost(known.median)));
    let (said, tone) = match point.is_under(limit_ns) {
        Some(true) => ("yes", Tone::Good),
        Some(false) => ("no", Tone::Bad),
        None => ("open", Tone::Open),
    };
    vec![
        Value::Text(rate_text(point.per_s)).into(),
        Value::Share(point.utilisation).into(),
        cost(point.p50_ns),
        cost(point.p99_ns),
        Field::maybe(point.p99_ns.map(|known| Value::CostInterval(known.lo, known.hi))),
        cost(point.p999_ns),
        Field::maybe(point.cpu_ns_per_op.map(Value::Cost)),
        Field::maybe(point.wakeups_per_op.map(Value::PerOperation)),
        Field::from(said).toned(tone),
    ]
}

fn compared_at(known: &LoadComparison, margin: f64) -> Vec<Field> {
    let contrast = &known.contrast;
    let tone = match contrast.verdict {
        Verdict::Equivalent => Tone::Plain,
        Verdict::Undecided => Tone::Open,
        Verdict::Different | Verdict::Direction if contrast.ratio < 1.0 => Tone::Good,
        Verdict::Different | Verdict::Direction => Tone::Bad,
    };
    let at = match known.at {
        LoadAt::Rate(per_s) => rate_text(per_s),
        LoadAt::Utilisation(share) => format!("{} load", percent(share)),
    };
    vec![
        Value::Text(at).into(),
        Value::Name(contrast.percentile.title().to_owned()).into(),
        Value::Name(format!("{} / {}", known.a, known.b)).into(),
        Value::Ratio(contrast.ratio).into(),
        Value::Interval(contrast.ratio, contrast.lo, contrast.hi).into(),
        Field::from(verdict_of_percentile(contrast, margin)).toned(tone),
    ]
}

/// Operations a second back to back, a row for each number of connections.
fn saturation(curves: &LoadCurves) -> Table {
    let transports = &curves.request.transports;
    let of_transports = transports.iter().map(|name| Column::number("").titled(name.clone()));
    let columns: Vec<Column> = std::iter::once(Column::number("connections")).chain(of_transports).collect();
    let mut connections: Vec<u32> = curves.capacities.iter().map(|known| known.concurrency).collect();
    connections.sort_unstable();
    connections.dedup();
    let rows = connections.into_iter().map(|connections| {
        let per_s = |name: &String| {
            let is_it = |known: &&Capacity| known.transport == *name && known.concurrency == connections;
            let found = curves.capacities.iter().find(is_it);
            Field::maybe(found.map(|known| Value::Text(rate(known.per_s.median))))
        };
        let first = Value::Count(u64::from(connections)).into();
        std::iter::once(first).chain(transports.iter().map(per_s)).collect::<Vec<Field>>()
    });
    Table::new(&columns).rows(rows)
}

/// Where each transport stops working, and how they compare.
fn sentences(curves: &LoadCurves) -> Vec<String> {
    let limit = time_text(curves.request.limit_ns);
    let mut said = Vec::new();
    for knee in &curves.knees {
        said.push(of_knee(knee, &limit));
        said.extend(of_medians(knee, curves));
    }
    if let Some((base, others)) = curves.knees.split_last() {
        said.extend(others.iter().filter_map(|knee| compared(knee, base, &limit)));
    }
    said.extend(curves.request.transports.iter().filter_map(|name| of_cost(curves, name)));
    if curves.out_of_budget {
        said.push(
            "The budget ended before the range was as small as asked for (--resolution); a larger --budget narrows it."
                .to_owned(),
        );
    }
    said
}

fn of_knee(Knee { transport, lo, hi }: &Knee, limit: &str) -> String {
    match (lo, hi) {
        (Some(lo), Some(hi)) => format!(
            "{transport} stays under {limit} at p99 up to {} and no longer at {}.",
            rate_text(*lo),
            rate_text(*hi)
        ),
        (Some(lo), None) => {
            format!(
                "{transport} stays under {limit} at p99 up to {} at least; no rate exceeded it.",
                rate_text(*lo)
            )
        }
        (None, Some(hi)) => {
            format!(
                "{transport} exceeds {limit} at p99 at {} already; no lower rate is known to stay under it.",
                rate_text(*hi)
            )
        }
        (None, None) => {
            format!(
                "Open: the highest rate at which {transport} stays under {limit} at p99; a larger --budget may decide it."
            )
        }
    }
}

/// What the medians over epochs say, where that narrows the range of a knee.
fn of_medians(knee: &Knee, curves: &LoadCurves) -> Option<String> {
    let (below, above) = crossing(&knee.transport, &curves.points, curves.request.limit_ns);
    if (below, above) == (knee.lo, knee.hi) {
        return None;
    }
    let said = match (below, above) {
        (Some(below), Some(above)) => {
            format!("between {} and {}", rate_text(below), rate_text(above))
        }
        (Some(below), None) => format!("above {}", rate_text(below)),
        (None, Some(above)) => format!("below {}", rate_text(above)),
        (None, None) => return None,
    };
    Some(format!("Its medians over epochs cross the limit {said}; that is not certain."))
}

/// `unix carries 1.6 × (1.5–1.7) the load of tcp under 1 ms.`
fn compared(knee: &Knee, base: &Knee, limit: &str) -> Option<String> {
    let (least, most) = ratio(knee, base)?;
    let middle = (least * most).sqrt();
    Some(format!(
        "{} carries {} × ({}–{}) the load of {} under {limit}.",
        knee.transport,
        ratio_text(middle),
        ratio_text(least),
        ratio_text(most),
        base.transport
    ))
}

/// What an operation costs in processor time at little and at much load.
fn of_cost(curves: &LoadCurves, transport: &str) -> Option<String> {
    let own = || curves.points.iter().filter(|point| point.transport == transport && point.utilisation < 1.0);
    let (first, last) = (own().next()?, own().next_back()?);
    let (least, most) = (first.cpu_ns_per_op?, last.cpu_ns_per_op?);
    (first.per_s < last.per_s).then(|| {
        format!(
            "At {} load an operation over {transport} takes {} × the processor time that it takes at {}.",
            percent(first.utilisation),
            ratio_text(least / most),
            percent(last.utilisation)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_knee_says_what_is_known_of_it() {
        let knee = |lo, hi| of_knee(&Knee { transport: "unix".to_owned(), lo, hi }, "1 ms");
        assert_eq!(
            knee(Some(90_000), Some(95_000)),
            "unix stays under 1 ms at p99 up to 90k/s and no longer at 95k/s."
        );
        assert!(knee(Some(90_000), None).contains("at least"));
        assert!(knee(None, Some(5_000)).contains("exceeds 1 ms at p99 at 5000/s already"));
        assert!(knee(None, None).contains("Open: "));
        let both = [("unix", 80_000, 88_000), ("tcp", 50_000, 55_000)].map(|(name, lo, hi)| Knee {
            transport: name.to_owned(),
            lo: Some(lo),
            hi: Some(hi),
        });
        let said = compared(&both[0], &both[1], "1 ms").unwrap();
        assert_eq!(said, "unix carries 1.60 × (1.45–1.76) the load of tcp under 1 ms.");
    }
}
