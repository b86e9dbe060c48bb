//! The client: asks on open connections, or on a new one each time. One loop for every server and transport.

use std::fs;
use std::io::{self, ErrorKind};

use ipcost_model::protocol::Address;
use ipcost_model::{Cell, Pattern};
use ipcost_sys::clock::now_ns;
use ipcost_sys::driven_program::{EndsAt, await_reply, let_wait, shut};
use ipcost_sys::transport::{Channel, Client, Connection};

use super::kind::{Login, ServerKind, Speech};
use crate::adapters::server_address::{ServerAddress, end_in_time, limit};
use crate::adapters::side_channel;
use crate::adapters::{refused, system};
use crate::{
    DescriptorTable, Meter, Metering, Order, Pacing, PeerError, Prepared, Report, Work, Workers, ended,
    metered, send_all,
};

/// Before the path of a file that holds the request.
const IN_A_FILE: char = '@';
/// What is read at once, bytes: as much as common clients do, or more.
const READ_BYTES: usize = 65_536;

/// Connects the workers, each with a loop of its own.
pub(super) fn prepare(
    kind: &ServerKind,
    (login, blocks): (&Login, bool),
    cell: &Cell,
    at: &ServerAddress,
    address: &Address,
) -> Result<Prepared, PeerError> {
    let words = side_channel::reach(cell, address)?;
    let make = |worker| -> Result<Box<dyn Work>, PeerError> {
        let client = at.client(Some(cell), worker)?;
        let mut asker = Asker::new(kind, login, cell, (at, client))?;
        if cell.pattern == Pattern::Rr {
            asker.open = Some(asker.connect()?);
        }
        if kind.most_clients.is_some() {
            asker.find_processes()?;
        }
        asker.polls = !blocks;
        asker.pacing = Pacing::of(cell, worker);
        Ok(Box::new(asker))
    };
    side_channel::client(Workers::of_client(cell, DescriptorTable::Usual, make)?, cell.concurrency, words)
}

/// One worker: a connection, and how it is spoken on.
pub(super) struct Asker {
    client: Box<dyn Client>,
    speech: Box<dyn Speech>,
    /// The permanent connection; `None` if every operation opens its own.
    open: Option<Connection>,
    /// Requests that are sent before the first reply is read.
    pipeline: u64,
    /// As many requests in one text.
    requests: Vec<u8>,
    buffer: Vec<u8>,
    /// Whether any byte of the last reply has come.
    has_heard: bool,
    /// Whether it waits for a reply in `poll`, for however long, instead of in `recv`.
    ///
    /// Most clients wait in `poll`, those of PostgreSQL and MariaDB among them. It makes a difference over a Unix socket alone: when
    /// the server takes a request from the socket, the kernel also wakes who sleeps in `recv` there, for nothing, since room for
    /// more has come free.
    polls: bool,
    pacing: Option<Pacing>,
    /// What ends its connections in time, where its server is not known yet.
    limits: Option<Vec<EndsAt>>,
}

impl Asker {
    /// One that has not connected yet.
    pub(super) fn new(
        kind: &ServerKind,
        login: &Login,
        cell: &Cell,
        (at, client): (&ServerAddress, Box<dyn Client>),
    ) -> Result<Self, PeerError> {
        let request = cell.request.as_deref().unwrap_or(kind.least);
        let text = match request.strip_prefix(IN_A_FILE) {
            Some(path) => fs::read_to_string(path).map_err(system(format!("cannot read {path}")))?,
            None => request.to_owned(),
        };
        let speech = (kind.speech)(&login.at(at), text.trim(), cell.pattern == Pattern::Rr)?;
        let pipeline = cell.options.pipeline().unwrap_or(1);
        let requests = speech.request().repeat(pipeline as usize);
        Ok(Self {
            client,
            speech,
            open: None,
            pipeline,
            requests,
            buffer: vec![0; READ_BYTES],
            has_heard: false,
            polls: false,
            pacing: None,
            limits: None,
        })
    }

