//! Measures a load: what each transport carries back to back, then rates of that, then rates around the limit.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use ipcost_lab::estimate::estimate_of_logs;
use ipcost_lab::lab::Stalls;
use ipcost_lab::percentiles::{log_ratios, log_values};
use ipcost_lab::planning::ALPHA;
use ipcost_lab::progress::Observer;
use ipcost_lab::{
    About, Answered, CampaignState, Contrasts, Lab, LabError, Needed, Percentiles, PlanSettings, Question,
};
use ipcost_model::pace::RATE;
use ipcost_model::units::{counted, duration_text};
use ipcost_model::{
    Cell, CellRecord, Document, Estimate, Job, LatencyContrast, LatencyMode, Matrix, Metric, OptionGroup,
    OptionName, OptionValue, Percentile, Verdict,
};
use ipcost_sys::interrupt::Interrupt;

use super::judge::{
    COMPARISONS, LEAST_LIMITS, LEAST_OPS, RECORDED, SHARES, first_rates, knee, most_each, next_rates,
    rounded, tail,
};
use super::{
    Capacity, LOAD_SCHEMA, LoadAt, LoadComparison, LoadCurves, LoadPoint, LoadRequest, SERVER_BUDGET,
    Stalling, USUAL_BUDGET,
};
use crate::search::{Search, Searched, Unplanned};

/// So many epochs has every rate at least: what is known sooner still is compared.
const FEWEST: usize = 14;
/// Rates of a transport that are measured at the most.
const RATES: usize = 20;
/// A queue that is longer at the end of a batch than so many times its mean has not got to where it stays.
const GROWS: f64 = 1.5;
/// The share of the budget for what transports carry back to back, of what is left for the first rates, and for each step after it.
const BACK_TO_BACK: f64 = 0.1;
const FIRST: f64 = 0.55;
const LATER: f64 = 0.5;
/// How many connections are tried back to back, besides those of the load.
const CONNECTIONS: [u32; 3] = [1, 2, 4];
/// How long a batch lasts: enough operations for a 99th percentile at a low rate, and for a queue to form at a high one.
const BATCH: Duration = Duration::from_millis(60);
/// More of it where there is time: a thousandth of the budget, up to this.
const BATCH_MOST: Duration = Duration::from_secs(1);
/// The part of the time of a step that batches at a rate may take, beside what they bring along.
const USED: f64 = 0.7;
/// An epoch lasts so many times as long as it is from one stall to the next, where there is time.
const GAPS: f64 = 5.0;
/// At which load stalls are looked for, and the least budget of which two seconds a transport are little.
const PILOT_LOAD: f64 = 0.5;
const PILOT_BUDGET: Duration = Duration::from_secs(30);
/// How short it may get where there is little time.
const BATCH_LEAST: Duration = Duration::from_millis(40);

/// The connections that are tried back to back where the load has so many.
fn tried(own: u32) -> impl Iterator<Item = u32> {
    CONNECTIONS.iter().map(move |times| own.saturating_mul(*times))
}

/// The most connections at once of a load over so many.
pub fn most_connections(own: u32) -> u32 {
    tried(own).max().unwrap_or(own)
}

/// A transport at a rate.
type Offered = (String, u64);

fn offered(cell: &Cell) -> Option<Offered> {
    Some((cell.transport.clone(), cell.pace().offered_per_s()?))
}

/// Whether each cell's 99th percentile is known to be below a limit, or not to be, with what earlier epochs say of it.
struct UnderLimit<'a> {
    limit_ns: u64,
    level: f64,
    before: &'a HashMap<Offered, Vec<Percentiles>>,
}

impl UnderLimit<'_> {
    fn is_known(&self, cell: &Cell, epochs: &[Percentiles]) -> bool {
        let Some(offered) = offered(cell) else { return false };
        let before = self.before.get(&offered);
        let all: Vec<Percentiles> = before.into_iter().flatten().chain(epochs).copied().collect();
        if all.len() < FEWEST {
            return false;
        }
        tail(&all, offered.1, self.limit_ns, self.level).is_some_and(|tail| tail.is_under.is_some())
    }
}

