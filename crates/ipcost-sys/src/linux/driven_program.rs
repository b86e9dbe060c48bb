//! Real programs that a peer drives: started, watched and ended.

use std::fs::{self, File};
use std::io::{self, PipeReader, Read, Seek, SeekFrom, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use ipcost_model::Usage;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::Errno;
use rustix::net::sockopt::{self, Timeout};
use rustix::net::{SocketFlags, SocketType};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, WaitIdStatus, getppid, kill_process, waitid};

use super::child::{die_with_parent, end_with_parent, exit_descriptor};
use super::measuring;
use crate::contract::{Launch, ListenerOwner, Listens, User, Woken};
use crate::process_stat::ProcessStat;
use crate::system::channel::SocketChannel;
use crate::system::descriptor::{Descriptor, to_inherit};
use crate::system::socket::{self, AddressFamily};
use crate::tcp_ends::TcpEnds;
use crate::transport::Connection;
use crate::usage;
use crate::{Context, SysError};

/// How much of a program's error output is examined, bytes.
const LINE_BYTES: u64 = 512;
/// Marks a stop at a system call, as opposed to a signal (`PTRACE_O_TRACESYSGOOD`, `ptrace(2)`).
const AT_A_CALL: i32 = libc::SIGTRAP | 0x80;
const OPTIONS: i32 = libc::PTRACE_O_TRACESYSGOOD | libc::PTRACE_O_TRACEEXEC | libc::PTRACE_O_EXITKILL;
/// A stop at exec (`PTRACE_O_TRACEEXEC`): some programs are started by a script.
const BECAME_ANOTHER: i32 = libc::SIGTRAP | libc::PTRACE_EVENT_EXEC << 8;
/// `PTRACE_GET_SYSCALL_INFO`, and its operation for a call's entry (`ptrace(2)`).
const GET_SYSCALL_INFO: i64 = 0x420e;
const CALL_BEGINS: u8 = 1;
/// Calls with which a program waits until it can move bytes.
const WAITS: &[i64] = &[
    #[cfg(target_arch = "x86_64")]
    libc::SYS_poll,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_select,
    libc::SYS_ppoll,
    libc::SYS_pselect6,
];

/// A program that this process has started; killed on drop, and by the kernel when this process dies.
#[derive(Debug)]
pub struct DrivenProgram {
    name: String,
    child: Child,
    exit: OwnedFd,
    complaint: File,
}

impl DrivenProgram {
    /// Starts a program.
    ///
    /// # Errors
    /// Why it cannot be started, with its name; needs Linux 5.3.
    pub fn start(launch: Launch<'_>) -> io::Result<Self> {
        Self::spawn(&mut Command::new(launch.program), launch, false)
    }

    /// Starts a program and holds it right before it moves its first byte.
    ///
    /// It opens its ends, waits until it can move bytes, then moves them: its work begins at its first call of
    /// `poll(2)` or `select(2)`. So its calls are traced until then (`ptrace(2)`); after release, it runs untraced.
    pub fn start_held(launch: Launch<'_>) -> io::Result<Self> {
        if is_watched() {
            // A process has at most one tracer, and another tracer rules out timing: hold it before its start instead.
            let mut command = Command::new("/bin/sh");
            command.args(["-c", "kill -STOP $$; exec \"$@\"", "sh", launch.program]);
            let driven = Self::spawn(&mut command, launch, false)?;
            while driven.await_stop()? != libc::SIGSTOP {}
            return Ok(driven);
        }
        let driven = Self::spawn(&mut Command::new(launch.program), launch, true)?;
        driven.await_stop()?;
        driven.trace(libc::PTRACE_SETOPTIONS.into(), OPTIONS)?;
        let mut passed_on = 0;
        loop {
            driven.trace(libc::PTRACE_SYSCALL.into(), passed_on)?;
            passed_on = match driven.await_stop()? {
                AT_A_CALL if driven.begins_to_wait()? => break,
                // A program that has only called exec has done nothing yet.
                AT_A_CALL | BECAME_ANOTHER => 0,
                signal => signal,
            };
        }
        // The call still runs and finds that bytes can be moved at once; then the signal stops the program.
        kill_process(driven.pid(), Signal::STOP)?;
        driven.trace(libc::PTRACE_DETACH.into(), 0)?;
        while driven.await_stop()? != libc::SIGSTOP {}
        Ok(driven)
    }

