//! Bytes as they come, given back line by line.

use ipcost_model::protocol::MAX_LINE_BYTES;

/// Bytes that were read and not yet given back.
#[derive(Debug, Default)]
pub struct Lines {
    bytes: Vec<u8>,
    /// How many of them hold no newline.
    scanned: usize,
}

impl Lines {
    /// Adds what was read.
    pub fn add(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The next whole line, without its newline.
    pub fn next(&mut self) -> Option<Vec<u8>> {
        let Some(end) = self.bytes[self.scanned..].iter().position(|byte| *byte == b'\n') else {
            self.scanned = self.bytes.len();
            return None;
        };
        let end = self.scanned + end;
        let line = self.bytes[..end].to_vec();
        self.bytes.drain(..=end);
        self.scanned = 0;
        Some(line)
    }

    /// Whether a whole line is there.
    pub fn has_line(&self) -> bool {
        self.bytes[self.scanned..].contains(&b'\n')
    }

    /// Whether what is there is no line yet, and longer than the protocol allows a line to be.
    pub fn is_too_long(&self) -> bool {
        self.bytes.len() > MAX_LINE_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_whole_however_their_bytes_came() {
        let mut lines = Lines::default();
        lines.add(b"on");
        assert_eq!((lines.next(), lines.has_line()), (None, false));
        lines.add(b"e\ntwo\n\nthr");
        assert!(lines.has_line());
        for line in ["one", "two", ""] {
            assert_eq!(lines.next().unwrap(), line.as_bytes());
        }
        assert_eq!((lines.next(), lines.has_line(), lines.is_too_long()), (None, false, false));
        lines.add(&vec![b'x'; MAX_LINE_BYTES]);
        assert!(lines.is_too_long() && lines.next().is_none());
    }
}
