//! Cases: a transcript in one cell, and the assignment of its roles.

use std::collections::BTreeMap;
use std::fmt;

use ipcost_model::protocol::{Done, FromPeer, MAX_LATENCY_VALUES, PeerRole};
use ipcost_model::{Cell, Pattern, SpeaksFirst};
use serde_json::{Value, json};

use super::matching::{Placeholders, mismatch};
use super::process::ExaminedProcess;
use super::setup::{Setup, Who};
use super::transcript::{Count, Pairings, Speaker, Transcript, TranscriptStep, Transports};
use super::{CheckError, ConformanceFinding};

/// One way to play a transcript.
pub struct Case {
    /// `None` if the peer gets no role.
    cell: Option<Cell>,
    pairing: BTreeMap<Speaker, Who>,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(cell) = &self.cell else { return Ok(()) };
        write!(f, ": {} over {}, concurrency {}", cell.pattern, cell.transport, cell.concurrency)?;
        for (part, who) in &self.pairing {
            match (part, who) {
                (Speaker::Server, Who::Native) => write!(f, ", with the native server")?,
                (Speaker::Client, Who::Native) => write!(f, ", with the native client")?,
                _ => {}
            }
        }
        Ok(())
    }
}

/// The ways to play a transcript with the subject.
pub fn cases(transcript: &Transcript, setup: &Setup<'_>) -> Result<Vec<Case>, CheckError> {
    if transcript.has(Speaker::Peer) {
        return Ok(vec![Case { cell: None, pairing: BTreeMap::from([(Speaker::Peer, Who::Subject)]) }]);
    }
    let header = &transcript.header;
    if header.size.is_some() && setup.subject.only.is_some() {
        return Err("it carries messages of one size only".into());
    }
    if header.plain_wire && setup.subject.own_wire {
        return Err("it drives a real program, which need not notice".into());
    }
    let mut options = header.options.iter().map(|(name, _)| name.spec().name);
    if let Some(unknown) = options.find(|name| header.listed && !setup.hello.knows(name)) {
        return Err(CheckError::Unlisted(unknown));
    }
    let pairings = pairings(transcript, setup);
    let mut cases = Vec::new();
    for pattern in patterns(&header.patterns, &setup.hello.patterns) {
        for transport in transports(&header.transports, setup.transports(pattern)) {
            for (at, concurrency) in header.concurrency.iter().enumerate() {
                // Repeating other partners with several workers reveals nothing new.
                let pairings = if at == 0 { pairings.as_slice() } else { &pairings[..pairings.len().min(1)] };
                for pairing in pairings {
                    let mut cell = setup.cell(pattern, transport, *concurrency);
                    cell.options = header.options.clone();
                    cell.size = header.size.unwrap_or(cell.size);
                    if header.speaks_first == SpeaksFirst::Server {
                        (cell.speaks_first, cell.size) = (SpeaksFirst::Server, cell.reply);
                    }
                    if setup.fits(&cell) {
                        cases.push(Case { cell: Some(cell), pairing: pairing.clone() });
                    }
                }
            }
        }
    }
    if cases.is_empty() { Err("it offers nothing that this could be played in".into()) } else { Ok(cases) }
}

/// The assignments of parts: first the subject in every part it can play; then, if requested, in one part each.
fn pairings(transcript: &Transcript, setup: &Setup<'_>) -> Vec<BTreeMap<Speaker, Who>> {
    let parts = [(Speaker::Server, PeerRole::Server), (Speaker::Client, PeerRole::Client)];
    let parts: Vec<_> = parts.into_iter().filter(|(part, _)| transcript.has(*part)).collect();
    let pairing = |is_subject: &dyn Fn(PeerRole) -> bool| -> BTreeMap<Speaker, Who> {
        let who = |role| if is_subject(role) && setup.can_be(role) { Who::Subject } else { Who::Native };
        parts.iter().map(|(part, role)| (*part, who(*role))).collect()
    };
    let mut pairings = vec![pairing(&|_| true)];
    if transcript.header.pairings == Pairings::All && parts.len() == 2 {
        pairings.extend(PeerRole::ALL.iter().map(|one| pairing(&|role| role == *one)));
    }
    pairings.dedup();
    let alone = |pairing: &BTreeMap<Speaker, Who>| pairing.values().all(|who| *who == Who::Subject);
    pairings.retain(|pairing| {
        pairing.values().any(|who| *who == Who::Subject) && (!setup.subject.own_wire || alone(pairing))
    });
    pairings
}

