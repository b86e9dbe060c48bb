//! From an outcome to the document: computes every number shown, once.

use std::collections::{BTreeMap, BTreeSet};

use ipcost_model::pace::Pause;
use ipcost_model::protocol::{LatencyKind, PACER_NS, PeerRole, QUEUED, UNSENT};
use ipcost_model::{
    Analysis, CellRecord, ContrastRecord, ContrastWithin, Document, Estimate, Fastest, HeldBack,
    HeldBackRecord, Host, Job, LatencyContrast, LatencySummary, Lookup, MeanContrast, Measure, Metric, Mode,
    Multiplicity, PaceRecord, Pattern, PauseCause, PausePart, Percentile, Plan, Point, PooledLatency, Ran,
    RanRecord, SCHEMA, Sample, Schedule, SpreadContrast, Tool, UsagePerOp, Verdict, Wait, WatchedBatches,
    Workload, WorkloadRecord,
};
use ipcost_stats::{Histogram, median, two_groups};
use ipcost_sys::transport::uses_tcp;

use crate::analysis::{Cheapest, Contrast, Judge};
use crate::batches::Batches;
use crate::campaign::CampaignState;
use crate::estimate::{estimate, estimate_of_logs};
use crate::findings::findings;
use crate::floor::floor;
use crate::layout_effect::layout_effects;
use crate::longer_run::longer;
use crate::percentiles::{Percentiles, log_ratios};
use crate::planning::{ALPHA, epochs_for_contrasts};
use crate::rules::AppliedRule;

/// The least fixed part of batches worth reporting.
const LEAST_WAIT_NS: f64 = 1e6;
/// The least difference between two modes worth reporting: 10 %.
pub const LEAST_MODE_RATIO: f64 = 1.1;

/// The parts of a document that were not measured.
#[derive(Debug, Clone)]
pub struct About {
    pub tool: Tool,
    pub host: Host,
    pub job: Job,
    /// When it started, RFC 3339.
    pub started: String,
    /// Whether the program was built without optimisation.
    pub debug_build: bool,
}

/// Makes the document of a run.
pub fn document(outcome: CampaignState, about: About) -> Document {
    let batches = outcome.batches();
    let judge = Judge::new(&outcome.plan, &batches);
    let mut document = judged(&outcome, &batches, &about, &judge, true);
    // Many shuffles: once, at the end.
    let layouts = layout_effects(&outcome.plan, &batches);
    document.cells.iter_mut().zip(layouts).for_each(|(cell, layout)| cell.layout = layout);
    for (cell, epochs) in document.cells.iter_mut().zip(&outcome.percentiles) {
        if epochs.iter().any(|epoch| epoch.count > 0) {
            cell.latency_by_epoch = epochs.clone();
        }
    }
    let findings = findings(&outcome, &batches, &about, &document, &judge);
    let (notes, warnings): (Vec<&AppliedRule>, Vec<&AppliedRule>) =
        findings.iter().partition(|found| found.is_note);
    document.warnings = warnings.into_iter().map(AppliedRule::warning).collect();
    document.notes = notes.into_iter().map(AppliedRule::warning).collect();
    document.samples = in_order(outcome.samples, outcome.suspended);
    document
}

/// The document of what could not be measured at all.
pub fn unmeasured(about: About) -> Document {
    let About { tool, host, job, started, .. } = about;
    let (schema, seed) = (SCHEMA.to_owned(), job.seed.unwrap_or_default());
    let analysis = Analysis { alpha: ALPHA, alpha_each: ALPHA, ..Analysis::default() };
    Document { schema, tool, host, started, job, seed, analysis, ..Document::default() }
}

/// The same without samples and warnings, for observers during the run.
pub fn so_far(outcome: &CampaignState, about: &About) -> Document {
    let batches = outcome.batches();
    judged(outcome, &batches, about, &Judge::new(&outcome.plan, &batches), false)
}

