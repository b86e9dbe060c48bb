//! Renderings of the document, one output a file. Everything is drawn from the document; nothing is measured
//! or judged here.

pub mod check;
mod claim_words;
pub mod comparison;
pub mod doctor;
pub mod explanation;
mod explanation_tables;
mod explanation_words;
#[cfg(test)]
mod fixture;
pub mod github;
mod grid;
pub mod history;
pub mod html;
pub mod json;
pub mod junit;
pub mod numbers;
pub mod picture;
pub mod plan;
pub mod published;
pub mod replication;
pub mod rerun;
mod rows;
pub mod selftest;
pub mod sweep;
pub mod terminal;
pub mod words;
