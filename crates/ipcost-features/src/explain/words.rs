//! An explanation on a terminal.

use super::{Explanation, page};

/// All of it in at most `room` columns.
pub fn render(explanation: &Explanation, room: usize) -> String {
    page(explanation).terminal(true, room)
}
