//! The ledgers' cells against plain runs of the articles' methods, alternating: docs/faithfulness.md.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use ipcost_features::replicate::{ClaimTest, Replication, ReplicationRun, Software};
use ipcost_features::replicate::{MeasuredSoftware, by_epoch, cells_of, quantity_of, sender_timed};
use ipcost_foreign::Cache;
use ipcost_lab::bench::{BatchKind, BatchOutcome, Bench};
use ipcost_lab::progress::Silent;
use ipcost_lab::{
    CampaignState, Contrasts, EngineError, PeerProgram, PlanSettings, ProcessBench, System, plan, run,
};
use ipcost_model::{Expanded, Job, NATIVE, Offers, Placement, PlannedCell, Quantity, expand};
use ipcost_stats::{Interval, epoch_interval, median};
use ipcost_sys::interrupt::Interrupt;
use ipcost_sys::transport;

use crate::common::{build_ipcost, ipcost, processors, ratio_text};
use crate::plain::{PlainFigures, PlainPrograms};
use xtask::shell::{path_text, root};

/// The experiments, in the order of the docs.
const EXPERIMENTS: [&str; 7] = [
    "celluloid-connect", "c-stream", "go-pingpong", "socat-bulk", "redis-incr", "ipc-bench-pingpong",
    "rust-pingpong",
];
/// The pause before either side: a process that runs right after a busy program is woken sooner by a hypervisor that
/// has learnt to wait for it.
const PAUSE: Duration = Duration::from_millis(250);
/// The batch length if the experiment sets none: about as long as the plain programs run. The first operations after
/// the pause are slower, by up to a quarter of a second where the hypervisor must learn again to wait.
const BATCH: Duration = Duration::from_millis(250);
/// The largest acceptable distance of a ratio from the plain one, regardless of intervals.
const MOST: f64 = 0.10;
/// The probability that any of an experiment's intervals misses.
const ALPHA: f64 = 0.05;

/// Runs every experiment as its article says, with programs that know nothing of ipcost, alternating with the cells
/// of its ledger. The scheduler places the processes of both, as it does for the ledger; or `apart`, on separate cores,
/// to compare only the methods.
pub fn bench(turns: u32, words: &[&str]) -> Result<()> {
    build_ipcost()?;
    let (placement, only) = match words.split_first() {
        Some((&"free", rest)) => (Placement::Free, rest),
        Some((&"apart", rest)) => (Placement::Apart, rest),
        _ => (Placement::Free, words),
    };
    // Words with a space select tests by their description.
    let (about, only): (Vec<&str>, Vec<&str>) = only.iter().partition(|word| word.contains(' '));
    for name in &only {
        ensure!(EXPERIMENTS.contains(name), "{name} is none of {}", EXPERIMENTS.join(", "));
    }
    let mut all = Rows::default();
    println!(
        "| experiment | ratio | plainly, at this part of the counts | plainly | ledger | ledger / plainly | |\n|---|---|---|---|---|---|---|"
    );
    for name in EXPERIMENTS.iter().filter(|name| only.is_empty() || only.contains(name)) {
        all.add(experiment(name, turns, placement, &about).with_context(|| (*name).to_owned())?);
    }
    println!("\n{}", all.words());
    ensure!(all.wrong == 0, "{} ratios that decide a claim differ from the plain ones", all.wrong);
    Ok(())
}

/// What the rows show.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
struct Rows {
    all: usize,
    open: usize,
    differ: usize,
    /// Those that differ and decide a claim.
    wrong: usize,
}

impl Rows {
    fn add(&mut self, more: Self) {
        self.all += more.all;
        self.open += more.open;
        self.differ += more.differ;
        self.wrong += more.wrong;
    }

    /// `none of 66 rows shown to differ, 39 of 66 open`.
    fn words(self) -> String {
        let differ = if self.differ == 0 { "none".to_owned() } else { self.differ.to_string() };
        format!("{differ} of {all} rows shown to differ, {} of {all} open", self.open, all = self.all)
    }
}

