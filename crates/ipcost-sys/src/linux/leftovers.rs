//! Processes left running by their starter (`proc(5)`).

use std::fs;

use crate::process_stat::{self, ProcessStat};

/// An environment variable that identifies a process's descendants wherever they go.
pub const MARK: &str = "IPCOST_CONFORMANCE";

/// Whether a process still runs; a zombie does not.
pub fn runs(process: u32) -> bool {
    ProcessStat::of(process).is_some_and(|stat| !matches!(stat.state, 'Z' | 'X'))
}

/// The command lines of running processes in a group or with a mark, except the group's leader.
pub fn of(group: u32, mark: Option<&str>) -> Vec<String> {
    process_stat::all()
        .filter(|process| *process != group && runs(*process))
        .filter(|process| {
            mark.is_some_and(|mark| is_marked(*process, mark))
                || ProcessStat::of(*process).is_some_and(|stat| stat.group == group)
        })
        .map(command_line)
        .collect()
}

fn is_marked(process: u32, mark: &str) -> bool {
    let environment = fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
    environment.split(|byte| *byte == 0).any(|entry| {
        entry.strip_prefix(MARK.as_bytes()).and_then(|rest| rest.strip_prefix(b"=")) == Some(mark.as_bytes())
    })
}

fn command_line(process: u32) -> String {
    let words = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    format!("{process} ({})", String::from_utf8_lossy(&words).replace('\0', " ").trim())
}
