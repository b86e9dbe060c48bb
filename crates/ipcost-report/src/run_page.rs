//! What a run answers, as a page: its tables, the cheapest of each, its charts, and how it was measured.

use std::collections::BTreeSet;

use ipcost_model::units::counted;
use ipcost_model::{CellRecord, Document, HELD_BACK, Metric, Pattern, Warning, WorkloadRecord, escaped};
use serde_json::Value as Json;

use crate::numbers::{ratio, three_digits};
use crate::over_pace;
use crate::page::{
    Block, Code, Column, Field, FieldValue, Frame, Page, PageFigure, Paragraph, Section, Table, Tone,
};
use crate::picture::{self, Chart};
use crate::rerun::rerun;
use crate::rows::{self, CellRow, Standing, Under};
use crate::summary::{cheapest, footer};
use crate::words::{self, RowNames, capitalised};

/// The charts of a run with their titles and how to read them; a page leaves out those that a document has nothing for.
const CHARTS: [(Chart, &str, &str); 8] = [
    (
        Chart::Cost,
        "What each workload costs",
        "Medians over epochs with their intervals. Without whiskers there is no interval.",
    ),
    (Chart::Cheapest, "When which is cheapest", ""),
    (
        Chart::Size,
        "Cost against the size of a message",
        "A line a transport. Shaded: the cheaper of two is known to change here.",
    ),
    (
        Chart::Forest,
        "Ratios to the baseline",
        "Cost as a multiple of the baseline's, with its interval. Differences within the shaded margin are too small to matter.",
    ),
    (Chart::Throughput, "Bits a second of streams", ""),
    (Chart::Latency, "Latency by percentile", "Of single operations, a line a row."),
    (Chart::Pace, "Cost against the pause between operations", ""),
    (Chart::Layout, "Cost against the place of receive buffers", ""),
];

/// The page of a run.
pub fn page(document: &Document) -> Page<'_> {
    let (host, tool) = (&document.host, &document.tool);
    let mut page = Page::new(match host.cpu.trim() {
        "" => "What local IPC costs".to_owned(),
        cpu => format!("What local IPC costs on {cpu}"),
    });
    page.about.extend([
        document.started.clone(),
        format!("{} {}", host.os, host.kernel),
        format!("{} {}", tool.name, tool.version),
    ]);
    page.answer = cheapest(document).map(Section::open).into_iter().collect();
    let held_back: Vec<&str> = document.held_back().collect();
    let more = held_back.len().saturating_sub(1) as u64;
    let more = (more > 0).then(|| format!(" {} so, too.", counted_wait(more)));
    let found = held_back.first().map(|first| format!("{first}{}", more.unwrap_or_default()));
    page.answer.extend(found.map(|found| Section::default().with(Paragraph::caution(found)).open()));
    page.blocks = measured(document);
    let more = slow_tail(document).into_iter().chain(notes(document, &document.warnings));
    page.notes = std::iter::once(promise(document)).chain(more).collect();
    page.document = Some(document);
    page.with_terms()
}

fn counted_wait(more: u64) -> String {
    format!("{} {}", counted(more, "more cell"), if more == 1 { "waits" } else { "wait" })
}

/// The tables and charts of a run, which an answer rests on.
pub fn measured(document: &Document) -> Vec<Block<'_>> {
    let mut blocks = tables(document);
    for (number, section) in over_pace::sections(document).into_iter().enumerate() {
        blocks.push(Section { id: format!("pace-{}", number + 1), ..section }.open());
    }
    let section = |(index, (kind, title, reading)): (usize, (Chart, &'static str, &'static str))| {
        let section = Section::new("", title).with(chart(document, kind, reading));
        if index == 0 { section.open() } else { section.folded() }
    };
    let charts = CHARTS.into_iter().enumerate().map(section);
    blocks.push(Section::new("charts", "Charts").with_all(charts).open());
    blocks
}

/// A chart of a document, with how to read it.
pub fn chart<'a>(document: &'a Document, chart: Chart, reading: &'static str) -> PageFigure<'a> {
    let draw = move |frame| match frame {
        Frame::Page => picture::plain(document, chart),
        Frame::File(background) => picture::draw(document, chart, background),
    };
    PageFigure::new(reading, draw).named(chart)
}

/// What the tables promise, and what they rest on: two lines, and a third one where something was in the way.
pub fn promise(document: &Document) -> Block<'static> {
    let paragraphs = footer(document).into_iter().map(Paragraph::quiet);
    Section::new("", "").with_all(paragraphs).open()
}

