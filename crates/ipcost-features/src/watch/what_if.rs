//! What another transport would save a conversation: the nearest cells that can be measured, and what they say.

use std::time::{Duration, Instant};

use ipcost_lab::lab::{about, fresh_seed, has_long_transfers};
use ipcost_lab::progress::Observer;
use ipcost_lab::{Contrasts, Lab, LabError, document};
use ipcost_model::STEADY;
use ipcost_model::pace::THINK;
use ipcost_model::units::{counted, percent};
use ipcost_model::{
    CellRecord, Document, Estimate, Job, Matrix, Metric, OptionName, OptionValue, Pattern, Placement, Size,
    Verdict,
};
use ipcost_report::numbers::{interval, rate, ratio, time};
use ipcost_report::words::changed;
use ipcost_sys::interrupt::Interrupt;
use ipcost_sys::running::{Depth, program_of};
use serde::{Deserialize, Serialize};

use super::description::TICKS_PER_S;
use super::{Conversation, ConversationPattern, WatchedTransport};

/// How long the measurement may take.
const BUDGET: Duration = Duration::from_secs(15);
/// Longer pauses cost hardly more, and take long to measure.
const LONGEST_PAUSE: Duration = Duration::from_millis(20);
/// Shorter ones are none: the clock that ends them is later by as much.
const SHORTEST_PAUSE: Duration = Duration::from_micros(20);
/// More connections at once are measured as so many.
const MOST_AT_ONCE: u32 = 16;
/// What a message is taken to be where nothing tells.
const UNKNOWN_BYTES: u64 = 64;
/// Processor time of both from which on they are no quiet machine.
const BUSY: f64 = 0.05;
/// Less of a processor is not worth a word.
const LEAST_PROCESSOR: f64 = 0.001;

/// Why a conversation cannot be measured in another way.
#[derive(Debug, thiserror::Error)]
pub enum WhatIfError {
    #[error("no conversation that moves anything fits; ipcost watch shows what there is")]
    Nothing,
    /// It moves nothing that can be repeated.
    #[error("what {0} say to each other over {1} cannot be measured in another way: {2}")]
    Unlike(String, String, &'static str),
}

/// What is measured for a conversation, and what of it is not as it was seen.
#[derive(Debug, Clone, PartialEq)]
pub struct WhatIf {
    /// The cells: over the present transport and the others.
    pub job: Job,
    /// What was rounded or left out.
    pub notes: Vec<String>,
}

/// What the measurement says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WhatIfRecord {
    /// The conversation: its two programs, and over what they talk.
    pub conversation: String,
    /// What was measured; anybody can run it again.
    pub job: Job,
    /// What was rounded or left out.
    pub notes: Vec<String>,
    /// Whether the programs took so much processor time meanwhile that it was measured beside their load.
    pub beside_load: bool,
    /// The cells, the present one first.
    pub cells: Vec<WhatIfCell>,
    /// What it would save, in words.
    pub sentences: Vec<String>,
}

/// A cell of the measurement.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct WhatIfCell {
    pub id: String,
    pub transport: String,
    /// Whether each operation opens a connection.
    pub connects: bool,
    /// Elapsed time of an operation, nanoseconds.
    pub wall_ns: Option<Estimate>,
    /// Processor time of both sides for an operation, nanoseconds.
    pub cpu_ns: Option<Estimate>,
    /// Its cost as a multiple of the present one's, where they are compared.
    pub ratio: Option<Estimate>,
    /// Whether that is a difference.
    pub verdict: Option<Verdict>,
}

