//! The answer in a few lines: the cheapest of every workload and placement, and the runner-up.

use ipcost_model::units::{counted, size_text};
use ipcost_model::{ContrastRecord, Document, Fastest, Metric, Pattern, Verdict, Wait, WorkloadRecord};

use crate::numbers::ratio;
use crate::page::{Column, Field, FieldValue, Page, Section, Table, Tone};
use crate::words::{self, RowNames, bounds_text, capitalised, contrast, equals_and_open, escaped, is_beaten};

/// Names the second line of a table.
pub(crate) const IF_IT_SLEEPS: &str = "if it sleeps";

/// A line for every workload and placement; `None` if there is nothing to answer.
pub fn cheapest(document: &Document) -> Option<Section<'static>> {
    let asked = document.workloads.iter().filter(|table| table.pattern != Pattern::Floor);
    let mut above = String::new();
    let row = |[work, cores, answer]: [String; 3]| {
        // The same work on other cores is named once.
        let name = if work == above { String::new() } else { work.clone() };
        above = work;
        vec![
            FieldValue::Name(name).into(),
            Field::from(FieldValue::Name(cores)).toned(Tone::Quiet),
            FieldValue::Text(answer).into(),
        ]
    };
    let rows: Vec<Vec<Field>> = asked.flat_map(|table| lines(document, table)).map(row).collect();
    let columns = [Column::text(""), Column::text(""), Column::text("").folded()];
    (!rows.is_empty()).then(|| Section::new("cheapest", "Cheapest").with(Table::new(&columns).rows(rows)))
}

/// The same in `room` columns of text; empty if there is nothing to answer.
pub fn summary(document: &Document, room: usize) -> String {
    let answer = cheapest(document).into_iter().map(Section::open).collect();
    Page { answer, ..Page::default() }.terminal(false, room)
}

/// What the answers promise, and what they rest on, a line each.
pub fn footer(document: &Document) -> Vec<String> {
    let promise = capitalised(&words::promise(document));
    let under = words::congestion(document).map_or_else(String::new, |under| format!(" {under}."));
    let ended = format!(
        "{} in {}, {}{}.",
        counted(document.schedule.epochs, "epoch"),
        words::elapsed(document),
        words::why_stopped(document.stopped),
        words::resumed(document),
    );
    let longer = document.analysis.longer.as_ref();
    let open = longer.map_or_else(String::new, |longer| format!(" {}.", words::longer(longer)));
    let in_the_way = longer.and_then(|longer| longer.in_the_way.as_ref());
    let in_the_way = in_the_way.map(|what| format!("In the way: {what}."));
    [format!("{promise}.{under}"), ended + &open].into_iter().chain(in_the_way).collect()
}

/// The lines of a table; a second one if the cheapest keeps a core busy while it waits.
fn lines(document: &Document, table: &WorkloadRecord) -> Vec<[String; 3]> {
    let cores = words::cores(table.placement).to_owned();
    let of = |table: &WorkloadRecord, cores: String, named: &str| {
        let line = |cores: String, table: &WorkloadRecord| {
            [work(table), cores, format!("{named}{}", answer(document, table, table.fastest.as_ref()))]
        };
        let sleeping = sleeping(document, table);
        let sleeping = sleeping.map(|sleeping| line(IF_IT_SLEEPS.to_owned(), &sleeping));
        std::iter::once(line(cores, table)).chain(sleeping).collect::<Vec<_>>()
    };
    match &table.bursts {
        None => of(table, cores, ""),
        Some(bursts) => {
            [of(table, cores, "long transfers: "), of(bursts, String::new(), "bursts: ")].concat()
        }
    }
}

/// The cells of a table that sleep while they wait as a table of their own, if the cheapest of all does not.
pub(crate) fn sleeping(document: &Document, table: &WorkloadRecord) -> Option<WorkloadRecord> {
    let spins = table.fastest.as_ref().is_some_and(|fastest| is_spinning(document, &fastest.cell));
    let blocking = table.fastest_blocking.as_ref().filter(|_| spins)?;
    let sleeps = |id: &&String| words::cell(document, id).is_some_and(|cell| cell.wait == Wait::Block);
    let cells: Vec<String> = table.cells.iter().filter(sleeps).cloned().collect();
    let baseline = table.baseline.clone().filter(|id| cells.contains(id));
    Some(WorkloadRecord { cells, baseline, fastest: Some(blocking.clone()), ..table.clone() })
}

