//! The key of the counter, and requests of a given size.

use std::hash::{BuildHasher, RandomState};
use std::iter;

use super::control::ControlConnection;
use super::resp::{Reply, command};
use crate::PeerError;
use crate::adapters::refused;

/// The prefix of every key.
const PREFIX: &str = "ipcost:";
const LEAST_DIGITS: usize = 4;
const MOST_DIGITS: usize = 16;
/// Redis's limit (`proto-max-bulk-len`).
const LARGEST: usize = 512 << 20;
const ATTEMPTS: usize = 8;
/// The counter's first value, so that every reply has the same length.
const FIRST_VALUE: &str = "1000000000";
/// The reply to `INCR`: a colon, ten digits, CR and LF.
pub const REPLY_BYTES: usize = 13;

/// A key: a name, padded so that a request has its size.
#[derive(Debug, Clone)]
pub struct RedisKey {
    pub name: String,
    pub padded: String,
}

/// The size of an `INCR` of a key of this length, bytes.
fn request_bytes(key: usize) -> usize {
    "*2\r\n$4\r\nINCR\r\n$\r\n\r\n".len() + key.to_string().len() + key
}

/// The key's length in a request of this size.
pub fn length(request: usize) -> Result<usize, PeerError> {
    let (least, most) = (request_bytes(PREFIX.len() + LEAST_DIGITS), request_bytes(LARGEST));
    if request < least {
        return Err(refused(format!(
            "an INCR of {request} bytes leaves no room for a key of its own; give --sizes {least} or more"
        )));
    }
    if request > most {
        return Err(refused(format!(
            "an INCR of {request} bytes has a key larger than redis takes; give --sizes {most} or less"
        )));
    }
    // The longest key that fits. Its length's digits are part of the request, so some sizes are impossible.
    let longest = request - request_bytes(0);
    let length = (0..=longest).rev().find(|key| request_bytes(*key) <= request).unwrap_or_default();
    if request_bytes(length) != request {
        let (below, above) = (request_bytes(length), request_bytes(length + 1));
        return Err(refused(format!(
            "no INCR has {request} bytes, since it tells its key's length in digits; give --sizes {below} or {above}"
        )));
    }
    Ok(length)
}

impl RedisKey {
    /// The key with a name from a server's address.
    pub fn named(name: &str, request: usize) -> Result<Self, PeerError> {
        let length = length(request)?;
        if !name.starts_with(PREFIX) || name.len() > length {
            return Err(PeerError::Protocol(format!("\"{name}\" is not a key of this peer")));
        }
        let padding = iter::repeat_n('x', length - name.len());
        Ok(Self { name: name.to_owned(), padded: name.chars().chain(padding).collect() })
    }

    /// Makes a key on a server. Never touches another's key: skips names that are taken.
    pub fn make(control: &mut ControlConnection, request: usize) -> Result<Self, PeerError> {
        let digits = (length(request)? - PREFIX.len()).min(MOST_DIGITS);
        for attempt in 0..ATTEMPTS {
            let random = format!("{:016x}", RandomState::new().hash_one(attempt));
            let key = Self::named(&format!("{PREFIX}{}", &random[..digits]), request)?;
            if control.ask_number(&["EXISTS", &key.padded])? != 0 {
                continue;
            }
            match control.ask(&["SET", &key.padded, FIRST_VALUE, "NX"])? {
                Reply::Simple(_) => return Ok(key),
                // Another client has made it in between.
                _ => continue,
            }
        }
        Err(refused(format!(
            "the redis server at {} has keys of all names that were tried; give larger --sizes",
            control.server
        )))
    }

    /// The request that increments it.
    pub fn request(&self) -> Vec<u8> {
        command(&["INCR", &self.padded])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_have_the_size_that_is_asked_for_or_say_which_do() {
        for size in [32, 64, 120, 122, 1_000, 16_384] {
            let key = RedisKey::named("ipcost:ab12", size).unwrap();
            assert_eq!(key.request().len(), size);
        }
        for (size, part) in [(20, "32 or more"), (121, "120 or 122"), (1 << 30, "or less")] {
            let message = length(size).unwrap_err().to_string();
            assert!(message.contains(part), "{size}: {message}");
        }
        assert!(RedisKey::named("somebody's", 64).is_err());
    }
}
