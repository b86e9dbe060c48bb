//! The server waited in a call before it replied: for a disk, a lock, a page, a time, or another conversation.

use ipcost_sys::request_trace::call_name;

use super::{Leg, Piece, Surroundings, is_for_input, reads};
use crate::watch::slow::timeline::Doing;

pub(super) fn explains(piece: &Piece<'_>, known: &Surroundings) -> Option<String> {
    let (call, waker) = match &piece.stretch.doing {
        Doing::Waits { call, waker, .. } => (*call, *waker),
        // A disk's call also copies, and so on.
        Doing::Runs { call: Some(call), waits: true } if !is_for_input(&call_name(*call)) => {
            (Some(*call), None)
        }
        _ => return None,
    };
    if piece.leg != Leg::AtServer {
        return None;
    }
    let who = known.name(piece.log.thread);
    let Some(call) = call.map(call_name) else { return Some(format!("{who} waited for a page of memory")) };
    let to_ns = piece.stretch.to_ns;
    if is_for_input(&call) {
        // What it reads next tells what it waited for.
        let next = reads(piece.log).find(|(_, ended_ns, _)| *ended_ns >= to_ns);
        if next.is_some_and(|(_, ended_ns, on)| known.own.contains(&on) && ended_ns <= piece.until_ns) {
            return Some(format!("{who} waited for more of the request"));
        }
        let other = next.and_then(|(_, _, on)| known.ends.get(&on).filter(|_| !known.own.contains(&on)));
        if let Some(other) = other.filter(|other| other.is_client) {
            return Some(format!("{who} waited for {}", other.name));
        }
    }
    let is_related = |waker: &u32| {
        let own = known.threads.get(&piece.log.thread);
        let process = known.process(*waker);
        // An interrupt may wake a thread while any other one runs: only who has to do with it is believed.
        process == Some(piece.log.process)
            || ["flock", "fcntl", "semop", "semtimedop", "wait4", "waitid"].contains(&call.as_str())
            || own.zip(known.threads.get(waker)).is_some_and(|((_, own), (_, name))| own == name)
    };
    let woken = waker.filter(is_related).filter(|waker| *waker != piece.log.thread);
    Some(match woken {
        Some(waker) if known.process(waker) == Some(piece.log.process) => {
            format!("{who} was in {call}, until another of its threads woke it")
        }
        Some(waker) => format!("{who} was in {call}, until {} woke it", known.name(waker)),
        None => format!("{who} was in {call}"),
    })
}
