//! The document in plain words.

pub use ipcost_model::escaped;
use ipcost_model::pace::Pace;
use ipcost_model::units::{duration_of, duration_text, percent, size_text, time_text};
use ipcost_model::{
    Bound, CellRecord, ContrastRecord, Document, Fastest, FloorRecord, LatencyContrast, LatencyMode,
    LatencySummary, LongerRun, MeanContrast, Metric, Mode, Multiplicity, PaceRecord, Pattern, Percentile,
    Placement, Ran, RanRecord, SpeaksFirst, Stopped, Verdict, Work, WorkloadRecord, and_joined, option_words,
};
use ipcost_stats::clopper_pearson;

use crate::numbers::{bounds, rate, time};

/// What a table measures, and where its processes run if they were placed: `64 B round trip, apart`.
pub fn workload(workload: &WorkloadRecord) -> String {
    match workload.placement {
        Placement::Free => work(workload),
        placement => format!("{}, {}", work(workload), cores(placement)),
    }
}

/// What a table measures, wherever its processes run: `64 B round trip`.
pub fn work(workload: &WorkloadRecord) -> String {
    work_of(&workload.work)
}

/// The same of its work.
pub fn work_of(workload: &Work) -> String {
    let size = size_text(workload.size);
    let reply = size_text(workload.reply);
    let what = match workload.pattern {
        _ if workload.request.is_some() => request(workload),
        Pattern::Rr if workload.size == workload.reply => format!("{size} round trip"),
        Pattern::Rr => format!("round trip of {size} and {reply}"),
        Pattern::Stream => format!("stream of {size} messages"),
        Pattern::Connect if workload.speaks_first == SpeaksFirst::Server => {
            format!("connection per reply of {reply}")
        }
        Pattern::Connect if workload.size == workload.reply => {
            format!("connection per request, {size} each way")
        }
        Pattern::Connect => format!("connection per request, {size} out and {reply} back"),
        Pattern::Floor => "what this machine allows".to_owned(),
    };
    let what = match &workload.row {
        Some(row) => format!("{what} over {}", escaped(row)),
        None => what,
    };
    let what = match workload.concurrency {
        0 | 1 => what,
        workers => format!("{what}, {workers} at once"),
    };
    match pace(workload) {
        Some(pace) => format!("{what}, {pace}"),
        None => what,
    }
}

/// When the operations of a table begin; `None` where that is back to back.
pub(crate) fn pace(work: &Work) -> Option<String> {
    let pollute = work.pace.pollute().map(|bytes| format!(", {} in between", size_text(bytes)));
    Pace::of(&work.pace).text().map(|text| text + pollute.as_deref().unwrap_or_default())
}

/// How the rows of tables of the same work kept their pace, and what their times are then; `None` where they have none.
pub fn paces(document: &Document, tables: &[&WorkloadRecord]) -> Option<String> {
    let of_table = |table: &&WorkloadRecord| -> Option<String> {
        let cells = table.cells.iter().filter_map(|id| cell(document, id)).filter(|cell| cell.epochs > 0);
        let kept: Vec<String> = cells.filter_map(|cell| kept(document, cell, cell.pace.as_ref()?)).collect();
        // Names of transports are written as they are typed, also where a sentence begins.
        let place = match table.placement {
            Placement::Free => String::new(),
            placement => format!("On {}, ", cores(placement)),
        };
        (!kept.is_empty()).then(|| format!("{place}{}.", kept.join("; ")))
    };
    let kept: Vec<String> = tables.iter().filter_map(of_table).collect();
    let cells = tables.first()?.cells.iter().filter_map(|id| cell(document, id));
    let open = cells.filter_map(|cell| cell.pace.as_ref()).map(|pace| pace.open).next()?;
    let one_way = if tables[0].pattern == Pattern::Stream { ", one way" } else { "" };
    let what = match open {
        true => "An open loop: times count from when each operation was due",
        false => "A closed loop: each operation is timed by itself, without the pause before it",
    };
    Some(format!("{what}{one_way}. {}", kept.join(" ")).trim_end().to_owned())
}

