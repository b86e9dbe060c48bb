//! Processes of this program that measure, whichever user runs them: their names in `/proc` (`proc_pid_comm(5)`), which everyone
//! can read. Nothing is shared between users, and no user can hold another up. A name ends with its process.

use std::ffi::CStr;
use std::fs;
use std::os::unix::fs::MetadataExt;

pub use crate::contract::Neighbour;

const MEASURES: &CStr = c"ipcost-measures";
/// What the process of this program is called otherwise.
const USUAL: &CStr = c"ipcost";
const WAITS: &CStr = c"ipcost-waits";

/// Marks this process, which must be in its first thread, as one that measures.
pub fn mark() {
    // Fails for no name of this length.
    let _ = rustix::thread::set_name(MEASURES);
}

/// Marks this process as one that waits until it may measure.
pub fn mark_as_waiting() {
    let _ = rustix::thread::set_name(WAITS);
}

/// Takes the mark from this process, which measures no more and goes on with something else.
pub fn unmark() {
    let _ = rustix::thread::set_name(USUAL);
}

/// The other processes that measure.
pub fn others() -> Vec<Neighbour> {
    named().into_iter().filter(|(name, _)| is(name, MEASURES)).map(|(_, neighbour)| neighbour).collect()
}

/// Those to wait for: they measure, or have waited for longer.
pub fn ahead() -> Vec<Neighbour> {
    let own = start_of(std::process::id());
    let earlier = |id: u32| (start_of(id), id) < (own, std::process::id());
    let all = named().into_iter();
    all.filter(|(name, it)| is(name, MEASURES) || is(name, WAITS) && earlier(it.process))
        .map(|(_, it)| it)
        .collect()
}

/// Whether this system shows other processes that measure.
pub fn is_known() -> bool {
    true
}

fn is(name: &str, known: &CStr) -> bool {
    name.as_bytes() == known.to_bytes()
}

fn named() -> Vec<(String, Neighbour)> {
    let own = std::process::id();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let of = |entry: fs::DirEntry| {
        let process: u32 = entry.file_name().to_str()?.parse().ok().filter(|process| *process != own)?;
        let name = fs::read_to_string(entry.path().join("comm")).ok()?;
        let name = name.trim_end();
        (is(name, MEASURES) || is(name, WAITS)).then_some(())?;
        let user = user_name(entry.metadata().ok()?.uid());
        Some((name.to_owned(), Neighbour { process, user }))
    };
    entries.filter_map(of).collect()
}

/// The tick at which a process was started: field 22 of `/proc/<number>/stat`.
fn start_of(process: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let fields = stat.rsplit_once(") ").map(|(_, fields)| fields.split(' '));
    fields.and_then(|mut fields| fields.nth(19)?.parse().ok()).unwrap_or(u64::MAX)
}

/// A user's name, or number if it has none.
pub fn user_name(id: u32) -> String {
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let found = users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(id)).then(|| name.to_owned())
    });
    found.unwrap_or_else(|| id.to_string())
}

/// The name of the user that this process runs as.
pub fn own_user() -> String {
    user_name(rustix::process::geteuid().as_raw())
}
