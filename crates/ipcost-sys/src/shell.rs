//! The system's shell, and the files of the kernel that hold settings.

/// The words that start the system's shell with a command line.
pub fn shell_command(line: &str) -> Vec<String> {
    let words = if cfg!(windows) { ["cmd", "/C"] } else { ["/bin/sh", "-c"] };
    words.into_iter().chain([line]).map(str::to_owned).collect()
}