/// What the percentiles of a document are percentiles of: how its loops begin operations decides what they hide.
pub fn latency(document: &Document) -> &'static str {
    let paces = || document.cells.iter().filter(|cell| cell.epochs > 0).map(|cell| cell.cell.pace());
    let (open, paused) = (paces().any(Pace::is_open), paces().any(|pace| pace.is_paced() && !pace.is_open()));
    match document.schedule.latency {
        _ if open && paused => {
            "latency from when each operation was due where there is a rate, else of a closed loop with pauses"
        }
        _ if open => "latency of an open loop, from when each operation was due",
        _ if paused => "latency of a closed loop with pauses",
        LatencyMode::Tail => "latency of a closed loop after each batch",
        LatencyMode::LeadIn => "latency of the closed loop of the lead-ins",
        LatencyMode::Inline => "latency of the closed loop of the timed batches",
        LatencyMode::Off => "latency not sampled",
    }
}

/// How a row kept its pace; `None` if nothing is to be said of it.
fn kept(document: &Document, cell: &CellRecord, pace: &PaceRecord) -> Option<String> {
    let highest = |of: &LatencySummary| {
        let known = Percentile::COMPARED.into_iter().rev().find_map(|at| Some((at, of.at(at)?)));
        known.map_or_else(String::new, |(at, ns)| format!("{} at {}", time(ns as f64), at.title()))
    };
    let done = pace.achieved_per_s.filter(|_| pace.open).map(|achieved| format!("{} done", rate(achieved)));
    let late = pace.late_ns.as_ref().map(|late| match pace.open {
        true => format!("begun late by {}", highest(late)),
        false => format!("woken late by {}", highest(late)),
    });
    let is_telling = |share: &f64| *share >= 0.005;
    let unsent = pace.unsent.filter(is_telling).map(|share| format!("{} sent too late", percent(share)));
    let send = pace
        .send_ns
        .as_ref()
        .map(|send| format!("sends took {}, {} at most", highest(send), time(send.max as f64)));
    let pacer = pace.pacer_ns_per_op.map(|ns| format!("its sender spun {} for each", time(ns)));
    let stuck = pace.send_ns.as_ref().and_then(|send| stuck(document, cell, send));
    let parts: Vec<String> = [done, late, unsent, send, stuck, pacer].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| format!("{}: {}", escaped(&cell.label), parts.join(", ")))
}

/// A send that takes so many times the median, and so long, nanoseconds, waits for room.
const STUCK: (u64, u64) = (20, 100_000);

/// `one in 100 stuck for 7 ms or longer, as the reader takes 70 µs a message and net.unix.max_dgram_qlen lets 10 wait`
fn stuck(document: &Document, cell: &CellRecord, send: &LatencySummary) -> Option<String> {
    let is_stuck = |ns: &u64| *ns >= STUCK.1 && *ns >= STUCK.0 * send.p50;
    let longer = Percentile::ALL.iter().skip(1).filter_map(|at| Some((at, send.at(*at)?)));
    let (at, ns) = longer.into_iter().find(|(_, ns)| is_stuck(ns))?;
    let work = cell.options.server_work().filter(|ns| *ns > 0);
    let reader = work.map(|ns| format!("the reader takes {} a message", time_text(ns)));
    let queue = document.host.more.get("max_dgram_qlen").and_then(serde_json::Value::as_u64);
    let queue = queue.filter(|_| cell.transport == "unix-dgram");
    let queue = queue.map(|many| format!("net.unix.max_dgram_qlen lets {many} wait"));
    let why: Vec<String> = reader.into_iter().chain(queue).collect();
    let why = if why.is_empty() { String::new() } else { format!(", as {}", why.join(" and ")) };
    Some(format!("one in {} stuck for {} or longer{why}", at.one_in(), time(ns as f64)))
}

/// The verdict on a percentile.
pub fn verdict_of_percentile(found: &LatencyContrast, margin: f64) -> String {
    let side = if found.ratio < 1.0 { "lower" } else { "higher" };
    match found.verdict {
        Verdict::Different => side.to_owned(),
        Verdict::Direction => format!("{side}, {AMOUNT_OPEN}"),
        Verdict::Equivalent => format!("same (±{} %)", ratio_percent(margin)),
        Verdict::Undecided => "open".to_owned(),
    }
}

