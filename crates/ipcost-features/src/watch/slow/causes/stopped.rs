//! A thread was stopped: by a signal such as SIGSTOP, or by what traces it.

use super::{Piece, Surroundings};
use crate::watch::slow::timeline::Doing;

pub(super) fn explains(piece: &Piece<'_>, known: &Surroundings) -> Option<String> {
    (piece.stretch.doing == Doing::Stopped)
        .then(|| format!("{} was stopped, by a signal or a tracer", known.name(piece.log.thread)))
}
