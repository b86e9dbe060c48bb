//! Buffers that are too small: between the sides, and in the hands of a reader.

use ipcost_lab::strace::Direction;
use ipcost_lab::system_calls::CallRecord;
use ipcost_lab::{layout_effect, rules};
use ipcost_model::protocol::PeerRole;
use ipcost_model::units::size_text;
use ipcost_model::{LayoutEffect, Pattern};

use super::{LEAST_SHARE, cause, count};
use crate::explain::{ExplainedCell, NamedCause};

/// A side that sleeps once in so many moves sleeps often.
const MOVES_PER_SLEEP: f64 = 8.0;
/// A buffer that holds no more messages than this is small.
const FEW_MESSAGES: f64 = 16.0;
/// Buffers of pipes are this large unless they are set, bytes, and those of sockets larger.
const USUAL_BYTES: f64 = 65_536.0;
/// Reads as full as this were too small.
const FULL: f64 = 0.9;

/// A side that fills the buffer sleeps until the other has made room.
///
/// `usual_bytes` may lie between the sides by default, where that is more.
pub(super) fn small_buffer(
    cell: &ExplainedCell,
    buffer_bytes: Option<u64>,
    usual_bytes: Option<u64>,
) -> Option<NamedCause> {
    let sending = |side: PeerRole| {
        let evidence = cell.sides.of(side);
        let calls = evidence.system_calls.as_deref()?;
        let sleeps = evidence.voluntary_switches? + failures(calls, Direction::Write, "EAGAIN");
        Some((side, moves(calls, Direction::Write), sleeps))
    };
    let (side, writes, sleeps) = match cell.pattern {
        // What a stream's server writes goes somewhere else.
        Pattern::Stream => sending(PeerRole::Client)?,
        _ => [sending(PeerRole::Client)?, sending(PeerRole::Server)?]
            .into_iter()
            .max_by(|a, b| a.2.total_cmp(&b.2))?,
    };
    let message = cell.size.max(cell.reply) as f64;
    let set = ["pipe_size", "so_sndbuf", "so_rcvbuf"].iter().any(|name| cell.options.number(name).is_some());
    let few = match buffer_bytes.map(|bytes| bytes as f64) {
        // Not even one message fits.
        Some(bytes) if bytes < message => true,
        // A few fit, and yet nearly every write waits; or someone made it smaller than it is by default.
        Some(bytes) => {
            let is_less = set && (bytes < USUAL_BYTES || usual_bytes.is_some());
            is_less || (bytes <= FEW_MESSAGES * message && sleeps >= FULL * writes.count)
        }
        None => writes.partial > LEAST_SHARE,
    };
    // In a round trip a side sleeps once since it waits for the answer.
    let expected = if cell.pattern == Pattern::Stream { 0.0 } else { 1.5 };
    let often = sleeps > expected && sleeps - expected >= writes.count / MOVES_PER_SLEEP;
    (often && few && writes.count > 0.0).then(|| {
        let size = buffer_bytes.map_or_else(String::new, |bytes| format!(" of {}", size_text(bytes)));
        let less = usual_bytes.map_or("", |_| ", less than the default,");
        let sentence = format!(
            "the buffer{size}{less} is full so often that the {side} sleeps {} times an operation of {}, with {} writes",
            count(sleeps),
            size_text(message as u64),
            count(writes.count)
        );
        let enlarge = "pipe_size for pipes and FIFOs (more than fs.pipe-max-size takes root), so_sndbuf and so_rcvbuf for sockets";
        let remedy = match usual_bytes {
            Some(_) => format!("leave it as it is by default, or enlarge it: {enlarge}"),
            None => format!("enlarge it: {enlarge}"),
        };
        let waiting = 1.0 - cell.busy.map_or(0.0, |busy| *busy.of(side));
        cause(rules::SMALL_BUFFER, cell, waiting.max(LEAST_SHARE), sentence, &remedy)
    })
}

/// Copies are slow from or to some places within a page.
pub(super) fn layout(cell: &ExplainedCell, effect: &LayoutEffect) -> NamedCause {
    let (slow, usual) = (effect.wall_ns_per_op, effect.elsewhere_ns_per_op);
    let more = effect.share * (slow - usual);
    let found = layout_effect::words(effect);
    cause(found.rule, cell, more / (usual + more), found.found, &found.remedy)
}

/// What calls of one direction move for an operation.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Moves {
    count: f64,
    bytes: f64,
    asked: f64,
    partial: f64,
}

pub(super) fn moves(calls: &[CallRecord], direction: Direction) -> Moves {
    let matching = calls.iter().filter(|call| Direction::of(&call.name) == Some(direction));
    matching.fold(Moves::default(), |sum, call| Moves {
        count: sum.count + call.count - call.failures.values().sum::<f64>(),
        bytes: sum.bytes + call.moved.unwrap_or(0.0),
        asked: sum.asked + call.asked.unwrap_or(0.0),
        partial: sum.partial + call.partial,
    })
}

pub(super) fn failures(calls: &[CallRecord], direction: Direction, error: &str) -> f64 {
    let matching = calls.iter().filter(|call| Direction::of(&call.name) == Some(direction));
    matching.filter_map(|call| call.failures.get(error)).sum()
}