impl WhatIf {
    /// The nearest cells to a conversation, over its transport and these.
    pub fn of(conversation: &Conversation, transports: &[String]) -> Result<Self, WhatIfError> {
        let unlike = |why| {
            let both = format!("{} and {}", conversation.client.name, conversation.server.name);
            WhatIfError::Unlike(both, conversation.medium.to_string(), why)
        };
        let manner = conversation.manner.ok_or_else(|| unlike("nothing tells how much they say"))?;
        if conversation.medium == WatchedTransport::Shm {
            return Err(unlike("nothing tells when they touch their shared memory"));
        }
        let pattern = match manner {
            ConversationPattern::Requests => Pattern::Rr,
            ConversationPattern::Connections => Pattern::Connect,
            ConversationPattern::Stream => Pattern::Stream,
            ConversationPattern::Idle => return Err(unlike("it moved nothing while it was looked at")),
        };
        let present = conversation.medium.name().to_owned();
        let others = transports.iter().filter(|transport| **transport != present).cloned();
        let all: Vec<String> = std::iter::once(present.clone()).chain(others).collect();
        let at_once = at_once(conversation);
        let (sent, answered) = sizes(conversation);
        let mut notes = Vec::new();
        let mut matrix = Matrix {
            transport: all.into(),
            pattern: vec![pattern].into(),
            size: vec![Size(sent.max(1))].into(),
            concurrency: vec![at_once].into(),
            // Where the programs are put is the scheduler's choice, too; a run chooses otherwise where nothing is said.
            placement: vec![Placement::Free].into(),
            ..Matrix::default()
        };
        match pattern {
            Pattern::Stream => notes.extend(set_stream(conversation, &mut matrix)),
            _ => {
                let is_unanswered = answered == 0;
                notes.extend(
                    is_unanswered
                        .then(|| "nothing is answered, and a reply of a byte is measured".to_owned()),
                );
                matrix.reply = vec![Size(answered.max(1))].into();
            }
        }
        if pattern == Pattern::Rr
            && let Some(pause) = pause(conversation, at_once)
        {
            notes.extend(set_pause(pause, &mut matrix));
        }
        if conversation.slowed {
            notes.push("the pace was seen while strace made the calls slower".to_owned());
        }
        if conversation.connections > at_once {
            notes.push(format!(
                "of {}, {at_once} are taken to ask at once",
                counted(conversation.connections, "connection")
            ));
        }
        let mut cells = vec![matrix.clone()];
        if pattern == Pattern::Connect {
            // A kept connection is the same work without the connection.
            matrix.pattern = vec![Pattern::Rr].into();
            cells.push(matrix);
        }
        let job = Job { baseline: Some(present), budget: Some(BUDGET), cells, ..Job::default() };
        Ok(Self { job, notes })
    }

    /// Measures the cells and says what they show of the conversation.
    pub fn measure(
        self,
        conversation: &Conversation,
        lab: &Lab,
        interrupt: &Interrupt,
        observer: &mut dyn Observer,
    ) -> Result<WhatIfRecord, LabError> {
        let seed = fresh_seed();
        let plan = lab.plan_job(&self.job, seed)?;
        let about = about(&self.job, seed);
        let began = (Instant::now(), ticks(conversation));
        let (outcome, _) = lab.run(plan, &Contrasts, interrupt, |_| observer).map_err(LabError::from)?;
        let took_s = ticks(conversation).saturating_sub(began.1) as f64 / TICKS_PER_S;
        let beside_load = took_s >= BUSY * began.0.elapsed().as_secs_f64();
        Ok(self.say(conversation, &document(outcome, about), beside_load))
    }

    fn say(self, conversation: &Conversation, document: &Document, beside_load: bool) -> WhatIfRecord {
        let present = |pattern| {
            document
                .cells
                .iter()
                .find(|cell| cell.transport == conversation.medium.name() && cell.pattern == pattern)
        };
        let cells: Vec<WhatIfCell> = document
            .cells
            .iter()
            .map(|cell| {
                let found = against(document, cell, present(cell.pattern));
                WhatIfCell {
                    id: cell.id.clone(),
                    transport: cell.transport.clone(),
                    connects: cell.pattern == Pattern::Connect,
                    wall_ns: cell.wall_ns_per_op,
                    cpu_ns: cell.cpu_ns_per_op,
                    ratio: found.map(|(ratio, _)| ratio),
                    verdict: found.map(|(_, verdict)| verdict),
                }
            })
            .collect();
        let at_once = self.job.cells[0].concurrency.0.first().copied().unwrap_or(1);
        let sentences = sentences(conversation, at_once, &cells, beside_load);
        WhatIfRecord {
            conversation: between(conversation),
            job: self.job,
            notes: self.notes,
            beside_load,
            cells,
            sentences,
        }
    }
}

