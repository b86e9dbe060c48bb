//! Saved runs as a page: a line each.

use std::time::Duration;

use ipcost_model::units::size_text;
use ipcost_model::{NATIVE, Placement, RunState, Stopped, Verdict};
use ipcost_report::page::{Column, Field, FieldValue, Page, Table, Tone};

use crate::history::{RunList, RunSummary};

/// The identifier tells the time as well, so where the room is short the age goes, too.
const COLUMNS: [Column; 8] = [
    Column::text("when").dropped(3),
    Column::text("id"),
    Column::text("name"),
    Column::text("host").dropped(5),
    Column::text("kernel").dropped(4),
    Column::number("answered"),
    Column::text("verdicts").dropped(6),
    Column::text("job"),
];
/// More values than this are counted instead of named.
const MOST_NAMED: usize = 3;

/// The page of a list; `ages` are the times since its runs were saved.
pub fn page(list: &RunList, ages: &[Duration]) -> Page<'static> {
    let mut page = Page::new("Saved runs");
    page.about.push(list.directory.clone());
    let row = |(run, age): (&RunSummary, &Duration)| {
        vec![
            Field::from(FieldValue::Name(when(run, *age))).toned(Tone::Quiet),
            FieldValue::Name(run.id.clone()).into(),
            Field::maybe(run.name.clone().map(FieldValue::Name)).toned(Tone::Strong),
            FieldValue::Name(run.host.clone()).into(),
            FieldValue::Name(run.kernel.clone()).into(),
            answered(run),
            verdicts(run),
            FieldValue::Brief(job(run)).into(),
        ]
    };
    page.blocks.push(Table::new(&COLUMNS).rows(list.runs.iter().zip(ages).map(row)).into());
    page.data = Some(data(list));
    page
}

/// A row a run, with all that the list knows of it.
fn data(list: &RunList) -> Table {
    const COLUMNS: [Column; 9] = [
        Column::text("id"),
        Column::text("name"),
        Column::text("saved"),
        Column::text("host"),
        Column::text("kernel"),
        Column::text("tool version"),
        Column::text("state"),
        Column::text("verdicts"),
        Column::text("job"),
    ];
    let text = |text: &str| Field::from(FieldValue::Name(text.to_owned()));
    let row = |run: &RunSummary| {
        vec![
            text(&run.id),
            text(run.name.as_deref().unwrap_or_default()),
            text(&run.saved),
            text(&run.host),
            text(&run.kernel),
            text(&run.tool_version),
            text(match run.state {
                RunState::Running => "running",
                RunState::Unfinished => "unfinished",
                RunState::Finished => run.stopped.name(),
            }),
            verdicts(run),
            text(&job(run)),
        ]
    };
    Table::new(&COLUMNS).rows(list.runs.iter().map(row))
}

/// How long ago, and after two months the day.
fn when(run: &RunSummary, age: Duration) -> String {
    const MINUTE: u64 = 60;
    const HOUR: u64 = 60 * MINUTE;
    const DAY: u64 = 24 * HOUR;
    match age.as_secs() {
        0..MINUTE => "just now".to_owned(),
        seconds @ MINUTE..HOUR => format!("{} min ago", seconds / MINUTE),
        seconds @ HOUR..DAY => format!("{} h ago", seconds / HOUR),
        seconds if seconds < 2 * DAY => "1 day ago".to_owned(),
        seconds if seconds < 60 * DAY => format!("{} days ago", seconds / DAY),
        _ => run.saved.chars().take("2026-01-01".len()).collect(),
    }
}

/// What was measured: `rr stream, unix tcp, 64 B to 16 KiB`; what is as usual is not told.
pub fn job(run: &RunSummary) -> String {
    let patterns: Vec<&str> = run.patterns.iter().map(|pattern| pattern.name()).collect();
    let mut parts = vec![patterns.join(" ")];
    if let Some(kind) = &run.kind {
        parts.insert(0, kind.clone());
    }
    if run.placements != [Placement::Free] {
        let names: Vec<String> = run.placements.iter().map(|known| known.shown().to_owned()).collect();
        parts.push(few(&names, "placements"));
    }
    parts.extend([few(&run.transports, "transports"), sizes(&run.sizes)]);
    if run.concurrency != [1] {
        let counts: Vec<String> = run.concurrency.iter().map(u32::to_string).collect();
        parts.push(match counts.len() {
            ..=MOST_NAMED => format!("concurrency {}", counts.join(" ")),
            many => format!("{many} concurrencies"),
        });
    }
    if run.peers != [NATIVE] {
        parts.push(few(&run.peers, "peers"));
    }
    parts.retain(|part| !part.is_empty());
    parts.join(", ")
}

