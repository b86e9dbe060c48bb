//! Tests that need their own process, because they check its peak memory.

use std::process::Command;

/// Reruns a test, by its full name, in its own process; returns whether this already is that process.
pub fn in_own_process(name: &str) -> bool {
    const INSIDE: &str = "IPCOST_TEST_ON_ITS_OWN";
    if std::env::var_os(INSIDE).is_some() {
        return true;
    }
    let mut own = Command::new(std::env::current_exe().unwrap());
    let output = own.args(["--exact", name, "--nocapture"]).env(INSIDE, "1").output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && told.contains("1 passed"), "{told}{complaints}");
    false
}

/// The peak memory of this process, which only Linux tells.
pub fn peak_kibibytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    peak.trim().trim_end_matches(" kB").parse().unwrap()
}
