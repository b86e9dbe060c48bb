//! Sending a message in several calls, as programs do that write a header and then a body; and what joins them again: `writev(2)`,
//! `MSG_MORE` (`send(2)`) and `TCP_CORK` (`tcp(7)`).

use std::io::{self, IoSlice};
use std::os::fd::OwnedFd;

use rustix::io::{retry_on_intr, writev};
use rustix::net::sockopt::set_tcp_cork;
use rustix::net::{SendFlags, send};

use crate::contract::Pieces;
use crate::system::channel::{Socket, read, write};
use crate::transport::Channel;

/// The bytes of a header, unless the pieces are equal and smaller.
const HEADER_BYTES: usize = 16;

/// Whether this system sends in pieces.
///
/// # Errors
/// Never on Linux.
pub fn probe() -> Result<(), String> {
    Ok(())
}

/// A socket that sends each message so.
///
/// # Errors
/// Never on Linux.
pub fn over(Socket(socket): Socket, pieces: Pieces) -> io::Result<Box<dyn Channel>> {
    Ok(match pieces {
        Pieces::Apart(count) => Box::new(Apart { socket, count }),
        Pieces::Writev(count) => Box::new(Gathered { socket, count }),
        Pieces::More(count) => Box::new(Announced { socket, count }),
        Pieces::Cork(count) => Box::new(Corked { socket, count }),
    })
}

/// The pieces of a message: headers, then the rest.
fn pieces(bytes: &[u8], count: usize) -> impl Iterator<Item = &[u8]> {
    let header = HEADER_BYTES.min(bytes.len() / count).max(1);
    let headers = (header * (count - 1)).min(bytes.len().saturating_sub(1));
    let (headers, body) = bytes.split_at(headers);
    headers.chunks(header).chain(std::iter::once(body))
}

fn write_all(socket: &OwnedFd, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        bytes = &bytes[write(socket, bytes)?..];
    }
    Ok(())
}

/// A call for each piece.
struct Apart {
    socket: OwnedFd,
    count: usize,
}

impl Channel for Apart {
    fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        pieces(bytes, self.count).try_for_each(|piece| write_all(&self.socket, piece))?;
        Ok(bytes.len())
    }

    #[inline]
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        read(&self.socket, buffer)
    }
}

/// One call for all of them.
struct Gathered {
    socket: OwnedFd,
    count: usize,
}

impl Channel for Gathered {
    fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let slices: Vec<IoSlice<'_>> = pieces(bytes, self.count).map(IoSlice::new).collect();
        let sent = retry_on_intr(|| writev(&self.socket, &slices))?;
        write_all(&self.socket, &bytes[sent..])?;
        Ok(bytes.len())
    }

    #[inline]
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        read(&self.socket, buffer)
    }
}

/// A call for each, and each but the last says that more comes.
struct Announced {
    socket: OwnedFd,
    count: usize,
}

impl Channel for Announced {
    fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut end = 0;
        for piece in pieces(bytes, self.count) {
            end += piece.len();
            let more = if end < bytes.len() { SendFlags::MORE } else { SendFlags::empty() };
            let mut piece = piece;
            while !piece.is_empty() {
                let flags = more | SendFlags::NOSIGNAL;
                piece = &piece[retry_on_intr(|| send(&self.socket, piece, flags))?..];
            }
        }
        Ok(bytes.len())
    }

    #[inline]
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        read(&self.socket, buffer)
    }
}

/// A call for each between corking and uncorking, which takes two more.
struct Corked {
    socket: OwnedFd,
    count: usize,
}

impl Channel for Corked {
    fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        set_tcp_cork(&self.socket, true)?;
        pieces(bytes, self.count).try_for_each(|piece| write_all(&self.socket, piece))?;
        set_tcp_cork(&self.socket, false)?;
        Ok(bytes.len())
    }

    #[inline]
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        read(&self.socket, buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_headers_and_a_body_and_whole_again() {
        let message: Vec<u8> = (0..200).collect();
        let lengths = |bytes: usize, count: usize| {
            let pieces: Vec<&[u8]> = pieces(&message[..bytes], count).collect();
            assert_eq!(pieces.concat(), &message[..bytes]);
            pieces.iter().map(|piece| piece.len()).collect::<Vec<_>>()
        };
        assert_eq!(lengths(200, 2), [16, 184]);
        assert_eq!(lengths(200, 3), [16, 16, 168]);
        assert_eq!(lengths(8, 2), [4, 4]);
        assert_eq!(lengths(3, 5), [1, 1, 1]);
        assert_eq!(lengths(1, 2), [1]);
    }
}
