//! What a side writes elsewhere, and how much it moves at a time.

use ipcost_lab::rules;
use ipcost_lab::strace::CallMode;
use ipcost_model::protocol::PeerRole;
use ipcost_model::units::size_text;
use ipcost_model::{Delivery, Object, Pattern};
use ipcost_sys::transport;

use super::waits::waits_for_storage;
use super::{ActiveSide, NamedCalls, SLIGHT, SYNCING, of_bytes};
use crate::explain::Act;
use crate::explain::causes::count;
use crate::explain::kinds::{CallKind, CallSum};

/// What receivers usually ask for, bytes.
const USUAL_READ: f64 = 65_536.0;
/// Reads this much smaller than a message, or in a stream than usual ones, are small.
const SMALL_READS: f64 = 4.0;
/// What TLS adds to each record, bytes: from an authentication tag and a header to those of older versions.
const TLS_RECORD: std::ops::RangeInclusive<f64> = 21.0..=48.0;
/// The additions of usual ciphers, bytes: ChaCha20 in TLS 1.2, any in TLS 1.3, AES-GCM in TLS 1.2.
const KNOWN_RECORDS: [f64; 3] = [21.0, 22.0, 29.0];
/// The most that a record of TLS holds, bytes.
const TLS_RECORD_BYTES: f64 = 16_384.0;

pub(super) fn logging(doing: &ActiveSide<'_>) -> Option<NamedCalls> {
    let writes = |kind: &CallKind| matches!(kind, CallKind::WriteTo(on) if *on != Object::Event);
    let syncs = |kind: &CallKind| matches!(kind, CallKind::Other(name) if SYNCING.contains(&name.as_str()));
    if doing.often().any(|(kind, _, _)| syncs(kind)) {
        return None;
    }
    let to_a_thread =
        |kind: &CallKind| *kind == CallKind::WriteTo(Object::Pipe) && doing.has(rules::THREAD_HAND_OVER);
    // What a stream's server receives may go on to a device.
    let forwards = doing.cell.pattern == Pattern::Stream && doing.side == PeerRole::Server;
    let (kind, sum, more) = doing.often().find(|(kind, sum, _)| {
        writes(kind) && !waits_for_storage(doing, sum) && !forwards && !to_a_thread(kind)
    })?;
    let to = match kind {
        CallKind::WriteTo(Object::File) => "a file",
        CallKind::WriteTo(Object::Device) => "a device",
        _ if sum.in_manner(CallMode::StandardError) > 0.0 => "standard error",
        CallKind::WriteTo(Object::Pipe) => "a pipe",
        _ => "a socket",
    };
    let said =
        format!("writes {} `{}`{} an operation to {to}, as a log does", count(more), sum.name, of_bytes(sum));
    let ns = doing.ns_of(&[&sum.name]);
    let remedy = "log less, gather lines and write many at once, or let another thread write them";
    Some((doing.cause(rules::LOGGING, &sum.name, more, ns, said, remedy), vec![sum.name.clone()]))
}

/// A side asks for much less at a time than a message holds, and gets it.
pub(super) fn small_reads(doing: &ActiveSide<'_>) -> Option<NamedCalls> {
    let sum = doing.kinds.get(&CallKind::Receive)?;
    let cell = doing.cell;
    let message = match (cell.pattern, doing.side) {
        (Pattern::Stream, PeerRole::Client) => return None,
        (_, PeerRole::Server) => cell.size,
        (_, PeerRole::Client) => cell.reply,
    };
    let each = sum.bytes_each()?;
    let full = sum.moved.unwrap_or(0.0) >= 0.9 * sum.asked;
    // In a stream more may lie ready than a message, and does where the reader seldom waits; in a round trip no more does.
    let sleeps = cell.sides.of(doing.side).voluntary_switches;
    let more_lies_ready = sleeps.is_some_and(|sleeps| sleeps < 0.5 * sum.succeeded);
    let cuts = transport::find(&cell.transport)
        .is_some_and(|known| known.capabilities().delivery == Delivery::Stream);
    let small = match cell.pattern {
        Pattern::Stream => cuts && more_lies_ready && asked_each(sum) * SMALL_READS <= USUAL_READ,
        _ => sum.succeeded >= 2.0 && each * SMALL_READS <= message as f64,
    };
    if !small || !full {
        return None;
    }
    let more = (sum.succeeded - message as f64 / USUAL_READ.max(message as f64)).max(0.0);
    let ns = doing.ns_of(&[&sum.name]);
    let weight = ns.is_none().then(|| cell.busy.map_or(SLIGHT, |busy| *busy.of(doing.side)));
    let said = format!(
        "reads {} at a time and gets as much nearly every time, {} `{}` for a message of {}",
        size_text(each.round() as u64),
        count(sum.succeeded),
        sum.name,
        size_text(message)
    );
    let mut cause =
        doing.cause(rules::SMALL_READS, &sum.name, more, ns, said, "read into a larger buffer (recv_buffer)");
    cause.weight = weight.unwrap_or(cause.weight);
    Some((cause, vec![sum.name.clone()]))
}

/// What a call asks for, bytes.
fn asked_each(sum: &CallSum) -> f64 {
    sum.asked / sum.succeeded.max(f64::MIN_POSITIVE)
}

/// What is sent is a little more than the message, record by record.
pub(super) fn tls(doing: &ActiveSide<'_>) -> Option<NamedCalls> {
    let cell = doing.cell;
    if cell.transport == "tls" || cell.pattern == Pattern::Connect {
        return None;
    }
    let message = if doing.side == PeerRole::Client { cell.size } else { cell.reply } as f64;
    let records = |message: f64| (message / TLS_RECORD_BYTES).ceil().max(1.0);
    let added = (doing.kinds.get(&CallKind::Send)?.moved? - message) / records(message);
    let received = doing.kinds.get(&CallKind::Receive);
    let headers = received.map_or(0.0, |sum| sum.in_manner(CallMode::RecordHeader));
    let own = doing.ns_where(|item| item.act == Act::UserTime);
    // Who reads records in larger pieces is known by the same addition in both directions, and by the work for it.
    let other = if doing.side == PeerRole::Client { cell.reply } else { cell.size } as f64;
    let added_there =
        received.and_then(|sum| sum.moved).map_or(0.0, |moved| (moved - other) / records(other));
    let exact =
        KNOWN_RECORDS.iter().any(|known| (added - known).abs() < 0.1 && (added_there - known).abs() < 0.1);
    let seen = headers >= 0.5 || exact && own.is_some();
    (message > 0.0 && TLS_RECORD.contains(&added) && seen).then(|| {
        let reads = if headers >= 0.5 { " and reads headers of 5 B" } else { "" };
        let said = format!("sends {added:.0} B more than the message in each record{reads}, as TLS does");
        let remedy = "encrypt where others could listen; two processes of one machine need it only across users or containers";
        (doing.cause(rules::TLS, "user time", records(message), own, said, remedy), Vec::new())
    })
}
