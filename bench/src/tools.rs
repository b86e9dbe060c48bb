//! ipcost against tools that know nothing of it, by turns: docs/trust.md.

mod comparisons;
mod ours;
mod programs;

use anyhow::{Context, Result, bail, ensure};
use ipcost_model::Placement;
use ipcost_stats::Random;

use self::comparisons::{COMPARISONS, TOOLS, ToolComparison};
pub use self::comparisons::{ComparedTool, REDIS_BENCHMARK};
use crate::common::{BenchRecord, build_ipcost, processors};
use crate::table::TextTable;
use crate::verdict::{
    BenchVerdict, ComparedRow, Reason, ensure_none_wrong, print_compared, quotient_or_none, time_or_none,
    verdict,
};

/// The probability that a row's interval misses. It is not shared over the rows: with ten turns none would have an
/// interval then.
const ALPHA: f64 = 0.05;
/// How often a turn is tried: on a busy machine some tools now and then end without a figure.
const TRIES: usize = 3;
const THEIRS: usize = 0;
const OURS: usize = 1;
/// The last column is for Markdown.
const HEADER: [&str; 8] = [
    "tool", "measured", "placement", "tool's", "ipcost", "ipcost / tool", "verdict",
    "what the tool does differently",
];

/// One row, while it is measured.
struct ToolSubject {
    comparison: &'static ToolComparison,
    placement: Placement,
    /// The processors of client and server.
    place: (usize, usize),
    failure: Option<String>,
}

/// Runs every tool and ipcost's cell for the same work once in each turn, in random order.
///
/// # Errors
/// If ipcost cannot be built, a row cannot be measured, or a row differs for no named reason.
pub fn bench(turns: u32, words: &[&str]) -> Result<()> {
    if cfg!(not(target_os = "linux")) {
        bail!("the tools are those of Linux");
    }
    let (options, names): (Vec<&str>, Vec<&str>) = words.iter().partition(|word| word.starts_with("--"));
    for option in &options {
        ensure!(*option == "--markdown", "bench tools has no option {option}; it has --markdown");
    }
    for name in &names {
        let known: Vec<&str> = TOOLS.iter().map(|tool| tool.name).collect();
        ensure!(known.contains(name), "{name} is none of {}", known.join(", "));
    }
    build_ipcost()?;
    let (mut subjects, not_run) = subjects(&names);
    let record = measure(&mut subjects, turns);
    let rows: Vec<ComparedRow<8>> =
        subjects.iter().enumerate().map(|(index, subject)| row(index, subject, &record)).collect();
    if options.is_empty() {
        let figures = "Times are of one operation: a round trip, a request or a block.";
        print_compared(&aligned(&rows), figures, &rows, &not_run);
        println!();
    }
    let lines = rows.iter().flat_map(|row| row.lines.iter().cloned()).collect();
    let table = TextTable { header: HEADER, numbers: 3..5, rows: lines };
    table.markdown().iter().for_each(|line| println!("{line}"));
    for reason in &not_run {
        println!("| not run: {reason} {}", "| ".repeat(HEADER.len()).trim_end());
    }
    ensure_none_wrong(&rows, "rows")
}

/// For a terminal, which has no room for what tools do.
fn aligned(rows: &[ComparedRow<8>]) -> TextTable<7> {
    let line = |line: &[String; 8]| std::array::from_fn(|column| line[column].clone());
    let rows = rows.iter().flat_map(|row| &row.lines).map(line).collect();
    TextTable { header: std::array::from_fn(|column| HEADER[column]), numbers: 3..5, rows }
}

/// What can be measured here, and what cannot, with the reason.
fn subjects(names: &[&str]) -> (Vec<ToolSubject>, Vec<String>) {
    let (mut subjects, mut not_run) = (Vec::new(), Vec::new());
    let wanted = |comparison: &&ToolComparison| names.is_empty() || names.contains(&comparison.tool.name);
    for comparison in COMPARISONS.iter().filter(wanted) {
        if let Some(reason) = comparison.lacks() {
            not_run.push(format!("{} ({}): {reason}", comparison.tool.name, comparison.measured));
            continue;
        }
        for &placement in comparison.placements {
            match processors(placement) {
                Ok(place) => subjects.push(ToolSubject { comparison, placement, place, failure: None }),
                Err(error) => not_run.push(format!(
                    "{} ({}), {placement}: {error}",
                    comparison.tool.name, comparison.measured
                )),
            }
        }
    }
    (subjects, not_run)
}

