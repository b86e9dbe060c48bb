//! The client: sends `INCR` on an open connection, or on a new one each time.

use ipcost_model::protocol::Address;
use ipcost_model::{Cell, OptionValue, Pattern};
use ipcost_sys::clock::now_ns;
use ipcost_sys::driven_program;
use ipcost_sys::transport::{Channel, Client, Connection};

use super::control::{self, ControlConnection, WELCOME};
use super::key::{REPLY_BYTES, RedisKey};
use super::private::PATIENCE;
use super::resp::{Reply, command};
use super::server::KEY;
use crate::adapters::refused;
use crate::adapters::server_address::{ServerAddress, be_let_in};
use crate::adapters::side_channel;
use crate::{
    DescriptorTable, Meter, Metering, Order, Pacing, PeerError, Prepared, Report, Unmetered, Work, WorkKind,
    Workers, metered, send_all,
};

/// The longest error that is shown, bytes.
const LONGEST_ERROR: usize = 256;

/// Connects the workers, each with its own loop.
pub fn prepare(resolves: bool, cell: &Cell, address: &Address) -> Result<Prepared, PeerError> {
    let Some(name) = address.get(KEY).and_then(|name| name.as_str()) else {
        return Err(refused(
            "the server's address names no key, so it is not a redis peer; give --server redis",
        ));
    };
    let key = RedisKey::named(name, cell.size as usize)?;
    let at = ServerAddress::of(&cell.transport, address)?;
    let mut cell = cell.clone();
    let spreads = spreads_sources(&cell, &at)?;
    if cell.pattern == Pattern::Connect {
        let set = cell.options.set("spread_sources", OptionValue::Bool(spreads));
        set?;
    }
    let resolves = resolves && cell.transport == "tcp" && cell.pattern == Pattern::Connect;
    if resolves {
        check_resolving(&at)?;
    }
    let words = side_channel::reach(&cell, address)?;
    let make = |worker| -> Result<Box<dyn Work>, PeerError> {
        let mut client = control::client(&at, Some(&cell), worker)?;
        let greeting = control::proof(&at).map(|words| command(&words)).unwrap_or_default();
        let mut open = match cell.pattern {
            Pattern::Rr => Some(client.connect()?),
            _ => None,
        };
        let (mut request, mut greeted) = (key.request(), 0);
        match &mut open {
            Some(connection) if !greeting.is_empty() => be_let_in(
                connection,
                &greeting,
                WELCOME,
                "the private redis server does not answer AUTH",
                "the private redis server refuses the password that it was started with",
            )?,
            // In one write with the request, as redis-benchmark does.
            None if !greeting.is_empty() => {
                request = [greeting, request].concat();
                greeted = WELCOME.len();
            }
            _ => {}
        }
        let alone = cell.concurrency == 1;
        let reply = vec![0; greeted + REPLY_BYTES];
        let pacing = Pacing::of(&cell, worker);
        Ok(Box::new(Incr { client, open, resolves, alone, request, greeted, reply, pacing }))
    };
    side_channel::client(Workers::of_client(&cell, DescriptorTable::Usual, make)?, cell.concurrency, words)
}

/// A given server may refuse connections from addresses other than 127.0.0.1: protected mode does up to redis 7.0.
/// Then all come from there, unless the option explicitly asks otherwise.
fn spreads_sources(cell: &Cell, at: &ServerAddress) -> Result<bool, PeerError> {
    let asked = cell.options.spread_sources();
    if at.transport == "tcp6" && asked == Some(true) {
        return Err(refused("::1 has no other addresses next to it; leave option spread_sources out"));
    }
    if at.transport != "tcp" || cell.pattern != Pattern::Connect || asked == Some(false) {
        return Ok(false);
    }
    let mut control = ControlConnection::of(control::client(at, Some(cell), 0)?.connect()?, at, PATIENCE)?;
    // A server that refuses may say so before any request, and close.
    match control.exchange(&["PING"]) {
        Ok(reply) if !matches!(reply, Reply::Error(_)) => Ok(true),
        _ if asked == Some(true) => Err(refused(
            "the redis server refuses connections from other addresses than 127.0.0.1; give spread_sources=false, \
             or turn its protected mode off",
        )),
        _ => Ok(false),
    }
}

/// The result must be the server's address, and so on loopback.
fn check_resolving(at: &ServerAddress) -> Result<(), PeerError> {
    let found = driven_program::address_of_localhost().map(|address| address.to_string());
    if found.as_deref() == at.host().zip(at.port()).map(|(host, _)| host) && found.is_some() {
        return Ok(());
    }
    Err(refused(format!(
        "with --resolve the server must be where gethostbyname finds localhost, and it is at {at}"
    )))
}