/// The work of a table in a few letters: `64 B round trip`.
pub(crate) fn work(table: &WorkloadRecord) -> String {
    let bytes = if table.size == 0 { table.reply } else { table.size };
    let what = match table.pattern {
        Pattern::Rr => "round trip",
        Pattern::Stream => "stream",
        Pattern::Connect => "connection",
        Pattern::Floor => "floor",
    };
    let size = match table.pattern {
        Pattern::Rr | Pattern::Connect if table.size != table.reply => {
            format!("{}/{}", size_text(table.size), size_text(table.reply))
        }
        _ => size_text(bytes),
    };
    let what = match &table.request {
        Some(request) => match table.pipeline {
            Some(many) => format!("{} {what}, {many} in one go", shortened(request)),
            None => format!("{} {what}", shortened(request)),
        },
        None => format!("{size} {what}"),
    };
    let what = match table.concurrency {
        0 | 1 => what,
        workers => format!("{what} × {workers}"),
    };
    match words::pace(&table.work) {
        Some(pace) => format!("{what}, {pace}"),
        None => what,
    }
}

/// A request in a column.
fn shortened(request: &str) -> String {
    const MOST: usize = 24;
    let text = words::escaped(request);
    match text.chars().count() <= MOST {
        true => text,
        false => text.chars().take(MOST - 1).chain(['…']).collect(),
    }
}

/// The cells of a table that are the cheapest, or may be.
pub(crate) struct Contenders<'a> {
    /// The cell with the lowest cost, and those known to cost the same.
    pub equal: Vec<&'a String>,
    /// Others that may cost as little.
    pub open: Vec<&'a String>,
    /// The first against what it is compared with.
    against: Option<&'a ContrastRecord>,
}

/// The cells of a table that are the cheapest, or may be.
pub(crate) fn contenders<'a>(
    document: &'a Document,
    table: &'a WorkloadRecord,
    fastest: &'a Fastest,
) -> Contenders<'a> {
    let (equals, open) = equals_and_open(fastest);
    let equal: Vec<&String> = std::iter::once(&fastest.cell).chain(equals).collect();
    let against = compared(document, table, &fastest.cell).filter(|against| table.cells.contains(&against.b));
    // The baseline is named already, where it is known to cost more.
    let beaten = against.filter(|against| is_beaten(against)).map(|against| &against.b);
    let open = open.into_iter().filter(|id| Some(*id) != beaten).collect();
    Contenders { equal, open, against }
}

/// A cell of a table against what it is compared with there.
fn compared<'a>(document: &'a Document, table: &'a WorkloadRecord, id: &str) -> Option<&'a ContrastRecord> {
    match table.contrasts.as_slice() {
        [] => contrast(document, Metric::Wall, id),
        own => own.iter().find(|known| known.a == id),
    }
}

/// `shm 0.33 × tcp (0.32–0.34), then pipe 0.34`.
pub(crate) fn answer(document: &Document, table: &WorkloadRecord, fastest: Option<&Fastest>) -> String {
    let Some(fastest) = fastest else {
        let measured = |id: &String| words::cell(document, id).filter(|cell| cell.epochs > 0);
        return match table.cells.iter().find_map(measured) {
            Some(only) => format!("only {} measured", escaped(&only.label)),
            None => "nothing measured".to_owned(),
        };
    };
    let Contenders { equal, open, against } = contenders(document, table, fastest);
    let names = RowNames::of(document, table);
    let mut text = named(&names, &equal);
    if equal.len() > 1 {
        let same = match fastest.means_differ {
            true => words::SAME_IN_MEDIAN.to_owned(),
            false => words::verdict(Verdict::Equivalent, 1.0, document.analysis.margin),
        };
        text.push_str(&format!(": {same}"));
    }
    if let Some(against) = against.filter(|against| !equal.contains(&&against.b)) {
        let comma = if equal.len() > 1 { "," } else { "" };
        let (times, name) = (ratio(against.ratio), names.label(&against.b));
        text.push_str(&format!("{comma} {times} × {name} {}", bounds_text(against)));
    }
    if !open.is_empty() {
        let open = named(&names, &open);
        // Of one that may cost less: by how much at most is what choosing the first may lose.
        let known = match (fastest.open_within, fastest.open_cheaper_by) {
            (Some(factor), _) => format!("within {}", words::up(factor - 1.0)),
            (None, Some(factor)) => format!("at most {} cheaper", words::up(1.0 - 1.0 / factor)),
            (None, None) => "open".to_owned(),
        };
        return format!("{text}, or {open} ({known})");
    }
    let next = Some(&fastest.runner_up).filter(|id| fastest.claimed && !equal.contains(id));
    next.map_or(text.clone(), |next| {
        format!("{text}, then {}", runner_up(&names, table, &fastest.cell, next))
    })
}

