//! Processes left running by their starter (`proc(5)`).

use std::fs;

/// An environment variable that identifies a process's descendants wherever they go.
pub const MARK: &str = "IPCOST_CONFORMANCE";

/// Whether a process still runs; a zombie does not.
pub fn runs(process: u32) -> bool {
    state_and_group(process).is_some_and(|(state, _)| !matches!(state, 'Z' | 'X'))
}

/// The command lines of running processes in a group or with a mark, except the group's leader.
pub fn of(group: u32, mark: Option<&str>) -> Vec<String> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    numbers
        .filter(|process| *process != group && runs(*process))
        .filter(|process| {
            mark.is_some_and(|mark| is_marked(*process, mark))
                || state_and_group(*process).is_some_and(|(_, of)| of == group)
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

/// The fourth field of `/proc/<number>/stat` and those around it, see proc(5).
fn state_and_group(process: u32) -> Option<(char, u32)> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let mut fields = stat.rsplit_once(") ")?.1.split(' ');
    let state = fields.next()?.chars().next()?;
    Some((state, fields.nth(1)?.parse().ok()?))
}

fn command_line(process: u32) -> String {
    let words = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    format!("{process} ({})", String::from_utf8_lossy(&words).replace('\0', " ").trim())
}