fn judged(
    outcome: &CampaignState,
    batches: &Batches<'_>,
    about: &About,
    judge: &Judge<'_>,
    is_final: bool,
) -> Document {
    let plan = &outcome.plan;
    let About { tool, host, job, started, .. } = about.clone();
    let judged = JudgedCells { outcome, judge, is_final, percentiles: of_percentiles(outcome, judge) };
    Document {
        schema: SCHEMA.to_owned(),
        tool,
        host,
        job,
        name: None,
        seed: plan.seed,
        started,
        resumed: outcome.resumed.clone(),
        elapsed_s: outcome.elapsed.as_secs_f64(),
        stopped: outcome.stopped,
        schedule: Schedule {
            rounds: plan.rounds,
            epochs: outcome.epochs,
            batch_ms: plan.batch.as_secs_f64() * 1e3,
            lead_in_ms: plan.lead_in.as_secs_f64() * 1e3,
            budget_s: plan.budget.as_secs_f64(),
            latency: plan.latency,
            timing: outcome.timing,
        },
        analysis: Analysis {
            alpha: plan.alpha,
            family: plan.family,
            alpha_each: judge.level(),
            multiplicity: plan.multiplicity,
            discoveries: (plan.multiplicity == Multiplicity::Explored).then_some(judge.discoveries()),
            margin: plan.margin,
            epochs_needed: epochs_for_contrasts(plan),
            looks: plan.looks.clone(),
            longer: if is_final { longer(outcome, judge, &about.host) } else { None },
        },
        cells: cells(outcome, batches, about),
        workloads: workloads(&judged),
        contrasts: contrasts(&judged),
        over_pace: over_pace(&judged),
        pause_parts: pause_parts(outcome, batches, judge.level()),
        samples: Vec::new(),
        warnings: Vec::new(),
        notes: Vec::new(),
        arms: outcome.arms.clone(),
        ran_as: outcome.ran_as.clone(),
        answer: None,
        runs: Vec::new(),
        lookup: Lookup::default(),
    }
}

/// All samples in the order of measurement.
fn in_order(mut samples: Vec<Sample>, suspended: Vec<Sample>) -> Vec<Sample> {
    if !suspended.is_empty() {
        samples.extend(suspended);
        samples.sort_by_key(|sample| (sample.epoch, sample.round, sample.position, !sample.suspended));
    }
    samples
}

fn cells(outcome: &CampaignState, batches: &Batches<'_>, about: &About) -> Vec<CellRecord> {
    (0..outcome.plan.cells.len()).map(|index| cell(outcome, batches, about, index)).collect()
}

fn cell(outcome: &CampaignState, batches: &Batches<'_>, about: &About, index: usize) -> CellRecord {
    let planned = &outcome.plan.cells[index];
    let samples = batches.of(index);
    let over_epochs = |measure: &Measure| batches.series(index, |sample| measure.of(sample)).medians();
    let work = &planned.cell;
    let alpha = outcome.plan.alpha;
    let log_costs = batches.log_costs(Metric::Wall, index);
    let wall_ns_per_op = estimate_of_logs(&log_costs, alpha);
    let mean = batches.mean_cost(Metric::Wall, index).filter(|_| wall_ns_per_op.is_some());
    let pace = pace(outcome, batches, index, alpha);
    // Where operations wait for their turn, their time does not tell how many there are in a second.
    let ops_per_s = match &pace {
        Some(pace) => pace.achieved_per_s,
        None => mean.map(|cost| 1e9 / cost),
    };
    CellRecord {
        id: planned.id.clone(),
        label: planned.label.clone(),
        point: planned.point.clone(),
        closes_first: work.closes_first().map(str::to_owned),
        wait: work.wait(),
        congestion: congestion(&planned.point, about),
        effective: outcome.effective[index].clone(),
        available: planned.unavailable.is_none(),
        reason: planned.unavailable.clone(),
        epochs: log_costs.len() as u32,
        batches: samples.len() as u64,
        ops: samples.iter().fold(0, |sum: u64, sample| sum.saturating_add(sample.ops)),
        wall_ns_per_op,
        cpu_ns_per_op: estimate_of_logs(&batches.log_costs(Metric::Cpu, index), alpha),
        sent_ns_per_op: estimate(&over_epochs(&Measure::Sent), alpha),
        wait_ns: wait(batches, index),
        held_back: held_back(
            work.pattern,
            outcome.incidents[index].watched.as_ref(),
            wall_ns_per_op.as_ref(),
        ),
        wall_ns_per_op_mean: mean,
        ops_per_s,
        bytes_per_s: ops_per_s.map(|rate| rate * work.bytes_per_op() as f64),
        latency_ns: summary(&outcome.latency[index], &outcome.percentiles[index], alpha),
        latency_by_epoch: Vec::new(),
        pace,
        usage_per_op: usage(&over_epochs),
        softirq_ns_per_op: softirq(samples),
        modes: modes(batches, index),
        ran: ran(batches, index),
        layout: None,
        floor: floor(&outcome.plan.cells, batches, index, alpha),
        measures: measured(samples, &over_epochs),
    }
}