fn patterns(asked: &[Pattern], offered: &[Pattern]) -> Vec<Pattern> {
    if asked.is_empty() {
        let usual = [Pattern::Rr, Pattern::Connect, Pattern::Stream];
        return usual.into_iter().find(|pattern| offered.contains(pattern)).into_iter().collect();
    }
    asked.iter().copied().filter(|pattern| offered.contains(pattern)).collect()
}

fn transports(asked: &Transports, mut offered: Vec<&'static str>) -> Vec<&'static str> {
    match asked {
        Transports::Count(Count::Every) => {}
        Transports::Count(Count::One) => offered.truncate(1),
        Transports::These(names) => offered.retain(|name| names.iter().any(|asked| asked == name)),
    }
    offered
}

impl Case {
    pub fn play(&self, transcript: &Transcript, setup: &Setup<'_>) -> ConformanceFinding {
        let mut play = match Play::begin(self, setup) {
            Ok(play) => play,
            Err(why) => return ConformanceFinding::Failed(why.to_string()),
        };
        // The peer decides whether it supports several workers.
        let several = self.cell.as_ref().is_some_and(|cell| cell.concurrency > 1);
        let may_refuse = transcript.header.may_refuse || several;
        // The header is line 1.
        for (line, step) in (2..).zip(&transcript.steps) {
            match play.step(step) {
                Ok(()) => {}
                Err(CheckError::Refused(why)) if may_refuse => {
                    return ConformanceFinding::Skipped(format!("it refuses: {why}"));
                }
                Err(why @ CheckError::Refused(_)) => {
                    return ConformanceFinding::Failed(format!("line {line}: {why}"));
                }
                Err(why) => {
                    let part = format!("{:?}", step.part()).to_lowercase();
                    return ConformanceFinding::Failed(format!(
                        "line {line}: the {part} {why}{}",
                        play.complaints()
                    ));
                }
            }
        }
        ConformanceFinding::Passed
    }
}

/// A case that is being played.
struct Play {
    processes: BTreeMap<Speaker, ExaminedProcess>,
    names: Placeholders,
    cell: Option<Cell>,
    /// Whether the client's next batch samples latencies.
    latency: bool,
    /// Whether the server's answer supplies the client's address.
    passes_address_on: bool,
}

impl Play {
    fn begin(case: &Case, setup: &Setup<'_>) -> Result<Self, CheckError> {
        let mut names = Placeholders::default();
        let mut passes_address_on = true;
        let (mut server_inherits, mut client_inherits) = (Vec::new(), Vec::new());
        if let Some(cell) = &case.cell {
            let provision = setup.provision(cell)?;
            names.cell = json!(cell);
            names.address = json!(provision.server);
            passes_address_on = provision.client.is_none();
            names.client_address = json!(provision.client);
            (server_inherits, client_inherits) = (provision.server_inherits, provision.client_inherits);
        }
        let mut processes = BTreeMap::new();
        for (part, who) in &case.pairing {
            let inherit = match part {
                Speaker::Peer => Vec::new(),
                Speaker::Server => std::mem::take(&mut server_inherits),
                Speaker::Client => std::mem::take(&mut client_inherits),
            };
            processes.insert(*part, setup.start(*who, inherit)?);
        }
        Ok(Self { processes, names, cell: case.cell.clone(), latency: false, passes_address_on })
    }

    fn step(&mut self, step: &TranscriptStep) -> Result<(), CheckError> {
        let part = step.part();
        let process = self.processes.get_mut(&part).ok_or("is not pairing")?;
        match step {
            TranscriptStep::Say { say, .. } => {
                if part == Speaker::Client {
                    self.latency = say["latency"] == Value::Bool(true);
                }
                process.say(&self.names.fill(say))?;
            }
            TranscriptStep::Raw { raw, .. } => {
                process.write(format!("{}\n", self.names.fill_text(raw)).as_bytes())?
            }
            TranscriptStep::Piece { part, .. } => process.write(part.as_bytes())?,
            TranscriptStep::End { .. } => process.end(),
            TranscriptStep::Kill { .. } => process.kill(),
            TranscriptStep::Gone { with, .. } => process.gone(*with)?,
            TranscriptStep::Hear { hear, .. } => {
                let message = process.hear()?;
                self.check(part, hear, &message)?;
            }
        }
        Ok(())
    }

    fn check(&mut self, part: Speaker, expected: &Value, message: &Value) -> Result<(), CheckError> {
        let parsed: FromPeer = serde_json::from_value(message.clone())?;
        match &parsed {
            FromPeer::Error { message } if expected["type"] == "ready" => {
                return Err(CheckError::Refused(message.clone()));
            }
            FromPeer::Ready { address, .. } if part == Speaker::Server && self.passes_address_on => {
                self.names.client_address = json!(address);
            }
            _ => {}
        }
        if let Some(why) = mismatch(expected, message) {
            let (expected, message) = (expected.clone(), message.clone());
            return Err(CheckError::Differs { expected, message, why });
        }
        if let (FromPeer::Done(done), Speaker::Client, Some(cell)) = (&parsed, part, &self.cell) {
            check_done(done, cell, self.latency)?;
        }
        Ok(())
    }

    /// The peers' standard error.
    fn complaints(&mut self) -> String {
        let complaints =
            self.processes.values_mut().map(ExaminedProcess::complaint).filter(|text| !text.is_empty());
        complaints.map(|text| format!("; standard error: {text}")).collect()
    }
}

/// A client's report of a batch must be plausible.
fn check_done(done: &Done, cell: &Cell, latency: bool) -> Result<(), CheckError> {
    match (cell.pattern, done.sent_ns) {
        (Pattern::Stream, None) => {
            return Err("does not say when its last send returned (sent_ns)".into());
        }
        (Pattern::Stream, Some(sent)) if sent > done.wall_ns => {
            return Err(CheckError::LateSend { sent, wall: done.wall_ns });
        }
        _ => {}
    }
    if !latency && !done.latency_ns.is_empty() {
        return Err("reports latencies that were not asked for".into());
    }
    let most = most_latencies(done.ops, cell.concurrency.into());
    if done.latency_ns.len() as u64 > most {
        return Err(CheckError::ManyLatencies { count: done.latency_ns.len(), most });
    }
    Ok(())
}

/// No worker records latencies of the first tenth of its operations.
fn most_latencies(ops: u64, workers: u64) -> u64 {
    let first_recorded = ops / workers / 10;
    (ops - workers * first_recorded).min(MAX_LATENCY_VALUES as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_of_the_first_tenth_are_too_many() {
        let cell: Cell = serde_json::from_value(json!({
            "pattern": "rr", "transport": "unix", "size": 1, "reply": 1, "concurrency": 2, "speaks_first": "client",
        }))
        .unwrap();
        for (ops, most) in [(2, 2), (18, 18), (20, 18), (60, 54), (100_000, 10_000)] {
            let done = |count| Done { ops, latency_ns: vec![1; count], ..Done::default() };
            check_done(&done(most), &cell, true).unwrap();
            let why = check_done(&done(most + 1), &cell, true).unwrap_err().to_string();
            assert!(why.contains(&format!("may report {most}")), "{why}");
        }
    }
}
