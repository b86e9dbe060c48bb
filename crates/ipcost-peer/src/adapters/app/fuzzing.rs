//! Every kind's reader of what a server sends, as a function of any bytes: for fuzzers, and for the test that runs their targets.

use std::io;

use ipcost_sys::transport::{Channel, Connection};

use super::KINDS;
use super::kind::{LONGEST_LINE, Login, ServerKind, Speech};

/// A part of a reply that is looked at whole has at most so many bytes; the rest is passed over as it comes.
const LONGEST_WAITING: usize = 2 * LONGEST_LINE;
/// The bytes that a server sends after those of the input, which it repeats.
const MORE: usize = 4 * LONGEST_LINE;

/// Replies to the request that asks least: the first byte gives the kind of server, the second the size of pieces. When they end, the
/// last of them are repeated: a reader takes them or refuses them, and never collects them.
///
/// # Panics
/// If the reader panics, takes what is not there, or collects without end.
pub fn replies(bytes: &[u8]) {
    let Some((kind, step, bytes)) = chosen(bytes) else { return };
    let Some(mut speech) = speech(kind) else { return };
    let mut server = ScriptedServer::new(bytes, step);
    let mut waiting = Vec::new();
    let mut piece = [0; 4096];
    while let Ok(more @ 1..) = server.receive(&mut piece) {
        waiting.extend_from_slice(&piece[..more]);
        loop {
            let Ok(taken) = speech.take(&waiting) else { return };
            assert!(taken.bytes <= waiting.len(), "{} takes what is not there", kind.name);
            waiting.drain(..taken.bytes);
            if !taken.complete {
                break;
            }
            let _ = (speech.is_empty(), speech.is_last());
        }
        assert!(waiting.len() <= LONGEST_WAITING, "{} collects {} bytes", kind.name, waiting.len());
    }
    let _ = speech.ends_with_connection();
}

/// A server's side of a login, from the same.
///
/// # Panics
/// If the reader panics, or answers without end.
pub fn logins(bytes: &[u8]) {
    let Some((kind, step, bytes)) = chosen(bytes) else { return };
    let Some(mut speech) = speech(kind) else { return };
    let mut connection = Connection::Other(Box::new(ScriptedServer::new(bytes, step)));
    if let Err(error) = speech.greet(&mut connection) {
        assert!(error.to_string().len() <= LONGEST_WAITING, "{} quotes without end", kind.name);
    }
}

fn chosen(bytes: &[u8]) -> Option<(&'static ServerKind, usize, &[u8])> {
    let (kind, bytes) = bytes.split_first()?;
    let (step, bytes) = bytes.split_first()?;
    let kind = &KINDS[usize::from(*kind) % KINDS.len()];
    Some((kind, usize::from(*step).max(1), bytes))
}

fn speech(kind: &ServerKind) -> Option<Box<dyn Speech>> {
    let login = Login { user: Some("me".to_owned()), ..Login::default() };
    (kind.speech)(&login, kind.least, true).ok()
}

/// A server that sends what it was given, then, with some sizes of pieces, its end again and again, and then nothing.
struct ScriptedServer {
    bytes: Vec<u8>,
    step: usize,
    /// Where the end begins to be repeated, in large pieces.
    given: usize,
    sent: usize,
}

/// One in so many sizes of pieces has more.
const HAS_MORE: usize = 10;

impl ScriptedServer {
    fn new(bytes: &[u8], step: usize) -> Self {
        let (mut bytes, given) = (bytes.to_vec(), bytes.len());
        if step.is_multiple_of(HAS_MORE) {
            let last = bytes[given.saturating_sub(16)..].to_vec();
            bytes.extend(last.repeat(MORE / last.len().max(1)));
        }
        Self { bytes, step, given, sent: 0 }
    }
}

impl Channel for ScriptedServer {
    fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        assert!(bytes.len() <= LONGEST_WAITING, "{} bytes are sent", bytes.len());
        Ok(bytes.len())
    }

    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let rest = &self.bytes[self.sent..];
        let step = if self.sent < self.given { self.step } else { buffer.len() };
        let more = rest.len().min(step).min(buffer.len());
        buffer[..more].copy_from_slice(&rest[..more]);
        self.sent += more;
        Ok(more)
    }
}