/// What is asked of a real server, and over how many connections: `SELECT 1 on a kept connection`.
pub(crate) fn request(work: &Work) -> String {
    let request = escaped(work.request.as_deref().unwrap_or_default());
    match work.pattern {
        Pattern::Connect => format!("{request}, a connection for each"),
        Pattern::Rr | Pattern::Stream | Pattern::Floor => match work.pipeline {
            Some(many) => format!("{request} on a kept connection, {many} in one go"),
            None => format!("{request} on a kept connection"),
        },
    }
}

/// The cores that the processes of a table run on.
pub fn cores(placement: Placement) -> &'static str {
    match placement {
        Placement::Free => "any core",
        Placement::Together => "one core",
        Placement::Apart => "two cores",
    }
}

/// The cores that a batch ran on which the scheduler placed.
pub fn ran(ran: Ran) -> &'static str {
    match ran {
        Ran::Together => "one core",
        Ran::Apart => "two cores",
        Ran::Mixed => "moved about",
    }
}

/// Where the scheduler put the batches of a cell, with the share of each, 0 to 1.
pub fn shares(cell: &CellRecord) -> Vec<(&RanRecord, f64)> {
    let all = cell.ran.iter().map(|ran| ran.batches as f64).sum::<f64>();
    cell.ran.iter().map(|ran| (ran, ran.batches as f64 / all)).collect()
}

/// How often the scheduler chose which cores for a table; `None` where it does not place them, or does not tell.
pub fn chosen(document: &Document, table: &WorkloadRecord) -> Option<String> {
    let cells = || table.cells.iter().filter_map(|id| cell(document, id));
    let batches = |ran: Ran| -> u64 {
        let records = cells().flat_map(|cell| &cell.ran).filter(|record| record.ran == ran);
        records.fold(0, |sum, record| sum.saturating_add(record.batches))
    };
    let all: f64 = Ran::ALL.iter().map(|ran| batches(*ran) as f64).sum();
    if all == 0.0 {
        return None;
    }
    let share = |ran| percent(batches(ran) as f64 / all);
    let [together, apart, mixed] = [Ran::Together, Ran::Apart, Ran::Mixed].map(share);
    Some(format!(
        "The scheduler ran {together} of the batches on one core, {apart} on two, and moved {mixed} about."
    ))
}

/// How the rows of a table are called: without the options that all of them have.
pub struct RowNames<'a> {
    pub(crate) document: &'a Document,
    /// Words of options.
    pub shared: Vec<String>,
}

impl<'a> RowNames<'a> {
    pub fn of(document: &'a Document, table: &WorkloadRecord) -> Self {
        let mut cells = table.cells.iter().filter_map(|id| cell(document, id));
        let words_of = |record: &'a CellRecord| {
            let written: Vec<&str> = record.label.split(' ').collect();
            let all = option_words(&record.cell.transport, &record.cell.options);
            all.filter(move |word| written.contains(&word.as_str())).collect::<Vec<_>>()
        };
        let mut shared = cells.next().map(words_of).unwrap_or_default();
        let mut others = 0;
        for other in cells {
            let own = words_of(other);
            shared.retain(|word| own.contains(word));
            others += 1;
        }
        Self { document, shared: if others > 0 { shared } else { Vec::new() } }
    }

    /// The whole names.
    pub(crate) fn whole(document: &'a Document) -> Self {
        Self { document, shared: Vec::new() }
    }

    pub fn label(&self, id: &str) -> String {
        self.shortened(cell(self.document, id).map_or(id, |cell| &cell.label))
    }

    /// A label without what all rows have.
    pub fn shortened(&self, label: &str) -> String {
        let is_own = |word: &&str| !self.shared.iter().any(|shared| shared == word);
        escaped(&label.split(' ').filter(is_own).collect::<Vec<_>>().join(" "))
    }
}

