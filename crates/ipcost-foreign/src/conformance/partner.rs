//! The other side of a real socket, played by the suite itself: it sends slowly, wrongly, or too little.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Instant;

use ipcost_model::Pattern;
use ipcost_model::protocol::PeerRole;
use ipcost_sys::Context;
use ipcost_sys::local_stream::{LocalListener, LocalStream};
use serde_json::{Value, json};

use super::process::{ANSWER, ExaminedProcess};
use super::setup::{Setup, Who};
use super::transcript::Leaving;
use super::{CheckError, ConformanceFinding};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Misbehaviour {
    /// It sends the right bytes, one by one.
    Slow,
    /// It sends a wrong last byte of a message.
    Wrong,
    /// It closes in the middle of a message.
    Short,
}

/// A check: the subject in one role, the suite in the other.
pub struct Visit {
    role: PeerRole,
    pattern: Pattern,
    transport: &'static str,
    misbehaviour: Misbehaviour,
}

/// The number of messages; the middle one is faulty.
const MESSAGES: u64 = 3;
const BAD: u64 = 1;

impl fmt::Display for Visit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.misbehaviour {
            Misbehaviour::Slow => "takes bytes one by one",
            Misbehaviour::Wrong => "notices a wrong byte",
            Misbehaviour::Short => "notices that a message is cut short",
        };
        write!(f, "payload: {} over {}: the {} {what}", self.pattern, self.transport, self.role)
    }
}

pub fn visits(setup: &Setup<'_>) -> Vec<Visit> {
    let mut visits = Vec::new();
    if setup.subject.own_wire {
        return visits;
    }
    for pattern in &setup.hello.patterns {
        let offered = setup.transports(*pattern);
        let Some(transport) = offered.into_iter().find(|name| matches!(*name, "unix" | "tcp")) else {
            continue;
        };
        for role in &setup.hello.roles {
            for misbehaviour in [Misbehaviour::Slow, Misbehaviour::Wrong, Misbehaviour::Short] {
                // In a stream, the answer is one byte of any value.
                let one_way = *pattern == Pattern::Stream && *role == PeerRole::Client;
                if !(one_way && misbehaviour == Misbehaviour::Wrong) {
                    visits.push(Visit { role: *role, pattern: *pattern, transport, misbehaviour });
                }
            }
        }
    }
    visits
}

impl Visit {
    pub fn carry_out(&self, setup: &Setup<'_>) -> ConformanceFinding {
        let made = || {
            let mut process = setup.start(Who::Subject, Vec::new())?;
            process.hello()?;
            let result = match self.role {
                PeerRole::Server => self.be_client(setup, &mut process),
                PeerRole::Client => self.be_server(setup, &mut process),
            };
            Ok(result.err().map(|why| format!("{why} ({})", process.complaint())))
        };
        let failed = made().unwrap_or_else(|why: CheckError| Some(why.to_string()));
        failed.map_or(ConformanceFinding::Passed, ConformanceFinding::Failed)
    }

    fn be_client(&self, setup: &Setup<'_>, process: &mut ExaminedProcess) -> Result<(), CheckError> {
        let cell = setup.cell(self.pattern, self.transport, 1);
        let address = setup.provision(&cell)?.server;
        process.say(&json!({"type": "prepare", "role": "server", "cell": cell, "address": address}))?;
        let ready = expect(process, "ready")?;
        let mut connection = None;
        if self.pattern != Pattern::Connect {
            connection = Some(connect(&ready["address"]).context(|| "cannot be reached".to_owned())?);
        }
        process.say(&json!({"type": "verify", "id": 1, "ops": MESSAGES}))?;
        expect(process, "armed")?;
        let exchange = || {
            for number in 0..MESSAGES {
                // In connect, every connection is a separate exchange.
                let mut fresh = None;
                let (stream, message) = match &mut connection {
                    Some(stream) => (stream, number),
                    None => (fresh.insert(connect(&ready["address"])?), 0),
                };
                if !self.send(stream, number, message, cell.size)? {
                    // Dropped here to cut it short; otherwise kept open until the server has answered.
                    return Ok(if self.misbehaviour == Misbehaviour::Short {
                        None
                    } else {
                        fresh.or(connection)
                    });
                }
                receive(stream, message, cell.reply)?;
                if fresh.is_some_and(|mut stream| !matches!(stream.read(&mut [0]), Ok(0))) {
                    return Err(io::Error::other("the server does not close the connection"));
                }
            }
            if self.pattern == Pattern::Stream {
                connection.as_mut().map_or(Ok(()), |stream| stream.read_exact(&mut [0]))?;
            }
            Ok(connection)
        };
        let kept = exchange();
        self.conclude(process, kept)
    }

    fn be_server(&self, setup: &Setup<'_>, process: &mut ExaminedProcess) -> Result<(), CheckError> {
        let cell = setup.cell(self.pattern, self.transport, 1);
        let absent = || "does not come".to_owned();
        let (listener, address) = listen(setup, self.transport).context(absent)?;
        process.say(&json!({"type": "prepare", "role": "client", "cell": cell, "address": address}))?;
        let mut connection = None;
        if self.pattern != Pattern::Connect {
            connection = Some(listener.accept().context(absent)?);
        }
        expect(process, "ready")?;
        process.say(&json!({"type": "verify", "id": 1, "ops": MESSAGES}))?;
        let exchange = || {
            for number in 0..MESSAGES {
                let mut fresh = None;
                let (stream, message) = match &mut connection {
                    Some(stream) => (stream, number),
                    None => (fresh.insert(listener.accept()?), 0),
                };
                receive(stream, message, cell.size)?;
                if self.pattern != Pattern::Stream && !self.send(stream, number, message, cell.reply)? {
                    if self.misbehaviour == Misbehaviour::Wrong {
                        return Ok(connection);
                    }
                    return Ok(None);
                }
            }
            if self.pattern == Pattern::Stream && self.misbehaviour == Misbehaviour::Slow {
                connection.as_mut().map_or(Ok(()), |stream| stream.write_all(b"."))?;
            } else if self.pattern == Pattern::Stream {
                return Ok(None);
            }
            Ok(connection)
        };
        let kept = exchange();
        self.conclude(process, kept)
    }

