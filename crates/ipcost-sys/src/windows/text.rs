//! Conversion of text for Windows.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::windows::ffi::{OsStrExt, OsStringExt};

/// UTF-16 with a final NUL.
pub fn wide(text: impl AsRef<OsStr>) -> io::Result<Vec<u16>> {
    let mut wide: Vec<u16> = text.as_ref().encode_wide().collect();
    if wide.contains(&0) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it contains a NUL"));
    }
    wide.push(0);
    Ok(wide)
}

/// UTF-16 text up to its first NUL, or all of it.
pub fn text(wide: &[u16]) -> String {
    let end = wide.iter().position(|unit| *unit == 0).unwrap_or(wide.len());
    OsString::from_wide(&wide[..end]).to_string_lossy().into_owned()
}