fn few(names: &[String], what: &str) -> String {
    match names.len() {
        ..=MOST_NAMED => names.join(" "),
        many => format!("{many} {what}"),
    }
}

/// Of requests to servers none is known.
fn sizes(bytes: &[u64]) -> String {
    if bytes == [0] {
        return String::new();
    }
    match (bytes.iter().min(), bytes.iter().max()) {
        (Some(least), Some(most)) if least == most => size_text(*least),
        (Some(least), Some(most)) => format!("{} to {}", size_text(*least), size_text(*most)),
        _ => String::new(),
    }
}

/// How many contrasts are answered, of all; or that the run did not end well.
fn answered(run: &RunSummary) -> Field {
    let state = match (run.state, run.stopped) {
        (RunState::Running, _) => {
            return Field::from(FieldValue::Name("running".to_owned())).toned(Tone::Strong);
        }
        (RunState::Unfinished, _) => "unfinished".to_owned(),
        (RunState::Finished, Stopped::Interrupted | Stopped::Failed) => run.stopped.to_string(),
        (RunState::Finished, _) => {
            let counted = run.verdicts.each();
            let all: u64 = counted.iter().map(|(_, count)| u64::from(*count)).sum();
            let is_answer = |(verdict, _): &&(Verdict, u32)| verdict.is_answer();
            let known: u64 = counted.iter().filter(is_answer).map(|(_, count)| u64::from(*count)).sum();
            return Field::maybe((all > 0).then(|| FieldValue::Name(format!("{known} of {all}"))));
        }
    };
    Field::from(FieldValue::Name(state)).toned(Tone::Caution)
}

/// How many contrasts are known to be what; before it, that the run did not end well.
fn verdicts(run: &RunSummary) -> Field {
    let counted = run.verdicts.each().into_iter().filter(|(_, count)| *count > 0);
    let known: Vec<String> = counted.map(|(verdict, count)| format!("{count} {verdict}")).collect();
    let known = if known.is_empty() { "nothing compared".to_owned() } else { known.join(", ") };
    let (before, tone) = match (run.state, run.stopped) {
        (RunState::Running, _) => ("running".to_owned(), Tone::Strong),
        (RunState::Unfinished, _) => ("unfinished".to_owned(), Tone::Caution),
        (RunState::Finished, Stopped::Interrupted | Stopped::Failed) => {
            (run.stopped.to_string(), Tone::Caution)
        }
        (RunState::Finished, Stopped::Resolved | Stopped::Budget) => {
            return FieldValue::Name(known).into();
        }
    };
    Field::from(FieldValue::Name(format!("{before}: {known}"))).toned(tone)
}

#[cfg(test)]
mod tests {
    use ipcost_report::fixture;
    use unicode_width::UnicodeWidthStr;

    use super::*;
    use crate::history::RUNS_SCHEMA;

    fn list() -> (RunList, Vec<Duration>) {
        let usual = |id: &str| RunSummary::of(&fixture::document(), id, "2026-01-01T00:00:30Z", 40_000);
        let mut named = usual("20260101-000030-00a1");
        named.name = Some("before \u{1b}[31m".to_owned());
        named.host = "here".to_owned();
        let mut failed = usual("20251231-000030-00a2");
        failed.stopped = Stopped::Failed;
        failed.verdicts = Default::default();
        (failed.concurrency, failed.sizes) = (vec![1, 8], vec![64]);
        failed.transports = ["pipe", "fifo", "unix", "tcp"].map(str::to_owned).to_vec();
        (failed.peers, failed.placements) =
            (vec!["native".to_owned(), "ruby".to_owned()], vec![Placement::Apart]);
        let list = RunList {
            schema: RUNS_SCHEMA.to_owned(),
            directory: "/runs".to_owned(),
            total: 4,
            runs: vec![named, usual("20251231-230030-00a3"), failed, usual("old")],
            unreadable: Vec::new(),
        };
        (list, [30, 3_700, 90_000, 9_000_000].map(Duration::from_secs).to_vec())
    }

    #[test]
    fn a_line_a_run() {
        let (list, ages) = list();
        fixture::assert_fits(&page(&list, &ages));
        let shown = page(&list, &ages).terminal(false, usize::MAX);
        insta::assert_snapshot!(anstream::adapter::strip_str(&shown).to_string());
        assert!(shown.contains("before \\u{1b}[31m"), "nothing raw from outside");
    }

    #[test]
    fn where_the_room_is_short_the_identifiers_stay() {
        let (mut list, ages) = list();
        list.runs.truncate(3);
        let shown = page(&list, &ages).terminal(false, 72);
        let shown = anstream::adapter::strip_str(&shown).to_string();
        insta::assert_snapshot!(shown);
        assert!(shown.lines().all(|line| line.width() <= 72), "{shown}");
    }
}
