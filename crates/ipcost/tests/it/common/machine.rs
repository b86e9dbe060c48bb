//! Whom a test shares the machine with.
//!
//! Tests that look at what is printed, written or left behind run side by side. A test that loads the machine, or
//! that looks at how the machine behaved meanwhile, runs alone.

use std::cell::RefCell;
use std::rc::{Rc, Weak};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

static MACHINE: RwLock<()> = RwLock::new(());

thread_local! {
    /// What this thread has already, so that one test may ask several times.
    static OWN: RefCell<Weak<Turn>> = const { RefCell::new(Weak::new()) };
}

/// The machine, until it is dropped.
#[allow(dead_code, reason = "held, never read")]
pub enum Turn {
    Shared(RwLockReadGuard<'static, ()>),
    Exclusive(RwLockWriteGuard<'static, ()>),
}

/// The machine together with other tests; what the thread has already, where it has it.
pub fn shared() -> Rc<Turn> {
    own().unwrap_or_else(|| keep(Turn::Shared(MACHINE.read().unwrap_or_else(PoisonError::into_inner))))
}

/// The machine without any other test of this program; to be asked for before anything else.
pub fn alone() -> Rc<Turn> {
    assert!(own().is_none(), "a test is alone from its beginning");
    keep(Turn::Exclusive(MACHINE.write().unwrap_or_else(PoisonError::into_inner)))
}

fn own() -> Option<Rc<Turn>> {
    OWN.with_borrow(Weak::upgrade)
}

fn keep(turn: Turn) -> Rc<Turn> {
    let turn = Rc::new(turn);
    OWN.set(Rc::downgrade(&turn));
    turn
}