impl Question for UnderLimit<'_> {
    fn answered(&self, so_far: &CampaignState) -> Answered {
        let cells: Vec<usize> = so_far.plan.measurable().collect();
        let is_open = |cell: &usize| !self.is_known(&so_far.plan.cells[*cell], &so_far.percentiles[*cell]);
        let open: Vec<usize> = cells.iter().copied().filter(is_open).collect();
        let resolved = (cells.len() - open.len()) as u32;
        let needed = if open.is_empty() { Needed::Nothing } else { Needed::Cells(open) };
        Answered { resolved, of: cells.len() as u32, needed }
    }
}

/// A percentile over those epochs that have enough operations for it, which their length decides and not how long operations take; `None`
/// if none has.
fn percentile(epochs: &[Percentiles], percentile: Percentile, level: f64) -> Option<Estimate> {
    let enough: Vec<Percentiles> =
        epochs.iter().filter(|epoch| epoch.at(percentile).is_some()).copied().collect();
    estimate_of_logs(&log_values(&enough, percentile)?, level)
}

/// Measures until every knee's range is narrow enough or the budget ends. What was measured before something failed stands.
///
/// `base` is a job whose matrix holds the load at no rate, over all transports, and whose peers are those that it names.
pub fn load(
    request: &LoadRequest,
    base: &Job,
    interrupt: &Interrupt,
    tell: &mut dyn FnMut(&str),
    observer: &mut dyn FnMut(About) -> Box<dyn Observer>,
) -> Result<Searched, LabError> {
    check(request)?;
    let lab = Lab::open(base, tell)?;
    let budget =
        request.budget.unwrap_or(if request.request.is_some() { SERVER_BUDGET } else { USUAL_BUDGET });
    let mut measuring = LoadRun {
        request,
        base,
        search: Search::new(lab, interrupt, observer, budget, request.seed),
        epochs: HashMap::new(),
        points: Vec::new(),
        comparisons: Vec::new(),
        out_of_rates: BTreeSet::new(),
        stalls: Vec::new(),
    };
    let capacities = measuring.back_to_back()?;
    let own: Vec<&Capacity> =
        capacities.iter().filter(|capacity| capacity.concurrency == request.concurrency).collect();
    measuring.stalls = measuring.pilot(&own)?;
    let mut rates = first_rates(&own);
    let mut out_of_budget = false;
    let mut share = FIRST;
    while !measuring.search.has_ended() && rates.iter().any(|(_, rates)| !rates.is_empty()) {
        if !measuring.step(&rates, &own, share)? {
            out_of_budget = true;
            break;
        }
        share = LATER;
        rates = own.iter().map(|capacity| measuring.next_rates(capacity)).collect();
    }
    let out_of_rates = std::mem::take(&mut measuring.out_of_rates);
    let family = measuring.family();
    let LoadRun { search, points, comparisons, stalls, .. } = measuring;
    let curves = LoadCurves {
        schema: LOAD_SCHEMA.to_owned(),
        // What it took in the end, where no one chose it.
        request: LoadRequest { budget: Some(search.budget), ..request.clone() },
        elapsed_s: search.began.elapsed().as_secs_f64(),
        family,
        knees: request.transports.iter().map(|name| knee(name, &points)).collect(),
        capacities,
        points,
        comparisons,
        out_of_budget,
        out_of_rates: out_of_rates.into_iter().collect(),
        stalls,
    };
    Ok(search.finish(&curves))
}

fn check(request: &LoadRequest) -> Result<(), LabError> {
    let refuse = |reason: &str| Err(LabError::Refused(reason.to_owned()));
    if request.transports.is_empty() {
        return refuse("--transports names none; give some, such as unix,tcp");
    }
    let mut names = request.transports.iter().enumerate();
    if let Some((_, name)) = names.find(|(place, name)| request.transports[..*place].contains(name)) {
        return refuse(&format!("--transports names {name} twice; give each once"));
    }
    if request.limit_ns == 0 {
        return refuse("--limit 0: no operation takes no time; give one such as 1ms");
    }
    if request.resolution <= 0.0 {
        return refuse("--resolution 0% is never reached; give at least 1%");
    }
    Ok(())
}

