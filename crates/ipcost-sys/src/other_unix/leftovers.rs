//! Processes that somebody has started and not seen to.

use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

/// What a process has in its environment, so that its descendants are known wherever they went.
pub const MARK: &str = "IPCOST_CONFORMANCE";

/// Whether a child is still running; it is not waited for.
pub fn runs(process: u32) -> bool {
    let Some(process) = i32::try_from(process).ok().and_then(Pid::from_raw) else { return false };
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    matches!(waitid(WaitId::Pid(process), options), Ok(None))
}

/// The command lines of running processes that belong to a group; none, as nothing here lists them.
pub fn of(_group: u32, _mark: Option<&str>) -> Vec<String> {
    Vec::new()
}