fn experiment(name: &str, turns: u32, placement: Placement, about: &[&str]) -> Result<Rows> {
    let text =
        std::fs::read_to_string(root().join(format!("crates/ipcost-features/replications/{name}.toml")))?;
    let replication = toml::from_str::<Replication>(&text)?.on(std::env::consts::OS);
    let run_here = replication.runs.iter().find(|run| run.software == Software::Original);
    let run_here = run_here.context("no run with the original software")?;
    let (tests, expanded) = tests_of_times(&replication, run_here, placement, about)?;
    let job = Job { cells: run_here.cells.clone(), ..Job::default() };
    let batch = Some(run_here.batch.unwrap_or(BATCH));
    let sender_timed = sender_timed(&replication, &expanded.cells);
    let settings =
        PlanSettings { epochs: Some(turns), batch, counted: true, sender_timed, ..PlanSettings::of(&job, 1) };
    let plan = plan(expanded, &settings)?;
    let guard = [path_text(&ipcost())?.to_owned(), "guard".to_owned()];
    let mut turns_of = FaithfulTurns {
        name,
        of: turns,
        peers: ProcessBench::new(&plan, programs(&plan.cells)?, &guard, Interrupt::never()?)?,
        programs: PlainPrograms::of(&plan.cells, processors_of(placement)?)?,
        cells: plan.cells.clone(),
        figures: Vec::new(),
        current: None,
        failure: None,
    };
    let mut outcome = run(plan, &Contrasts, &mut turns_of, &mut System::default(), &mut Silent);
    eprintln!();
    if let Some(failure) = outcome.failure.take() {
        return Err(failure.into());
    }
    if let Some(failure) = turns_of.failure.take() {
        return Err(failure);
    }
    turns_of.show_cells(&outcome);
    let untraced = BTreeMap::new();
    let (plan, batches) = (&outcome.plan, outcome.batches());
    let measured = MeasuredSoftware::each((Software::Original, &plan.cells, &[]), plan, &batches, &untraced);
    Ok(show(name, &tests, &measured[0], &turns_of.figures))
}

/// The tests of claims that compare times, without duplicates, and the cells that they need. Those that decide nothing
/// are the article's other sizes, or another measure of the same.
fn tests_of_times(
    replication: &Replication,
    run: &ReplicationRun,
    placement: Placement,
    about: &[&str],
) -> Result<(Vec<ClaimTest>, Expanded)> {
    let mut tests: Vec<ClaimTest> = Vec::new();
    let all = replication.claims.iter().flat_map(|claim| &claim.tests);
    let mut all: Vec<&ClaimTest> = all.filter(|test| test.is_for(Software::Original)).collect();
    // Of two that are the same, the one that decides is kept.
    all.sort_by_key(|test| !test.decides);
    for test in all {
        let counts = ["tcp_segments", "disk_bytes_written"];
        let is_time = !test.same_system_calls
            && !counts.contains(&quantity_of(test, &test.a).measure.to_string().as_str());
        let is_new = tests
            .iter()
            .all(|known| (&known.a, &known.b, &known.measure) != (&test.a, &test.b, &test.measure));
        let is_wanted = about.is_empty() || about.iter().any(|words| test.about.contains(words));
        if is_wanted && is_time && is_new && test.b.is_some() {
            tests.push(test.clone());
        }
    }
    let job = Job { cells: run.cells.clone(), ..Job::default() };
    let transports = transport::states();
    let peers = ipcost_foreign::states();
    let offers = Offers {
        transports: &transports,
        placements_unavailable: &[],
        peers: &peers,
        lacks: Offers::LACKS_NOTHING,
    };
    let mut expanded = expand(&job, &offers)?;
    let used: Vec<String> = tests
        .iter()
        .filter_map(|test| cells_of(test, &expanded.cells))
        .flatten()
        .map(|index| expanded.cells[index].id.clone())
        .collect();
    expanded.cells.retain(|cell| used.contains(&cell.id));
    expanded.workloads.clear();
    // Tests of claims are free; move both sides of the comparison to the requested placement.
    expanded.cells.iter_mut().for_each(|cell| cell.placement = placement);
    for test in &mut tests {
        std::iter::once(&mut test.a)
            .chain(&mut test.b)
            .for_each(|side| side.columns.retain(|(name, _)| *name != "placement"));
    }
    Ok((tests, expanded))
}

/// The processors of client and server, if they have one each.
fn processors_of(placement: Placement) -> Result<Option<(usize, usize)>> {
    if placement == Placement::Free { Ok(None) } else { processors(placement).map(Some) }
}

