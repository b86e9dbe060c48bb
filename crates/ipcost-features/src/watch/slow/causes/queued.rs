//! What was sent waited, since the thread that reads it, or has read it, was busy with something else.

use ipcost_sys::request_trace::call_name;

use super::{Leg, Piece, Surroundings, reads, waits_for_work};
use crate::watch::slow::timeline::Doing;

pub(super) fn explains(piece: &Piece<'_>, known: &Surroundings) -> Option<String> {
    let from_ns = piece.stretch.from_ns;
    let last = reads(piece.log).rfind(|(_, ended_ns, _)| *ended_ns <= from_ns);
    let of_other = last.map(|(_, _, on)| on).filter(|on| !known.own.contains(on));
    let end = of_other.and_then(|on| known.ends.get(&on));
    // A server may read several requests before it replies to any; what comes from a server behind it is for this one.
    if piece.leg == Leg::AtServer && end.is_none_or(|end| end.is_client) {
        return None;
    }
    let reader = known.name(piece.log.thread);
    let call = match &piece.stretch.doing {
        Doing::Runs { .. } => None,
        Doing::Waits { call: Some(call), .. } if !waits_for_work(*call) => Some(call_name(*call)),
        Doing::Waits { call: None, .. } => Some("a page fault".to_owned()),
        _ => return None,
    };
    if piece.leg == Leg::ToClient && end.is_none() {
        return Some(format!("{reader} {} before it read the reply", at_work(call)));
    }
    let other = end.map(|end| end.name.as_str());
    let at_work = at_work(call);
    Some(match other {
        Some(other) => format!("{reader} {at_work}, with what {other} had sent"),
        None if of_other.is_some() => format!("{reader} {at_work}, with what came over another connection"),
        None => format!("{reader} {at_work}, with nothing that is seen"),
    })
}

fn at_work(call: Option<String>) -> String {
    call.map_or_else(|| "was busy".to_owned(), |call| format!("was in {call}"))
}