/// The tables of a document; those of the same work on one core and on two, with the same rows, side by side.
pub fn strata(document: &Document) -> Vec<Vec<&WorkloadRecord>> {
    let labels = |table: &WorkloadRecord| -> Vec<String> {
        table.cells.iter().map(|id| label(document, id)).collect()
    };
    // Not by its words, in which sizes are rounded.
    let work = |table: &WorkloadRecord| Work { placement: Placement::Free, ..table.work.clone() };
    let mut strata: Vec<Vec<&WorkloadRecord>> = Vec::new();
    for table in &document.workloads {
        let beside = strata.iter_mut().find(|group| {
            let [known] = group[..] else { return false };
            known.placement == Placement::Together
                && table.placement == Placement::Apart
                && table.pattern != Pattern::Floor
                && work(known) == work(table)
                && labels(known) == labels(table)
        });
        match beside {
            Some(group) => group.push(table),
            None => strata.push(vec![table]),
        }
    }
    strata
}

/// A verdict in a reader's words: `cheaper`, `same (±5 %)`, `costs more, amount open`.
pub fn verdict(verdict: Verdict, ratio: f64, margin: f64) -> String {
    let side = if ratio < 1.0 { "cheaper" } else { "costs more" };
    match verdict {
        Verdict::Different => side.to_owned(),
        Verdict::Direction => format!("{side}, {AMOUNT_OPEN}"),
        Verdict::Equivalent => format!("same (±{} %)", ratio_percent(margin)),
        Verdict::Undecided => "open".to_owned(),
    }
}

/// A verdict of equal medians whose means are not known to be equal, too.
pub const SAME_IN_MEDIAN: &str = "same in the median";

/// What is known of a contrast in a reader's words. Two cells are the same if both their medians and their means are.
pub fn verdict_of(contrast: &ContrastRecord, margin: f64) -> String {
    match (contrast.verdict, contrast.bound) {
        _ if contrast.changed => "changed during the run".to_owned(),
        (Verdict::Undecided, Some(known)) => bound(known),
        (Verdict::Equivalent, _) if !contrast.is_same() => SAME_IN_MEDIAN.to_owned(),
        (known, _) => verdict(known, contrast.ratio, margin),
    }
}

/// What is known of a ratio that may be 1: `within 13 %`, `at most 2 % more`, `at most 20 % cheaper`.
fn bound(bound: Bound) -> String {
    match (bound.within(), bound.at_most, bound.at_least) {
        (Some(factor), ..) => format!("within {}", up(factor - 1.0)),
        (None, Some(most), _) => format!("at most {} more", up(most - 1.0)),
        (None, None, Some(least)) => format!("at most {} cheaper", up(1.0 - least)),
        (None, None, None) => "open".to_owned(),
    }
}

/// A share that is no less than the given one: `13 %`.
pub(crate) fn up(share: f64) -> String {
    // What is rounded up is not the noise of a division.
    format!("{:.0} %", (share * 100.0 - 1e-9).ceil())
}

/// The mean ratio, where it says other than the median: not known to be the same, or known to lie on the other side.
pub fn other_mean(contrast: &ContrastRecord) -> Option<&MeanContrast> {
    let mean = contrast.mean.as_ref()?;
    let opposite = || match contrast.verdict {
        Verdict::Different | Verdict::Direction if contrast.ratio < 1.0 => mean.lo.is_some_and(|lo| lo > 1.0),
        Verdict::Different | Verdict::Direction => mean.hi.is_some_and(|hi| hi < 1.0),
        Verdict::Equivalent | Verdict::Undecided => false,
    };
    let differs = contrast.verdict == Verdict::Equivalent && !contrast.is_same();
    (differs || opposite()).then_some(mean)
}

/// What is known of a mean ratio of so many epochs, with the share of starts that make it differ: `costs more: 4–30 % of starts`.
pub fn verdict_of_mean(mean: &MeanContrast, epochs: u32, margin: f64) -> String {
    let known = verdict(mean.verdict, mean.ratio, margin);
    match mean.slow {
        0.0 => known,
        slow => {
            format!("{known}: {} of starts", share((slow * f64::from(epochs)).round() as u64, epochs.into()))
        }
    }
}

/// So many of the epochs as the interval of their share in all there may be: `4–30 %` for 4 of 31 (Clopper and Pearson, 95 %).
fn share(count: u64, epochs: u64) -> String {
    // A document may say anything.
    let (lo, hi) = clopper_pearson(count.min(epochs), epochs.max(1), 0.95);
    format!("{:.0}–{:.0} %", lo * 100.0, hi * 100.0)
}