/// The fixed part of batches, if it exceeds the usual difference of two batches.
fn wait(batches: &Batches<'_>, cell: usize) -> Option<f64> {
    median(&batches.waits(cell)).filter(|wait_ns| *wait_ns >= LEAST_WAIT_NS)
}

/// What waits for delayed acknowledgements, by side, as a share of what an operation takes: `wall_ns`, or as long as in the batches that
/// were watched. The end of every burst of a stream may wait: that is no part of its operations.
pub fn held_back(
    pattern: Pattern,
    watched: Option<&WatchedBatches>,
    wall_ns: Option<&Estimate>,
) -> Vec<HeldBackRecord> {
    let Some(watched) = watched.filter(|watched| watched.ops > 0 && watched.wall_ns > 0) else {
        return Vec::new();
    };
    let ends = if pattern == Pattern::Stream { watched.batches } else { 0 };
    // What no one delays is not waited for.
    let delayed = watched.delayed_acknowledgements.unwrap_or(u64::MAX);
    let record = |(side, held): (PeerRole, &HeldBack)| {
        let waits = held.waits.saturating_sub(ends).min(delayed);
        let ns = held.ns as f64 * waits as f64 / held.waits.max(1) as f64;
        let share = (ns / watched.wall_ns as f64).min(1.0);
        let each_ns = wall_ns.map_or(watched.wall_ns as f64 / watched.ops as f64, |wall| wall.median);
        (waits > 0).then(|| HeldBackRecord {
            side,
            ns_per_op: share * each_ns,
            share,
            waits_per_op: waits as f64 / watched.ops as f64,
            nodelay: held.nodelay,
        })
    };
    [(PeerRole::Client, &watched.client), (PeerRole::Server, &watched.server)]
        .into_iter()
        .filter_map(record)
        .collect()
}

/// The congestion control of a cell's connections: what its option says, else what the system uses.
fn congestion(point: &Point, about: &About) -> Option<String> {
    if !uses_tcp(&point.cell.transport) {
        return None;
    }
    let asked = point.cell.options.tcp_congestion();
    asked.or_else(|| about.host.tcp_congestion()).map(str::to_owned)
}

/// How a cell kept its pace; `None` if it has none.
fn pace(outcome: &CampaignState, batches: &Batches<'_>, index: usize, alpha: f64) -> Option<PaceRecord> {
    let pace = outcome.plan.cells[index].cell.pace();
    if !pace.is_paced() {
        return None;
    }
    let latencies = |kind| {
        let (all, epochs) = outcome.latencies.get(&(index, kind))?;
        summary(all, epochs, alpha)
    };
    let over_epochs = |of: &dyn Fn(&Sample) -> Option<f64>| median(&batches.series(index, of).medians());
    let named = |name: &str| over_epochs(&|sample| Measure::named(name).of(sample));
    let achieved =
        |sample: &Sample| Some(sample.ops as f64 * 1e9 / sample.elapsed_ns.filter(|ns| *ns > 0)? as f64);
    Some(PaceRecord {
        open: pace.is_open(),
        offered_per_s: pace.offered_per_s().map(|per_s| per_s as f64),
        achieved_per_s: over_epochs(&achieved),
        late_ns: latencies(LatencyKind::Late),
        send_ns: latencies(LatencyKind::Send),
        queued: named(QUEUED),
        unsent: named(UNSENT),
        pacer_ns_per_op: named(PACER_NS),
    })
}

