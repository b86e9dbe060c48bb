//! Looking again and again, for whoever never sleeps.

use std::io;
use std::thread;

use crate::control;

/// Looks without a pause, as one would lengthen the time until something is seen; but gives the core away after so many looks
/// (tens of microseconds, many times what a hand-over between cores takes), so that two sides on one core get on.
pub(super) const LOOKS: u32 = 20_000;
/// How often the core is given away before asking whether anybody is left to spin for.
const TURNS: u32 = 1_000;

/// Looks until there is something.
///
/// # Errors
/// That the engine is gone; it ends a side whose other side has died.
#[inline]
pub fn spin<T>(look: impl FnMut() -> Option<T>) -> io::Result<T> {
    spin_unless(LOOKS, look, control::engine_is_gone)
}

/// The same with so many looks before the core is given away, until something says that nobody is left.
///
/// # Errors
/// That nobody is.
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

/// Looks so many times at most.
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