/// Where to go on if a 99th percentile of a document's cells is far from its median.
pub fn slow_tail(document: &Document) -> Option<Block<'static>> {
    let known = document.cells.iter().filter_map(|cell| {
        let latency = cell.latency_ns.as_ref()?;
        Some((cell.transport.as_str(), latency.p50 as f64, latency.p99 as f64))
    });
    words::tail_words(known).map(|said| Paragraph::quiet(said).into())
}

/// How it was measured, where, what distorts it, and how to measure it again.
pub fn notes(document: &Document, warnings: &[Warning]) -> Vec<Block<'static>> {
    let mut notes: Vec<Block<'static>> = Vec::new();
    let list = |warnings: &[Warning]| {
        Block::List(warnings.iter().map(|one| Paragraph::plain(&one.message)).collect())
    };
    if !warnings.is_empty() {
        let title = counted(warnings.len() as u64, "warning");
        notes.push(Section::new("warnings", title).with(list(warnings)).folded());
    }
    let missing: BTreeSet<String> = document.cells.iter().filter_map(reason).collect();
    if !missing.is_empty() {
        let list = Block::List(missing.into_iter().map(Paragraph::plain).collect());
        notes.push(Section::new("", "Not measured").with(list).folded());
    }
    if !document.notes.is_empty() {
        notes.push(Section::new("", "Notes").with(list(&document.notes)).folded());
    }
    let machine = Section::new("", "The machine and the method").with(facts(document));
    notes.push(machine.folded());
    let mut again = Section::new("", "Measure it again");
    if let Some((command, job_file)) = rerun(document) {
        if let Some(file) = job_file {
            again = again.with(Paragraph::plain("Save this as job.toml, and run what follows:"));
            again = again.with(Code { language: "toml", text: file });
        }
        again = again.with(Code { language: "sh", text: command });
    }
    let seed = format!("With the same seed, {}, every random order is the same.", document.seed);
    notes.push(again.with(Paragraph::quiet(seed)).folded());
    notes
}

/// What is known so far, in at most `lines` lines of `room` columns: the tables, or, where they are too tall, a line for each
/// that says how many of its questions are answered and which are open.
pub fn so_far(document: &Document, room: usize, lines: usize) -> String {
    let whole = Page { blocks: tables(document), ..Page::default() }.terminal(false, room);
    if whole.lines().count() <= lines {
        return whole;
    }
    let asked = document.workloads.iter().filter(|table| table.baseline.is_some());
    let row = |table: &WorkloadRecord| {
        let contrasts = table.cells.iter().filter_map(|id| words::contrast(document, Metric::Wall, id));
        let (known, open): (Vec<_>, Vec<_>) = contrasts.partition(|found| found.is_answered());
        let why = open.iter().map(|found| {
            let (name, bounds) = (words::label(document, &found.a), words::bounds_text(found));
            format!("{name} {} {bounds}", ratio(found.ratio))
        });
        vec![
            FieldValue::Name(capitalised(&words::workload(table))).into(),
            FieldValue::Name(format!("{} of {}", known.len(), known.len() + open.len())).into(),
            Field::from(FieldValue::Brief(why.collect::<Vec<_>>().join(", "))).toned(Tone::Quiet),
        ]
    };
    let columns = [Column::text(""), Column::number("answered"), Column::text("still open")];
    let table = Table::new(&columns).rows(asked.take(lines.saturating_sub(1)).map(row));
    Page { blocks: vec![table.into()], ..Page::default() }.terminal(false, room)
}

/// A table a workload, one for the same work on one core and on two.
fn tables(document: &Document) -> Vec<Block<'static>> {
    let section = |(number, tables): (usize, Vec<&WorkloadRecord>)| {
        let title = match tables[..] {
            [only] => words::workload(only),
            _ => words::work(tables[0]),
        };
        let shared = RowNames::of(document, tables[0]).shared;
        let title = [vec![title], shared].concat().join(", ");
        let floors = tables.iter().flat_map(|table| words::floors(document, table));
        let chosen = tables.iter().filter_map(|table| words::chosen(document, table));
        let notes: Vec<String> = floors.chain(chosen).chain(words::paces(document, &tables)).collect();
        Section::new(&format!("table-{}", number + 1), capitalised(&title))
            .with(table(document, &tables))
            .with_all(notes.into_iter().map(Paragraph::quiet))
            .open()
    };
    words::strata(document).into_iter().enumerate().map(section).collect()
}

