//! This machine's programs, and how to build them.

use std::env;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// The C compiler's usual name.
pub const C_COMPILER: &str = "cc";
/// Libraries for a C program with sockets and threads, beyond the default ones.
pub const C_LIBRARIES: &[&str] = &[];
/// Where Go gets other authors' modules: nowhere, as the peer needs none here.
pub const GO_MODULES: &[(&str, &str)] = &[("GOPROXY", "off")];
/// The directory in a C program's sources with support for this system; `None` on POSIX.
pub const C_SUPPORT: Option<&str> = None;
/// How to install a package, by Debian's names.
pub const INSTALL: &str = "on Debian: apt-get install";

/// Whether a program of this name can be started.
pub fn is_there(name: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    let runs = |file: &Path| {
        file.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    // Debian keeps some servers on root's PATH only.
    let beyond = ["/usr/sbin", "/usr/local/sbin"].map(Into::into);
    env::split_paths(&path).chain(beyond).any(|dir| runs(&dir.join(name)))
}
