//! The socat that sends.

use std::io::{PipeReader, PipeWriter, Write};
use std::process::Stdio;

use ipcost_model::Usage;
use ipcost_model::protocol::Address;
use ipcost_sys::clock::now_ns;
use ipcost_sys::driven_program::{self, DrivenProgram};
use ipcost_sys::{Launch, transport};

use super::PROGRAM;
use super::command::Route;
use crate::adapters::side_channel::{self, Words};
use crate::adapters::{refused, system};
use crate::{
    CheckedPayload, JoinedReports, Order, Payload, PeerError, Prepared, Role, RoleState, WorkKind, ended,
};

struct Sender {
    route: Route,
    words: Words,
    /// A paused sender, with the usage of its start-up.
    held: Option<(DrivenProgram, (u64, Usage))>,
}

/// Connects to the receiver's side.
pub fn prepare(route: Route) -> Result<Prepared, PeerError> {
    if route.connects() && side_channel::is_offered(&route.address) != route.has_beside() {
        return Err(refused(
            "the server is not a socat peer of the same kind; give both the same command, with --started or without",
        ));
    }
    let (words, effective) = if route.has_beside() {
        (side_channel::reach(&route.cell, &route.address)?, Vec::new())
    } else {
        let name = &route.cell.transport;
        let transport =
            transport::find(name).ok_or_else(|| refused(format!("there is no transport {name}")))?;
        let mut client = transport.reach(&route.address, &route.cell, 0)?;
        (Words(client.connect()?), client.effective())
    };
    let part = RoleState::Playing(Box::new(Sender { route, words, held: None }));
    Ok(Prepared { address: Address::new(), effective, part })
}

impl Sender {
    fn start(
        &self,
        order: Order,
        payload: Option<PipeReader>,
        held: bool,
    ) -> Result<DrivenProgram, PeerError> {
        let bytes = payload.is_none().then_some(order.ops * self.route.cell.size);
        let output = match self.route.lends_ends() {
            true => driven_program::ends(&self.words.0).map_err(system("cannot lend an end"))?,
            false => None,
        };
        let launch = Launch {
            program: PROGRAM,
            arguments: &self.route.sender(bytes),
            input: payload.map(Stdio::from),
            output: output.map(|(_, write)| write.into()),
            ..Launch::default()
        };
        let started = if held { DrivenProgram::start_held(launch) } else { DrivenProgram::start(launch) };
        started.map_err(system(format!("cannot start {PROGRAM}")))
    }
}

impl Role for Sender {
    fn arm(&mut self, order: Order) -> Result<(), PeerError> {
        if self.route.started && order.kind != WorkKind::Verify {
            let program = self.start(order, None, true)?;
            let before = driven_program::used_by(program.id()).unwrap_or_default();
            self.held = Some((program, before));
        }
        Ok(())
    }

    /// As published, the time runs from before the sender's start until the receiver has ended, which then has
    /// everything.
    fn run(&mut self, order: Order) -> Result<JoinedReports, PeerError> {
        let began_ns = now_ns();
        let usage = match self.held.take() {
            Some((mut program, before)) => {
                program.release().map_err(system(format!("cannot let {PROGRAM} go on")))?;
                used_after(program.finish()?, before)
            }
            None if order.kind == WorkKind::Verify => {
                let (payload, fed) = std::io::pipe().map_err(system("cannot make a pipe"))?;
                let mut program = self.start(order, Some(payload), false)?;
                let fed = feed(order.ops, self.route.cell.size as usize, fed);
                let usage = program.finish()?;
                fed.map(|()| usage)?
            }
            None => self.start(order, None, false)?.finish()?,
        };
        let sent_ns = now_ns() - began_ns;
        if !self.words.hear() {
            return Err(PeerError::Moving { operation: order.ops - 1, ops: order.ops, source: ended() });
        }
        let wall_ns = now_ns() - began_ns;
        Ok(JoinedReports { wall_ns, sent_ns: Some(sent_ns), usage, ..JoinedReports::default() })
    }
}

/// Writes the checked payload to the program, then closes its input.
fn feed(ops: u64, size: usize, mut to: PipeWriter) -> Result<(), PeerError> {
    let mut message = vec![0; size];
    for operation in 0..ops {
        CheckedPayload.fill(operation, &mut message);
        // The program has ended, and reports best itself how.
        to.write_all(&message)
            .map_err(|_| refused(format!("{PROGRAM} ended after {operation} of {ops} messages")))?;
    }
    Ok(())
}

/// A program's total usage, without its start-up.
pub fn used_after(whole: Usage, (before_ns, before): (u64, Usage)) -> Usage {
    whole.scaled_to(whole.cpu_ns().saturating_sub(before_ns)) - Usage { user_ns: 0, sys_ns: 0, ..before }
}