fn programs(cells: &[PlannedCell]) -> Result<Vec<PeerProgram>> {
    let cache = Cache::of_user()?;
    let native = [path_text(&ipcost())?, "peer"].map(str::to_owned).to_vec();
    let own = std::env::current_exe()?.display().to_string();
    let mut all = vec![PeerProgram::new(NATIVE, native)];
    for peer in ipcost_foreign::all() {
        if cells.iter().any(|cell| cell.client == peer.name || cell.server == peer.name) {
            let mut command = peer.prepare(&cache, &mut |what| eprintln!("xtask: {what}"))?;
            if command[0] == own {
                // Peers that drive real programs are part of ipcost, not of this program.
                path_text(&ipcost())?.clone_into(&mut command[0]);
            }
            all.push(PeerProgram::new(peer.name, command));
        }
    }
    Ok(all)
}

/// Real peers, with the equivalent plain program just before each of a cell's batches.
struct FaithfulTurns<'a> {
    name: &'a str,
    of: u32,
    peers: ProcessBench,
    programs: PlainPrograms,
    cells: Vec<PlannedCell>,
    /// By turn and cell.
    figures: Vec<Vec<Option<PlainFigures>>>,
    /// The cell whose batches are running.
    current: Option<usize>,
    failure: Option<anyhow::Error>,
}

impl Bench for FaithfulTurns<'_> {
    fn elapsed(&self) -> Duration {
        self.peers.elapsed()
    }

    fn start_epoch(&mut self, epoch: u32, order: &[usize]) -> Result<(), EngineError> {
        if epoch > 0 {
            self.figures.push(vec![None; self.cells.len()]);
            eprint!("\rxtask: {}: {epoch} of {} turns", self.name, self.of);
        }
        self.current = None;
        self.peers.start_epoch(epoch, order)
    }

    fn verify(&mut self, cell: usize, ops: u64) -> Result<(), EngineError> {
        self.peers.verify(cell, ops)
    }

    fn batch(&mut self, cell: usize, ops: u64, kind: BatchKind) -> Result<BatchOutcome, EngineError> {
        if let Some(turn) = self.figures.last_mut().filter(|_| self.current != Some(cell)) {
            std::thread::sleep(PAUSE);
            match self.programs.run(&self.cells[cell]) {
                Ok(figures) => {
                    turn[cell] = figures;
                    std::thread::sleep(PAUSE);
                }
                Err(error) => {
                    self.failure = Some(error);
                    return Err(EngineError::Interrupted);
                }
            }
            self.current = Some(cell);
        }
        self.peers.batch(cell, ops, kind)
    }

    fn end_epoch(&mut self) -> Result<(), EngineError> {
        self.peers.end_epoch()
    }

    fn effective(&self, cell: usize) -> serde_json::Map<String, serde_json::Value> {
        self.peers.effective(cell)
    }
}

impl FaithfulTurns<'_> {
    /// Prints the costs of each cell on both sides, for finding the reason of a difference.
    fn show_cells(&self, outcome: &CampaignState) {
        for (index, cell) in self.cells.iter().enumerate() {
            let plain: Vec<f64> =
                self.figures.iter().filter_map(|turn| turn[index].as_ref()?.get("wall").copied()).collect();
            let own = outcome.samples.iter().filter(|sample| sample.cell as usize == index);
            let record: Vec<f64> = own.map(|sample| sample.wall_ns as f64 / sample.ops as f64).collect();
            let shown =
                |values: &[f64]| median(values).map_or_else(|| "–".to_owned(), |ns| format!("{ns:.0}"));
            eprintln!(
                "xtask: {}: plainly {} ns, in the ledger {} ns",
                cell.id,
                shown(&plain),
                shown(&record)
            );
        }
    }
}

/// What two sides that were measured by turns show of one ratio.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Agreement {
    Agrees,
    Differs,
    /// A side has no interval yet.
    Open,
}

/// Of the intervals of both sides, and the logarithm of their quotient.
fn agreement(record: &Interval, plain: &Interval, apart: f64) -> Agreement {
    match (record.bounds, plain.bounds) {
        (Some((lo, hi)), Some((plain_lo, plain_hi))) => {
            let overlap = lo <= plain_hi && plain_lo <= hi;
            if overlap && apart.abs() <= MOST.ln_1p() { Agreement::Agrees } else { Agreement::Differs }
        }
        _ => Agreement::Open,
    }
}

