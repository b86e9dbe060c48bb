//! Programs of this machine, and how they are built.

use std::env;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// The C compiler's usual name.
pub const C_COMPILER: &str = "cc";
/// What a C program with sockets and threads is linked with, beside what every one is.
pub const C_LIBRARIES: &[&str] = &[];
/// Where Go gets the modules of others from: nowhere, as the peer needs none here.
pub const GO_MODULES: &[(&str, &str)] = &[("GOPROXY", "off")];
/// The directory among a C program's sources with what it takes for this system; none for one of POSIX.
pub const C_SUPPORT: Option<&str> = None;
/// How one gets a package of Debian's names.
pub const INSTALL: &str = "on Debian: apt-get install";

/// Whether a program of this name can be started.
pub fn is_there(name: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    let runs = |file: &Path| {
        file.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    // Debian keeps some servers where only root's PATH leads.
    let beyond = ["/usr/sbin", "/usr/local/sbin"].map(Into::into);
    env::split_paths(&path).chain(beyond).any(|dir| runs(&dir.join(name)))
}
