//! Trying a remedy: the cell with and without it, by turns, right after the cause was recognised.

use std::time::Duration;

use ipcost_lab::estimate::estimate_of_logs;
use ipcost_lab::planning::ALPHA;
use ipcost_lab::progress::Observer;
use ipcost_lab::{Answered, CampaignState, Lab, LabError, Needed, PlanSettings, rules};
use ipcost_model::{
    Estimate, Job, LatencyMode, Matrix, Metric, OptionName, OptionValue, Placement, Plan, Verdict, choices,
    parse_cell_id,
};
use ipcost_report::numbers::ratio;
use ipcost_sys::interrupt::Interrupt;

use super::run::ids_of;
use super::{Explanation, NamedCause, Tried};

/// How long each remedy may take.
const EACH: Duration = Duration::from_secs(5);
/// A buffer that holds many messages, bytes; not every pipe may get more.
const LARGE_BUFFER: u64 = 1 << 20;
/// What a receiver usually asks for, bytes.
const USUAL_READ: u64 = 64 << 10;
/// More connections than come at once.
const LARGE_BACKLOG: u64 = 4_096;

/// A cell with what is to be tried in it.
#[derive(Debug, Clone, PartialEq)]
struct OptionTrial {
    cell: String,
    /// The same with the remedy.
    remedied: Matrix,
    setting: String,
    /// The causes that it is for, as indices.
    causes: Vec<usize>,
}

/// Measures every remedy that is an option here, and tells each cause what it brought; tells how many there were.
pub fn try_remedies(
    explanation: &mut Explanation,
    plan: &Plan,
    job: &Job,
    lab: &Lab,
    interrupt: &Interrupt,
    observer: &mut dyn Observer,
) -> Result<usize, LabError> {
    let trials = trials(&explanation.causes);
    if trials.is_empty() {
        return Ok(0);
    }
    let seed = plan.seed.wrapping_add(1);
    let mut cells = Vec::new();
    for trial in &trials {
        cells.push(parse_cell_id(&trial.cell)?);
        cells.push(trial.remedied.clone());
    }
    let job = Job { cells, floor: false, baseline: None, epochs: None, ..job.clone() };
    let expanded = lab.cells(&job)?;
    let place = |matrix: &Matrix| -> Result<Option<usize>, LabError> {
        let ids = ids_of(matrix, &job, lab)?;
        let found = expanded.cells.iter().position(|cell| ids.contains(&cell.id));
        Ok(found.filter(|index| expanded.cells[*index].unavailable.is_none()))
    };
    let mut pairs = Vec::new();
    for pair in job.cells.chunks(2) {
        pairs.push(place(&pair[1])?.zip(place(&pair[0])?));
    }
    let of = pairs.iter().flatten().count();
    let question = Remedies { pairs: pairs.iter().flatten().copied().collect(), margin: plan.margin };
    let settings = PlanSettings {
        budget: Some(EACH * of.max(1) as u32),
        latency: LatencyMode::Off,
        level: Some(question.level()),
        ..PlanSettings::of(&job, seed)
    };
    let (outcome, _) = lab.run(lab.plan(expanded, &settings)?, &question, interrupt, |_| observer)?;
    for (trial, pair) in trials.iter().zip(pairs) {
        let Some((with, without)) = pair else { continue };
        let Some(found) = question.ratio(&outcome, with, without) else { continue };
        let tried = Tried {
            cell: outcome.plan.cells[with].id.clone(),
            setting: trial.setting.clone(),
            ratio: found,
            verdict: Verdict::of(found.lo.zip(found.hi), plan.margin),
        };
        for cause in &trial.causes {
            let cause = &mut explanation.causes[*cause];
            cause.tried = Some(tried.clone());
            take_back(cause);
        }
    }
    explanation.causes.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    Ok(of)
}

/// A remedy that costs more is none: the cause says so instead, and comes last.
fn take_back(cause: &mut NamedCause) {
    let Some(tried) = &cause.tried else { return };
    let costs_more =
        matches!(tried.verdict, Verdict::Different | Verdict::Direction) && tried.ratio.median > 1.0;
    if costs_more {
        cause.remedy =
            format!("leave it: {} would cost {} × as much", tried.setting, ratio(tried.ratio.median));
        cause.weight = 0.0;
    }
}

/// Cells with their remedy against the same without it.
struct Remedies {
    pairs: Vec<(usize, usize)>,
    margin: f64,
}

impl Remedies {
    fn level(&self) -> f64 {
        ALPHA / self.pairs.len().max(1) as f64
    }

    fn ratio(&self, outcome: &CampaignState, with: usize, without: usize) -> Option<Estimate> {
        estimate_of_logs(&outcome.batches().log_ratios(Metric::Wall, with, without), self.level())
    }
}

impl ipcost_lab::Question for Remedies {
    fn answered(&self, so_far: &CampaignState) -> Answered {
        let decided = |(with, without): &&(usize, usize)| {
            let bounds = self.ratio(so_far, *with, *without).and_then(|ratio| ratio.lo.zip(ratio.hi));
            Verdict::of(bounds, self.margin) != Verdict::Undecided
        };
        let open: Vec<usize> = self
            .pairs
            .iter()
            .filter(|pair| !decided(pair))
            .flat_map(|(with, without)| [*with, *without])
            .collect();
        let (of, left) = (self.pairs.len() as u32, open.len() as u32 / 2);
        let needed = if open.is_empty() { Needed::Nothing } else { Needed::Cells(open) };
        Answered { resolved: of - left, of, needed }
    }
}

