//! What messages carry: anything while timed, a known pattern while verified.

use crate::error::PeerError;

/// What to put into messages and what to expect of them.
pub trait Payload {
    /// Writes message number `message` into the buffer.
    fn fill(&self, message: u64, buffer: &mut [u8]);

    /// Checks that bytes of message number `message`, from its byte `offset` on, are as they were sent.
    ///
    /// # Errors
    /// The first byte that is not.
    fn check(&self, message: u64, offset: u64, bytes: &[u8]) -> Result<(), PeerError>;
}

/// Timed: whatever the buffer holds.
pub struct Plain;

impl Payload for Plain {
    #[inline]
    fn fill(&self, _message: u64, _buffer: &mut [u8]) {}

    #[inline]
    fn check(&self, _message: u64, _offset: u64, _bytes: &[u8]) -> Result<(), PeerError> {
        Ok(())
    }
}

/// Verified: byte i of message m is (m + i) mod 251.
pub struct Checked {
    /// Whether a newline ends messages; within them, byte 10 then travels as 251, which the pattern never has.
    pub newline_ends: bool,
}

impl Checked {
    fn byte(&self, message: u64, index: u64) -> u8 {
        let byte = ((message % 251 + index % 251) % 251) as u8;
        if self.newline_ends && byte == b'\n' { 251 } else { byte }
    }
}

impl Payload for Checked {
    fn fill(&self, message: u64, buffer: &mut [u8]) {
        for (index, byte) in (0..).zip(buffer) {
            *byte = self.byte(message, index);
        }
    }

    fn check(&self, message: u64, offset: u64, bytes: &[u8]) -> Result<(), PeerError> {
        for (index, found) in (offset..).zip(bytes) {
            let expected = self.byte(message, index);
            if *found != expected {
                return Err(PeerError::Mismatch { message, index, found: *found, expected });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_counts() {
        let payload = Checked { newline_ends: false };
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
        let payload = Checked { newline_ends: true };
        let mut buffer = [0; 1000];
        payload.fill(7, &mut buffer);
        assert!(!buffer.contains(&b'\n') && buffer.contains(&251));
        payload.check(7, 0, &buffer).unwrap();
    }
}
