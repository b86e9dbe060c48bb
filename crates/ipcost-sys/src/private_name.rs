//! Names of private directories, which identify one left behind.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::{Path, PathBuf};

use crate::host;

/// Prefix of these names; eight hexadecimal digits for the machine follow, then eight random ones.
const PREFIX: &str = "ipcost-";
const RANDOM_DIGITS: usize = 8;
const DIGITS: usize = host::TAG_DIGITS + RANDOM_DIGITS;

/// A name that is almost certainly unique.
pub fn fresh_name() -> String {
    // Its keys are random and differ each time.
    let random = RandomState::new().build_hasher().finish();
    format!("{PREFIX}{}{:0RANDOM_DIGITS$x}", host::tag(), random >> (u64::BITS as usize - 4 * RANDOM_DIGITS))
}

#[cfg(unix)]
/// Whether a name has this form and was made on this machine: on a shared file system, others are of other machines, whose locks
/// may not show here.
pub fn is_of_this_machine(name: &str) -> bool {
    is_private_name(name) && name[PREFIX.len()..].starts_with(host::tag())
}

/// Whether a name has this form.
pub fn is_private_name(name: &str) -> bool {
    let digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    name.strip_prefix(PREFIX).is_some_and(|rest| rest.len() == DIGITS && rest.bytes().all(digit))
}

/// How the names of files that are being written begin.
pub const UNFINISHED: &str = ".ipcost-";

/// The name of a file that is being written: hidden, and almost certainly unique.
#[cfg(unix)]
pub fn unfinished_name() -> String {
    format!(".{}", fresh_name())
}

/// Where a file is written before it gets its name.
pub fn part_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".part");
    name.into()
}