/// A stream goes on; the direction is turned round where the server is the one that sends, which is noted.
fn set_stream(conversation: &Conversation, matrix: &mut Matrix) -> Option<String> {
    // An option that acts on no cell would be refused.
    if matrix.transport.0.iter().any(|transport| has_long_transfers(transport)) {
        let steady = OptionName::find(STEADY).expect("an option of the catalogue");
        matrix.options.0.insert(steady, vec![OptionValue::Bool(true)]);
    }
    let bytes = |flow: Option<super::Flow>| flow.map_or(0.0, |flow| flow.bytes_per_s);
    (bytes(conversation.back) > bytes(conversation.there))
        .then(|| "the server's stream is measured as one of the client".to_owned())
}

/// Each connection asks after a pause; it is noted where a shorter one is measured.
fn set_pause(pause: Duration, matrix: &mut Matrix) -> Option<String> {
    let shown = pause.min(LONGEST_PAUSE);
    if let Ok(name) = OptionName::find(THINK) {
        matrix.options.0.insert(name, vec![OptionValue::Int(shown.as_nanos() as u64)]);
    }
    (shown < pause).then(|| {
        format!("each connection asks after {} and is measured as if after {}", text(pause), text(shown))
    })
}

/// The processor time that both sides have taken so far, ticks. One that has ended takes none.
fn ticks(conversation: &Conversation) -> u64 {
    let sides = [&conversation.client, &conversation.server]
        .into_iter()
        .filter_map(|side| program_of(side.pid?, Depth::Counts));
    sides.map(|program| program.ticks).sum()
}

/// The cost of a cell as a multiple of the present one's, and what that says.
fn against(
    document: &Document,
    cell: &CellRecord,
    present: Option<&CellRecord>,
) -> Option<(Estimate, Verdict)> {
    let present = present.filter(|present| present.id != cell.id)?;
    let found = document.contrasts.iter().find(|contrast| {
        contrast.metric == Metric::Wall && contrast.a == cell.id && contrast.b == present.id
    })?;
    Some((Estimate { median: found.ratio, lo: found.lo, hi: found.hi }, found.verdict))
}

fn sentences(
    conversation: &Conversation,
    at_once: u32,
    cells: &[WhatIfCell],
    beside_load: bool,
) -> Vec<String> {
    let connects = conversation.manner == Some(ConversationPattern::Connections);
    let present =
        cells.iter().find(|cell| cell.transport == conversation.medium.name() && cell.connects == connects);
    let Some((present, wall)) = present.and_then(|cell| Some((cell, cell.wall_ns?))) else {
        return vec!["The present transport could not be measured, so that nothing can be said.".to_owned()];
    };
    let what = match conversation.manner {
        Some(ConversationPattern::Stream) => "a message",
        Some(ConversationPattern::Connections) => "a request with its connection",
        _ => "a request",
    };
    // With several at once, the time of an operation is not what one waits.
    let waits_ns = conversation.waits_ns().filter(|_| at_once == 1);
    let alike =
        || cells.iter().filter(|cell| cell.transport != present.transport && cell.connects == connects);
    // What is part of something cannot cost more than all of it.
    if let Some(whole) = waits_ns.filter(|ns| *ns <= wall.median) {
        let beside = if beside_load { " while these programs were running" } else { "" };
        let no_answer = format!(
            "{}: {what} took {} over {}{beside}, more than the {} that the client was seen to wait in all: what the hop costs it is not known; measure again when the machine is quiet.",
            between(conversation),
            time(wall.median),
            conversation.medium,
            time(whole),
        );
        return std::iter::once(no_answer).chain(alike().filter_map(times)).collect();
    }
    let whole = match (at_once, waits_ns) {
        (1, Some(ns)) => format!(" of the {} that the client waits", time(ns)),
        (1, None) => String::new(),
        _ => format!(", {at_once} at once"),
    };
    let mut said = vec![format!(
        "{}: over {} the hop costs {what} {}{}{whole}.",
        between(conversation),
        conversation.medium,
        time(wall.median),
        interval_of(wall),
    )];
    said.extend(alike().map(|cell| other(conversation, cell, present, wall, waits_ns)));
    let kept = cells.iter().find(|cell| connects && cell.transport == present.transport && !cell.connects);
    if let Some(kept) = kept.and_then(|cell| cell.wall_ns) {
        let saved = time(wall.median - kept.median);
        said.push(format!(
            "A connection that is kept would save about {saved} of that ({} instead).",
            time(kept.median)
        ));
    }
    said.push(match beside_load {
        true => "It was measured while these programs were running, which took processor time.".to_owned(),
        false => "It was measured in a quiet moment of these programs.".to_owned(),
    });
    said
}

