//! Lines from bytes that arrive in pieces: what either side of the control protocol hears.

use ipcost_model::protocol::MAX_LINE_BYTES;

/// Bytes received so far: incomplete lines, or lines not yet taken.
///
/// It keeps all it is given: callers stop at [`LineError`], and so keep little more than one line.
#[derive(Debug, Default)]
pub struct Lines {
    bytes: Vec<u8>,
    /// Where the first untaken line begins.
    begin: usize,
    /// No newline before this position.
    scanned: usize,
}

/// The capacity kept while nothing is waiting, bytes.
const KEPT_BYTES: usize = 4096;

/// A line is longer than [`MAX_LINE_BYTES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a line of more than {MAX_LINE_BYTES} bytes")]
pub struct LineError;

impl Lines {
    /// Adds received bytes.
    pub fn add(&mut self, bytes: &[u8]) {
        // Drop taken lines first, so that the buffer does not grow with what has passed through.
        self.bytes.drain(..self.begin);
        self.scanned -= self.begin;
        self.begin = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// Takes the next whole line, without its newline; `None` where there is none yet.
    ///
    /// # Errors
    /// If a line is too long, whether it has ended or not.
    pub fn take(&mut self) -> Result<Option<Vec<u8>>, LineError> {
        let newline = self.bytes[self.scanned..].iter().position(|byte| *byte == b'\n');
        let end = newline.map_or(self.bytes.len(), |offset| self.scanned + offset);
        if end - self.begin > MAX_LINE_BYTES {
            return Err(LineError);
        }
        if newline.is_none() {
            self.scanned = end;
            return Ok(None);
        }
        let line = self.bytes[self.begin..end].to_vec();
        self.begin = end + 1;
        self.scanned = self.begin;
        if self.waiting() == 0 && self.bytes.capacity() > KEPT_BYTES {
            // There may be thousands of peers, each of which once reported ten thousand latencies.
            *self = Self::default();
        }
        Ok(Some(line))
    }

    /// How many bytes are waiting.
    pub fn waiting(&self) -> usize {
        self.bytes.len() - self.begin
    }

    /// Whether a whole line is waiting.
    pub fn has_line(&self) -> bool {
        self.bytes[self.scanned..].contains(&b'\n')
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_line_is_as_long_as_the_protocol_allows_and_no_longer() {
        let mut lines = Lines::default();
        lines.add(&vec![b'x'; MAX_LINE_BYTES]);
        assert_eq!(lines.take(), Ok(None));
        lines.add(b"\n");
        assert_eq!(lines.take().unwrap().unwrap().len(), MAX_LINE_BYTES);
        lines.add(&vec![b'x'; MAX_LINE_BYTES + 1]);
        assert_eq!(lines.take(), Err(LineError));
        lines.add(b"\n");
        assert_eq!(lines.take(), Err(LineError), "also once it has ended");
    }

    #[test]
    fn what_was_taken_is_not_kept() {
        let mut lines = Lines::default();
        for _ in 0..1000 {
            lines.add(&[b'\n'; 1000]);
            while lines.take().unwrap().is_some() {}
        }
        assert!(lines.bytes.capacity() < 10_000, "{}", lines.bytes.capacity());
    }

    #[test]
    fn room_for_a_long_line_is_given_back() {
        let mut lines = Lines::default();
        lines.add(&[vec![b'x'; 1 << 20], b"\n".to_vec()].concat());
        assert!(lines.take().unwrap().is_some());
        assert_eq!((lines.bytes.capacity(), lines.take()), (0, Ok(None)));
    }

    proptest! {
        #[test]
        fn pieces_make_the_same_lines(text in "[ab\n]{0,60}", pieces in proptest::collection::vec(1_usize..9, 1..9)) {
            let (mut lines, mut taken, mut rest) = (Lines::default(), Vec::new(), text.as_bytes());
            for size in pieces.iter().cycle() {
                let (piece, left) = rest.split_at((*size).min(rest.len()));
                lines.add(piece);
                prop_assert_eq!(lines.has_line(), lines.bytes[lines.begin..].contains(&b'\n'));
                while let Some(line) = lines.take().unwrap() {
                    taken.push(String::from_utf8(line).unwrap());
                }
                rest = left;
                if rest.is_empty() {
                    break;
                }
            }
            let mut whole: Vec<String> = text.split('\n').map(str::to_owned).collect();
            let unfinished = whole.pop().unwrap();
            prop_assert_eq!(taken, whole);
            prop_assert_eq!(lines.waiting(), unfinished.len());
        }
    }
}