/// Percentiles of each epoch and then the median over epochs; pooled ones beside them.
fn summary(histogram: &Histogram, epochs: &[Percentiles], alpha: f64) -> Option<LatencySummary> {
    let epochs: Vec<&Percentiles> = epochs.iter().filter(|epoch| epoch.count > 0).collect();
    let over_epochs = |of: fn(&Percentiles) -> u64| {
        let values: Vec<f64> = epochs.iter().map(|epoch| of(epoch) as f64).collect();
        estimate(&values, alpha)
    };
    let p99 = over_epochs(|epoch| epoch.p99)?;
    let median = |of| over_epochs(of).map_or(0, |found| found.median.round() as u64);
    let at = |quantile| histogram.value_at(quantile);
    Some(LatencySummary {
        p50: median(|epoch| epoch.p50),
        p90: median(|epoch| epoch.p90),
        p99: p99.median.round() as u64,
        p99_bounds: p99.lo.zip(p99.hi).map(|(lo, hi)| (lo.round() as u64, hi.round() as u64)),
        p999: median(|epoch| epoch.p999),
        max: histogram.max(),
        count: histogram.count(),
        fewest: epochs.iter().map(|epoch| epoch.count).min(),
        pooled: Some(PooledLatency { p50: at(0.5), p90: at(0.9), p99: at(0.99), p999: at(0.999) }),
    })
}

fn usage(over_epochs: &dyn Fn(&Measure) -> Vec<f64>) -> Option<UsagePerOp> {
    let of = |measure: Measure| median(&over_epochs(&measure));
    Some(UsagePerOp {
        client_user_ns: of(Measure::ClientUser)?,
        client_sys_ns: of(Measure::ClientSys)?,
        server_user_ns: of(Measure::ServerUser)?,
        server_sys_ns: of(Measure::ServerSys)?,
        voluntary_switches: of(Measure::VoluntarySwitches)?,
        involuntary_switches: of(Measure::InvoluntarySwitches)?,
    })
}

/// Softirq time for one operation: the sum over all batches that have it, since a tick is half as long as a batch.
fn softirq(samples: &[&Sample]) -> Option<f64> {
    let (mut ns, mut ops) = (0_i64, 0_u64);
    for sample in samples {
        let Some(more) = sample.softirq_ns else { continue };
        (ns, ops) = (ns.saturating_add(more), ops.saturating_add(sample.ops));
    }
    (ops > 0).then(|| ns.max(0) as f64 / ops as f64)
}

/// Other measures: medians over epochs of those that every sample has.
fn measured(samples: &[&Sample], over_epochs: &dyn Fn(&Measure) -> Vec<f64>) -> BTreeMap<String, f64> {
    let names: BTreeSet<&String> = samples.iter().flat_map(|sample| sample.measures.keys()).collect();
    let over_epochs =
        |name: &String| Some((name.clone(), median(&over_epochs(&Measure::Named(name.clone())))?));
    names.into_iter().filter_map(over_epochs).collect()
}

