//! The socat that receives.

use std::fs;
use std::io::{PipeReader, Read};
use std::path::PathBuf;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use ipcost_model::Usage;
use ipcost_sys::clock::now_ns;
use ipcost_sys::driven_program::{self, DrivenProgram};
use ipcost_sys::transport::{self, Connection, Server};
use ipcost_sys::{Launch, Woken};

use super::PROGRAM;
use super::command::Route;
use super::sender::used_after;
use crate::adapters::port::Port;
use crate::adapters::side_channel::{self, Words};
use crate::adapters::{refused, system};
use crate::{
    CheckedPayload, Gathering, JoinedReports, Order, Payload, PeerError, Prepared, Role, RoleState, WorkKind,
};

/// How long a receiver may take to get ready.
const PATIENCE: Duration = Duration::from_secs(8);
const LOOK_AGAIN: Duration = Duration::from_micros(200);
const CHECKED_BYTES: usize = 65_536;

struct Receiver {
    route: Route,
    words: Words,
    program: Option<RunningReceiver>,
    #[expect(dead_code, reason = "holding it is its use")]
    place: ProgramAddress,
}

/// A receiver that waits for bytes.
struct RunningReceiver {
    program: DrivenProgram,
    /// Its output, if the payload is checked.
    payload: Option<PipeReader>,
    /// The usage of its start-up.
    before: (u64, Usage),
    /// Bytes that it read during start-up, if the system tells.
    read_before: u64,
}

/// The address of the programs' own connection.
enum ProgramAddress {
    /// A port, held for the program.
    Port(#[expect(dead_code, reason = "holding it is its use")] Port),
    /// A socket's file, removed with this value.
    File(PathBuf),
    /// None: the peers make the connection.
    None,
}

impl Drop for ProgramAddress {
    fn drop(&mut self) {
        if let Self::File(path) = self {
            // The program may have removed it already.
            let _ = fs::remove_file(path);
        }
    }
}

/// Waits for the client.
pub fn prepare(mut route: Route) -> Result<Prepared, PeerError> {
    let place = if route.has_beside() { hold_place(&mut route)? } else { ProgramAddress::None };
    let mut address = route.address.clone();
    let (server, effective): (Box<dyn Server>, _) = if route.has_beside() {
        (side_channel::offer(&route.cell, &mut address)?, Vec::new())
    } else {
        let name = &route.cell.transport;
        let transport =
            transport::find(name).ok_or_else(|| refused(format!("there is no transport {name}")))?;
        let server = transport.serve(&route.address, &route.cell)?;
        address = server.address();
        let effective = server.effective();
        (server, effective)
    };
    let part = RoleState::Gathering(Gathering::new(server, 1, move |channels| {
        let words = if route.has_beside() { Words::of_client(channels)? } else { Words::over(channels)? };
        Ok(Box::new(Receiver { route, words, program: None, place }))
    }));
    Ok(Prepared { address, effective, part })
}

/// Makes sure that the program's address is free, and stays free.
fn hold_place(route: &mut Route) -> Result<ProgramAddress, PeerError> {
    if route.cell.transport == "tcp" {
        return Port::hold(&mut route.address).map(ProgramAddress::Port);
    }
    let path = PathBuf::from(route.path());
    if path.exists() {
        return Err(refused(format!("{} exists already; give the socket a path of its own", path.display())));
    }
    Ok(ProgramAddress::File(path))
}

impl Receiver {
    fn total(&self, order: Order) -> u64 {
        order.ops * self.route.cell.size
    }

    /// A listening receiver does not notice that no client will come; the side channel does. Over all other
    /// transports it reads the end of input that a missing client leaves.
    fn beside(&self) -> Option<&Connection> {
        self.route.has_beside().then_some(&self.words.0)
    }

    /// Every receiver is started before the time begins: it must be equally ready over all transports.
    fn await_readiness(&self, program: &DrivenProgram) -> Result<(), PeerError> {
        let deadline = Instant::now() + PATIENCE;
        // One that has ended reports why when it is awaited.
        while !self.is_ready(program)? && !program.has_ended() {
            if Instant::now() > deadline {
                let seconds = PATIENCE.as_secs();
                return Err(refused(format!(
                    "{PROGRAM} did not get ready to receive within {seconds} seconds; is the machine too busy?"
                )));
            }
            thread::sleep(LOOK_AGAIN);
        }
        Ok(())
    }

