//! What a run says of a project's claims, on a terminal.

use super::{View, page};

/// Draws what was decided in `room` columns of text.
pub fn render(check: &View<'_>, room: usize) -> String {
    page(check).terminal(false, room)
}
