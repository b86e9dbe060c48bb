//! The peer's side of the control protocol: lines from standard input.

use std::io;
use std::ptr;
use std::thread;
use std::time::Duration;

use windows_sys::Win32::System::Console::{GetStdHandle, STD_INPUT_HANDLE};
use windows_sys::Win32::System::Pipes::PeekNamedPipe;

use super::channel::{has_ended, read};
use super::checked;
pub use crate::contract::Next;
use crate::lines::Lines;
use crate::transport::Server;

/// How long to wait before polling a server again: one call cannot wait for a pipe and a socket.
const ASK_AGAIN: Duration = Duration::from_millis(1);
/// How much is read at once, bytes.
const CHUNK_BYTES: usize = 8192;

/// Lines from standard input; read here, not in a thread: the peer must cost what a plain program costs.
#[derive(Debug, Default)]
pub struct ControlInput {
    lines: Lines,
}

/// Whether the engine is gone: the other end of standard input is closed.
///
/// Loops without system calls ask this now and then; the end of input means stop.
pub fn engine_is_gone() -> bool {
    matches!(waiting_bytes(), Err(error) if has_ended(&error))
}

impl ControlInput {
    /// The next line without its newline; `None` at the end of input.
    ///
    /// # Errors
    /// If standard input cannot be read, or a line is longer than the protocol allows.
    pub fn line(&mut self) -> io::Result<Option<Vec<u8>>> {
        loop {
            let line =
                self.lines.take().map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
            if line.is_some() {
                return Ok(line);
            }
            let mut chunk = [0; CHUNK_BYTES];
            match read(&io::stdin(), &mut chunk)? {
                0 => return Ok(None),
                count => self.lines.add(&chunk[..count]),
            }
        }
    }

    /// Waits until a control line or a channel of the server may be ready.
    pub fn wait_beside(&self, _server: &dyn Server) -> io::Result<Next> {
        // Only pipes can be polled. Anything else, such as a console, is read, which blocks.
        if self.lines.has_line() || !matches!(waiting_bytes(), Ok(0)) {
            return Ok(Next::Control);
        }
        thread::sleep(ASK_AGAIN);
        Ok(Next::Server)
    }
}

/// How many bytes wait to be read from standard input.
fn waiting_bytes() -> io::Result<u32> {
    let mut count = 0;
    // SAFETY: the call rejects a handle that is not a pipe's; unused results are null pointers.
    let result = unsafe {
        let input = GetStdHandle(STD_INPUT_HANDLE);
        PeekNamedPipe(input, ptr::null_mut(), 0, ptr::null_mut(), &mut count, ptr::null_mut())
    };
    checked(result).map(|()| count)
}
