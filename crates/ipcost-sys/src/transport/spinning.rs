//! Spinning, for sides that never sleep.

use std::io;
use std::thread;

use crate::control;

/// Looks without a pause, which would delay detection; but yields the core after this many looks (tens of microseconds,
/// many times a hand-over between cores), so that two sides on one core make progress.
pub(super) const LOOKS: u32 = 20_000;
/// How often to yield the core before asking whether the other side still exists.
const TURNS: u32 = 1_000;

/// Spins until `look` returns something.
///
/// # Errors
/// If the engine is gone; this ends a side whose other side has died.
#[inline]
pub fn spin<T>(look: impl FnMut() -> Option<T>) -> io::Result<T> {
    spin_unless(LOOKS, look, control::engine_is_gone)
}

/// The same with `looks` before each yield, until `abandoned` says that it is in vain.
#[inline]
pub fn spin_unless<T>(
    looks: u32,
    mut look: impl FnMut() -> Option<T>,
    abandoned: impl Fn() -> bool,
) -> io::Result<T> {
    loop {
        for _ in 0..TURNS {
            if let Some(found) = spin_for(looks, &mut look) {
                return Ok(found);
            }
            thread::yield_now();
        }
        if abandoned() {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the engine is gone"));
        }
    }
}

/// Looks at most `looks` times.
#[inline]
pub fn spin_for<T>(looks: u32, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    (0..looks).find_map(|_| look())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_spins_for_an_engine_that_is_gone() {
        let error = spin_unless(LOOKS, || None::<()>, || true).unwrap_err();
        assert_eq!(error.to_string(), "the engine is gone");
        assert_eq!(spin_unless(LOOKS, || Some(4), || true).unwrap(), 4);
    }
}
