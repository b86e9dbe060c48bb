//! Moving whole messages over channels that may move only part of them.

use std::io;

use ipcost_sys::transport::Channel;

use crate::error::ended;

/// Sends all the bytes.
#[inline]
pub fn send_all(channel: &mut impl Channel, bytes: &[u8]) -> io::Result<()> {
    let mut sent = channel.send(bytes)?;
    while sent < bytes.len() {
        sent += channel.send(&bytes[sent..])?;
    }
    Ok(())
}

/// Fills the whole buffer.
#[inline]
pub fn receive_all(channel: &mut impl Channel, buffer: &mut [u8]) -> io::Result<()> {
    let mut received = 0;
    loop {
        match channel.receive(&mut buffer[received..])? {
            0 => return Err(ended()),
            count => received += count,
        }
        if received == buffer.len() {
            return Ok(());
        }
    }
}

/// Waits for the other side to close.
#[inline]
pub fn receive_end(channel: &mut dyn Channel) -> io::Result<()> {
    match channel.receive(&mut [0])? {
        0 => Ok(()),
        _ => Err(io::Error::new(io::ErrorKind::InvalidData, "more bytes came than were agreed on")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Moves at most three bytes a call.
    #[derive(Default)]
    struct Slow(std::collections::VecDeque<u8>);

    impl Channel for Slow {
        fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let count = bytes.len().min(3);
            self.0.extend(&bytes[..count]);
            Ok(count)
        }

        fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = buffer.len().min(3).min(self.0.len());
            for (place, byte) in buffer.iter_mut().zip(self.0.drain(..count)) {
                *place = byte;
            }
            Ok(count)
        }
    }

    #[test]
    fn partial_calls_are_put_together() {
        let mut channel = Slow::default();
        send_all(&mut channel, b"twelve bytes").unwrap();
        let mut buffer = [0; 12];
        receive_all(&mut channel, &mut buffer).unwrap();
        assert_eq!(&buffer, b"twelve bytes");
        receive_end(&mut channel).unwrap();
        assert_eq!(receive_all(&mut channel, &mut buffer).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        send_all(&mut channel, b"x").unwrap();
        assert_eq!(receive_end(&mut channel).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}
