//! A private network namespace (`network_namespaces(7)`), in which no other packets are counted.
//!
//! A namespace lives as long as a process is in it. A helper process creates it and stays until its standard input
//! ends; peers enter it before they start. The helper needs to be root, or user namespaces open to every user.

use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

use crate::file_writer::write_kernel_file;
use crate::{Context, SysError};

/// Directories of a namespace's settings, then single files.
const SETTINGS: [&str; 4] =
    ["/proc/sys/net/core", "/proc/sys/net/ipv4", "/proc/sys/net/ipv4/conf/all", "/proc/sys/net/ipv4/conf/lo"];
/// The helper's line when the namespace is ready; the settings that it could not copy follow.
const READY: &str = "ready";

/// A network namespace, for as long as this is held.
#[derive(Debug)]
pub struct NetNamespace {
    child: Child,
    input: Option<ChildStdin>,
    user: Option<OwnedFd>,
    net: OwnedFd,
    lost: Vec<String>,
}

/// The namespaces that a process enters before it starts, as descriptors.
#[derive(Debug, Clone, Copy)]
pub struct Entrance {
    user: Option<RawFd>,
    net: RawFd,
}

impl NetNamespace {
    /// Creates one with this namespace's settings; `command` starts a process that calls [`hold`].
    pub fn start(command: &[String]) -> Result<Self, SysError> {
        let action = || "a network namespace".to_owned();
        let (program, arguments) = command.split_first().ok_or(io::ErrorKind::NotFound).context(action)?;
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context(action)?;
        let input = child.stdin.take();
        let mut line = String::new();
        if let Some(output) = child.stdout.take() {
            // Its answer, or silence, is judged below.
            let _ = BufReader::new(output).read_line(&mut line);
        }
        let opened = line
            .trim_end()
            .strip_prefix(READY)
            .ok_or_else(|| io::Error::other(line.trim_end().to_owned()))
            .and_then(|lost| Ok((lost.split_whitespace().map(str::to_owned).collect(), entered(&child)?)));
        match opened {
            Ok((lost, (user, net))) => Ok(Self { child, input, user, net, lost }),
            Err(error) => {
                drop(input);
                let _ = child.wait();
                Err(error).context(action)
            }
        }
    }

    /// The idle process inside: its view of the network is the namespace's.
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// Settings that differ from those outside, by name.
    pub fn lost(&self) -> &[String] {
        &self.lost
    }

    /// How a process enters, while this is held.
    pub fn entrance(&self) -> Entrance {
        Entrance { user: self.user.as_ref().map(AsRawFd::as_raw_fd), net: self.net.as_raw_fd() }
    }
}

impl Drop for NetNamespace {
    fn drop(&mut self) {
        self.input = None;
        let _ = self.child.wait();
    }
}

/// The helper's namespaces: its user namespace only if it differs from ours.
fn entered(child: &Child) -> io::Result<(Option<OwnedFd>, OwnedFd)> {
    let path = |name: &str| PathBuf::from(format!("/proc/{}/ns/{name}", child.id()));
    let user = path("user");
    let own = fs::read_link("/proc/self/ns/user")? == fs::read_link(&user)?;
    let open = |path: &Path| fs::File::open(path).map(OwnedFd::from);
    Ok((if own { None } else { Some(open(&user)?) }, open(&path("net"))?))
}

