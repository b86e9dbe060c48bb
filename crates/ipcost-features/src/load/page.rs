//! A load as a page: latency at each rate, what it costs there, and where it stops working.

use ipcost_model::units::{counted, duration_of, duration_text, percent, rate_text, time_text};
use ipcost_model::{Document, Estimate, Percentile, Verdict};
use ipcost_report::colours;
use ipcost_report::lines::{AcrossLines, LinePoint, Lines, LinesPanel, NamedLine};
use ipcost_report::numbers::{rate, ratio as ratio_text, time};
use ipcost_report::page::{
    Column, Field, FieldValue, Frame, Page, PageFigure, Paragraph, Section, Table, Tone,
};
use ipcost_report::picture::{Chart, draw_lines, plain_lines};
use ipcost_report::words::{cores, tail_words, verdict_of_percentile};

use super::judge::{crossing, ratio};
use super::{Capacity, Knee, LoadAt, LoadComparison, LoadCurves, LoadPoint, Stalling};

/// How the lines of medians are drawn.
const DASHES: &str = "7 3";

pub(super) fn page<'a>(curves: &'a LoadCurves, document: &'a Document) -> Page<'a> {
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
        let table = Table::new(&columns(request.limit_ns)).rows(own.iter().map(|point| row(point)));
        page.blocks.push(Section::new("", transport.clone()).with(table).open());
    }
    let drawn = lines(curves);
    let figure = PageFigure::new(drawn.reading.clone(), move |frame| match frame {
        Frame::Page => plain_lines(&drawn),
        Frame::File(background) => draw_lines(&drawn, document, background),
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
    page.answer.extend(knees(curves).map(Section::open));
    page.answer.extend(compared_knees(curves).into_iter().map(|said| Paragraph::plain(said).into()));
    let more = sentences(curves).into_iter().map(Paragraph::plain);
    page.notes.push(Section::default().with_all(more).open());
    let tail = tail_words(request.transports.iter().filter_map(|transport| at_least_rate(curves, transport)));
    page.notes.extend(tail.map(|said| Paragraph::quiet(said).into()));
    let how = format!(
        "An open loop: times count from when each operation was due. {} rates in {}; in {:.0} % of such runs every interval of a 99th percentile is right (for up to {}); seed {}",
        curves.points.len(),
        duration_text(duration_of(curves.elapsed_s)),
        (1.0 - document.analysis.alpha) * 100.0,
        curves.family,
        document.seed
    );
    page.notes.push(Paragraph::quiet(how).into());
    page
}

/// The median and the 99th percentile of a transport at the lowest rate: at higher ones requests wait for each other.
fn at_least_rate<'a>(curves: &LoadCurves, transport: &'a str) -> Option<(&'a str, f64, f64)> {
    let own = curves.points.iter().filter(|point| point.transport == transport);
    let LoadPoint { p50_ns, p99_ns, .. } = own.min_by_key(|point| point.per_s)?;
    Some((transport, p50_ns.as_ref()?.median, p99_ns.as_ref()?.median))
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
            let ends = bounds.map(|(lo, hi)| [Some(lo), Some(hi)]);
            Some(LinePoint { x: point.per_s as f64, ns: median, ends, modes: Vec::new() })
        };
        NamedLine {
            name: format!("{transport}, {}", percentile.title()),
            colour: colours::PALETTE[slot].light,
            dashes: if percentile == Percentile::P50 { DASHES } else { "none" },
            beside: 0.0,
            points: own.filter_map(place).collect(),
        }
    };
    let of_both = |name: &String| [Percentile::P99, Percentile::P50].map(|percentile| line(name, percentile));
    Lines {
        title: format!("Latency against load: {}, {}", what(curves), cores(curves.request.placement)),
        reading: "An open loop: times count from when each operation was due. Whole lines are 99th percentiles with their intervals, dashes are medians, each the median over epochs.".to_owned(),
        across: AcrossLines::Rate,
        limit_ns: Some(curves.request.limit_ns),
        panels: vec![LinesPanel {
            lines: transports.iter().flat_map(of_both).collect(),
            ..LinesPanel::default()
        }],
    }
}

fn what(curves: &LoadCurves) -> String {
    let request = &curves.request;
    match &request.request {
        Some(text) => text.clone(),
        None => format!("{} of {} B", crate::sweep::operation(request.pattern), request.size),
    }
}

