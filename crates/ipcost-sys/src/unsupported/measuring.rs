//! Other processes of this program that measure: this system does not show them.

pub use crate::contract::Neighbour;

/// Does nothing.
pub fn mark() {}

/// Does nothing.
pub fn mark_as_waiting() {}

/// Does nothing here.
pub fn unmark() {}

/// None are known.
pub fn others() -> Vec<Neighbour> {
    Vec::new()
}

/// None are known.
pub fn ahead() -> Vec<Neighbour> {
    Vec::new()
}

/// They are not.
pub fn is_known() -> bool {
    false
}

/// The name of the user, if the environment has it.
pub fn own_user() -> String {
    ["USER", "USERNAME"].iter().find_map(|name| std::env::var(name).ok()).unwrap_or_default()
}
