//! nng: Req0 and Rep0 in `rr`, Pair0 in `stream`.

use std::io;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ipcost_endpoints::{Endpoint, PATIENCE, whole};
use ipcost_model::Pattern;
use ipcost_sys::transport::Channel;
use nng::options::transport::tcp::BoundPort;
use nng::options::{Options, RecvTimeout, SendTimeout};
use nng::{Error, Listener, PipeEvent, Protocol, Socket};

struct Nng {
    socket: Socket,
    /// Whether the other side is gone.
    has_ended: Arc<AtomicBool>,
    /// Kept so that it goes on listening.
    _listener: Option<Listener>,
}

fn failed(error: Error) -> io::Error {
    io::Error::other(error.to_string())
}

impl Endpoint for Nng {
    fn listen(url: &str, pattern: Pattern) -> io::Result<(Self, String)> {
        let protocol = if pattern == Pattern::Rr { Protocol::Rep0 } else { Protocol::Pair0 };
        let socket = Socket::new(protocol).map_err(failed)?;
        let listener = Listener::new(&socket, url).map_err(failed)?;
        let bound = match url.strip_suffix(":0") {
            Some(host) => format!("{host}:{}", listener.get_opt::<BoundPort>().map_err(failed)?),
            None => url.to_owned(),
        };
        Ok((Self::over(socket, Some(listener))?, bound))
    }

    fn dial(url: &str, pattern: Pattern) -> io::Result<Self> {
        let protocol = if pattern == Pattern::Rr { Protocol::Req0 } else { Protocol::Pair0 };
        let socket = Socket::new(protocol).map_err(failed)?;
        socket.dial(url).map_err(failed)?;
        Self::over(socket, None)
    }
}

impl Nng {
    fn over(socket: Socket, listener: Option<Listener>) -> io::Result<Self> {
        let has_ended = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&has_ended);
        let notice = move |_, event| {
            if event == PipeEvent::RemovePost {
                seen.store(true, Ordering::Relaxed);
            }
        };
        socket.pipe_notify(notice).map_err(failed)?;
        socket.set_opt::<RecvTimeout>(Some(PATIENCE)).map_err(failed)?;
        socket.set_opt::<SendTimeout>(Some(PATIENCE)).map_err(failed)?;
        Ok(Self { socket, has_ended, _listener: listener })
    }

    /// Whether to repeat a call that timed out.
    fn waits_on(&self, error: Error) -> io::Result<()> {
        match error {
            Error::TimedOut if !self.has_ended.load(Ordering::Relaxed) => Ok(()),
            Error::TimedOut => Err(ipcost_endpoints::ended()),
            other => Err(failed(other)),
        }
    }
}

impl Channel for Nng {
    fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        while let Err((_, error)) = self.socket.send(bytes) {
            self.waits_on(error)?;
        }
        Ok(bytes.len())
    }

    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let message = loop {
            match self.socket.recv() {
                Ok(message) => break message,
                Err(error) => self.waits_on(error)?,
            }
        };
        let length = whole(message.len(), buffer)?;
        buffer[..length].copy_from_slice(message.as_slice());
        Ok(length)
    }
}

fn main() -> ExitCode {
    ipcost_endpoints::play::<Nng>("nng", "libnng".to_owned())
}