/// What each group of a cell's epochs is called: by its switches where these tell which group an epoch is in (`with 0.2 switches`: the larger
/// number is twice the smaller), else by its share (`4–30 % of epochs`).
pub fn modes(cell: &CellRecord) -> Vec<String> {
    /// Fewer switches an operation say little.
    const VISIBLE: f64 = 0.1;
    let switches: Vec<f64> = cell.modes.iter().filter_map(|mode| mode.switches_per_op).collect();
    if let [low, high] = switches[..]
        && low.max(high) >= VISIBLE.max(2.0 * low.min(high))
    {
        return switches.iter().map(|per_op| format!("with {per_op:.1} switches")).collect();
    }
    let epochs = |mode: &Mode| u64::from(mode.epochs);
    let all = cell.modes.iter().map(epochs).sum();
    cell.modes.iter().map(|mode| format!("{} of epochs", share(epochs(mode), all))).collect()
}

/// Under which conditions the answers hold that a reader must know: which congestion control TCP used, and how rare slow starts may be
/// that would not have been seen.
pub fn conditions(document: &Document) -> Vec<String> {
    congestion(document).into_iter().chain(unseen(document)).collect()
}

/// `TCP under bbr; tcp cubic under cubic`. Streams turn on it.
pub fn congestion(document: &Document) -> Option<String> {
    let own = |cell: &&CellRecord| cell.cell.options.tcp_congestion().is_none();
    let cells = || document.cells.iter().filter(|cell| cell.available);
    let names = |own_only: bool| {
        let mut names: Vec<&str> = cells()
            .filter(|cell| own(cell) == own_only)
            .filter_map(|cell| cell.congestion.as_deref())
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    };
    let (usual, asked) = (names(true), names(false));
    let listed = |names: &[&str]| and_joined(&names.iter().map(|name| escaped(name)).collect::<Vec<_>>());
    let streams = cells().any(|cell| cell.pattern == Pattern::Stream && cell.congestion.is_some());
    match (usual.as_slice(), asked.as_slice()) {
        ([], []) => None,
        ([], asked) => Some(format!("TCP under {}", listed(asked))),
        (["cubic"], []) if streams => Some("TCP under cubic, bbr not measured".to_owned()),
        (usual, []) if streams && *usual != ["cubic"] => {
            Some(format!("TCP under {}, cubic not measured", listed(usual)))
        }
        (usual, []) => Some(format!("TCP under {}", listed(usual))),
        (usual, asked) => Some(format!("TCP under {}, {} where named", listed(usual), listed(asked))),
    }
}

/// How rare slow starts may be that no epoch of a contrast has met that is called the same.
pub fn unseen(document: &Document) -> Option<String> {
    let same =
        document.contrasts.iter().filter(|contrast| contrast.metric == Metric::Wall && contrast.is_same());
    let share = same
        .filter_map(|contrast| Some(contrast.mean?.unseen))
        .reduce(f64::max)
        .filter(|share| *share > 0.0)?;
    Some(format!("slow starts rarer than 1 in {:.0} would not have been seen", (1.0 / share).floor()))
}

/// What is compared, in the middle of a sentence.
pub fn quantity(metric: Metric) -> &'static str {
    match metric {
        Metric::Wall => "cost",
        Metric::Cpu => "processor time",
    }
}

/// How a verdict ends of which only the direction is known.
pub const AMOUNT_OPEN: &str = "amount open";

/// What something costs less or more: `3.9 µs (3.1–4.4) cheaper`, and `cheaper, amount open` where the amount may be next to nothing.
pub fn changed(amount: &str, is_less: bool, is_open: bool) -> String {
    let direction = if is_less { "cheaper" } else { "more" };
    if is_open { format!("{direction}, {AMOUNT_OPEN}") } else { format!("{amount} {direction}") }
}

/// The cells that cost the same as the cheapest, and those that may cost less. Documents of earlier versions name the runner-up
/// alone.
pub fn equals_and_open(fastest: &Fastest) -> (Vec<&String>, Vec<&String>) {
    let is_silent = fastest.equals.is_empty() && fastest.open.is_empty() && !fastest.claimed;
    match (is_silent, fastest.verdict) {
        (true, Verdict::Equivalent) => (vec![&fastest.runner_up], Vec::new()),
        (true, _) => (Vec::new(), vec![&fastest.runner_up]),
        _ => (fastest.equals.iter().collect(), fastest.open.iter().collect()),
    }
}

