//! The texts that travel with the program, by their path in this crate.

const TEXTS: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/texts.rs"));

/// # Panics
/// If there is none: the tests read every one that is named anywhere.
pub(crate) fn text(path: &str) -> &'static str {
    let found = TEXTS.iter().find(|(known, _)| *known == path);
    found.unwrap_or_else(|| panic!("{path} does not travel along")).1
}
