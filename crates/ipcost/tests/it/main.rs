//! The program as a user runs it.
//!
//! One program for all of these tests, so that it is linked once. Each file is about one command or one property.

mod ab;
mod app;
mod app_tools;
mod bad_input;
mod benchstat;
mod browser;
mod check;
mod cleanup;
mod common;
mod compare;
mod conformance;
mod connections;
mod doctor;
mod explain;
mod faults_killed;
mod faults_peers;
mod faults_system;
mod floor;
mod floor_calls;
mod help;
mod history;
mod html;
mod load;
mod measure;
mod misbehaving;
mod network;
mod packages;
mod peers;
mod pictures;
mod replicate;
mod replicate_figures;
mod resume;
mod sanitizers;
mod schema;
mod security;
mod selftest;
mod shell;
mod sweep;
mod tables;
mod trend;
mod version;
mod windows;
mod windows_peers;
mod wine;