/// What can be tried, each setting once for a cell.
fn trials(causes: &[NamedCause]) -> Vec<OptionTrial> {
    let mut trials: Vec<OptionTrial> = Vec::new();
    for (index, cause) in causes.iter().enumerate() {
        let Some(cell) = &cause.cell else { continue };
        let Ok(matrix) = parse_cell_id(cell) else { continue };
        let Some((remedied, setting)) = remedied(&cause.code, matrix) else { continue };
        match trials.iter_mut().find(|trial| trial.cell == *cell && trial.setting == setting) {
            Some(trial) => trial.causes.push(index),
            None => trials.push(OptionTrial { cell: cell.clone(), remedied, setting, causes: vec![index] }),
        }
    }
    trials
}

/// A cell with the remedy of a cause, and the setting in words; `None` where the remedy is no option here.
fn remedied(code: &str, mut cell: Matrix) -> Option<(Matrix, String)> {
    let transport = cell.transport.0.first().map(String::as_str).unwrap_or_default();
    let is_pipe = matches!(transport, "pipe" | "fifo");
    let settings: Vec<(&str, OptionValue)> = match code {
        code if code == rules::NAGLE.code => vec![("tcp_nodelay", OptionValue::Bool(true))],
        code if code == rules::SMALL_BUFFER.code && is_pipe => {
            vec![("pipe_size", OptionValue::Int(LARGE_BUFFER))]
        }
        code if code == rules::SMALL_BUFFER.code => {
            vec![("so_sndbuf", OptionValue::Int(LARGE_BUFFER)), ("so_rcvbuf", OptionValue::Int(LARGE_BUFFER))]
        }
        code if code == rules::SMALL_READS.code => vec![("recv_buffer", OptionValue::Int(USUAL_READ))],
        code if code == rules::BACKLOG.code => vec![("backlog", OptionValue::Int(LARGE_BACKLOG))],
        code if code == rules::DESCRIPTOR_TABLE.code => {
            vec![("descriptor_table", OptionValue::Text(choices::DescriptorTable::Private.name().to_owned()))]
        }
        code if code == rules::ONE_CORE.code || code == rules::HAND_OVER.code => {
            let placement = if code == rules::ONE_CORE.code { Placement::Apart } else { Placement::Together };
            cell.placement = vec![placement].into();
            return Some((cell, format!("placement={}", placement.shown())));
        }
        _ => return None,
    };
    let mut words = Vec::new();
    for (name, value) in settings {
        words.push(format!("{name}={value}"));
        cell.options.0.insert(OptionName::find(name).ok()?, vec![value]);
    }
    Some((cell, words.join(",")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cause(code: &str, cell: &str) -> NamedCause {
        NamedCause { code: code.to_owned(), cell: Some(cell.to_owned()), ..NamedCause::default() }
    }

    #[test]
    fn every_remedy_sets_what_its_option_takes() {
        let mut tried = 0;
        for rule in rules::all() {
            for transport in ["tcp", "pipe"] {
                let cell = Matrix { transport: vec![transport.to_owned()].into(), ..Matrix::default() };
                let Some((cell, setting)) = remedied(rule.code, cell) else { continue };
                for (option, values) in &cell.options.0 {
                    let [value] = &values[..] else { panic!("{setting}") };
                    assert_eq!(option.spec().check(value.clone()).as_ref(), Ok(value), "{setting}");
                    tried += 1;
                }
            }
        }
        assert!(tried >= 6, "{tried}");
    }

    #[test]
    fn a_remedy_that_costs_more_is_taken_back() {
        let after = |median: f64, verdict| {
            let ratio = Estimate { median, lo: None, hi: None };
            let setting = "tcp_nodelay=true".to_owned();
            let tried = Some(Tried { cell: "with".to_owned(), setting, ratio, verdict });
            let remedy = "set TCP_NODELAY".to_owned();
            let mut cause = NamedCause { tried, remedy, weight: 0.5, ..cause("nagle", "stream/tcp/64/c1") };
            take_back(&mut cause);
            cause
        };
        let harmful = after(5.37, Verdict::Different);
        assert_eq!(harmful.remedy, "leave it: tcp_nodelay=true would cost 5.37 × as much");
        assert_eq!(harmful.weight, 0.0, "others come first");
        for (median, verdict) in
            [(0.5, Verdict::Different), (1.01, Verdict::Equivalent), (1.4, Verdict::Undecided)]
        {
            assert_eq!(after(median, verdict).remedy, "set TCP_NODELAY", "{median}");
        }
    }

    #[test]
    fn only_what_is_an_option_here_is_tried_and_each_once() {
        let causes = [
            cause("sync-writes", "rr/unix/64/c1"),
            cause("nagle", "stream/tcp/64/c1/apart/tcp_nodelay=false"),
            cause("small-reads", "stream/tcp/64/c1/apart/tcp_nodelay=false"),
            cause("nagle", "stream/tcp/64/c1/apart/tcp_nodelay=false"),
            cause("one-core", "stream/unix/64/c1/together"),
            cause("small-buffer", "stream/pipe/65536/c1/pipe_size=4096"),
        ];
        let trials = trials(&causes);
        let tried: Vec<(&str, &[usize])> =
            trials.iter().map(|trial| (trial.setting.as_str(), trial.causes.as_slice())).collect();
        assert_eq!(
            tried,
            [
                ("tcp_nodelay=true", &[1, 3][..]),
                ("recv_buffer=65536", &[2]),
                ("placement=two-cores", &[4]),
                ("pipe_size=1048576", &[5]),
            ]
        );
        assert_eq!(trials[2].remedied.placement.0, [Placement::Apart]);
        assert_eq!(trials[3].remedied.options.0.len(), 1, "the old value is gone");
    }
}