/// Where the scheduler put its batches, the most frequent first.
fn ran(batches: &Batches<'_>, cell: usize) -> Vec<RanRecord> {
    let record = |ran: &Ran| {
        let seen =
            batches.of(cell).iter().filter_map(|sample| sample.whereabouts).filter(|seen| seen.ran == *ran);
        let (count, migrations) =
            seen.fold((0, 0_u64), |(count, sum), seen| (count + 1, sum.saturating_add(seen.migrations)));
        (count > 0).then(|| RanRecord {
            ran: *ran,
            batches: count,
            migrations,
            wall_ns_per_op: median(&batches.log_costs_where(*ran, cell)).map(f64::exp),
        })
    };
    let mut records: Vec<RanRecord> = Ran::ALL.iter().filter_map(record).collect();
    records.sort_by_key(|record| std::cmp::Reverse(record.batches));
    records
}

fn modes(batches: &Batches<'_>, cell: usize) -> Vec<Mode> {
    let log_costs = batches.log_costs(Metric::Wall, cell);
    let Some((low, high)) = two_groups(&log_costs, LEAST_MODE_RATIO.ln()) else { return Vec::new() };
    let switches = batches.series(cell, |sample| Measure::Switches.of(sample)).medians();
    let busy =
        batches.series(cell, |sample| Some(Measure::Cpu.of(sample)? / Measure::Wall.of(sample)?)).medians();
    [low, high]
        .map(|group| {
            let within = |epochs: &[f64]| {
                let members = group.members.iter().map(|epoch| epochs.get(*epoch).copied());
                median(&members.collect::<Option<Vec<f64>>>()?)
            };
            Mode {
                share: group.share,
                epochs: group.members.len() as u32,
                wall_ns_per_op: group.center.exp(),
                switches_per_op: within(&switches),
                cpus_busy: within(&busy),
            }
        })
        .to_vec()
}

/// What contrasts are told from; those of a run that goes on without what no table shows meanwhile.
struct JudgedCells<'a> {
    outcome: &'a CampaignState,
    judge: &'a Judge<'a>,
    is_final: bool,
    percentiles: OfPercentiles,
}

fn contrasts(judged: &JudgedCells<'_>) -> Vec<ContrastRecord> {
    let of_metric = |metric| {
        let planned = judged.outcome.plan.contrasts.iter();
        let found = planned.filter_map(move |planned| judged.judge.contrast(metric, planned.a, planned.b));
        found.map(move |found| judged.contrast(metric, found))
    };
    Metric::ALL.iter().flat_map(|metric| of_metric(*metric)).collect()
}

fn over_pace(judged: &JudgedCells<'_>) -> Vec<ContrastRecord> {
    let planned = judged.outcome.plan.over_pace.iter();
    let found = planned.filter_map(|planned| judged.judge.contrast(Metric::Wall, planned.a, planned.b));
    found.map(|found| judged.contrast(Metric::Wall, found)).collect()
}

/// What the longest pause of each row costs more than the shortest, and what other cells tell of it: with processors kept awake, and with
/// cold caches but no pause. Differences are taken within rounds.
fn pause_parts(outcome: &CampaignState, batches: &Batches<'_>, level: f64) -> Vec<PausePart> {
    let plan = &outcome.plan;
    let pause = |cell: usize| plan.cells[cell].cell.pause().unwrap_or_default();
    let difference = |a: usize, b: usize| {
        let of = |cell| batches.series(cell, |sample| Measure::Wall.of(sample));
        estimate(&of(a).with(&of(b), |a, b| a - b).medians(), level)
    };
    let part = |cell: usize, cause: PauseCause, (a, b): (usize, usize), control: usize| {
        let id = |cell: usize| plan.cells[cell].id.clone();
        Some(PausePart { cell: id(cell), cause, ns: difference(a, b)?, control: id(control) })
    };
    let mut found = Vec::new();
    // Each once: the plan goes through its tables, and there is one for each pace.
    let bases: BTreeSet<usize> = plan.over_pace.iter().map(|planned| planned.b).collect();
    for base in bases {
        let own = || plan.over_pace.iter().filter(move |planned| planned.b == base).map(|planned| planned.a);
        let plain = own().filter(|cell| pause(*cell).is_plain()).max_by_key(|cell| pause(*cell).mean_ns);
        let Some(longest) = plain else { continue };
        let awake = own().find(|cell| pause(*cell) == Pause { is_awake: true, ..pause(longest) });
        let polluted = own().find(|cell| {
            let known = pause(*cell);
            known.polluted > 0 && Pause { polluted: 0, ..known } == pause(base)
        });
        if awake.is_none() && polluted.is_none() {
            continue;
        }
        found.extend(part(longest, PauseCause::Whole, (longest, base), base));
        found.extend(awake.and_then(|it| part(longest, PauseCause::IdleStates, (longest, it), it)));
        found.extend(polluted.and_then(|it| part(longest, PauseCause::Caches, (it, base), it)));
    }
    found
}

