//! The server ran all the time, for longer than a request usually takes.

use ipcost_sys::request_trace::call_name;

use super::{Leg, Piece, Surroundings, only_waits};
use crate::watch::slow::timeline::Doing;

pub(super) fn explains(piece: &Piece<'_>, known: &Surroundings) -> Option<String> {
    let Doing::Runs { call, .. } = &piece.stretch.doing else { return None };
    let only_waits = call.is_some_and(only_waits);
    (piece.leg == Leg::AtServer && !only_waits).then(|| {
        let who = known.name(piece.log.thread);
        match call {
            Some(call) => format!("{who} ran within {}", call_name(*call)),
            None => format!("{who} computed"),
        }
    })
}
