//! The programs that run, with the sockets, pipes and shared memory that they hold (`proc(5)`).

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, StatxFlags};
use rustix::pipe::fcntl_getpipe_size;
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

use super::mounts::Mounts;
use crate::process_stat::{self, ProcessStat};

pub use crate::observed::{Held, ProcessWaits, Program, SharedMemory};

/// Less memory than that is shared by libraries for their own ends.
const LEAST_SHARED: u64 = 4096;

/// `None` if there is no such process any more.
pub fn process_waits(process: u32) -> Option<ProcessWaits> {
    let mut found = ProcessWaits::default();
    for thread in threads_of(process) {
        let path = format!("/proc/{process}/task/{thread}");
        // Run, ready, slices: nanoseconds and a count.
        let times = std::fs::read_to_string(format!("{path}/schedstat")).unwrap_or_default();
        found.ready_ns +=
            times.split_whitespace().nth(1).and_then(|word| word.parse::<u64>().ok()).unwrap_or(0);
        let stat = std::fs::read_to_string(format!("{path}/stat")).unwrap_or_default();
        let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        found.faults +=
            after_name.split_whitespace().nth(9).and_then(|word| word.parse::<u64>().ok()).unwrap_or(0);
    }
    std::path::Path::new(&format!("/proc/{process}")).exists().then_some(found)
}

/// The name of a thread; `None` if it has ended.
pub fn thread_name(process: u32, thread: u32) -> Option<String> {
    let name = std::fs::read_to_string(format!("/proc/{process}/task/{thread}/comm")).ok()?;
    Some(name.trim_end().to_owned())
}

