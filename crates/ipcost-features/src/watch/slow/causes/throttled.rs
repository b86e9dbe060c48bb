//! A thread could run and nothing else did on its processor, while its control group had used up its processor time.

use super::{Piece, Surroundings};
use crate::watch::slow::timeline::Doing;

pub(super) fn explains(piece: &Piece<'_>, known: &Surroundings) -> Option<String> {
    let Doing::Ready { before, .. } = &piece.stretch.doing else { return None };
    let ran_ns = before.as_ref().filter(|(thread, ..)| *thread != 0).map_or(0, |(_, _, ran_ns)| *ran_ns);
    // Who runs last may have come just then.
    let is_alone = ran_ns * 2 < piece.stretch.lasts_ns();
    (is_alone && known.throttled.contains(&piece.log.process)).then(|| {
        format!(
            "{} was throttled: its control group had used up its processor time",
            known.name(piece.log.thread)
        )
    })
}
