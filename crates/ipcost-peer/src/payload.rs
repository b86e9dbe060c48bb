//! What messages carry: anything while timed, fresh bytes if they are to be touched, a known pattern while verified.

use std::hint::black_box;

use ipcost_model::{Cell, choices};

use crate::error::PeerError;

/// What to put into messages and what to expect in them.
pub trait Payload {
    /// Whether anything is checked; if so, nothing is timed.
    const CHECKED: bool;

    /// Writes message number `message` into the buffer.
    fn fill(&self, message: u64, buffer: &mut [u8]);

    /// Checks that bytes of message number `message`, from its byte `offset` on, arrived as sent.
    fn check(&self, message: u64, offset: u64, bytes: &[u8]) -> Result<(), PeerError>;

    /// As [`Payload::fill`], for a newline-terminated message, so without a newline inside.
    fn fill_line(&self, message: u64, buffer: &mut [u8]);

    /// As [`Payload::check`], for a newline-terminated message.
    fn check_line(&self, message: u64, offset: u64, bytes: &[u8]) -> Result<(), PeerError>;

    /// Checks that a newline-terminated message has all its bytes.
    fn check_length(&self, message: u64, found: u64, expected: u64) -> Result<(), PeerError>;
}

/// Timed: leaves the buffer as it is.
pub struct PlainPayload;

impl Payload for PlainPayload {
    const CHECKED: bool = false;

    #[inline]
    fn fill(&self, _message: u64, _buffer: &mut [u8]) {}

    #[inline]
    fn check(&self, _message: u64, _offset: u64, _bytes: &[u8]) -> Result<(), PeerError> {
        Ok(())
    }

    #[inline]
    fn fill_line(&self, _message: u64, _buffer: &mut [u8]) {}

    #[inline]
    fn check_line(&self, _message: u64, _offset: u64, _bytes: &[u8]) -> Result<(), PeerError> {
        Ok(())
    }

    #[inline]
    fn check_length(&self, _message: u64, _found: u64, _expected: u64) -> Result<(), PeerError> {
        Ok(())
    }
}

/// Timed, with every byte written and read (option `touch`).
pub struct Touched;

/// Whether a cell's messages are written and read as part of its operations.
pub fn touches(cell: &Cell) -> bool {
    cell.options.touch() == Some(choices::Touch::EveryByte)
}

impl Payload for Touched {
    const CHECKED: bool = false;

    #[inline]
    fn fill(&self, message: u64, buffer: &mut [u8]) {
        // Never a newline.
        black_box(buffer).fill(message as u8 | 0x80);
    }

    #[inline]
    fn check(&self, _message: u64, _offset: u64, bytes: &[u8]) -> Result<(), PeerError> {
        let (words, rest) = bytes.as_chunks::<8>();
        let sum = words.iter().fold(0_u64, |sum, word| sum ^ u64::from_ne_bytes(*word));
        black_box(rest.iter().fold(sum, |sum, byte| sum ^ u64::from(*byte)));
        Ok(())
    }

    #[inline]
    fn fill_line(&self, message: u64, buffer: &mut [u8]) {
        self.fill(message, buffer);
    }

    #[inline]
    fn check_line(&self, message: u64, offset: u64, bytes: &[u8]) -> Result<(), PeerError> {
        self.check(message, offset, bytes)
    }

    #[inline]
    fn check_length(&self, _message: u64, _found: u64, _expected: u64) -> Result<(), PeerError> {
        Ok(())
    }
}

/// Verified: byte i of message m is (m + i) mod 251. Within a line, byte 10 travels as 251, which the pattern never
/// produces.
pub struct CheckedPayload;

fn byte(message: u64, index: u64) -> u8 {
    ((message % 251 + index % 251) % 251) as u8
}

fn byte_of_line(message: u64, index: u64) -> u8 {
    match byte(message, index) {
        b'\n' => 251,
        byte => byte,
    }
}

fn fill(buffer: &mut [u8], byte: impl Fn(u64) -> u8) {
    for (index, place) in (0..).zip(buffer) {
        *place = byte(index);
    }
}

fn check(message: u64, offset: u64, bytes: &[u8], byte: impl Fn(u64) -> u8) -> Result<(), PeerError> {
    for (index, found) in (offset..).zip(bytes) {
        let expected = byte(index);
        if *found != expected {
            return Err(PeerError::Mismatch { message, index, found: *found, expected });
        }
    }
    Ok(())
}

impl Payload for CheckedPayload {
    const CHECKED: bool = true;

    fn fill(&self, message: u64, buffer: &mut [u8]) {
        fill(buffer, |index| byte(message, index));
    }

    fn check(&self, message: u64, offset: u64, bytes: &[u8]) -> Result<(), PeerError> {
        check(message, offset, bytes, |index| byte(message, index))
    }

    fn fill_line(&self, message: u64, buffer: &mut [u8]) {
        fill(buffer, |index| byte_of_line(message, index));
    }

    fn check_line(&self, message: u64, offset: u64, bytes: &[u8]) -> Result<(), PeerError> {
        check(message, offset, bytes, |index| byte_of_line(message, index))
    }

    fn check_length(&self, message: u64, found: u64, expected: u64) -> Result<(), PeerError> {
        if found == expected { Ok(()) } else { Err(PeerError::Length { message, found, expected }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_counts() {
        let payload = CheckedPayload;
        let mut buffer = [0; 600];
        payload.fill(300, &mut buffer);
        assert_eq!((buffer[0], buffer[201], buffer[202]), (49, 250, 0));
        payload.check(300, 0, &buffer).unwrap();
        payload.check(300, 400, &buffer[400..]).unwrap();
        buffer[599] ^= 1;
        assert!(matches!(payload.check(300, 0, &buffer), Err(PeerError::Mismatch { index: 599, .. })));
    }

    #[test]
    fn newlines_only_end_messages() {
        let payload = CheckedPayload;
        let mut buffer = [0; 1000];
        payload.fill_line(7, &mut buffer);
        assert!(!buffer.contains(&b'\n') && buffer.contains(&251));
        payload.check_line(7, 0, &buffer).unwrap();
    }
}
