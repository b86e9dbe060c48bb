//! Saved runs on a terminal: one line each.

use std::time::Duration;

use anstyle::{AnsiColor, Style};
use ipcost_model::units::size_text;
use ipcost_model::{NATIVE, Placement, RunState, Stopped, Verdict};
use ipcost_report::grid::{Column, Grid, Piece};
use ipcost_report::words::escaped;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::history::RunSummary;

const BOLD: Style = Style::new().bold();
const DIMMED: Style = Style::new().dimmed();
const WARN: Style = AnsiColor::Yellow.on_default();

/// The identifier tells the time as well, so where the room is short the age goes, too.
const COLUMNS: [Column; 8] = [
    Column::new("when", false, 3),
    Column::new("id", false, 0),
    Column::new("name", false, 0),
    Column::new("host", false, 5),
    Column::new("kernel", false, 4),
    Column::new("answered", true, 0),
    Column::new("job", false, 0),
    Column::new("verdicts", false, 2),
];
/// The longest word of how many are answered: `interrupted`.
const MOST_ANSWERED: usize = 11;
/// The least of a job that is shown, in columns of text.
const LEAST_JOB: usize = 20;
/// More values than this are counted instead of named.
const MOST_NAMED: usize = 3;

/// Draws the runs, each with the time since it was saved, in `room` columns of text.
pub fn render(runs: &[(RunSummary, Duration)], room: usize) -> String {
    let mut grid = Grid::new(&COLUMNS);
    let names = runs.iter().filter_map(|(run, _)| run.name.as_deref());
    let name = names.map(|name| escaped(name).width() + 2).max().unwrap_or(0);
    let ids = runs.iter().map(|(run, _)| run.id.width() + 2).max().unwrap_or(0);
    let left = room.saturating_sub(ids + name + MOST_ANSWERED + 2).max(LEAST_JOB);
    for (run, age) in runs {
        grid.row(vec![
            Piece::styled(when(run, *age), DIMMED),
            run.id.as_str().into(),
            Piece::styled(run.name.as_deref().map(escaped).unwrap_or_default(), BOLD),
            escaped(&run.host).into(),
            escaped(&run.kernel).into(),
            answered(run),
            shortened(&escaped(&job(run)), left).into(),
            verdicts(run),
        ]);
    }
    let mut out = String::new();
    grid.render(&mut out, room);
    out
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
        let names: Vec<String> = run.placements.iter().map(Placement::to_string).collect();
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
fn answered(run: &RunSummary) -> Piece {
    let state = match (run.state, run.stopped) {
        (RunState::Running, _) => return Piece::styled("running", BOLD),
        (RunState::Unfinished, _) => "unfinished".to_owned(),
        (RunState::Finished, Stopped::Interrupted | Stopped::Failed) => run.stopped.to_string(),
        (RunState::Finished, _) => {
            let counted = run.verdicts.each();
            let all: u64 = counted.iter().map(|(_, count)| u64::from(*count)).sum();
            let is_answer = |(verdict, _): &&(Verdict, u32)| verdict.is_answer();
            let known: u64 = counted.iter().filter(is_answer).map(|(_, count)| u64::from(*count)).sum();
            return if all == 0 { Piece::default() } else { format!("{known} of {all}").into() };
        }
    };
    Piece::styled(state, WARN)
}

/// Text in at most so many columns.
fn shortened(text: &str, room: usize) -> String {
    if text.width() <= room {
        return text.to_owned();
    }
    let mut left = room.saturating_sub(1);
    let fits = |letter: &char| {
        let width = letter.width().unwrap_or(0);
        left.checked_sub(width).map(|rest| left = rest).is_some()
    };
    let kept: String = text.chars().take_while(fits).collect();
    format!("{}…", kept.trim_end())
}

/// How many contrasts are known to be what; before it, that the run did not end well.
fn verdicts(run: &RunSummary) -> Piece {
    let counted = run.verdicts.each().into_iter().filter(|(_, count)| *count > 0);
    let known: Vec<String> = counted.map(|(verdict, count)| format!("{count} {verdict}")).collect();
    let known = if known.is_empty() { "nothing compared".to_owned() } else { known.join(", ") };
    match run.state {
        RunState::Finished => {}
        RunState::Running => return Piece::styled(format!("running: {known}"), BOLD),
        RunState::Unfinished => return Piece::styled(format!("unfinished: {known}"), WARN),
    }
    match run.stopped {
        Stopped::Resolved | Stopped::Budget => known.into(),
        Stopped::Interrupted | Stopped::Failed => Piece::styled(format!("{}: {known}", run.stopped), WARN),
    }
}

#[cfg(test)]
mod tests {
    use ipcost_report::fixture;

    use super::*;

    fn runs() -> Vec<(RunSummary, Duration)> {
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
        [(named, 30), (usual("20251231-230030-00a3"), 3_700), (failed, 90_000), (usual("old"), 9_000_000)]
            .map(|(run, age)| (run, Duration::from_secs(age)))
            .to_vec()
    }

    #[test]
    fn a_line_a_run() {
        let shown = anstream::adapter::strip_str(&render(&runs(), usize::MAX)).to_string();
        insta::assert_snapshot!(shown);
        assert!(render(&runs(), usize::MAX).contains("before \\u{1b}[31m"), "nothing raw from outside");
    }

    #[test]
    fn where_the_room_is_short_the_identifiers_stay() {
        let shown = anstream::adapter::strip_str(&render(&runs()[..3], 72)).to_string();
        insta::assert_snapshot!(shown);
        assert!(shown.lines().all(|line| line.width() <= 72), "{shown}");
    }
}