/// Whether the cell is known to cost less than what it is compared with.
pub(crate) fn is_beaten(contrast: &ContrastRecord) -> bool {
    let is_known = contrast.lo.is_some() || contrast.range.is_some();
    is_known && matches!(contrast.verdict, Verdict::Different | Verdict::Direction) && contrast.ratio < 1.0
}

/// What the floors of a table's cells are, each once, with the cells' labels where they differ.
pub fn floors(document: &Document, table: &WorkloadRecord) -> Vec<String> {
    let cells = || table.cells.iter().filter_map(|id| cell(document, id));
    let mut kinds: Vec<(&FloorRecord, Vec<String>)> = Vec::new();
    for (floor, label) in cells().filter_map(|cell| Some((cell.floor.as_ref()?, escaped(&cell.label)))) {
        match kinds.iter_mut().find(|(known, _)| known.made_of == floor.made_of) {
            Some((_, labels)) => labels.push(label),
            None => kinds.push((floor, vec![label])),
        }
    }
    let one = kinds.len() == 1;
    let line = |(floor, labels): (&FloorRecord, Vec<String>)| {
        let of = if one { String::new() } else { format!(" of {}", labels.join(", ")) };
        format!("floor{of}: {} = {}", escaped(&floor.made_of), time(floor.ns_per_op))
    };
    kinds.into_iter().map(line).collect()
}

/// The interval of a ratio, in parentheses; where there is none after many epochs, their range in brackets.
pub fn bounds_text(contrast: &ContrastRecord) -> String {
    bounds(contrast.ratio, (contrast.lo, contrast.hi), contrast.range)
}

/// Which promise the verdicts come with, so far as epochs are independent.
pub fn promise(document: &Document) -> String {
    let alpha = document.analysis.alpha;
    match document.analysis.multiplicity {
        Multiplicity::Headline => {
            format!("in {} of such runs every interval of a median is right", percent(1.0 - alpha))
        }
        Multiplicity::Explored => format!("on average at most {} of verdicts are wrong", percent(alpha)),
    }
}

/// What is promised of intervals that are not of medians.
pub fn other_intervals(document: &Document) -> String {
    let certain = percent(1.0 - document.analysis.alpha);
    match document.analysis.multiplicity {
        Multiplicity::Headline => {
            format!("; those of means and percentiles are, each by itself, in {certain}")
        }
        Multiplicity::Explored => String::new(),
    }
}

/// How many verdicts are open, and what a longer run would likely answer.
pub fn longer(longer: &LongerRun) -> String {
    let LongerRun { open, answers, budget_s, .. } = *longer;
    let Some(seconds) = budget_s else {
        return format!(
            "{open} open: how much longer {} would take is not known",
            if open == 1 { "it" } else { "they" }
        );
    };
    let which = match (answers == open, open) {
        (true, 1) => "it".to_owned(),
        (true, 2) => "both".to_owned(),
        (true, _) => "them all".to_owned(),
        (false, _) => format!("{answers} of them"),
    };
    format!("{open} open: --budget {seconds:.0}s would likely answer {which}")
}

/// Why a run ended.
pub fn why_stopped(stopped: Stopped) -> &'static str {
    match stopped {
        Stopped::Resolved => "every question answered",
        Stopped::Budget => "budget spent",
        Stopped::Interrupted => "interrupted",
        Stopped::Failed => "failed",
    }
}

/// How long a run took.
pub fn elapsed(document: &Document) -> String {
    duration_text(duration_of(document.elapsed_s))
}

/// `, killed and resumed after epochs 3 and 7`; nothing where it never was.
pub fn resumed(document: &Document) -> String {
    let after: Vec<String> = document.resumed.iter().map(|resumed| resumed.after_epoch.to_string()).collect();
    match after.as_slice() {
        [] => String::new(),
        [epoch] => format!(", killed and resumed after epoch {epoch}"),
        epochs => format!(", killed and resumed after epochs {}", and_joined(epochs)),
    }
}

