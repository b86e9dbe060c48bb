//! A peer's messages, as the engine reads them.

use std::io::BufReader;
use std::time::Duration;

use ipcost_lab::histograms;
use ipcost_lab::plausibility::{PacedBy, PeerRequest, check};
use ipcost_model::protocol::{FromPeer, MAX_LINE_BYTES, PeerRole};
use ipcost_model::read_message;
use ipcost_peer::adapters::app::fuzzing;
use ipcost_peer::adapters::redis::resp;
use ipcost_sys::lines::Lines;

/// A peer's standard output, arriving in pieces; the first byte gives their size.
pub fn said(bytes: &[u8]) {
    let Some((size, bytes)) = bytes.split_first() else { return };
    let mut lines = Lines::default();
    for piece in bytes.chunks(usize::from(*size).max(1)) {
        lines.add(piece);
        assert!(lines.waiting() <= MAX_LINE_BYTES + bytes.len());
        while let Ok(Some(line)) = lines.take() {
            heard(&line);
        }
    }
}

/// A redis-server's replies, arriving in pieces; the first byte gives their size.
pub fn replies(bytes: &[u8]) {
    let Some((size, bytes)) = bytes.split_first() else { return };
    let mut input = BufReader::with_capacity(usize::from(*size) + 1, bytes);
    while resp::read_reply(&mut input).is_ok() {}
}

/// What a database, a cache or a web server replies.
pub fn server_replies(bytes: &[u8]) {
    fuzzing::replies(bytes);
}

/// What one says while it is logged in to.
pub fn server_logins(bytes: &[u8]) {
    fuzzing::logins(bytes);
}

fn heard(line: &[u8]) {
    let message = match read_message(line) {
        Ok(message) => message,
        Err(error) => {
            let error = error.to_string();
            assert!(error.len() < 4096 && !error.contains(|c: char| c.is_control()), "{error:?}");
            return;
        }
    };
    let FromPeer::Done(done) = message else { return };
    for text in done.histograms.values() {
        if let Ok(histogram) = histograms::read(text) {
            assert!(histogram.value_at(0.5) <= histogram.max());
        }
    }
    for role in [PeerRole::Client, PeerRole::Server] {
        for (latency, passed) in [(true, Duration::from_millis(20)), (false, Duration::MAX)] {
            let paced = (passed == Duration::MAX).then_some(PacedBy { tells: !latency, overlaps: latency });
            let asked = PeerRequest {
                role,
                id: 7,
                ops: 100,
                exchanges: 100,
                latency,
                paced,
                concurrency: 4,
                passed,
                processors: 2,
            };
            if check(&done, &asked).is_ok() {
                assert_eq!((done.id, done.ops), (asked.id, asked.ops));
                assert!(done.latency_ns.len() <= 100 || role == PeerRole::Server && paced.is_none());
            }
        }
    }
}