    /// The length of a request.
    pub(super) fn request_bytes(&self) -> u64 {
        self.speech.request().len() as u64
    }

    /// Whether the server closes the connection after the last reply.
    pub(super) fn is_last(&self) -> bool {
        self.speech.is_last()
    }

    /// What comes before the first request of a connection.
    pub(super) fn greet(&mut self, connection: &mut Connection) -> Result<(), PeerError> {
        self.speech.greet(connection)
    }

    pub(super) fn connect(&mut self) -> Result<Connection, PeerError> {
        let mut connection = self.client.connect()?;
        if let Some(limits) = &mut self.limits {
            limit(&connection)?;
            limits.push(end_in_time(&connection)?);
        }
        self.speech.greet(&mut connection)?;
        Ok(connection)
    }

    /// The same, for a server of which nothing is known: each call and the whole connection have limits, and so have those that follow.
    pub(super) fn connect_patiently(&mut self) -> Result<Connection, PeerError> {
        self.limits.get_or_insert_default();
        self.connect()
    }

    /// Whether the last reply held nothing.
    pub(super) fn is_empty(&self) -> bool {
        self.speech.is_empty()
    }

    /// Checks that a server with one process for each connection has one for this connection and one more: otherwise a request
    /// would wait forever.
    fn find_processes(&mut self) -> Result<(), PeerError> {
        let mut open = self.open.take();
        let mut another = self.connect()?;
        for connection in open.iter_mut().chain([&mut another]) {
            limit(connection)?;
            self.ask(connection, 1).map_err(|trouble| match trouble {
                Trouble::Moving(error) if error.kind() == ErrorKind::WouldBlock => refused(
                    "the server has no process for one more connection, and needs one for each; raise pm.max_children, or lower --concurrency",
                ),
                Trouble::Moving(error) => refused(format!("the server does not answer: {error}")),
                Trouble::Refused(error) => error,
            })?;
            let_wait(connection).map_err(system("cannot let a reply take its time"))?;
        }
        self.open = open;
        Ok(())
    }

    /// Asks so often on a connection; the bytes of all replies.
    pub(super) fn ask(&mut self, connection: &mut Connection, count: u64) -> Result<u64, Trouble> {
        self.has_heard = false;
        let bytes = self.speech.request().len() * count as usize;
        send_all(connection, &self.requests[..bytes]).map_err(Trouble::Moving)?;
        let (mut have, mut replies, mut all) = (0, 0, 0);
        while replies < count {
            if have == self.buffer.len() {
                // A part of a reply, such as a row, that does not fit.
                self.buffer.resize(have * 2, 0);
            }
            if self.polls {
                await_reply(connection).map_err(Trouble::Moving)?;
            }
            match connection.receive(&mut self.buffer[have..]).map_err(Trouble::Moving)? {
                0 if have == 0 && self.speech.ends_with_connection() => return Ok(all),
                0 => return Err(Trouble::Moving(ended())),
                more => have += more,
            }
            self.has_heard = true;
            let mut taken = 0;
            while replies < count {
                let part = self.speech.take(&self.buffer[taken..have]).map_err(Trouble::Refused)?;
                taken += part.bytes;
                replies += u64::from(part.complete);
                if !part.complete {
                    break;
                }
            }
            all += taken as u64;
            if taken < have {
                self.buffer.copy_within(taken..have, 0);
            }
            have -= taken;
        }
        match have {
            0 => Ok(all),
            _ => Err(Trouble::Refused(refused(format!("{have} bytes came after the reply")))),
        }
    }

    /// The same on a kept connection; connects again if the server has closed it or closes it now, as other clients do.
    pub(super) fn ask_kept(&mut self, connection: &mut Connection, count: u64) -> Result<u64, Trouble> {
        let again = |asker: &mut Self, connection: &mut Connection| {
            // A server that waits for this end of the old connection may need what it holds for the new one.
            shut(connection);
            *connection = asker.connect().map_err(Trouble::Refused)?;
            Ok(())
        };
        let replied = match self.ask(connection, count) {
            Err(Trouble::Moving(error))
                if !self.has_heard && self.speech.may_ask_again() && is_closed(&error) =>
            {
                again(self, connection)?;
                self.ask(connection, count)?
            }
            asked => asked?,
        };
        if self.speech.is_last() {
            again(self, connection)?;
        }
        Ok(replied)
    }

