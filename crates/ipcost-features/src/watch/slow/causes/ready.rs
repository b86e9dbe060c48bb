//! A thread could run, and another one ran on its processor.

use super::{Piece, Surroundings};
use crate::watch::slow::timeline::Doing;

pub(super) fn explains(piece: &Piece<'_>, known: &Surroundings) -> Option<String> {
    let Doing::Ready { before: Some((thread, name, ran_ns)), .. } = &piece.stretch.doing else { return None };
    if *thread == 0 {
        return None;
    }
    let ready = known.name(piece.log.thread);
    // Its name is that of the moment, and its process may have ended.
    let who = known.threads.get(thread).map_or_else(|| format!("{name} ({thread})"), |_| known.name(*thread));
    Some(match ran_ns * 2 >= piece.stretch.lasts_ns() {
        true => format!("{ready} was ready while {who} ran on its processor"),
        false => format!("{ready} was ready while others ran on its processor, {who} last"),
    })
}
