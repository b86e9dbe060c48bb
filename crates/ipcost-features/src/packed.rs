//! The texts that travel with the program, compressed.

use std::io::Read;
use std::sync::LazyLock;

use flate2::read::DeflateDecoder;

/// All of them, one after the other.
static ALL: LazyLock<String> = LazyLock::new(|| {
    let mut all = String::new();
    let packed: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/texts.deflate"));
    DeflateDecoder::new(packed).read_to_string(&mut all).expect("the build packed them");
    all
});

/// Where each begins and ends, by its path in this crate.
const TEXTS: &[(&str, usize, usize)] = include!(concat!(env!("OUT_DIR"), "/texts.rs"));

/// A text, by its path in this crate.
///
/// # Panics
/// If there is none: the tests read every one that is named anywhere.
pub(crate) fn text(path: &str) -> &'static str {
    let found = TEXTS.iter().find(|(known, ..)| *known == path);
    let (_, from, to) = found.unwrap_or_else(|| panic!("{path} is not packed"));
    &ALL[*from..*to]
}
