//! Names of private directories, which identify one left behind.

use std::hash::{BuildHasher, Hasher, RandomState};

/// Prefix of these names; twelve hexadecimal digits follow.
const PREFIX: &str = "ipcost-";
const DIGITS: usize = 12;

/// A name that is almost certainly unique.
pub fn fresh_name() -> String {
    // Its keys are random and differ each time.
    let random = RandomState::new().build_hasher().finish();
    format!("{PREFIX}{:0DIGITS$x}", random >> (u64::BITS as usize - 4 * DIGITS))
}

/// Whether a name has this form.
pub fn is_private_name(name: &str) -> bool {
    let digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    name.strip_prefix(PREFIX).is_some_and(|rest| rest.len() == DIGITS && rest.bytes().all(digit))
}