fn columns(limit_ns: u64) -> [Column; 11] {
    [
        Column::number("rate"),
        Column::number("load"),
        Column::number("p50"),
        Column::number("p90").dropped(6),
        Column::number("p99"),
        Column::text("interval").dropped(3),
        Column::number("p99.9").dropped(4),
        Column::number("").titled(format!("over {}", time_text(limit_ns))).dropped(1),
        Column::number("CPU/op").dropped(2),
        Column::number("wake-ups/op").dropped(5),
        Column::text("p99 under limit"),
    ]
}

fn row(point: &LoadPoint) -> Vec<Field> {
    let cost = |known: Option<Estimate>| Field::maybe(known.map(|known| FieldValue::Cost(known.median)));
    let (said, tone) = match point.is_under() {
        Some(true) => ("yes", Tone::Good),
        Some(false) => ("no", Tone::Bad),
        None if point.grows => ("open: its queue grows", Tone::Open),
        None => ("open", Tone::Open),
    };
    vec![
        FieldValue::Text(rate_text(point.per_s)).into(),
        FieldValue::Share(point.utilisation).into(),
        cost(point.p50_ns),
        cost(point.p90_ns),
        cost(point.p99_ns),
        Field::maybe(point.p99_ns.map(|known| FieldValue::CostInterval(known.lo, known.hi))),
        cost(point.p999_ns),
        Field::maybe(point.tail.map(|tail| FieldValue::Share(tail.share))),
        Field::maybe(point.cpu_ns_per_op.map(FieldValue::Cost)),
        Field::maybe(point.wakeups_per_op.map(FieldValue::PerOperation)),
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
        LoadAt::Utilisation(share) => {
            let within = known.share_bounds.map(|(lo, hi)| format!(" ({}–{})", percent(lo), percent(hi)));
            format!("{} load{}", percent(share), within.unwrap_or_default())
        }
    };
    vec![
        FieldValue::Text(at).into(),
        FieldValue::Name(contrast.percentile.title().to_owned()).into(),
        FieldValue::Name(format!("{} / {}", known.a, known.b)).into(),
        FieldValue::Ratio(contrast.ratio).into(),
        FieldValue::Interval(contrast.ratio, contrast.lo, contrast.hi).into(),
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
            Field::maybe(found.map(|known| FieldValue::Text(rate(known.per_s.median))))
        };
        let first = FieldValue::Count(u64::from(connections)).into();
        std::iter::once(first).chain(transports.iter().map(per_s)).collect::<Vec<Field>>()
    });
    Table::new(&columns).rows(rows)
}

/// The highest rate at which each transport works, a line each.
fn knees(curves: &LoadCurves) -> Option<Section<'static>> {
    let row = |knee: &Knee| {
        let seems = of_seeming(knee, curves).map_or_else(String::new, |seems| format!("; {seems}"));
        vec![
            Field::from(FieldValue::Name(knee.transport.clone())),
            FieldValue::Text(format!("{}{seems}", of_knee(knee))).into(),
        ]
    };
    let title = format!("The highest rate under {} at p99", time_text(curves.request.limit_ns));
    let table = Table::new(&[Column::text(""), Column::text("").folded()]).rows(curves.knees.iter().map(row));
    (!curves.knees.is_empty()).then(|| Section::new("knees", title).with(table))
}

/// How much more load each carries than the last one.
fn compared_knees(curves: &LoadCurves) -> Vec<String> {
    let limit = time_text(curves.request.limit_ns);
    let compared = |(base, others): (&Knee, &[Knee])| -> Vec<String> {
        others.iter().filter_map(|knee| compared(knee, base, &limit)).collect()
    };
    curves.knees.split_last().map(compared).unwrap_or_default()
}

/// What limits that, and what else was seen.
fn sentences(curves: &LoadCurves) -> Vec<String> {
    let mut said: Vec<String> = curves.knees.iter().filter_map(|knee| of_unseen(knee, curves)).collect();
    said.extend(curves.request.transports.iter().filter_map(|name| of_cost(curves, name)));
    said.extend(curves.stalls.iter().map(|stalls| of_stalls(stalls, &curves.points)));
    for transport in &curves.out_of_rates {
        said.push(format!(
            "Of {transport} no more rates were measured, though the range is not as small as asked for: each takes a share of the certainty of all (--resolution)."
        ));
    }
    if curves.out_of_budget {
        said.push(
            "The budget ended before the range was as small as asked for (--resolution); a larger --budget narrows it."
                .to_owned(),
        );
    }
    said
}