    fn work<M: Meter>(&mut self, ops: u64, meter: &mut M) -> Result<(), PeerError> {
        let mut done = 0;
        while done < ops {
            let count = self.pipeline.min(ops - done);
            let at = |trouble| match trouble {
                Trouble::Moving(source) => PeerError::Moving { operation: done, ops, source },
                Trouble::Refused(reason) => refused(format!("in operation {} of {ops}: {reason}", done + 1)),
            };
            meter.begin();
            match self.open.take() {
                Some(mut connection) => {
                    self.ask_kept(&mut connection, count).map_err(at)?;
                    self.open = Some(connection);
                }
                None => {
                    let mut connection = self.connect()?;
                    self.ask(&mut connection, count).map_err(at)?;
                    let farewell = self.speech.farewell();
                    if !farewell.is_empty() {
                        send_all(&mut connection, farewell).map_err(|error| at(Trouble::Moving(error)))?;
                    }
                }
            }
            meter.end();
            done += count;
        }
        Ok(())
    }
}

/// Whether the other side has closed the connection.
fn is_closed(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe)
}

/// Why there is no reply.
pub(super) enum Trouble {
    Moving(io::Error),
    Refused(PeerError),
}

impl Work for Asker {
    fn run(&mut self, order: Order) -> Result<Report, PeerError> {
        let retries = self.client.retries();
        let mut metering = Metering::of(order, self.pacing.as_ref(), false)?;
        let began_ns = now_ns();
        metered!(&mut metering, |meter| self.work(order.ops, meter))?;
        let ended_ns = now_ns();
        let retries = self.client.retries() - retries;
        let mut report = Report { began_ns, ended_ns, retries, ..Report::default() };
        metering.tell(&mut report);
        Ok(report)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{Ipv4Addr, TcpListener};
    use std::thread;

    use super::*;

    /// A web server that closes each connection after a reply, and does not announce it.
    fn closing(connections: usize) -> ServerAddress {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        thread::spawn(move || {
            for connection in listener.incoming().take(connections) {
                let (mut connection, mut request) = (connection.unwrap(), Vec::new());
                while !request.ends_with(b"\r\n\r\n") {
                    let mut byte = [0];
                    connection.read_exact(&mut byte).unwrap();
                    request.push(byte[0]);
                }
                connection.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").unwrap();
            }
        });
        ServerAddress::of_port(Ipv4Addr::LOCALHOST.into(), port)
    }

    fn asker(at: &ServerAddress, request: &str) -> Asker {
        let kind = super::super::find("http").unwrap();
        let cell = Cell { request: Some(request.to_owned()), ..Cell::new(Pattern::Rr, "tcp", 1) };
        let login = Login { writes: true, ..Login::default() };
        Asker::new(kind, &login, &cell, (at, at.client(None, 0).unwrap()))
            .map_err(|error| error.to_string())
            .unwrap()
    }

    #[test]
    fn a_request_is_asked_again_on_a_new_connection_unless_it_may_change_data() {
        let at = closing(3);
        let mut asking = asker(&at, "GET /");
        let mut connection = asking.connect().map_err(|error| error.to_string()).unwrap();
        for _ in 0..3 {
            assert!(matches!(asking.ask_kept(&mut connection, 1), Ok(40)));
        }
        let at = closing(2);
        let mut asking = asker(&at, "POST /");
        let mut connection = asking.connect().map_err(|error| error.to_string()).unwrap();
        assert!(matches!(asking.ask_kept(&mut connection, 1), Ok(40)));
        assert!(matches!(asking.ask_kept(&mut connection, 1), Err(Trouble::Moving(_))));
    }
}
