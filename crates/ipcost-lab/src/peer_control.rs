//! Messages to and from one peer, and the two peers of a cell.

use std::collections::VecDeque;
use std::io;
use std::time::{Duration, Instant};

use ipcost_model::protocol::{FromEngine, FromPeer};
use ipcost_model::{ArmName, MessageError, read_message};
use ipcost_sys::interrupt::Interrupt;
use ipcost_sys::process::{Heard, MOST_COMPLAINT_BYTES, PeerProcess, Spawn, Wake, wait_any};

use crate::error::EngineError;

/// How to start a peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerProgram {
    /// Its name in cells.
    pub name: String,
    /// The program, then its arguments.
    pub command: Vec<String>,
    /// The arm of a run that it is for; `None` if that has none.
    pub arm: Option<ArmName>,
    /// Environment variables besides those of this program.
    pub env: Vec<(String, String)>,
}

impl PeerProgram {
    /// A peer with this program and environment, whatever the arm.
    pub fn new(name: impl Into<String>, command: Vec<String>) -> Self {
        Self { name: name.into(), command, arm: None, env: Vec::new() }
    }
}

/// How long the other peer of a pair has to fail as well, so that the one that failed first is named.
const GRACE: Duration = Duration::from_millis(200);
/// How many messages a peer may send early: both `done`s may arrive at once.
const MOST_AHEAD: usize = 2;
/// How much of an invalid line is shown.
const SHOWN_OF_RUBBISH: usize = 80;
/// How much of a peer's own error text is shown.
const SHOWN_OF_ERROR: usize = 500;

/// A peer that is running.
pub struct RunningPeer {
    process: PeerProcess,
    /// Role, name, cell and epoch, for errors.
    who: String,
    inbox: VecDeque<FromPeer>,
    /// The operations requested last, for errors.
    asked: Option<u64>,
    /// Set once it has failed, to distinguish it from a peer that only noticed.
    fault: Option<Fault>,
}

/// How a peer failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Worded to follow the peer's name.
    pub reason: String,
    /// Whether the peer reported it itself; it may then only have noticed that the other failed.
    said: bool,
}

/// The time limit of a request, all its messages together.
#[derive(Debug)]
pub struct Patience {
    /// The end of the time limit.
    pub deadline: Instant,
    whole: Duration,
    continued: u64,
}

/// The longest wait without a look at the clock. After waking this much too late, assume that everything stood still,
/// peers included: under a hypervisor, or on a far too busy machine.
const SLICE: Duration = Duration::from_secs(2);
const LATE: Duration = Duration::from_secs(1);

impl Patience {
    /// The end of the next wait.
    fn slice(&self) -> Instant {
        self.deadline.min(Instant::now() + SLICE)
    }

    /// Extends the deadline by the time that the machine stood still, after a wait that was to end at `slice`.
    /// Returns whether the deadline has passed.
    fn is_over(&mut self, slice: Instant) -> bool {
        let late = slice.elapsed();
        if late > LATE {
            self.deadline += late;
        }
        Instant::now() >= self.deadline
    }

    /// Starts the time limit now.
    pub fn of(whole: Duration, interrupt: &Interrupt) -> Self {
        Self { deadline: Instant::now() + whole, whole, continued: interrupt.times_continued() }
    }

    /// Restarts the limit if this program, and most likely its peers with it, was stopped meanwhile: none could
    /// answer.
    fn is_renewed(&mut self, interrupt: &Interrupt) -> bool {
        let stopped = interrupt.times_continued() != self.continued;
        if stopped {
            *self = Self::of(self.whole, interrupt);
        }
        stopped
    }
}

/// Why waiting for a message ended without one.
#[derive(Debug)]
pub enum Failure {
    /// A peer failed: its index among those waited for.
    Peer(usize, Fault),
    /// The program was asked to stop.
    Interrupted,
}

impl RunningPeer {
    pub fn start(program: &PeerProgram, who: String, spawn: Spawn<'_>) -> Result<Self, EngineError> {
        match PeerProcess::spawn(Spawn { command: &program.command, env: &program.env, ..spawn }) {
            Ok(process) => Ok(Self { process, who, inbox: VecDeque::new(), asked: None, fault: None }),
            Err(source) => Err(EngineError::PeerStart {
                name: program.name.clone(),
                command: program.command.join(" "),
                source,
            }),
        }
    }

