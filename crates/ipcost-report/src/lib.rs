//! Renderings of the document, one output a file. Everything is drawn from the document; nothing is measured
//! or judged here.

pub mod comparison;
pub mod explanation;
mod explanation_tables;
mod explanation_words;
#[cfg(test)]
mod fixture;
mod grid;
pub mod json;
pub mod numbers;
pub mod plan;
pub mod published;
pub mod replication;
pub mod selftest;
pub mod terminal;
pub mod words;