/// How many times as much another transport costs, where that is known.
fn times(cell: &WhatIfCell) -> Option<String> {
    let found = cell.ratio.filter(|_| cell.verdict.is_some_and(|verdict| verdict != Verdict::Undecided))?;
    Some(format!("Over {} it costs {} of that.", cell.transport, figures(found)))
}

fn figures(found: Estimate) -> String {
    let within =
        interval(found.median, found.lo, found.hi).map_or_else(String::new, |within| format!(" ({within})"));
    format!("{} ×{within}", ratio(found.median))
}

/// What another transport would change.
fn other(
    conversation: &Conversation,
    cell: &WhatIfCell,
    present: &WhatIfCell,
    wall: Estimate,
    waits_ns: Option<f64>,
) -> String {
    let over = &cell.transport;
    let (Some(times), Some(verdict)) = (cell.ratio, cell.verdict) else {
        return format!("Over {over} it could not be measured.");
    };
    let figures = figures(times);
    match verdict {
        Verdict::Undecided => {
            return format!(
                "Over {over} it costs {figures}: whether it differs is open; measure for longer, with the file that --job writes."
            );
        }
        Verdict::Equivalent => return format!("Over {over} it costs the same within the margin: {figures}."),
        Verdict::Different | Verdict::Direction => {}
    }
    // The interval is that of the ratio, of what the present one takes.
    let of_present = |times: f64| (wall.median * (1.0 - times)).abs();
    let changed_ns = of_present(times.median);
    let ends = times.lo.zip(times.hi).map(|(lo, hi)| (of_present(lo), of_present(hi)));
    let ends = ends.map_or_else(String::new, |(a, b)| format!(" ({}–{})", time(a.min(b)), time(a.max(b))));
    let is_open = verdict == Verdict::Direction;
    let changed = changed(&format!("{}{ends}", time(changed_ns)), times.median < 1.0, is_open);
    if is_open {
        return format!("Over {over} it costs {figures}: {changed}.");
    }
    let share = waits_ns
        .map_or_else(String::new, |ns| format!(", {} of what the client waits", percent(changed_ns / ns)));
    let per_s = conversation.requests_per_s.unwrap_or_default();
    let processor =
        cell.cpu_ns.zip(present.cpu_ns).map(|(now, before)| (before.median - now.median) * per_s / 1e9);
    let processor =
        processor.filter(|saved| saved.abs() >= LEAST_PROCESSOR).map_or_else(String::new, |saved| {
            let direction = if saved > 0.0 { "less" } else { "more" };
            format!(", and about {} of a processor {direction} at {}", percent(saved.abs()), rate(per_s))
        });
    format!("Over {over} it costs {figures}: {changed}{share}{processor}.")
}

