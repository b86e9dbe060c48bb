//! What every claim has in common: the cells it names, and deciding it.

mod cell_name;
mod deciding;
mod hosts;
mod selector;

pub use cell_name::CellName;
pub(crate) use deciding::{Bounded, ClaimBounds, ClaimedValue, all_keep};
pub use hosts::ClaimCounts;
pub(crate) use hosts::{needed, over_hosts};
pub use selector::Selector;