fn ratio_percent(margin: f64) -> String {
    let percent = format!("{:.2}", margin * 100.0);
    percent.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Why a cell has no figures, in a word or two.
pub fn why_missing(cell: &CellRecord) -> &'static str {
    if cell.available { "not measured" } else { "unavailable" }
}

pub fn cell<'a>(document: &'a Document, id: &str) -> Option<&'a CellRecord> {
    document.cell(id)
}

/// The label of a cell by its id, safe to be shown.
pub fn label(document: &Document, id: &str) -> String {
    escaped(cell(document, id).map_or(id, |cell| &cell.label))
}

/// The contrast of a cell with what it is compared with.
pub fn contrast<'a>(document: &'a Document, metric: Metric, a: &str) -> Option<&'a ContrastRecord> {
    document.contrast(metric, a)
}

/// First words that are written in capitals when they begin a sentence.
const ACRONYMS: [&str; 8] = ["tcp", "tcp6", "udp", "udp6", "sctp", "mptcp", "tls", "cma"];

/// The same, beginning with a capital letter, as a sentence and a title do; an acronym is one as a whole: `TCP`, not `Tcp`.
pub fn capitalised(text: &str) -> String {
    let end = text.find(|letter: char| !letter.is_ascii_alphanumeric()).unwrap_or(text.len());
    let (first, rest) = text.split_at(end);
    if ACRONYMS.contains(&first) {
        return first.to_uppercase() + rest;
    }
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// What tells why some requests are slow, if of some transport the 99th percentile is far from the median, both in nanoseconds.
pub fn tail_words<'a>(known: impl Iterator<Item = (&'a str, f64, f64)>) -> Option<String> {
    const FAR: f64 = 10.0;
    let far = known.filter(|(_, p50, p99)| *p50 > 0.0 && p99 / p50 >= FAR);
    let (transport, p50, p99) =
        far.max_by(|(_, p50, p99), (_, other50, other99)| (p99 / p50).total_cmp(&(other99 / other50)))?;
    Some(format!(
        "Over {transport} one request in 100 took {:.0} times the median or longer. Why, ipcost watch --slow says of programs while they run: docs/slow-request.md.",
        p99 / p50
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tail_is_told_where_it_is_far_from_the_median() {
        let cells = [("unix", 10.0, 80.0), ("tcp", 10.0, 300.0), ("pipe", 0.0, 9.0)];
        assert!(
            tail_words(cells.into_iter()).unwrap().starts_with("Over tcp one request in 100 took 30 times")
        );
        assert_eq!(tail_words(cells.into_iter().take(1)), None);
    }
    use crate::fixture;

    #[test]
    fn a_sentence_begins_with_a_capital_letter_and_an_acronym_is_one_as_a_whole() {
        for (text, capital) in [
            ("tcp costs more", "TCP costs more"),
            ("tcp6", "TCP6"),
            ("tls-unix and tcp", "TLS-unix and tcp"),
            ("unix costs more", "Unix costs more"),
            ("tcpdump", "Tcpdump"),
            ("ärger", "Ärger"),
            ("64 B stream", "64 B stream"),
            ("", ""),
        ] {
            assert_eq!(capitalised(text), capital);
        }
    }

    #[test]
    fn groups_of_epochs_are_named_by_their_switches_or_by_their_share() {
        let mode = |epochs: u32, switches: Option<f64>| Mode {
            share: 0.5,
            epochs,
            wall_ns_per_op: 1.0,
            switches_per_op: switches,
            cpus_busy: None,
        };
        let named = |low: Mode, high: Mode| {
            let mut cell = crate::fixture::document().cells.swap_remove(0);
            cell.modes = vec![low, high];
            modes(&cell)
        };
        assert_eq!(
            named(mode(4, Some(0.2)), mode(27, Some(1.9))),
            ["with 0.2 switches", "with 1.9 switches"]
        );
        assert_eq!(named(mode(4, Some(1.5)), mode(27, Some(1.9))), ["4–30 % of epochs", "70–96 % of epochs"]);
        assert_eq!(named(mode(4, None), mode(27, Some(1.9)))[0], "4–30 % of epochs");
        // Of a document that says anything.
        assert_eq!(named(mode(0, None), mode(0, None)), ["0–98 % of epochs", "0–98 % of epochs"]);
        assert_eq!(named(mode(u32::MAX, None), mode(u32::MAX, None))[0], "50–50 % of epochs");
    }

    #[test]
    fn what_a_longer_run_answers_is_said_of_one_and_of_many() {
        let told = |open, answers, budget_s| longer(&LongerRun { open, answers, budget_s, in_the_way: None });
        assert_eq!(told(1, 1, Some(70.0)), "1 open: --budget 70s would likely answer it");
        assert_eq!(told(3, 3, Some(70.0)), "3 open: --budget 70s would likely answer them all");
        assert_eq!(told(3, 2, Some(180.0)), "3 open: --budget 180s would likely answer 2 of them");
        assert_eq!(told(2, 0, None), "2 open: how much longer they would take is not known");
    }

    #[test]
    fn the_congestion_control_is_named_where_tcp_is() {
        let mut document = fixture::document();
        let of = |document: &Document| congestion(document);
        assert_eq!(of(&document), None, "documents of earlier versions");
        let tcp = document.cells.iter().position(|cell| cell.transport == "tcp").unwrap();
        document.cells[tcp].congestion = Some("bbr\u{1b}[31m".to_owned());
        assert_eq!(of(&document).as_deref(), Some("TCP under bbr\\u{1b}[31m"));
        document.cells[tcp].pattern = Pattern::Stream;
        document.cells[tcp].congestion = Some("bbr".to_owned());
        assert!(of(&document).unwrap().contains("cubic not measured"));
        document.cells[tcp].congestion = Some("cubic".to_owned());
        assert_eq!(of(&document).as_deref(), Some("TCP under cubic, bbr not measured"));
    }

    #[test]
    fn what_is_the_same_names_the_slow_starts_that_would_not_have_been_seen() {
        let mut document = fixture::document();
        let same = document.contrasts.iter_mut().find(|contrast| contrast.verdict == Verdict::Equivalent);
        let same = match same {
            Some(same) => same,
            None => {
                document.contrasts[0].verdict = Verdict::Equivalent;
                &mut document.contrasts[0]
            }
        };
        same.metric = Metric::Wall;
        let mean = MeanContrast {
            ratio: 1.0,
            lo: Some(0.99),
            hi: Some(1.01),
            verdict: Verdict::Equivalent,
            slow: 0.0,
            unseen: 0.109,
        };
        let said = |document: &Document| conditions(document).pop();
        same.mean = Some(mean);
        assert_eq!(verdict_of(same, 0.05), "same (±5 %)");
        assert_eq!(
            said(&document).as_deref(),
            Some("slow starts rarer than 1 in 9 would not have been seen")
        );
        let same = document.contrasts.iter_mut().find(|contrast| contrast.mean.is_some()).unwrap();
        // A document may say anything.
        same.mean = Some(MeanContrast { unseen: 0.0, ..mean });
        assert_eq!(said(&document), None);
        let same = document.contrasts.iter_mut().find(|contrast| contrast.mean.is_some()).unwrap();
        let slow =
            MeanContrast { ratio: 1.16, hi: Some(1.9), verdict: Verdict::Undecided, slow: 0.08, ..mean };
        same.mean = Some(slow);
        assert_eq!(verdict_of(same, 0.05), SAME_IN_MEDIAN);
        let open = |lo: f64, hi: f64| ContrastRecord {
            verdict: Verdict::Undecided,
            bound: Bound::of(Some((lo, hi))),
            ..same.clone()
        };
        let said = [(0.75, 1.021), (0.94, 1.13), (0.85, 1.6), (0.5, 2.0), (0.8, 1.25)]
            .map(|(lo, hi)| verdict_of(&open(lo, hi), 0.05));
        assert_eq!(said, ["at most 3 % more", "within 13 %", "at most 15 % cheaper", "open", "within 25 %"]);
        assert_eq!(
            verdict_of(&ContrastRecord { changed: true, ..open(0.9, 1.1) }, 0.05),
            "changed during the run"
        );
        assert_eq!(verdict_of_mean(other_mean(same).unwrap(), 25, 0.05), "open: 1–26 % of starts");
    }
}