/// The runner-up with its ratio to the baseline, unless it is the baseline; of what and how sure, if nothing said it yet.
fn runner_up(names: &RowNames<'_>, table: &WorkloadRecord, cheapest: &str, id: &str) -> String {
    let name = names.label(id);
    let is_baseline = table.baseline.as_deref() == Some(id);
    match compared(names.document, table, id).filter(|_| !is_baseline) {
        // The baseline is the cheapest, so no ratio before says of what this one is.
        Some(known) if known.b == *cheapest => {
            format!("{name} {} × {} {}", ratio(known.ratio), names.label(cheapest), bounds_text(known))
        }
        Some(known) => format!("{name} {}", ratio(known.ratio)),
        None => name,
    }
}

fn named(names: &RowNames<'_>, ids: &[&String]) -> String {
    ids.iter().map(|id| name(names, id)).collect::<Vec<_>>().join(", ")
}

/// The label of a cell; one that keeps a core busy while it waits is marked.
pub(crate) fn name(names: &RowNames<'_>, id: &str) -> String {
    let spins = if is_spinning(names.document, id) { " (spins)" } else { "" };
    format!("{}{spins}", names.label(id))
}

fn is_spinning(document: &Document, id: &str) -> bool {
    words::cell(document, id).is_some_and(|cell| cell.wait != Wait::Block)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use ipcost_model::Fastest;

    use unicode_width::UnicodeWidthStr;

    fn plain(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    #[test]
    fn every_kind_of_answer() {
        let mut document = fixture::on_one_core_and_on_two();
        let mut all = vec![plain(&summary(&document, 80))];
        let fastest = document.workloads[0].fastest.clone().unwrap();
        let mut say = |document: &Document| {
            let lines = super::lines(document, &document.workloads[0]);
            all.extend(lines.iter().map(|line| format!("{}\n", line.join(" | "))));
        };
        // Open: against the baseline it is beaten, or it is not known.
        let open = Fastest { claimed: false, verdict: Verdict::Undecided, ..fastest.clone() };
        document.workloads[0].fastest = Some(open.clone());
        say(&document);
        for (open_within, open_cheaper_by) in [(Some(1.1), Some(1.05)), (None, Some(1.05))] {
            document.workloads[0].fastest = Some(Fastest { open_within, open_cheaper_by, ..open.clone() });
            say(&document);
        }
        // The baseline itself is cheapest.
        let baseline = document.workloads[0].baseline.clone().unwrap();
        let (cell, runner_up) = (baseline.clone(), fastest.cell.clone());
        document.workloads[0].fastest = Some(Fastest { cell, runner_up, ..fastest.clone() });
        say(&document);
        // The cheapest spins.
        document.workloads[0].fastest = Some(fastest.clone());
        for cell in document.cells.iter_mut().filter(|cell| cell.id == fastest.cell) {
            cell.wait = Wait::Spin;
        }
        let (cell, runner_up) = (fastest.runner_up.clone(), baseline);
        document.workloads[0].fastest_blocking = Some(Fastest { cell, runner_up, ..fastest });
        say(&document);
        document.workloads[0].fastest = None;
        say(&document);
        document.cells.iter_mut().for_each(|cell| cell.epochs = 0);
        say(&document);
        insta::assert_snapshot!(all.concat());
    }

    #[test]
    fn long_transfers_and_bursts_are_two_answers() {
        let mut document = fixture::on_one_core_and_on_two();
        let table = document.workloads[0].clone();
        let fastest = table.fastest.clone().unwrap();
        // In bursts the baseline is the cheapest, and the cheapest of long transfers costs half as much again.
        let baseline = table.baseline.clone().unwrap();
        let mut contrast = contrast(&document, Metric::Wall, &fastest.cell).unwrap().clone();
        (contrast.ratio, contrast.lo, contrast.hi) = (1.56, Some(1.25), Some(2.26));
        let [cell, runner_up] = [baseline.clone(), fastest.cell.clone()];
        let fastest = Fastest { cell, runner_up, equals: Vec::new(), open: Vec::new(), ..fastest };
        let bursts = WorkloadRecord { fastest: Some(fastest), contrasts: vec![contrast], ..table.clone() };
        document.workloads[0].bursts = Some(Box::new(bursts));
        let said = plain(&summary(&document, 200));
        let of =
            |name: &str| said.lines().find(|line| line.contains(name)).unwrap_or_else(|| panic!("{said}"));
        let first = words::label(&document, &table.fastest.unwrap().cell).to_string();
        assert!(of("long transfers: ").contains(&format!("long transfers: {first} ")), "{said}");
        let bursts = of("bursts: ");
        assert!(bursts.contains(&format!("then {first} 1.56 × tcp (1.25–2.26)")), "{said}");
    }

    #[test]
    fn lines_fit_and_name_the_work_once() {
        let document = fixture::on_one_core_and_on_two();
        for room in [60, 80, 100] {
            let text = plain(&summary(&document, room));
            assert!(text.lines().all(|line| line.width() <= room), "{text}");
            assert_eq!(text.matches("64 B round trip").count(), 1, "{text}");
        }
    }
}