    /// Lets a held program continue.
    pub fn release(&self) -> io::Result<()> {
        Ok(kill_process(self.pid(), Signal::CONT)?)
    }

    fn spawn(command: &mut Command, launch: Launch<'_>, traced: bool) -> io::Result<Self> {
        let complaint = File::from(memfd_create("complaint", MemfdFlags::CLOEXEC)?);
        let given = |stream: Option<Stdio>| stream.unwrap_or_else(Stdio::null);
        let output =
            if launch.complains_on_output { complaint.try_clone()?.into() } else { given(launch.output) };
        command.args(launch.arguments).stdin(given(launch.input)).stdout(output);
        command.stderr(complaint.try_clone()?);
        if let Some(directory) = launch.directory {
            command.current_dir(directory);
        }
        if launch.user.is_some() || launch.without_environment {
            // Another user's processes can read it, and it may hold passwords.
            command.env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").env("LC_ALL", "C");
        }
        command.envs(launch.env.iter().copied());
        let parent = rustix::process::getpid();
        let (user, cleans_up) = (launch.user, launch.cleans_up);
        // SAFETY: the closure runs between fork and exec, makes system calls on plain values and allocates nothing.
        unsafe {
            command.pre_exec(move || {
                if let Some(user) = user {
                    become_user(user)?;
                }
                // Afterwards: a change of user takes this back (prctl(2)).
                if cleans_up { end_with_parent() } else { die_with_parent() }?;
                // The parent may have died before the request to the kernel.
                if getppid() != Some(parent) {
                    return Err(io::ErrorKind::Interrupted.into());
                }
                match traced {
                    true if libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) != 0 => {
                        Err(io::Error::last_os_error())
                    }
                    _ => Ok(()),
                }
            });
        }
        let child = command.spawn()?;
        let exit = exit_descriptor(child.id()).ok_or(io::ErrorKind::Unsupported)?;
        Ok(Self { name: launch.program.to_owned(), child, exit, complaint })
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Whether it has ended.
    pub fn has_ended(&self) -> bool {
        let now = Some(&rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 });
        poll(&mut [PollFd::new(&self.exit, PollFlags::IN)], now).is_ok_and(|ready| ready > 0)
    }

    /// Waits until it has ended, or until the other side of a connection is gone.
    pub fn await_end(&self, beside: Option<&Connection>) -> io::Result<Woken> {
        await_either(self.exit.as_fd(), beside)
    }

    /// Waits for its end; returns its total usage.
    pub fn finish(&mut self) -> Result<Usage, SysError> {
        // A child's usage counts once it has been waited for.
        let before = usage::children();
        let ended = self.child.wait().context(|| format!("cannot wait for {}", self.name))?;
        if ended.success() { Ok(usage::children() - before) } else { Err(self.failure(ended)) }
    }

    fn failure(&mut self, ended: ExitStatus) -> SysError {
        let mut how = match (ended.signal(), ended.code()) {
            (Some(signal), _) => format!("was ended by signal {signal}"),
            (None, code) => format!("ended with status {}", code.unwrap_or_default()),
        };
        if let Some(line) = last_line(&mut self.complaint) {
            how = format!("{how}: {line}");
        }
        SysError::Ended { program: self.name.clone(), how }
    }

    /// Waits until it stops; returns the signal.
    fn await_stop(&self) -> io::Result<i32> {
        let process = WaitId::Pid(self.pid());
        let all = WaitIdOptions::EXITED | WaitIdOptions::STOPPED;
        let stop = |status: &WaitIdStatus| status.stopping_signal().or(status.trapping_signal());
        loop {
            // Leaves an ended program to be waited for.
            let seen = match waitid(process.clone(), all | WaitIdOptions::NOWAIT) {
                Err(Errno::INTR) => continue,
                seen => seen?,
            };
            if seen.as_ref().is_none_or(|status| stop(status).is_none()) {
                return Err(io::Error::other(format!("{} ended before it moved anything", self.name)));
            }
            let taken = waitid(process.clone(), WaitIdOptions::STOPPED | WaitIdOptions::NOHANG)?;
            if let Some(signal) = taken.as_ref().and_then(stop) {
                return Ok(signal);
            }
        }
    }

    /// Whether it has just entered `poll(2)`, `select(2)` or a variant.
    fn begins_to_wait(&self) -> io::Result<bool> {
        // The operation's byte, three of padding, the architecture, two addresses, the call's number, its arguments.
        let mut info = [0_u64; 11];
        // SAFETY: the kernel writes at most the number of bytes passed.
        let written = unsafe {
            libc::ptrace(GET_SYSCALL_INFO as _, self.child.id(), size_of_val(&info), info.as_mut_ptr())
        };
        if written <= 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(info[0].to_ne_bytes()[0] == CALL_BEGINS && WAITS.contains(&(info[3] as i64)))
    }

    fn trace(&self, request: i64, argument: i32) -> io::Result<()> {
        // SAFETY: these requests take numbers, not pointers.
        let result = unsafe { libc::ptrace(request as _, self.child.id(), 0, libc::c_long::from(argument)) };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

/// Gives up every right of this user, for good, and leaves no memory behind in a file; allocates nothing.
fn become_user(user: User) -> io::Result<()> {
    let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: these calls take numbers, an empty list and a pointer that is valid for the call.
    let done = unsafe {
        libc::setrlimit(libc::RLIMIT_CORE, &none) == 0
            && libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::setgroups(0, std::ptr::null()) == 0
            && libc::setgid(user.group) == 0
            && libc::setuid(user.id) == 0
    };
    if done { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The user whose rights a server should have instead of root's, by the names of its package; `None` if this process is not
/// root's, or there is no such user.
pub fn instead_of_root(names: &[&str]) -> Option<User> {
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    names.iter().find_map(|name| user_named(name).filter(|user| user.id != 0))
}

/// A user of this machine, by name (`passwd(5)`).
fn user_named(name: &str) -> Option<User> {
    let users = fs::read_to_string("/etc/passwd").ok()?;
    let line = users.lines().find(|line| line.split(':').next() == Some(name))?;
    let mut numbers = line.split(':').skip(2).map(str::parse);
    Some(User { id: numbers.next()?.ok()?, group: numbers.next()?.ok()? })
}

/// Makes a directory of this process's that the user given can pass, if one is given, and no one else can list.
///
/// What this process writes goes there, and never below a directory that it gave away: anyone who owns one may have put a link there.
pub fn make_directory(path: &Path, passed_by: Option<User>) -> io::Result<()> {
    crate::private_dir::make_private(path)?;
    match passed_by {
        Some(_) => crate::system::private_dir::let_pass(path),
        None => Ok(()),
    }
}

/// Makes a directory that only its owner can enter: the user given, or this process's.
pub fn give_directory(path: &Path, owner: Option<User>) -> io::Result<()> {
    crate::private_dir::make_private(path)?;
    match owner {
        Some(user) => std::os::unix::fs::chown(path, Some(user.id), Some(user.group)),
        None => Ok(()),
    }
}

/// Writes a file that only its owner can read: the user given, or this process's.
pub fn make_file(path: &Path, content: &[u8], owner: Option<User>) -> io::Result<()> {
    let mut file = crate::file_writer::create_private(path)?;
    file.write_all(content)?;
    match owner {
        Some(user) => std::os::unix::fs::fchown(&file, Some(user.id), Some(user.group)),
        None => Ok(()),
    }
}

/// Makes a symbolic link.
pub fn make_link(to: &Path, path: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(to, path)
}

/// The name of a user, or the number of one without a name; this process's if `None`.
pub fn name_of(user: Option<User>) -> String {
    user.map_or_else(measuring::own_user, |user| measuring::user_name(user.id))
}

/// Whether this process has root's rights.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Asks the program to end (`SIGTERM`, or `SIGINT` where that is a quick end), and waits at most so long.
pub fn ask_to_end(driven: &DrivenProgram, quickly: bool, patience: Duration) -> io::Result<()> {
    kill_process(driven.pid(), if quickly { Signal::INT } else { Signal::TERM })?;
    let patience = rustix::event::Timespec {
        tv_sec: patience.as_secs().cast_signed(),
        tv_nsec: patience.subsec_nanos().into(),
    };
    poll(&mut [PollFd::new(&driven.exit, PollFlags::IN)], Some(&patience))?;
    Ok(())
}

impl Drop for DrivenProgram {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Usage of a process so far, all threads: the time from its CPU clock, the switches of its main thread.
pub fn used_by(process: u32) -> Option<(u64, Usage)> {
    let mut clock = 0;
    // SAFETY: the pointer is valid for one number.
    if unsafe { libc::clock_getcpuclockid(process.cast_signed(), &mut clock) } != 0 {
        return None;
    }
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is valid for one time.
    if unsafe { libc::clock_gettime(clock, &mut time) } != 0 {
        return None;
    }
    let cpu_ns = time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64;
    let number = |name| field(process, "status", name).unwrap_or_default();
    let switches = Usage {
        voluntary_switches: number("voluntary_ctxt_switches:"),
        involuntary_switches: number("nonvoluntary_ctxt_switches:"),
        ..Usage::default()
    };
    Some((cpu_ns, switches))
}

/// Bytes that a process has read from any source (`proc_pid_io(5)`).
pub fn bytes_read(process: u32) -> Option<u64> {
    field(process, "io", "rchar:")
}

/// The name of a process, and whether it sleeps.
pub fn name_and_sleep(process: u32) -> Option<(String, bool)> {
    let stat = ProcessStat::of(process)?;
    Some((stat.name, stat.state == 'S'))
}

/// Whether another process traces this one, as `strace` does.
fn is_watched() -> bool {
    field(std::process::id(), "status", "TracerPid:").is_some_and(|tracer| tracer != 0)
}

fn field(process: u32, file: &str, name: &str) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{process}/{file}")).ok()?;
    text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
}

/// Whether a Unix socket listens at a path: `/proc/net/unix` has address, references, protocol, flags, type, state, inode and
/// path (`proc_net(5)`).
pub fn path_listens(path: &str) -> io::Result<bool> {
    /// The flag of a socket that listens.
    const ACCEPTS: u64 = 0x1_0000;
    let table = fs::read_to_string("/proc/net/unix")?;
    Ok(table.lines().filter(|line| line.ends_with(path)).any(|line| {
        let mut fields = line.split_whitespace().skip(3);
        let flags = fields.next().and_then(|flags| u64::from_str_radix(flags, 16).ok());
        flags.is_some_and(|flags| flags & ACCEPTS != 0)
            && line.split_whitespace().nth(7).is_some_and(|first| path.starts_with(first))
    }))
}

/// Whether a socket listens at a port of IPv4: `/proc/net/tcp` has number, local address, remote address and state.
pub fn port_listens(port: u64) -> io::Result<bool> {
    const LISTENS: &str = "0A";
    let table = fs::read_to_string("/proc/net/tcp")?;
    Ok(table.lines().any(|line| {
        let fields: Vec<&str> = line.split_whitespace().take(4).collect();
        let [_, local, _, LISTENS] = fields[..] else { return false };
        let found = local.rsplit_once(':').and_then(|(_, port)| u64::from_str_radix(port, 16).ok());
        found == Some(port)
    }))
}

/// Waits until a file is readable, or until the other side of a connection is gone.
pub fn await_input(file: &PipeReader, beside: Option<&Connection>) -> io::Result<Woken> {
    await_either(file.as_fd(), beside)
}

fn await_either(descriptor: BorrowedFd<'_>, beside: Option<&Connection>) -> io::Result<Woken> {
    let mut watched = vec![PollFd::from_borrowed_fd(descriptor, PollFlags::IN)];
    if let Some(Connection::Socket(socket)) = beside {
        watched.push(PollFd::new(&socket.0, PollFlags::RDHUP));
    }
    while let Err(error) = poll(&mut watched, None) {
        if error != Errno::INTR {
            return Err(error.into());
        }
    }
    Ok(if watched[0].revents().is_empty() { Woken::OtherGone } else { Woken::Ready })
}

/// A connection's input and output, to pass to a program; `None` if it has no descriptor.
pub fn ends(connection: &Connection) -> io::Result<Option<(File, File)>> {
    let (read, write) = match connection {
        Connection::Socket(socket) => (&socket.0, &socket.0),
        Connection::Pipes(pipes) => (&pipes.read, &pipes.write),
        Connection::Rings(_) | Connection::Slot(_) | Connection::FloorPart(_) | Connection::Other(_) => {
            return Ok(None);
        }
    };
    Ok(Some((read.try_clone()?.into(), write.try_clone()?.into())))
}

/// Whether the other end of a connection belongs to another user who is not root.
pub fn is_a_strangers(connection: &Connection) -> io::Result<bool> {
    match connection {
        Connection::Socket(socket) => super::credentials::is_of_this_user(&socket.0).map(|known| !known),
        _ => Ok(false),
    }
}

/// The process that listens at the other end of a Unix socket (`SO_PEERCRED`, `unix(7)`).
pub fn listener(connection: &Connection) -> Option<u32> {
    let Connection::Socket(socket) = connection else { return None };
    let id = sockopt::socket_peercred(&socket.0).ok()?.pid;
    u32::try_from(id.as_raw_nonzero().get()).ok()
}

/// Who owns the socket that listens at the other end of a connection: for a Unix socket, who made it listen (`SO_PEERCRED`, `unix(7)`);
/// for TCP, who made the socket that the kernel finds at that address (`sock_diag(7)`).
pub fn listener_owner(connection: &Connection) -> io::Result<ListenerOwner> {
    let Connection::Socket(socket) = connection else { return Ok(ListenerOwner::Unknown) };
    if is_unix(connection) {
        return Ok(ListenerOwner::User(sockopt::socket_peercred(&socket.0)?.uid.as_raw()));
    }
    let other = rustix::net::getpeername(&socket.0)?.ok_or(io::ErrorKind::NotConnected)?;
    let own = socket::local_address(&socket.0)?.ip().to_canonical();
    let at = SocketAddr::try_from(other)?;
    let at = SocketAddr::new(at.ip().to_canonical(), at.port());
    // Who connects to an address of this machine itself comes from there, too.
    if !at.ip().is_loopback() && at.ip() != own {
        return Ok(ListenerOwner::Elsewhere);
    }
    owner_at(at)
}

/// Who owns the socket that listens at an address of loopback.
pub fn owner_at(at: SocketAddr) -> io::Result<ListenerOwner> {
    let found = TcpEnds::open()?.listener(at)?;
    Ok(found.map_or(ListenerOwner::Unknown, |end| ListenerOwner::User(end.user)))
}

pub fn own_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// The number of a user, by name or number; `None` if this machine knows none of that name.
pub fn user_number(name: &str) -> Option<u32> {
    name.parse().ok().or_else(|| Some(user_named(name)?.id))
}

/// Connects as clients with an event loop do: where the queue of a Unix socket is full, that fails at once (`EAGAIN`, `connect(2)`);
/// TCP tries again for as long as `patience` lasts.
///
/// # Errors
/// If no one listens, the queue is full, or `patience` has ended (`TimedOut`).
pub fn connect_at_once(to: Listens<'_>, patience: Duration) -> io::Result<Connection> {
    let family = match to {
        Listens::Path(_) => AddressFamily::UNIX,
        Listens::Port(SocketAddr::V4(_)) => AddressFamily::INET,
        Listens::Port(SocketAddr::V6(_)) => AddressFamily::INET6,
    };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(family, SocketType::STREAM, flags, None)?;
    let connected = match to {
        Listens::Path(path) => rustix::net::connect(&socket, &socket::unix_address(path)?),
        Listens::Port(at) => rustix::net::connect(&socket, &at),
    };
    match connected {
        Err(Errno::INPROGRESS) => {
            let patience =
                rustix::event::Timespec::try_from(patience).map_err(|_| io::ErrorKind::InvalidInput)?;
            if poll(&mut [PollFd::new(&socket, PollFlags::OUT)], Some(&patience))? == 0 {
                return Err(io::ErrorKind::TimedOut.into());
            }
            sockopt::socket_error(&socket)??;
        }
        connected => connected?,
    }
    rustix::io::ioctl_fionbio(&socket, false)?;
    Ok(SocketChannel(socket).into())
}

/// Whether a connection is one of a Unix socket, which no other host can hear.
pub fn is_unix(connection: &Connection) -> bool {
    let Connection::Socket(socket) = connection else { return false };
    sockopt::socket_domain(&socket.0).is_ok_and(|family| family == rustix::net::AddressFamily::UNIX)
}

/// Makes blocking calls on a connection fail with `WouldBlock` after `patience`.
pub fn limit_waits(connection: &Connection, patience: Duration) -> io::Result<()> {
    let Connection::Socket(socket) = connection else { return Ok(()) };
    sockopt::set_socket_timeout(&socket.0, Timeout::Recv, Some(patience))?;
    Ok(sockopt::set_socket_timeout(&socket.0, Timeout::Send, Some(patience))?)
}

/// Ends a connection at a moment, unless this value is dropped before.
#[derive(Debug)]
pub struct EndsAt(#[expect(dead_code, reason = "dropping it is its use")] Option<Sender<()>>);

/// Ends a connection after so long, whatever its other side sends: one that sends a byte at a time never lets a call wait in vain.
pub fn end_after(connection: &Connection, patience: Duration) -> io::Result<EndsAt> {
    let Connection::Socket(socket) = connection else { return Ok(EndsAt(None)) };
    let own = socket.0.as_fd().try_clone_to_owned()?;
    let (kept, dropped) = channel();
    std::thread::Builder::new().spawn(move || {
        if dropped.recv_timeout(patience) == Err(RecvTimeoutError::Timeout) {
            let _ = rustix::net::shutdown(&own, rustix::net::Shutdown::Both);
        }
    })?;
    Ok(EndsAt(Some(kept)))
}

/// Waits in `poll(2)` until something has come over a connection, or it has ended.
#[inline]
pub fn await_reply(connection: &Connection) -> io::Result<()> {
    let Connection::Socket(socket) = connection else { return Ok(()) };
    while let Err(error) = poll(&mut [PollFd::new(&socket.0, PollFlags::IN)], None) {
        if error != Errno::INTR {
            return Err(error.into());
        }
    }
    Ok(())
}

/// Makes blocking calls on a connection wait as long as they must again.
pub fn let_wait(connection: &Connection) -> io::Result<()> {
    let Connection::Socket(socket) = connection else { return Ok(()) };
    sockopt::set_socket_timeout(&socket.0, Timeout::Recv, None)?;
    Ok(sockopt::set_socket_timeout(&socket.0, Timeout::Send, None)?)
}

/// Ends a connection for its other side, also where another thread's descriptor table still has it (`shutdown(2)`).
pub fn shut(connection: &Connection) {
    if let Connection::Socket(socket) = connection {
        // The other side may have ended it before.
        let _ = rustix::net::shutdown(&socket.0, rustix::net::Shutdown::Both);
    }
}

/// Reserves a port for a program that is about to listen on it; any free port if 0.
///
/// Sockets with `SO_REUSEADDR` may share an address as long as at most one of them listens (`socket(7)`): this one
/// never does, and the program's, which also sets the option, may. No other socket gets the port meanwhile.
pub fn hold_port(at: SocketAddr) -> io::Result<(Descriptor, u16)> {
    let held = socket::stream_socket(AddressFamily::INET)?;
    socket::claim_port(&held)?;
    socket::bind(&held, &at)?;
    let port = socket::local_address(&held)?.port();
    Ok((to_inherit(held), port))
}

unsafe extern "C" {
    fn gethostbyname_r(
        name: *const libc::c_char,
        result: *mut libc::hostent,
        room: *mut libc::c_char,
        room_bytes: libc::size_t,
        found: *mut *mut libc::hostent,
        problem: *mut libc::c_int,
    ) -> libc::c_int;
}

/// The first address of localhost as `gethostbyname(3)` finds it.
pub fn address_of_localhost() -> Option<Ipv4Addr> {
    let mut room = [0; 4096];
    let mut entry = libc::hostent {
        h_name: std::ptr::null_mut(),
        h_aliases: std::ptr::null_mut(),
        h_addrtype: 0,
        h_length: 0,
        h_addr_list: std::ptr::null_mut(),
    };
    let mut found = std::ptr::null_mut();
    let mut problem = 0;
    // SAFETY: the name ends with 0, and every pointer is valid for what the call writes (gethostbyname_r(3)). A
    // returned entry points into the room, which outlives it, and lists at least one address.
    unsafe {
        let name = c"localhost".as_ptr();
        let result =
            gethostbyname_r(name, &mut entry, room.as_mut_ptr(), room.len(), &mut found, &mut problem);
        if result != 0 || found.is_null() || (*found).h_addrtype != libc::AF_INET {
            return None;
        }
        Some((*(*found).h_addr_list).cast::<[u8; 4]>().read().into())
    }
}

fn last_line(complaint: &mut File) -> Option<String> {
    let end = complaint.seek(SeekFrom::End(0)).ok()?;
    complaint.seek(SeekFrom::Start(end.saturating_sub(LINE_BYTES))).ok()?;
    let mut text = Vec::new();
    complaint.read_to_end(&mut text).ok()?;
    let line = String::from_utf8_lossy(&text).trim_end().lines().last()?.to_owned();
    (!line.is_empty()).then_some(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launch<'a>(program: &'a str, arguments: &'a [String]) -> Launch<'a> {
        Launch { program, arguments, ..Launch::default() }
    }

    #[test]
    fn one_that_fails_says_its_last_line() {
        let script = ["-c".to_owned(), "echo first >&2; echo last >&2; exit 3".to_owned()];
        let mut driven = DrivenProgram::start(launch("sh", &script)).unwrap();
        assert_eq!(driven.await_end(None).unwrap(), Woken::Ready);
        assert!(driven.has_ended());
        assert_eq!(driven.finish().unwrap_err().to_string(), "sh ended with status 3: last");
    }

    #[test]
    fn one_that_is_held_moves_nothing_before_it_is_let_go() {
        let (read, write) = rustix::pipe::pipe().unwrap();
        let arguments = ["-c", "import select, sys; select.select([0], [], []); sys.stdout.write('x')"];
        let arguments = arguments.map(str::to_owned);
        let output = Some(Stdio::from(write));
        let mut held = DrivenProgram::start_held(Launch { output, ..launch("python3", &arguments) }).unwrap();
        let mut word = [0];
        rustix::io::ioctl_fionbio(&read, true).unwrap();
        assert_eq!(rustix::io::read(&read, &mut word), Err(Errno::AGAIN));
        held.release().unwrap();
        held.finish().unwrap();
        assert_eq!((rustix::io::read(&read, &mut word), word), (Ok(1), *b"x"));
    }

    #[test]
    fn this_process_has_a_clock_a_name_and_has_read() {
        let own = std::process::id();
        assert!(used_by(own).unwrap().0 > 0);
        assert!(bytes_read(own).unwrap() > 0);
        assert!(!name_and_sleep(own).unwrap().0.is_empty());
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        assert!(port_listens(listener.local_addr().unwrap().port().into()).unwrap());
        let (held, port) = hold_port("127.0.0.1:0".parse().unwrap()).unwrap();
        assert!(!port_listens(port.into()).unwrap() && !path_listens("/nowhere/at all").unwrap());
        drop(held);
        assert!(address_of_localhost().is_none_or(|address| address.is_loopback()));
    }

    #[test]
    fn a_file_of_a_server_is_its_owners_alone_and_is_made_once() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("settings");
        make_file(&path, b"a = b", None).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&path).unwrap().permissions());
        assert_eq!((fs::read(&path).unwrap(), mode & 0o777), (b"a = b".to_vec(), 0o600));
        assert_eq!(make_file(&path, b"", None).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    }
}
