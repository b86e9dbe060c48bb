//! POSIX message queues (`mq_overview(7)`), which are descriptors on Linux.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::facts::text;
use crate::private_name::fresh_name;

/// How many messages a queue holds if the system does not say (`fs.mqueue.msg_max`).
const MESSAGES: u64 = 10;

/// Creates a queue for messages of at most `message_bytes`. It has a name only during this call.
pub fn create(message_bytes: usize) -> io::Result<OwnedFd> {
    let name = CString::new(format!("/{}", fresh_name()))?;
    let most = text::number("/proc/sys/fs/mqueue/msg_max").unwrap_or(MESSAGES);
    // SAFETY: all bits zero are a valid description, whose fields are set below.
    let mut attributes: libc::mq_attr = unsafe { std::mem::zeroed() };
    attributes.mq_maxmsg = most.min(MESSAGES) as _;
    attributes.mq_msgsize = message_bytes as _;
    let flags = libc::O_RDWR | libc::O_CREAT | libc::O_EXCL | libc::O_CLOEXEC;
    // SAFETY: the name ends with 0, and the description outlives the call.
    let queue = unsafe { libc::mq_open(name.as_ptr(), flags, 0o600 as libc::mode_t, &raw mut attributes) };
    if queue < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: it has just been opened, and has no other owner.
    let queue = unsafe { OwnedFd::from_raw_fd(queue) };
    // SAFETY: the name ends with 0.
    match unsafe { libc::mq_unlink(name.as_ptr()) } {
        0 => Ok(queue),
        _ => Err(io::Error::last_os_error()),
    }
}

/// One end of a queue.
#[derive(Debug)]
pub struct MessageQueue(pub OwnedFd);

impl MessageQueue {
    /// Sends a message; waits while the queue is full.
    #[inline]
    pub fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            // SAFETY: the pointer is valid for as many bytes as the call reads.
            match unsafe { libc::mq_send(self.0.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), 0) } {
                0 => return Ok(bytes.len()),
                _ => repeat(io::Error::last_os_error())?,
            }
        }
    }

    /// Receives a message; waits for one.
    #[inline]
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let queue = self.0.as_raw_fd();
        loop {
            // SAFETY: the pointer is valid for as many bytes as the call writes.
            let count = unsafe {
                libc::mq_receive(queue, buffer.as_mut_ptr().cast(), buffer.len(), std::ptr::null_mut())
            };
            match usize::try_from(count) {
                Ok(count) => return Ok(count),
                Err(_) => repeat(io::Error::last_os_error())?,
            }
        }
    }
}

fn repeat(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::Interrupted { Ok(()) } else { Err(error) }
}