struct LoadRun<'a> {
    request: &'a LoadRequest,
    base: &'a Job,
    search: Search<'a>,
    epochs: HashMap<Offered, Vec<Percentiles>>,
    points: Vec<LoadPoint>,
    comparisons: Vec<LoadComparison>,
    /// Transports of which more rates were wanted than share alpha.
    out_of_rates: BTreeSet<String>,
    stalls: Vec<Stalling>,
}

impl LoadRun<'_> {
    /// Makes room for a step that takes so many seconds more, which is a share of what was left: a budget that no one chose grows.
    ///
    /// # Errors
    /// The budget that would do, where the user chose one.
    fn make_room(&mut self, enough: u64, share: f64) -> Result<(), LabError> {
        /// What a user who said nothing waits for at the most.
        const MOST: Duration = Duration::from_secs(300);
        let all = self.search.began.elapsed().as_secs_f64() + enough as f64 / share;
        let all = Duration::from_secs((all / 10.0).ceil() as u64 * 10);
        let all = all.max(self.search.budget + Duration::from_secs(10));
        if self.request.budget.is_none() && all <= MOST {
            self.search.budget = all;
            return Ok(());
        }
        Err(LabError::Refused(format!(
            "a budget of {} is too short for {} on this machine; give --budget {}s, or fewer transports",
            duration_text(self.search.budget),
            counted(self.request.transports.len() as u64, "transport"),
            all.as_secs()
        )))
    }

    /// How many intervals share alpha at the most: a 99th percentile for each rate, and the comparisons.
    fn family(&self) -> u32 {
        let transports = self.request.transports.len();
        (RATES * transports + COMPARISONS * (transports - 1)) as u32
    }

    /// The level of each interval.
    fn level(&self) -> f64 {
        ALPHA / f64::from(self.family())
    }

    /// The rates that a transport may still be measured at: no more than share alpha.
    fn affordable(&mut self, transport: &str, rates: Vec<u64>) -> Vec<u64> {
        let own = || self.points.iter().filter(|point| point.transport == transport);
        let is_known = |rate: &u64| own().any(|point| point.per_s == *rate);
        let (again, new): (Vec<u64>, Vec<u64>) = rates.into_iter().partition(is_known);
        let left = RATES.saturating_sub(own().count());
        if new.len() > left {
            self.out_of_rates.insert(transport.to_owned());
        }
        again.into_iter().chain(new.into_iter().take(left)).collect()
    }

    fn next_rates(&mut self, capacity: &Capacity) -> (String, Vec<u64>) {
        let found = knee(&capacity.transport, &self.points);
        let next = next_rates(&found, &self.points, capacity.per_s.median, self.request.resolution);
        (capacity.transport.clone(), self.affordable(&capacity.transport, next))
    }

    fn job(&self, cells: Vec<Matrix>, budget: Duration) -> Job {
        Job {
            cells,
            baseline: self.request.transports.last().cloned(),
            budget: Some(budget),
            margin: Some(self.request.margin),
            latency: Some(LatencyMode::Off),
            ..self.base.clone()
        }
    }

    /// What each transport does back to back, over the connections of the load and over some more.
    fn back_to_back(&mut self) -> Result<Vec<Capacity>, LabError> {
        let own = self.request.concurrency;
        let mut connections: Vec<u32> = tried(own).collect();
        connections.dedup();
        let unpaced = |matrix: &Matrix| {
            let mut options = matrix.options.clone();
            options.0.retain(|name, _| name.spec().group != OptionGroup::Pace);
            Matrix { concurrency: connections.clone().into(), options, ..matrix.clone() }
        };
        let cells = self.base.cells.iter().map(unpaced).collect();
        let budget = self.search.left().mul_f64(BACK_TO_BACK);
        let job = self.job(cells, budget);
        let outcome = match self.search.run(&job, |settings| settings, &Contrasts) {
            Ok(outcome) => outcome,
            Err(Unplanned::TooShort(enough)) => {
                self.make_room(enough, BACK_TO_BACK)?;
                return self.back_to_back();
            }
            Err(Unplanned::Other(error)) => return Err(error),
        };
        let Some(document) = self.search.keep(outcome, &job) else { return Ok(Vec::new()) };
        let capacity = |cell: &CellRecord| {
            let cost = cell.wall_ns_per_op?;
            let per_s = Estimate {
                median: 1e9 / cost.median,
                lo: cost.hi.map(|ns| 1e9 / ns),
                hi: cost.lo.map(|ns| 1e9 / ns),
            };
            Some(Capacity { transport: cell.transport.clone(), concurrency: cell.concurrency, per_s })
        };
        Ok(document.cells.iter().filter_map(capacity).collect())
    }

    /// The cells of some rates.
    fn at_rates(&self, rates: &[(String, Vec<u64>)]) -> Result<Vec<Matrix>, LabError> {
        let name = OptionName::find(RATE)?;
        let mut cells = Vec::new();
        for (transport, rates) in rates.iter().filter(|(_, rates)| !rates.is_empty()) {
            let of_transport = self
                .base
                .cells
                .iter()
                .find(|matrix| matrix.transport.0.iter().any(|known| known == transport));
            let Some(matrix) = of_transport else { continue };
            let mut options = matrix.options.clone();
            options.0.insert(name, rates.iter().map(|rate| OptionValue::Int(*rate)).collect());
            let concurrency = vec![self.request.concurrency].into();
            cells.push(Matrix {
                transport: vec![transport.clone()].into(),
                options,
                concurrency,
                ..matrix.clone()
            });
        }
        Ok(cells)
    }

    /// Whether operations stand still now and then, at half of what each transport does back to back.
    fn pilot(&self, capacities: &[&Capacity]) -> Result<Vec<Stalling>, LabError> {
        let half = |capacity: &&Capacity| {
            (capacity.transport.clone(), vec![rounded(capacity.per_s.median * PILOT_LOAD)])
        };
        let rates: Vec<(String, Vec<u64>)> = capacities.iter().map(half).collect();
        if rates.is_empty() || self.search.budget < PILOT_BUDGET {
            return Ok(Vec::new());
        }
        let job = self.job(self.at_rates(&rates)?, self.search.left());
        let found = self.search.lab.stalls(&job, self.search.interrupt)?;
        let stalling = |Stalls { transport, every, longest }| Stalling {
            transport,
            every_s: every.as_secs_f64(),
            longest_ns: longest.as_nanos() as u64,
        };
        Ok(found.into_iter().map(stalling).collect())
    }

    /// Measures rates; `false` if the time is too short for them.
    fn step(
        &mut self,
        rates: &[(String, Vec<u64>)],
        capacities: &[&Capacity],
        share: f64,
    ) -> Result<bool, LabError> {
        let cells = self.at_rates(rates)?;
        let batch = self.batch();
        let least_ops = LEAST_OPS as f64 / RECORDED;
        let wanted = rates.iter().flat_map(|(_, rates)| rates);
        let wanted = wanted.map(|per_s| (least_ops / *per_s as f64).max(batch.as_secs_f64()));
        let room = self.search.left().mul_f64(share).as_secs_f64() / FEWEST as f64 * USED;
        let most = Duration::from_secs_f64(most_each(&wanted.collect::<Vec<f64>>(), room));
        let offered = Some((least_ops.ceil() as u64, most));
        let mut job = Job { batch: Some(batch), ..self.job(cells, self.search.left().mul_f64(share)) };
        let (level, family) = (self.level(), self.family());
        let before = self.epochs.clone();
        let limit_ns = self.request.limit_ns;
        let question = UnderLimit { limit_ns, level, before: &before };
        let settings = |settings: PlanSettings| PlanSettings {
            level: Some(level),
            family: Some(family),
            may_overload: true,
            batch_least: Some(BATCH_LEAST),
            limit_ns: Some(limit_ns),
            offered,
            ..settings
        };
        let outcome = match self.search.run(&job, settings, &question) {
            Err(Unplanned::TooShort(enough)) if self.points.is_empty() => {
                self.make_room(enough, share)?;
                return self.step(rates, capacities, share);
            }
            // Rates that a share of the time is too short for may take all of it.
            Err(Unplanned::TooShort(_)) => {
                job.budget = Some(self.search.left());
                self.search.run(&job, settings, &question)
            }
            ran => ran,
        };
        let outcome = match outcome {
            Ok(outcome) => outcome,
            Err(Unplanned::TooShort(_)) => return Ok(false),
            Err(Unplanned::Other(error)) => return Err(error),
        };
        let is_first = self.points.is_empty();
        // Without an epoch it was stopped, or the time was too short after all.
        let Some(document) = self.search.keep(outcome, &job) else { return Ok(self.search.has_ended()) };
        let (cells, rounds) = (document.cells.clone(), document.schedule.rounds);
        if is_first {
            let at_rates = at_equal_rates(document).into_iter();
            self.comparisons = at_rates.chain(self.at_equal_shares(&cells, capacities)).collect();
        }
        for cell in &cells {
            self.add(cell, rounds, capacities);
        }
        let transports = &self.request.transports;
        let place = |name: &String| transports.iter().position(|known| known == name);
        self.points.sort_by_key(|point| (place(&point.transport), point.per_s));
        Ok(true)
    }

    /// How long batches last: longer than the limit many times, and than the machine's own stalls are apart.
    fn batch(&self) -> Duration {
        let limits = Duration::from_nanos(self.request.limit_ns).mul_f64(LEAST_LIMITS);
        let gaps = self.stalls.iter().map(|stalls| stalls.every_s).fold(0.0, f64::max);
        let gaps = Duration::from_secs_f64(gaps * GAPS);
        (self.search.budget / 1000).max(limits).max(gaps).clamp(BATCH, BATCH_MOST)
    }

    /// What was measured of a rate, with its earlier epochs.
    fn add(&mut self, cell: &CellRecord, rounds: u32, capacities: &[&Capacity]) {
        let Some(offered) = offered(&cell.cell) else { return };
        let level = self.level();
        let all = self.epochs.entry(offered).or_default();
        all.extend(&cell.latency_by_epoch);
        let Some(new) = point(cell, all, rounds, (level, self.request.limit_ns), capacities) else { return };
        let is_it = |point: &LoadPoint| point.transport == new.transport && point.per_s == new.per_s;
        match self.points.iter_mut().find(|point| is_it(point)) {
            // What has no percentiles of epochs is that of the more epochs.
            Some(old) if old.epochs >= new.epochs => {
                let LoadPoint { p50_ns, p90_ns, p99_ns, p999_ns, tail, .. } = new;
                let epochs = old.epochs + new.epochs;
                *old = LoadPoint { p50_ns, p90_ns, p99_ns, p999_ns, tail, epochs, ..old.clone() };
            }
            Some(old) => *old = LoadPoint { epochs: old.epochs + new.epochs, ..new },
            None => self.points.push(new),
        }
    }

    /// The transports compared with the last, each at the same share of what it does back to back.
    fn at_equal_shares(&self, cells: &[CellRecord], capacities: &[&Capacity]) -> Vec<LoadComparison> {
        let at = |capacity: &Capacity, share: f64| {
            let sought = (capacity.transport.clone(), rounded(capacity.per_s.median * share));
            cells.iter().find(|cell| offered(&cell.cell).as_ref() == Some(&sought))
        };
        let Some((base, others)) = capacities.split_last() else { return Vec::new() };
        let mut found = Vec::new();
        for (share, other) in SHARES.iter().flat_map(|share| others.iter().map(move |other| (*share, other)))
        {
            let (Some(a), Some(b)) = (at(other, share), at(base, share)) else { continue };
            let ends = [other, base].map(|capacity| bounds_of(capacity, share));
            let share_bounds = ends[0].zip(ends[1]).map(|(a, b)| (a.0.min(b.0), a.1.max(b.1)));
            for percentile in Percentile::COMPARED {
                let logs = log_ratios(&a.latency_by_epoch, &b.latency_by_epoch, percentile);
                let level = self.level() / Percentile::COMPARED.len() as f64;
                let Some(Estimate { median, lo, hi }) = logs.and_then(|logs| estimate_of_logs(&logs, level))
                else {
                    continue;
                };
                let verdict = Verdict::of(lo.zip(hi), self.request.margin);
                found.push(LoadComparison {
                    at: LoadAt::Utilisation(share),
                    share_bounds,
                    a: other.transport.clone(),
                    b: base.transport.clone(),
                    contrast: LatencyContrast { percentile, ratio: median, lo, hi, verdict },
                });
            }
        }
        found
    }
}