/// The process that a thread belongs to, if both are there.
pub fn process_of(thread: u32) -> Option<u32> {
    let status = std::fs::read_to_string(format!("/proc/{thread}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("Tgid:"))?.trim().parse().ok()
}

/// Which parts of a process are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    Counts,
    /// All of it: its mappings and its group, too.
    All,
}

/// So many processes are looked at, so many descriptors of each user's, and so many in all: others choose how many there are.
const MOST_PROCESSES: usize = 20_000;
const MOST_OF_USER: usize = 200_000;
const MOST_DESCRIPTORS: usize = 500_000;
/// So many pipes are asked how much they hold.
const MOST_PIPES: usize = 20_000;
/// So much is kept of a text that others choose, bytes.
const MOST_TEXT: usize = 4096;
/// So many shared memories are kept of a process.
const MOST_SHARED: usize = 256;

/// The processes at a moment.
#[derive(Debug, Default)]
pub struct RunningPrograms {
    /// Every process but the kernel's threads, as far as this user may look.
    pub all: Vec<Program>,
    /// How many were left out, since they are too many.
    pub left_out: u64,
    /// How many descriptors were.
    pub left_out_descriptors: u64,
}

impl RunningPrograms {
    pub fn read(depth: impl Fn(u32) -> Depth) -> io::Result<Self> {
        let mut found = Self::default();
        let (mut mounts, mut in_all) = (Mounts::default(), 0);
        let mut by_user: HashMap<u32, usize> = HashMap::new();
        for process in process_stat::all() {
            if found.all.len() >= MOST_PROCESSES {
                found.left_out += 1;
                continue;
            }
            let depth = depth(process);
            let Some(mut program) = program(process, depth, &mut mounts) else { continue };
            let of_user = by_user.entry(program.user).or_default();
            if let Some(held) = &mut program.held {
                let room = (MOST_OF_USER - *of_user).min(MOST_DESCRIPTORS - in_all);
                found.left_out_descriptors += held.len().saturating_sub(room) as u64;
                held.truncate(room);
                *of_user += held.len();
                in_all += held.len();
            }
            found.all.push(program);
        }
        match found.all.is_empty() {
            true => Err(io::Error::new(io::ErrorKind::NotFound, "/proc is not mounted, or hides them")),
            false => Ok(found),
        }
    }
}

/// One process; `None` if it is gone, or a thread of the kernel.
pub fn program_of(id: u32, depth: Depth) -> Option<Program> {
    program(id, depth, &mut Mounts::default())
}

fn program(process: u32, depth: Depth, mounts: &mut Mounts) -> Option<Program> {
    let stat = ProcessStat::of(process)?;
    if !stat.has_memory {
        return None;
    }
    let mut found = Program {
        id: process,
        started: stat.started,
        parent: stat.parent,
        name: stat.name,
        user: std::fs::metadata(format!("/proc/{process}")).map_or(u32::MAX, |directory| directory.uid()),
        ticks: stat.ticks.iter().sum(),
        moved: moved(process),
        held: held(process, mounts),
        ..Program::default()
    };
    if depth == Depth::All {
        found.command = command(process);
        found.shared = shared(process);
        found.group = group(process);
        found.network = network(&process.to_string());
    }
    Some(found)
}

/// Bytes read from any source and written to any (`proc_pid_io(5)`); `None` if this user may not look.
fn moved(process: u32) -> Option<(u64, u64)> {
    let text = std::fs::read_to_string(format!("/proc/{process}/io")).ok()?;
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
    Some((field("rchar:")?, field("wchar:")?))
}

/// The words of its command line, as far as they are kept.
fn command(process: u32) -> Vec<String> {
    let mut bytes = Vec::new();
    let read = |file: File| file.take(MOST_TEXT as u64).read_to_end(&mut bytes);
    let _ = File::open(format!("/proc/{process}/cmdline")).and_then(read);
    let words = bytes.split(|byte| *byte == 0).filter(|word| !word.is_empty());
    words.map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}

/// The network namespace of this program, by number.
pub fn own_network() -> u64 {
    network("self")
}

fn network(process: &str) -> u64 {
    let namespace = std::fs::metadata(format!("/proc/{process}/ns/net"));
    namespace.map_or(0, |namespace| namespace.ino())
}

/// The socket or pipe that a descriptor of a process is now.
pub fn held_at(process: u32, descriptor: i32) -> Option<Held> {
    held_in(process, open_descriptors(process)?.as_fd(), descriptor, &mut Mounts::default())
}

/// What another process has open, as long as this is held; `None` if this user may not have it.
pub(super) fn open_in(process: u32, descriptor: i32) -> Option<OwnedFd> {
    let process = Pid::from_raw(process.try_into().ok()?)?;
    let process = pidfd_open(process, PidfdFlags::empty()).ok()?;
    pidfd_getfd(&process, descriptor, PidfdGetfdFlags::empty()).ok()
}

/// What a pipe holds that a process has open, bytes; `None` if this user may not ask.
pub fn pipe_bytes(process: u32, descriptor: i32) -> Option<u64> {
    Some(fcntl_getpipe_size(open_in(process, descriptor)?).ok()? as u64)
}

/// What a new pipe of this user holds, bytes.
pub fn new_pipe_bytes() -> Option<u64> {
    let (read, _write) = io::pipe().ok()?;
    Some(fcntl_getpipe_size(read).ok()? as u64)
}

/// The processes of this user that have pages in pipes, those with the most first: their names with their numbers, and how many pages.
pub fn pipe_pages() -> Vec<(String, u64)> {
    const PAGE: u64 = 4096;
    let user = rustix::process::getuid().as_raw();
    let (mut seen, mut found) = (HashSet::new(), Vec::new());
    let mut all = RunningPrograms::read(|_| Depth::Counts).map(|programs| programs.all).unwrap_or_default();
    // Those that made a pipe were there before those that they gave it to.
    all.sort_by_key(|program| (program.started, program.id));
    for program in all.into_iter().filter(|program| program.user == user) {
        let mut pages = 0;
        for (descriptor, held) in program.held.iter().flatten() {
            if let Held::Pipe { inode, .. } = held
                && seen.len() < MOST_PIPES
                && seen.insert(*inode)
            {
                pages += pipe_bytes(program.id, *descriptor).unwrap_or(0) / PAGE;
            }
        }
        if pages > 0 {
            found.push((format!("{} ({})", program.name, program.id), pages));
        }
    }
    found.sort_by_key(|(_, pages)| std::cmp::Reverse(*pages));
    found
}

/// The functions of the kernel in which threads of a process wait, of the first few that do (`/proc/PID/task/TID/wchan`).
pub fn waits_in(process: u32) -> Vec<String> {
    const MOST: usize = 16;
    let threads = threads_of(process).into_iter().take(MOST);
    let read = |thread: u32| std::fs::read_to_string(format!("/proc/{process}/task/{thread}/wchan")).ok();
    threads.filter_map(read).filter(|name| !name.is_empty() && name != "0").collect()
}

/// The threads of a process, by number; none if it has ended.
pub fn threads_of(process: u32) -> Vec<u32> {
    let entries = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// Sockets and pipes; `None` if this user may not look.
///
/// A library would ask four times of each descriptor; of a server with thousands, that is most of what a look costs.
fn held(process: u32, mounts: &mut Mounts) -> Option<Vec<(i32, Held)>> {
    let descriptors = open_descriptors(process)?;
    let number = |entry: rustix::fs::DirEntry| entry.file_name().to_str().ok()?.parse().ok();
    let numbers = Dir::read_from(&descriptors).ok()?.flatten().filter_map(number).take(MOST_OF_USER);
    let found =
        numbers.filter_map(|number| Some((number, held_in(process, descriptors.as_fd(), number, mounts)?)));
    Some(found.collect())
}

fn open_descriptors(process: u32) -> Option<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::open(format!("/proc/{process}/fd"), flags, Mode::empty()).ok()
}

/// Sockets and pipes are told by the link alone. What has a path may be a FIFO, or lie on a mount whose server never answers.
fn held_in(process: u32, descriptors: BorrowedFd<'_>, descriptor: i32, mounts: &mut Mounts) -> Option<Held> {
    let name = descriptor.to_string();
    let target = rustix::fs::readlinkat(descriptors, &name, Vec::with_capacity(64)).ok()?;
    let target = target.to_string_lossy();
    let number = |kind: &str| target.strip_prefix(kind)?.strip_suffix(']')?.parse::<u64>().ok();
    if let Some(inode) = number("socket:[") {
        return Some(Held::Socket(u32::try_from(inode).ok()?));
    }
    let (inode, path) = match number("pipe:[") {
        Some(inode) => (inode, None),
        None if may_be_fifo(&target) && mounts.answer(process, descriptor) => {
            let (mask, flags) = (StatxFlags::TYPE | StatxFlags::INO, AtFlags::STATX_DONT_SYNC);
            let file = rustix::fs::statx(descriptors, &name, flags, mask).ok()?;
            let is_fifo = FileType::from_raw_mode(file.stx_mode.into()) == FileType::Fifo;
            (is_fifo.then_some(file.stx_ino)?, Some(target.into_owned()))
        }
        None => return None,
    };
    // The link itself has the permissions that the descriptor was opened with.
    let link = rustix::fs::statat(descriptors, &name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    let mode = Mode::from_raw_mode(link.st_mode);
    let (reads, writes) = (mode.contains(Mode::RUSR), mode.contains(Mode::WUSR));
    Some(Held::Pipe { inode, writes, reads, path })
}

/// Whether a path may be that of a FIFO: devices, memory and what the kernel shows of itself are most of what programs have open.
fn may_be_fifo(path: &str) -> bool {
    const NEVER: [&str; 8] =
        ["/dev/null", "/dev/pts/", "/dev/urandom", "/dev/random", "/dev/tty", "/memfd:", "/proc/", "/sys/"];
    path.starts_with('/') && !NEVER.iter().any(|start| path.starts_with(start))
}

/// Mappings that others may share: of files in shared memory, or without a name.
fn shared(process: u32) -> BTreeSet<SharedMemory> {
    let maps = File::open(format!("/proc/{process}/maps"));
    maps.map_or_else(|_| BTreeSet::new(), |maps| shared_in(BufReader::new(maps)))
}

/// Paths may be no text; others choose them.
fn shared_in(maps: impl BufRead) -> BTreeSet<SharedMemory> {
    let mut found = BTreeSet::new();
    for line in maps.split(b'\n').map_while(Result::ok) {
        found.extend(mapping(&String::from_utf8_lossy(&line)));
        if found.len() >= MOST_SHARED {
            break;
        }
    }
    found
}

/// A line of `/proc/[pid]/maps` (`proc_pid_maps(5)`): its addresses, permissions, offset, device, inode and path.
fn mapping(line: &str) -> Option<SharedMemory> {
    let mut words = line.splitn(6, ' ');
    let (addresses, permissions) = (words.next()?, words.next()?);
    let (device, inode, path) = (words.nth(1)?, words.next()?, words.next()?.trim_start());
    let is_memory =
        ["/dev/shm/", "/memfd:", "/dev/zero", "/SYSV"].iter().any(|start| path.starts_with(start));
    if !permissions.ends_with('s') || !is_memory {
        return None;
    }
    let hexadecimal = |text: &str| u64::from_str_radix(text, 16).ok();
    let (from, to) = addresses.split_once('-')?;
    let bytes = hexadecimal(to)?.checked_sub(hexadecimal(from)?)?;
    let (major, minor) = device.split_once(':')?;
    let file = (hexadecimal(major)? << 32 | hexadecimal(minor)?, inode.parse().ok()?);
    // Memory of System V is always deleted.
    let path = path.strip_suffix(" (deleted)").filter(|path| path.starts_with("/SYSV")).unwrap_or(path);
    (bytes >= LEAST_SHARED).then(|| SharedMemory { file, path: path.to_owned(), bytes })
}

/// The longest path of its control groups: that of version 2, or of the deepest hierarchy.
fn group(process: u32) -> String {
    let text = std::fs::read_to_string(format!("/proc/{process}/cgroup")).unwrap_or_default();
    let paths = text.lines().filter_map(|line| line.splitn(3, ':').nth(2));
    let longest = paths.max_by_key(|path| path.len()).unwrap_or_default();
    // Of a text that is too long, the part that names the group comes last.
    let over = longest.chars().count().saturating_sub(MOST_TEXT);
    longest.chars().skip(over).collect()
}

/// Reads a text as lines of mappings.
pub(crate) fn read_text(text: &str) {
    let _ = text.lines().filter_map(mapping).count();
}

#[cfg(test)]
mod tests {
    use rustix::fs::MemfdFlags;
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn this_process_is_seen_with_its_sockets_and_pipes() {
        let (client, _server) = UnixStream::pair().unwrap();
        let (read, write) = std::io::pipe().unwrap();
        let own = std::process::id();
        let found = RunningPrograms::read(|_| Depth::All)
            .unwrap()
            .all
            .into_iter()
            .find(|program| program.id == own)
            .unwrap();
        assert!(!found.command.is_empty() && found.network != 0, "{found:?}");
        let held = found.held.unwrap();
        let is = |descriptor: i32, seen: fn(&Held) -> bool| {
            held.iter().any(|(fd, it)| *fd == descriptor && seen(it))
        };
        assert!(is(client.as_raw_fd(), |held| matches!(held, Held::Socket(_))), "{held:?}");
        assert!(
            is(read.as_raw_fd(), |held| matches!(held, Held::Pipe { reads: true, writes: false, .. })),
            "{held:?}"
        );
        assert!(
            is(write.as_raw_fd(), |held| matches!(held, Held::Pipe { writes: true, reads: false, .. })),
            "{held:?}"
        );
        assert_eq!(program_of(u32::MAX, Depth::All), None);
    }

    #[test]
    fn memory_with_a_name_that_is_no_text_hides_no_other() {
        use rustix::mm::{MapFlags, ProtFlags, mmap};

        const BYTES: usize = 8192;
        let names: [&[u8]; 3] = [b"ipcost-before", b"ipcost-\xff", b"ipcost-after"];
        for name in names {
            let memory = rustix::fs::memfd_create(name, MemfdFlags::CLOEXEC).unwrap();
            rustix::fs::ftruncate(&memory, BYTES as u64).unwrap();
            // SAFETY: the kernel chooses a free place; nothing refers to it.
            unsafe {
                mmap(std::ptr::null_mut(), BYTES, ProtFlags::READ, MapFlags::SHARED, &memory, 0).unwrap();
            }
        }
        let found = program_of(std::process::id(), Depth::All).unwrap().shared;
        for name in ["before", "\u{fffd}", "after"] {
            let path = format!("/memfd:ipcost-{name} (deleted)");
            assert!(found.iter().any(|memory| memory.path == path), "{name}: {found:?}");
        }
    }

    #[test]
    fn memory_that_is_mapped_again_and_again_counts_once() {
        let line = "7f00-a000 rw-s 00000000 fd:01 42 /dev/shm/ring\n".repeat(MOST_SHARED * 2);
        let other = "7f00-a000 rw-s 00000000 fd:01 43 /dev/shm/other\n";
        assert_eq!(shared_in(format!("{line}{other}").as_bytes()).len(), 2);
        let many: String = (0..MOST_SHARED * 2)
            .map(|inode| format!("7f00-a000 rw-s 00000000 fd:01 {inode} /dev/shm/a\n"))
            .collect();
        assert_eq!(shared_in(many.as_bytes()).len(), MOST_SHARED);
    }

    #[test]
    fn only_memory_that_others_may_share_counts() {
        let line = |permissions: &str, path: &str| {
            mapping(&format!("7f00-a000 {permissions} 00000000 fd:01 42 {path}"))
        };
        let found = line("rw-s", "                 /dev/shm/a b (deleted)").unwrap();
        assert_eq!((found.path.as_str(), found.bytes), ("/dev/shm/a b (deleted)", 0xa000 - 0x7f00));
        assert_eq!(found.file, (0xfd_0000_0001, 42));
        assert_eq!(line("rw-s", "/SYSV0000002a (deleted)").unwrap().path, "/SYSV0000002a");
        for (permissions, path) in [("rw-p", "/dev/shm/a"), ("rw-s", "/lib/x.so"), ("rw-s", "")] {
            assert_eq!(line(permissions, path), None, "{permissions} {path}");
        }
        assert_eq!(mapping("rubbish"), None);
    }
}