impl Entrance {
    /// Moves the calling process into it; allocates nothing, so may be called between fork and exec.
    pub(crate) fn enter(self) -> io::Result<()> {
        for (descriptor, kind) in [(self.user, libc::CLONE_NEWUSER), (Some(self.net), libc::CLONE_NEWNET)] {
            let Some(descriptor) = descriptor else { continue };
            // SAFETY: a system call on plain values; the kernel rejects an invalid descriptor.
            if unsafe { libc::setns(descriptor, kind) } != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(())
    }
}

/// Moves this process into a network of its own, which no one else can reach; returns the names of settings that differ there.
///
/// # Errors
/// Why this user cannot have one; also if this process has several threads and is not root.
pub fn enter() -> Result<Vec<String>, SysError> {
    make()
}

/// The helper's whole life: creates the namespace, reports it on standard output, and stays until standard input ends.
///
/// # Errors
/// If it cannot be created; it has reported that on standard output, too.
pub fn hold() -> Result<(), SysError> {
    let made = make();
    let line = match &made {
        Ok(lost) => format!("{READY} {}", lost.join(" ")),
        Err(error) => error.to_string(),
    };
    // Without a reader the namespace has no user, and standard input has ended, too.
    let _ = writeln!(io::stdout(), "{line}");
    made?;
    crate::process::read_stdin(&mut |_| {}).context(|| "standard input".to_owned())
}

/// Creates it; returns the settings that could not be copied.
fn make() -> Result<Vec<String>, SysError> {
    let settings: Vec<(PathBuf, String)> = SETTINGS.iter().flat_map(|dir| settings_in(dir)).collect();
    let mtu = mtu_of_loopback(None);
    let (user, group) = (rustix::process::getuid(), rustix::process::getgid());
    if unshare(libc::CLONE_NEWNET).is_err() {
        unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNET)
            .context(|| "making a network namespace".to_owned())?;
        // Without a map, creating files would fail: keep the same user.
        let write = |file: &str, text: String| {
            write_kernel_file(format!("/proc/self/{file}").as_ref(), &text)
                .context(|| format!("writing {file}"))
        };
        write("setgroups", "deny".to_owned())?;
        write("uid_map", format!("{0} {0} 1", user.as_raw()))?;
        write("gid_map", format!("{0} {0} 1", group.as_raw()))?;
    }
    bring_loopback_up().context(|| "bringing loopback up".to_owned())?;
    if let Some(mtu) = mtu {
        // If it cannot be set, the packet counts show it.
        mtu_of_loopback(Some(mtu));
    }
    let kept = |(path, value): &(PathBuf, String)| match fs::read_to_string(path) {
        // A missing setting does not belong to the namespace.
        Err(_) => true,
        Ok(now) => now == *value || write_kernel_file(path, value).is_ok(),
    };
    let name = |path: &Path| {
        let below = path.strip_prefix("/proc/sys").unwrap_or(path);
        below.to_string_lossy().replace('/', ".")
    };
    Ok(settings.iter().filter(|setting| !kept(setting)).map(|(path, _)| name(path)).collect())
}

/// Settable files of a directory, with their contents.
fn settings_in(dir: &str) -> Vec<(PathBuf, String)> {
    let files = fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    // A file that no one may write reports something; it is not a setting.
    let settable = |path: &PathBuf| fs::metadata(path).is_ok_and(|file| file.mode() & 0o200 != 0);
    files.filter(settable).filter_map(|path| Some((path.clone(), fs::read_to_string(&path).ok()?))).collect()
}

fn unshare(kinds: libc::c_int) -> io::Result<()> {
    // SAFETY: the helper has one thread and shares no memory, and the call takes a plain value.
    if unsafe { libc::unshare(kinds) } == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// A request about the loopback interface (`netdevice(7)`).
fn loopback_request() -> io::Result<(OwnedFd, libc::ifreq)> {
    let socket = rustix::net::socket(rustix::net::AddressFamily::INET, rustix::net::SocketType::DGRAM, None)?;
    // SAFETY: all zeros is a valid request: a name of no letters and a union of plain numbers.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (place, byte) in request.ifr_name.iter_mut().zip(b"lo") {
        *place = *byte as libc::c_char;
    }
    Ok((socket, request))
}

fn control(socket: &OwnedFd, what: libc::c_ulong, request: &mut libc::ifreq) -> io::Result<()> {
    // SAFETY: the descriptor is an open socket's, and the pointer refers to a request that outlives the call.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), what as _, std::ptr::from_mut(request)) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn bring_loopback_up() -> io::Result<()> {
    let (socket, mut request) = loopback_request()?;
    control(&socket, libc::SIOCGIFFLAGS as _, &mut request)?;
    // SAFETY: the request has just filled in the flags.
    let flags = unsafe { request.ifr_ifru.ifru_flags };
    request.ifr_ifru.ifru_flags = flags | libc::IFF_UP as libc::c_short;
    control(&socket, libc::SIOCSIFFLAGS as _, &mut request)
}

/// Loopback's MTU, after setting it if `set` is given; `None` if that fails.
fn mtu_of_loopback(set: Option<libc::c_int>) -> Option<libc::c_int> {
    let (socket, mut request) = loopback_request().ok()?;
    if let Some(mtu) = set {
        request.ifr_ifru.ifru_mtu = mtu;
        control(&socket, libc::SIOCSIFMTU as _, &mut request).ok()?;
        return Some(mtu);
    }
    control(&socket, libc::SIOCGIFMTU as _, &mut request).ok()?;
    // SAFETY: the request has just filled in the size.
    Some(unsafe { request.ifr_ifru.ifru_mtu })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_found_where_they_are() {
        let found = settings_in("/proc/sys/net/core");
        assert!(found.iter().any(|(path, _)| path.ends_with("somaxconn")), "{found:?}");
        assert!(settings_in("/does/not/exist").is_empty());
    }

    #[test]
    fn a_helper_that_cannot_says_why() {
        let command = ["sh", "-c", "echo no luck; cat"].map(str::to_owned);
        let error = NetNamespace::start(&command).unwrap_err();
        assert_eq!(error.to_string(), "a network namespace: no luck");
        assert!(NetNamespace::start(&["/does/not/exist".to_owned()]).is_err());
    }
}