/// Between which shares of what a transport does back to back a rate lies that is to be at one, as far as that is known.
fn bounds_of(capacity: &Capacity, share: f64) -> Option<(f64, f64)> {
    let Estimate { median, lo, hi } = capacity.per_s;
    Some((share * median / hi?, share * median / lo?))
}

fn point(
    cell: &CellRecord,
    epochs: &[Percentiles],
    rounds: u32,
    (level, limit_ns): (f64, u64),
    capacities: &[&Capacity],
) -> Option<LoadPoint> {
    let per_s = cell.cell.pace().offered_per_s()?;
    let capacity = capacities.iter().find(|capacity| capacity.transport == cell.transport)?;
    let pace = cell.pace.as_ref()?;
    let utilisation = per_s as f64 / capacity.per_s.median;
    // Where it stays, a queue is as long at the end as it is on average; one that grows all the time, twice as long.
    let recorded = epochs.iter().map(|epoch| epoch.count).sum::<u64>() as f64;
    let ops = recorded / RECORDED / (epochs.len().max(1) as f64 * f64::from(rounds.max(1)));
    let at_the_end = pace.unsent.map(|share| share * ops / f64::from(cell.concurrency));
    let grows = at_the_end.zip(pace.queued).is_some_and(|(end, mean)| end > GROWS * mean.max(1.0));
    Some(LoadPoint {
        transport: cell.transport.clone(),
        per_s,
        utilisation,
        utilisation_bounds: bounds_of(capacity, utilisation),
        achieved_per_s: pace.achieved_per_s,
        mean_ns: cell.wall_ns_per_op?,
        p50_ns: percentile(epochs, Percentile::P50, level),
        p90_ns: percentile(epochs, Percentile::P90, level),
        p99_ns: percentile(epochs, Percentile::P99, level),
        p999_ns: percentile(epochs, Percentile::P999, level),
        cpu_ns_per_op: cell.cpu_ns_per_op.map(|cpu| cpu.median),
        wakeups_per_op: cell.usage_per_op.as_ref().map(|usage| usage.voluntary_switches),
        late_p99_ns: pace.late_ns.as_ref().and_then(|late| late.at(Percentile::P99)),
        epochs: cell.epochs,
        tail: tail(epochs, per_s, limit_ns, level),
        grows,
    })
}