fn of_knee(Knee { lo, hi, from, not_at, .. }: &Knee) -> String {
    let from = from.filter(|from| not_at.is_some() && Some(*from) != *lo);
    let from = from.map_or_else(String::new, |from| format!("from {} ", rate_text(from)));
    let below = not_at
        .map_or_else(String::new, |rate| format!("; at {}, with less to do, it is over it", rate_text(rate)));
    match (lo, hi) {
        (Some(lo), Some(hi)) => {
            format!("{from}up to {}, no longer at {}{below}", rate_text(*lo), rate_text(*hi))
        }
        (Some(lo), None) => {
            format!("{from}up to {} at least; no rate is known to be over it{below}", rate_text(*lo))
        }
        (None, Some(hi)) => {
            format!("over it at {} already; no lower rate is known to be under it", rate_text(*hi))
        }
        (None, None) => "open; a larger --budget may decide it".to_owned(),
    }
}

/// Where the limit seems to be crossed, where that narrows the range of a knee.
fn of_seeming(knee: &Knee, curves: &LoadCurves) -> Option<String> {
    let (below, above) = crossing(&knee.transport, &curves.points);
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
    Some(format!("it seems to be {said}, which is not certain"))
}

/// How often operations stand still, and how far epochs see that.
fn of_stalls(stalls: &Stalling, points: &[LoadPoint]) -> String {
    let epoch_s = points.iter().filter(|point| point.transport == stalls.transport);
    let epoch_s = epoch_s.filter_map(|point| Some(point.tail?.epoch_s)).fold(f64::INFINITY, f64::min);
    let blind = match epoch_s.is_finite() && epoch_s < 5.0 * stalls.every_s {
        true => format!(
            "; an epoch of {} holds few of them, so that medians over epochs say little of stalls, and the share over the limit more",
            time(epoch_s * 1e9)
        ),
        false => String::new(),
    };
    format!(
        "Over {} operations stand still every {} or so, for {} at most{blind}.",
        stalls.transport,
        time(stalls.every_s * 1e9),
        time(stalls.longest_ns as f64)
    )
}

/// What stalls there may be at the knee that so few epochs would not have shown.
fn of_unseen(knee: &Knee, curves: &LoadCurves) -> Option<String> {
    let is_it = |point: &&LoadPoint| point.transport == knee.transport && Some(point.per_s) == knee.lo;
    let tail = curves.points.iter().find(is_it)?.tail?;
    Some(format!(
        "Over {} there may be stalls that its {} did not meet, in up to {} of stretches of {}.",
        knee.transport,
        counted(tail.epochs, "epoch"),
        percent(tail.unseen),
        time(tail.epoch_s * 1e9)
    ))
}

/// `unix carries 1.45 to 1.76 times the load of tcp under 1 ms.`
fn compared(knee: &Knee, base: &Knee, limit: &str) -> Option<String> {
    let (least, most) = ratio(knee, base)?;
    Some(format!(
        "{} carries {} to {} × the load of {} under {limit}.",
        knee.transport,
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
        let of = |name: &str, lo, hi| Knee { transport: name.to_owned(), lo, hi, from: lo, not_at: None };
        let knee = |lo, hi| of_knee(&of("unix", lo, hi));
        assert_eq!(knee(Some(90_000), Some(95_000)), "up to 90k/s, no longer at 95k/s");
        assert!(knee(Some(90_000), None).contains("at least"));
        assert!(knee(None, Some(5_000)).contains("over it at 5000/s already"));
        assert!(knee(None, None).starts_with("open"));
        let stalling = Stalling { transport: "unix".to_owned(), every_s: 0.034, longest_ns: 18_595_839 };
        assert_eq!(
            of_stalls(&stalling, &[]),
            "Over unix operations stand still every 34.0 ms or so, for 18.6 ms at most."
        );
        // Programs that sleep between operations take longer where there is little to do.
        let bent = Knee { from: Some(20_000), not_at: Some(1_000), ..of("unix", Some(90_000), Some(95_000)) };
        assert_eq!(
            of_knee(&bent),
            "from 20k/s up to 90k/s, no longer at 95k/s; at 1000/s, with less to do, it is over it"
        );
        let [unix, tcp] = [of("unix", Some(80_000), Some(88_000)), of("tcp", Some(50_000), Some(55_000))];
        let said = compared(&unix, &tcp, "1 ms").unwrap();
        assert_eq!(said, "unix carries 1.45 to 1.76 × the load of tcp under 1 ms.");
    }
}