impl JudgedCells<'_> {
    fn contrast(&self, metric: Metric, found: Contrast) -> ContrastRecord {
        let Self { outcome, judge, is_final, percentiles } = self;
        let plan = &outcome.plan;
        let is_wall = metric == Metric::Wall;
        ContrastRecord {
            metric,
            a: plan.cells[found.a].id.clone(),
            b: plan.cells[found.b].id.clone(),
            ratio: found.ratio,
            lo: found.bounds.map(|bounds| bounds.0),
            hi: found.bounds.map(|bounds| bounds.1),
            verdict: found.verdict,
            epochs: found.epochs as u32,
            range: found.range,
            wanders: found.wanders,
            since: (found.after > 0).then_some(found.after + 1),
            changed: found.changed,
            bound: found.bound().filter(|_| found.verdict == Verdict::Undecided),
            mean: if *is_final || is_wall { mean(judge, metric, &found, plan.margin) } else { None },
            spread: if *is_final { spread(judge, metric, &found) } else { None },
            headline: is_wall,
            within: if is_wall { within(judge, found.a, found.b) } else { Vec::new() },
            latency: percentiles.get(&(found.a, found.b)).filter(|_| is_wall).cloned().unwrap_or_default(),
        }
    }
}

/// The ratio of the mean costs, and how many epochs lie beyond the margin on its side.
fn mean(judge: &Judge<'_>, metric: Metric, found: &Contrast, margin: f64) -> Option<MeanContrast> {
    let (mean, verdict) = found.mean.or_else(|| judge.mean(metric, found))?;
    let (lo, hi) = mean.bounds.unzip();
    let slow = judge.share_beyond(metric, found, mean.ratio, margin);
    Some(MeanContrast { ratio: mean.ratio, lo, hi, verdict, slow, unseen: mean.unseen })
}

/// The contrasts of percentiles by their cells.
type OfPercentiles = BTreeMap<(usize, usize), Vec<LatencyContrast>>;

/// Those of all pairs that are compared.
fn of_percentiles(outcome: &CampaignState, judge: &Judge<'_>) -> OfPercentiles {
    let plan = &outcome.plan;
    let of_bursts = plan.workloads.iter().filter_map(|table| table.long_and_bursts(&plan.cells));
    let of_bursts = of_bursts.flat_map(|[_, bursts]| {
        let baseline = bursts.baseline;
        let pairs = bursts.cells.into_iter().filter_map(move |cell| Some((cell, baseline?)));
        pairs.filter(|(a, b)| a != b).collect::<Vec<_>>()
    });
    let pairs: BTreeSet<(usize, usize)> =
        plan.all_contrasts().map(|planned| (planned.a, planned.b)).chain(of_bursts).collect();
    let each = Percentile::COMPARED;
    let (asked, logs): (Vec<_>, Vec<_>) = pairs
        .into_iter()
        .flat_map(|(a, b)| each.map(|percentile| (percentile, a, b)))
        .filter_map(|(percentile, a, b)| {
            let logs = log_ratios(&outcome.percentiles[a], &outcome.percentiles[b], percentile)?;
            Some((percentile, (a, b, logs)))
        })
        .unzip();
    let mut found = OfPercentiles::new();
    for (percentile, contrast) in asked.into_iter().zip(judge.of_logs(&logs, each.len())) {
        let Some(Contrast { a, b, ratio, bounds, verdict, .. }) = contrast else { continue };
        let (lo, hi) = bounds.unzip();
        found.entry((a, b)).or_default().push(LatencyContrast { percentile, ratio, lo, hi, verdict });
    }
    found
}

