//! The engine on a scripted bench: campaigns, claims, floors, diagnostics, and its memory.
//!
//! One program for all of them, so that it is linked once.

mod campaign;
mod diagnostics;
mod floor;
mod many_cells;
mod memory;
mod own_process;
mod resume;
mod script;
mod suspended;
