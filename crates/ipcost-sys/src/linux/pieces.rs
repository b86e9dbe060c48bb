//! Sending a message in several calls, as programs do that write a header and then a body; and what joins them again: `writev(2)`,
//! `MSG_MORE` (`send(2)`) and `TCP_CORK` (`tcp(7)`).

use std::io::{self, IoSlice};
use std::os::fd::OwnedFd;

use ipcost_model::MOST_PIECES;
use rustix::io::{retry_on_intr, writev};
use rustix::net::sockopt::set_tcp_cork;
use rustix::net::{SendFlags, send};

use crate::contract::Pieces;
use crate::system::channel::{SocketChannel, push, read, write};
use crate::transport::Channel;
use ipcost_model::choices::Join;

/// The bytes of a header, unless the pieces are equal and smaller.
const HEADER_BYTES: usize = 16;

/// Why this system does not send in pieces.
pub const LACKS: Option<&'static str> = None;

/// A socket that sends each message so.
pub fn over(SocketChannel(socket): SocketChannel, pieces: Pieces) -> io::Result<Box<dyn Channel>> {
    Ok(Box::new(InPieces { socket, pieces }))
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

struct InPieces {
    socket: OwnedFd,
    pieces: Pieces,
}

impl InPieces {
    /// A call for each.
    fn send_each(&self, bytes: &[u8]) -> io::Result<()> {
        pieces(bytes, self.pieces.count).try_for_each(|piece| write_all(&self.socket, piece))
    }

    /// One call for all of them.
    fn send_gathered(&self, bytes: &[u8]) -> io::Result<()> {
        let mut slices = [IoSlice::new(&[]); MOST_PIECES as usize];
        let filled = slices.iter_mut().zip(pieces(bytes, self.pieces.count));
        let count = filled.map(|(slice, piece)| *slice = IoSlice::new(piece)).count();
        let sent = retry_on_intr(|| writev(&self.socket, &slices[..count]))?;
        write_all(&self.socket, &bytes[sent..])
    }

    /// A call for each, and each but the last says that more comes.
    fn send_announced(&self, bytes: &[u8]) -> io::Result<()> {
        let mut end = 0;
        for mut piece in pieces(bytes, self.pieces.count) {
            end += piece.len();
            let more = if end < bytes.len() { SendFlags::MORE } else { SendFlags::empty() };
            while !piece.is_empty() {
                let flags = more | SendFlags::NOSIGNAL;
                piece = &piece[retry_on_intr(|| send(&self.socket, piece, flags))?..];
            }
        }
        Ok(())
    }
}

impl Channel for InPieces {
    fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.pieces.join {
            Join::None => self.send_each(bytes)?,
            Join::Writev => self.send_gathered(bytes)?,
            Join::More => self.send_announced(bytes)?,
            Join::Cork => {
                set_tcp_cork(&self.socket, true)?;
                self.send_each(bytes)?;
                set_tcp_cork(&self.socket, false)?;
            }
        }
        Ok(bytes.len())
    }

    #[inline]
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        read(&self.socket, buffer)
    }

    fn push(&mut self) -> io::Result<()> {
        push(&self.socket)
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
