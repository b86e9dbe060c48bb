//! ZeroMQ: REQ and REP in `rr`, PAIR in `stream`.

use std::io;
use std::process::ExitCode;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use ipcost_endpoints::{Endpoint, PATIENCE, whole};
use ipcost_model::Pattern;
use ipcost_sys::transport::Channel;

/// One for all sockets, with one I/O thread, as most programs have it.
static CONTEXT: LazyLock<zmq::Context> = LazyLock::new(zmq::Context::new);

/// How long a server may take to accept.
const CONNECTING: Duration = Duration::from_secs(10);

/// How long the last message may take to leave.
const LAST_WORDS: Duration = Duration::from_millis(100);

struct Zeromq {
    socket: zmq::Socket,
    /// Reports that it is connected, and that the other side is gone.
    events: zmq::Socket,
}

impl Zeromq {
    fn new(kind: zmq::SocketType, events: &[zmq::SocketEvent]) -> io::Result<Self> {
        let socket = CONTEXT.socket(kind)?;
        socket.set_linger(PATIENCE.as_millis() as i32)?;
        socket.set_rcvtimeo(PATIENCE.as_millis() as i32)?;
        socket.set_sndtimeo(PATIENCE.as_millis() as i32)?;
        static MONITORS: AtomicU32 = AtomicU32::new(0);
        let place = format!("inproc://events-{}", MONITORS.fetch_add(1, Ordering::Relaxed));
        socket.monitor(&place, events.iter().map(|event| i32::from(event.to_raw())).sum())?;
        let events = CONTEXT.socket(zmq::PAIR)?;
        events.connect(&place)?;
        Ok(Self { socket, events })
    }

    /// Whether to repeat a failed call: one that was interrupted, or that timed out while the other side still exists.
    fn waits_on(&self, error: zmq::Error) -> io::Result<()> {
        match error {
            zmq::Error::EINTR => Ok(()),
            zmq::Error::EAGAIN if self.events.poll(zmq::POLLIN, 0)? == 0 => Ok(()),
            zmq::Error::EAGAIN => Err(ipcost_endpoints::ended()),
            other => Err(other.into()),
        }
    }
}

impl Endpoint for Zeromq {
    fn listen(url: &str, pattern: Pattern) -> io::Result<(Self, String)> {
        let kind = if pattern == Pattern::Rr { zmq::REP } else { zmq::PAIR };
        let endpoint = Self::new(kind, &[zmq::SocketEvent::DISCONNECTED])?;
        endpoint.socket.bind(url)?;
        let bound = endpoint.socket.get_last_endpoint()?;
        Ok((endpoint, bound.unwrap_or_else(|_| url.to_owned())))
    }

    fn dial(url: &str, pattern: Pattern) -> io::Result<Self> {
        let kind = if pattern == Pattern::Rr { zmq::REQ } else { zmq::PAIR };
        let endpoint = Self::new(kind, &[zmq::SocketEvent::CONNECTED, zmq::SocketEvent::DISCONNECTED])?;
        endpoint.socket.connect(url)?;
        // It connects in a background thread, and would wait for ever for a server that has gone meanwhile.
        if endpoint.events.poll(zmq::POLLIN, CONNECTING.as_millis() as i64)? == 0 {
            return Err(io::ErrorKind::TimedOut.into());
        }
        endpoint.events.recv_multipart(0)?;
        Ok(endpoint)
    }
}

impl Channel for Zeromq {
    fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        while let Err(error) = self.socket.send(bytes, 0) {
            self.waits_on(error)?;
        }
        Ok(bytes.len())
    }

    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.socket.recv_into(buffer, 0) {
                Ok(length) => return whole(length, buffer),
                Err(error) => self.waits_on(error)?,
            }
        }
    }
}

fn main() -> ExitCode {
    let (major, minor, patch) = zmq::version();
    let code = ipcost_endpoints::play::<Zeromq>("zeromq", format!("libzmq {major}.{minor}.{patch}"));
    // The last message may still be with the library's thread, and would end with the process. The context waits for
    // it, but also for workers between two batches with their sockets open.
    let (sent, wait) = mpsc::channel();
    thread::spawn(move || sent.send(CONTEXT.clone().destroy()));
    _ = wait.recv_timeout(LAST_WORDS);
    code
}