/// The transports of a document compared at the same rate.
fn at_equal_rates(document: &Document) -> Vec<LoadComparison> {
    let cell = |id: &str| document.cell(id);
    let mut found = Vec::new();
    for contrast in document.contrasts.iter().filter(|contrast| contrast.metric == Metric::Wall) {
        let (Some(a), Some(b)) = (cell(&contrast.a), cell(&contrast.b)) else { continue };
        let Some(per_s) = a.cell.pace().offered_per_s() else { continue };
        found.extend(contrast.latency.iter().map(|known| LoadComparison {
            at: LoadAt::Rate(per_s),
            share_bounds: None,
            a: a.transport.clone(),
            b: b.transport.clone(),
            contrast: *known,
        }));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_epochs_that_are_shorter_take_away_no_percentile() {
        let epochs = |count, epochs: u32| {
            (1..=epochs).map(move |epoch| Percentiles { epoch, count, p99: 5_000, ..Percentiles::default() })
        };
        let long: Vec<Percentiles> = epochs(1_000, 14).collect();
        let both: Vec<Percentiles> = long.iter().copied().chain(epochs(500, 9)).collect();
        let of = |epochs: &[Percentiles]| percentile(epochs, Percentile::P99, 0.05);
        assert!(of(&long).unwrap().hi.is_some());
        assert_eq!(of(&both), of(&long));
        assert_eq!(of(&both[14..]), None);
    }
}