    /// Its process ID, and that of its process group.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    pub fn say(&mut self, message: &FromEngine, deadline: Instant) -> Result<(), Fault> {
        let mut line = serde_json::to_vec(message).expect("messages are plain data");
        line.push(b'\n');
        self.asked = match message {
            FromEngine::Batch { ops, .. } | FromEngine::Verify { ops, .. } => Some(*ops),
            FromEngine::Prepare { .. } | FromEngine::Stop => None,
        };
        match self.process.send(&line, deadline) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                Err(fault("does not read its standard input"))
            }
            // It is gone: its last message tells more.
            Err(_) => Err(self.last_words()),
        }
    }

    /// The last request to it, and where in the kernel it waits, as far as known.
    fn stands(&self) -> String {
        let asked = self.asked.map(|ops| format!("{ops} operations were asked for"));
        let place = std::fs::read_to_string(format!("/proc/{}/wchan", self.id())).ok();
        let waits = match place.as_deref() {
            None | Some("") => None,
            Some("0") => Some("it is running".to_owned()),
            Some(place) => Some(format!("it waits in {place}")),
        };
        let known: Vec<String> = asked.into_iter().chain(waits).collect();
        if known.is_empty() { String::new() } else { format!(" ({})", known.join("; ")) }
    }

    /// Collects its output so far.
    fn listen(&mut self) -> Result<(), Fault> {
        loop {
            let line = match self.process.hear() {
                Ok(Heard::Nothing) => return Ok(()),
                Ok(Heard::Line(line)) => line,
                Ok(Heard::End) if !self.inbox.is_empty() => return Ok(()),
                Ok(Heard::End) => return Err(self.departure()),
                Ok(Heard::TooLong) => {
                    return Err(fault(
                        "prints a line without end; is it a peer? Every message ends with a newline",
                    ));
                }
                Ok(Heard::TooMuchComplaint) => return Err(fault(&too_much_complaint())),
                Err(error) => return Err(fault(&format!("cannot be heard: {error}"))),
            };
            match read_message(&line) {
                Ok(FromPeer::Error { message }) => {
                    return Err(Fault {
                        reason: format!("failed: {}", plain(message.as_bytes(), SHOWN_OF_ERROR)),
                        said: true,
                    });
                }
                Ok(message) => self.inbox.push_back(message),
                Err(error @ MessageError::NoMessage(_)) => {
                    return Err(fault(&format!(
                        "{error}: \"{}\"; its standard output is for the protocol alone",
                        plain(&line, SHOWN_OF_RUBBISH)
                    )));
                }
                Err(error) => return Err(fault(&error)),
            }
            if self.inbox.len() > MOST_AHEAD {
                return Err(fault(
                    "sent more than it was asked for; a peer answers every message once and sends nothing else",
                ));
            }
        }
    }

    fn last_words(&mut self) -> Fault {
        let deadline = Instant::now() + GRACE;
        loop {
            match self.listen() {
                Err(fault) => return fault,
                Ok(()) if Instant::now() >= deadline => return fault("has closed its standard input"),
                Ok(()) => {
                    self.inbox.clear();
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
        }
    }

    fn departure(&mut self) -> Fault {
        match self.process.finish(Instant::now() + GRACE) {
            Some(status) => fault(&format!("ended on its own ({status})")),
            None => fault("closed its standard output"),
        }
    }

    /// Sends stop and closes its input, without waiting.
    pub fn dismiss(&mut self, deadline: Instant) {
        // It may be gone already.
        let _ = self.say(&FromEngine::Stop, deadline.min(Instant::now() + GRACE));
        self.process.close_input();
    }

    /// Waits until it has exited; kills it at the deadline.
    pub fn see_off(&mut self, deadline: Instant) {
        let _ = self.process.finish(deadline);
    }

    /// The error for a fault, with the peer's standard error.
    pub fn failed(&mut self, fault: Fault) -> EngineError {
        EngineError::PeerFailed {
            who: self.who.clone(),
            reason: fault.reason,
            complaint: self.process.complaint(),
        }
    }

    pub fn complaint(&mut self) -> String {
        self.process.complaint()
    }
}

/// Waits for the next message of one of the peers; a failure of any of them ends the wait.
pub fn await_message(
    peers: &mut [&mut RunningPeer],
    from: usize,
    patience: &mut Patience,
    interrupt: &Interrupt,
) -> Result<FromPeer, Failure> {
    loop {
        for index in 0..peers.len() {
            if let Err(fault) = peers[index].listen() {
                peers[index].fault = Some(fault);
                return Err(blame(peers, index));
            }
        }
        if let Some(message) = peers[from].inbox.pop_front() {
            return Ok(message);
        }
        let slice = patience.slice();
        let wake = wait_any(peers.iter().map(|peer| &peer.process), interrupt, slice);
        match wake {
            Ok(Wake::Heard) => {}
            Ok(Wake::Interrupted) => return Err(Failure::Interrupted),
            Ok(Wake::Deadline) if patience.is_renewed(interrupt) || !patience.is_over(slice) => {}
            Ok(Wake::Deadline) => {
                let stands = peers[from].stands();
                let reason = format!(
                    "did not answer in time{stands} and was killed; --timeout sets how long a peer may take"
                );
                return Err(Failure::Peer(from, fault(&reason)));
            }
            Err(error) => return Err(Failure::Peer(from, fault(&format!("cannot be waited for: {error}")))),
        }
    }
}

/// Checks that no peer has sent anything unread, when none was asked anything.
pub fn expect_silence(peers: &mut [&mut RunningPeer]) -> Result<(), Failure> {
    for index in 0..peers.len() {
        if let Err(fault) = peers[index].listen() {
            peers[index].fault = Some(fault);
            return Err(blame(peers, index));
        }
        if let Some(message) = peers[index].inbox.front() {
            let said = in_short(message);
            let reason =
                format!("said {said} unasked; a peer answers every message once and says nothing else");
            return Err(Failure::Peer(index, fault(&reason)));
        }
    }
    Ok(())
}

/// The failure of a peer that said something else than it was to say.
pub fn out_of_turn(peer: &mut RunningPeer, expected: &str, message: &FromPeer) -> EngineError {
    let said = in_short(message);
    peer.failed(fault(&format!("spoke out of turn: expected {expected}, got {said}")))
}

/// A message in a few words, whatever it holds.
pub fn in_short(message: &FromPeer) -> String {
    match message {
        FromPeer::Hello(_) => "hello".to_owned(),
        FromPeer::Ready { .. } => "ready".to_owned(),
        FromPeer::Armed { id } => format!("armed for batch {id}"),
        FromPeer::Done(done) => format!("done for batch {}", done.id),
        FromPeer::Error { .. } => "error".to_owned(),
    }
}

fn too_much_complaint() -> String {
    format!(
        "floods its standard error: more than {} KiB; let it write there only what explains a failure",
        MOST_COMPLAINT_BYTES / 1024
    )
}

/// If one peer dies, the other notices and reports it; blame the one that did not report.
fn blame(peers: &mut [&mut RunningPeer], first: usize) -> Failure {
    let deadline = Instant::now() + GRACE;
    let quiet = |peer: &&mut RunningPeer| peer.fault.is_none();
    while peers[first].fault.as_ref().is_some_and(|fault| fault.said) && peers.iter().any(quiet) {
        for peer in peers.iter_mut().filter(|peer| peer.fault.is_none()) {
            peer.fault = peer.listen().err();
        }
        if Instant::now() >= deadline {
            break;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    let silent = |peer: &&mut RunningPeer| peer.fault.as_ref().is_some_and(|fault| !fault.said);
    let guilty = peers.iter().position(silent).unwrap_or(first);
    let fault = peers[guilty].fault.clone().expect("either the first or a later one has failed");
    Failure::Peer(guilty, fault)
}

pub fn fault(reason: &(impl ToString + ?Sized)) -> Fault {
    Fault { reason: reason.to_string(), said: false }
}

/// A peer's error text, in one line and without control characters.
fn plain(bytes: &[u8], most: usize) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut shown: String = text.trim_end().chars().take(most).flat_map(char::escape_debug).collect();
    if text.chars().count() > most {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(script: &str) -> RunningPeer {
        let command = ["sh", "-c", script].map(str::to_owned).to_vec();
        RunningPeer::start(&PeerProgram::new("sh", command), "peer".into(), Spawn::default()).unwrap()
    }

    fn failure(peers: &mut [&mut RunningPeer], from: usize, patience: Duration) -> (usize, String) {
        let never = Interrupt::never().unwrap();
        match await_message(peers, from, &mut Patience::of(patience, &never), &never) {
            Err(Failure::Peer(guilty, fault)) => (guilty, fault.reason),
            other => panic!("{other:?}"),
        }
    }

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn time_in_which_the_machine_stood_still_is_not_held_against_peers() {
        let never = Interrupt::never().unwrap();
        let mut patience = Patience::of(Duration::from_secs(3), &never);
        let (began, first) = (patience.deadline, patience.slice());
        assert!(first < began && !patience.is_over(first), "a slice is not all there is");
        // A wait that was to end ten seconds ago.
        let slice = Instant::now().checked_sub(Duration::from_secs(10)).unwrap();
        assert!(!patience.is_over(slice) && patience.deadline >= began + Duration::from_secs(10));
        let mut none = Patience::of(Duration::ZERO, &never);
        let slice = none.slice();
        assert!(none.is_over(slice));
    }

    #[test]
    fn faults_are_told_apart() {
        let reason = |script: &str| failure(&mut [&mut peer(script)], 0, LONG).1;
        assert!(reason("exit 3").contains("ended on its own (exit status: 3)"));
        assert!(reason("kill -9 $$").contains("signal: 9"));
        assert!(reason("echo hello").contains("not a message"));
        assert!(reason("printf '\\033[31m\\n'; sleep 9").contains("\\u{1b}[31m"));
        assert_eq!(reason(r#"echo '{"type":"error","message":"no luck"}'"#), "failed: no luck");
        assert!(
            // One write, so that everything has arrived when the first line is read.
            reason(r#"a='{"type":"armed","id":7}\n'; printf "$a$a$a"; sleep 9"#).contains("more than")
        );
        assert!(
            reason(r#"echo '{"type":"ready","effective":{"x":[]}}'; sleep 9"#).contains("does not allow")
        );
        assert!(reason("yes >&2").contains("floods its standard error: more than 1024 KiB"));
        let (_, late) = failure(&mut [&mut peer("sleep 9")], 0, Duration::from_millis(20));
        assert!(late.contains("did not answer in time"));
    }

    #[test]
    fn a_standard_error_that_is_closed_keeps_nobody_busy() {
        // An end of file can be read again and again; the wait must still go on.
        let mut quiet = peer("exec 2>&-; echo '{\"type\":\"armed\",\"id\":1}'; read -r line");
        let never = Interrupt::never().unwrap();
        let patience = &mut Patience::of(LONG, &never);
        assert!(await_message(&mut [&mut quiet], 0, patience, &never).is_ok());
        while !quiet.process.complaint_has_ended() {
            quiet.listen().unwrap();
        }
        let wait = Instant::now() + Duration::from_millis(50);
        assert_eq!(wait_any(std::iter::once(&quiet.process), &never, wait).unwrap(), Wake::Deadline);
    }

    #[test]
    fn what_is_said_unasked_is_noticed() {
        let mut twice = peer(r#"a='{"type":"armed","id":7}\n'; printf "$a$a"; sleep 9"#);
        let never = Interrupt::never().unwrap();
        let patience = &mut Patience::of(LONG, &never);
        assert!(await_message(&mut [&mut twice], 0, patience, &never).is_ok());
        let Err(Failure::Peer(0, fault)) = expect_silence(&mut [&mut twice]) else { panic!("not noticed") };
        assert!(fault.reason.starts_with("said armed for batch 7 unasked"), "{}", fault.reason);
        assert!(expect_silence(&mut [&mut peer("sleep 9")]).is_ok());
    }

    #[test]
    fn the_one_that_died_is_blamed_and_not_the_one_that_noticed() {
        // On a busy machine it may die too late, but not every time.
        let faults = (0..20).map(|_| {
            let mut noticed = peer(r#"echo '{"type":"error","message":"the other side closed"}'; sleep 9"#);
            let mut died = peer("sleep 0.05; exit 7");
            failure(&mut [&mut noticed, &mut died], 0, LONG)
        });
        let blamed = faults.into_iter().find(|(guilty, _)| *guilty == 1);
        let (_, reason) = blamed.expect("the one that died is blamed");
        assert!(reason.contains("exit status: 7"), "{reason}");
    }
}
