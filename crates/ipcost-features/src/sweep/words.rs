//! Sweeps on a terminal.

use super::{CoreSweep, LayoutSweep, SizeSweep, WorkSweep};
use super::{page_of_cores, page_of_layout, page_of_sizes, page_of_work};

/// Draws a sweep over sizes in `room` columns of text.
pub fn render(sweep: &SizeSweep, room: usize) -> String {
    page_of_sizes(sweep).terminal(true, room)
}

pub(crate) fn matrix(sweep: &CoreSweep, room: usize) -> String {
    page_of_cores(sweep).terminal(true, room)
}

pub(crate) fn layout_table(sweep: &LayoutSweep, room: usize) -> String {
    page_of_layout(sweep).terminal(true, room)
}

pub(crate) fn work_table(sweep: &WorkSweep, room: usize) -> String {
    page_of_work(sweep).terminal(true, room)
}
