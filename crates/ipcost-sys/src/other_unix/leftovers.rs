//! Processes left running by their starter.

use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

/// An environment variable that identifies a process's descendants wherever they go.
pub const MARK: &str = "IPCOST_CONFORMANCE";

/// Whether a child still runs; does not wait for it.
pub fn runs(process: u32) -> bool {
    let Some(process) = i32::try_from(process).ok().and_then(Pid::from_raw) else { return false };
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    matches!(waitid(WaitId::Pid(process), options), Ok(None))
}

/// The command lines of a group's running processes; empty, as nothing here lists them.
pub fn of(_group: u32, _mark: Option<&str>) -> Vec<String> {
    Vec::new()
}