struct Incr {
    client: Box<dyn Client>,
    /// The permanent connection; `None` if every operation opens its own.
    open: Option<Connection>,
    resolves: bool,
    /// Whether this is the only worker.
    alone: bool,
    request: Vec<u8>,
    /// The bytes with which a private server lets a new connection in, before the first reply.
    greeted: usize,
    reply: Vec<u8>,
    pacing: Option<Pacing>,
}

impl Incr {
    fn count_up<M: Meter>(
        &mut self,
        ops: u64,
        meter: &mut M,
        check: impl Fn(u64, u64, u64) -> Result<(), PeerError>,
    ) -> Result<(), PeerError> {
        let mut last = 0;
        for operation in 0..ops {
            meter.begin();
            let number = match &mut self.open {
                Some(connection) => {
                    ask(connection, (&self.request, self.greeted), &mut self.reply, operation, ops)?
                }
                None => {
                    if self.resolves && driven_program::address_of_localhost().is_none() {
                        let reason = "gethostbyname finds no address of localhost; name it in /etc/hosts";
                        return Err(refused(reason));
                    }
                    let mut connection = self.client.connect()?;
                    ask(&mut connection, (&self.request, self.greeted), &mut self.reply, operation, ops)?
                }
            };
            meter.end();
            check(operation, last, number)?;
            last = number;
        }
        Ok(())
    }
}

/// Sends a request and waits for its number.
#[inline]
fn ask(
    connection: &mut Connection,
    (request, greeted): (&[u8], usize),
    reply: &mut [u8],
    operation: u64,
    ops: u64,
) -> Result<u64, PeerError> {
    let moving = |source| PeerError::Moving { operation, ops, source };
    if let Err(error) = send_all(connection, request) {
        // A server that wants no more clients says why and closes.
        return Err(match connection.receive(reply) {
            Ok(have) if have > 0 => refuse(connection, &reply[..have], operation, ops),
            _ => moving(error),
        });
    }
    let mut have = 0;
    while have < reply.len() {
        match connection.receive(&mut reply[have..]).map_err(moving)? {
            0 => return Err(moving(crate::ended())),
            count => have += count,
        }
        if have < reply.len() && have != greeted && reply[have - 1] == b'\n' {
            // It has ended too early.
            break;
        }
    }
    number_in(reply.get(greeted..have).unwrap_or_default())
        .ok_or_else(|| refuse(connection, &reply[..have], operation, ops))
}

/// The number in a reply such as `:1000000001\r\n`.
#[inline]
fn number_in(reply: &[u8]) -> Option<u64> {
    let digits = reply.strip_prefix(b":")?.strip_suffix(b"\r\n")?;
    digits.iter().try_fold(0_u64, |number, digit| {
        let digit = digit.wrapping_sub(b'0');
        (digit <= 9).then(|| number * 10 + u64::from(digit))
    })
}

/// An error's text is longer than the expected reply.
#[cold]
fn refuse(connection: &mut Connection, begin: &[u8], operation: u64, ops: u64) -> PeerError {
    let mut line = begin.to_vec();
    let mut more = [0; LONGEST_ERROR];
    while !line.contains(&b'\n') && line.len() < LONGEST_ERROR {
        match connection.receive(&mut more) {
            Ok(count) if count > 0 => line.extend_from_slice(&more[..count]),
            _ => break,
        }
    }
    let text = String::from_utf8_lossy(&line);
    refused(format!(
        "in operation {} of {ops}: redis answered INCR with \"{}\" instead of a number of ten digits",
        operation + 1,
        text.lines().next().unwrap_or_default()
    ))
}

impl Work for Incr {
    fn run(&mut self, order: Order) -> Result<Report, PeerError> {
        let alone = self.alone;
        // With a single worker, each number follows the one before; with several, others may come in between.
        let check = move |operation, last, number| {
            if last == 0 || (if alone { number == last + 1 } else { number > last }) {
                return Ok(());
            }
            Err(refused(format!(
                "payload mismatch: the number in reply {operation} is {number} and the one before it {last}"
            )))
        };
        let retries = self.client.retries();
        let mut metering = Metering::of(order, self.pacing.as_ref(), false)?;
        let began_ns = now_ns();
        match order.kind {
            WorkKind::Verify => self.count_up(order.ops, &mut Unmetered, check)?,
            WorkKind::Timed | WorkKind::Latency => {
                metered!(&mut metering, |meter| self.count_up(order.ops, meter, |_, _, _| Ok(())))?
            }
        }
        let ended_ns = now_ns();
        let retries = self.client.retries() - retries;
        let mut report = Report { began_ns, ended_ns, retries, ..Report::default() };
        metering.tell(&mut report);
        Ok(report)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_told_from_anything_else() {
        assert_eq!(number_in(b":1000000001\r\n"), Some(1_000_000_001));
        for bytes in [&b"-ERR it is no\r"[..], b"$1\r\n7\r\n", b":12a4\r\n", b"", b":1000000001"] {
            assert_eq!(number_in(bytes), None, "{bytes:?}");
        }
    }
}
