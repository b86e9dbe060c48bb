//! Renderings of the document, one output a file. Everything is drawn from the document; nothing is measured
//! or judged here.

#[cfg(test)]
mod absurd;
pub mod benchfmt;
pub mod csv;
mod epochs;
mod figures;
#[cfg(any(test, feature = "fixtures"))]
pub mod fixture;
pub mod formats;
mod grid;
pub mod html;
pub mod json;
pub mod markdown;
pub mod numbers;
pub mod otava;
pub mod over_pace;
pub mod page;
pub mod picture;
pub mod plan;
pub mod rerun;
mod rows;
pub mod run_id;
pub mod run_page;
pub mod summary;
pub mod words;
pub mod wrap;
pub mod xml;

pub use figures::{claims, colours, forest, lanes, lines, saving, timeline};
