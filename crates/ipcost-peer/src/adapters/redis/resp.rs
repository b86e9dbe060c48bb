//! Redis's protocol, outside the loops: <https://redis.io/docs/latest/develop/reference/protocol-spec/>, version 2.

use std::io::{self, BufRead, Read};

/// The longest line that is read, bytes.
const LONGEST_LINE: u64 = 16_384;
/// The longest text that is read, bytes; expected replies take some kilobytes.
const LONGEST_TEXT: i64 = 1 << 24;
/// How deeply lists may be nested.
const DEEPEST: usize = 8;
/// The most values of a list; expected replies have none.
const MOST_VALUES: i64 = 1000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    Simple(String),
    /// The reason for a refusal.
    Error(String),
    Number(i64),
    /// A text; `None` if nil.
    Text(Option<String>),
    /// A list, read and dropped.
    List,
}

/// Encodes a command and its arguments for a server.
pub fn command(words: &[&str]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", words.len());
    for word in words {
        bytes.push_str(&format!("${}\r\n{word}\r\n", word.len()));
    }
    bytes.into_bytes()
}

pub fn read_reply(input: &mut impl BufRead) -> io::Result<Reply> {
    read(input, 0)
}

fn read(input: &mut impl BufRead, depth: usize) -> io::Result<Reply> {
    let line = read_line(input)?;
    let (kind, text) = line.split_at_checked(1).ok_or(io::ErrorKind::InvalidData)?;
    let number = || text.parse::<i64>().map_err(|_| io::Error::from(io::ErrorKind::InvalidData));
    match kind {
        "+" => Ok(Reply::Simple(text.to_owned())),
        "-" => Ok(Reply::Error(text.to_owned())),
        ":" => number().map(Reply::Number),
        "$" => match number()? {
            length if length < 0 => Ok(Reply::Text(None)),
            length if length > LONGEST_TEXT => Err(io::ErrorKind::InvalidData.into()),
            length => {
                let mut bytes = Vec::new();
                let wanted = length.unsigned_abs() + 2;
                if input.take(wanted).read_to_end(&mut bytes)? as u64 != wanted {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                bytes.truncate(bytes.len() - 2);
                Ok(Reply::Text(Some(String::from_utf8_lossy(&bytes).into_owned())))
            }
        },
        "*" if depth < DEEPEST => {
            let count = number()?;
            if count > MOST_VALUES {
                return Err(io::ErrorKind::InvalidData.into());
            }
            for _ in 0..count {
                read(input, depth + 1)?;
            }
            Ok(Reply::List)
        }
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

/// A line without CR and LF.
fn read_line(input: &mut impl BufRead) -> io::Result<String> {
    let mut line = Vec::new();
    input.take(LONGEST_LINE).read_until(b'\n', &mut line)?;
    match line.strip_suffix(b"\r\n") {
        Some(line) => Ok(String::from_utf8_lossy(line).into_owned()),
        None if line.last() == Some(&b'\n') || line.len() as u64 == LONGEST_LINE => {
            Err(io::ErrorKind::InvalidData.into())
        }
        None => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(mut bytes: &[u8]) -> Result<Reply, io::ErrorKind> {
        read_reply(&mut bytes).map_err(|error| error.kind())
    }

    #[test]
    fn every_kind_of_reply() {
        assert_eq!(reply(b"+PONG\r\n"), Ok(Reply::Simple("PONG".to_owned())));
        assert_eq!(reply(b"-ERR no\r\n"), Ok(Reply::Error("ERR no".to_owned())));
        assert_eq!(reply(b":-7\r\n"), Ok(Reply::Number(-7)));
        assert_eq!(reply(b"$4\r\na\r\nb\r\n"), Ok(Reply::Text(Some("a\r\nb".to_owned()))));
        assert_eq!(reply(b"$-1\r\n"), Ok(Reply::Text(None)));
        assert_eq!(reply(b"*2\r\n:1\r\n*1\r\n$1\r\nx\r\n"), Ok(Reply::List));
    }

    #[test]
    fn what_is_none_is_told_from_what_ends_too_early() {
        for bytes in [&b"+PONG"[..], b"", b"$4\r\nab", b"*2\r\n:1\r\n"] {
            assert_eq!(reply(bytes), Err(io::ErrorKind::UnexpectedEof), "{bytes:?}");
        }
        let deep = b"*1\r\n".repeat(DEEPEST + 1);
        for bytes in [
            &b"HTTP/1.1 400\r\n"[..],
            b"*9223372036854775807\r\n",
            b":x\r\n",
            b"\r\n",
            b"+PONG\n",
            b"$99999999\r\n",
            &deep,
        ] {
            assert_eq!(reply(bytes), Err(io::ErrorKind::InvalidData), "{bytes:?}");
        }
    }
}
