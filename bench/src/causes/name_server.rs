//! A name server that knows nothing: it answers every query after a moment.

use std::io::ErrorKind;
use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::Result;

const ADDRESS: &str = "127.0.0.1:53";
/// How long an answer takes.
const DELAY: Duration = Duration::from_micros(200);
/// How soon it notices that it is no longer needed.
const PATIENCE: Duration = Duration::from_millis(100);
/// The bit of a message's third byte that makes an answer of a query (RFC 1035, section 4.1.1).
const IS_ANSWER: u8 = 0x80;

/// Answers until it is dropped.
pub struct NameServer {
    stops: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl NameServer {
    /// Takes the port of name servers.
    pub fn start() -> Result<Self> {
        let socket = UdpSocket::bind(ADDRESS)?;
        socket.set_read_timeout(Some(PATIENCE))?;
        let stops = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stops);
        let thread =
            std::thread::spawn(
                move || {
                    while !stopped.load(Ordering::Relaxed) && answer_one(&socket).is_ok() {}
                },
            );
        Ok(Self { stops, thread: Some(thread) })
    }
}

impl Drop for NameServer {
    fn drop(&mut self) {
        self.stops.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn answer_one(socket: &UdpSocket) -> std::io::Result<()> {
    let mut message = [0; 512];
    let (length, client) = match socket.recv_from(&mut message) {
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => return Ok(()),
        received => received?,
    };
    std::thread::sleep(DELAY);
    if length > 2 {
        message[2] |= IS_ANSWER;
    }
    // A client that has left needs no answer.
    let _ = socket.send_to(&message[..length], client);
    Ok(())
}
