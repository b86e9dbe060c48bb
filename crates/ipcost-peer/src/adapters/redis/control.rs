//! A connection to a redis-server for requests between batches.

use std::io::{self, BufReader, Read, Write};
use std::time::Duration;

use ipcost_model::{Cell, Pattern};
use ipcost_sys::transport::{Channel, Client, Connection};
use ipcost_sys::{Context, SysError, driven_program};

use super::resp::{self, Reply};
use crate::PeerError;
use crate::adapters::refused;
use crate::adapters::server_address::ServerAddress;

/// A connection's bytes, for the standard library's readers and writers.
struct Bytes(Connection);

impl Read for Bytes {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.receive(buffer)
    }
}

impl Write for Bytes {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.send(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A connection for requests between batches.
pub struct ControlConnection {
    connection: BufReader<Bytes>,
    pub server: String,
}

impl ControlConnection {
    /// Connects, and limits the wait for every reply.
    pub fn open(at: &ServerAddress, patience: Duration) -> Result<Self, PeerError> {
        Self::of(client(at, None, 0)?.connect()?, at, patience)
    }

    /// Uses an existing connection.
    pub fn of(connection: Connection, at: &ServerAddress, patience: Duration) -> Result<Self, PeerError> {
        driven_program::limit_waits(&connection, patience).context(|| "cannot limit waits".to_owned())?;
        let mut control = Self { connection: BufReader::new(Bytes(connection)), server: at.to_string() };
        if let Some(words) = proof(at) {
            control.ask(&words)?;
        }
        Ok(control)
    }

    pub fn connection(&self) -> &Connection {
        &self.connection.get_ref().0
    }

    /// The listening process, if the system tells.
    pub fn listener(&self) -> Option<u32> {
        driven_program::listener(self.connection())
    }

    /// Sends a command in one write: pieces would cost the server as many calls, and TCP might hold them back.
    pub fn exchange(&mut self, words: &[&str]) -> io::Result<Reply> {
        self.connection.get_mut().write_all(&resp::command(words))?;
        resp::read_reply(&mut self.connection)
    }

    /// The reply to a command.
    pub fn ask(&mut self, words: &[&str]) -> Result<Reply, PeerError> {
        let (server, command) = (self.server.clone(), words[0]);
        match self.exchange(words) {
            Ok(Reply::Error(reason)) => {
                Err(refused(format!("the redis server at {server} refused {command}: {reason}")))
            }
            Ok(reply) => Ok(reply),
            Err(error) => Err(refused(match error.kind() {
                io::ErrorKind::UnexpectedEof | io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => {
                    format!("the redis server at {server} closed the connection at {command}")
                }
                io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                    format!("the redis server at {server} did not answer {command} in time")
                }
                io::ErrorKind::InvalidData => {
                    format!(
                        "the server at {server} answered {command} with something other than a redis reply; is it redis?"
                    )
                }
                _ => format!("asking the redis server at {server} for {command}: {error}"),
            })),
        }
    }

    /// A reply that is a number.
    pub fn ask_number(&mut self, words: &[&str]) -> Result<i64, PeerError> {
        match self.ask(words)? {
            Reply::Number(number) => Ok(number),
            _ => Err(self.no_redis(words[0])),
        }
    }

    /// A reply that is a text; empty if nil.
    pub fn ask_text(&mut self, words: &[&str]) -> Result<String, PeerError> {
        match self.ask(words)? {
            Reply::Text(text) => Ok(text.unwrap_or_default()),
            _ => Err(self.no_redis(words[0])),
        }
    }

    /// A value of `INFO`: the text after a name at the beginning of a line.
    pub fn ask_info(&mut self, section: &str, name: &str) -> Result<Option<String>, PeerError> {
        let text = self.ask_text(&["INFO", section])?;
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        Ok(value.map(|value| value.trim_end().to_owned()))
    }

    fn no_redis(&self, command: &str) -> PeerError {
        refused(format!(
            "the redis server at {} answered {command} with another type; is it redis?",
            self.server
        ))
    }
}

/// The user of a private server.
pub const USER: &str = "ipcost";

/// What a server answers to a password that is right.
pub const WELCOME: &[u8; 5] = b"+OK\r\n";

/// The command with which a private server lets its clients in.
pub fn proof(at: &ServerAddress) -> Option<[&str; 3]> {
    at.secret().map(|secret| ["AUTH", USER, secret])
}

/// Connects with the cell's options, or without any; as in pattern `connect`, which alone accepts another user's
/// server.
pub fn client(at: &ServerAddress, cell: Option<&Cell>, worker: u32) -> Result<Box<dyn Client>, SysError> {
    let options = cell.map(|cell| cell.options.clone()).unwrap_or_default();
    // A redis-server sets TCP_NODELAY. The published client does not, so this one does only on request.
    let nodelay = options.tcp_nodelay().unwrap_or(false);
    let spreads = cell.is_some_and(|cell| {
        cell.pattern == Pattern::Connect && cell.options.spread_sources().unwrap_or(true)
    });
    at.reach(options, nodelay, spreads, worker)
}