/// Whether processor time lacks what softirqs took, and that was measured. Elsewhere it is part of processor time.
fn shows_softirq(document: &Document) -> bool {
    let apart = document.host.more.get("irq_time_accounting").and_then(Json::as_bool);
    apart == Some(true) && document.cells.iter().any(|cell| cell.softirq_ns_per_op.is_some())
}

fn table(document: &Document, tables: &[&WorkloadRecord]) -> Table {
    let each: Vec<Vec<CellRow<'_>>> =
        tables.iter().map(|table| rows::rows(document, table).collect()).collect();
    let cells = || each.iter().flatten().map(|row| row.cell);
    let measures: BTreeSet<&String> = cells().flat_map(|cell| cell.measures.keys()).collect();
    let mut columns = vec![Column::text("transport").folded()];
    columns.extend(tables.iter().flat_map(|table| columns_of(document, table, tables.len() > 1, &measures)));
    let width = (columns.len() - 1) / tables.len();
    let mut sides: Vec<_> = each.into_iter().map(Vec::into_iter).collect();
    let mut shown = Table { sides: tables.len(), ..Table::new(&columns) };
    loop {
        let row: Vec<CellRow<'_>> = sides.iter_mut().filter_map(Iterator::next).collect();
        if row.len() < tables.len() {
            break shown;
        }
        let is_cheapest = row.iter().any(|side| side.cheapest);
        let name = Field::from(FieldValue::Name(row[0].name.clone())).toned(strong(is_cheapest));
        let fields = row.iter().flat_map(|side| fields(side, &measures, width, shows_softirq(document)));
        shown.rows.push(std::iter::once(name).chain(fields).collect());
        for (head, lines) in rows::beneath_each(&row) {
            let name = quiet(format!("  {head}"));
            let fields = lines.into_iter().flat_map(|line| beneath(line, width));
            shown.rows.push(std::iter::once(name).chain(fields).collect());
        }
    }
}

/// The columns of a workload; where the screen is narrow, the interval gives way last.
fn columns_of(
    document: &Document,
    table: &WorkloadRecord,
    is_beside: bool,
    measures: &BTreeSet<&String>,
) -> Vec<Column> {
    let (rate, ratio) = rows::titles(document, table);
    let cost = if is_beside { words::cores(table.placement) } else { "cost" };
    let rate = Column::number("").titled(rate).dropped(2);
    let mut columns = vec![
        Column::number(cost),
        // Of floors the rate is all that there is besides the cost.
        if table.pattern == Pattern::Floor { rate } else { rate.detail() },
        Column::number("CPU/op").dropped(2).detail(),
        Column::number("softirq/op").dropped(2).detail(),
        Column::number("p50").dropped(4).detail(),
        Column::number("p99").dropped(3).detail(),
    ];
    let measures = measures.iter().map(|name| Column::number("").titled(escaped(name)).dropped(5).detail());
    columns.extend(measures);
    let interval = Column::text("");
    columns.extend([
        Column::number("× floor"),
        Column::number("").titled(ratio.unwrap_or_else(|| "ratio".to_owned())),
        interval.dropped(1),
        Column::text("verdict").folded(),
    ]);
    columns
}

/// What a row says of a workload, in so many columns.
fn fields(row: &CellRow<'_>, measures: &BTreeSet<&String>, width: usize, softirq: bool) -> Vec<Field> {
    let Some(figures) = &row.figures else {
        let mut fields = vec![Field::default(); width - 1];
        fields.push(Field::from(words::why_missing(row.cell)).toned(Tone::Open));
        return fields;
    };
    let plain = |text: &String| Field::from(FieldValue::Name(text.clone()));
    let measure = |name: &&String| row.cell.measures.get(*name).map(|value| three_digits(*value));
    let tone = strong(row.cheapest);
    let mut fields = vec![
        plain(&figures.cost).toned(tone),
        plain(&figures.rate),
        plain(&figures.cpu),
        if softirq { plain(&figures.softirq) } else { Field::default() },
        plain(&figures.p50),
        plain(&figures.p99),
    ];
    fields.extend(measures.iter().map(|name| Field::maybe(measure(name).map(FieldValue::Name))));
    fields.extend([
        plain(&figures.floor),
        plain(&figures.ratio).toned(tone),
        plain(&figures.bounds),
        plain(&figures.verdict).toned(match figures.standing {
            Standing::Cheaper => Tone::Good,
            Standing::Dearer => Tone::Bad,
            Standing::Baseline | Standing::Open => Tone::Open,
            Standing::Equal | Standing::NotCompared => Tone::Plain,
        }),
    ]);
    fields
}

