//! Ways to call the system for a socket other than blocking in `read` and `write`: readiness (`poll(2)`, `epoll(7)`)
//! and completion (`io_uring(7)`), as an event loop uses them for one socket; and busy polling.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use io_uring::{IoUring, opcode, squeue, types};
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::{Errno, retry_on_intr};
use rustix::net::{RecvFlags, SendFlags, recv, send};

use ipcost_model::choices::Io;

use crate::control::engine_is_gone;
use crate::system::channel::{SocketChannel, push, read, write};
use crate::transport::Channel;
use crate::transport::spinning::spin_unless;
use crate::{Context, SysError};

/// Whether sockets support a way.
pub fn probe(io: Io) -> Result<(), SysError> {
    if !matches!(io, Io::Uring | Io::UringSqpoll) {
        return Ok(());
    }
    ring(io == Io::UringSqpoll).or_absent(
        format!("io={}: this kernel refuses io_uring", io.name()),
        "; it takes Linux 5.11 or later with kernel.io_uring_disabled=0, and a container that allows it",
    )
}

/// A socket that is called so.
pub fn over(SocketChannel(socket): SocketChannel, io: Io) -> io::Result<Box<dyn Channel>> {
    Ok(match io {
        Io::Blocking => Box::new(SocketChannel(socket)),
        Io::Send => Box::new(Sending(socket)),
        Io::Spin => Box::new(Looking::at(socket)?),
        Io::Poll => Box::new(Ready::new(socket, Poll)?),
        Io::Epoll => {
            let epoll = Epoll::of(&socket)?;
            Box::new(Ready::new(socket, epoll)?)
        }
        Io::Uring | Io::UringSqpoll => {
            Box::new(Completed { ring: None, polled: io == Io::UringSqpoll, socket })
        }
    })
}

/// `send(2)` and `recv(2)`, which block like `write(2)` and `read(2)` and are shorter paths to the socket.
struct Sending(OwnedFd);

impl Channel for Sending {
    #[inline]
    fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(retry_on_intr(|| send(&self.0, bytes, SendFlags::NOSIGNAL))?)
    }

    #[inline]
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        Ok(retry_on_intr(|| recv(&self.0, &mut *buffer, RecvFlags::empty()))?.0)
    }

    fn push(&mut self) -> io::Result<()> {
        push(&self.0)
    }
}

/// How often to call before yielding the core: tens of microseconds.
const CALLS: u32 = 100;

/// Calls repeatedly until there is data or room.
struct Looking(OwnedFd);

impl Looking {
    fn at(socket: OwnedFd) -> io::Result<Self> {
        never_wait(&socket)?;
        Ok(Self(socket))
    }
}

impl Channel for Looking {
    #[inline]
    fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        spin_unless(CALLS, || at_once(write(&self.0, bytes)), engine_is_gone)?
    }

    #[inline]
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        spin_unless(CALLS, || at_once(read(&self.0, buffer)), engine_is_gone)?
    }

    fn push(&mut self) -> io::Result<()> {
        push(&self.0)
    }
}

/// A call's result; `None` if it would block.
#[inline]
fn at_once(result: io::Result<usize>) -> Option<io::Result<usize>> {
    (!matches!(&result, Err(error) if error.kind() == io::ErrorKind::WouldBlock)).then_some(result)
}

fn never_wait(socket: &OwnedFd) -> io::Result<()> {
    Ok(fcntl_setfl(socket, fcntl_getfl(socket)? | OFlags::NONBLOCK)?)
}

/// The readiness to wait for.
#[derive(Debug, Clone, Copy)]
enum For {
    Reading,
    Writing,
}

/// A way to wait for readiness.
trait Readiness: Send {
    fn wait(&mut self, socket: BorrowedFd<'_>, ready: For) -> io::Result<()>;
}

/// Waits for a message, then reads; writes at once, and waits only if there is no room. So do level-triggered event
/// loops.
struct Ready<R> {
    socket: OwnedFd,
    readiness: R,
}

impl<R: Readiness> Ready<R> {
    fn new(socket: OwnedFd, readiness: R) -> io::Result<Self> {
        never_wait(&socket)?;
        Ok(Self { socket, readiness })
    }
}

impl<R: Readiness> Channel for Ready<R> {
    #[inline]
    fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match write(&self.socket, bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.readiness.wait(self.socket.as_fd(), For::Writing)?;
                }
                result => return result,
            }
        }
    }

    #[inline]
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            self.readiness.wait(self.socket.as_fd(), For::Reading)?;
            match read(&self.socket, buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                result => return result,
            }
        }
    }
}