/// The figures of a test, epoch by epoch.
fn medians(measured: &MeasuredSoftware<'_>, test: &ClaimTest) -> Option<Vec<f64>> {
    Some(by_epoch(measured, test)?.into_iter().map(|(_, value)| value).collect())
}

/// Prints a row for each test; returns what they show.
fn show(
    name: &str,
    tests: &[ClaimTest],
    measured: &MeasuredSoftware<'_>,
    figures: &[Vec<Option<PlainFigures>>],
) -> Rows {
    let cells = measured.cells;
    let comparable: Vec<(&ClaimTest, Vec<f64>, Vec<f64>)> = tests
        .iter()
        .filter_map(|test| Some((test, medians(measured, test)?, plainly(test, cells, figures)?)))
        .collect();
    if comparable.len() < tests.len() {
        eprintln!("xtask: {name}: {} ratios have no plain figures", tests.len() - comparable.len());
    }
    let alpha = ALPHA / comparable.len().max(1) as f64;
    let interval = |values: &[f64]| epoch_interval(values, alpha).map(|found| found.interval);
    let mut rows = Rows::default();
    for (test, record, plain) in &comparable {
        let quotient: Vec<f64> = record.iter().zip(plain).map(|(record, plain)| record - plain).collect();
        let (Some(of_ledger), Some(of_plain)) = (interval(record), interval(plain)) else { continue };
        let Some(apart) = median(&quotient) else { continue };
        let agreement = agreement(&of_ledger, &of_plain, apart);
        // Tests marked as contradicted in the ledger decide nothing there.
        let decides = test.decides && test.contradicted.is_none();
        let differs = agreement == Agreement::Differs;
        rows.add(Rows {
            all: 1,
            open: usize::from(agreement == Agreement::Open),
            differ: usize::from(differs),
            wrong: usize::from(differs && decides),
        });
        let shown = |interval: &Interval| {
            let (ratio, bounds) = ratio_text(interval);
            format!("{ratio} ({bounds})")
        };
        let part =
            cells_of(test, cells).map(|named| PlainPrograms::fraction(&cells[named[0]])).unwrap_or_default();
        println!(
            "| {name} | {} | {part} | {} | {} | {:.3} | {} |",
            test.about,
            shown(&of_plain),
            shown(&of_ledger),
            apart.exp(),
            match (agreement, decides) {
                (Agreement::Agrees, _) => "agrees",
                (Agreement::Open, _) => "open",
                (Agreement::Differs, true) => "**differs**",
                (Agreement::Differs, false) => "differs, and decides nothing",
            }
        );
    }
    rows
}

/// A test's figure by the plain programs, one per turn.
fn plainly(
    test: &ClaimTest,
    cells: &[PlannedCell],
    figures: &[Vec<Option<PlainFigures>>],
) -> Option<Vec<f64>> {
    let [a, b] = cells_of(test, cells)?[..] else { return None };
    let side = test.b.as_ref()?;
    let value = |turn: &[Option<PlainFigures>], cell: usize, quantity: &Quantity| {
        let bytes = if quantity.per_byte { cells[cell].cell.size as f64 } else { 1.0 };
        Some(turn[cell].as_ref()?.get(quantity.measure.to_string().as_str())? / bytes)
    };
    let quantities = [quantity_of(test, &test.a), quantity_of(test, side)];
    figures
        .iter()
        .map(|turn| {
            let of_a: f64 = value(turn, a, &quantities[0])?;
            Some(of_a.ln() - value(turn, b, &quantities[1])?.ln())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_without_an_interval_on_both_sides_is_open() {
        let of = |bounds| Interval { median: 0.0, bounds };
        let (known, unknown) = (of(Some((-0.1, 0.1))), of(None));
        assert_eq!(agreement(&known, &known, 0.05), Agreement::Agrees);
        assert_eq!(agreement(&known, &known, 0.2), Agreement::Differs);
        assert_eq!(agreement(&known, &of(Some((0.2, 0.3))), 0.05), Agreement::Differs);
        assert_eq!(agreement(&known, &unknown, 0.0), Agreement::Open);
        assert_eq!(agreement(&unknown, &known, 0.9), Agreement::Open);
        let rows = Rows { all: 3, open: 2, ..Rows::default() };
        assert_eq!(rows.words(), "none of 3 rows shown to differ, 2 of 3 open");
    }
}