/// A line beneath a row in so many columns, of which the first is the cost and the last three what is known of it.
fn beneath(line: Option<&Under>, width: usize) -> Vec<Field> {
    let Some(line) = line else { return vec![Field::default(); width] };
    let mut fields = vec![quiet(line.cost.clone())];
    fields.resize(width - 3, Field::default());
    fields.extend([&line.ratio, &line.bounds, &line.verdict].map(|text| quiet(text.clone())));
    fields
}

fn strong(is_cheapest: bool) -> Tone {
    if is_cheapest { Tone::Strong } else { Tone::Plain }
}

fn quiet(text: String) -> Field {
    Field::from(FieldValue::Name(text)).toned(Tone::Quiet)
}

/// Why a cell has no figures.
fn reason(cell: &CellRecord) -> Option<String> {
    let reason = cell.reason.as_ref().filter(|_| !cell.available)?;
    Some(format!("{}: {reason}", cell.label))
}

/// Where and how it was measured, a line a fact.
fn facts(document: &Document) -> Table {
    let (host, schedule) = (&document.host, &document.schedule);
    let placements: BTreeSet<&str> = document.cells.iter().map(|cell| cell.placement.name()).collect();
    let placements: Vec<&str> = placements.into_iter().collect();
    let batches = format!(
        "{} of {} of {:.0} ms; placement {}; {}",
        counted(schedule.epochs, "epoch"),
        counted(schedule.rounds, "round"),
        schedule.batch_ms,
        placements.join(", "),
        words::latency(document),
    );
    let mut facts: Vec<(String, String)> = [
        ("run", batches),
        (
            "made by",
            format!("{} {}, started {}", document.tool.name, document.tool.version, document.started),
        ),
        ("system", format!("{} {}, {}", host.os, host.kernel, host.arch)),
        ("processor", format!("{}, {} cores ({} physical)", host.cpu, host.cores, host.physical_cores)),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into();
    let promise = words::promise(document) + &words::other_intervals(document);
    facts.push(("promise".to_owned(), promise));
    facts.extend(words::unseen(document).map(|text| ("not seen".to_owned(), text)));
    facts.extend(host.more.iter().map(|(name, value)| (name.replace('_', " "), plain(value))));
    let row = |(name, value): (String, String)| {
        vec![Field::from(FieldValue::Name(name)).toned(Tone::Quiet), FieldValue::Text(value).into()]
    };
    Table::new(&[Column::text(""), Column::text("").folded()]).rows(facts.into_iter().map(row))
}

/// A fact in plain words.
fn plain(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        Json::Object(map) => {
            map.iter().map(|(name, value)| format!("{name}: {}", plain(value))).collect::<Vec<_>>().join("; ")
        }
        Json::Array(list) => list.iter().map(plain).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

/// The document's warnings in at most a line of a terminal: the only one there is, or the codes of all, and where their texts are.
pub fn warnings(warnings: &[Warning], texts: &str, room: usize) -> String {
    let mut of_kind: Vec<(&str, usize)> = Vec::new();
    // Those that belong to the answer are told there.
    let others: Vec<_> = warnings.iter().filter(|warning| warning.code != HELD_BACK).collect();
    for warning in &others {
        match of_kind.iter_mut().find(|(code, _)| *code == warning.code) {
            Some((_, count)) => *count += 1,
            None => of_kind.push((&warning.code, 1)),
        }
    }
    let said = match others.as_slice() {
        [] => return String::new(),
        [only] => format!("warning: {}", only.message),
        _ => {
            let named = |(code, count): &(&str, usize)| match count {
                1 => (*code).to_owned(),
                count => format!("{code} ({count})"),
            };
            let codes = of_kind.iter().map(named).collect::<Vec<_>>().join(", ");
            format!("warnings: {codes}; {texts} shows them")
        }
    };
    lines([Paragraph::caution(said)], room)
}

/// Every warning and note of the document in full.
pub fn all_warnings(document: &Document, room: usize) -> String {
    let warning = |warning: &Warning| Paragraph::caution(format!("warning: {}", warning.message));
    let note = |note: &Warning| Paragraph::quiet(format!("note: {}", note.message));
    lines(document.warnings.iter().map(warning).chain(document.notes.iter().map(note)), room)
}

fn lines(said: impl IntoIterator<Item = Paragraph>, room: usize) -> String {
    let blocks = said.into_iter().map(Block::from).collect();
    Page { blocks, ..Page::default() }.terminal(false, room)
}

#[cfg(test)]
mod tests;