struct Poll;

impl Readiness for Poll {
    #[inline]
    fn wait(&mut self, socket: BorrowedFd<'_>, ready: For) -> io::Result<()> {
        let flags = match ready {
            For::Reading => PollFlags::IN,
            For::Writing => PollFlags::OUT,
        };
        let mut sockets = [PollFd::from_borrowed_fd(socket, flags)];
        loop {
            match rustix::event::poll(&mut sockets, None) {
                Err(Errno::INTR) => {}
                result => return Ok(result.map(drop)?),
            }
        }
    }
}

/// `epoll(7)`, level-triggered; the socket stays registered for reading, except while waiting for room to write.
struct Epoll(OwnedFd);

impl Epoll {
    fn of(socket: &OwnedFd) -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, socket, EventData::new_u64(0), EventFlags::IN)?;
        Ok(Self(epoll))
    }

    #[inline]
    fn next(&self) -> io::Result<()> {
        let mut events = [MaybeUninit::uninit()];
        loop {
            match epoll::wait(&self.0, &mut events, None) {
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
                Ok(_) => return Ok(()),
            }
        }
    }
}

impl Readiness for Epoll {
    #[inline]
    fn wait(&mut self, socket: BorrowedFd<'_>, ready: For) -> io::Result<()> {
        match ready {
            For::Reading => self.next(),
            For::Writing => {
                epoll::modify(&self.0, socket, EventData::new_u64(0), EventFlags::OUT)?;
                self.next()?;
                Ok(epoll::modify(&self.0, socket, EventData::new_u64(0), EventFlags::IN)?)
            }
        }
    }
}

/// One call at a time is in flight; queues have at least two entries.
const ENTRIES: u32 = 2;
/// How long the kernel's thread polls before it sleeps, ms: the minimum, as other cells are measured next.
const LOOKS_FOR_MS: u32 = 1;

/// `io_uring(7)`: queues, submits and awaits each call in one system call, or the kernel's thread fetches it.
struct Completed {
    /// Created by the thread that uses it, so that the kernel needs no locks.
    ring: Option<IoUring>,
    polled: bool,
    socket: OwnedFd,
}

impl Completed {
    #[inline]
    fn call(&mut self, entry: &squeue::Entry) -> io::Result<usize> {
        let ring = match &mut self.ring {
            Some(ring) => ring,
            none => none.insert(ring(self.polled)?),
        };
        loop {
            // SAFETY: the caller lends the entry's buffer until this returns, which is when the call is done, or when
            // the kernel has not taken it and the ring is gone.
            let queued = unsafe { ring.submission().push(entry) };
            queued.map_err(|_| io::Error::other("the queue of io_uring is full"))?;
            let result = loop {
                match ring.submit_and_wait(1) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => {
                        self.ring = None;
                        return Err(error);
                    }
                    Ok(_) => {}
                }
                if let Some(done) = ring.completion().next() {
                    break done.result();
                }
            };
            match usize::try_from(result) {
                Ok(bytes) => return Ok(bytes),
                Err(_) if result == -libc::EINTR => {}
                Err(_) => return Err(io::Error::from_raw_os_error(-result)),
            }
        }
    }
}

impl Channel for Completed {
    #[inline]
    fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let socket = types::Fd(self.socket.as_raw_fd());
        let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        self.call(&opcode::Send::new(socket, bytes.as_ptr(), length).build())
    }

    #[inline]
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let socket = types::Fd(self.socket.as_raw_fd());
        let length = u32::try_from(buffer.len()).unwrap_or(u32::MAX);
        self.call(&opcode::Recv::new(socket, buffer.as_mut_ptr(), length).build())
    }

    fn push(&mut self) -> io::Result<()> {
        push(&self.socket)
    }
}

/// Queues with the flags that the manual advises for one thread; without them on older kernels.
fn ring(polled: bool) -> io::Result<IoUring> {
    if polled {
        return IoUring::builder().setup_sqpoll(LOOKS_FOR_MS).build(ENTRIES);
    }
    let advised = IoUring::builder().setup_single_issuer().setup_defer_taskrun().build(ENTRIES);
    match advised {
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => IoUring::builder().build(ENTRIES),
        result => result,
    }
}