/// How much more one varies from epoch to epoch than the other.
fn spread(judge: &Judge<'_>, metric: Metric, found: &Contrast) -> Option<SpreadContrast> {
    let (ratio, (lo, hi)) = judge.spread(metric, found.a, found.b)?;
    Some(SpreadContrast { ratio, lo, hi })
}

/// The contrast of two cells where both ran on one core, and where both ran on two, as the scheduler chose.
fn within(judge: &Judge<'_>, a: usize, b: usize) -> Vec<ContrastWithin> {
    let record = |ran: &Ran| {
        let Contrast { ratio, bounds, verdict, epochs, .. } = judge.contrast_where(*ran, a, b)?;
        let (lo, hi) = bounds.unzip();
        Some(ContrastWithin { ran: *ran, ratio, lo, hi, verdict, epochs: epochs as u32 })
    };
    [Ran::Together, Ran::Apart].iter().filter_map(record).collect()
}

fn workloads(judged: &JudgedCells<'_>) -> Vec<WorkloadRecord> {
    let JudgedCells { outcome, judge, .. } = judged;
    let plan = &outcome.plan;
    let record = |table: &Workload| {
        let Some([long, bursts]) = table.long_and_bursts(&plan.cells) else {
            return workload(plan, judge, table);
        };
        let cells = bursts.cells.iter().filter(|cell| Some(**cell) != bursts.baseline);
        let found = cells.filter_map(|cell| judge.pair(*cell, bursts.baseline?));
        let contrasts = found.map(|found| judged.contrast(Metric::Wall, found));
        let bursts = WorkloadRecord { contrasts: contrasts.collect(), ..workload(plan, judge, &bursts) };
        WorkloadRecord {
            cells: table.cells.iter().map(|cell| plan.cells[*cell].id.clone()).collect(),
            baseline: table.baseline.map(|cell| plan.cells[cell].id.clone()),
            bursts: Some(Box::new(bursts)),
            ..workload(plan, judge, &long)
        }
    };
    plan.workloads.iter().map(record).collect()
}

fn workload(plan: &Plan, judge: &Judge<'_>, workload: &Workload) -> WorkloadRecord {
    let id = |cell: usize| plan.cells[cell].id.clone();
    let fastest = |cheapest: Cheapest| {
        let Contrast { a, b, ratio, bounds, verdict, .. } = cheapest.contrast;
        let (lo, hi) = bounds.unzip();
        let ids = |cells: &[usize]| cells.iter().map(|cell| id(*cell)).collect();
        let (equals, open) = (ids(&cheapest.equals), ids(&cheapest.open));
        let claimed = cheapest.claimed;
        let means_differ = cheapest.means_differ;
        Fastest {
            cell: id(b),
            runner_up: id(a),
            ratio,
            lo,
            hi,
            verdict,
            claimed,
            equals,
            means_differ,
            open,
            open_within: cheapest.open_within,
            open_cheaper_by: cheapest.open_cheaper_by,
        }
    };
    let blocks = |cell: &usize| plan.cells[*cell].cell.wait() == Wait::Block;
    let first = judge.cheapest(workload);
    let spins = first.as_ref().is_some_and(|first| !blocks(&first.contrast.b));
    let among_blocking = || {
        let cells = workload.cells.iter().copied().filter(blocks).collect();
        judge.cheapest(&Workload { cells, ..workload.clone() })
    };
    WorkloadRecord {
        work: workload.work.clone(),
        cells: workload.cells.iter().map(|cell| id(*cell)).collect(),
        baseline: workload.baseline.map(id),
        fastest: first.map(fastest),
        fastest_blocking: spins.then(among_blocking).flatten().map(fastest),
        bursts: None,
        contrasts: Vec::new(),
    }
}