    /// Sends a message with this misbehaviour; `false` if it was faulty and nothing can follow.
    fn send(&self, stream: &mut Stream, number: u64, message: u64, size: u64) -> io::Result<bool> {
        let mut bytes: Vec<u8> = (0..size).map(|index| expected(message, index)).collect();
        let bad = number == BAD;
        match self.misbehaviour {
            Misbehaviour::Slow => bytes.iter().try_for_each(|byte| stream.write_all(&[*byte]))?,
            Misbehaviour::Wrong if bad => {
                let last = bytes.last_mut().expect("messages have bytes");
                *last ^= 0x40;
                stream.write_all(&bytes)?;
            }
            Misbehaviour::Short if bad => stream.write_all(&bytes[..bytes.len() / 2])?,
            _ => stream.write_all(&bytes)?,
        }
        // A stream's receiver may check at any time, so it gets all of it.
        let goes_on = self.misbehaviour == Misbehaviour::Wrong && self.pattern == Pattern::Stream;
        Ok(!bad || self.misbehaviour == Misbehaviour::Slow || goes_on)
    }

    /// Checks the subject's answer; a stream kept open is closed only afterwards.
    fn conclude(
        &self,
        process: &mut ExaminedProcess,
        kept: io::Result<Option<Stream>>,
    ) -> Result<(), CheckError> {
        // Only a subject that meets a wrong byte with more to come may break off the exchange.
        let may_break_off = self.misbehaviour == Misbehaviour::Wrong && self.pattern == Pattern::Stream;
        let _kept = match kept.context(|| "breaks the exchange".to_owned()) {
            Err(error) if !may_break_off => return Err(error.into()),
            kept => kept,
        };
        if self.misbehaviour == Misbehaviour::Slow {
            expect(process, "done")?;
            process.say(&json!({"type": "stop"}))?;
            return process.gone(Leaving::Success);
        }
        expect(process, "error")?;
        process.gone(Leaving::Failure)
    }
}

fn expect(process: &mut ExaminedProcess, kind: &'static str) -> Result<Value, CheckError> {
    let message = process.hear()?;
    if message["type"] == kind { Ok(message) } else { Err(CheckError::OutOfTurn { kind, message }) }
}

/// Byte `index` of message `message`, as docs/contributing/control-protocol.md has it.
fn expected(message: u64, index: u64) -> u8 {
    ((message + index) % 251) as u8
}

fn receive(stream: &mut Stream, message: u64, size: u64) -> io::Result<()> {
    let mut bytes = vec![0; size as usize];
    stream.read_exact(&mut bytes)?;
    let wrong = (0..).zip(&bytes).find(|(index, byte)| **byte != expected(message, *index));
    match wrong {
        None => Ok(()),
        Some((index, byte)) => Err(io::Error::other(format!("byte {index} of message {message} is {byte}"))),
    }
}

type Stream = Box<dyn ReadWrite>;

trait ReadWrite: Read + Write {}
impl<T: Read + Write> ReadWrite for T {}

fn connect(address: &Value) -> io::Result<Stream> {
    if let Some(path) = address["path"].as_str() {
        return patient_local(LocalStream::connect(path.as_ref())?);
    }
    let host = address["host"].as_str().ok_or(io::ErrorKind::InvalidInput)?;
    let port = address["port"].as_u64().and_then(|port| u16::try_from(port).ok());
    patient_tcp(TcpStream::connect((host, port.ok_or(io::ErrorKind::InvalidInput)?))?)
}

fn patient_local(stream: LocalStream) -> io::Result<Stream> {
    stream.set_patience(ANSWER)?;
    Ok(Box::new(stream))
}

fn patient_tcp(stream: TcpStream) -> io::Result<Stream> {
    stream.set_nonblocking(false)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(ANSWER))?;
    stream.set_write_timeout(Some(ANSWER))?;
    Ok(Box::new(stream))
}

enum PartnerListener {
    Unix(LocalListener),
    Tcp(TcpListener),
}

fn listen(setup: &Setup<'_>, transport: &str) -> io::Result<(PartnerListener, Value)> {
    if transport == "unix" {
        let path = setup.dir().join(format!("p{}", setup.fresh()));
        let listener = LocalListener::bind(&path)?;
        return Ok((PartnerListener::Unix(listener), json!({"path": path})));
    }
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    listener.set_nonblocking(true)?;
    let port = listener.local_addr()?.port();
    Ok((PartnerListener::Tcp(listener), json!({"host": "127.0.0.1", "port": port})))
}

impl PartnerListener {
    fn accept(&self) -> io::Result<Stream> {
        let deadline = Instant::now() + ANSWER;
        loop {
            let accepted = match self {
                Self::Unix(listener) => listener.accept().and_then(patient_local),
                Self::Tcp(listener) => listener.accept().and_then(|(stream, _)| patient_tcp(stream)),
            };
            match accepted {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && Instant::now() < deadline => {
                    std::thread::sleep(std::time::Duration::from_millis(1));
                }
                accepted => return accepted,
            }
        }
    }
}