fn interval_of(estimate: Estimate) -> String {
    let within = estimate.lo.zip(estimate.hi);
    within.map_or_else(String::new, |(lo, hi)| format!(" ({}–{})", time(lo), time(hi)))
}

fn between(conversation: &Conversation) -> String {
    let address =
        if conversation.address.is_empty() { String::new() } else { format!(" ({})", conversation.address) };
    let name =
        |side: &super::Party| if side.name.is_empty() { "a program".to_owned() } else { side.name.clone() };
    format!("{} → {}{address}", name(&conversation.client), name(&conversation.server))
}

/// Bytes of a request and of its answer; of a stream, of a message and 0.
fn sizes(conversation: &Conversation) -> (u64, u64) {
    let requests = conversation.requests_per_s.filter(|per_s| *per_s > 0.0);
    let of = |flow: &Option<super::Flow>| {
        let flow = flow.as_ref()?;
        let sampled = flow.message_bytes.map(|spread| spread.median);
        let mean = requests.map(|per_s| flow.bytes_per_s / per_s);
        let by_segment =
            flow.segments.filter(|count| *count > 0).map(|count| flow.bytes as f64 / count as f64);
        sampled.or(mean).or(by_segment).map(|bytes| bytes.round() as u64)
    };
    match conversation.manner {
        Some(ConversationPattern::Stream) => {
            (of(&conversation.there).max(of(&conversation.back)).unwrap_or(UNKNOWN_BYTES), 0)
        }
        _ => (
            of(&conversation.there).unwrap_or(UNKNOWN_BYTES),
            of(&conversation.back).unwrap_or(UNKNOWN_BYTES),
        ),
    }
}

/// How many connections ask at once: by the law of Little, what is under way at a time.
fn at_once(conversation: &Conversation) -> u32 {
    let most = conversation.connections.clamp(1, MOST_AT_ONCE);
    if conversation.manner == Some(ConversationPattern::Stream) {
        return most;
    }
    let waits_s = conversation.round_trip_us.map(|spread| spread.median / 1e6);
    let under_way = conversation.requests_per_s.zip(waits_s).map(|(per_s, waits_s)| per_s * waits_s);
    // Where nothing tells how long one takes, they are all taken to.
    under_way.map_or(most, |count| (count.ceil() as u32).clamp(1, most))
}

/// From an answer to the next request over the same of these connections; `None` where they follow at once.
fn pause(conversation: &Conversation, at_once: u32) -> Option<Duration> {
    let per_s = conversation.requests_per_s.filter(|per_s| *per_s > 0.0)?;
    let each_s = f64::from(at_once) / per_s;
    let waits_s = conversation.round_trip_us.map_or(0.0, |spread| spread.median / 1e6);
    let pause = Duration::from_secs_f64((each_s - waits_s).max(0.0));
    // Without samples, a round trip is part of it: only what is longer than any of those is a pause.
    let least = if conversation.round_trip_us.is_some() { SHORTEST_PAUSE } else { SHORTEST_PAUSE * 10 };
    (pause >= least).then_some(pause)
}

