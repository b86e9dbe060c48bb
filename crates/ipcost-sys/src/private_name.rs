//! Names of private directories, by which one that was left behind is known.

use std::hash::{BuildHasher, Hasher, RandomState};

/// How names of these directories begin; twelve hexadecimal digits follow.
const PREFIX: &str = "ipcost-";
const DIGITS: usize = 12;

/// A name that no other directory is likely to have.
pub fn fresh_name() -> String {
    // Its keys are random, and differ from one to the next.
    let random = RandomState::new().build_hasher().finish();
    format!("{PREFIX}{:0DIGITS$x}", random >> (u64::BITS as usize - 4 * DIGITS))
}

/// Whether a name is one of these directories'.
pub fn is_private_name(name: &str) -> bool {
    let digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    name.strip_prefix(PREFIX).is_some_and(|rest| rest.len() == DIGITS && rest.bytes().all(digit))
}