fn measure(subjects: &mut [ToolSubject], turns: u32) -> BenchRecord {
    let (mut record, mut random) = (BenchRecord::default(), Random::new(1));
    let mut order: Vec<usize> = (0..subjects.len()).collect();
    for turn in 0..turns as usize {
        random.shuffle(&mut order);
        for (done, &index) in order.iter().enumerate() {
            let subject = &mut subjects[index];
            if subject.failure.is_some() {
                continue;
            }
            eprint!("\rxtask: turn {} of {turns}, row {} of {} ", turn + 1, done + 1, order.len());
            let is_first = random.below(2) == 0;
            match tried(|| pair(subject, is_first)) {
                Ok((theirs, ours)) => {
                    record.add(index, THEIRS, turn, theirs);
                    record.add(index, OURS, turn, ours);
                }
                Err(error) => subject.failure = Some(format!("{error:#}")),
            }
        }
    }
    eprintln!();
    record
}

/// The first success, or the last failure.
pub fn tried<T>(mut attempt: impl FnMut() -> Result<T>) -> Result<T> {
    let mut outcome = attempt();
    for _ in 1..TRIES {
        if outcome.is_err() {
            outcome = attempt();
        }
    }
    outcome
}

/// The tool's figure and ours, nanoseconds, one right after the other.
fn pair(subject: &ToolSubject, tool_first: bool) -> Result<(f64, f64)> {
    let ToolSubject { comparison, placement, place, .. } = subject;
    let theirs = || {
        let figure = (comparison.run)(*place)?;
        ensure!(figure.is_finite() && figure > 0.0, "its figure is {figure}");
        Ok(figure)
    };
    let theirs = || theirs().with_context(|| comparison.tool.name);
    let ours = || ours::measure(comparison, *placement).context("ipcost");
    if tool_first {
        let theirs = theirs()?;
        Ok((theirs, ours()?))
    } else {
        let ours = ours()?;
        Ok((theirs()?, ours))
    }
}

fn row(index: usize, subject: &ToolSubject, record: &BenchRecord) -> ComparedRow<8> {
    let ToolSubject { comparison, placement, failure, .. } = subject;
    let ratio = record.ratio(index, OURS, THEIRS, ALPHA);
    let verdict = match (failure, &ratio) {
        (None, Some(ratio)) => verdict(ratio, comparison.differs.map(Reason::Below)),
        _ => BenchVerdict::Failed,
    };
    let (tool, measured) = (comparison.tool.name, comparison.measured);
    let differs = comparison.differs.map(|why| format!(" What it does more: {why}.")).unwrap_or_default();
    let remark = format!("{}{differs}", comparison.does);
    let line = [
        tool.to_owned(),
        measured.to_owned(),
        placement.to_string(),
        time_or_none(record.cost(index, THEIRS)),
        time_or_none(record.cost(index, OURS)),
        quotient_or_none(ratio.as_ref()),
        verdict.word().to_owned(),
        failure.as_ref().map_or_else(|| remark.clone(), |failure| failure.replace(['|', '\n'], " ")),
    ];
    ComparedRow {
        name: format!("{tool} ({measured}), {placement}"),
        lines: vec![line],
        remark: Some((format!("{tool} ({measured})"), remark)),
        verdict,
        failure: failure.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{WIDTH, wrapped};

    fn rows() -> Vec<ComparedRow<8>> {
        let all = COMPARISONS.iter().flat_map(|comparison| {
            comparison.placements.iter().map(move |&placement| (comparison, placement))
        });
        let row = |(comparison, placement)| {
            let mut record = BenchRecord::default();
            for (epoch, ratio) in [0.123, 12.346].into_iter().cycle().take(20).enumerate() {
                record.add(0, THEIRS, epoch, 12_345.6);
                record.add(0, OURS, epoch, 12_345.6 * ratio);
            }
            let subject = ToolSubject { comparison, placement, place: (0, 1), failure: None };
            let mut row = row(0, &subject, &record);
            BenchVerdict::Explained.word().clone_into(&mut row.lines[0][6]);
            row
        };
        all.map(row).collect()
    }

    #[test]
    fn the_table_fits_a_terminal_of_100_columns() {
        let lines = aligned(&rows()).lines();
        assert!(lines[1].contains("(0.12–12.35)"), "{}", lines[1]);
        for line in lines {
            assert!(line.chars().count() <= WIDTH, "{line}");
        }
    }

    #[test]
    fn sentences_wrap_within_the_width_and_lose_no_word() {
        for (_, text) in rows().into_iter().filter_map(|row| row.remark) {
            let lines = wrapped(&text);
            assert!(lines.iter().all(|line| line.chars().count() <= WIDTH), "{lines:?}");
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            assert_eq!(words(&lines.join(" ")), words(&text));
        }
    }
}