fn text(pause: Duration) -> String {
    time(pause.as_nanos() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::{Flow, Party, Spread};

    /// A pair over UDP that asks 1 000 times a second, of which each waits so many microseconds.
    fn pair(waits_us: f64, answers: bool) -> Conversation {
        let flow = |bytes: u64| Flow { bytes, bytes_per_s: bytes as f64, ..Flow::default() };
        let party = |name: &str| Party { name: name.to_owned(), ..Party::default() };
        Conversation {
            client: party("asker"),
            server: party("answerer"),
            medium: WatchedTransport::Udp,
            address: "127.0.0.1:53".to_owned(),
            connections: 1,
            there: Some(flow(64_000)),
            back: Some(flow(if answers { 200_000 } else { 0 })),
            manner: Some(if answers {
                ConversationPattern::Requests
            } else {
                ConversationPattern::Connections
            }),
            requests_per_s: Some(1_000.0),
            round_trip_us: Some(Spread { median: waits_us, p99: 2.0 * waits_us }),
            ..Conversation::default()
        }
    }

    fn exactly(value: f64) -> Estimate {
        Estimate { median: value, lo: Some(value), hi: Some(value) }
    }

    /// The present transport takes 10 µs, another so many times as long.
    fn cells(times: f64, verdict: Verdict) -> Vec<WhatIfCell> {
        let cell = |transport: &str, times: Option<f64>| WhatIfCell {
            id: transport.to_owned(),
            transport: transport.to_owned(),
            connects: false,
            wall_ns: Some(exactly(10e3 * times.unwrap_or(1.0))),
            cpu_ns: Some(exactly(20e3 * times.unwrap_or(1.0))),
            ratio: times.map(exactly),
            verdict: times.map(|_| verdict),
        };
        vec![cell("udp", None), cell("unix-dgram", Some(times))]
    }

    #[test]
    fn what_is_part_of_something_does_not_cost_more_than_all_of_it() {
        let said = |waits_us, beside| {
            sentences(&pair(waits_us, true), 1, &cells(0.5, Verdict::Different), beside).join("\n")
        };
        let answer = said(40.0, false);
        assert!(
            answer.contains("over udp the hop costs a request 10.0 µs") && answer.contains("of the 40.0 µs")
        );
        assert!(
            answer.contains(
                "Over unix-dgram it costs 0.50 × (0.50–0.50): 5.00 µs (5.00 µs–5.00 µs) cheaper, 12 % of what the client waits"
            ),
            "{answer}"
        );
        assert!(answer.contains("in a quiet moment"), "{answer}");
        let none = said(8.0, true);
        assert!(
            none.contains("took 10.0 µs over udp while these programs were running, more than the 8.00 µs"),
            "{none}"
        );
        assert!(none.contains("not known") && !none.contains("µs cheaper"), "{none}");
        // How they compare is known, as both are of one run.
        assert!(none.contains("Over unix-dgram it costs 0.50 × (0.50–0.50) of that."), "{none}");
    }

    #[test]
    fn what_is_open_is_no_saving() {
        let said = sentences(&pair(40.0, true), 1, &cells(0.9, Verdict::Undecided), false).join("\n");
        assert!(said.contains("whether it differs is open") && !said.contains("cheaper"), "{said}");
        let said = sentences(&pair(40.0, true), 1, &cells(0.9, Verdict::Direction), false).join("\n");
        assert!(said.contains(": cheaper, amount open.") && !said.contains("µs cheaper"), "{said}");
    }

    #[test]
    fn a_stream_is_measured_as_it_goes_on_where_that_differs() {
        let pipe = Conversation {
            medium: WatchedTransport::Pipe,
            manner: Some(ConversationPattern::Stream),
            back: None,
            requests_per_s: None,
            ..pair(40.0, true)
        };
        let is_steady = |other: &str| {
            let job = WhatIf::of(&pipe, &[other.to_owned()]).unwrap().job;
            // What it writes is what can be run.
            let mut tell = |_: &str| {};
            Lab::open(&job, &mut tell).unwrap().plan_job(&job, 1).unwrap();
            !job.cells[0].options.0.is_empty()
        };
        assert!(is_steady("tcp") && !is_steady("unix"));
    }

    #[test]
    fn a_request_without_an_answer_is_measured_with_one_of_a_byte() {
        let what_if = WhatIf::of(&pair(40.0, false), &["unix-dgram".to_owned()]).unwrap();
        assert_eq!(what_if.job.cells[0].reply.0, [Size(1)]);
        assert!(what_if.notes.iter().any(|note| note.contains("a reply of a byte")), "{:?}", what_if.notes);
        let idle = Conversation { manner: Some(ConversationPattern::Idle), ..pair(40.0, false) };
        let why = WhatIf::of(&idle, &[]).unwrap_err().to_string();
        assert!(why.contains("asker and answerer") && why.contains("moved nothing"), "{why}");
    }
}