    fn is_ready(&self, program: &DrivenProgram) -> Result<bool, PeerError> {
        let sleeps = driven_program::name_and_sleep(program.id())
            .is_some_and(|(name, sleeps)| name == PROGRAM && sleeps);
        if !sleeps || !self.route.has_beside() {
            return Ok(sleeps);
        }
        // A trial connection would be taken for the sender's; the kernel tells as well.
        let listens = match self.route.cell.transport.as_str() {
            "unix" => driven_program::path_listens(self.route.path()),
            _ => driven_program::port_listens(self.route.host_and_port().1),
        };
        listens.map_err(system("cannot tell who listens"))
    }

    /// Reads what the program writes to its end.
    fn check_payload(&self, total: u64, mut from: PipeReader) -> Result<(), PeerError> {
        let woken =
            driven_program::await_input(&from, self.beside()).map_err(system("cannot wait for bytes"))?;
        if woken == Woken::OtherGone {
            return Err(without_client());
        }
        let mut bytes = vec![0; CHECKED_BYTES];
        let size = self.route.cell.size;
        let mut received = 0;
        loop {
            let count = from.read(&mut bytes).map_err(system("cannot read what socat received"))?;
            if count == 0 {
                break;
            }
            let mut rest = &bytes[..count];
            while !rest.is_empty() {
                let offset = received % size;
                let (piece, after) = rest.split_at(rest.len().min((size - offset) as usize));
                CheckedPayload.check(received / size, offset, piece)?;
                received += piece.len() as u64;
                rest = after;
            }
        }
        if received != total {
            return Err(refused(format!("payload mismatch: {received} bytes came, not {total}")));
        }
        Ok(())
    }
}

impl Role for Receiver {
    fn arm(&mut self, order: Order) -> Result<(), PeerError> {
        let pipe = match order.kind {
            WorkKind::Verify => Some(std::io::pipe().map_err(system("cannot make a pipe"))?),
            WorkKind::Timed | WorkKind::Latency => None,
        };
        let (payload, output) = pipe.unzip();
        let ends = match self.route.lends_ends() {
            true => driven_program::ends(&self.words.0).map_err(system("cannot lend an end"))?,
            false => None,
        };
        let started = DrivenProgram::start(Launch {
            program: PROGRAM,
            arguments: &self.route.receiver(self.total(order), payload.is_some()),
            input: ends.map(|(read, _)| read.into()),
            output: output.map(Stdio::from),
            ..Launch::default()
        });
        let program = started.map_err(system(format!("cannot start {PROGRAM}")))?;
        self.await_readiness(&program)?;
        let before = driven_program::used_by(program.id()).filter(|_| self.route.started).unwrap_or_default();
        // The sender does not start before this side is armed.
        let read_before =
            driven_program::bytes_read(program.id()).filter(|_| self.route.has_beside()).unwrap_or(0);
        self.program = Some(RunningReceiver { program, payload, before, read_before });
        Ok(())
    }

    /// Send the message first, since the client's clock waits for it; later checks can still fail.
    fn run(&mut self, order: Order) -> Result<JoinedReports, PeerError> {
        let began_ns = now_ns();
        let Some(RunningReceiver { mut program, payload, before, read_before }) = self.program.take() else {
            return Err(PeerError::Protocol("a batch that was not armed".to_owned()));
        };
        let total = self.total(order);
        if let Some(payload) = payload {
            self.check_payload(total, payload)?;
        }
        let woken = program.await_end(self.beside()).map_err(system(format!("cannot wait for {PROGRAM}")))?;
        if woken == Woken::OtherGone {
            return Err(without_client());
        }
        let was_heard = self.words.say();
        let wall_ns = now_ns() - began_ns;
        let received = driven_program::bytes_read(program.id());
        let usage = program.finish()?;
        // It succeeds at the end of its input, even if that comes too early.
        if !was_heard || received.is_some_and(|received| received.saturating_sub(read_before) < total) {
            return Err(without_client());
        }
        let usage = if self.route.started { used_after(usage, before) } else { usage };
        Ok(JoinedReports { wall_ns, usage, ..JoinedReports::default() })
    }
}

/// The client, or its sender, is gone.
fn without_client() -> PeerError {
    side_channel::let_others_speak();
    refused("the client or its socat ended before all bytes had come")
}
